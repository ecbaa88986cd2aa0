// Broadcasts. Blocks: the message cut into as many pieces as the algorithm needs, numbered from its start.
#include "replay/collectives/parts.hpp"

namespace weft::replay::collectives {
namespace {
constexpr std::int64_t kSegment = 65536;     // bytes of a pipeline segment
constexpr std::int64_t kMaxSegments = 4096;  // longer messages get longer segments
}  // namespace

// A child after the other, the largest subtree first: blocking sends, as MPICH has them.
void append_bcast_binomial(std::int64_t bytes, Relative r, std::uint32_t me, RankSchedule& out) {
  walk_binomial(
      r.of(me), r.p,
      [&](std::uint32_t parent, std::uint32_t) {
        out.recv(r.rank(parent), bytes);
        out.next_round();
      },
      [&](std::uint32_t child, std::uint32_t) {
        out.send(r.rank(child), bytes);
        out.next_round();
      });
}

void append_bcast_linear(std::int64_t bytes, Relative r, std::uint32_t me, RankSchedule& out) {
  if (me == r.root)
    for (std::uint32_t rel = 1; rel < r.p; ++rel) out.send(r.rank(rel), bytes);
  else
    out.recv(r.root, bytes);
  out.next_round();
}

namespace {
// Binomial scatter of the blocks; nobody sends what is empty.
void scatter(const Blocks& b, Relative r, std::uint32_t me, RankSchedule& out) {
  const std::uint32_t rel = r.of(me);
  walk_binomial(
      rel, r.p,
      [&](std::uint32_t parent, std::uint32_t subtree) {
        if (b.of(rel, subtree) > 0) recv_blocks(out, b, r.rank(parent), rel, subtree);
        out.next_round();
      },
      [&](std::uint32_t child, std::uint32_t subtree) {
        if (b.of(child, subtree) > 0) send_blocks(out, b, r.rank(child), child, subtree);
        out.next_round();
      });
}

}  // namespace

void append_bcast_scatter_doubling(std::int64_t bytes, std::int64_t each, Relative r, std::uint32_t me,
                                   RankSchedule& out) {
  const Blocks b = Blocks::filled(bytes, each, r.p);
  scatter(b, r, me, out);
  append_allgather_doubling(b, r, me, out);
}

void append_allgather_doubling(const Blocks& b, Relative r, std::uint32_t me, RankSchedule& out) {
  const std::uint32_t p = r.p;
  const std::uint32_t v = r.of(me);
  for (std::uint32_t mask = 1; mask < p; mask *= 2) {
    const std::uint32_t mine = v & ~(mask - 1);
    const std::uint32_t theirs = mine ^ mask;
    if ((v ^ mask) < p) {
      send_blocks(out, b, r.rank(v ^ mask), mine, std::min(mask, p - mine));
      recv_blocks(out, b, r.rank(v ^ mask), theirs, std::min(mask, p - theirs));
      out.next_round();
    }
    if (theirs < mine || theirs >= p || theirs + mask <= p) continue;
    const std::uint32_t have = p - theirs;  // ranks of a half that had a partner
    for (std::uint32_t half = mask / 2; half > 0; half /= 2) {
      const std::uint32_t peer = v ^ half;
      const std::uint32_t end = (v & ~(2 * half - 1)) + have;
      if (peer > v && v < end && peer >= end) {
        send_blocks(out, b, r.rank(peer), theirs, have);
      } else if (peer < v && peer < end && v >= end) {
        recv_blocks(out, b, r.rank(peer), theirs, have);
      }
      out.next_round();
    }
  }
}

void append_bcast_scatter_ring(std::int64_t bytes, std::int64_t each, Relative r, std::uint32_t me,
                               RankSchedule& out) {
  const Blocks b = Blocks::filled(bytes, each, r.p);
  scatter(b, r, me, out);
  append_allgather_ring(b, r, 0, me, out);
}

void bcast_binomial(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  if (c.bytes > 0) append_bcast_binomial(c.bytes, {c.ranks, c.root}, me, out);
}

void bcast_linear(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  if (c.bytes > 0) append_bcast_linear(c.bytes, {c.ranks, c.root}, me, out);
}

// A chain of ranks; a segment goes on while the next one comes in.
void bcast_pipeline(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  if (c.bytes == 0 || c.ranks == 1) return;
  const Relative r{c.ranks, c.root};
  const std::uint32_t rel = r.of(me);
  const auto segments = static_cast<std::uint32_t>(
      std::min(kMaxSegments, c.bytes / kSegment + (c.bytes % kSegment == 0 ? 0 : 1)));
  const Blocks b = Blocks::cut(c.bytes, segments);
  const RankSchedule::Pace pace(out, segments > 1);
  for (std::uint32_t s = 0; s <= segments; ++s) {
    if (s < segments && rel > 0) recv_blocks(out, b, r.rank(rel - 1), s, 1);
    if (s > 0 && rel + 1 < c.ranks) send_blocks(out, b, r.rank(rel + 1), s - 1, 1);
    out.next_round();
  }
}

// van de Geijn: binomial scatter of p pieces, then ring allgather.
void bcast_ring(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  if (c.bytes == 0) return;
  const Relative r{c.ranks, c.root};
  const Blocks b = Blocks::cut(c.bytes, c.ranks);
  append_scatter_binomial(b, r, me, out);
  append_allgather_ring(b, r, 0, me, out);
}

// Binomial scatter over the largest power of two of ranks, recursive-doubling allgather among them; each of
// the others then gets the whole message from one of them.
void bcast_recursive_doubling(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  if (c.bytes == 0) return;
  const Relative r{c.ranks, c.root};
  const std::uint32_t n = std::bit_floor(c.ranks);
  const std::uint32_t rel = r.of(me);
  if (rel >= n) {
    out.recv(r.rank(rel - n), c.bytes, 0, n);
    out.next_round();
    return;
  }
  const Blocks b = Blocks::cut(c.bytes, n);
  append_scatter_binomial(b, r, me, out);
  for (std::uint32_t mask = 1; mask < n; mask *= 2) {
    const std::uint32_t mine = rel & ~(mask - 1);
    const std::uint32_t peer = r.rank(rel ^ mask);
    send_blocks(out, b, peer, mine, mask);
    recv_blocks(out, b, peer, mine ^ mask, mask);
    out.next_round();
  }
  if (rel < c.ranks - n) out.send(r.rank(rel + n), c.bytes, 0, n);
  out.next_round();
}

}  // namespace weft::replay::collectives
