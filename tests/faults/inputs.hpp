// What the commands of this folder read.
#pragma once

#include "tests/cli/run_weft.hpp"

namespace weft::faults {

// A small program of four ranks in every format that is read, measurements to fit: in/ of the workspace.
void make_inputs(const testing::Workspace& w);

}  // namespace weft::faults
