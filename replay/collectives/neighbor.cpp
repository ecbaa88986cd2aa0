// Neighbourhood collectives: one round, everything posted at once, in the order of the lists (as MPICH and
// Open MPI do). Lists hold communicator ranks; a negative one is MPI_PROC_NULL and skipped, a message to
// itself is a copy. Block s p + d is what rank s sends to rank d.
#include "replay/collectives/parts.hpp"

namespace weft::replay::collectives {

// {n_in, sources..., n_out, destinations...}, then for the v-forms {bytes in..., bytes out...}.
void neighbor_linear(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  if (c.counts.empty()) return;
  const auto n_in = static_cast<std::size_t>(c.counts[0]);
  const auto n_out = static_cast<std::size_t>(c.counts[1 + n_in]);
  const auto sources = c.counts.subspan(1, n_in);
  const auto destinations = c.counts.subspan(2 + n_in, n_out);
  const auto sizes = c.counts.subspan(2 + n_in + n_out);
  const auto skip = [&](std::int64_t r) { return r < 0 || r == static_cast<std::int64_t>(me); };
  for (std::size_t i = 0; i < n_in; ++i) {
    if (skip(sources[i])) continue;
    const auto r = static_cast<std::uint32_t>(sources[i]);
    out.recv(r, sizes.empty() ? c.bytes : sizes[i], r * c.ranks + me, 1);
  }
  for (std::size_t i = 0; i < n_out; ++i) {
    if (skip(destinations[i])) continue;
    const auto r = static_cast<std::uint32_t>(destinations[i]);
    out.send(r, sizes.empty() ? c.bytes : sizes[n_in + i], me * c.ranks + r, 1);
  }
  out.next_round();
}

}  // namespace weft::replay::collectives
