// Barriers as Open MPI's base functions send them (ompi/mca/coll/base/coll_base_barrier.c): messages of 0 bytes. Some
// of theirs are synchronous sends; here all follow the protocol of a message of that size.
#include "replay/collectives/openmpi/trees.hpp"

namespace weft::replay::collectives {

void openmpi_barrier_linear(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  if (c.ranks == 1) return;
  if (me != 0) {
    out.send(0, 0);
    out.next_round();
    out.recv(0, 0);
    out.next_round();
    return;
  }
  for (std::uint32_t r = 1; r < c.ranks; ++r) out.recv(r, 0);
  out.next_round();
  for (std::uint32_t r = 1; r < c.ranks; ++r) {
    out.send(r, 0);
    out.next_round();
  }
}

// An empty message goes around the ring twice.
void openmpi_barrier_double_ring(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  if (c.ranks == 1) return;
  const std::uint32_t left = minus(me, 1, c.ranks);
  const std::uint32_t right = plus(me, 1, c.ranks);
  for (int lap = 0; lap < 2; ++lap) {
    for (const bool sends : {me == 0, me != 0}) {
      if (sends)
        out.send(right, 0);
      else
        out.recv(left, 0);
      out.next_round();
    }
  }
}

// Ranks from the power of two on report to a lower one, and are released by it.
void openmpi_barrier_recursive_doubling(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  const std::uint32_t pof2 = std::bit_floor(c.ranks);
  if (me >= pof2) {
    out.send(me - pof2, 0);
    out.recv(me - pof2, 0);
    out.next_round();
    return;
  }
  const bool stands_for = me < c.ranks - pof2;
  if (stands_for) out.recv(me + pof2, 0);
  out.next_round();
  for (std::uint32_t mask = 1; mask < pof2; mask *= 2) {
    out.send(me ^ mask, 0);
    out.recv(me ^ mask, 0);
    out.next_round();
  }
  if (stands_for) out.send(me + pof2, 0);
  out.next_round();
}

void openmpi_barrier_two_proc(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  if (c.ranks > 2) {
    out.not_supported = "two_proc is for 2 ranks";
    return;
  }
  if (c.ranks == 1) return;
  out.send(1 - me, 0);
  out.recv(1 - me, 0);
  out.next_round();
}

}  // namespace weft::replay::collectives
