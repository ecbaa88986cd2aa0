#include "topology/metrics.hpp"

#include <algorithm>

#include "topology/links_at.hpp"

namespace weft::topology {
namespace {

// None: by the hosts so far all routes together have more than `max_links` links.
std::optional<HopHistogram> enumerate(const Fabric& f, std::uint64_t max_links) {
  HopHistogram h;
  std::vector<LinkId> links;
  std::uint64_t walked = 0;
  for (std::uint32_t s = 0; s < f.host_count(); ++s) {
    for (std::uint32_t d = 0; d < f.host_count(); ++d) {
      if (s == d) continue;
      links.clear();
      if (f.routing().route(HostId(s), HostId(d), links))
        h.add(links.size(), 1);
      else
        ++h.unreachable;
      walked += links.size();
    }
    if (walked / (s + 1) > max_links / f.host_count()) return std::nullopt;
  }
  return h;
}

std::optional<std::uint32_t> longest(const HopHistogram& h) {
  for (std::size_t i = h.pairs.size(); i > 0; --i)
    if (h.pairs[i - 1] > 0) return static_cast<std::uint32_t>(i - 1);
  return std::nullopt;
}

// Does every host have one cable, and every switch with hosts equally many of them?
bool evenly_hosted(const Fabric& f) {
  const LinksAt links(f);
  std::vector<std::uint32_t> held(f.vertex_count(), 0);
  for (std::uint32_t h = 0; h < f.host_count(); ++h) {
    if (links.count(VertexId(h)) != 1) return false;
    const VertexId at = links.first_neighbour(VertexId(h));
    if (at.index() < f.host_count()) return false;
    ++held[at.index()];
  }
  std::uint32_t some = 0;
  for (const std::uint32_t n : held) {
    if (n == 0) continue;
    if (some != 0 && n != some) return false;
    some = n;
  }
  return true;
}

}  // namespace

std::optional<double> mean_of(const HopHistogram& h) {
  // Exact: both sums stay below 2^53 x 2^64 in 128 bits.
  unsigned __int128 sum = 0, count = 0;
  for (std::size_t i = 0; i < h.pairs.size(); ++i) {
    sum += static_cast<unsigned __int128>(h.pairs[i]) * i;
    count += h.pairs[i];
  }
  if (count == 0) return std::nullopt;
  return static_cast<double>(static_cast<long double>(sum) / static_cast<long double>(count));
}

Metrics measure(const Fabric& f, std::uint64_t max_pairs, std::uint64_t max_links) {
  Metrics m;
  m.hops = f.routing().hop_histogram();
  const std::uint64_t hosts = f.host_count();
  if (!m.hops && hosts * (hosts - 1) <= max_pairs) m.hops = enumerate(f, max_links);
  if (!m.hops) return m;
  m.diameter_hops = longest(*m.hops);
  m.mean_hops = mean_of(*m.hops);
  // A routes file does not say what a switch is: its inferred wiring may hold hosts without a cable of their
  // own; in a PCIe tree the distance to the endpoint's switch differs.
  if (f.routing().name() == "table" || f.pcie() != nullptr) return m;
  if (!f.hosts_are_routers() && !evenly_hosted(f)) return m;
  if (f.hosts_are_routers()) {
    m.router_diameter_hops = m.diameter_hops;
    m.router_mean_hops = m.mean_hops;
    return m;
  }
  // Every switch that holds hosts holds equally many, so pairs of hosts weigh pairs of switches equally.
  HopHistogram routers;
  for (std::size_t i = 3; i < m.hops->pairs.size(); ++i) routers.add(i - 2, m.hops->pairs[i]);
  m.router_diameter_hops = longest(routers);
  m.router_mean_hops = mean_of(routers);
  return m;
}

std::vector<ClassSummary> summarize_classes(const Fabric& f) {
  const LinkTable& t = f.links();
  // The class of links between sockets, which comes last, is none of the network.
  std::vector<ClassSummary> out(t.class_names.size() - (f.sockets_joined() ? 1 : 0));
  std::vector<bool> same_bw(out.size(), true), same_lat(out.size(), true);
  std::vector<std::size_t> first(out.size());
  std::vector<std::uint64_t> both_ways(out.size(), 0);
  for (std::size_t l = 0; l < f.wired_links(); ++l) {
    const std::size_t c = t.link_class[l];
    if (out[c].links++ == 0) first[c] = l;
    both_ways[c] += f.is_two_way(LinkId(static_cast<std::uint32_t>(l))) ? 1 : 0;
    same_bw[c] = same_bw[c] && t.capacity[l] == t.capacity[first[c]];
    same_lat[c] = same_lat[c] && t.latency[l] == t.latency[first[c]];
  }
  for (std::size_t c = 0; c < out.size(); ++c) {
    out[c].name = t.class_names[c];
    out[c].cables = (out[c].links - both_ways[c]) / 2 + both_ways[c];
    if (out[c].links == 0) continue;
    if (same_bw[c]) out[c].bandwidth_Bps = t.capacity[first[c]];
    if (same_lat[c]) out[c].latency_s = to_seconds(t.latency[first[c]]);
  }
  return out;
}

}  // namespace weft::topology
