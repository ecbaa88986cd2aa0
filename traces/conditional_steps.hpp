// Which polls of a rank belong to which hit, and how many operations belong to a hit: OpFlags::kHit, made from a
// program that has its polls as plain operations. One rule for every reader that sees polls.
//
// A run = polls of one rank with the same communicator, source and tag, up to the one that hits; a receive that could
// have taken the message, or the communicator's end, closes a run without a hit. The body of a hit = the receive of
// what was found, directly followed by point-to-point operations on the same communicator, with nothing between but
// computation of kBodyComputePs at most; completions only of requests started in the body. Where the body runs at an earlier
// poll it overtakes what the rank did since. So it ends before a message to or from a rank that the rank had to do with on
// that communicator after the run's first miss: that rank may wait for what is overtaken. And before a request in a slot that
// an operation named after that miss: what is overtaken may still use it. Through others any rank may wait for what is
// overtaken, so after the rank had to do with anybody, on whatever communicator, the body ends before what may block: a
// receive, a blocking send, a wait for either. But for the message found, which is there, and its forward, a send of the
// same tag and bytes: a program that forwards does so where it finds, early or late.
//
// Memory: the polls of the runs that are open, and the ranks met on a communicator and the slots named meanwhile.
// O(log (runs + ranks)) an operation, and O(1) a request that it names.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "traces/op.hpp"
#include "traces/request_book.hpp"

namespace weft::traces {

// Longest computation between two operations of a body.
inline constexpr std::int64_t kBodyComputePs = 50'000'000;

// Runs of polls that no hit has ended yet: who polls for what, and where it missed.
//
// A run ends unseen when a receive takes what it could have found, or its communicator is freed. Both are ranges of an
// order by (communicator, peer, tag) or by (communicator, tag, peer), so ending runs costs O(log runs) an operation and
// one that ends, however many are open.
class OpenRuns {
 public:
  struct Poll {
    CommId comm;
    std::int32_t peer;
    std::int32_t tag;
    OpKind kind;
    friend auto operator<=>(const Poll&, const Poll&) = default;
  };
  struct Miss {
    std::uint64_t index, name;
  };
  void miss(const Poll& key, Miss miss) {
    const auto [at, fresh] = misses_.try_emplace(key);
    at->second.push_back(miss);
    if (fresh) by_tag_.insert(turned(key));
  }
  // The misses of that poll, which has hit.
  [[nodiscard]] std::vector<Miss> take(const Poll& key) {
    const auto at = misses_.find(key);
    if (at == misses_.end()) return {};
    std::vector<Miss> misses = std::move(at->second);
    by_tag_.erase(turned(key));
    misses_.erase(at);
    return misses;
  }
  // A receive takes what these could have found: what it names itself, or what either side leaves open.
  void end_by_receive(const Op& recv) {
    const bool any_source = recv.peer == kAnySource, any_tag = recv.tag == kAnyTag;
    if (any_source && any_tag) return end_by_communicator(recv.comm);
    if (any_source) {
      for (const std::int32_t tag : {recv.tag, kAnyTag})
        end_range(by_tag_, Poll{recv.comm, tag, kLeast, kFirst}, Poll{recv.comm, tag, kGreatest, kLast},
                  [this](const Poll& key) { misses_.erase(turned(key)); });
      return;
    }
    for (const std::int32_t peer : {recv.peer, kAnySource}) {
      if (any_tag) {
        end_range(peer, kLeast, kGreatest, recv.comm);
      } else {
        end_range(peer, recv.tag, recv.tag, recv.comm);
        end_range(peer, kAnyTag, kAnyTag, recv.comm);
      }
    }
  }
  void end_by_communicator(CommId comm) {
    end_misses(Poll{comm, kLeast, kLeast, kFirst}, Poll{comm, kGreatest, kGreatest, kLast});
  }

  [[nodiscard]] bool empty() const { return misses_.empty(); }

 private:
  static constexpr std::int32_t kLeast = INT32_MIN, kGreatest = INT32_MAX;
  static constexpr auto kFirst = static_cast<OpKind>(0), kLast = static_cast<OpKind>(UINT8_MAX);
  // The same by (communicator, tag, peer).
  [[nodiscard]] static Poll turned(const Poll& k) { return {k.comm, k.tag, k.peer, k.kind}; }

