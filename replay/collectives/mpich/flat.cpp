// Algorithms of MPICH (src/mpi/coll) whose messages differ from the textbook forms and from Open MPI's. Blocks: as in the
// file of each family.
#include "replay/collectives/mpich/limits.hpp"
#include "replay/collectives/pairs.hpp"

namespace weft::replay::collectives {
namespace {

// A broadcast cuts its message into bytes, not elements.
std::int64_t bcast_block(const CollectiveCall& c) { return (c.bytes + c.ranks - 1) / c.ranks; }

// Ibcast's scatter (ibcast_utils.c): a rank counts all that comes after its own part as its own, so that its first message
// is as long as that, although it was sent its subtree's only. Returns what it has for `child`, whose subtree that is.
std::int64_t tail_for(const Blocks& b, std::uint32_t p, std::uint32_t rel, std::uint32_t child) {
  std::int64_t have = b.of(rel, p - rel), sent = 0;
  walk_binomial(
      rel, p, [](std::uint32_t, std::uint32_t) {},
      [&](std::uint32_t at, std::uint32_t) {
        if (at < child) return;
        sent = std::max<std::int64_t>(0, have - b.of(rel, at - rel));
        have -= sent;
      });
  return sent;
}
// Returns what was scattered.
Blocks append_tails(const CollectiveCall& c, Relative r, std::uint32_t me, RankSchedule& out) {
  const Blocks b = Blocks::filled(c.bytes, bcast_block(c), c.ranks);
  const std::uint32_t rel = r.of(me);
  walk_binomial(
      rel, r.p,
      [&](std::uint32_t parent, std::uint32_t subtree) {
        if (const std::int64_t bytes = tail_for(b, r.p, parent, rel); bytes > 0)
          out.recv(r.rank(parent), bytes, rel, subtree);
        out.next_round();
      },
      [&](std::uint32_t child, std::uint32_t subtree) {
        if (const std::int64_t bytes = tail_for(b, r.p, rel, child); bytes > 0)
          out.send(r.rank(child), bytes, child, subtree);
      });
  out.next_round();
  return b;
}

// Vectors are cut into elements: the blocking forms give one more to the first blocks, the others the rest to the last.
Blocks vector_blocks(const CollectiveCall& c, std::uint32_t pof2) {
  const std::int64_t element = element_of(c);
  return c.nonblocking ? Blocks::filled(c.bytes, c.bytes / element / pof2 * element, pof2)
                       : Blocks::cut(c.bytes, pof2, element);
}

}  // namespace

void mpich_bcast_scatter_doubling(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  if (c.bytes == 0) return;
  const Relative r{c.ranks, c.root};
  if (!c.nonblocking) return append_bcast_scatter_doubling(c.bytes, bcast_block(c), r, me, out);
  const Blocks b = append_tails(c, r, me, out);
  append_allgather_doubling(b, r, me, out);
}

void mpich_bcast_scatter_ring(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  if (c.bytes == 0) return;
  const Relative r{c.ranks, c.root};
  if (!c.nonblocking) return append_bcast_scatter_ring(c.bytes, bcast_block(c), r, me, out);
  const Blocks b = append_tails(c, r, me, out);
  append_allgather_ring(b, r, 0, me, out);
}

void mpich_allgather_recursive_doubling(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  const Blocks b = rank_blocks(c);
  if (b.total() > 0) append_allgather_doubling(b, {c.ranks}, me, out);
}

// Blocks go round in pieces of 32 KiB, as many as each has: one piece comes while one goes. (A message that is no whole
// block carries none.) The non-blocking form's are as long as the smallest block if that is longer.
void mpich_allgatherv_ring(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  std::int64_t longest = 32768;  // MPIR_CVAR_ALLGATHERV_PIPELINE_MSG_SIZE
  if (c.nonblocking)
    longest =
        std::max(longest, c.counts.empty() ? c.bytes : *std::ranges::min_element(c.counts.first(c.ranks)));
  const Blocks b = rank_blocks(c);
  const std::uint32_t p = c.ranks;
  const std::uint32_t next = plus(me, 1 % p, p);
  const std::uint32_t previous = minus(me, 1 % p, p);
  // What is left of the blocks that go out and come in, and which are under way.
  struct Side {
    std::int64_t left;
    std::uint32_t block;
    std::int64_t done = 0;
  };
  Side going{b.total() - b.of(next), me};
  Side coming{b.total() - b.of(me), previous};
  if (p == 1) return;
  const auto piece = [&](const Side& s) {
    return s.left == 0 ? 0 : std::min(longest, b.of(s.block) - s.done);
  };
  const auto advance = [&](Side& s, std::int64_t bytes) {
    s.left -= bytes;
    s.done += bytes;
    if (s.done != b.of(s.block)) return;
    s.done = 0;
    s.block = minus(s.block, 1, p);
  };
  while (going.left > 0 || coming.left > 0) {
    const std::int64_t sent = piece(going);
    const std::int64_t received = piece(coming);
    if (sent > 0) out.send(next, sent, 0, 0);
    if (received > 0) out.recv(previous, received, 0, 0);
    out.next_round();
    advance(going, sent);
    advance(coming, received);
  }
}

// Batches count from the rank itself, so that the first one has 31 others.
void mpich_alltoall_scattered(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  append_pairs_in_batches(mpich::kThrottle, 0, c, me, out);
}

// Odd ranks of the fold hand their vector over, so that rank 0, the usual root, takes part.
void mpich_reduce_scatter_gather(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  if (c.bytes == 0 || c.ranks == 1) return;
  const Fold f(c.ranks);
  const Blocks b = vector_blocks(c, f.pof2);
  if (f.sits_out(me)) send_blocks(out, b, me - 1, 0, f.pof2);
  if (f.paired(me) && !f.sits_out(me)) recv_blocks(out, b, me + 1, 0, f.pof2);
  out.next_round();
  append_reduce_by_halving(b, f, c.root, me, out);
}

void mpich_allreduce_scatter_allgather(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  if (c.bytes == 0) return;
  const EvenFold f(c.ranks);
  const Blocks b = vector_blocks(c, f.pof2);
  if (f.sits_out(me)) {
    send_blocks(out, b, me + 1, 0, f.pof2);
    out.next_round();
    recv_blocks(out, b, me + 1, 0, f.pof2);
    out.next_round();
    return;
  }
  if (f.paired(me)) recv_blocks(out, b, me - 1, 0, f.pof2);
  out.next_round();
  const auto runs = [&](std::uint32_t other) { return f.runs(other); };
  const std::uint32_t v = f.folded(me);
  const HalvedRange mine = append_vector_halving(b, f.pof2, v, runs, out);
  append_halving_back(b, f.pof2, v, runs, mine, out);
  if (f.paired(me)) send_blocks(out, b, me - 1, 0, f.pof2);
  out.next_round();
}

}  // namespace weft::replay::collectives
