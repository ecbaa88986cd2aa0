// The requests of one rank: which operation a request id of the file stands for.
//
// libdumpi numbers requests and gives a number out again once its request is complete; some MPI libraries give several
// requests the same handle, and so the same number: then the oldest is meant, and `shared()` counts. A slot is the
// smallest free one. Memory: the requests that are outstanding.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <queue>
#include <unordered_map>
#include <vector>

#include "traces/op.hpp"

namespace weft::traces::dumpi {

inline constexpr std::int64_t kNullRequest = 1;  // 0: none

struct Request {
  std::uint32_t slot = kNoRequest;  // kNoRequest: no operation stands for it
  // Of what posted it, among the rank's calls that make requests and its starts of persistent receives.
  std::uint64_t ordinal = 0;
  Op op;  // what it does; communicator and peer as in the file
  bool receive = false;
  bool persistent = false;
  bool active = false;
  bool cancelled = false;     // MPI_Cancel was called since it was posted or started
  bool withdrawn = false;     // active by a start that is left out, because a cancel took effect
  std::uint64_t claimed = 0;  // the call that asked for it last

  // Whether an operation stands for what it does now, so that its completion is one, too.
  [[nodiscard]] bool has_operation() const { return slot != kNoRequest && !withdrawn; }
};

class Requests {
 public:
  // A new request under `id`; its slot is set if it has an operation.
  Request& add(std::int64_t id, Request r, bool has_operation) {
    if (has_operation) r.slot = take_slot();
    ++outstanding_;
    auto& queue = by_id_[id];
    if (!queue.empty()) ++shared_;
    queue.push_back(r);
    return queue.back();
  }
  // The n-th oldest under `id`; null if there are fewer.
  [[nodiscard]] Request* find(std::int64_t id, std::size_t n = 0) {
    const auto it = by_id_.find(id);
    return it == by_id_.end() || n >= it->second.size() ? nullptr : &it->second[n];
  }
  // Takes the request of this slot (or the oldest without) under `id`.
  void remove(std::int64_t id, std::uint32_t slot) {
    const auto it = by_id_.find(id);
    if (it == by_id_.end()) return;
    auto& queue = it->second;
    const auto at = std::ranges::find(queue, slot, &Request::slot);
    if (at == queue.end()) return;
    if (slot != kNoRequest) free_.push(slot);
    --outstanding_;
    queue.erase(at);
    if (queue.empty()) by_id_.erase(it);
  }
  [[nodiscard]] std::uint64_t outstanding() const { return outstanding_; }
  [[nodiscard]] std::uint64_t shared() const { return shared_; }
  // Calls f(request) for each, in no order.
  template <class F>
  void for_each(F&& f) const {
    for (const auto& [id, queue] : by_id_)
      for (const Request& r : queue) f(r);
  }

 private:
  std::uint32_t take_slot() {
    if (free_.empty()) return next_slot_++;
    const std::uint32_t slot = free_.top();
    free_.pop();
    return slot;
  }
  std::unordered_map<std::int64_t, std::vector<Request>>
      by_id_;  // never walked into a result without sorting
  std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> free_;
  std::uint32_t next_slot_ = 0;
  std::uint64_t outstanding_ = 0, shared_ = 0;
};

}  // namespace weft::traces::dumpi
