// Open MPI's non-blocking collectives (ompi/mca/coll/libnbc) that no blocking form sends. The library goes on only inside
// MPI calls; here a round follows the one before at once.
#include "replay/collectives/openmpi/trees.hpp"

namespace weft::replay::collectives {

using openmpi::segments_of;
using openmpi::Tree;

namespace {

// Relative to the root: the root and rank 0 change places, and nobody else.
[[nodiscard]] std::uint32_t swapped(const CollectiveCall& c, std::uint32_t rank) {
  return rank == 0 ? c.root : rank == c.root ? 0 : rank;
}
// A schedule of relative ranks to one of ranks.
void swap_peers(const CollectiveCall& c, std::size_t from, RankSchedule& out) {
  for (std::size_t i = from; i < out.messages.size(); ++i)
    out.messages[i].peer = swapped(c, out.messages[i].peer);
}

}  // namespace

void libnbc_bcast_binomial(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  if (c.bytes == 0 || c.ranks == 1) return;
  const std::size_t from = out.messages.size();
  openmpi::append_down(Blocks::filled(c.bytes, c.bytes, 1), {c.ranks},
                       Tree::binomial(swapped(c, me), c.ranks), out);
  swap_peers(c, from, out);
}

void libnbc_reduce_binomial(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  if (c.bytes == 0) return;
  const std::size_t from = out.messages.size();
  append_reduce_binomial(c.bytes, {c.ranks}, swapped(c, me), out);
  swap_peers(c, from, out);
}

void libnbc_bcast_chain(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  if (c.bytes == 0 || c.ranks == 1) return;
  CollectiveCall cut = c;
  cut.segment = c.bytes < 524288 ? 8192 : 32768;
  const std::size_t from = out.messages.size();
  openmpi::append_down(segments_of(cut), {c.ranks}, Tree::chain(swapped(c, me), c.ranks, 1), out);
  swap_peers(c, from, out);
}

// A segment is received, then sent on, then the next one is received.
void libnbc_reduce_chain(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  if (c.bytes == 0 || c.ranks == 1) return;
  CollectiveCall cut = c;
  cut.segment = 8192;
  const Blocks segments = segments_of(cut);
  const std::size_t from = out.messages.size();
  const Tree t = Tree::chain(swapped(c, me), c.ranks, 1);
  const RankSchedule::Pace pace(out, segments.count() > 1);
  for (std::uint32_t s = 0; s < segments.count(); ++s) {
    for (const std::uint32_t child : t.children()) recv_blocks(out, segments, child, s, 1);
    out.next_round();
    if (!t.is_top()) send_blocks(out, segments, t.parent(), s, 1);
    out.next_round();
  }
  swap_peers(c, from, out);
}

void libnbc_allreduce_binomial(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  if (c.bytes == 0) return;
  append_reduce_binomial(c.bytes, {c.ranks}, me, out);
  CollectiveCall part = c;
  part.root = 0;
  libnbc_bcast_binomial(part, me, out);
}

// Blocks: the parts; the reduction carries all of them.
void libnbc_reduce_scatter(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  const Blocks b = rank_blocks(c);
  if (b.total() == 0) return;
  const std::size_t from = out.messages.size();
  append_reduce_binomial(b.total(), {c.ranks}, me, out);
  for (std::size_t i = from; i < out.messages.size(); ++i) out.messages[i].blocks = c.ranks;
  if (me != 0) recv_blocks(out, b, 0, me, 1);
  for (std::uint32_t to = 1; me == 0 && to < c.ranks; ++to) send_blocks(out, b, to, to, 1);
  out.next_round();
}

}  // namespace weft::replay::collectives
