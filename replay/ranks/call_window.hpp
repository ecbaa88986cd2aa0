// CallWindow: the kernel calls of a stretch that may still grow, and which pieces join them.
//
// A program that polls cuts its work in pieces only as long as it polls. So where a poll is over, because its body ran
// at an earlier one, the pieces before and after it are one call (docs/model.md, "Probes as conditional steps"). A
// *stretch* is what a rank computes with nothing but such polls in between. Rules, whoever observes the replay:
//  1. A piece after the first poll of the stretch that is over joins the earliest call of the window of which it is the
//     continuation: same kernel, and shapes that differ in the dimension that is cut alone (columns; rows of
//     dtrsm_right). Any other piece is a call of its own.
//  2. The window holds the last kMax calls before that poll, in order of their first pieces, and those that begin
//     after it. Where they are more than kMax the stretch ends and another begins.
// A call happens at its first piece; the pieces that join take no time. It has one fixed cost, and one draw of noise.
// Complexity: O(kMax) a piece, or as many pieces of one shape as there are; no allocation.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "traces/kernel.hpp"

namespace weft::replay {

class CallWindow {
 public:
  static constexpr std::size_t kMax = 8;
  struct Call {
    std::uint64_t first = 0;  // operation
    traces::KernelShape shape;
  };
  enum class Added : std::uint8_t {
    kTaken,  // as a call of its own or as a continuation
    kFull,   // not taken: make room with pop() if nothing may join yet, else the stretch is over
  };

  [[nodiscard]] bool empty() const { return count_ == 0; }
  // Some later piece may join: a poll that is over was passed.
  [[nodiscard]] bool joining() const { return joining_; }
  [[nodiscard]] const Call& front() const { return calls_[head_]; }

  [[nodiscard]] Added add(std::uint64_t operation, const traces::KernelShape& shape) {
    if (joining_)
      for (std::size_t c = 0; c < count_; ++c)
        if (join(calls_[(head_ + c) % kMax].shape, shape)) return Added::kTaken;
    if (count_ == kMax) return Added::kFull;
    calls_[(head_ + count_++) % kMax] = {operation, shape};
    return Added::kTaken;
  }
  // The same of `times` pieces of that shape, each after a poll that is over, if they join; false, and nothing happened: the next
  // one would be a call of its own. REQUIRES: joining().
  [[nodiscard]] bool join_all(const traces::KernelShape& shape, std::int64_t times) {
    traces::KernelShape all = shape;
    (by_rows(shape) ? all.m : all.n) *= times;
    for (std::size_t c = 0; c < count_; ++c)
      if (join(calls_[(head_ + c) % kMax].shape, all)) return true;
    return false;
  }
  void pass_poll_that_is_over() { joining_ = count_ > 0; }
  // The earliest call, complete. REQUIRES: !empty().
  Call pop() {
    const Call c = calls_[head_];
    head_ = (head_ + 1) % kMax;
    if (--count_ == 0) joining_ = false;
    return c;
  }

 private:
  // Is the dimension that is cut that of the rows?
  static bool by_rows(const traces::KernelShape& s) { return s.kernel == traces::Kernel::dtrsm_right; }
  // Adds `more` to `call` if it goes on where that one ends.
  static bool join(traces::KernelShape& call, const traces::KernelShape& more) {
    if (call.kernel != more.kernel || call.k != more.k) return false;
    const bool rows = by_rows(call);
    if (rows ? call.n != more.n : call.m != more.m) return false;
    (rows ? call.m : call.n) += rows ? more.m : more.n;
    return true;
  }

  std::array<Call, kMax> calls_;
  std::size_t head_ = 0, count_ = 0;
  bool joining_ = false;
};

}  // namespace weft::replay
