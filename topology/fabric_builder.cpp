#include "topology/fabric_builder.hpp"

#include <fmt/format.h>

#include <boost/iterator/counting_iterator.hpp>
#include <boost/iterator/transform_iterator.hpp>
#include <utility>

#include "core/check.hpp"
#include "topology/routing/graph_routing.hpp"

namespace weft::topology {

std::uint64_t saturating_mul(std::uint64_t a, std::uint64_t b) {
  constexpr std::uint64_t kTop = 1ULL << 63;
  std::uint64_t r = 0;
  if (__builtin_mul_overflow(a, b, &r) || r > kTop) return kTop;
  return r;
}

Result<void> check_size(std::uint64_t vertices, std::uint64_t cables) {
  if (vertices > kMaxVertices)
    return bad_input({}, "the network is too large", fmt::format("{} hosts and switches", vertices),
                     fmt::format("at most {}", kMaxVertices));
  if (cables > kMaxLinks / 2)
    return bad_input({}, "the network is too large", fmt::format("{} cables", cables),
                     fmt::format("at most {}", kMaxLinks / 2));
  return {};
}

FabricBuilder::FabricBuilder(std::uint64_t hosts, std::uint64_t vertices, std::uint64_t switches)
    : vertices_(static_cast<std::uint32_t>(vertices)) {
  WEFT_CHECK(hosts <= vertices && switches <= vertices && vertices <= 2 * kMaxVertices,
             "sizes not checked before");
  fabric_.hosts_ = static_cast<std::uint32_t>(hosts);
  fabric_.switches_ = static_cast<std::uint32_t>(switches);
}

std::uint8_t FabricBuilder::add_class(std::string name) {
  auto& names = fabric_.links_.class_names;
  WEFT_CHECK(names.size() < 255, "too many link classes");
  const auto added = static_cast<std::uint8_t>(names.size());
  if (name == kFatpipe) fabric_.links_.fatpipes = added;
  names.push_back(std::move(name));
  return added;
}

void FabricBuilder::link(std::uint64_t from, std::uint64_t port, std::uint64_t to, std::uint8_t link_class,
                         LinkValues values) {
  WEFT_DCHECK(from < vertices_ && to < vertices_, "vertex out of range");
  ends_.push_back({static_cast<std::uint32_t>(from), static_cast<std::uint32_t>(port),
                   static_cast<std::uint32_t>(to), link_class, values});
}

std::uint64_t FabricBuilder::cables_between(std::span<const std::uint8_t> side) const {
  WEFT_CHECK(side.size() == vertices_, "a side for every vertex");
  std::uint64_t links = 0;
  for (const End& e : ends_) links += side[e.from] != side[e.to] ? 1 : 0;
  return (links + 1) / 2;
}

void FabricBuilder::cable(std::uint64_t a, std::uint64_t port_a, std::uint64_t b, std::uint64_t port_b,
                          std::uint8_t link_class, LinkValues values) {
  link(a, port_a, b, link_class, values);
  link(b, port_b, a, link_class, values);
}

void FabricBuilder::join_one_way(std::uint64_t from, std::uint64_t to, std::uint8_t link_class,
                                 LinkValues values) {
  next_port_.resize(vertices_, 0);
  link(from, next_port_[from]++, to, link_class, values);
}

void FabricBuilder::join(std::uint64_t a, std::uint64_t b, std::uint8_t link_class, LinkValues values) {
  join_one_way(a, b, link_class, values);
  join_one_way(b, a, link_class, values);
}

void FabricBuilder::take_over_links(const Fabric& network, std::span<const LinkId> number) {
  fabric_.wiring_known_ = network.wiring_known_;
  const auto take = [&](const auto& column, auto& out) {
    for (std::size_t l = 0; l < column.size(); ++l) {
      if (!number[l].valid()) continue;
      const std::size_t now = number[l].index();
      if (out.size() <= now) out.resize(now + 1);
      out[now] = column[l];
    }
  };
  take(network.two_way_, fabric_.two_way_);
  take(network.explicit_link_names_, fabric_.explicit_link_names_);
  for (const auto& [l, cable] : network.cable_numbers_)
    if (number[l].valid()) set_cable_number(number[l], cable);
}

std::shared_ptr<PcieForest> FabricBuilder::pcie() {
  if (forest_ == nullptr) {
    forest_ = std::make_shared<PcieForest>();
    forest_->resize(vertices_);
    fabric_.pcie_ = forest_;
  }
  return forest_;
}

Fabric FabricBuilder::build(
    const std::function<std::shared_ptr<const Routing>(std::shared_ptr<const Routing>)>& wrap) {
  WEFT_CHECK((fabric_.routing_ != nullptr || graph_routing_) && fabric_.vertex_name_ != nullptr,
             "family set no routing or no names");
  std::vector<std::uint32_t> first(vertices_ + 1, 0);
  for (const End& e : ends_) ++first[e.from + 1];
  for (std::uint32_t v = 0; v < vertices_; ++v) first[v + 1] += first[v];

  const auto n = static_cast<std::uint32_t>(ends_.size());
  LinkTable& t = fabric_.links_;
  t.capacity.assign(n, 0.0);
  t.latency.assign(n, Duration(0));
  t.link_class.assign(n, 0);
  t.from.assign(n, VertexId());
  t.to.assign(n, VertexId());
  for (const End& e : ends_) {
    const std::uint32_t i = first[e.from] + e.port;
    WEFT_CHECK(i < first[e.from + 1] && !t.from[i].valid(),
               fmt::format("port {} of vertex {} used twice or beyond the degree", e.port, e.from));
    t.capacity[i] = e.values.bandwidth.value();
    t.latency[i] = e.values.latency;
    t.link_class[i] = e.link_class;
    t.from[i] = VertexId(e.from);
    t.to[i] = VertexId(e.to);
  }
  std::vector<End>().swap(ends_);
  if (!groups_are_told_) {
    const std::uint32_t first_switch = fabric_.switches_ == vertices_ ? 0 : fabric_.hosts_;
    std::optional<std::uint8_t> outermost;
    for (std::uint32_t l = 0; l < n; ++l)
      if (std::min(t.from[l], t.to[l]).index() >= first_switch)
        outermost = std::max(outermost.value_or(0), t.link_class[l]);
    if (outermost) fabric_.group_classes_ = {*outermost};
  }

  const auto pair_of = [&t](std::uint32_t i) { return std::pair(t.from[i].index(), t.to[i].index()); };
  const auto begin = boost::make_transform_iterator(boost::counting_iterator<std::uint32_t>(0), pair_of);
  const auto end = boost::make_transform_iterator(boost::counting_iterator<std::uint32_t>(n), pair_of);
  fabric_.graph_ = Graph(boost::edges_are_sorted, begin, end, vertices_, n);
  if (graph_routing_)
    fabric_.routing_ = std::make_shared<GraphRouting>(t, fabric_.hosts_, vertices_, *graph_routing_, seed_);
  if (forest_ != nullptr) {
    for (std::uint32_t v = 0; v < vertices_; ++v) {
      const VertexId above = forest_->parent[v];
      if (!above.valid()) continue;
      const std::uint32_t up = first[v] + forest_->up_port[v];
      const std::uint32_t down = first[above.index()] + forest_->down_port[v];
      WEFT_CHECK(t.to[up] == above && t.to[down] == VertexId(v), "a PCIe port leads elsewhere");
      forest_->up[v] = LinkId(up);
      forest_->down[v] = LinkId(down);
    }
  }
  fabric_.find_shared_capacity();
  if (wrap) fabric_.routing_ = wrap(std::move(fabric_.routing_));
  return std::move(fabric_);
}

}  // namespace weft::topology
