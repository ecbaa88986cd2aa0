// ShownMessages: unexpected messages that a probe may see, in the order of their receiver's queue, by communicator and tag.
//
// A probe from any source takes the earliest message that it sees. Where thousands that it does not see stand before that one, as
// eager messages whose data are under way, a walk would pass them time and again. So a receiver that walked far is listed here from then
// on until its queue is empty: only messages whose data have come, or need not, once by their tag and once whatever it is.
// Complexity: O(log n) a message; memory only for receivers that walked far.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "replay/messages/message.hpp"
#include "traces/op.hpp"

namespace weft::replay {

class ShownMessages {
 public:
  using InOrder = std::set<std::pair<std::uint64_t, std::uint32_t>>;  // place in the queue, message

  void add(const Message& m, std::uint32_t i) {
    for (const std::int32_t tag : {m.tag, traces::kAnyTag})
      lists_[{m.dst, m.context, tag}].emplace(m.place, i);
  }
  // If it is there.
  void remove(const Message& m, std::uint32_t i) {
    for (const std::int32_t tag : {m.tag, traces::kAnyTag}) {
      const auto at = lists_.find({m.dst, m.context, tag});
      if (at == lists_.end()) continue;
      at->second.erase({m.place, i});
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
      lists_;  // receiver, communicator, tag
};

}  // namespace weft::replay
