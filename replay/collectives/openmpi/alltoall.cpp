// Alltoall and alltoallv as Open MPI's base functions send them (ompi/mca/coll/base/coll_base_alltoall.c,
// coll_base_alltoallv.c). Blocks as in ../alltoall.cpp.
#include "replay/collectives/openmpi/trees.hpp"
#include "replay/collectives/pairs.hpp"

namespace weft::replay::collectives {

void openmpi_alltoall_linear(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  append_pairs_in_batches(c.ranks, 1, c, me, out);
}

// As many messages each way under way as the rule says.
void openmpi_alltoall_linear_sync(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  append_pairs_in_batches(c.at_once == 0 ? c.ranks : c.at_once, 1, c, me, out);
}

// To rank + k and from rank - k, also where p is a power of two.
void openmpi_alltoall_pairwise(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  const Pairs pairs{c, me};
  out.steps(1, c.ranks, [&](std::uint32_t k) {
    const std::uint32_t to = plus(me, k, c.ranks);
    const std::uint32_t from = minus(me, k, c.ranks);
    if (pairs.sends(to)) pairs.send(out, to);
    if (pairs.receives(from)) pairs.recv(out, from);
    out.next_round();
  });
}

void openmpi_alltoall_two_proc(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  if (c.ranks > 2)
    out.not_supported = "two_proc is for 2 ranks";
  else
    openmpi_alltoall_pairwise(c, me, out);
}

}  // namespace weft::replay::collectives
