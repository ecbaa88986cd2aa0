#include "traces/conditional_steps.hpp"

#include <algorithm>

namespace weft::traces {
namespace {

bool is_receive(OpKind k) { return k == OpKind::recv || k == OpKind::irecv; }

}  // namespace

bool ConditionalSteps::could_take(const Op& recv, const Poll& poll) {
  return recv.comm == poll.comm &&
         (recv.peer == poll.peer || recv.peer == kAnySource || poll.peer == kAnySource) &&
         (recv.tag == poll.tag || recv.tag == kAnyTag || poll.tag == kAnyTag);
}

// Whether the body goes on with `op`.
bool ConditionalSteps::in_body(const Op& op, std::span<const std::int64_t> list) {
  if (body_.first) {
    const bool takes = is_receive(op.kind) && op.comm == body_.comm &&
                       (op.peer == body_.source || op.peer == kAnySource) &&
                       (op.tag == body_.tag || op.tag == kAnyTag);
    if (!takes) return false;
    body_.first = false;
  }
  const auto ours = [this](std::int64_t slot) {
    return std::ranges::find(body_.own, slot) != body_.own.end();
  };
  if (is_send(op.kind) || is_receive(op.kind)) {
    if (op.comm != body_.comm) return false;
    if (op.request != kNoRequest) body_.own.push_back(op.request);
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
      body_.end = index;
    } else {
      close_body();
    }
  }
  if (op.kind == OpKind::iprobe || op.kind == OpKind::improbe) {
    const Poll key{op.kind, op.comm, op.peer, op.tag};
    if ((op.flags & kHit) == 0) {
      runs_[key].push_back({index, name});
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
    if (const auto it = runs_.find(key); it != runs_.end()) {
      for (const Miss& m : it->second) sink_.miss(m.name, index - m.index);
      runs_.erase(it);
    }
  } else if (runs_.empty()) {
    return;
  } else if (is_receive(op.kind)) {
    std::erase_if(runs_, [&op](const auto& run) { return could_take(op, run.first); });
  } else if (op.kind == OpKind::comm_free) {
    std::erase_if(runs_, [&op](const auto& run) { return run.first.comm == op.comm; });
  }
}

}  // namespace weft::traces
