// Which MPI's launcher starts the ranks, as it says itself.
#pragma once

#include <string>

#include "traces/recorder/abi.hpp"

namespace weft::recorder {

struct Launcher {
  Abi abi = Abi::kNone;
  // PRRTE, which starts the ranks of Open MPI from 5 on.
  bool prrte = false;
};

// That of `program`, which is asked for its --version if it is called as launchers are. None: it is not, or says nothing known.
[[nodiscard]] Launcher launcher_of(const std::string& program);

}  // namespace weft::recorder
