// The operations of a GOAL schedule as tasks (traces/tasks.hpp): the graph itself, for a rank whose operations have no one order.
// Tasks stand in the order of the file, but for those that require what stands behind them.
// Time O((operations + dependencies) log operations); memory 12 bytes an operation and 8 a dependency.
#pragma once

#include "traces/formats/goal/program.hpp"
#include "traces/formats/goal/schedule.hpp"

namespace weft::traces::goal {

// Writes the schedule of one rank into `out`; it takes the dependencies out of `schedule`. Errors: kBadInput (dependencies that go
// round in a circle), kNotSupported (more than 2^30 operations).
[[nodiscard]] Result<void> put_as_tasks(Schedule& schedule, const Place& place, Program& out);

}  // namespace weft::traces::goal
