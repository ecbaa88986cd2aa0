// Reductions whose result every rank gets. Blocks: pieces of the vector; a message carries partial or final
// sums.
#include "replay/collectives/parts.hpp"

namespace weft::replay::collectives {

void append_allreduce_recursive_doubling(std::int64_t bytes, std::uint32_t p, std::uint32_t me,
                                         RankSchedule& out) {
  const Fold f(p);
  if (f.sits_out(me)) {
    out.send(me - 1, bytes);
    out.next_round();
    out.recv(me - 1, bytes);
    out.next_round();
    return;
  }
  if (f.paired(me)) out.recv(me + 1, bytes);
  out.next_round();
  const std::uint32_t folded = f.folded(me);
  for (std::uint32_t mask = 1; mask < f.pof2; mask *= 2) {
    const std::uint32_t peer = f.first(folded ^ mask);
    out.send(peer, bytes);
    out.recv(peer, bytes);
    out.next_round();
  }
  if (f.paired(me)) out.send(me + 1, bytes);
  out.next_round();
}

void append_even_fold_doubling(std::int64_t bytes, std::uint32_t p, std::uint32_t me, RankSchedule& out) {
  const EvenFold f(p);
  if (f.sits_out(me)) {
    out.send(me + 1, bytes);
    out.next_round();
    out.recv(me + 1, bytes);
    out.next_round();
    return;
  }
  if (f.paired(me)) out.recv(me - 1, bytes);
  out.next_round();
  for (std::uint32_t mask = 1; mask < f.pof2; mask *= 2) {
    const std::uint32_t peer = f.runs(f.folded(me) ^ mask);
    out.send(peer, bytes);
    out.recv(peer, bytes);
    out.next_round();
  }
  if (f.paired(me)) out.send(me - 1, bytes);
  out.next_round();
}

void allreduce_recursive_doubling(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  if (c.bytes > 0) append_allreduce_recursive_doubling(c.bytes, c.ranks, me, out);
}

// Reduce-scatter by vector halving and distance doubling, then allgather back along the same pairs.
void allreduce_rabenseifner(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  if (c.bytes == 0) return;
  const Fold f(c.ranks);
  const Blocks b = Blocks::cut(c.bytes, f.pof2);
  if (f.sits_out(me)) {
    send_blocks(out, b, me - 1, 0, f.pof2);
    out.next_round();
    recv_blocks(out, b, me - 1, 0, f.pof2);
    out.next_round();
    return;
  }
  if (f.paired(me)) recv_blocks(out, b, me + 1, 0, f.pof2);
  out.next_round();
  const std::uint32_t folded = f.folded(me);
  const auto runs = [&](std::uint32_t other) { return f.first(other); };
  const HalvedRange mine = append_vector_halving(b, f.pof2, folded, runs, out);
  append_halving_back(b, f.pof2, folded, runs, mine, out);
  if (f.paired(me)) send_blocks(out, b, me + 1, 0, f.pof2);
  out.next_round();
}

void allreduce_ring(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  if (c.bytes == 0) return;
  const Blocks b = Blocks::cut(c.bytes, c.ranks);
  append_reduce_scatter_ring(b, {c.ranks}, 1, me, out);
  append_allgather_ring(b, {c.ranks}, 1, me, out);
}

void allreduce_reduce_bcast(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  if (c.bytes == 0) return;
  append_reduce_binomial(c.bytes, {c.ranks}, me, out);
  append_bcast_binomial(c.bytes, {c.ranks}, me, out);
}

void allreduce_linear(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  if (c.bytes == 0) return;
  append_reduce_linear(c.bytes, {c.ranks}, me, out);
  append_bcast_linear(c.bytes, {c.ranks}, me, out);
}

}  // namespace weft::replay::collectives
