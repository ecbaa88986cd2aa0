#include "topology/bisection.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <queue>
#include <utility>

#include "core/rng.hpp"
#include "topology/links_at.hpp"

namespace weft::topology {
namespace {

// An undirected graph whose edges weigh links (a cable weighs 2) and whose vertices weigh hosts.
struct Weighted {
  std::vector<std::uint32_t> start;  // of a vertex' neighbours; one past the end at the back
  std::vector<std::uint32_t> to;
  std::vector<std::int64_t> links;  // to that neighbour, both ways
  std::vector<std::int64_t> hosts;  // by vertex
  [[nodiscard]] std::size_t size() const { return hosts.size(); }
};

struct Edge {
  std::uint32_t a, b;
  std::int64_t links;
};

Weighted make_graph(std::vector<std::int64_t> hosts, std::vector<Edge> edges) {
  for (std::size_t i = 0, n = edges.size(); i < n; ++i)
    edges.push_back({edges[i].b, edges[i].a, edges[i].links});
  std::sort(edges.begin(), edges.end(),
            [](const Edge& x, const Edge& y) { return std::pair(x.a, x.b) < std::pair(y.a, y.b); });
  Weighted g;
  g.start.assign(hosts.size() + 1, 0);
  g.hosts = std::move(hosts);
  for (std::size_t i = 0; i < edges.size();) {
    std::int64_t links = 0;
    const Edge e = edges[i];
    for (; i < edges.size() && edges[i].a == e.a && edges[i].b == e.b; ++i) links += edges[i].links;
    g.to.push_back(e.b);
    g.links.push_back(links);
    ++g.start[e.a + 1];
  }
  std::partial_sum(g.start.begin(), g.start.end(), g.start.begin());
  return g;
}

using Sides = std::vector<std::uint8_t>;

std::int64_t cut_of(const Weighted& g, const Sides& side) {
  std::int64_t cut = 0;
  for (std::uint32_t v = 0; v < g.size(); ++v)
    for (std::uint32_t e = g.start[v]; e < g.start[v + 1]; ++e)
      if (side[v] != side[g.to[e]]) cut += g.links[e];
  return cut / 2;
}

// Moves vertices across while that lowers the cut: pass after pass, each moves every vertex once, the best first, and
// keeps the best state on its way. Between moves the sides' hosts may differ by `slack`; a state counts if they differ
// by `most`.
class Refiner {
 public:
  Refiner(const Weighted& g, Sides& side, std::int64_t slack, std::int64_t most)
      : g_(g), side_(side), slack_(slack), most_(most), gain_(g.size()), locked_(g.size()) {}

  void run(int passes) {
    for (int i = 0; i < passes && pass(); ++i) {
    }
  }

 private:
  struct Move {
    std::int64_t gain;
    std::uint32_t vertex;
    // Equal gains in the order of the vertices: deterministic.
    bool operator<(const Move& o) const { return gain != o.gain ? gain < o.gain : vertex > o.vertex; }
  };

  [[nodiscard]] std::int64_t gain_of(std::uint32_t v) const {
    std::int64_t gain = 0;
    for (std::uint32_t e = g_.start[v]; e < g_.start[v + 1]; ++e)
      gain += side_[g_.to[e]] != side_[v] ? g_.links[e] : -g_.links[e];
    return gain;
  }

  bool pass() {
    std::int64_t excess = 0;  // hosts of side 0 less those of side 1
    for (std::uint32_t v = 0; v < g_.size(); ++v) excess += side_[v] == 0 ? g_.hosts[v] : -g_.hosts[v];
    // By the side that a vertex leaves. Stale entries stay and are dropped when they come up.
    std::priority_queue<Move> queue[2];
    std::fill(locked_.begin(), locked_.end(), false);
    for (std::uint32_t v = 0; v < g_.size(); ++v) {
      gain_[v] = gain_of(v);
      queue[side_[v]].push({gain_[v], v});
    }
    const auto imbalance = [](std::int64_t e) { return e < 0 ? -e : e; };
    std::int64_t gained = 0, best = 0;
    bool fits = imbalance(excess) <= most_;
    const bool fitted = fits;
    std::size_t kept = 0;
    std::vector<std::uint32_t> moved;
    std::vector<Move> held;  // too heavy now
    while (true) {
      Move next{0, 0};
      bool found = false;
      for (int s = 0; s < 2; ++s) {
        auto& q = queue[s];
        held.clear();
        while (!q.empty()) {
          const Move m = q.top();
          if (locked_[m.vertex] || side_[m.vertex] != s || gain_[m.vertex] != m.gain) {
            q.pop();
            continue;
          }
          const std::int64_t after = excess + (s == 0 ? -2 : 2) * g_.hosts[m.vertex];
          if (imbalance(after) <= slack_ || imbalance(after) < imbalance(excess)) {
            if (!found || next < m) next = m;
            found = true;
            break;
          }
          // The whole side is too heavy to give: look no further than a few.
          held.push_back(m);
          q.pop();
          if (held.size() > 64) break;
        }
        for (const Move& m : held) q.push(m);
      }
      if (!found) break;
      const std::uint32_t v = next.vertex;
      locked_[v] = true;
      excess += (side_[v] == 0 ? -2 : 2) * g_.hosts[v];
      gained += next.gain;
      side_[v] ^= 1;
      moved.push_back(v);
      for (std::uint32_t e = g_.start[v]; e < g_.start[v + 1]; ++e) {
        const std::uint32_t u = g_.to[e];
        if (locked_[u]) continue;
        gain_[u] += side_[u] != side_[v] ? 2 * g_.links[e] : -2 * g_.links[e];
        queue[side_[u]].push({gain_[u], u});
      }
      const bool now_fits = imbalance(excess) <= most_;
      if (now_fits && (!fits || gained > best)) {
        best = gained;
        kept = moved.size();
        fits = true;
      }
    }
    while (moved.size() > kept) {
      side_[moved.back()] ^= 1;
      moved.pop_back();
    }
    return fits && (best > 0 || !fitted);
  }

