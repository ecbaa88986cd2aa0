#include "replay/message_cost.hpp"

#include <algorithm>

namespace weft::replay {

MessageCost::Parts MessageCost::uncontended(std::int64_t bytes, const Path& path, bool nonblocking_send,
                                            std::int64_t header) const {
  Parts p;
  p.send_cpu = nonblocking_send ? isend(bytes) : send(bytes);
  p.recv_cpu = recv(bytes);
  const bool is_eager = eager(bytes);
  if (path.local) {
    if (!is_eager) p.latency = local_leg() + local_leg();
    p.transfer = local_data(bytes);
    return p;
  }
  p.latency = data_latency(bytes, path.latency, is_eager);
  if (!is_eager) p.latency += envelope(path.latency) + permission(path.latency);
  const std::int64_t size = bytes + header;
  if (size > 0)
    p.transfer = Elapsed::of_seconds(static_cast<double>(size) /
                                     std::min(path.capacity, rate_cap(bytes, path.capacity)));
  return p;
}

}  // namespace weft::replay
