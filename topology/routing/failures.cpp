#include "topology/routing/failures.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>

#include "core/check.hpp"
#include "core/quantity_text.hpp"
#include "core/rng.hpp"
#include "topology/fabric_builder.hpp"
#include "topology/platform/params.hpp"
#include "topology/routing/choice.hpp"
#include "topology/routing/graph_routing.hpp"

namespace weft::topology {
namespace {

constexpr std::uint32_t kGone = ~0u;

// The usual routing where its route survived, a detour where not.
class Rerouted final : public Routing {
 public:
  // `now[l]`: link l of the whole fabric in the one that is left, or none.
  Rerouted(std::shared_ptr<const Fabric> whole, std::vector<LinkId> now,
           std::shared_ptr<const Routing> detour)
      : whole_(std::move(whole)),
        now_(std::move(now)),
        detour_(std::move(detour)),
        name_(whole_->routing().name()) {}

  bool route(HostId src, HostId dst, std::vector<LinkId>& out) const override {
    const std::size_t start = out.size();
    return (whole_->routing().route(src, dst, out) && translate(out, start)) || around(src, dst, start, out);
  }
  bool route_message(HostId src, HostId dst, std::uint64_t message, const LinkLoad& load,
                     std::vector<LinkId>& out) const override {
    if (scope() == RouteScope::kPair) return route(src, dst, out);
    const std::size_t start = out.size();
    // The usual routing knows the whole fabric: what is gone looks full to it.
    const LinkLoad before = scope() == RouteScope::kLoad ? LinkLoad(load, now_, 1u << 30) : LinkLoad();
    for (std::uint64_t attempt = 0; attempt < 4; ++attempt) {
      const std::uint64_t number = attempt == 0 ? message : mix_hash(message, attempt);
      if (whole_->routing().route_message(src, dst, number, before, out) && translate(out, start))
        return true;
      out.resize(start);
    }
    return around(src, dst, start, out);
  }
  RouteScope scope() const override { return whole_->routing().scope(); }
  std::optional<std::uint32_t> counter(HostId src, HostId dst) const override {
    return whole_->routing().counter(src, dst);
  }
  std::string_view name() const override { return name_; }
  std::uint64_t search_steps() const override {
    return whole_->routing().search_steps() + detour_->search_steps();
  }

 private:
  bool translate(std::vector<LinkId>& out, std::size_t start) const {
    for (std::size_t i = start; i < out.size(); ++i) {
      const LinkId l = now_[out[i].index()];
      if (!l.valid()) return false;
      out[i] = l;
    }
    return true;
  }
  bool around(HostId src, HostId dst, std::size_t start, std::vector<LinkId>& out) const {
    out.resize(start);
    return detour_->route(src, dst, out);
  }
  std::shared_ptr<const Fabric> whole_;
  std::vector<LinkId> now_;
  std::shared_ptr<const Routing> detour_;
  std::string name_;
};

// The other direction of every link: the n-th link from a to b goes with the n-th from b to a. None: one way.
std::vector<std::uint32_t> twins(const Fabric& f) {
  const LinkTable& t = f.links();
  std::vector<std::uint32_t> by_pair(t.size()), twin(t.size(), kGone);
  std::iota(by_pair.begin(), by_pair.end(), 0);
  const auto key = [&](std::uint32_t l) {
    const std::uint64_t a = t.from[l].index(), b = t.to[l].index();
    return std::pair(std::min(a, b) << 32 | std::max(a, b), a > b);
  };
  std::stable_sort(by_pair.begin(), by_pair.end(),
                   [&](std::uint32_t x, std::uint32_t y) { return key(x) < key(y); });
  for (std::size_t i = 0; i < by_pair.size();) {
    std::size_t end = i, back = 0;
    while (end < by_pair.size() && key(by_pair[end]).first == key(by_pair[i]).first) {
      back += key(by_pair[end]).second ? 1 : 0;
      ++end;
    }
    const std::size_t there = end - i - back;
    for (std::size_t k = 0; k < std::min(there, back); ++k) {
      twin[by_pair[i + k]] = by_pair[i + there + k];
      twin[by_pair[i + there + k]] = by_pair[i + k];
    }
    i = end;
  }
  return twin;
}

class Breaker {
 public:
  Breaker(const Fabric& f, const HostNames& hosts)
      : f_(f),
        hosts_(hosts),
        twin_(twins(f)),
        dead_link_(f.link_count(), false),
        dead_switch_(f.vertex_count(), false) {}

