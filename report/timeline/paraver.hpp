// BSC's Paraver: two traces of a replay, each a .prv, a .pcf and a .row of one name, in whole nanoseconds.
//
// That of the program is what Extrae would have recorded: states, calls of MPI with what it says of collectives, and messages whose ends
// lie in the calls that they are of. Dimemas' prv2dim reads it, and so does traces/formats/paraver: computations, messages and collectives
// are those of the trace that was replayed. Both take what lies in a call to be of it, so a call that a message or a collective is of
// takes kLeastCall at least, and its rank is that much later until it waits for something. What a rank computes between two calls keeps
// its length; fractions of a nanosecond go to the next, so that their sum is right.
//
// That of the network is what no program sees: all messages, those of collectives among them, at the times of their data, and the load of
// links. Links are the threads of a second application on a node of its own, since an event of the format is a thread's.
//
// `node_of_rank`: 0-based, in order of first use. Memory: as the timeline, and 8 B a rank. On disk 40 B for each state, each
// event and each call, and of a message at most 250 B more than the timeline at once.
// Errors: a disk that is full, or cannot be read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/files/text_sink.hpp"
#include "report/timeline/timeline.hpp"

namespace weft::report {

inline constexpr std::int64_t kLeastCall = 2;  // ns: what happens in it lies between its ends

// Where a rank, or a message that it waits for, is on the critical path is an event of the rank.
[[nodiscard]] Result<void> write_prv(const Timeline& timeline, const std::vector<std::uint32_t>& node_of_rank,
                                     const std::vector<traces::Communicator>& communicators,
                                     const TextSink& out);
[[nodiscard]] std::string paraver_pcf(const Timeline& timeline);
[[nodiscard]] std::string paraver_row(const Timeline& timeline,
                                      const std::vector<std::uint32_t>& node_of_rank);

[[nodiscard]] Result<void> write_network_prv(const Timeline& timeline,
                                             const std::vector<std::uint32_t>& node_of_rank,
                                             const TextSink& out);
[[nodiscard]] std::string network_pcf(const Timeline& timeline);
[[nodiscard]] std::string network_row(const Timeline& timeline,
                                      const std::vector<std::uint32_t>& node_of_rank);

}  // namespace weft::report
