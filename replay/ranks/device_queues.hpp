// DeviceQueues: the accelerators of the ranks, one each: what a rank launches there runs in the order of the launches,
// one kernel after the other, while the rank goes on. Copies run beside the kernels, one copy after the other.
//
// A launch takes no time of the rank. A kernel begins when it is launched or when the one before it ends, whichever is
// later, and its request completes at its end; only waits for that see the accelerator (docs/model.md, "Accelerators").
// Complexity: O(1) a launch; no allocation but while a queue grows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <vector>

#include "replay/agenda.hpp"
#include "replay/engine.hpp"
#include "replay/messages/message.hpp"
#include "replay/ranks/waits.hpp"
#include "replay/time.hpp"
#include "traces/kernel.hpp"
#include "traces/op.hpp"

namespace weft::replay {

class DeviceQueues {
 public:
  // All outlive it. `ranks`: how many there are.
  DeviceQueues(std::size_t ranks, const ReplayOptions& options, Waits& waits, Hindsight& hindsight,
               Agenda& agenda)
      : ranks_(ranks), options_(options), waits_(waits), hindsight_(hindsight), agenda_(agenda) {}

  // A kernel of rank r that takes `d`, launched by operation `op`, for request `slot`, which was begun, or for traces::kNoRequest.
  void launch(std::uint32_t r, std::uint64_t op, traces::Kernel kernel, std::uint32_t slot, Elapsed d) {
    if (queues_.empty()) queues_.resize(2 * ranks_);
    const std::uint32_t index = 2 * r + (traces::is_device_copy(kernel) ? 1 : 0);
    Queue& q = queues_[index];
    if (q.free.past_the_end()) return;  // the event of that instant ends the replay
    if (q.free <= agenda_.now()) hindsight_.launched(r, q.since);
    const Instant begin = std::max(q.free, agenda_.now());
    q.free = begin + d;
    q.busy += d;
    if (options_.on_device) [[unlikely]]
      options_.on_device(
          {RankId(r), op, kernel,
           traces::is_device_copy(kernel) ? DeviceSeen::Lane::kCopies : DeviceSeen::Lane::kKernels,
           begin.rounded(), q.free.rounded()});
    if (slot == traces::kNoRequest && !q.free.past_the_end()) return;
    q.slots.push_back(slot);
    // Posted in order of their ends: the first event of a rank is that of its first kernel.
    agenda_.post(q.free, EventKind::kLaunchEnd, index);
  }
  // The first kernel of queue `index` with a request that was not told of yet is over.
  void ended(std::uint32_t index) {
    Queue& q = queues_[index];
    const std::uint32_t slot = q.slots.front();
    q.slots.pop_front();
    waits_.kernel_over(index / 2, Target{slot}, q.since);
  }
  // Rank r has waited since `begun` for something that it launched, and launched nothing meanwhile.
  void waited(std::uint32_t r, Instant begun) {
    if (queues_.empty()) return;
    Queue& q = queues_[std::size_t{2} * r];
    // What was to be done then was done without a break.
    const Instant until = std::min(q.free, agenda_.now());
    if (until > begun) q.awaited += until - begun;
  }
  // How long the accelerator of rank r has worked, what it was given last included, copies not.
  [[nodiscard]] Elapsed busy(std::uint32_t r) const {
    return queues_.empty() ? kNoTime : queues_[std::size_t{2} * r].busy;
  }
  // Of that, how long the rank did something else than to wait for its accelerator, or was over.
  [[nodiscard]] Elapsed hidden(std::uint32_t r) const {
    return queues_.empty() ? kNoTime : busy(r) - queues_[std::size_t{2} * r].awaited;
  }

 private:
  struct Queue {
    Instant free;  // when all of it is done
    Elapsed busy;
    Elapsed awaited;                  // of `busy`, while the rank waited for its accelerator; of kernels
    std::deque<std::uint32_t> slots;  // requests of what is not done, in order
    std::uint32_t since =
        kNone;  // where the rank's critical path stood when it last found the accelerator idle
  };
  std::size_t ranks_;
  const ReplayOptions& options_;
  Waits& waits_;
  Hindsight& hindsight_;
  Agenda& agenda_;
  std::vector<Queue> queues_;  // by rank, kernels then copies; empty until somebody launches
};

}  // namespace weft::replay
