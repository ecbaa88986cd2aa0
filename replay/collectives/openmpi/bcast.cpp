// Broadcasts as Open MPI's base functions send them (ompi/mca/coll/base/coll_base_bcast.c). Blocks: pieces of the
// message in its order.
#include "replay/collectives/openmpi/trees.hpp"

namespace weft::replay::collectives {

using openmpi::append_down;
using openmpi::in_segments;
using openmpi::relative_rank;
using openmpi::segments_of;
using openmpi::Tree;

namespace {

constexpr std::uint32_t kRadix = 4;  // coll_tuned_bcast_knomial_radix; no rule changes it

void down(const CollectiveCall& c, const Tree& t, RankSchedule& out) {
  if (c.bytes > 0 && c.ranks > 1) append_down(segments_of(c), {c.ranks, c.root}, t, out);
}

// The elements divided by p, rounded up, in bytes.
[[nodiscard]] std::int64_t full_block(const CollectiveCall& c) {
  return (elements_of(c) + c.ranks - 1) / c.ranks * element_of(c);
}

}  // namespace

void openmpi_bcast_linear(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  if (c.bytes == 0) return;
  if (me != c.root) out.recv(c.root, c.bytes);
  for (std::uint32_t to = 0; me == c.root && to < c.ranks; ++to)
    if (to != me) out.send(to, c.bytes);
  out.next_round();
}

void openmpi_bcast_chain(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  down(c, Tree::chain(relative_rank(c, me), c.ranks, c.fan), out);
}

void openmpi_bcast_pipeline(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  down(c, Tree::chain(relative_rank(c, me), c.ranks, 1), out);
}

void openmpi_bcast_binary(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  down(c, Tree::binary(relative_rank(c, me), c.ranks), out);
}

void openmpi_bcast_binomial(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  down(c, Tree::binomial(relative_rank(c, me), c.ranks), out);
}

void openmpi_bcast_knomial(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  down(c, Tree::knomial(relative_rank(c, me), c.ranks, kRadix), out);
}

// Odd relative ranks get the first half down a binary tree, even ones the second; then neighbours exchange halves.
// With an even p the last rank has no neighbour: it gets its second half from the root.
void openmpi_bcast_split_binary(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  if (c.bytes == 0 || c.ranks == 1) return;
  const std::int64_t element = element_of(c);
  const std::int64_t first = (c.bytes / element + 1) / 2 * element;
  const std::int64_t second = c.bytes - first;
  if (second == 0 || c.segment > second) return openmpi_bcast_pipeline(c, me, out);
  const Relative r{c.ranks, c.root};
  const std::uint32_t v = r.of(me);
  const Tree t = Tree::binary(v, c.ranks);
  // Unlike those of the other trees, its segments are rounded down.
  const std::int64_t each =
      c.segment > 0 ? std::max(c.segment / element, std::int64_t{1}) * element : c.bytes;
  const Blocks halves[2] = {in_segments(first, each, element), in_segments(second, each, element)};
  const auto start = [&](int half) { return half == 0 ? 0 : halves[0].count(); };
  const auto send = [&](std::uint32_t to, int half, std::uint32_t segment) {
    out.send(r.rank(to), halves[half].of(segment), start(half) + segment, 1);
  };
  {
    const RankSchedule::Pace pace(out, halves[0].count() > 1);
    if (v == 0) {
      for (std::uint32_t s = 0; s < halves[0].count(); ++s)
        for (int half = 0; half < 2; ++half) {
          if (half >= static_cast<int>(t.children().size()) || s >= halves[half].count()) continue;
          send(t.children()[static_cast<std::size_t>(half)], half, s);
          out.next_round();
        }
    } else {
      const int half = v % 2 == 1 ? 0 : 1;
      const Blocks& mine = halves[half];
      for (std::uint32_t s = 0; s <= mine.count(); ++s) {
        if (s < mine.count()) out.recv(r.rank(t.parent()), mine.of(s), start(half) + s, 1);
        for (const std::uint32_t child : t.children()) {
          if (s == 0) continue;
          send(child, half, s - 1);
          out.next_round();
        }
        out.next_round();
      }
    }
  }
  const auto whole = [&](std::uint32_t peer, int half, bool sends) {
    const Blocks& h = halves[half];
    if (sends)
      out.send(r.rank(peer), h.total(), start(half), h.count());
    else
      out.recv(r.rank(peer), h.total(), start(half), h.count());
  };
  const bool odd = c.ranks % 2 == 1;
  if (v == 0) {
    if (!odd) whole(c.ranks - 1, 1, true);
  } else if (!odd && v == c.ranks - 1) {
    whole(0, 1, false);
  } else {
    const std::uint32_t peer = v % 2 == 1 ? v + 1 : v - 1;
    whole(peer, v % 2 == 1 ? 0 : 1, true);
    whole(peer, v % 2 == 1 ? 1 : 0, false);
  }
  out.next_round();
}

void openmpi_bcast_scatter_allgather(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  if (elements_of(c) < c.ranks) return openmpi_bcast_linear(c, me, out);
  append_bcast_scatter_doubling(c.bytes, full_block(c), {c.ranks, c.root}, me, out);
}

void openmpi_bcast_scatter_ring(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  if (elements_of(c) < c.ranks) return openmpi_bcast_linear(c, me, out);
  append_bcast_scatter_ring(c.bytes, full_block(c), {c.ranks, c.root}, me, out);
}

}  // namespace weft::replay::collectives
