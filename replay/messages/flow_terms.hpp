// What the network is told of the flow of a message: bytes, how fast it may go, its share.
#pragma once

#include <algorithm>
#include <cstdint>

#include "replay/message_cost.hpp"
#include "replay/messages/message.hpp"
#include "replay/time.hpp"

namespace weft::replay {

struct FlowTerms {
  double limit = 0;   // bytes/s, infinity: as fast as the links allow
  double alone = 0;   // bytes/s, on an idle network
  double weight = 1;  // of its share of a link
  // That many bytes on an idle network.
  [[nodiscard]] Elapsed time_alone(std::int64_t bytes) const {
    return Elapsed::of_seconds(static_cast<double>(bytes) / alone);
  }
};

// Message m over a route of that latency whose narrowest link has `narrowest` bytes/s. `by_latency`: shares go by 1 / latency.
[[nodiscard]] inline FlowTerms flow_terms(const MessageCost& cost, const Message& m, double narrowest,
                                          Duration latency, bool by_latency) {
  FlowTerms t;
  t.limit = cost.rate_cap(m.bytes, narrowest, m.found());
  t.alone = std::min(narrowest, t.limit);
  if (by_latency && latency.count() > 0) t.weight = 1 / to_seconds(latency);
  return t;
}

}  // namespace weft::replay
