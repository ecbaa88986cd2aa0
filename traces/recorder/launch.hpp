// Runs a command with the recorder preloaded, as if weft were not there.
//
// Standard streams and the terminal are the command's; SIGINT and SIGQUIT reach it from the terminal (weft
// ignores them), SIGTERM, SIGHUP, SIGUSR1 and SIGUSR2 sent to weft are passed on. Afterwards all are as before.
#pragma once

#include <string>
#include <vector>

#include "core/result.hpp"

namespace weft::recorder {

struct Launch {
  std::vector<std::string> command;  // program and arguments
  std::string library;               // libweft_record.so
  std::string spool_directory;       // exists
  std::string clock;                 // "cpu" or "wall"
};

// Waits for the command; its exit code, or 128 + signal if one ended it. Errors: kUsage if it cannot be
// started.
[[nodiscard]] Result<int> run_recorded(const Launch& launch);

// The arguments that really run: Open MPI's launcher hands its environment to other hosts only when told to
// (-x).
[[nodiscard]] std::vector<std::string> exported_command(std::vector<std::string> command, bool is_open_mpi,
                                                        const std::string& library);

// libweft_record.so beside the running executable: ../lib, ../lib/weft, or the same folder; empty if none.
[[nodiscard]] std::string find_library();

}  // namespace weft::recorder
