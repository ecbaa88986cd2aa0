#include "topology/placement/locality.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "topology/connected.hpp"
#include "topology/links_at.hpp"
#include "topology/pcie/forest.hpp"

namespace weft::topology {
namespace {

// Numbers the values 0, 1, ... in the order of their first appearance.
std::uint32_t renumber(std::vector<std::uint32_t>& values) {
  std::unordered_map<std::uint32_t, std::uint32_t> number;
  for (std::uint32_t& v : values)
    v = number.emplace(v, static_cast<std::uint32_t>(number.size())).first->second;
  return static_cast<std::uint32_t>(number.size());
}

}  // namespace

VertexId node_of(const Fabric& f, HostId host) {
  VertexId v(host.index());
  if (f.pcie() != nullptr)
    for (VertexId above = f.pcie()->parent[v.index()]; above.valid(); above = f.pcie()->parent[v.index()])
      v = above;
  return v;
}

std::vector<std::uint32_t> nodes_of(const Fabric& f, std::span<const HostId> placement) {
  std::map<VertexId, std::uint32_t> numbers;
  std::vector<std::uint32_t> out;
  out.reserve(placement.size());
  for (const HostId h : placement)
    out.push_back(
        numbers.try_emplace(node_of(f, h), static_cast<std::uint32_t>(numbers.size())).first->second);
  return out;
}

Locality locality_of(const Fabric& f) {
  const LinkTable& t = f.links();
  Locality out;
  out.switch_of.resize(f.host_count());
  out.group_of.resize(f.host_count());
  const LinksAt links(f);
  for (std::uint32_t h = 0; h < f.host_count(); ++h)
    out.switch_of[h] = f.hosts_are_routers() ? h : links.first_neighbour(VertexId(h)).index();

  const auto joins_groups = [groups = f.group_classes()](std::uint8_t link_class) {
    return std::find(groups.begin(), groups.end(), link_class) != groups.end();
  };
  const std::vector<std::uint32_t> part = connected_parts(f, [&](LinkId link) {
    // A host's cable joins it to its switch whatever its class.
    const std::size_t l = link.index();
    const bool host_cable =
        !f.hosts_are_routers() && (t.from[l].index() < f.host_count() || t.to[l].index() < f.host_count());
    return host_cable || !joins_groups(t.link_class[l]);
  });
  for (std::uint32_t h = 0; h < f.host_count(); ++h) out.group_of[h] = part[h];
  out.switches = renumber(out.switch_of);
  out.groups = renumber(out.group_of);
  return out;
}

}  // namespace weft::topology
