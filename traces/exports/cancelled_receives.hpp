// CancelledReceives: of one rank, for formats without cancels. A receive whose cancel came too late is an ordinary one; one
// that was withdrawn would wait for ever in the schedule, and cannot be said.
//
// Its cancel came too late where its own list, or that of its start, says what it took, and where whoever completes it does not say
// that it took nothing (completes_withdrawn()).
// O(log n) a call; memory: the cancels that are not settled, and the slots with such lists.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <unordered_set>

#include "traces/op.hpp"
#include "traces/request_book.hpp"

namespace weft::traces {

class CancelledReceives {
 public:
  // A request of that slot is posted, by an operation with this list.
  void posted(std::uint32_t slot, std::span<const std::int64_t> list) {
    if (says_what_it_took(list))
      told_.insert(slot);
    else
      told_.erase(slot);
  }
  // Operation `index` cancels the receive under way of that slot.
  void cancel(std::uint32_t slot, std::uint64_t index) {
    if (!told_.contains(slot)) cancels_.emplace(slot, index);
  }
  // The cancel of the receive of that slot that nobody settled so far; none: there is none.
  [[nodiscard]] std::optional<std::uint64_t> open(std::uint32_t slot) const {
    const auto at = cancels_.find(slot);
    return at != cancels_.end() ? std::optional(at->second) : std::nullopt;
  }
  // The first of all, by slot.
  [[nodiscard]] std::optional<std::uint64_t> open() const {
    return cancels_.empty() ? std::nullopt : std::optional(cancels_.begin()->second);
  }
  // `completion` completes the request of that slot. The cancel that withdrew its receive; none: it is an ordinary one.
  [[nodiscard]] std::optional<std::uint64_t> complete(const Op& completion, std::uint32_t slot) {
    const auto cancel = open(slot);
    if (!cancel || completes_withdrawn(completion)) return cancel;
    cancels_.erase(slot);
    return std::nullopt;
  }

 private:
  std::map<std::uint32_t, std::uint64_t> cancels_;  // by slot: the operation that cancels it
  std::unordered_set<std::uint32_t> told_;  // slots of receives that say what they took; never iterated
};

}  // namespace weft::traces
