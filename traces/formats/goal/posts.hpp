// What a rank's line of control does with its messages: posts them and waits for them. A message that is waited for at once is a
// blocking one, others have the smallest request slot that is free. `Program` takes the operations.
#pragma once

#include <cstdint>
#include <vector>

#include "traces/formats/goal/program.hpp"
#include "traces/formats/goal/schedule.hpp"
#include "traces/formats/request_slots.hpp"
#include "traces/op_rules.hpp"

namespace weft::traces::goal {

class Posts {
 public:
  // `slots`: by operation, the request of each that is posted; the caller may use those of others. All outlive it.
  Posts(const std::vector<Operation>& ops, std::vector<std::uint32_t>& slots, Program& out)
      : ops_(ops), slots_(slots), out_(out) {}
  void post(std::uint32_t v) {
    write_held();
    slots_[v] = free_.take();
    held_ = v;
  }
  // Waits for what was posted, in the order of the file; `line` is of what waits. REQUIRES: `posted` is not empty.
  void wait(std::vector<std::uint32_t>& posted, std::uint32_t line);
  // A computation of some time.
  void compute(std::uint32_t v) {
    write_held();
    out_.add({.kind = OpKind::compute_time, .amount = static_cast<std::int64_t>(ops_[v].size) * 1000},
             ops_[v].line);
  }
  // What was posted last, if nothing was written since.
  [[nodiscard]] std::uint32_t last() const { return held_; }
  // More are under way at once than a trace has slots for.
  [[nodiscard]] bool too_many() const { return free_.made() > kMaxRequestSlots; }

 private:
  [[nodiscard]] Op message(std::uint32_t v, bool blocking) const;
  void write_held() {
    if (held_ == kNone) return;
    out_.add(message(held_, false), ops_[held_].line);
    held_ = kNone;
  }
  static constexpr std::uint32_t kNone = 0xffffffffu;

  const std::vector<Operation>& ops_;
  std::vector<std::uint32_t>& slots_;
  Program& out_;
  RequestSlots free_;
  std::uint32_t held_ = kNone;  // posted, but not written: it may turn out to be waited for at once
  std::vector<std::int64_t> list_;
};

}  // namespace weft::traces::goal