  Result<void> link(std::string_view name, const std::string& where) {
    // A link's name begins with its first vertex's: that one's links are compared first.
    const std::size_t arrow = name.find("->");
    std::vector<std::string> near;
    for (std::uint32_t v = 0; v < f_.vertex_count() && arrow != std::string_view::npos; ++v) {
      if (f_.vertex_name(VertexId(v)) != name.substr(0, arrow) &&
          called(VertexId(v)) != name.substr(0, arrow))
        continue;
      for (std::uint32_t l = f_.first_link(VertexId(v));
           l < f_.first_link(VertexId(v)) + f_.degree(VertexId(v)); ++l) {
        near.push_back(called(LinkId(l)));
        if (near.back() != name && f_.link_name(LinkId(l)) != name) continue;
        kill(l);
        return {};
      }
    }
    // Names of a routes file, and of vertices that have an arrow in theirs.
    for (std::uint32_t l = 0; l < f_.link_count(); ++l)
      if (f_.link_name(LinkId(l)) == name || (hosts_ && called(LinkId(l)) == name)) {
        kill(l);
        return {};
      }
    if (near.size() > 12) near.resize(12);
    if (near.empty())
      for (std::uint32_t l = 0; l < std::min(f_.link_count(), 4u); ++l) near.push_back(called(LinkId(l)));
    return bad_input(where, "unknown link", std::string(name),
                     fmt::format("a link, like {}", fmt::join(near, ", ")));
  }

  Result<void> node(std::string_view name, const std::string& where) {
    const std::uint32_t first = f_.hosts_are_routers() ? 0 : f_.host_count();
    for (std::uint32_t v = first; v < f_.vertex_count(); ++v) {
      if (f_.vertex_name(VertexId(v)) != name) continue;
      dead_switch_[v] = true;
      for (std::uint32_t l = f_.first_link(VertexId(v));
           l < f_.first_link(VertexId(v)) + f_.degree(VertexId(v)); ++l)
        kill(l);
      for (std::uint32_t l = 0; l < f_.link_count(); ++l)
        if (f_.links().to[l].index() == v) dead_link_[l] = true;
      return {};
    }
    return bad_input(where, "unknown switch", std::string(name),
                     fmt::format("a switch, like {} or {}", f_.vertex_name(VertexId(first)),
                                 f_.vertex_name(VertexId(f_.vertex_count() - 1))));
  }

  Result<void> some(std::string_view count, Rng& rng, const std::string& where) {
    std::vector<std::uint32_t> cables;  // one link of each
    for (std::uint32_t l = 0; l < f_.link_count(); ++l) {
      if (dead_link_[l] || (twin_[l] != kGone && twin_[l] < l)) continue;
      if (!f_.hosts_are_routers() && std::min(f_.links().from[l], f_.links().to[l]).index() < f_.host_count())
        continue;
      cables.push_back(l);
    }
    std::uint64_t n = 0;
    if (count.ends_with('%')) {
      WEFT_ASSIGN(const double share, parse_ratio(count.substr(0, count.size() - 1), where));
      if (share < 0 || share > 100) return bad_input(where, "not a share", std::string(count), "0% to 100%");
      n = static_cast<std::uint64_t>(std::llround(share / 100 * static_cast<double>(cables.size())));
    } else {
      if (cables.empty() && count != "0")
        return bad_input(where, "no cable between switches is left to break", std::string(count),
                         "link=NAME or switch=NAME");
      WEFT_ASSIGN(const std::int64_t v,
                  parse_integer(count, 0, static_cast<std::int64_t>(cables.size()), where));
      n = static_cast<std::uint64_t>(v);
    }
    for (std::uint64_t i = 0; i < n; ++i) {
      std::swap(cables[i], cables[i + rng.below(cables.size() - i)]);
      kill(cables[i]);
    }
    return {};
  }

