// Gather, scatter and their v-forms as Open MPI's base functions send them (ompi/mca/coll/base/coll_base_gather.c,
// coll_base_scatter.c; the v-forms: ompi/mca/coll/basic). Block b belongs to relative rank b, as in
// ../gather_scatter.cpp.
#include "replay/collectives/openmpi/trees.hpp"

namespace weft::replay::collectives {
namespace {

enum class Steps { kOneByOne, kAtOnce };

// Between the root and every other rank in rank order.
void star(const CollectiveCall& c, std::uint32_t me, bool root_sends, Steps steps, RankSchedule& out) {
  const Relative r{c.ranks, c.root};
  if (me != c.root) {
    if (c.bytes > 0 && root_sends) out.recv(c.root, c.bytes, r.of(me), 1);
    if (c.bytes > 0 && !root_sends) out.send(c.root, c.bytes, r.of(me), 1);
    out.next_round();
    return;
  }
  for (std::uint32_t peer = 0; peer < c.ranks; ++peer) {
    const std::int64_t bytes = c.counts.empty() ? c.bytes : c.counts[peer];
    if (peer == me || bytes == 0) continue;
    if (root_sends)
      out.send(peer, bytes, r.of(peer), 1);
    else
      out.recv(peer, bytes, r.of(peer), 1);
    if (steps == Steps::kOneByOne) out.next_round();
  }
  out.next_round();
}

}  // namespace

void openmpi_gather_linear(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  star(c, me, false, Steps::kOneByOne, out);
}

// The root asks one rank after the other with an empty message; the block comes in two parts: the first as long as
// the rule's segment (0: the whole block), and the rest, which may be empty. The root posts a receive for the rest before it waits for
// the first part, asks the next rank when it has that, and waits for all the rests in the end.
void openmpi_gather_linear_sync(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  if (c.bytes == 0) return;
  const Relative r{c.ranks, c.root};
  const std::int64_t element = element_of(c);
  const std::int64_t first = openmpi::segment_elements(c.segment, element, c.bytes / element) * element;
  // The part that makes the block whole carries it.
  const auto part = [&](std::uint32_t peer, bool sends, bool second) {
    const std::uint32_t block = sends ? r.of(me) : r.of(peer);
    const std::int64_t bytes = second ? c.bytes - first : first;
    if (sends)
      out.add({0, true, false, peer, bytes, block, bytes == c.bytes ? 1u : 0u, second});
    else
      out.recv(peer, bytes, block, bytes == c.bytes ? 1 : 0);
  };
  if (me != c.root) {
    out.recv(c.root, 0, 0, 0);
    out.next_round();
    part(c.root, true, false);
    out.next_round();
    part(c.root, true, true);
    out.next_round();
    return;
  }
  for (std::uint32_t peer = 0; peer < c.ranks; ++peer) {
    if (peer == me) continue;
    part(peer, false, false);
    out.send(peer, 0, 0, 0);
    out.next_round();
  }
  for (std::uint32_t peer = 0; peer < c.ranks; ++peer)
    if (peer != me) part(peer, false, true);
  out.next_round();
}

void openmpi_gatherv_linear(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  star(c, me, false, Steps::kAtOnce, out);
}

void openmpi_scatter_linear(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  star(c, me, true, Steps::kOneByOne, out);
}

void openmpi_scatter_linear_nb(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  star(c, me, true, Steps::kAtOnce, out);
}

}  // namespace weft::replay::collectives
