// The sizes that a collective's record in an OTF2 archive says are sums over the communicator (Score-P): back to what
// each call was given.
//
// N members, `me` the rank in the communicator, n the bytes of one member's part:
//   bcast          root: sent N n, received n; others: received n
//   gather, reduce sent n; root also received N n          in place on the root: sent 0, received (N-1) n
//   scatter        as gather with the directions turned
//   allgather, alltoall, allreduce, reduce_scatter_block   sent N n, received N n; in place: both (N-1) n
//   scan           sent (N-me) n, received (me+1) n; in place: (N-me-1) n, me n; exscan always so
//   gatherv, scatterv   sent and received; in place on the root: without its own part
//   allgatherv     sent N n, received what all have; in place: (N-1) n, what the others have
//   reduce_scatter as allgatherv with the directions turned; in place older ones of Score-P sent all but an element
//   alltoallv, alltoallw    sent to all, received from all: what each peer got is not said
// In place cannot be told from the other where both divide: the other is taken. Other writers than Score-P may store n
// itself: a sum that no number of members divides is taken as it stands (`plain`).
#pragma once

#include <cstdint>

#include "traces/op.hpp"

namespace weft::traces::otf2 {

struct Sums {
  std::int64_t members = 1, me = 0;
  bool root = false;  // this rank is the root
  std::int64_t sent = 0, received = 0;
};

struct Part {
  std::int64_t bytes = 0;  // Op::amount of the operation
  bool plain = false;      // the sum is no multiple: taken as it stands
};

// `kind`: a blocking form, barrier to exscan. For v-forms: what this rank itself contributes or gets (gatherv,
// allgatherv, scatterv), the sum sent (alltoallv, alltoallw, reduce_scatter). Of the last three and of allgatherv,
// vector_list() knows more (vector_sizes.hpp).
[[nodiscard]] Part part_of(OpKind kind, const Sums& s);

}  // namespace weft::traces::otf2
