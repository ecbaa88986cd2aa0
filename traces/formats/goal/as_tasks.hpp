// The operations of a GOAL schedule as tasks (traces/tasks.hpp): the graph itself, for a rank whose operations have no one order.
// Tasks stand in the order of the file, but for those that require what stands behind them.
// Time O((operations + dependencies) log operations); memory 8 bytes an operation.
#pragma once

#include <vector>

#include "traces/formats/goal/graph.hpp"
#include "traces/formats/goal/program.hpp"
#include "traces/formats/goal/schedule.hpp"

namespace weft::traces::goal {

// Writes the operations of one rank into `out`. Errors: kBadInput (dependencies that go
// round in a circle), kNotSupported (more than 2^30 operations).
[[nodiscard]] Result<void> put_as_tasks(const std::vector<Operation>& ops, const Graph& graph,
                                        const Place& place, Program& out);

}  // namespace weft::traces::goal
