// Reductions as Open MPI's base functions send them (ompi/mca/coll/base/coll_base_reduce.c, coll_base_allreduce.c).
// Blocks: pieces of the vector in its order; a message carries partial or final sums.
#include "replay/collectives/openmpi/trees.hpp"

namespace weft::replay::collectives {

using openmpi::append_chosen;
using openmpi::append_up;
using openmpi::relative_rank;
using openmpi::segments_of;
using openmpi::Tree;

namespace {

[[nodiscard]] bool nothing(const CollectiveCall& c) { return c.bytes == 0 || c.ranks == 1; }
void up(const CollectiveCall& c, const Tree& t, RankSchedule& out) {
  if (!nothing(c)) append_up(segments_of(c), {c.ranks, c.root}, t, out);
}

// Ranks of a pair add up one half each; then the odd one hands its half over and sits out.
void fold_halves(const Blocks& b, const Fold& f, std::uint32_t me, RankSchedule& out) {
  if (!f.paired(me)) return;
  const std::uint32_t half = f.pof2 / 2;
  const bool odd = me % 2 == 1;
  const std::uint32_t peer = odd ? me - 1 : me + 1;
  send_blocks(out, b, peer, odd ? 0 : half, half);
  recv_blocks(out, b, peer, odd ? half : 0, half);
  out.next_round();
  if (odd)
    send_blocks(out, b, peer, half, half);
  else
    recv_blocks(out, b, peer, half, half);
  out.next_round();
}

}  // namespace

// The root adds up one vector after the other, from the last rank to the first.
void openmpi_reduce_linear(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  if (nothing(c)) return;
  if (me != c.root) out.send(c.root, c.bytes);
  for (std::uint32_t from = c.ranks; me == c.root && from-- > 0;) {
    if (from != me) out.recv(from, c.bytes);
    out.next_round();
  }
  out.next_round();
}

void openmpi_reduce_chain(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  up(c, Tree::chain(relative_rank(c, me), c.ranks, c.fan), out);
}

void openmpi_reduce_pipeline(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  up(c, Tree::chain(relative_rank(c, me), c.ranks, 1), out);
}

void openmpi_reduce_binary(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  up(c, Tree::binary(relative_rank(c, me), c.ranks), out);
}

void openmpi_reduce_binomial(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  up(c, Tree::in_order_binomial(relative_rank(c, me), c.ranks), out);
}

// The result is on the last rank, which sends it to the root.
void openmpi_reduce_in_order_binary(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  if (nothing(c)) return;
  const std::uint32_t last = c.ranks - 1;
  const Blocks segments = segments_of(c);
  append_up(segments, {c.ranks, 0}, Tree::in_order_binary(me, c.ranks), out);
  if (c.root == last) return;
  if (me == last) send_blocks(out, segments, c.root, 0, segments.count());
  if (me == c.root) recv_blocks(out, segments, last, 0, segments.count());
  out.next_round();
}

// Reduce-scatter by vector halving with distance doubling, then the pieces go up the same tree. A root that sat out
// takes the place, and the piece, of rank 0.
void openmpi_reduce_rabenseifner(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  if (nothing(c)) return;
  const Fold f(c.ranks);
  if (elements_of(c) < f.pof2) return openmpi_reduce_linear(c, me, out);
  const Blocks b = Blocks::halved(c.bytes, f.pof2, element_of(c));
  fold_halves(b, f, me, out);
  append_reduce_by_halving(b, f, c.root, me, out);
}

void openmpi_bcast_linear(const CollectiveCall& c, std::uint32_t me, RankSchedule& out);

void openmpi_allreduce_linear(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  CollectiveCall part = c;
  part.root = 0;
  openmpi_reduce_linear(part, me, out);
  openmpi_bcast_linear(part, me, out);
}

// A reduce and a broadcast, each as the rules choose.
void openmpi_allreduce_nonoverlapping(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  CollectiveCall part = c;
  part.root = 0;
  for (const auto kind : {traces::OpKind::reduce, traces::OpKind::bcast}) {
    part.kind = kind;
    append_chosen(part, me, out);
  }
}

void openmpi_allreduce_recursive_doubling(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  if (c.empties || !nothing(c)) append_even_fold_doubling(c.bytes, c.ranks, me, out);
}

void openmpi_allreduce_ring(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  if (elements_of(c) < c.ranks) return openmpi_allreduce_recursive_doubling(c, me, out);
  const Blocks b = Blocks::cut(c.bytes, c.ranks, element_of(c));
  append_reduce_scatter_ring(b, {c.ranks}, 1, me, out);
  append_allgather_ring(b, {c.ranks}, 1, me, out);
}

// The reduce-scatter in phases, each a ring over one segment of every block; the allgather as above. Block b's segment
// s is block b n + s.
void openmpi_allreduce_segmented_ring(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  const std::int64_t element = element_of(c);
  const std::int64_t count = c.bytes / element;
  const std::uint32_t p = c.ranks;
  const std::int64_t segment = openmpi::segment_elements(c.segment, element, count);
  if (p == 1 || count == 0 || count < segment * p) return openmpi_allreduce_ring(c, me, out);
  const std::int64_t rest = count % (segment * p);
  const std::int64_t wanted = count / (segment * p) + (rest >= p && rest > segment * p / 2 ? 1 : 0);
  const auto phases = static_cast<std::uint32_t>(std::min<std::int64_t>(wanted, 65536));
  const Blocks blocks = Blocks::cut(c.bytes, p, element);
  const std::uint32_t next = plus(me, 1, p);
  const std::uint32_t previous = minus(me, 1, p);
  for (std::uint32_t s = 0; s < phases; ++s) {
    const auto piece = [&](std::uint32_t b) { return Blocks::cut(blocks.of(b), phases, element).of(s); };
    std::uint32_t block = me;
    for (std::uint32_t k = 1; k < p; ++k) {
      const std::uint32_t coming = minus(block, 1, p);
      out.send(next, piece(block), block * phases + s, 1);
      out.recv(previous, piece(coming), coming * phases + s, 1);
      out.next_round();
      block = coming;
    }
  }
  std::uint32_t block = next;
  for (std::uint32_t k = 1; k < p; ++k) {
    const std::uint32_t coming = minus(block, 1, p);
    out.send(next, blocks.of(block), block * phases, phases);
    out.recv(previous, blocks.of(coming), coming * phases, phases);
    out.next_round();
    block = coming;
  }
}

void openmpi_allreduce_rabenseifner(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  if (nothing(c)) return;
  const Fold f(c.ranks);
  if (elements_of(c) < f.pof2) return openmpi_allreduce_linear(c, me, out);
  const Blocks b = Blocks::halved(c.bytes, f.pof2, element_of(c));
  fold_halves(b, f, me, out);
  if (f.sits_out(me)) {
    recv_blocks(out, b, me - 1, 0, f.pof2);
    out.next_round();
    return;
  }
  const std::uint32_t v = f.folded(me);
  const auto runs = [&](std::uint32_t other) { return f.first(other); };
  const HalvedRange mine = append_vector_halving(b, f.pof2, v, runs, out);
  append_halving_back(b, f.pof2, v, runs, mine, out);
  if (f.paired(me)) send_blocks(out, b, me + 1, 0, f.pof2);
  out.next_round();
}

}  // namespace weft::replay::collectives
