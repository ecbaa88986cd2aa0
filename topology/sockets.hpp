// Sockets of a host: which of them each rank is on. The one place that knows it, for kernels and for messages.
#pragma once

#include <cstdint>
#include <vector>

#include "core/id.hpp"

namespace weft::topology {

// How the ranks of a host are dealt to its sockets (Host.sockets and Host.socket_order in platform.proto).
struct SocketRule {
  std::uint32_t sockets = 1;
  bool cyclic = false;  // local rank r on socket r mod sockets, not in blocks

  // Socket of the `local`-th of `ranks` ranks.
  [[nodiscard]] std::uint32_t of(std::uint32_t local, std::uint32_t ranks) const {
    std::uint32_t socket = 0;
    if (cyclic)
      socket = local % sockets;
    else if (ranks > 0)
      socket = static_cast<std::uint32_t>(std::uint64_t{local} * sockets / ranks);
    return socket < sockets ? socket : sockets - 1;
  }
};

// By rank: how many ranks before it are on its host. `hosts`: of the platform. O(ranks + hosts).
[[nodiscard]] inline std::vector<std::uint32_t> local_ranks(const std::vector<HostId>& placement,
                                                            std::size_t hosts) {
  std::vector<std::uint32_t> on_host(hosts, 0), local;
  local.reserve(placement.size());
  for (const HostId h : placement) local.push_back(on_host[h.index()]++);
  return local;
}

}  // namespace weft::topology
