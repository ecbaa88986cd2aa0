// Reduce-scatter and its block form. Block b is the part of the vector that rank b gets; messages carry
// partial sums.
#include "replay/collectives/parts.hpp"

namespace weft::replay::collectives {

void reduce_scatter_ring(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  const Blocks b = rank_blocks(c);
  if (b.total() > 0) append_reduce_scatter_ring(b, {c.ranks}, 0, me, out);
}

// In round k the block of rank + k goes straight to it.
void reduce_scatter_pairwise(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  const Blocks b = rank_blocks(c);
  if (b.total() == 0) return;
  out.steps(1, c.ranks, [&](std::uint32_t k) {
    const std::uint32_t to = plus(me, k, c.ranks);
    send_blocks(out, b, to, to, 1);
    recv_blocks(out, b, minus(me, k, c.ranks), me, 1);
    out.next_round();
  });
}

// Distance halving: the far half of the ranks' blocks goes to the partner there.
void reduce_scatter_recursive_halving(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  const Blocks b = rank_blocks(c);
  if (b.total() == 0) return;
  const Fold f(c.ranks);
  if (f.sits_out(me)) {
    send_blocks(out, b, me - 1, 0, c.ranks);
    out.next_round();
    recv_blocks(out, b, me - 1, me, 1);
    out.next_round();
    return;
  }
  if (f.paired(me)) recv_blocks(out, b, me + 1, 0, c.ranks);
  out.next_round();
  const std::uint32_t folded = f.folded(me);
  for (std::uint32_t mask = f.pof2 / 2; mask >= 1; mask /= 2) {
    const std::uint32_t mine = folded & ~(mask - 1);
    const std::uint32_t theirs = mine ^ mask;
    const std::uint32_t peer = f.first(folded ^ mask);
    send_blocks(out, b, peer, f.first(theirs), f.first(theirs + mask) - f.first(theirs));
    recv_blocks(out, b, peer, f.first(mine), f.first(mine + mask) - f.first(mine));
    out.next_round();
  }
  if (f.paired(me)) send_blocks(out, b, me + 1, me + 1, 1);
  out.next_round();
}

}  // namespace weft::replay::collectives