  const Weighted& g_;
  Sides& side_;
  std::int64_t slack_, most_;
  std::vector<std::int64_t> gain_;
  std::vector<bool> locked_;
};

// The first half of the hosts in that order.
Sides halve(const Weighted& g, const std::vector<std::uint32_t>& order, std::int64_t hosts) {
  Sides side(g.size(), 1);
  std::int64_t taken = 0;
  for (const std::uint32_t v : order) {
    if (2 * taken >= hosts) break;
    side[v] = 0;
    taken += g.hosts[v];
  }
  return side;
}

std::vector<std::uint32_t> breadth_first(const Weighted& g, std::uint32_t from) {
  std::vector<std::uint32_t> order;
  std::vector<bool> seen(g.size(), false);
  order.reserve(g.size());
  const auto reach = [&](std::uint32_t root) {
    if (seen[root]) return;
    seen[root] = true;
    order.push_back(root);
    for (std::size_t i = order.size() - 1; i < order.size(); ++i)
      for (std::uint32_t e = g.start[order[i]]; e < g.start[order[i] + 1]; ++e)
        if (!seen[g.to[e]]) {
          seen[g.to[e]] = true;
          order.push_back(g.to[e]);
        }
  };
  reach(from);
  for (std::uint32_t v = 0; v < g.size(); ++v) reach(v);  // parts without a way between them
  return order;
}

// Vertices in the order of the second eigenvector of the graph's Laplacian, by power iteration: neighbours come
// together, so that its halves cut across the longest dimension.
std::vector<std::uint32_t> fiedler_order(const Weighted& g, Rng& rng) {
  const std::size_t n = g.size();
  std::vector<double> x(n), y(n), degree(n, 0);
  double most = 1;
  for (std::uint32_t v = 0; v < n; ++v) {
    for (std::uint32_t e = g.start[v]; e < g.start[v + 1]; ++e) degree[v] += static_cast<double>(g.links[e]);
    most = std::max(most, degree[v]);
    x[v] = rng.unit() - 0.5;
  }
  constexpr int kSteps = 200;
  for (int i = 0; i < kSteps; ++i) {
    const double mean = std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(n);
    double norm = 0;
    for (double& value : x) {
      value -= mean;
      norm += value * value;
    }
    norm = norm > 0 ? 1 / std::sqrt(norm) : 0;
    for (double& value : x) value *= norm;
    for (std::uint32_t v = 0; v < n; ++v) {
      double sum = (2 * most - degree[v]) * x[v];
      for (std::uint32_t e = g.start[v]; e < g.start[v + 1]; ++e)
        sum += static_cast<double>(g.links[e]) * x[g.to[e]];
      y[v] = sum;
    }
    x.swap(y);
  }
  std::vector<std::uint32_t> order(n);
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return x[a] < x[b]; });
  return order;
}

// A host that goes with its switch unless the halves would not be equal.
struct Loose {
  std::uint32_t host, cluster;
  std::int64_t cables;
};

// What is meant is the network between the switches: a host leaves its switch's side only where the halves would not be
// equal otherwise, so its cable is dear to the search.
constexpr std::int64_t kHostCable = 1 << 20;

// Hosts of side 0 less those of side 1.
std::int64_t excess_of(const Weighted& g, const Sides& side) {
  std::int64_t excess = 0;
  for (std::uint32_t v = 0; v < g.size(); ++v) excess += side[v] == 0 ? g.hosts[v] : -g.hosts[v];
  return excess;
}

