#include "topology/routing/multi_nic.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "core/check.hpp"
#include "topology/fabric_builder.hpp"

namespace weft::topology {
namespace {

class RailChoice final : public Routing {
 public:
  RailChoice(std::shared_ptr<const Fabric> base, std::uint32_t nics, NicChoice choice)
      : base_(std::move(base)), nics_(nics), choice_(choice) {}

  bool route(HostId src, HostId dst, std::vector<LinkId>& out) const override {
    if (src == dst) return true;
    const std::uint32_t k = usual(src, dst);
    return base_->routing().route(card(src, k), card(dst, k), out);
  }
  bool route_message(HostId src, HostId dst, std::uint64_t message, const LinkLoad& load,
                     std::vector<LinkId>& out) const override {
    if (src == dst) return true;
    std::uint32_t k =
        choice_ == NicChoice::kMessage ? static_cast<std::uint32_t>(message % nics_) : usual(src, dst);
    if (choice_ == NicChoice::kAdaptive && !load.empty()) {
      const std::uint32_t first = k;
      for (std::uint32_t i = 1; i < nics_; ++i) {
        const std::uint32_t other = (first + i) % nics_;
        if (use(src, dst, other, load) < use(src, dst, k, load)) k = other;
      }
    }
    return base_->routing().route_message(card(src, k), card(dst, k), message, load, out);
  }
  RouteScope scope() const override {
    const RouteScope own = choice_ == NicChoice::kPair      ? RouteScope::kPair
                           : choice_ == NicChoice::kMessage ? RouteScope::kMessage
                                                            : RouteScope::kLoad;
    return std::max(own, base_->routing().scope());
  }
  // A number among all would leave a host with one card wherever hosts send by turns.
  std::optional<std::uint32_t> counter(HostId src, HostId dst) const override {
    if (choice_ != NicChoice::kMessage || src == dst) return std::nullopt;
    return src.index();
  }
  std::string_view name() const override { return base_->routing().name(); }
  std::uint64_t search_steps() const override { return nics_ * base_->routing().search_steps(); }

 private:
  [[nodiscard]] HostId card(HostId h, std::uint32_t k) const { return HostId(h.index() * nics_ + k); }
  [[nodiscard]] std::uint32_t usual(HostId src, HostId dst) const {
    return static_cast<std::uint32_t>((std::uint64_t{src.index()} + dst.index()) % nics_);
  }
  // Messages out of the source's card and into the destination's, on all cables of either.
  [[nodiscard]] std::uint64_t use(HostId src, HostId dst, std::uint32_t k, const LinkLoad& load) const {
    const LinkTable& t = base_->links();
    const auto each_link = [&](VertexId v, auto then) {
      for (std::uint32_t l = base_->first_link(v); l < base_->first_link(v) + base_->degree(v); ++l) then(l);
    };
    std::uint64_t sum = 0;
    each_link(VertexId(card(src, k).index()), [&](std::uint32_t l) { sum += load[l]; });
    const VertexId to(card(dst, k).index());
    each_link(to, [&](std::uint32_t own) {
      for (std::uint32_t l = base_->first_link(to); l < own; ++l)
        if (t.to[l] == t.to[own]) return;  // parallel cables: what comes by them was counted with the first
      each_link(t.to[own], [&](std::uint32_t l) {
        if (t.to[l] == to) sum += load[l];
      });
    });
    return sum;
  }
  std::shared_ptr<const Fabric> base_;
  std::uint32_t nics_;
  NicChoice choice_;
};

}  // namespace

Fabric with_nics(Fabric fabric, std::uint32_t nics, NicChoice choice) {
  WEFT_CHECK(nics > 0 && fabric.host_count() % nics == 0 && !fabric.hosts_are_routers(),
             "cards do not fit hosts");
  const auto base = std::make_shared<const Fabric>(std::move(fabric));
  const std::uint32_t endpoints = base->host_count(), hosts = endpoints / nics;
  const std::uint32_t vertices = base->vertex_count() - endpoints + hosts;
  FabricBuilder b(hosts, vertices, vertices - hosts);
  const LinkTable& t = base->links();
  for (const std::string& name : t.class_names) (void)b.add_class(name);
  b.set_group_classes(base->group_classes());
  const auto now = [&](VertexId v) {
    return v.index() < endpoints ? v.index() / nics : v.index() - endpoints + hosts;
  };
  std::vector<LinkId> same;
  same.reserve(t.size());
  for (std::uint32_t l = 0; l < t.size(); ++l) {
    b.join_one_way(now(t.from[l]), now(t.to[l]), t.link_class[l], {Bandwidth(t.capacity[l]), t.latency[l]});
    same.push_back(LinkId(l));
  }
  b.take_over_links(*base, same);
  b.set_vertex_names([base, hosts, endpoints](VertexId v) {
    return v.index() < hosts ? fmt::format("node-{}", v.index())
                             : base->vertex_name(VertexId(v.index() - hosts + endpoints));
  });
  // No closed form: halves of the end points may go through hosts.
  b.set_routing(std::make_shared<RailChoice>(base, nics, choice));
  return b.build();
}

}  // namespace weft::topology
