#include "topology/fabric.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "topology/routing/route_latency.hpp"

namespace weft::topology {

std::string Fabric::link_name(LinkId l) const {
  if (link_name_) return link_name_(l);
  if (!explicit_link_names_.empty()) return explicit_link_names_[l.index()];
  const VertexId from = links_.from[l.index()];
  const VertexId to = links_.to[l.index()];
  // Parallel cables between the same two vertices are told apart by their order among the ports of `from`.
  std::uint32_t before = 0, after = 0;
  const std::uint32_t first = first_link(from);
  for (std::uint32_t i = first; i < first + degree(from); ++i) {
    if (links_.to[i] != to) continue;
    if (i < l.index()) ++before;
    if (i > l.index()) ++after;
  }
  std::string name = fmt::format("{}->{}", vertex_name(from), vertex_name(to));
  if (before + after > 0) name += fmt::format("#{}", before);
  return name;
}

void Fabric::add_switch_latency(Duration d) {
  const std::uint32_t first = hosts_are_routers() ? 0 : hosts_;
  for (std::size_t l = 0; l < links_.size(); ++l)
    if (links_.to[l].index() >= first) links_.latency[l] = saturating_sum(links_.latency[l], d);
}

void Fabric::limit_host_links(Bandwidth most) {
  for (std::size_t l = 0; l < links_.size(); ++l)
    if (std::min(links_.from[l], links_.to[l]).index() < hosts_)
      links_.capacity[l] = std::min(links_.capacity[l], most.value());
}

Result<void> Fabric::share_ports(std::vector<PortShare> shares) {
  if (pcie_ != nullptr)
    return not_supported("ports that carry less to several peers, on PCIe trees", "a network without them");
  bool ports = false;
  for (std::size_t l = 0; l < links_.size(); ++l) {
    if (std::max(links_.from[l], links_.to[l]).index() < hosts_)
      return not_supported("ports that carry less to several peers, on links between hosts",
                           "a network whose hosts have switches");
    ports = ports || std::min(links_.from[l], links_.to[l]).index() < hosts_;
  }
  if (!ports)
    return not_supported("ports that carry less to several peers, where no link ends at a host",
                         "a network whose wiring is known");
  port_shares_ = std::move(shares);
  return {};
}

void Fabric::scale_link(LinkId link, double factor) { links_.capacity[link.index()] *= factor; }

}  // namespace weft::topology
