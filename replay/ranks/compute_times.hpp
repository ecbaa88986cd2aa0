// ComputeTimes: how long the computations of each rank take, and how many kernel calls it made.
//
// KernelClock knows a call on a host; here stands which of its rows a rank has, and the number of the call, which the
// draws of the noise depend on; what the clocks of cores make of it: core_clocks.hpp. What looks ahead takes calls that may not
// happen: it notes calls() and sets it back.
// Complexity: O(1) a computation, no allocation.
#pragma once

#include <cstdint>
#include <vector>

#include "core/id.hpp"
#include "replay/agenda.hpp"
#include "replay/engine.hpp"
#include "replay/kernel_time.hpp"
#include "replay/ranks/core_clocks.hpp"
#include "replay/ranks/ranks.hpp"

namespace weft::replay {

class ComputeTimes {
 public:
  // `placement` is read once, the rest outlives it. `hosts`: of the platform.
  ComputeTimes(KernelClock kernels, const std::vector<HostId>& placement, std::size_t hosts,
               const ReplayOptions& options, const Ranks& ranks, Agenda& agenda);

  // One call of a kernel, with its noise if there is some: the next of that rank.
  [[nodiscard]] double kernel_seconds(std::uint32_t r, const traces::KernelShape& shape) {
    Row& c = rows_[r];
    const double t =
        options_.what_if.compute * (options_.noise ? kernels_.noisy_seconds(c.row, shape, c.draws, c.calls++)
                                                   : kernels_.seconds(c.row, shape));
    return clocks_.vary() ? at_clock(r, shape, t) : t;
  }
  // A call that is no duration but a copy over links (device_copies.hpp); and which one. REQUIRES of the second: it is.
  [[nodiscard]] bool over_links(std::uint32_t r, const traces::KernelShape& shape) const {
    return kernels_.over_links(rows_[r].row, shape);
  }
  [[nodiscard]] LinkCopy link_copy(std::uint32_t r, const traces::KernelShape& shape) const {
    LinkCopy copy = kernels_.link_copy(rows_[r].row, shape);
    copy.before = Elapsed::of_seconds(options_.what_if.compute * copy.before.seconds());
    return copy;
  }
  // Operation `pc` of rank r, a computation or a sleep. An unknown kernel fails the replay.
  [[nodiscard]] Elapsed of(std::uint32_t r, std::uint64_t pc, const traces::Op& op);

  // A kernel that has flops, or any other computation: not copies alone.
  [[nodiscard]] static bool more_than_copies(const traces::KernelShape& shape) {
    return traces::kernel_flops(shape) > 0;
  }
  [[nodiscard]] static bool more_than_copies(const ProgramCursor& program, std::uint64_t pc,
                                             const traces::Op& op);

  // How long they take depends on what the rank has waited before (core_clocks.hpp).
  [[nodiscard]] bool go_by_waits() const { return clocks_.vary(); }
  // Calls of one shape differ.
  [[nodiscard]] bool draws() const { return options_.noise; }
  [[nodiscard]] bool has_noise() const { return kernels_.has_noise(); }
  // A computation so far took the time that the speed of its host says, or was a kernel where those without an entry of their own do.
  [[nodiscard]] bool used_speed() const { return used_speed_; }
  [[nodiscard]] std::uint64_t calls(std::uint32_t r) const { return rows_[r].calls; }
  void set_calls(std::uint32_t r, std::uint64_t calls) { rows_[r].calls = calls; }

 private:
  [[nodiscard]] double at_clock(std::uint32_t r, const traces::KernelShape& shape, double t);
  struct Row {
    double speed = 0;         // flop/s
    std::uint32_t row = 0;    // of kernels_
    std::uint64_t calls = 0;  // so far
    std::uint64_t draws = 0;  // KernelClock::draws_of
  };
  KernelClock kernels_;
  const ReplayOptions& options_;
  const Ranks& ranks_;
  Agenda& agenda_;
  std::vector<Row> rows_;  // by rank
  CoreClocks clocks_;
  bool used_speed_ = false;
};

}  // namespace weft::replay
