// Reduce-scatter and its block form as Open MPI's base functions send them
// (ompi/mca/coll/base/coll_base_reduce_scatter.c, coll_base_reduce_scatter_block.c). Block b is the part of the vector
// that rank b gets; messages carry partial sums.
#include "replay/collectives/openmpi/trees.hpp"

namespace weft::replay::collectives {

using openmpi::append_chosen;
using traces::OpKind;

namespace {

// A reduction of everything to rank 0, then its parts to the ranks, each as the rules choose.
void reduce_then(OpKind kind, const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  const Blocks b = rank_blocks(c);
  if (b.total() == 0) return;
  CollectiveCall part = c;
  part.root = 0;
  part.kind = OpKind::reduce;
  part.bytes = b.total();
  if (kind == OpKind::scatter) part.element = element_of(c);  // of a block, which the sum need not show
  part.counts = {};
  append_chosen(part, me, out);
  part.kind = kind;
  part.bytes = b.of(me);
  if (kind == OpKind::scatterv && me == 0) part.counts = c.counts;
  append_chosen(part, me, out);
}

// Bits of x below 2^bits, turned round.
[[nodiscard]] std::uint32_t mirrored(std::uint32_t x, std::uint32_t pof2) {
  std::uint32_t turned = 0;
  for (std::uint32_t bit = 1; bit < pof2; bit *= 2) turned = 2 * turned + ((x & bit) != 0 ? 1 : 0);
  return turned;
}

}  // namespace

void openmpi_reduce_scatter_non_overlapping(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  reduce_then(OpKind::scatterv, c, me, out);
}

void openmpi_reduce_scatter_block_linear(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  reduce_then(OpKind::scatter, c, me, out);
}

// Distance halving: the far half of the blocks goes to the partner there. Nobody sends what is empty.
void openmpi_reduce_scatter_recursive_halving(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  const Blocks b = rank_blocks(c);
  if (b.total() == 0) return;
  const EvenFold f(c.ranks);
  const auto send = [&](std::uint32_t to, std::uint32_t first, std::uint32_t end) {
    if (b.of(first, end - first) > 0) send_blocks(out, b, to, first, end - first);
  };
  const auto recv = [&](std::uint32_t from, std::uint32_t first, std::uint32_t end) {
    if (b.of(first, end - first) > 0) recv_blocks(out, b, from, first, end - first);
  };
  if (f.sits_out(me)) {
    send(me + 1, 0, c.ranks);
    out.next_round();
    recv(me + 1, me, me + 1);
    out.next_round();
    return;
  }
  if (f.paired(me)) recv(me - 1, 0, c.ranks);
  out.next_round();
  const std::uint32_t folded = f.folded(me);
  for (std::uint32_t mask = f.pof2 / 2; mask >= 1; mask /= 2) {
    const std::uint32_t mine = folded & ~(mask - 1);
    const std::uint32_t theirs = mine ^ mask;
    const std::uint32_t peer = f.runs(folded ^ mask);
    recv(peer, f.first(mine), f.first(mine + mask));
    send(peer, f.first(theirs), f.first(theirs + mask));
    out.next_round();
  }
  if (f.paired(me)) send(me - 1, me - 1, me);
  out.next_round();
}

void openmpi_reduce_scatter_ring(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  const Blocks b = rank_blocks(c);
  if (b.total() > 0) append_reduce_scatter_ring(b, {c.ranks}, 0, me, out);
}

// Vector halving with distance doubling, which leaves a rank with the block of its mirror image; that one is sent
// there (Traeff, EuroPVM/MPI 2005).
void openmpi_reduce_scatter_butterfly(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  const Blocks b = rank_blocks(c);
  if (b.total() == 0 || c.ranks == 1) return;
  const EvenFold f(c.ranks);
  const auto first = [&](std::uint32_t folded) { return f.first(folded); };
  if (f.sits_out(me)) {
    send_blocks(out, b, me + 1, 0, c.ranks);
    out.next_round();
    recv_blocks(out, b, f.runs(mirrored(f.folded(me), f.pof2)), me, 1);
    out.next_round();
    return;
  }
  if (f.paired(me)) recv_blocks(out, b, me - 1, 0, c.ranks);
  out.next_round();
  const std::uint32_t v = f.folded(me);
  std::uint32_t mine = 0;
  std::uint32_t width = f.pof2;
  for (std::uint32_t mask = 1; mask < f.pof2; mask *= 2) {
    width /= 2;
    const std::uint32_t keep = (v & mask) == 0 ? mine : mine + width;
    const std::uint32_t give = (v & mask) == 0 ? mine + width : mine;
    const std::uint32_t peer = f.runs(v ^ mask);
    send_blocks(out, b, peer, first(give), first(give + width) - first(give));
    recv_blocks(out, b, peer, first(keep), first(keep + width) - first(keep));
    out.next_round();
    mine = keep;
  }
  // `mine` is the mirror image of v.
  const std::uint32_t owner = f.runs(mine);
  if (f.paired(owner)) {
    send_blocks(out, b, owner - 1, owner - 1, 1);
    out.next_round();
  }
  if (owner != me) {
    send_blocks(out, b, owner, owner, 1);
    recv_blocks(out, b, owner, me, 1);
  }
  out.next_round();
}

// Where p is a power of two the blocks are put into mirrored order first, so that nothing is left to exchange. (What a
// message carries is no range of blocks then: its first block stands for as many.)
void openmpi_reduce_scatter_block_butterfly(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  if (!std::has_single_bit(c.ranks)) return openmpi_reduce_scatter_butterfly(c, me, out);
  if (c.bytes == 0) return;
  for (std::uint32_t mask = 1; mask < c.ranks; mask *= 2) {
    const std::uint32_t blocks = c.ranks / (2 * mask);
    out.send(me ^ mask, c.bytes * blocks, 0, blocks);
    out.recv(me ^ mask, c.bytes * blocks, 0, blocks);
    out.next_round();
  }
}

// At distance d every rank sends what its group of d ranks has of all blocks but the group's own. Where the partner does
// not exist, the data come from a rank of the own group (the second part of the loop).
void openmpi_reduce_scatter_block_recursive_doubling(const CollectiveCall& c, std::uint32_t me,
                                                     RankSchedule& out) {
  const Blocks b = rank_blocks(c);
  if (b.total() == 0) return;
  const std::uint32_t p = c.ranks;
  // The blocks that are not of the group [root, root + mask).
  const auto others = [&](std::uint32_t root, std::uint32_t mask, std::uint32_t& first) {
    const std::uint32_t size = std::min(mask, p - root);
    first = (root + size) % p;
    return p - size;
  };
  for (std::uint32_t mask = 1; mask < p; mask *= 2) {
    const std::uint32_t mine = me & ~(mask - 1);
    const std::uint32_t theirs = mine ^ mask;
    std::uint32_t first = 0;
    if ((me ^ mask) < p) {
      const std::uint32_t going = others(mine, mask, first);
      send_blocks(out, b, me ^ mask, first, going);
      const std::uint32_t coming = others(theirs, mask, first);
      recv_blocks(out, b, me ^ mask, first, coming);
      out.next_round();
    }
    if (theirs < mine || theirs >= p || theirs + mask <= p) continue;
    const std::uint32_t have = p - theirs;
    const std::uint32_t blocks = others(theirs, mask, first);
    for (std::uint32_t half = mask / 2; half > 0; half /= 2) {
      const std::uint32_t peer = me ^ half;
      const std::uint32_t end = (me & ~(2 * half - 1)) + have;
      if (peer > me && me < end && peer >= end)
        send_blocks(out, b, peer, first, blocks);
      else if (peer < me && peer < end && me >= end)
        recv_blocks(out, b, peer, first, blocks);
      out.next_round();
    }
  }
}

}  // namespace weft::replay::collectives
