// SocketRoutes: which way a message takes between two ranks, hosts whose sockets share links included.
//
//   ranks on different hosts                             the route of their hosts
//   on one host, on sockets that a link joins            that link alone (Fabric::join_sockets)
//   on one host otherwise                                no link: a copy that nobody shares
// The routing of a fabric knows hosts; this one wraps it for ranks. On a fabric without such links nothing is kept and a
// question is one comparison more than without it. Memory: 2 bytes a rank; O(1) a question.
#pragma once

#include <cstdint>
#include <vector>

#include "topology/fabric.hpp"
#include "topology/routing/route_cache.hpp"
#include "topology/sockets.hpp"

namespace weft::topology {

class SocketRoutes {
 public:
  // Both outlive it.
  SocketRoutes(const Fabric& fabric, const std::vector<HostId>& placement)
      : fabric_(fabric), placement_(placement) {
    if (!fabric.sockets_joined()) return;
    const std::vector<std::uint32_t> local = local_ranks(placement, fabric.host_count());
    socket_.reserve(local.size());
    for (const std::uint32_t l : local)
      socket_.push_back(static_cast<std::uint16_t>(fabric.socket_rule().of(l, fabric.ranks_on_sockets())));
  }

  // The link between the sockets of two ranks of one host; invalid: there is none.
  [[nodiscard]] LinkId link(std::uint32_t src, std::uint32_t dst) const {
    if (socket_.empty() || placement_[src] != placement_[dst] || socket_[src] == socket_[dst]) return {};
    return fabric_.socket_link(placement_[src], socket_[src], socket_[dst]);
  }
  // Within a host, and no link carries it.
  [[nodiscard]] bool is_copy(std::uint32_t src, std::uint32_t dst) const {
    return placement_[src] == placement_[dst] && (socket_.empty() || socket_[src] == socket_[dst]);
  }
  // The route of that pair in `routes`, which are of the same fabric.
  [[nodiscard]] RouteCache::RouteId id(RouteCache& routes, std::uint32_t src, std::uint32_t dst) const {
    const LinkId own = link(src, dst);
    return own.valid() ? routes.id(own) : routes.id(placement_[src], placement_[dst]);
  }
  // As Routing::route(), of two ranks.
  [[nodiscard]] bool route(std::uint32_t src, std::uint32_t dst, std::vector<LinkId>& out) const {
    const LinkId own = link(src, dst);
    if (!own.valid()) return fabric_.routing().route(placement_[src], placement_[dst], out);
    out.push_back(own);
    return true;
  }

 private:
  const Fabric& fabric_;
  const std::vector<HostId>& placement_;
  std::vector<std::uint16_t> socket_;  // by rank; empty: no links join sockets
};

}  // namespace weft::topology
