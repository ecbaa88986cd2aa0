// Independent checks of a fabric: Boost BFS over the graph, enumeration of all routes, link loads.
#pragma once

#include <boost/graph/breadth_first_search.hpp>
#include <map>
#include <numeric>
#include <set>
#include <span>

#include "tests/topology/support.hpp"
#include "topology/metrics.hpp"
#include "topology/verify.hpp"

namespace weft::topology {

// Distances in links from one vertex by BFS: knows nothing of routing.
inline std::vector<std::uint32_t> bfs_from(const Fabric& f, std::uint32_t src) {
  std::vector<std::uint32_t> d(f.vertex_count(), ~0u);
  d[src] = 0;
  std::vector<boost::default_color_type> color(f.vertex_count());
  const auto index = boost::get(boost::vertex_index, f.graph());
  boost::breadth_first_search(
      f.graph(), src,
      boost::visitor(boost::make_bfs_visitor(boost::record_distances(
                         boost::make_iterator_property_map(d.begin(), index), boost::on_tree_edge())))
          .color_map(boost::make_iterator_property_map(color.begin(), index)));
  return d;
}

// The same where hosts of several cards pass nothing on.
inline std::vector<std::uint32_t> bfs_over_switches(const Fabric& f, std::uint32_t src) {
  if (f.hosts_are_routers()) return bfs_from(f, src);
  std::vector<std::uint32_t> d(f.vertex_count(), ~0u), reached = {src};
  d[src] = 0;
  for (std::size_t i = 0; i < reached.size(); ++i) {
    const std::uint32_t v = reached[i];
    if (v != src && v < f.host_count()) continue;
    const std::uint32_t first = f.first_link(VertexId(v));
    for (std::uint32_t l = first; l < first + f.degree(VertexId(v)); ++l) {
      const std::uint32_t to = f.links().to[l].index();
      if (d[to] != ~0u) continue;
      d[to] = d[v] + 1;
      reached.push_back(to);
    }
  }
  return d;
}

inline std::map<std::string, std::uint64_t> cables_by_class(const Fabric& f) {
  std::map<std::string, std::uint64_t> out;
  for (const ClassSummary& c : summarize_classes(f)) out[c.name] = c.links / 2;
  return out;
}

// Of all pairs each of several parallel links carries some, and at most `most` times the mean of its bundle.
inline void expect_even_bundles(const Fabric& f, double most) {
  std::vector<double> load(f.link_count(), 0);
  for (std::uint32_t s = 0; s < f.host_count(); ++s)
    for (std::uint32_t d = 0; d < f.host_count(); ++d)
      for (const LinkId l : route_of(f, s, d)) ++load[l.index()];
  std::map<std::pair<VertexId, VertexId>, std::vector<double>> bundles;
  for (std::size_t l = 0; l < load.size(); ++l)
    bundles[{f.links().from[l], f.links().to[l]}].push_back(load[l]);
  std::size_t several = 0;
  for (const auto& [ends, loads] : bundles) {
    if (loads.size() == 1) continue;
    ++several;
    const double sum = std::accumulate(loads.begin(), loads.end(), 0.0);
    const auto [least, fullest] = std::ranges::minmax(loads);
    EXPECT_GT(least, 0) << f.vertex_name(ends.first) << "->" << f.vertex_name(ends.second);
    EXPECT_LE(fullest, most * sum / static_cast<double>(loads.size()))
        << f.vertex_name(ends.first) << "->" << f.vertex_name(ends.second);
  }
  EXPECT_GT(several, 0u);
}

// The latencies of a route, added up.
inline double latency_s(const Fabric& f, std::uint32_t src, std::uint32_t dst) {
  Duration sum(0);
  for (const LinkId l : route_of(f, src, dst)) sum += f.links().latency[l.index()];
  return to_seconds(sum);
}

// Route lengths by walking every pair, not by the closed form.
inline HopHistogram walked_histogram(const Fabric& f) {
  HopHistogram h;
  std::vector<LinkId> links;
  for (std::uint32_t s = 0; s < f.host_count(); ++s)
    for (std::uint32_t d = 0; d < f.host_count(); ++d) {
      links.clear();
      if (s == d) continue;
      if (f.routing().route(HostId(s), HostId(d), links))
        h.add(links.size(), 1);
      else
        ++h.unreachable;
    }
  return h;
}

inline void expect_sound(const Fabric& f, std::uint64_t max_pairs = 1ULL << 20) {
  const VerifyReport r = verify(f, max_pairs);
  EXPECT_THAT(r.findings, ::testing::IsEmpty());
  EXPECT_EQ(r.unreachable, 0u);
}

inline void expect_closed_form_equals_walks(const Fabric& f) {
  const auto closed = f.routing().hop_histogram();
  ASSERT_TRUE(closed.has_value());
  const HopHistogram walked = walked_histogram(f);
  EXPECT_EQ(walked.unreachable, 0u);
  EXPECT_EQ(closed->pairs, walked.pairs);
}

inline void expect_routes_are_shortest(const Fabric& f) {
  for (std::uint32_t s = 0; s < f.host_count(); ++s) {
    const auto d = bfs_from(f, s);
    for (std::uint32_t t = 0; t < f.host_count(); ++t)
      ASSERT_EQ(route_of(f, s, t).size(), d[t]) << s << " to " << t;
  }
}

inline std::uint32_t class_of(const Fabric& f, LinkId l) { return f.links().link_class[l.index()]; }
inline bool leaves_host(const Fabric& f, LinkId l) {
  return f.links().from[l.index()].index() < f.host_count();
}

// Largest number of routes over one link when every host s sends to (s + shift) mod hosts.
inline std::uint32_t worst_shift_load(const Fabric& f, std::uint32_t shift) {
  std::vector<std::uint32_t> load(f.link_count(), 0);
  std::uint32_t worst = 0;
  for (std::uint32_t s = 0; s < f.host_count(); ++s)
    for (LinkId l : route_of(f, s, (s + shift) % f.host_count())) worst = std::max(worst, ++load[l.index()]);
  return worst;
}

// No cycle in the graph of channel dependencies made by all routes: a message that holds link a may wait for link b.
// `channel` tells the virtual channels of a link apart: it gets the links of the route before this one.
template <class Channel>
bool channels_are_acyclic(const Fabric& f, std::uint32_t channels_per_link, Channel channel) {
  const std::uint32_t n = f.link_count() * channels_per_link;
  std::vector<std::set<std::uint32_t>> after(n);
  for (std::uint32_t s = 0; s < f.host_count(); ++s)
    for (std::uint32_t d = 0; d < f.host_count(); ++d) {
      const auto r = route_of(f, s, d);
      for (std::size_t i = 0; i + 1 < r.size(); ++i) {
        const auto of = [&](std::size_t k) {
          const std::uint32_t vc = channel(std::span<const LinkId>(r).first(k));
          EXPECT_LT(vc, channels_per_link);
          return r[k].index() * channels_per_link + vc;
        };
        after[of(i)].insert(of(i + 1));
      }
    }
  // Take away what nothing waits for, again and again; a cycle stays.
  std::vector<std::uint32_t> before(n, 0), free;
  for (const auto& set : after)
    for (const std::uint32_t to : set) ++before[to];
  for (std::uint32_t i = 0; i < n; ++i)
    if (before[i] == 0) free.push_back(i);
  std::uint32_t gone = 0;
  while (!free.empty()) {
    const std::uint32_t i = free.back();
    free.pop_back();
    ++gone;
    for (const std::uint32_t to : after[i])
      if (--before[to] == 0) free.push_back(to);
  }
  return gone == n;
}
inline bool channels_are_acyclic(const Fabric& f) {
  return channels_are_acyclic(f, 1, [](std::span<const LinkId>) { return 0u; });
}

}  // namespace weft::topology
