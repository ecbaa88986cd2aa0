// The requests of one rank: which operation a request id of the file stands for.
//
// libdumpi numbers requests and gives a number out again once its request is complete; some MPI libraries give several
// requests the same handle, and so the same number: then the oldest is meant, of one call the oldest that it has not claimed,
// and `shared()` counts. A slot is the smallest free one. Memory: the requests that are outstanding. O(1) a request and a
// claim, but O(log n) for its slot.
#pragma once

#include <cstdint>
#include <list>
#include <optional>
#include <unordered_map>
#include <vector>

#include "traces/formats/request_slots.hpp"
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
  bool cancelled = false;  // MPI_Cancel was called since it was posted or started
  bool withdrawn = false;  // active by a start that is left out, because a cancel took effect

  // Whether an operation stands for what it does now, so that its completion is one, too.
  [[nodiscard]] bool has_operation() const { return slot != kNoRequest && !withdrawn; }
};

class Requests {
 public:
  using Handle = std::list<Request>::iterator;  // stays valid until its request is removed

  // A new request under `id`; its slot is set if it has an operation.
  Request& add(std::int64_t id, Request r, bool has_operation) {
    if (has_operation) r.slot = slots_.take();
    ++outstanding_;
    Numbered& those = by_id_[id];
    if (!those.requests.empty()) ++shared_;
    those.requests.push_back(r);
    return those.requests.back();
  }
  // The oldest under `id`; null if there is none.
  [[nodiscard]] Request* find(std::int64_t id) {
    const auto it = by_id_.find(id);
    return it == by_id_.end() ? nullptr : &it->second.requests.front();
  }
  // The oldest under `id` that completion call `call` has not claimed, which it does now; none if there is none. A call
  // removes nothing before it has claimed all that it asks for.
  [[nodiscard]] std::optional<Handle> claim(std::int64_t id, std::uint64_t call) {
    const auto it = by_id_.find(id);
    if (it == by_id_.end()) return std::nullopt;
    Numbered& those = it->second;
    if (those.call != call) {
      those.call = call;
      those.unclaimed = those.requests.begin();
    }
    if (those.unclaimed == those.requests.end()) return std::nullopt;
    return those.unclaimed++;
  }
  // `r` is one under `id`.
  void remove(std::int64_t id, Handle r) {
    const auto it = by_id_.find(id);
    if (r->slot != kNoRequest) slots_.give(r->slot);
    --outstanding_;
    it->second.requests.erase(r);
    if (it->second.requests.empty()) by_id_.erase(it);
  }
  void remove_oldest(std::int64_t id) {
    if (const auto it = by_id_.find(id); it != by_id_.end()) remove(id, it->second.requests.begin());
  }
  [[nodiscard]] std::uint64_t outstanding() const { return outstanding_; }
  [[nodiscard]] std::uint64_t shared() const { return shared_; }
  // Calls f(request) for each, in no order.
  template <class F>
  void for_each(F&& f) const {
    for (const auto& [id, those] : by_id_)
      for (const Request& r : those.requests) f(r);
  }

 private:
  struct Numbered {
    std::list<Request> requests;  // the oldest first
    std::uint64_t call = 0;       // that claimed last; `unclaimed` means nothing to others
    Handle unclaimed;
  };
  std::unordered_map<std::int64_t, Numbered> by_id_;  // never walked into a result without sorting
  RequestSlots slots_;
  std::uint64_t outstanding_ = 0, shared_ = 0;
};

}  // namespace weft::traces::dumpi
