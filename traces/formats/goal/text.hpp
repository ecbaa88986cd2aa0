// GOAL text, rank by rank.
//
//   num_ranks 2
//   rank 0 {
//   l1: calc 1000 cpu 0                                   nanoseconds
//   l2: send 8b to 1 tag 7 cpu 0 nic 0                    a label may be left out, and tag, cpu and nic, which are 0 then
//   l3: recv 8b from -1 tag -1                            any source, any tag
//   l2 requires l1                                        l2 starts when l1 has ended
//   l3 irequires l2                                       l3 starts when l2 has started
//   }
//   rank 1 { ...
//
// A statement ends with its line. "//" begins a comment of a line, "/*" one that ends at "*/". A dependency names labels
// above it.
//
// Memory: one rank's schedule and a chunk of the file. Errors: kBadInput and kNotSupported, with FILE:LINE:COLUMN.
#pragma once

#include <string>

#include "core/result.hpp"
#include "traces/formats/goal/schedule.hpp"

namespace weft::traces::goal {

[[nodiscard]] Result<void> read_text(const std::string& path, const ScheduleSink& sink);

}  // namespace weft::traces::goal
