// Alltoall, alltoallv, alltoallw. Block s p + d is what rank s sends to rank d (32 bits, so it wraps beyond p
// = 65535; only tests read it). Bruck forwards a set that is no range: there first_block = 2^k stands for
// "every block held whose distance (d - s) mod p has bit k". The own block is a copy and no message.
#include "replay/collectives/parts.hpp"

namespace weft::replay::collectives {
namespace {

constexpr std::uint32_t kThrottle = 32;  // messages each way that MPICH's scattered algorithm has under way

struct Pairs {
  const CollectiveCall& c;
  std::uint32_t me;
  // The list of the v-forms: {n, sent to each..., received from each...}.
  [[nodiscard]] std::int64_t to(std::uint32_t r) const {
    return c.counts.empty() ? c.bytes : c.counts[1 + r];
  }
  [[nodiscard]] std::int64_t from(std::uint32_t r) const {
    return c.counts.empty() ? c.bytes : c.counts[1 + c.ranks + r];
  }
  void send(RankSchedule& out, std::uint32_t r) const { out.send(r, to(r), me * c.ranks + r, 1); }
  void recv(RankSchedule& out, std::uint32_t r) const { out.recv(r, from(r), r * c.ranks + me, 1); }
};

void in_rounds_of(std::uint32_t width, const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  out.clear();
  const Pairs pairs{c, me};
  for (std::uint32_t k = 1; k < c.ranks; ++k) {
    const std::uint32_t from = plus(me, k, c.ranks);
    const std::uint32_t to = minus(me, k, c.ranks);
    if (pairs.from(from) > 0) pairs.recv(out, from);
    if (pairs.to(to) > 0) pairs.send(out, to);
    if (k % width == 0) out.next_round();
  }
  out.next_round();
}

}  // namespace

void alltoall_linear(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  in_rounds_of(c.ranks, c, me, out);
}

void alltoall_scattered(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  in_rounds_of(kThrottle, c, me, out);
}

// One partner per round: rank xor k if p is a power of two, else to rank + k and from rank - k.
void alltoall_pairwise(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  out.clear();
  if (c.counts.empty() && c.bytes == 0) return;
  const Pairs pairs{c, me};
  const bool power = std::has_single_bit(c.ranks);
  for (std::uint32_t k = 1; k < c.ranks; ++k) {
    pairs.send(out, power ? me ^ k : plus(me, k, c.ranks));
    pairs.recv(out, power ? me ^ k : minus(me, k, c.ranks));
    out.next_round();
  }
}

// Bruck et al., IEEE TPDS 1997: ceil(lg p) rounds, each block travels once per bit of its distance.
void alltoall_bruck(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  out.clear();
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
