// A schedule whose one order is that of its file, as that of whatever was a program before: found in one pass, without the queues of
// ordering.hpp, which is the reference for it (GoalOrder.WhatTheFileHasInOrderIsInTheOneOrder).
//
// Each operation has its turn in the order of the file, but for the halves of a sendrecv, which are ready together. Then all that it
// requires has to have been started, and if messages among that are not over, they are waited for. Times are counted by starts and
// waits. From them each operation tells at its turn whether, at some place before it, something else than what the file has there
// could have been next:
//  - It could have started in place of what was started after it was ready, if that is of a class that comes later: receives go
//    first, then sends, then computations, of which no two may be ready at once.
//  - It lacked messages while others were waited for, while messages were posted, or while something was computed.
// Time O(operations + dependencies); memory 16 bytes an operation.
#pragma once

#include "traces/formats/goal/program.hpp"
#include "traces/formats/goal/schedule.hpp"

namespace weft::traces::goal {

// Writes the program of a rank of one cpu. False: the order of the file is not the only one, or it needs a look at all queues to know; what was
// written to `out` is to be thrown away. REQUIRES: dependencies without doubles (drop_doubles).
[[nodiscard]] bool put_in_file_order(const Schedule& schedule, Program& out);

}  // namespace weft::traces::goal
