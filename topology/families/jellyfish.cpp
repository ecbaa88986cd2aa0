// Jellyfish (Singla et al., NSDI 2012): a random r-regular graph of switches with `ports` ports; ports - r of each hold
// hosts.
//
// Drawn from `seed`: free ports are joined at random, never twice the same two switches, never a switch with itself; a
// switch that is left with free ports takes the place of a random cable. Where r > (n - 1) / 2 the complement is drawn.
// Parts that hang apart are joined by exchanging the ends of a cable in each. Same seed, same graph, on every machine.
// Shortest-path routings (graph_routing.hpp).
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "core/rng.hpp"
#include "topology/registry.hpp"
#include "topology/routing/choice.hpp"
#include "topology/routing/graph_routing.hpp"

namespace weft::topology::family_jellyfish {
namespace {

// As kGraphRoutings, with another default.
constexpr std::array<Word<GraphWay>, 4> kRoutings = {
    {kGraphRoutings[1], kGraphRoutings[0], kGraphRoutings[2], kGraphRoutings[3]}};
constexpr std::array<ParamInfo, 4> kParams = {{
    {"n", "required", "switches"},
    {"r", "required", "cables of a switch to others"},
    {"hosts_per_switch", "required", "hosts on a switch"},
    kRoutingParam<kRoutings>,
}};

using Cable = std::pair<std::uint32_t, std::uint32_t>;

class Draw {
 public:
  Draw(std::uint32_t n, std::uint32_t r, std::uint64_t seed)
      : n_(n), r_(r), rng_(mix_hash(seed, 0x6a656c6c)), near_(n) {}

  // `connected`: parts that hang apart are joined.
  std::vector<Cable> cables(bool connected) {
    while (!draw()) {
      // Caught in a corner: no exchange fits what is left. Draw again.
      list_.clear();
      for (auto& set : near_) set.clear();
    }
    if (connected) connect();
    std::sort(list_.begin(), list_.end());
    return list_;
  }

