// Gather, scatter and their v-forms. Block b belongs to relative rank b, rank (root + b) mod p.
// The v-forms are linear: only the root knows the counts. A rank with 0 bytes takes no part in them, unless the call's
// rules send what is empty.
#include "replay/collectives/parts.hpp"

namespace weft::replay::collectives {

void append_scatter_binomial(const Blocks& b, Relative r, std::uint32_t me, RankSchedule& out) {
  const std::uint32_t rel = r.of(me);
  walk_binomial(
      rel, b.count(),
      [&](std::uint32_t parent, std::uint32_t subtree) {
        recv_blocks(out, b, r.rank(parent), rel, subtree);
        out.next_round();
      },
      [&](std::uint32_t child, std::uint32_t subtree) {
        send_blocks(out, b, r.rank(child), child, subtree);
        out.next_round();
      });
}

void scatter_binomial(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  if (c.bytes > 0) append_scatter_binomial(Blocks::equal(c.bytes, c.ranks), {c.ranks, c.root}, me, out);
}

void gather_binomial(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  const std::size_t from = out.messages.size();
  const std::uint32_t round = out.rounds;
  scatter_binomial(c, me, out);
  reverse(out, from, round);
}

// Scatter and scatterv: the root posts all sends at once.
void scatter_linear(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  const Relative r{c.ranks, c.root};
  if (me != c.root) {
    if (c.empties || c.bytes > 0) out.recv(c.root, c.bytes, r.of(me), 1);
  } else {
    for (std::uint32_t rel = 1; rel < c.ranks; ++rel) {
      const std::uint32_t to = r.rank(rel);
      const std::int64_t bytes = c.counts.empty() ? c.bytes : c.counts[to];
      if (c.empties || bytes > 0) out.send(to, bytes, rel, 1);
    }
  }
  out.next_round();
}

void gather_linear(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  const std::size_t from = out.messages.size();
  const std::uint32_t round = out.rounds;
  scatter_linear(c, me, out);
  reverse(out, from, round);
}

}  // namespace weft::replay::collectives