  template <class Set, class Other>
  static void end_range(Set& set, const Poll& first, const Poll& last, Other other) {
    auto at = set.lower_bound(first);
    while (at != set.end() && key_of(*at) <= last) {
      other(key_of(*at));
      at = set.erase(at);
    }
  }
  void end_misses(const Poll& first, const Poll& last) {
    end_range(misses_, first, last, [this](const Poll& key) { by_tag_.erase(turned(key)); });
  }
  void end_range(std::int32_t peer, std::int32_t first_tag, std::int32_t last_tag, CommId comm) {
    end_misses(Poll{comm, peer, first_tag, kFirst}, Poll{comm, peer, last_tag, kLast});
  }
  static const Poll& key_of(const Poll& k) { return k; }
  static const Poll& key_of(const std::pair<const Poll, std::vector<Miss>>& e) { return e.first; }

  std::map<Poll, std::vector<Miss>> misses_;
  std::set<Poll> by_tag_;  // the same keys, turned
};

// Whom a rank had to do with on its communicators, and when last.
class Meetings {
 public:
  // Operation `index`. `list`: of a receive from any source, what it took if that is known.
  void add(std::uint64_t index, const Op& op, std::span<const std::int64_t> list) {
    if (is_send(op.kind) || is_receive(op.kind)) {
      if (op.peer == kProcNull) return;
      anybody_ = index;
      last_[{op.comm, kAnySource}] = index;
      last_[{op.comm, op.peer == kAnySource && list.size() == 3 ? list[0] : op.peer}] = index;
    } else if (is_collective(op.kind) || is_comm_create(op.kind)) {
      anybody_ = index;
      last_[{op.comm, kAnySource}] = last_[{op.comm, kAll}] = index;
    } else if (op.kind == OpKind::start || op.kind == OpKind::startall) {
      anybody_ = started_ = index;  // with a rank that another operation named
    }
  }
  // Whether it met `peer` (any source: anybody) after operation `index`.
  [[nodiscard]] bool since(std::uint64_t index, CommId comm, std::int64_t peer) const {
    const auto later = [&](std::int64_t who) {
      const auto at = last_.find({comm, who});
      return at != last_.end() && at->second > index;
    };
    return started_ > index || later(peer) || later(kAll);
  }
  // Whether it met anybody, on any communicator.
  [[nodiscard]] bool since(std::uint64_t index) const { return anybody_ > index; }
  void forget() { last_.clear(); }

 private:
  static constexpr std::int64_t kAll = INT64_MIN;
  std::map<std::pair<CommId, std::int64_t>, std::uint64_t> last_;  // by communicator and rank
  std::uint64_t started_ = 0, anybody_ = 0;
};

// When a rank's operations last named its request slots.
class SlotUses {
 public:
  void add(std::uint64_t index, const Op& op, std::span<const std::int64_t> list) {
    if (op.request != kNoRequest) last_[op.request] = index;
    for (const std::int64_t slot : listed_requests(op, list)) last_[static_cast<std::uint32_t>(slot)] = index;
  }
  // Whether one named `slot` after operation `index`.
  [[nodiscard]] bool since(std::uint64_t index, std::uint32_t slot) const {
    const auto at = last_.find(slot);
    return at != last_.end() && at->second > index;
  }
  void forget() { last_.clear(); }

 private:
  std::unordered_map<std::uint32_t, std::uint64_t> last_;  // looked up only, never walked
};

class ConditionalSteps {
 public:
  struct Sink {
    std::function<void(std::uint64_t name, std::uint64_t distance)> miss;  // of a run that hit
    std::function<void(std::uint64_t name, std::uint64_t length)> body;    // of a hit
  };
  explicit ConditionalSteps(Sink sink) : sink_(std::move(sink)) {}

  // Operation `index` of the rank; all of them, in order. Of a hit the list is {0, any, source, tag, bytes}. Communicators
  // and ranks may be those of the program or those of the trace, as long as all are the same. `name`: of a poll, what the
  // sink is to call it.
  void add(std::uint64_t index, std::uint64_t name, const Op& op, std::span<const std::int64_t> list);
  // After the last one.
  void finish() { close_body(); }

 private:
  struct Body {
    bool open = false;
    bool first = true;  // the receive is still to come
    std::uint64_t name = 0, hit = 0, end = 0;
    CommId comm{0};
    std::int64_t source = 0, tag = 0, bytes = 0;
    std::uint64_t since = 0;      // the run's first poll
    bool alone = false;           // nobody was met since, when the body began
    std::set<std::int64_t> free;  // ranks not met since, on its communicator
    std::set<std::uint32_t> own;  // requests started in it that may be waited for there
  };
  [[nodiscard]] bool may_block(const Op& op) const;
  [[nodiscard]] bool may_go_first(std::int64_t peer);
  [[nodiscard]] bool in_body(const Op& op, std::span<const std::int64_t> list);
  void close_body();

  Sink sink_;
  OpenRuns runs_;
  Meetings meetings_;  // while runs are open
  SlotUses slots_;     // likewise
  Body body_;
};

}  // namespace weft::traces