 private:
  bool draw() {
    std::vector<std::uint32_t> free;
    for (std::uint32_t v = 0; v < n_; ++v) free.insert(free.end(), r_, v);
    // Random pairs of free ports; what does not fit is left for the exchange.
    std::uint32_t misses = 0;
    while (free.size() > 1 && misses < 100) {
      const std::size_t i = rng_.below(free.size());
      std::swap(free[i], free.back());
      const std::size_t j = rng_.below(free.size() - 1);
      const std::uint32_t a = free.back(), b = free[j];
      if (a == b || joined(a, b)) {
        ++misses;
        continue;
      }
      misses = 0;
      join(a, b);
      free.pop_back();
      std::swap(free[j], free.back());
      free.pop_back();
    }
    // Two free ports, of switches a and b (maybe one): a cable x - y that neither of them knows becomes a - x, b - y.
    for (std::uint64_t tries = 0; free.size() > 1; ++tries) {
      if (list_.empty() || tries > 1000 + 100 * list_.size()) return false;
      const std::uint32_t a = free.back(), b = free[free.size() - 2];
      const std::size_t i = rng_.below(list_.size());
      const auto [x, y] = list_[i];
      if (a == x || a == y || b == x || b == y || joined(a, x) || joined(b, y)) continue;
      part(i);
      join(a, x);
      join(b, y);
      free.resize(free.size() - 2);
      tries = 0;
    }
    return true;
  }
  [[nodiscard]] bool joined(std::uint32_t a, std::uint32_t b) const { return near_[a].count(b) != 0; }
  void join(std::uint32_t a, std::uint32_t b) {
    near_[a].insert(b);
    near_[b].insert(a);
    list_.emplace_back(std::min(a, b), std::max(a, b));
  }
  void part(std::size_t i) {
    near_[list_[i].first].erase(list_[i].second);
    near_[list_[i].second].erase(list_[i].first);
    list_[i] = list_.back();
    list_.pop_back();
  }
  std::vector<std::uint32_t> components(std::uint32_t& count) const {
    std::vector<std::uint32_t> of(n_, ~0u), queue;
    count = 0;
    for (std::uint32_t s = 0; s < n_; ++s) {
      if (of[s] != ~0u) continue;
      of[s] = count;
      queue.assign(1, s);
      while (!queue.empty()) {
        const std::uint32_t v = queue.back();
        queue.pop_back();
        for (const std::uint32_t u : near_[v])
          if (of[u] == ~0u) {
            of[u] = count;
            queue.push_back(u);
          }
      }
      ++count;
    }
    return of;
  }
  // Exchanging the ends of two cables of two parts makes them one, unless both were bridges; no two switches of
  // different parts were joined before, so the graph stays simple.
  void connect() {
    std::uint32_t count = 0;
    auto of = components(count);
    for (std::uint32_t tries = 0; count > 1 && tries < 64 * n_; ++tries) {
      const std::size_t i = rng_.below(list_.size()), j = rng_.below(list_.size());
      const auto [a, b] = list_[i];
      const auto [c, d] = list_[j];
      if (of[a] == of[c]) continue;
      part(std::max(i, j));
      part(std::min(i, j));
      join(a, c);
      join(b, d);
      of = components(count);
    }
  }
  std::uint32_t n_, r_;
  Rng rng_;
  std::vector<std::set<std::uint32_t>> near_;
  std::vector<Cable> list_;
};

Result<Fabric> build(const Params& params) {
  constexpr std::int64_t kTop = 1 << 20;
  WEFT_ASSIGN(const std::uint64_t n, params.integer("n", 2, kTop));
  WEFT_ASSIGN(const std::uint64_t r, params.integer("r", 1, static_cast<std::int64_t>(n) - 1));
  WEFT_ASSIGN(const std::uint64_t per_switch, params.integer("hosts_per_switch", 1, kTop));
  if (n * r % 2 != 0) return params.error("r", "n r ends of cables cannot be paired", "n r even");
  if (r == 1 && n > 2) return params.error("r", "one cable each joins only pairs of switches", "at least 2");
  WEFT_ASSIGN(const GraphWay routing, params.choice("routing", kRoutings));
  WEFT_ASSIGN(const std::uint64_t seed, params.seed());
  const std::uint64_t hosts = saturating_mul(n, per_switch), cables = hosts + n * r / 2;
  WEFT_TRY(params.placed(check_size(hosts + n, cables)));
  constexpr std::array<std::string_view, 2> classes = {"host", "network"};
  WEFT_ASSIGN(const std::vector<LinkValues> values, params.link_values(classes));

  FabricBuilder b(hosts, hosts + n, n);
  for (const std::string_view c : classes) (void)b.add_class(std::string(c));
  b.reserve_cables(cables);
  for (std::uint64_t h = 0; h < hosts; ++h) b.join(h, hosts + h / per_switch, 0, values[0]);
  const auto switches = static_cast<std::uint32_t>(n);
  if (2 * r <= n - 1) {
    for (const auto& [x, y] : Draw(switches, static_cast<std::uint32_t>(r), seed).cables(true))
      b.join(hosts + x, hosts + y, 1, values[1]);
  } else {
    // Dense: what is drawn is who is not joined; degree >= n/2 leaves no part apart.
    const auto absent = Draw(switches, static_cast<std::uint32_t>(n - 1 - r), seed).cables(false);
    std::size_t next = 0;
    for (std::uint32_t x = 0; x < switches; ++x)
      for (std::uint32_t y = x + 1; y < switches; ++y) {
        if (next < absent.size() && absent[next] == Cable(x, y))
          ++next;
        else
          b.join(hosts + x, hosts + y, 1, values[1]);
      }
  }
  b.set_graph_routing(routing, seed);
  b.set_vertex_names([hosts](VertexId v) {
    return v.index() < hosts ? fmt::format("node-{}", v.index())
                             : fmt::format("switch-{}", v.index() - hosts);
  });
  return b.build();
}

}  // namespace

Family family() { return {kParams, build, "n=8,r=3,hosts_per_switch=2"}; }

}  // namespace weft::topology::family_jellyfish
