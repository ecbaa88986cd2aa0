#include "topology/fabric.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "core/check.hpp"
#include "topology/fabric_builder.hpp"
#include "topology/routing/route_latency.hpp"

namespace weft::topology {

std::string Fabric::link_name(LinkId l) const {
  if (l.index() >= wired_links()) {
    const std::uint32_t others = sockets_.sockets - 1, place = (l.index() - wired_links()) / others,
                        other = (l.index() - wired_links()) % others, from = place % sockets_.sockets;
    return fmt::format("{}: socket {} -> {}", host_name(HostId(place / sockets_.sockets)), from,
                       other < from ? other : other + 1);
  }
  if (l.index() < explicit_link_names_.size() && !explicit_link_names_[l.index()].empty())
    return explicit_link_names_[l.index()];
  std::string name =
      fmt::format("{}->{}", vertex_name(links_.from[l.index()]), vertex_name(links_.to[l.index()]));
  if (const auto number = cable_number(l)) name += fmt::format("#{}", *number);
  return name;
}

std::optional<std::uint32_t> Fabric::cable_number(LinkId l) const {
  if (const auto told = cable_numbers_.find(l.index()); told != cable_numbers_.end()) return told->second;
  // By their order among the ports of the vertex that they leave.
  const VertexId from = links_.from[l.index()], to = links_.to[l.index()];
  std::uint32_t before = 0, after = 0;
  const std::uint32_t first = first_link(from);
  for (std::uint32_t i = first; i < first + degree(from); ++i) {
    if (links_.to[i] != to) continue;
    if (i < l.index()) ++before;
    if (i > l.index()) ++after;
  }
  if (before + after == 0) return std::nullopt;
  return before;
}

std::uint32_t Fabric::cable_count() const {
  const auto both_ways = static_cast<std::uint32_t>(std::ranges::count(two_way_, 1));
  return (wired_links() - both_ways) / 2 + both_ways;
}

void Fabric::add_switch_latency(Duration d) {
  const std::uint32_t first = hosts_are_routers() ? 0 : hosts_;
  for (std::size_t l = 0; l < links_.size(); ++l)
    if (links_.to[l].index() >= first) links_.latency[l] = saturating_sum(links_.latency[l], d);
}

void Fabric::limit_host_links(Bandwidth most) {
  for (std::size_t l = 0; l < links_.size(); ++l)
    if (std::min(links_.from[l], links_.to[l]).index() < hosts_ && links_.link_class[l] != class_in_hosts_)
      links_.capacity[l] = std::min(links_.capacity[l], most.value());
  find_shared_capacity();
}

void Fabric::find_shared_capacity() {
  if (!links_.fatpipes) return;
  shared_capacity_.resize(links_.size());
  for (std::uint32_t l = 0; l < link_count(); ++l) find_shared_capacity(LinkId(l));
}

void Fabric::find_shared_capacity(LinkId link) {
  // FlowIds, and members of a bundle, are numbers of 32 bits.
  constexpr double kMostFlows = 0x1p32;
  const double capacity = links_.capacity[link.index()];
  shared_capacity_[link.index()] = links_.is_fatpipe(link)
                                       ? std::min(kMostFlows * capacity, std::numeric_limits<double>::max())
                                       : capacity;
}

Result<void> Fabric::share_ports(std::vector<PortShare> shares) {
  if (pcie_ != nullptr)
    return not_supported("ports that carry less to several peers, on PCIe trees", "a network without them");
  bool ports = false;
  for (std::size_t l = 0; l < links_.size(); ++l) {
    if (std::max(links_.from[l], links_.to[l]).index() < hosts_)
      return not_supported("ports that carry less to several peers, on links between hosts",
                           "a network whose hosts have switches");
    const bool port = std::min(links_.from[l], links_.to[l]).index() < hosts_;
    if (port && links_.is_fatpipe(LinkId(static_cast<std::uint32_t>(l))))
      return not_supported("ports that carry less to several peers, on fatpipe links",
                           "a network whose hosts have shared links");
    ports = ports || port;
  }
  if (!ports)
    return not_supported("ports that carry less to several peers, where no link ends at a host",
                         "a network whose wiring is known");
  port_shares_ = std::move(shares);
  return {};
}

Result<void> Fabric::join_sockets(const SocketRule& rule, std::uint32_t ranks_per_host, Bandwidth each) {
  WEFT_CHECK(rule.sockets > 1 && !sockets_joined(), "links join two sockets or more, once");
  if (pcie_ != nullptr)
    return not_supported("links between sockets where hosts are PCIe trees",
                         "links of the tree between them");
  const std::uint64_t more =
      saturating_mul(hosts_, std::uint64_t{rule.sockets} * (rule.sockets - std::uint64_t{1}));
  WEFT_TRY(check_size(vertex_count(), (wired_links() + more) / 2));
  const auto link_class = static_cast<std::uint8_t>(links_.class_names.size());
  links_.class_names.emplace_back("socket");
  const std::size_t all = links_.size() + more;
  links_.capacity.resize(all, each.value());
  links_.latency.resize(all, Duration(0));
  links_.link_class.resize(all, link_class);
  for (std::size_t l = wired_links(); l < all; ++l) {
    const VertexId host(static_cast<std::uint32_t>((l - wired_links()) / (more / hosts_)));
    links_.from.push_back(host);
    links_.to.push_back(host);
  }
  sockets_ = rule;
  ranks_on_sockets_ = ranks_per_host;
  find_shared_capacity();
  return {};
}

void Fabric::scale_link(LinkId link, double factor) {
  links_.capacity[link.index()] *= factor;
  if (links_.fatpipes) find_shared_capacity(link);
}

}  // namespace weft::topology
