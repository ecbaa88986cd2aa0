// RequestSlots: numbers of the requests of a rank that are under way, as a .weft trace has them: the smallest that is free, so that a
// program has no more of them than it has requests at once. O(log n) each.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

namespace weft::traces {

class RequestSlots {
 public:
  std::uint32_t take() {
    if (free_.empty()) return made_++;
    const std::uint32_t slot = free_.top();
    free_.pop();
    return slot;
  }
  // REQUIRES: it was taken, and not given back since.
  void give(std::uint32_t slot) { free_.push(slot); }
  // The most that were taken at once.
  [[nodiscard]] std::uint32_t made() const { return made_; }
  [[nodiscard]] std::uint64_t in_use() const { return made_ - free_.size(); }

 private:
  std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> free_;
  std::uint32_t made_ = 0;
};

}  // namespace weft::traces
