// Barriers: messages of 0 bytes. At the end every rank knows that every other one has come. No blocks.
#include "replay/collectives/parts.hpp"

namespace weft::replay::collectives {

// Hensgen, Finkel, Manber, IJPP 1988: in round k to rank + 2^k.
void barrier_dissemination(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  for (std::uint32_t d = 1; d < c.ranks; d *= 2) {
    out.send(plus(me, d, c.ranks), 0);
    out.recv(minus(me, d, c.ranks), 0);
    out.next_round();
  }
}

void barrier_recursive_doubling(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  append_allreduce_recursive_doubling(0, c.ranks, me, out);
}

void barrier_linear(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  if (me != 0) {
    out.send(0, 0);
    out.next_round();
    out.recv(0, 0);
  } else {
    for (std::uint32_t r = 1; r < c.ranks; ++r) out.recv(r, 0);
    out.next_round();
    for (std::uint32_t r = 1; r < c.ranks; ++r) out.send(r, 0);
  }
  out.next_round();
}

void barrier_tree(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  append_reduce_binomial(0, {c.ranks}, me, out);
  append_bcast_binomial(0, {c.ranks}, me, out);
}

}  // namespace weft::replay::collectives
