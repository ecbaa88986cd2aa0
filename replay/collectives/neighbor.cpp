// Neighbourhood collectives: one round, everything posted at once, in the order of the lists (as MPICH and
// Open MPI do). Lists hold communicator ranks; a negative one is MPI_PROC_NULL and skipped, a message to
// itself is a copy. Block s p + d is what rank s sends to rank d.
//
// Where a neighbour stands several times, which of its messages is which depends on the topology: in a graph the k-th of a
// destination is the k-th of its source, on a ring of two ranks what goes up comes from below. The lists do not say, but both
// sides have the same sizes, so each orders its messages to or from one neighbour by size.
#include <algorithm>
#include <utility>
#include <vector>

#include "replay/collectives/parts.hpp"

namespace weft::replay::collectives {
namespace {

// The sizes of messages to or from `ranks`, ascending among those of one rank. O(n log n).
std::vector<std::int64_t> ordered_by_size(std::span<const std::int64_t> ranks,
                                          std::span<const std::int64_t> sizes) {
  std::vector<std::pair<std::int64_t, std::size_t>> places;
  std::vector<std::pair<std::int64_t, std::int64_t>> ascending;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    places.emplace_back(ranks[i], i);
    ascending.emplace_back(ranks[i], sizes[i]);
  }
  std::ranges::sort(places);
  std::ranges::sort(ascending);
  std::vector<std::int64_t> out(ranks.size());
  for (std::size_t i = 0; i < places.size(); ++i) out[places[i].second] = ascending[i].second;
  return out;
}

}  // namespace

// {n_in, sources..., n_out, destinations...}, then for the v-forms {bytes in..., bytes out...}.
void neighbor_linear(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  if (c.counts.empty()) return;
  const auto n_in = static_cast<std::size_t>(c.counts[0]);
  const auto n_out = static_cast<std::size_t>(c.counts[1 + n_in]);
  const auto sources = c.counts.subspan(1, n_in);
  const auto destinations = c.counts.subspan(2 + n_in, n_out);
  const auto sizes = c.counts.subspan(2 + n_in + n_out);
  std::vector<std::int64_t> bytes_in, bytes_out;  // none: all the same
  if (!sizes.empty()) {
    bytes_in = ordered_by_size(sources, sizes.first(n_in));
    bytes_out = ordered_by_size(destinations, sizes.subspan(n_in));
  }
  const auto skip = [&](std::int64_t r) { return r < 0 || r == static_cast<std::int64_t>(me); };
  for (std::size_t i = 0; i < n_in; ++i) {
    if (skip(sources[i])) continue;
    const auto r = static_cast<std::uint32_t>(sources[i]);
    out.recv(r, sizes.empty() ? c.bytes : bytes_in[i], r * c.ranks + me, 1);
  }
  for (std::size_t i = 0; i < n_out; ++i) {
    if (skip(destinations[i])) continue;
    const auto r = static_cast<std::uint32_t>(destinations[i]);
    out.send(r, sizes.empty() ? c.bytes : bytes_out[i], me * c.ranks + r, 1);
  }
  out.next_round();
}

}  // namespace weft::replay::collectives
