#include "topology/verify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/graph/graph_traits.hpp>
#include <cmath>
#include <numeric>

#include "core/rng.hpp"

namespace weft::topology {
namespace {

constexpr std::size_t kMaxFindings = 20;

class Findings {
 public:
  explicit Findings(std::vector<std::string>& out) : out_(out) {}
  ~Findings() {
    if (count_ > kMaxFindings) out_.push_back(fmt::format("and {} more", count_ - kMaxFindings));
  }
  void add(std::string text) {
    if (++count_ <= kMaxFindings) out_.push_back(std::move(text));
  }

 private:
  std::vector<std::string>& out_;
  std::size_t count_ = 0;
};

void check_columns(const Fabric& f, Findings& findings) {
  const LinkTable& t = f.links();
  std::uint32_t i = 0;
  for (auto [e, end] = boost::edges(f.graph()); e != end; ++e, ++i) {
    const auto from = boost::source(*e, f.graph()), to = boost::target(*e, f.graph());
    if (t.from[i].index() != from || t.to[i].index() != to)
      findings.add(fmt::format("link {} joins {} and {} in the graph, {} and {} in its columns", i, from, to,
                               t.from[i].index(), t.to[i].index()));
    if (!(t.capacity[i] > 0) || !std::isfinite(t.capacity[i]) || t.latency[i] < Duration(0) ||
        t.link_class[i] >= t.class_names.size())
      findings.add(fmt::format("link {} has bandwidth {} B/s, latency {} ps, class {}", i, t.capacity[i],
                               t.latency[i].count(), t.link_class[i]));
  }
}

void check_connected(const Fabric& f, Findings& findings) {
  std::vector<std::uint32_t> parent(f.vertex_count());
  std::iota(parent.begin(), parent.end(), 0);
  const auto root = [&parent](std::uint32_t x) {
    while (parent[x] != x) x = parent[x] = parent[parent[x]];
    return x;
  };
  for (std::size_t l = 0; l < f.wired_links(); ++l)
    parent[root(f.links().from[l].index())] = root(f.links().to[l].index());
  // Against the largest part, so that one host that is cut off is one finding.
  std::vector<std::uint32_t> size(f.vertex_count(), 0);
  for (std::uint32_t v = 0; v < f.vertex_count(); ++v) ++size[root(v)];
  const auto main = static_cast<std::uint32_t>(std::max_element(size.begin(), size.end()) - size.begin());
  std::uint32_t first = 0;
  while (root(first) != main) ++first;
  for (std::uint32_t v = 0; v < f.vertex_count(); ++v)
    if (root(v) != main)
      findings.add(fmt::format("{} is not connected to {}", f.vertex_name(VertexId(v)),
                               f.vertex_name(VertexId(first))));
}

void check_degrees(const Fabric& f, VerifyReport& r) {
  r.host_degree_min = r.switch_degree_min = ~0u;
  for (std::uint32_t v = 0; v < f.vertex_count(); ++v) {
    const std::uint32_t d = f.degree(VertexId(v));
    auto& low = v < f.host_count() ? r.host_degree_min : r.switch_degree_min;
    auto& high = v < f.host_count() ? r.host_degree_max : r.switch_degree_max;
    low = std::min(low, d);
    high = std::max(high, d);
  }
  if (f.vertex_count() == f.host_count()) r.switch_degree_min = 0;
}

// `stamp[v]` == `mark`: the walk has been at v.
bool walk(const Fabric& f, HostId src, HostId dst, const std::vector<LinkId>& links,
          std::vector<std::uint64_t>& stamp, std::uint64_t mark) {
  const LinkTable& t = f.links();
  VertexId at(src.index());
  stamp[at.index()] = mark;
  for (const LinkId l : links) {
    if (l.index() >= f.wired_links() || t.from[l.index()] != at) return false;
    at = t.to[l.index()];
    if (stamp[at.index()] == mark) return false;
    stamp[at.index()] = mark;
  }
  return at.index() == dst.index();
}

}  // namespace

VerifyReport verify(const Fabric& f, std::uint64_t max_pairs) {
  VerifyReport r;
  Findings findings(r.findings);
  check_columns(f, findings);
  check_connected(f, findings);
  check_degrees(f, r);
  const std::uint64_t hosts = f.host_count();
  r.pairs_total = hosts * (hosts - 1);
  const bool all = r.pairs_total <= max_pairs;
  Rng rng(1);
  std::vector<std::uint64_t> stamp(f.vertex_count(), 0);
  std::vector<LinkId> links;
  const std::uint64_t tries = all ? hosts * hosts : max_pairs;
  for (std::uint64_t i = 0; i < tries; ++i) {
    const HostId src(static_cast<std::uint32_t>(all ? i / hosts : rng.below(hosts)));
    const HostId dst(static_cast<std::uint32_t>(all ? i % hosts : rng.below(hosts)));
    links.clear();
    const bool reached = f.routing().route(src, dst, links);
    if (src == dst) {
      if (!links.empty()) findings.add(fmt::format("{} reaches itself over links", f.host_name(src)));
      continue;
    }
    ++r.pairs_walked;
    if (!reached) {
      ++r.unreachable;
      continue;
    }
    if (!walk(f, src, dst, links, stamp, i + 1))
      findings.add(fmt::format("the route from {} to {} is not a simple walk between them", f.host_name(src),
                               f.host_name(dst)));
  }
  return r;
}

}  // namespace weft::topology
