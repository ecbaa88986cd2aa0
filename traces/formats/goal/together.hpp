// The schedules of all ranks put in order together, so that a schedule that can be executed has an order that ends.
//
// A rank that may start nothing commits itself to one wait (order.hpp). The order of the file is as good as any for the time
// that it takes, but ranks can wait for each other in it where the schedule does not. So all are executed here at once, without
// time: a rank waits on until what comes first in the file is there, and when no rank goes on, one of them takes what is there
// instead. A message is there when both its sides were posted, as in a rendezvous; where nothing goes on with that,
// sends are over when they were posted. Posts and waits are then those of an execution, so no program waits for ever, whatever
// times messages take, unless a receive takes another message than here (from any source or of any tag) or a send waits for its
// receive that need not do so here.
//
// Where the order of the file ends with messages that are there when both sides were posted, it is what comes of this.
// Time O((operations + dependencies) log operations); memory 90 bytes an operation and dependency, of all ranks, and 90 a
// receive that was not matched, and a send for each kind of receive of its destination.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "traces/formats/goal/schedule.hpp"
#include "traces/memory_trace.hpp"

namespace weft::traces::goal {

// Writes the programs to `out`; `sources` are those of the ranks there. Returns how often another operation than that of the
// file was waited for; nothing where no order was found in which everything ends, and `out` is to be thrown away.
[[nodiscard]] std::optional<std::uint64_t> put_in_order_together(std::vector<Schedule>& schedules,
                                                                 const std::vector<std::uint32_t>& sources,
                                                                 MemoryTrace& out);

}  // namespace weft::traces::goal
