// Allgather and allgatherv. Block b is rank b's contribution; a range of blocks may run over p - 1 and go on
// at 0.
#include "replay/collectives/parts.hpp"

namespace weft::replay::collectives {

void append_ring_pass(const Blocks& b, Relative r, std::uint32_t first, std::uint32_t me, RankSchedule& out) {
  const std::uint32_t p = r.p;
  if (p == 1) return;
  const std::uint32_t rel = r.of(me);
  const std::uint32_t next = r.rank(plus(rel, 1, p));
  const std::uint32_t previous = r.rank(minus(rel, 1, p));
  const std::uint32_t start = plus(rel, first, p);
  out.steps(1, p, [&](std::uint32_t k) {
    send_blocks(out, b, next, minus(start, k - 1, p), 1);
    recv_blocks(out, b, previous, minus(start, k, p), 1);
    out.next_round();
  });
}

void allgather_ring(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  const Blocks b = rank_blocks(c);
  if (b.total() > 0) append_allgather_ring(b, {c.ranks}, 0, me, out);
}

// Ranges double; a rank that sits out hands its block over before and gets the others after.
void allgather_recursive_doubling(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  const Blocks b = rank_blocks(c);
  if (b.total() == 0) return;
  const std::uint32_t p = c.ranks;
  const Fold f(p);
  if (f.sits_out(me)) {
    send_blocks(out, b, me - 1, me, 1);
    out.next_round();
    recv_blocks(out, b, me - 1, plus(me, 1, p), p - 1);
    out.next_round();
    return;
  }
  if (f.paired(me)) recv_blocks(out, b, me + 1, me + 1, 1);
  out.next_round();
  const std::uint32_t folded = f.folded(me);
  for (std::uint32_t mask = 1; mask < f.pof2; mask *= 2) {
    const std::uint32_t mine = folded & ~(mask - 1);
    const std::uint32_t theirs = mine ^ mask;
    const std::uint32_t peer = f.first(folded ^ mask);
    send_blocks(out, b, peer, f.first(mine), f.first(mine + mask) - f.first(mine));
    recv_blocks(out, b, peer, f.first(theirs), f.first(theirs + mask) - f.first(theirs));
    out.next_round();
  }
  if (f.paired(me)) send_blocks(out, b, me + 1, plus(me + 1, 1, p), p - 1);
  out.next_round();
}

// Bruck et al., IEEE TPDS 1997: in round k everything so far, at most p - 2^k blocks, to rank - 2^k.
void append_allgather_bruck(const Blocks& b, std::uint32_t me, RankSchedule& out) {
  const std::uint32_t p = b.count();
  for (std::uint32_t d = 1; d < p; d *= 2) {
    const std::uint32_t n = std::min(d, p - d);
    send_blocks(out, b, minus(me, d, p), me, n);
    recv_blocks(out, b, plus(me, d, p), plus(me, d, p), n);
    out.next_round();
  }
}

void allgather_bruck(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  const Blocks b = rank_blocks(c);
  if (b.total() > 0) append_allgather_bruck(b, me, out);
}

void allgather_linear(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  const Blocks b = rank_blocks(c);
  for (std::uint32_t k = 1; k < c.ranks; ++k) {
    const std::uint32_t to = plus(me, k, c.ranks);
    const std::uint32_t from = minus(me, k, c.ranks);
    if (c.empties || b.of(from) > 0) recv_blocks(out, b, from, from, 1);
    if (c.empties || b.of(me) > 0) send_blocks(out, b, to, me, 1);
  }
  out.next_round();
}

}  // namespace weft::replay::collectives
