// Distances of all pairs under GraphRouting, counted: breadth-first searches back from 256 targets at once, which are a
// set at every vertex (Then et al., "The more the merrier: efficient multi-source graph traversal", VLDB 2014). A vertex
// is gone over once for every distance at which some of the 256 reach it: in networks of few distances once a distance,
// at worst as often as by 256 searches.
#include <algorithm>
#include <array>
#include <bit>
#include <tuple>
#include <utility>

#include "topology/routing/graph_routing.hpp"

namespace weft::topology {
namespace {

constexpr std::uint64_t kMaxSearchSteps = 1ULL << 30;
constexpr std::size_t kAtOnce = 256;

// Of the targets that are searched from at once, some.
struct TargetSet {
  std::array<std::uint64_t, kAtOnce / 64> words{};
  void insert(std::size_t i) { words[i / 64] |= std::uint64_t{1} << (i % 64); }
  [[nodiscard]] bool contains(std::size_t i) const { return (words[i / 64] >> (i % 64) & 1) != 0; }
  [[nodiscard]] bool empty() const {
    std::uint64_t any = 0;
    for (const std::uint64_t w : words) any |= w;
    return any == 0;
  }
  [[nodiscard]] std::uint64_t size() const {
    std::uint64_t n = 0;
    for (const std::uint64_t w : words) n += static_cast<unsigned>(std::popcount(w));
    return n;
  }
  void add(const TargetSet& o) {
    for (std::size_t i = 0; i < words.size(); ++i) words[i] |= o.words[i];
  }
  [[nodiscard]] TargetSet without(const TargetSet& o) const {
    TargetSet out;
    for (std::size_t i = 0; i < words.size(); ++i) out.words[i] = words[i] & ~o.words[i];
    return out;
  }
};

}  // namespace

std::optional<HopHistogram> GraphRouting::hop_histogram() const {
  // What routes are aimed at, with the hosts behind it and the links from it to them.
  struct Target {
    std::uint32_t vertex;
    std::uint32_t last;
    std::uint64_t hosts;
  };
  std::vector<std::uint32_t> aim(hosts_);
  std::vector<std::uint64_t> behind(vertices_, 0);
  // Hosts whose one link leads to the switch that they are aimed at are as far from all targets: counted by switch.
  std::vector<std::uint64_t> leaves(vertices_, 0);
  std::vector<bool> is_leaf(hosts_, false);
  std::vector<Target> targets;
  for (std::uint32_t h = 0; h < hosts_; ++h) {
    const Aim a = aim_of(h);
    aim[h] = a.vertex;
    if (behind[a.vertex]++ == 0) targets.push_back({a.vertex, a.last.valid() ? 1u : 0u, 0});
    is_leaf[h] = a.last.valid() && first_[h + 1] == first_[h] + 1 && to_[first_[h]] == a.vertex;
    if (is_leaf[h]) ++leaves[a.vertex];
  }
  // Alike ones together: a set of such is counted at once.
  for (Target& t : targets) t.hosts = behind[t.vertex];
  std::stable_sort(targets.begin(), targets.end(), [](const Target& x, const Target& y) {
    return std::tie(x.last, x.hosts) < std::tie(y.last, y.hosts);
  });
  std::vector<std::size_t> place(vertices_);  // of a target in their list
  for (std::size_t i = 0; i < targets.size(); ++i) place[targets[i].vertex] = i;

  // Vertices with a link to each, leaves left out.
  std::vector<std::uint32_t> first_before(vertices_ + 1, 0), before;
  for (std::uint32_t v = 0; v < vertices_; ++v) {
    for (std::uint32_t k = in_first_[v]; k < in_first_[v + 1]; ++k) {
      const std::uint32_t u = from_[in_link_[k]];
      if (u >= hosts_ || !is_leaf[u]) before.push_back(u);
    }
    first_before[v + 1] = static_cast<std::uint32_t>(before.size());
  }

  HopHistogram h;
  std::uint64_t steps = 0;
  std::vector<TargetSet> seen(vertices_), now(vertices_), next(vertices_);
  std::vector<std::uint32_t> front, reached;
  for (std::size_t begin = 0; begin < targets.size(); begin += kAtOnce) {
    const std::size_t n = std::min(kAtOnce, targets.size() - begin);
    const Target& one = targets[begin];
    const bool alike = one.last == targets[begin + n - 1].last && one.hosts == targets[begin + n - 1].hosts;
    // Pairs of `sources` hosts that are `hops` before these targets and the hosts behind these.
    const auto count = [&](const TargetSet& these, std::size_t hops, std::uint64_t sources) {
      if (alike) return h.add(hops + one.last, sources * one.hosts * these.size());
      for (std::size_t i = 0; i < n; ++i)
        if (these.contains(i)) h.add(hops + targets[begin + i].last, sources * targets[begin + i].hosts);
    };
    std::fill(seen.begin(), seen.end(), TargetSet());
    front.clear();
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint32_t t = targets[begin + i].vertex;
      seen[t].insert(i);
      now[t].insert(i);
      front.push_back(t);
    }
    for (std::size_t d = 0; !front.empty(); ++d) {
      reached.clear();
      for (const std::uint32_t v : front) {
        const TargetSet these = std::exchange(now[v], TargetSet());
        if (leaves[v] > 0) {
          count(these, d + 1, leaves[v]);
          if (d == 0) h.pairs[2] -= leaves[v];  // each with itself
        }
        if (v < hosts_) {
          count(these, d, 1);
          const std::size_t own = place[aim[v]] - begin;
          if (own < n && these.contains(own)) --h.pairs[d + targets[begin + own].last];
        }
        if (v < offset_ && d > 0) continue;  // passes nothing on
        steps += first_before[v + 1] - first_before[v];
        for (std::uint32_t k = first_before[v]; k < first_before[v + 1]; ++k) {
          const std::uint32_t u = before[k];
          const TargetSet fresh = these.without(seen[u]);
          if (fresh.empty()) continue;
          if (next[u].empty()) reached.push_back(u);
          next[u].add(fresh);
        }
      }
      for (const std::uint32_t u : reached) seen[u].add(next[u]);
      now.swap(next);
      front.swap(reached);
    }
    // Each set to come takes about as long: what would be too much is given up after the first.
    const std::uint64_t sets = (targets.size() + kAtOnce - 1) / kAtOnce;
    if ((begin == 0 ? steps * sets : steps) > kMaxSearchSteps) return std::nullopt;
  }
  while (!h.pairs.empty() && h.pairs.back() == 0) h.pairs.pop_back();
  h.unreachable = std::uint64_t{hosts_} * (hosts_ - 1);
  for (const std::uint64_t pairs : h.pairs) h.unreachable -= pairs;
  return h;
}

}  // namespace weft::topology
