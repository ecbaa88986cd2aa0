#include "replay/ranks/device_copies.hpp"

#include <algorithm>
#include <utility>

#include "replay/messages/flow_terms.hpp"

namespace weft::replay {

void DeviceCopies::begin(std::uint32_t r, const LinkCopy& copy, Target target) {
  hindsight_.launched(r, queues_[r].own_since);
  set_out(r, 0, copy, target, false);
}

void DeviceCopies::launch(std::uint32_t r, std::uint64_t op, const LinkCopy& copy, Target target) {
  Queue& q = queues_[r];
  if (q.busy) return q.waiting.push_back({op, copy, target});
  q.busy = true;
  hindsight_.launched(r, q.since);
  set_out(r, op, copy, target, true);
}

void DeviceCopies::set_out(std::uint32_t r, std::uint64_t op, const LinkCopy& copy, Target target,
                           bool queued) {
  const std::uint32_t i = copies_.take();
  copies_[i] = {.rank = r,
                .flows = copy.both_ways ? 2u : 1u,
                .queued = queued,
                .to_device = copy.to_device,
                .cap = copy.cap,
                .before = copy.before,
                .target = target,
                .begun = agenda_.now(),
                .op = op};
  const auto [device, memory] = ends_[r];
  const bool in = copy.to_device;
  one_way(i, in ? memory : device, in ? device : memory, copy);
  if (copy.both_ways && !agenda_.failed()) one_way(i, in ? device : memory, in ? memory : device, copy);
}

void DeviceCopies::one_way(std::uint32_t copy, HostId from, HostId to, const LinkCopy& what) {
  Elapsed latency;
  if (what.cap > 0) {
    const auto route = router_.between(from, to);
    if (!route.reachable)
      return agenda_.fail(bad_input({}, "no route for a copy", {}, "links between accelerator and memory"));
    latency = Elapsed(route.latency);
  }
  const std::uint32_t i = messages_.take();
  Message& m = messages_[i];
  m = Message{};
  m.src = m.dst = copies_[copy].rank;
  m.context = kContext;
  m.bytes = what.bytes;
  m.all_next = copy;
  m.posted = agenda_.now();
  m.tag = from == ends_[m.src].memory ? 1 : 0;  // to the accelerator
  agenda_.post_in(what.before + latency, EventKind::kCopyStart, i);
}

void DeviceCopies::start_flow(std::uint32_t i) {
  Message& m = messages_[i];
  m.flow_start = agenda_.now();
  if (m.bytes == 0) return arrive(i);
  starts_.add(i);
}

void DeviceCopies::enter_network(std::uint32_t i) {
  Message& m = messages_[i];
  const auto [from, to] = way(m);
  const auto route = router_.between(from, to);
  const double cap = copies_[m.all_next].cap;
  const double alone = std::min(route.narrowest, cap);
  m.ideal = Elapsed::of_seconds(static_cast<double>(m.bytes) / alone);
  m.state = cap < route.narrowest ? kOwnPace : 0;
  m.flow = network_.start(route.links, share_weight(route, options_.rtt_weights), route.limit(cap), alone,
                          m.bytes, i, agenda_.now(), agenda_.sequence(), {m.src, m.src});
}

void DeviceCopies::arrive(std::uint32_t i) {
  const Message m = messages_[i];
  messages_[i].context = 0;
  messages_.give(i);
  if (options_.on_copy && m.bytes > 0) {
    const auto [from, to] = way(m);
    options_.on_copy({RankId(m.src), from, to, m.bytes, m.flow_start.rounded(), agenda_.now().rounded()});
  }
  Copy& copy = copies_[m.all_next];
  if (--copy.flows > 0) return;
  const Copy over = copy;
  copies_.give(m.all_next);
  Queue& q = queues_[over.rank];
  std::uint32_t& since = over.queued ? q.since : q.own_since;
  hindsight_.copied(
      over.rank, since,
      {static_cast<std::uint64_t>(m.bytes), over.before, (m.flow_start - m.posted) - over.before, m.ideal,
       m.state == kOwnPace, m.flow.valid() ? network_.last_held_by() : LinkId()});
  waits_.kernel_over(over.rank, over.target, since);
  if (!over.queued) return;
  if (options_.on_device)
    options_.on_device({RankId(over.rank), over.op,
                        over.to_device ? traces::Kernel::copy_to_device : traces::Kernel::copy_to_host,
                        DeviceSeen::Lane::kLinkCopies, over.begun.rounded(), agenda_.now().rounded()});
  q.busy = !q.waiting.empty();
  if (!q.busy) return;
  const Waiting next = q.waiting.front();
  q.waiting.pop_front();
  set_out(over.rank, next.op, next.copy, next.target, true);
}

}  // namespace weft::replay
