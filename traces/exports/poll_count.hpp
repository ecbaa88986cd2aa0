// PollCount: counts the polls (Iprobe, Improbe) of a trace that is exported, and warns of them.
//
// In a trace a poll is a conditional step (op.hpp): what follows it may be replayed earlier or later than it was recorded.
// Formats of other tools have no such thing, so an export says how many there were and what becomes of them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/counted.hpp"
#include "traces/op.hpp"

namespace weft::traces {

class PollCount {
 public:
  void add(const Op& op) {
    if (op.kind != OpKind::iprobe && op.kind != OpKind::improbe) return;
    ++polls_;
    hits_ += (op.flags & kHit) != 0 ? 1 : 0;
  }
  // Adds "N polls (M hits) are WHAT" to `warnings`; nothing if there were none, or nobody reads it (null).
  void tell(std::string_view what, std::vector<std::string>* warnings) const {
    if (polls_ == 0 || warnings == nullptr) return;
    warnings->push_back(counted(polls_, "poll") + " (" + counted(hits_, "hit") + ") " +
                        (polls_ == 1 ? "is " : "are ") + std::string(what));
  }

  static constexpr std::string_view kLeftOut =
      "left out: what follows a hit stands where the recording had it, whenever its message comes";

 private:
  std::uint64_t polls_ = 0, hits_ = 0;
};

}  // namespace weft::traces
