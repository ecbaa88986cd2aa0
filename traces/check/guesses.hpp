// Guesses: which requests of a rank, receives from any source, have a message by a choice of the doctor's, by who sent it.
//
// When the completion of one says that it had another message, a request that has such a one and accepts what this one had may exchange
// with it: the one that was posted first, of those that one startall posted that of the lowest slot.
// Complexity: O(log n) a call.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "core/id.hpp"
#include "traces/op.hpp"

namespace weft::traces::doctor {

class Guesses {
 public:
  struct Guess {
    CommId comm;
    std::int32_t source = 0;   // of the message
    std::int32_t tag = 0;      // of the message
    std::int32_t accepts = 0;  // tag of the receive, or kAnyTag
    std::uint64_t index = 0;   // operation that posted it
    std::uint32_t slot = 0;
  };
  void add(const Guess& g) {
    for (const std::int32_t tag : {g.tag, kAnyTag}) lists_[key(g, tag)].emplace(g.index, g.slot);
  }
  void remove(const Guess& g) {
    for (const std::int32_t tag : {g.tag, kAnyTag}) {
      const auto at = lists_.find(key(g, tag));
      if (at == lists_.end()) continue;
      at->second.erase({g.index, g.slot});
      if (at->second.empty()) lists_.erase(at);
    }
  }
  // The slot of the first that has a message of that source and tag (kAnyTag: of any) and accepts one of tag `other`.
  [[nodiscard]] std::optional<std::uint32_t> first(CommId comm, std::int32_t source, std::int32_t tag,
                                                   std::int32_t other) const {
    std::optional<std::pair<std::uint64_t, std::uint32_t>> found;
    for (const std::int32_t accepts : {other, kAnyTag}) {
      const auto at = lists_.find({comm.index(), source, tag, accepts});
      if (at != lists_.end() && (!found || *at->second.begin() < *found)) found = *at->second.begin();
    }
    return found ? std::optional(found->second) : std::nullopt;
  }

 private:
  // Communicator, source, tag of the message or kAnyTag, tag of the receive.
  using Key = std::tuple<std::uint32_t, std::int32_t, std::int32_t, std::int32_t>;
  static Key key(const Guess& g, std::int32_t tag) { return {g.comm.index(), g.source, tag, g.accepts}; }
  std::map<Key, std::set<std::pair<std::uint64_t, std::uint32_t>>> lists_;
};

}  // namespace weft::traces::doctor
