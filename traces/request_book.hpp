// What each request slot of one rank stands for, followed through the program: posted, started, completed,
// freed. Used by the exporters and the trace doctor. O(1) an operation; memory = the slots in use.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "traces/op.hpp"

namespace weft::traces {

// Such a request stays until it is freed, whether or not it is started.
[[nodiscard]] constexpr bool makes_persistent_request(OpKind k) {
  return is_send_init(k) || k == OpKind::recv_init;
}

// The operation that the start of a *_init posts.
[[nodiscard]] constexpr OpKind started_form(OpKind init) {
  switch (init) {
    case OpKind::ssend_init:
      return OpKind::issend;
    case OpKind::bsend_init:
      return OpKind::ibsend;
    case OpKind::rsend_init:
      return OpKind::irsend;
    case OpKind::recv_init:
      return OpKind::irecv;
    default:
      return OpKind::isend;
  }
}

class RequestBook {
 public:
  struct Entry {
    Op op;  // the operation that made the request; peer, tag, amount, comm are its arguments
    std::uint64_t index = 0;  // of that operation in the rank's program
    bool used = false;        // the slot holds a request
    bool active = false;      // posted or started and not completed
    bool persistent = false;
  };

  // Null if the slot was never used.
  [[nodiscard]] Entry* find(std::uint32_t slot) {
    Entry* e = nullptr;
    if (slot < near_.size()) {
      e = &near_[slot];
    } else if (const auto it = far_.find(slot); it != far_.end()) {
      e = &it->second;
    }
    return e != nullptr && e->used ? e : nullptr;
  }
  // Precondition: op.request is a slot.
  void post(const Op& op, std::uint64_t index) {
    if (op.request >= near_.size() && op.request < kNear) near_.resize(op.request + 1);
    Entry& e = op.request < kNear ? near_[op.request] : far_[op.request];
    const bool persistent = makes_persistent_request(op.kind);
    e = {op, index, true, !persistent, persistent};
  }
  void start(std::uint32_t slot) {
    if (Entry* e = find(slot)) e->active = true;
  }
  // A persistent request becomes inactive, any other is gone (its entry stays readable until the slot is
  // reused).
  void complete(std::uint32_t slot) {
    if (Entry* e = find(slot)) {
      e->active = false;
      e->used = e->persistent;
    }
  }
  void free(std::uint32_t slot) {
    if (Entry* e = find(slot)) e->used = e->active = false;
  }
  // Calls f(slot, entry) for every slot in use, in order of slots.
  template <class F>
  void for_each(F&& f) const {
    for (std::size_t i = 0; i < near_.size(); ++i)
      if (near_[i].used) f(static_cast<std::uint32_t>(i), near_[i]);
    for (const auto& [slot, e] : far_)
      if (e.used) f(slot, e);
  }

 private:
  // Writers choose small slots; a large one must not cost an array up to it.
  static constexpr std::uint32_t kNear = 4096;
  std::vector<Entry> near_;
  std::map<std::uint32_t, Entry> far_;
};

// True for operations that make a request: isend ..., *_init, non-blocking collectives, launches that are waited for.
[[nodiscard]] constexpr bool makes_request(OpKind k) {
  return (k >= OpKind::isend && k <= OpKind::recv_init) || is_nonblocking_collective(k) ||
         k == OpKind::launch;
}
[[nodiscard]] constexpr bool is_completion(OpKind k) { return k >= OpKind::wait && k <= OpKind::testsome; }
// One that said yes. It is local: it may say no.
[[nodiscard]] constexpr bool is_test(OpKind k) { return k >= OpKind::test && k <= OpKind::testsome; }
// Of any or some of several: the list is {n, n that were asked for..., those that completed...}.
[[nodiscard]] constexpr bool completes_some(OpKind k) {
  return k == OpKind::waitany || k == OpKind::waitsome || k == OpKind::testany || k == OpKind::testsome;
}
[[nodiscard]] constexpr bool is_receive_request(OpKind k) {
  return k == OpKind::irecv || k == OpKind::recv_init;
}
[[nodiscard]] constexpr bool is_send_request(OpKind k) {
  return is_nonblocking_send(k) || (k >= OpKind::send_init && k <= OpKind::rsend_init);
}

// The requests in the list of an operation, all that it names there: asked for, completed, or started.
[[nodiscard]] inline std::span<const std::int64_t> listed_requests(const Op& op,
                                                                   std::span<const std::int64_t> list) {
  if (op.kind == OpKind::waitall || op.kind == OpKind::testall || op.kind == OpKind::startall) return list;
  return completes_some(op.kind) && !list.empty() ? list.subspan(1) : std::span<const std::int64_t>();
}

// The requests that a completion operation finishes: of those that wait for any or some, the ones that completed in the recording. `list`:
// that of `op`; `one` is storage for the single-request forms.
[[nodiscard]] inline std::span<const std::int64_t> completed_requests(const Op& op,
                                                                      std::span<const std::int64_t> list,
                                                                      std::int64_t& one) {
  switch (op.kind) {
    case OpKind::wait:
    case OpKind::test:
      if (op.request == kNoRequest) return {};
      one = op.request;
      return {&one, 1};
    case OpKind::waitall:
    case OpKind::testall:
      return list;
    default:
      return list.empty() ? list : list.subspan(static_cast<std::size_t>(list[0]) + 1);
  }
}

// Whether the own list of a receive, or of its start, says what it took: then no cancel came in time.
[[nodiscard]] constexpr bool says_what_it_took(std::span<const std::int64_t> list) {
  return list.size() == 3 && list[0] >= 0;
}

// Whether a cancelled receive that `completion` completes was withdrawn: it says no match. One whose cancel came too late is
// an ordinary receive. Of several requests at once nothing is said, and recorder and importers leave withdrawn receives out:
// an ordinary one, too.
[[nodiscard]] constexpr bool completes_withdrawn(const Op& completion) {
  return (completion.kind == OpKind::wait || completion.kind == OpKind::test) &&
         completion.peer == kAnySource;
}

}  // namespace weft::traces
