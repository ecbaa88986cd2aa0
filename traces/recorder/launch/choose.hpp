// Which recorder library a command needs: by the program among its words, else by the launcher.
//
// What cannot be seen from here (a script that starts the launcher) the library itself sees inside the program, and
// gives way to the one that fits (pmpi/right_library.cpp).
#pragma once

#include <string>
#include <vector>

#include "core/result.hpp"
#include "traces/recorder/launch/launcher.hpp"

namespace weft::recorder {

struct Choice {
  std::string library;  // path of libweft_record_<abi>.so
  Launcher launcher;    // that the command begins with
};

// `folder`: where the libraries are (find_libraries()). Not supported: a program with a static MPI, or with one that
// there is no recorder for here.
[[nodiscard]] Result<Choice> choose_library(const std::vector<std::string>& command,
                                            const std::string& folder);

// The folder of the recorder libraries beside the running executable: ../lib, ../lib/weft, or the same one; empty
// if there are none.
[[nodiscard]] std::string find_libraries();

}  // namespace weft::recorder
