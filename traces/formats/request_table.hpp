// The outstanding requests of one rank, found by (source, destination, tag) in order of issue: how SimGrid's
// time-independent text and Dimemas' traces name the request that a wait completes.
//
// Up to kLinear requests a scan from the oldest is fastest; beyond, a hash map of queues keeps every
// operation O(1), so that no order of waits makes a large trace quadratic.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>
#include <vector>

#include "traces/formats/request_slots.hpp"

namespace weft::traces {

class RequestTable {
 public:
  struct Key {
    std::int32_t src = 0;
    std::int32_t dst = 0;
    std::int32_t tag = 0;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct Request {
    Key key;
    std::uint32_t slot = 0;
    std::int64_t bytes = 0;
    bool receive = false;
    std::uint64_t order = 0;
  };

  // Issues a request; returns its slot: the smallest free one.
  std::uint32_t add(const Key& key, bool receive, std::int64_t bytes) {
    const std::uint32_t slot = slots_.take();
    ++count_;
    Request r{key, slot, bytes, receive, order_++};
    if (count_ <= kLinear && queues_.empty()) {
      list_.push_back(r);
      return slot;
    }
    for (const Request& old : list_) queues_[old.key].push_back(old);
    list_.clear();
    queues_[key].push_back(r);
    return slot;
  }

  // Takes the oldest request with this key; its slot is free again.
  std::optional<Request> take(const Key& key) {
    if (queues_.empty()) {
      for (std::size_t i = 0; i < list_.size(); ++i) {
        if (!(list_[i].key == key)) continue;
        const Request r = list_[i];
        list_.erase(list_.begin() + static_cast<std::ptrdiff_t>(i));
        release(r.slot);
        return r;
      }
      return std::nullopt;
    }
    const auto it = queues_.find(key);
    if (it == queues_.end()) return std::nullopt;
    const Request r = it->second.front();
    it->second.pop_front();
    if (it->second.empty()) queues_.erase(it);
    release(r.slot);
    return r;
  }

  // Takes all, oldest first.
  std::vector<Request> take_all() {
    std::vector<Request> all = std::move(list_);
    list_.clear();
    for (auto& [key, queue] : queues_) all.insert(all.end(), queue.begin(), queue.end());
    queues_.clear();
    std::ranges::sort(all, {}, &Request::order);
    for (const Request& r : all) release(r.slot);
    return all;
  }

  [[nodiscard]] std::size_t size() const { return count_; }

 private:
  static constexpr std::size_t kLinear = 32;
  struct Hash {
    std::size_t operator()(const Key& k) const noexcept {
      std::uint64_t h = static_cast<std::uint32_t>(k.src);
      h = (h ^ static_cast<std::uint64_t>(static_cast<std::uint32_t>(k.dst)) << 32) * 0x9e3779b97f4a7c15ULL;
      h = (h ^ h >> 29 ^ static_cast<std::uint32_t>(k.tag)) * 0xbf58476d1ce4e5b9ULL;
      return h ^ h >> 32;
    }
  };
  void release(std::uint32_t slot) {
    slots_.give(slot);
    --count_;
  }
  std::vector<Request> list_;
  std::unordered_map<Key, std::deque<Request>, Hash> queues_;  // never iterated into a result without sorting
  RequestSlots slots_;
  std::size_t count_ = 0;
  std::uint64_t order_ = 0;
};

}  // namespace weft::traces
