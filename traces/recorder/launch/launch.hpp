// Runs a command with the recorder preloaded, as if weft were not there.
//
// Standard streams and the terminal are the command's; SIGINT and SIGQUIT reach it from the terminal (weft
// ignores them), SIGTERM, SIGHUP, SIGUSR1 and SIGUSR2 sent to weft are passed on. Afterwards all are as before.
#pragma once

#include <string>
#include <vector>

#include "core/result.hpp"
#include "traces/recorder/launch/launcher.hpp"

namespace weft::recorder {

struct Launch {
  std::vector<std::string> command;  // program and arguments
  std::string library;               // libweft_record_<abi>.so
  Launcher launcher;                 // that the command begins with
  std::string spool_directory;       // exists
  std::string clock;                 // "cpu" or "wall"
};

// Waits for the command; its exit code, or 128 + signal if one ended it. Errors: kUsage if it cannot be
// started.
[[nodiscard]] Result<int> run_recorded(const Launch& launch);

// The arguments that really run: Open MPI's launcher hands its environment to other hosts only when told to (-x), and
// where the user's own arguments preload a library, the recorder comes before it.
[[nodiscard]] std::vector<std::string> exported_command(std::vector<std::string> command, Launcher launcher,
                                                        const std::string& library);

}  // namespace weft::recorder
