// Alltoall, alltoallv, alltoallw. Blocks: pairs.hpp. Bruck forwards a set that is no range: there first_block = 2^k stands for
// "every block held whose distance (d - s) mod p has bit k". The own block is a copy and no message.
#include "replay/collectives/mpich/limits.hpp"
#include "replay/collectives/pairs.hpp"

namespace weft::replay::collectives {
void alltoall_linear(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  append_pairs_in_batches(c.ranks, 1, c, me, out);
}

void alltoall_scattered(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  append_pairs_in_batches(mpich::kThrottle, 1, c, me, out);
}

// One partner per round: rank xor k if p is a power of two, else to rank + k and from rank - k.
void alltoall_pairwise(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  if (c.counts.empty() && c.bytes == 0) return;
  const Pairs pairs{c, me};
  const bool power = std::has_single_bit(c.ranks);
  out.steps(1, c.ranks, [&](std::uint32_t k) {
    pairs.send(out, power ? me ^ k : plus(me, k, c.ranks));
    pairs.recv(out, power ? me ^ k : minus(me, k, c.ranks));
    out.next_round();
  });
}

// Bruck et al., IEEE TPDS 1997: ceil(lg p) rounds, each block travels once per bit of its distance.
void alltoall_bruck(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  if (c.bytes == 0) return;
  const std::uint32_t p = c.ranks;
  for (std::uint32_t bit = 1; bit < p; bit *= 2) {
    // How many of 0..p-1 have this bit.
    const std::uint32_t n = p / (2 * bit) * bit + (p % (2 * bit) > bit ? p % (2 * bit) - bit : 0);
    out.send(plus(me, bit, p), c.bytes * n, bit, n);
    out.recv(minus(me, bit, p), c.bytes * n, bit, n);
    out.next_round();
  }
}

}  // namespace weft::replay::collectives
