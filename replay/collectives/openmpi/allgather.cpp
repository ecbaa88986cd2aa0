// Allgather and allgatherv as Open MPI's base functions send them (ompi/mca/coll/base/coll_base_allgather.c,
// coll_base_allgatherv.c). Block b is rank b's contribution.
#include "replay/collectives/openmpi/trees.hpp"

namespace weft::replay::collectives {

using openmpi::append_chosen;
using traces::OpKind;

// A gather to rank 0 and a broadcast of everything, each as the rules choose.
void openmpi_allgather_linear(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  if (c.bytes == 0) return;
  CollectiveCall part = c;
  part.root = 0;
  part.kind = OpKind::gather;
  append_chosen(part, me, out);
  part.kind = OpKind::bcast;
  part.bytes = c.bytes * c.ranks;
  append_chosen(part, me, out);
}

// The broadcast is of one element of a datatype that is as long as everything.
void openmpi_allgatherv_default(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  const std::int64_t total = rank_blocks(c).total();
  if (total == 0) return;
  CollectiveCall part = c;
  part.root = 0;
  part.kind = OpKind::gatherv;
  part.bytes = c.counts[me];
  part.counts = me == 0 ? c.counts : std::span<const std::int64_t>();
  append_chosen(part, me, out);
  part.kind = OpKind::bcast;
  part.bytes = part.element = total;
  part.counts = {};
  append_chosen(part, me, out);
}

void openmpi_allgather_bruck(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  const Blocks b = rank_blocks(c);
  if (b.total() > 0) append_allgather_bruck(b, me, out);
}

void openmpi_allgather_ring(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  const Blocks b = rank_blocks(c);
  if (b.total() > 0) append_allgather_ring(b, {c.ranks}, 0, me, out);
}

void openmpi_allgather_recursive_doubling(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  if (!std::has_single_bit(c.ranks)) return openmpi_allgather_bruck(c, me, out);
  const Blocks b = rank_blocks(c);
  if (b.total() == 0) return;
  for (std::uint32_t mask = 1; mask < c.ranks; mask *= 2) {
    const std::uint32_t mine = me & ~(mask - 1);
    send_blocks(out, b, me ^ mask, mine, mask);
    recv_blocks(out, b, me ^ mask, mine ^ mask, mask);
    out.next_round();
  }
}

// Neighbours exchange their blocks; from then on each rank passes the two blocks that came last on to its other
// neighbour (Chen, Zhang, Zhang, Yuan, HPC Asia 2005).
void openmpi_allgather_neighbor(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  const std::uint32_t p = c.ranks;
  if (p % 2 == 1) return openmpi_allgather_ring(c, me, out);
  const Blocks b = rank_blocks(c);
  if (b.total() == 0) return;
  const bool even = me % 2 == 0;
  const std::uint32_t neighbors[2] = {even ? me + 1 : me - 1, even ? minus(me, 1, p) : plus(me, 1, p)};
  send_blocks(out, b, neighbors[0], me, 1);
  recv_blocks(out, b, neighbors[0], neighbors[0], 1);
  out.next_round();
  std::uint32_t going = even ? me : neighbors[0];  // first of the two blocks that go out
  std::uint32_t coming[2] = {going, going};
  for (std::uint32_t k = 1; k < p / 2; ++k) {
    const std::uint32_t side = k % 2;
    // An even rank's second neighbour is below it, an odd one's above.
    const bool up = even == (side == 0);
    coming[side] = up ? plus(coming[side], 2 % p, p) : minus(coming[side], 2 % p, p);
    send_blocks(out, b, neighbors[side], going, 2);
    recv_blocks(out, b, neighbors[side], coming[side], 2);
    out.next_round();
    going = coming[side];
  }
}

void openmpi_allgather_two_proc(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  if (c.ranks > 2) {
    out.not_supported = "two_proc is for 2 ranks";
    return;
  }
  const Blocks b = rank_blocks(c);
  if (b.total() == 0 || c.ranks == 1) return;
  send_blocks(out, b, 1 - me, me, 1);
  recv_blocks(out, b, 1 - me, 1 - me, 1);
  out.next_round();
}

}  // namespace weft::replay::collectives
