// The communicators of a trace, from what its ranks say of theirs.
//
// A call that makes communicators does not say the handle of what it made, and calls that make them of a group or a shape do not say
// who belongs to it. What the lines do say is put together here:
//   - every member of a communicator makes the same calls on it in the same order, so the n-th of each member are one call;
//   - MPI_Comm_dup and MPI_Comm_split say who belongs to what, and so the rank and the size that each member has there;
//   - a handle that shows up is of what was made before and not freed, with that rank and size. Where that leaves several, it is the one
//     whose members sent what is received here, and called the same collectives (while none of theirs is known: can have); where that does not tell, the one that others
//     used first of those that they made by the same calls, else the one that was made first (counted: Losses::assumed_comms);
//   - of the others the ranks and sizes that members have tell who belongs to it, where that is one way only: a topology without
//     reorder has the first ranks of the old one, parts of a grid have ranks at regular distances, a group has each rank once.
// Calls on what stays unknown are left out and counted.
//
// Errors: kNotSupported beyond format::kMaxMembers members, and where telling handles apart takes too long.
#pragma once

#include <string>
#include <vector>

#include "core/result.hpp"
#include "traces/formats/liballprof/comm_log.hpp"
#include "traces/formats/liballprof/losses.hpp"
#include "traces/trace.hpp"

namespace weft::traces::allprof {

enum class Kin : std::uint8_t { normal, inter, unknown };

// A rank's communicator in the trace.
struct CommHere {
  std::uint32_t id = kNone;  // kNone: none of the trace
  std::int32_t rank = 0;     // of this rank in it
  Kin kin = Kin::unknown;
};

struct Communicators {
  std::vector<Communicator> all;              // [0] is the world
  std::vector<std::vector<CommHere>> of_use;  // [rank][LocalComm]
  std::vector<std::vector<std::uint32_t>>
      of_made;  // [rank][position in CommLog::made]: kNone = none that is known here
};

// `files`, `hosts`: of the ranks; no host: not known.
[[nodiscard]] Result<Communicators> make_communicators(const std::vector<CommLog>& logs,
                                                       const std::vector<std::string>& hosts,
                                                       const std::string& where, Losses& losses);

}  // namespace weft::traces::allprof
