// The communicators of a trace, from what its ranks say of theirs.
//
// A DUMPI file has local handles only: which handles of which ranks are one communicator is rebuilt here. Every member of
// a communicator runs the calls that make others of it in the same order, so the n-th such call of each member is one
// call. Its kind and arguments say who belongs to what: colors and keys, groups, dimensions.
//
// What MPI_Comm_rank and MPI_Comm_size answered is compared with the result. With `reorder` set, MPI may give other
// ranks than the parent's; then these answers decide if all members asked; else the order of the parent is taken, which
// is counted in Losses::assumed_order.
//
// Errors: kBadInput where the ranks contradict each other, with the position of one of the calls; kNotSupported for a
// communicator made of a group that nothing in the file explains, and beyond format::kMaxMembers members.
// Memory: the communicators; time: O(members log members).
#pragma once

#include <vector>

#include "traces/formats/dumpi/comm_log.hpp"
#include "traces/formats/dumpi/losses.hpp"
#include "traces/trace.hpp"

namespace weft::traces::dumpi {

// A rank's communicator in the trace.
struct CommHere {
  std::uint32_t id = kNone;  // kNone: none of the trace (inter-communicators, what nothing made)
  std::int32_t rank = 0;     // of this rank in it
};

struct Communicators {
  std::vector<Communicator> all;            // [0] is the world
  std::vector<std::vector<CommHere>> here;  // [rank][LocalComm]
};

[[nodiscard]] Result<Communicators> make_communicators(const std::vector<RankFile>& files,
                                                       std::vector<CommLog> logs, Losses& losses);

}  // namespace weft::traces::dumpi
