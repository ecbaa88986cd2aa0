// Which `wait source destination tag` lines complete the requests of a program.
//
// The text names no request: SimGrid completes the oldest one of that source, destination and tag that no line before
// did (v3.32, RequestStorage::pop in src/smpi/internals/smpi_replay.cpp). So where a program waits for a later one, lines
// for the older ones come first: the rank waits for these earlier than in the program, which is counted, but never goes on
// before what it waits for is there. No correct program gets stuck in that: messages of one key match in their order.
//
// A buffered send is complete at once, and nobody ever waits for a request that was freed. Their lines come at the end of
// the rank, which SimGrid ends with a wait for one request of each key only (smpi_replay_main()).
// O(1) an operation; memory: the requests under way, and for each key a run of sends that nobody waits for.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

namespace weft::traces::ti {

class WaitLines {
 public:
  struct Key {
    int source = 0, destination = 0, tag = 0;
    friend bool operator==(const Key&, const Key&) = default;
  };

  // A line that makes a request of this key was written. Without a slot: a send that nobody waits for.
  void post(const Key& key, bool send, std::uint32_t slot) {
    free(slot);
    queues_[key].push_back({++posted_, slot, 1, send});
    under_way_[slot] = {key, posted_, 0, send};
  }
  void post_for_nobody(const Key& key) {
    auto& queue = queues_[key];
    if (!queue.empty() && queue.back().slot == kNobody && queue.back().send)
      ++queue.back().count;
    else
      queue.push_back({++posted_, kNobody, 1, true});
  }
  // Whether a receive of this slot is under way.
  [[nodiscard]] bool receives(std::uint32_t slot) const {
    const auto at = under_way_.find(slot);
    return at != under_way_.end() && !at->second.send;
  }
  // Whether a request of this key is under way.
  [[nodiscard]] bool holds(const Key& key) const {
    const auto at = queues_.find(key);
    return at != queues_.end() && !at->second.empty();
  }

  // The program completes these slots: line(key) for each line to write. Slots without a request under way are passed over.
  template <class Line>
  void wait(std::span<const std::int64_t> slots, Line line) {
    ++call_;
    for (const std::int64_t slot : slots)
      if (const auto at = under_way_.find(static_cast<std::uint32_t>(slot)); at != under_way_.end())
        at->second.call = call_;
    for (const std::int64_t slot : slots)
      if (const auto at = under_way_.find(static_cast<std::uint32_t>(slot)); at != under_way_.end())
        up_to(Request(at->second), line);
  }
  // Nobody waits for this one any more.
  void free(std::uint32_t slot) {
    const auto at = under_way_.find(slot);
    if (at == under_way_.end()) return;
    auto& queue = queues_[at->second.key];
    std::ranges::lower_bound(queue, at->second.number, {}, &Entry::number)->slot = kNobody;
    under_way_.erase(at);
  }
  // The end of the rank: the sends that nobody waited for, in their order.
  template <class Line>
  void finish(Line line) {
    std::vector<std::pair<std::uint64_t, Key>> left;
    for (const auto& [key, queue] : queues_)
      for (const Entry& e : queue)
        if (e.slot == kNobody && e.send) left.emplace_back(e.number, key);
    std::ranges::sort(left, {}, &std::pair<std::uint64_t, Key>::first);
    ++call_;
    const std::uint64_t early = early_;
    for (const auto& [number, key] : left) {
      const auto& queue = queues_[key];
      // Behind a receive of this rank's own message that nobody waits for: that one may never end.
      const auto to = std::ranges::lower_bound(queue, number, {}, &Entry::number);
      if (std::all_of(queue.begin(), to, [](const Entry& e) { return e.send; }))
        up_to({key, number, call_, true}, line);
    }
    early_ = early;
  }

  // Requests that were waited for before the program does.
  [[nodiscard]] std::uint64_t early() const { return early_; }

 private:
  static constexpr std::uint32_t kNobody = 0xffffffffu;
  static constexpr std::size_t kKept = 256;  // keys whose queue stays when it is empty: most come again
  struct Entry {
    std::uint64_t number = 0;  // ascends in a queue
    std::uint32_t slot = kNobody;
    std::uint32_t count = 1;  // requests; 1 with a slot
    bool send = false;
  };
  struct Request {
    Key key;
    std::uint64_t number = 0;
    std::uint64_t call = 0;  // the last one that asked for it
    bool send = false;
  };
  struct Hash {
    std::size_t operator()(const Key& k) const noexcept {
      std::uint64_t h = static_cast<std::uint32_t>(k.source);
      h = (h ^ static_cast<std::uint64_t>(static_cast<std::uint32_t>(k.destination)) << 32) *
          0x9e3779b97f4a7c15ULL;
      h = (h ^ h >> 29 ^ static_cast<std::uint32_t>(k.tag)) * 0xbf58476d1ce4e5b9ULL;
      return h ^ h >> 32;
    }
  };

  template <class Line>
  void up_to(const Request& last, Line& line) {
    const auto at = queues_.find(last.key);
    auto& queue = at->second;
    for (bool more = true; more;) {
      const Entry e = queue.front();
      queue.pop_front();
      more = e.number != last.number;
      for (std::uint32_t i = 0; i < e.count; ++i) line(last.key);
      if (e.slot == kNobody) {
        early_ += more ? e.count : 0;
        continue;
      }
      const auto request = under_way_.find(e.slot);
      early_ += more && request->second.call != call_ ? 1 : 0;
      under_way_.erase(request);
    }
    if (queue.empty() && queues_.size() > kKept) queues_.erase(at);
  }

  std::unordered_map<Key, std::deque<Entry>, Hash> queues_;  // iterated into a sort only
  std::unordered_map<std::uint32_t, Request> under_way_;     // by slot; never iterated
  std::uint64_t posted_ = 0;
  std::uint64_t call_ = 0;
  std::uint64_t early_ = 0;
};

}  // namespace weft::traces::ti