// How many hosts have to leave the fuller side.
std::int64_t to_leave(std::int64_t excess, std::int64_t odd) { return (std::abs(excess) - odd) / 2; }

// visit(loose) for as many of the fuller side as have to leave it, the first in the list first. False: too few.
template <class Visit>
bool for_leaving(const std::vector<Loose>& loose, const Sides& side, std::int64_t excess, std::int64_t odd,
                 const Visit& visit) {
  std::int64_t left = to_leave(excess, odd);
  for (std::size_t i = 0; left > 0 && i < loose.size(); ++i) {
    if (side[loose[i].cluster] != (excess > 0 ? 0 : 1)) continue;
    visit(loose[i]);
    --left;
  }
  return left == 0;
}

// The best of all cuts between whole clusters, those that have to leave the fuller side counted in: one cluster after
// the other crosses, in the order of a Gray code. `loose`: those with the fewest cables first. O(2^clusters x degree).
Sides best_of_all(const Weighted& g, const std::vector<Loose>& loose, std::int64_t odd) {
  Sides side(g.size(), 0), best_side = side;
  std::int64_t excess = excess_of(g, side), cut = 0, best = -1;
  for (std::uint64_t step = 0; step < std::uint64_t{1} << (g.size() - 1); ++step) {
    if (step > 0) {
      const auto v = static_cast<std::uint32_t>(std::countr_zero(step));
      for (std::uint32_t e = g.start[v]; e < g.start[v + 1]; ++e)
        cut += side[g.to[e]] == side[v] ? g.links[e] : -g.links[e];
      excess += (side[v] == 0 ? -2 : 2) * g.hosts[v];
      side[v] ^= 1;
    }
    std::int64_t cost = cut;
    if (best >= 0 && cost + 2 * kHostCable * to_leave(excess, odd) >= best) continue;
    const auto pay = [&](const Loose& l) { cost += 2 * kHostCable * l.cables; };
    if (!for_leaving(loose, side, excess, odd, pay) || (best >= 0 && cost >= best)) continue;
    best = cost;
    best_side = side;
  }
  return best_side;
}

}  // namespace

std::optional<std::uint64_t> product_cut(std::span<const ProductDimension> dimensions,
                                         std::uint64_t hosts_per_router) {
  std::uint64_t routers = 1;
  for (const ProductDimension& d : dimensions) routers *= d.k;
  if (routers * hosts_per_router < 2) return std::nullopt;
  // best[S]: the cut of a slice that spans the dimensions of S.
  const std::size_t sets = std::size_t{1} << dimensions.size();
  std::vector<std::uint64_t> best(sets), size(sets);
  best[0] = hosts_per_router / 2;  // through the hosts of one router
  size[0] = 1;
  for (std::size_t s = 1; s < sets; ++s) {
    size[s] = 1;
    for (std::size_t d = 0; d < dimensions.size(); ++d)
      if ((s >> d & 1) != 0) size[s] *= dimensions[d].k;
    best[s] = ~std::uint64_t{0};
    for (std::size_t d = 0; d < dimensions.size(); ++d) {
      if ((s >> d & 1) == 0) continue;
      const std::size_t rest = s & ~(std::size_t{1} << d);
      const std::uint64_t k = dimensions[d].k;
      const std::uint64_t lines = size[s] / k * dimensions[d].cut;
      best[s] = std::min(best[s], k % 2 == 0 ? lines : lines + best[rest]);
    }
  }
  return best[sets - 1];
}

