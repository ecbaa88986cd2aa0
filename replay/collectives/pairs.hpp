// All-to-all as pairs of ranks. Internal to replay/collectives.
//
// Block s p + d is what rank s sends to rank d (32 bits, so it wraps beyond p = 65535; only tests read it).
#pragma once

#include "replay/collectives/parts.hpp"

namespace weft::replay::collectives {

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
  // Whether there is a message to or from that rank.
  [[nodiscard]] bool sends(std::uint32_t r) const { return c.empties || to(r) > 0; }
  [[nodiscard]] bool receives(std::uint32_t r) const { return c.empties || from(r) > 0; }
  void send(RankSchedule& out, std::uint32_t r) const { out.send(r, to(r), me * c.ranks + r, 1); }
  void recv(RankSchedule& out, std::uint32_t r) const { out.recv(r, from(r), r * c.ranks + me, 1); }
};

// Round by round the next `width` ranks above are received from and as many below sent to. Batches
// count from the rank at distance `first`: 1, or 0 where the rank itself has a place in the first one.
inline void append_pairs_in_batches(std::uint32_t width, std::uint32_t first, const CollectiveCall& c,
                                    std::uint32_t me, RankSchedule& out) {
  const Pairs pairs{c, me};
  out.steps(1, c.ranks, [&](std::uint32_t k) {
    const std::uint32_t from = plus(me, k, c.ranks);
    const std::uint32_t to = minus(me, k, c.ranks);
    if (pairs.receives(from)) pairs.recv(out, from);
    if (pairs.sends(to)) pairs.send(out, to);
    if ((k - first + 1) % width == 0) out.next_round();
  });
  out.next_round();
}

}  // namespace weft::replay::collectives
