#include "traces/conditional_steps.hpp"

#include <algorithm>

namespace weft::traces {

// Whether a message to or from `peer` cannot overtake what that rank waits for, where the body runs earlier.
bool ConditionalSteps::may_go_first(std::int64_t peer) {
  if (body_.free.contains(peer)) return true;
  if (meetings_.since(body_.since, body_.comm, peer)) return false;
  body_.free.insert(peer);
  return true;
}

// Whether the end of message `op` may be waited for where the body runs earlier.
bool ConditionalSteps::may_block(const Op& op) const {
  if (body_.alone || body_.first) return true;
  return op.kind != OpKind::sendrecv && is_send(op.kind) && op.tag == body_.tag && op.amount == body_.bytes;
}

// Whether the body goes on with `op`.
bool ConditionalSteps::in_body(const Op& op, std::span<const std::int64_t> list) {
  const bool message = is_send(op.kind) || is_receive(op.kind);
  if (message && op.request != kNoRequest && !body_.own.contains(op.request) &&
      slots_.since(body_.since, op.request))
    return false;
  const bool may_wait = message && may_block(op);
  if (body_.first) {
    const bool takes = is_receive(op.kind) && op.comm == body_.comm &&
                       (op.peer == body_.source || op.peer == kAnySource) &&
                       (op.tag == body_.tag || op.tag == kAnyTag);
    if (!takes) return false;
    body_.first = false;
  } else if (message && (op.comm != body_.comm || !may_go_first(op.peer))) {
    return false;
  }
  const auto ours = [this](std::int64_t slot) {
    return body_.own.contains(static_cast<std::uint32_t>(slot));
  };
  if (message) {
    if (op.request == kNoRequest) return may_wait;
    if (may_wait) body_.own.insert(op.request);
    return true;
  }
  if (op.kind == OpKind::wait || op.kind == OpKind::test) return ours(op.request);
  if (op.kind == OpKind::waitall || op.kind == OpKind::testall) return std::ranges::all_of(list, ours);
  return false;
}

void ConditionalSteps::close_body() {
  if (body_.open) sink_.body(body_.name, body_.end - body_.hit);
  body_.open = false;
}

void ConditionalSteps::add(std::uint64_t index, std::uint64_t name, const Op& op,
                           std::span<const std::int64_t> list) {
  if (body_.open) {
    if (op.kind == OpKind::compute_time) {
      if (op.amount > kBodyComputePs) close_body();
    } else if (in_body(op, list)) {
      if (op.kind != OpKind::sendrecv) body_.end = index;  // its receive half comes with it or neither does
    } else {
      close_body();
    }
  }
  if (op.kind == OpKind::iprobe || op.kind == OpKind::improbe) {
    const OpenRuns::Poll key{op.comm, op.peer, op.tag, op.kind};
    if ((op.flags & kHit) == 0) {
      if (runs_.empty()) meetings_.forget();
      runs_.miss(key, {index, name});
      return;
    }
    // The sink may move lists.
    body_ = {};
    body_.open = true;
    body_.name = name;
    body_.hit = body_.end = index;
    body_.comm = op.comm;
    body_.source = list[2];
    body_.tag = list[3];
    body_.bytes = list[4];
    const std::vector<OpenRuns::Miss> misses = runs_.take(key);
    body_.since = misses.empty() ? index : misses.front().index;
    body_.alone = !meetings_.since(body_.since);
    for (const std::int64_t who : {body_.source, std::int64_t{kAnySource}})
      if (!meetings_.since(body_.since, body_.comm, who)) body_.free.insert(who);
    for (const OpenRuns::Miss& m : misses) sink_.miss(m.name, index - m.index);
  } else if (runs_.empty()) {
    return;
  } else {
    meetings_.add(index, op, list);
    slots_.add(index, op, list);
    if (is_receive(op.kind)) runs_.end_by_receive(op);
    if (op.kind == OpKind::comm_free) runs_.end_by_communicator(op.comm);
  }
}

}  // namespace weft::traces
