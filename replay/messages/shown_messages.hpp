// ShownMessages: unexpected messages that a probe may see, in the order of their receiver's queue, by communicator and tag.
//
// A probe from any source takes the earliest message that it sees. Where thousands that it does not see stand before that one, as
// eager messages whose data are under way, a walk would pass them time and again. So a receiver that walked far is listed here from then
// on until its queue is empty: only messages whose data have come, or need not, once by their tag and once whatever it is. All
// messages of its queue have a place here.
// Complexity: O(log n) a message; memory only for receivers that walked far.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "replay/messages/message.hpp"
#include "traces/op.hpp"

namespace weft::replay {

class ShownMessages {
 public:
  using InOrder = std::set<std::pair<std::uint64_t, std::uint32_t>>;  // place in the queue, message

  // Message i is the next one of its receiver's queue.
  void take_place(std::uint32_t i) {
    if (i >= places_.size()) places_.resize(i + std::size_t{1});
    places_[i] = next_place_++;
  }
  // REQUIRES: it has a place.
  void add(const Message& m, std::uint32_t i) {
    for (const std::int32_t tag : {m.tag, traces::kAnyTag})
      lists_[{m.dst, m.context, tag}].emplace(places_[i], i);
  }
  // If it is there.
  void remove(const Message& m, std::uint32_t i) {
    for (const std::int32_t tag : {m.tag, traces::kAnyTag}) {
      const auto at = lists_.find({m.dst, m.context, tag});
      if (at == lists_.end()) continue;
      at->second.erase({places_[i], i});
      if (at->second.empty()) lists_.erase(at);
    }
  }
  // What a probe of that tag may see; null: nothing.
  [[nodiscard]] const InOrder* of(std::uint32_t rank, std::uint32_t context, std::int32_t tag) const {
    const auto at = lists_.find({rank, context, tag});
    return at == lists_.end() ? nullptr : &at->second;
  }

 private:
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::int32_t>, InOrder>
      lists_;                          // receiver, communicator, tag
  std::vector<std::uint64_t> places_;  // by message
  std::uint64_t next_place_ = 0;
};

}  // namespace weft::replay
