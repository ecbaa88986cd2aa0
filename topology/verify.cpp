#include "topology/verify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/graph/graph_traits.hpp>
#include <cmath>
#include <numeric>

#include "core/rng.hpp"
#include "topology/connected.hpp"
#include "topology/links_at.hpp"

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
  const std::vector<std::uint32_t> part = connected_parts(f, [](LinkId) { return true; });
  // Against the largest part, so that one host that is cut off is one finding.
  std::vector<std::uint32_t> size(f.vertex_count(), 0);
  for (std::uint32_t v = 0; v < f.vertex_count(); ++v) ++size[part[v]];
  const auto main = static_cast<std::uint32_t>(std::max_element(size.begin(), size.end()) - size.begin());
  std::uint32_t first = 0;
  while (part[first] != main) ++first;
  for (std::uint32_t v = 0; v < f.vertex_count(); ++v)
    if (part[v] != main)
      findings.add(fmt::format("{} is not connected to {}", f.vertex_name(VertexId(v)),
                               f.vertex_name(VertexId(first))));
}

void check_degrees(const Fabric& f, VerifyReport& r) {
  const LinksAt links(f);
  r.host_degree_min = r.switch_degree_min = ~0u;
  for (std::uint32_t v = 0; v < f.vertex_count(); ++v) {
    const std::uint32_t d = links.count(VertexId(v));
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
    if (l.index() >= f.wired_links()) return false;
    const bool back = f.is_two_way(l) && t.to[l.index()] == at;
    if (!back && t.from[l.index()] != at) return false;
    at = back ? t.from[l.index()] : t.to[l.index()];
    if (stamp[at.index()] == mark) return false;
    stamp[at.index()] = mark;
  }
  return at.index() == dst.index();
}

// The same where nothing is known of the ends of links: each of them once.
bool no_link_twice(const Fabric& f, const std::vector<LinkId>& links, std::vector<std::uint64_t>& stamp,
                   std::uint64_t mark) {
  for (const LinkId l : links) {
    if (l.index() >= f.wired_links() || stamp[l.index()] == mark) return false;
    stamp[l.index()] = mark;
  }
  return true;
}

std::vector<std::uint32_t> shuffled(std::uint32_t n, Rng& rng) {
  std::vector<std::uint32_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  for (std::uint32_t i = n; i > 1; --i) std::swap(order[i - 1], order[rng.below(i)]);
  return order;
}

// Walks routes to one host after another, since a routing that searches does so once for each.
class RouteWalker {
 public:
  RouteWalker(const Fabric& f, VerifyReport& report, Findings& findings)
      : f_(f),
        report_(report),
        findings_(findings),
        stamp_(f.wiring_known() ? f.vertex_count() : f.wired_links(), 0) {
    Rng rng(1);
    to_ = shuffled(f.host_count(), rng);
    from_ = shuffled(f.host_count(), rng);
  }

  void walk_all(std::uint64_t max_pairs, std::uint64_t max_links, std::uint64_t max_search) {
    const std::uint64_t hosts = f_.host_count();
    for (std::uint32_t h = 0; h < hosts && h < max_pairs; ++h) {
      links_.clear();
      (void)f_.routing().route(HostId(h), HostId(h), links_);
      if (!links_.empty())
        findings_.add(fmt::format("{} reaches itself over links", f_.host_name(HostId(h))));
    }
    if (hosts < 2) return;
    const std::uint64_t fit = std::max<std::uint64_t>(1, max_links / mean_links());
    const std::uint64_t pairs = std::min({hosts * (hosts - 1), max_pairs, fit});
    const std::uint64_t searches = max_search / std::max<std::uint64_t>(1, f_.routing().search_steps());
    const std::uint64_t targets = std::clamp<std::uint64_t>(searches, 1, std::min(hosts, pairs));
    for (std::uint64_t t = 0; t < targets; ++t) {
      // As many as are due by then, from whoever is next; all others at most.
      const std::uint64_t due = pairs / targets * (t + 1) + pairs % targets * (t + 1) / targets;
      for (std::uint64_t k = 0; k < hosts && report_.pairs_walked < due; ++k) walk_next(to_[t]);
    }
    report_.destinations_walked = static_cast<std::uint32_t>(targets);
  }

 private:
  // Of a few pairs, at least 1.
  std::uint64_t mean_links() {
    constexpr std::size_t kTargets = 8, kSources = 32;
    std::uint64_t links = 0, routes = 0;
    for (std::size_t t = 0; t < std::min(kTargets, to_.size()); ++t)
      for (std::size_t k = 0; k < std::min(kSources, from_.size()); ++k) {
        links_.clear();
        (void)f_.routing().route(HostId(from_[(t * kSources + k) % from_.size()]), HostId(to_[t]), links_);
        links += links_.size();
        ++routes;
      }
    return links / routes + 1;
  }

  void walk_next(std::uint32_t target) {
    const HostId src(from_[next_]), dst(target);
    next_ = next_ + 1 < from_.size() ? next_ + 1 : 0;
    if (src == dst) return;
    links_.clear();
    ++report_.pairs_walked;
    if (!f_.routing().route(src, dst, links_)) {
      ++report_.unreachable;
    } else if (!f_.wiring_known()) {
      if (!no_link_twice(f_, links_, stamp_, report_.pairs_walked))
        findings_.add(
            fmt::format("the route from {} to {} takes a link twice", f_.host_name(src), f_.host_name(dst)));
    } else if (!walk(f_, src, dst, links_, stamp_, report_.pairs_walked)) {
      findings_.add(fmt::format("the route from {} to {} is not a simple walk between them",
                                f_.host_name(src), f_.host_name(dst)));
    }
  }

  const Fabric& f_;
  VerifyReport& report_;
  Findings& findings_;
  std::vector<std::uint32_t> to_, from_;
  std::size_t next_ = 0;  // in from_
  std::vector<std::uint64_t> stamp_;
  std::vector<LinkId> links_;
};

}  // namespace

VerifyReport verify(const Fabric& f, std::uint64_t max_pairs, std::uint64_t max_links,
                    std::uint64_t max_search) {
  VerifyReport r;
  Findings findings(r.findings);
  check_columns(f, findings);
  if (f.wiring_known()) check_connected(f, findings);
  check_degrees(f, r);
  const std::uint64_t hosts = f.host_count();
  r.pairs_total = hosts * (hosts - 1);
  RouteWalker(f, r, findings).walk_all(max_pairs, max_links, max_search);
  return r;
}

}  // namespace weft::topology