  // The fabric that is left.
  Fabric rest(Fabric whole, std::uint64_t seed) {
    const auto all = std::make_shared<const Fabric>(std::move(whole));
    const LinkTable& t = all->links();
    std::vector<std::uint32_t> vertex_now(all->vertex_count(), kGone), vertex_before;
    for (std::uint32_t v = 0; v < all->vertex_count(); ++v) {
      if (dead_switch_[v] && v >= all->host_count()) continue;
      vertex_now[v] = static_cast<std::uint32_t>(vertex_before.size());
      vertex_before.push_back(v);
    }
    const auto left = static_cast<std::uint64_t>(vertex_before.size());
    FabricBuilder b(all->host_count(), left, all->hosts_are_routers() ? left : left - all->host_count());
    for (const std::string& name : t.class_names) (void)b.add_class(name);
    b.set_group_classes(all->group_classes());
    std::vector<LinkId> now(t.size());
    std::uint32_t links = 0;
    for (std::uint32_t l = 0; l < t.size(); ++l) {
      if (dead_link_[l]) continue;
      now[l] = LinkId(links++);
      b.join_one_way(vertex_now[t.from[l].index()], vertex_now[t.to[l].index()], t.link_class[l],
                     {Bandwidth(t.capacity[l]), t.latency[l]});
    }
    b.set_vertex_names(
        [all, vertex_before](VertexId v) { return all->vertex_name(VertexId(vertex_before[v.index()])); });
    b.take_over_links(*all, now);
    // What is left of parallel cables is called as before.
    for (std::uint32_t gone = 0; gone < t.size(); ++gone) {
      const VertexId from = t.from[gone], to = t.to[gone];
      if (!dead_link_[gone] || vertex_now[from.index()] == kGone || vertex_now[to.index()] == kGone) continue;
      for (std::uint32_t l = all->first_link(from); l < all->first_link(from) + all->degree(from); ++l)
        if (t.to[l] == to && now[l].valid()) b.set_cable_number(now[l], *all->cable_number(LinkId(l)));
    }
    b.set_graph_routing(GraphWay::kEcmp, seed);
    return b.build([&](std::shared_ptr<const Routing> detour) {
      return std::make_shared<Rerouted>(all, std::move(now), std::move(detour));
    });
  }

 private:
  [[nodiscard]] std::string called(VertexId v) const {
    return hosts_ && v.index() < f_.host_count() ? hosts_(HostId(v.index())) : f_.vertex_name(v);
  }
  // "#1" of parallel cables stays; so does the name that a file gives.
  [[nodiscard]] std::string called(LinkId l) const {
    const std::string own = f_.link_name(l);
    const VertexId from = f_.links().from[l.index()], to = f_.links().to[l.index()];
    const std::string ends = f_.vertex_name(from) + "->" + f_.vertex_name(to);
    return own.starts_with(ends) ? called(from) + "->" + called(to) + own.substr(ends.size()) : own;
  }
  void kill(std::uint32_t l) {
    dead_link_[l] = true;
    if (twin_[l] != kGone) dead_link_[twin_[l]] = true;
  }
  const Fabric& f_;
  const HostNames& hosts_;
  std::vector<std::uint32_t> twin_;
  std::vector<bool> dead_link_, dead_switch_;
};

}  // namespace

Result<Fabric> with_failures(Fabric fabric, std::string_view failures, std::uint64_t seed,
                             const std::string& where, const HostNames& hosts) {
  Breaker breaker(fabric, hosts);
  Rng rng(mix_hash(seed, 0x6661696c));
  for (const std::string_view part : split(failures, ';')) {
    constexpr std::string_view kLink = "link=", kSwitch = "switch=";
    if (part.starts_with(kLink)) {
      WEFT_TRY(breaker.link(part.substr(kLink.size()), where));
    } else if (part.starts_with(kSwitch)) {
      WEFT_TRY(breaker.node(part.substr(kSwitch.size()), where));
    } else if (!part.empty() && part.find_first_not_of("0123456789.%") == std::string_view::npos) {
      WEFT_TRY(breaker.some(part, rng, where));
    } else {
      return bad_input(where, "not a failure", std::string(part),
                       "link=NAME, switch=NAME, 2% or a number of cables");
    }
  }
  return breaker.rest(std::move(fabric), seed);
}

}  // namespace weft::topology
