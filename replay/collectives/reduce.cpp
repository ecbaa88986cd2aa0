// Reductions to a root. Blocks: pieces of the vector, numbered from its start; a message carries partial sums
// of them.
#include "replay/collectives/parts.hpp"

namespace weft::replay::collectives {

void append_reduce_binomial(std::int64_t bytes, Relative r, std::uint32_t me, RankSchedule& out) {
  const std::size_t from = out.messages.size();
  const std::uint32_t round = out.rounds;
  append_bcast_binomial(bytes, r, me, out);
  reverse(out, from, round);
}

// The root receives one vector after the other: it has one buffer to add from.
void append_reduce_linear(std::int64_t bytes, Relative r, std::uint32_t me, RankSchedule& out) {
  if (me != r.root) {
    out.send(r.root, bytes);
    out.next_round();
    return;
  }
  for (std::uint32_t rel = 1; rel < r.p; ++rel) {
    out.recv(r.rank(rel), bytes);
    out.next_round();
  }
}

void append_reduce_by_halving(const Blocks& b, const Fold& f, std::uint32_t root, std::uint32_t me,
                              RankSchedule& out) {
  std::uint32_t v = f.folded(me);
  HalvedRange mine;
  if (!f.sits_out(me))
    mine = append_vector_halving(
        b, f.pof2, v, [&](std::uint32_t other) { return f.first(other); }, out);
  const bool stands_in = f.sits_out(root);
  const std::uint32_t top = stands_in ? 0 : f.folded(root);
  if (stands_in && me == 0) {
    send_blocks(out, b, root, 0, 1);
    out.next_round();
    return;
  }
  if (stands_in && me == root) {
    recv_blocks(out, b, 0, 0, 1);
    out.next_round();
    v = 0;
    mine = {0, 1};
  } else if (f.sits_out(me)) {
    return;
  }
  for (std::uint32_t mask = f.pof2 / 2; mask >= 1; mask /= 2) {
    const std::uint32_t other = v ^ mask;
    const std::uint32_t peer = other == 0 && stands_in ? root : f.first(other);
    if (other / mask == top / mask) {
      send_blocks(out, b, peer, mine.first, mine.count);
      out.next_round();
      return;
    }
    const std::uint32_t theirs = (v & mask) == 0 ? mine.first + mine.count : mine.first - mine.count;
    recv_blocks(out, b, peer, theirs, mine.count);
    out.next_round();
    mine = {std::min(mine.first, theirs), 2 * mine.count};
  }
}

void reduce_binomial(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  if (c.bytes > 0 || c.empties) append_reduce_binomial(c.bytes, {c.ranks, c.root}, me, out);
}

void reduce_linear(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  if (c.bytes > 0) append_reduce_linear(c.bytes, {c.ranks, c.root}, me, out);
}

void bcast_pipeline(const CollectiveCall& c, std::uint32_t me, RankSchedule& out);

// The pipelined chain of the broadcast, run backwards.
void reduce_pipeline(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  const std::size_t from = out.messages.size();
  const std::uint32_t round = out.rounds;
  bcast_pipeline(c, me, out);
  reverse(out, from, round);
}

// Rabenseifner: reduce-scatter by vector halving, then the pieces go up the same tree to the root, which is
// relative rank 0 and therefore never sits out.
void reduce_rabenseifner(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  if (c.bytes == 0) return;
  const Relative r{c.ranks, c.root};
  const Fold f(c.ranks);
  const Blocks b = Blocks::cut(c.bytes, f.pof2);
  const std::uint32_t rel = r.of(me);
  if (f.sits_out(rel)) {
    send_blocks(out, b, r.rank(rel - 1), 0, f.pof2);
    out.next_round();
    return;
  }
  if (f.paired(rel)) recv_blocks(out, b, r.rank(rel + 1), 0, f.pof2);
  out.next_round();
  const std::uint32_t folded = f.folded(rel);
  HalvedRange mine = append_vector_halving(
      b, f.pof2, folded, [&](std::uint32_t other) { return r.rank(f.first(other)); }, out);
  for (std::uint32_t mask = f.pof2 / 2; mask >= 1; mask /= 2) {
    const std::uint32_t peer = r.rank(f.first(folded ^ mask));
    if ((folded & mask) != 0) {
      send_blocks(out, b, peer, mine.first, mine.count);
      out.next_round();
      return;
    }
    recv_blocks(out, b, peer, mine.first + mine.count, mine.count);
    out.next_round();
    mine.count *= 2;
  }
}

}  // namespace weft::replay::collectives