std::optional<Bisection> find_bisection(const Fabric& f, std::uint64_t max_links) {
  const std::uint32_t vertices = f.vertex_count();
  const std::int64_t hosts = f.rank_hosts();
  if (hosts < 2 || f.wired_links() > max_links) return std::nullopt;

  std::vector<std::int64_t> weight(vertices, 0);
  std::fill(weight.begin(), weight.begin() + hosts, 1);
  // A link for both directions is a cable of its own.
  const auto ways = [&](std::uint32_t l) -> std::int64_t { return f.is_two_way(LinkId(l)) ? 2 : 1; };
  std::vector<Edge> edges;
  edges.reserve(f.wired_links());
  for (std::uint32_t l = 0; l < f.wired_links(); ++l)
    edges.push_back({f.links().from[l].index(), f.links().to[l].index(), ways(l)});

  // A host with one neighbour, over whatever cables, goes with it, while several are on either side of the cut.
  std::vector<std::uint32_t> cluster(vertices, ~0u);
  std::uint32_t clusters = 0;
  const LinksAt links_at(f);
  const auto leads = [&](std::uint32_t v) {
    if (v >= f.host_count() || f.hosts_are_routers() || links_at.count(VertexId(v)) == 0) return true;
    const VertexId at = links_at.first_neighbour(VertexId(v));
    bool several = false;
    links_at.each(VertexId(v), [&](LinkId, VertexId other) { several = several || other != at; });
    return several;
  };
  for (std::uint32_t v = 0; v < vertices; ++v)
    if (leads(v)) cluster[v] = clusters++;
  for (std::uint32_t v = 0; v < vertices; ++v) {
    if (leads(v)) continue;
    const std::uint32_t at = links_at.first_neighbour(VertexId(v)).index();
    cluster[v] = leads(at) ? cluster[at] : clusters++;
  }
  std::vector<std::int64_t> cluster_weight(clusters, 0);
  for (std::uint32_t v = 0; v < vertices; ++v) cluster_weight[cluster[v]] += weight[v];
  std::vector<Edge> between;
  for (const Edge& e : edges)
    if (cluster[e.a] != cluster[e.b]) between.push_back({cluster[e.a], cluster[e.b], e.links});
  const Weighted coarse = make_graph(std::move(cluster_weight), std::move(between));
  std::vector<Loose> loose;
  for (std::uint32_t v = 0; v < hosts; ++v)
    if (!leads(v)) loose.push_back({v, cluster[v], links_at.count(VertexId(v))});
  std::stable_sort(loose.begin(), loose.end(),
                   [](const Loose& x, const Loose& y) { return x.cables < y.cables; });
  for (Edge& e : edges)
    if (!leads(e.a) || !leads(e.b)) e.links *= kHostCable;
  const Weighted fine = make_graph(std::move(weight), std::move(edges));
  const std::int64_t heaviest = *std::max_element(coarse.hosts.begin(), coarse.hosts.end());
  const std::int64_t odd = hosts % 2;
  // Clusters of different weights may halve the hosts where a cut with fewer cables does not.
  const bool uneven = std::any_of(coarse.hosts.begin(), coarse.hosts.end(),
                                  [&](std::int64_t w) { return w != 0 && w != heaviest; });

  Bisection best;
  std::int64_t best_cut = -1;  // as the search weighs it
  const auto sides_of = [&](const Sides& rough) {
    Sides side(vertices);
    for (std::uint32_t v = 0; v < vertices; ++v) side[v] = rough[cluster[v]];
    return side;
  };
  const auto consider = [&](Sides side) {
    Refiner(fine, side, 2, odd).run(8);
    if (std::abs(excess_of(fine, side)) > odd) return;
    const std::int64_t cut = cut_of(fine, side);
    if (best_cut >= 0 && cut >= best_cut) return;
    best_cut = cut;
    best.side = std::move(side);
  };
  constexpr std::size_t kFewClusters = 20;
  if (coarse.size() <= kFewClusters) {
    const Sides rough = best_of_all(coarse, loose, odd);
    Sides side = sides_of(rough);
    const auto leave = [&](const Loose& l) { side[l.host] ^= 1; };
    (void)for_leaving(loose, rough, excess_of(coarse, rough), odd, leave);
    consider(std::move(side));
  } else {
    constexpr std::uint64_t kSeed = 0x5eed;
    Rng rng(kSeed);
    // More starts where they cost little.
    const int draws = f.wired_links() <= 4096 ? 24 : f.wired_links() <= 32768 ? 6 : 1;
    std::vector<std::uint32_t> numbers(coarse.size());
    std::iota(numbers.begin(), numbers.end(), 0u);
    for (int start = 0; start < 2 + draws; ++start) {
      const std::vector<std::uint32_t> order =
          start == 0   ? numbers
          : start == 1 ? fiedler_order(coarse, rng)
                       : breadth_first(coarse, static_cast<std::uint32_t>(rng.below(coarse.size())));
      const Sides halves = halve(coarse, order, hosts);
      const auto refined = [&](std::int64_t most) {
        Sides rough = halves;
        Refiner(coarse, rough, 2 * heaviest, most).run(8);
        return sides_of(rough);
      };
      consider(refined(std::max(odd, heaviest)));
      if (uneven) consider(refined(odd));
    }
  }
  if (best_cut < 0) return std::nullopt;
  std::int64_t links = 0;
  for (std::uint32_t l = 0; l < f.wired_links(); ++l)
    if (best.side[f.links().from[l].index()] != best.side[f.links().to[l].index()]) links += ways(l);
  best.cables = static_cast<std::uint64_t>(links + 1) / 2;
  return best;
}

std::optional<std::uint64_t> best_bisection(const Fabric& f) {
  for (std::uint32_t l = 0; l < f.wired_links(); ++l)
    if (f.links().from[l] == f.links().to[l]) return {};
  std::optional<std::uint64_t> cables = f.bisection_cables();
  if (const auto found = find_bisection(f)) cables = std::min(cables.value_or(found->cables), found->cables);
  return cables;
}

}  // namespace weft::topology
