// DeviceCopies: copies between accelerators and the memory of their hosts as flows over the PCI Express tree, for
// platforms that say so (Kernel.place = "links"). They share its links with each other and with messages.
//
// A copy waits out `before` and the latency of its route, then its bytes are a flow; with both ways at once two flows. A
// rank waits for those that it makes itself. Launched ones run one after the other, beside these; those that the platform
// gives a time instead of links have their turn among them. A copy is a row of
// messages that nobody sends or receives: it comes back from the network by the number of that row.
// Complexity: O(1) a copy and step besides Network; no allocation but while queues grow.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "network/network.hpp"
#include "replay/agenda.hpp"
#include "replay/engine.hpp"
#include "replay/kernel_time.hpp"
#include "replay/messages/flow_starts.hpp"
#include "replay/messages/message.hpp"
#include "replay/messages/message_router.hpp"
#include "replay/ranks/waits.hpp"
#include "replay/why/hindsight.hpp"
#include "topology/pcie/copy_ends.hpp"

namespace weft::replay {

class DeviceCopies {
 public:
  using Ends = topology::CopyEnds;
  // All but `ends` outlive it; `ends` by rank, empty: no copy goes over links.
  DeviceCopies(std::vector<Ends> ends, const ReplayOptions& options, Pool<Message>& messages,
               MessageRouter& router, network::Network& network, FlowStarts& starts, Waits& waits,
               Hindsight& hindsight, Agenda& agenda)
      : ends_(std::move(ends)),
        queues_(ends_.size()),
        options_(options),
        messages_(messages),
        router_(router),
        network_(network),
        starts_(starts),
        waits_(waits),
        hindsight_(hindsight),
        agenda_(agenda) {}

  [[nodiscard]] bool any() const { return !ends_.empty(); }
  // A copy that rank r makes itself begins; `target` is told of its end, by an event even where it takes no time.
  void begin(std::uint32_t r, const LinkCopy& copy, Target target);
  // The same once the copies that rank r launched before are over; operation `op` launches it.
  void launch(std::uint32_t r, std::uint64_t op, const LinkCopy& copy, Target target);

  // ---- Events. Row i of messages is one of these.
  [[nodiscard]] bool has(std::uint32_t i) const { return messages_[i].context == kContext; }
  // Latency is paid.
  void start_flow(std::uint32_t i);
  // ... when all else of this instant has happened.
  void enter_network(std::uint32_t i);
  // All of its bytes have come.
  void arrive(std::uint32_t i);

 private:
  static constexpr std::uint32_t kContext = 0x7fffffffu;  // no communicator has it
  static constexpr std::uint8_t kOwnPace = 1;             // Message::state: slower than its links alone
  struct Copy {
    std::uint32_t rank = 0;
    std::uint32_t flows = 0;  // that are not over
    bool queued = false, to_device = false;
    double cap = 0;
    Elapsed before;
    Target target;
    Instant begun;
    std::uint64_t op = 0;  // of those that are launched
  };
  struct Waiting {
    std::uint64_t op;
    LinkCopy copy;
    Target target;
  };
  struct Queue {
    bool busy = false;
    std::deque<Waiting> waiting;
    // Where the rank's critical path stands at the end of the last copy of its queue, or where that was last found empty, and at the
    // copy that it makes itself.
    std::uint32_t since = kNone, own_since = kNone;
  };
  struct Way {
    HostId from, to;
  };
  // Of the bytes that are row m of messages.
  [[nodiscard]] Way way(const Message& m) const {
    const auto [device, memory] = ends_[m.src];
    return m.tag == 1 ? Way{memory, device} : Way{device, memory};
  }
  void set_out(std::uint32_t r, std::uint64_t op, const LinkCopy& copy, Target target, bool queued);
  void one_way(std::uint32_t copy, HostId from, HostId to, const LinkCopy& what);

  std::vector<Ends> ends_;
  std::vector<Queue> queues_;  // by rank
  const ReplayOptions& options_;
  Pool<Copy> copies_;
  Pool<Message>& messages_;
  MessageRouter& router_;
  network::Network& network_;
  FlowStarts& starts_;
  Waits& waits_;
  Hindsight& hindsight_;
  Agenda& agenda_;
};

}  // namespace weft::replay
