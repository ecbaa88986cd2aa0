// KernelClock: how long one call of a computational kernel takes on a rank of a platform.
//
//   t = slowdown * (polynomial of m, n, k + work) [+ transfer to a device]
//   work = larger of flops/rate and bytes/bandwidth, or their sum (docs/kernels.md: sources of each form)
//
// Of several entries of a kernel, each for calls of some dimensions, the first that holds a call is its cost.
// flops and bytes as in traces/kernel.hpp. A kernel without an entry in the platform, and without one for "*", takes
// flops / speed: a pure copy takes no time then. The entry dlaswp serves dlaswp00 to dlaswp10 that have none. Negative
// results count 0.
//
// Noise (off unless asked for): a call's time is drawn around t with a standard deviation of noise*t plus slowdown times
// a polynomial like the one above (topology/platform/kernel_polynomial.hpp), half-normal or normal, both with mean t. Where
// the deviation is more than sqrt(pi/2 - 1) t, half of a normal distribution with that mean reaches below 0, and from
// 0.3 t on a normal one does so too often: draws are lognormal there, with the same mean and deviation. The draw is a
// function of (seed, rank, call number) alone, so it does not depend on the order in which ranks are simulated.
//
// The platform outlives the clock. A rank resolves its row once (row_of), a call then reads one cache-line pair: a few
// ns, no allocation.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "core/units.hpp"
#include "replay/time.hpp"
#include "topology/platform/platform.hpp"
#include "traces/kernel.hpp"

namespace weft::replay {

// A copy that goes over the links of a PCIe tree.
struct LinkCopy {
  std::int64_t bytes = 0;  // one way
  bool to_device = false;  // else to the host
  bool both_ways = false;  // ... and as many the other way
  Elapsed before;          // passes before they leave
  // bytes/s it never exceeds, one way; infinity: its links alone decide; 0: none of it goes over links, `before` is all
  double cap = 0;
};

class KernelClock {
 public:
  // Error (kBadInput at the entry): a kernel that does not exist, with the known names.
  [[nodiscard]] static Result<KernelClock> create(const topology::Platform& platform);

  // Which costs the `local`-th rank on `host` has; ranks of the same row compute alike.
  [[nodiscard]] std::uint32_t row_of(HostId host, std::uint32_t local) const {
    return model_->class_index(host, local, ranks_per_host_);
  }
  // flop/s of computations that name no kernel, slowdown included.
  [[nodiscard]] double speed(std::uint32_t row) const { return speed_[row]; }

  // Some kernel that has flops has no entry of its own: the speed is its rate.
  [[nodiscard]] bool uses_speed() const { return uses_speed_; }

  [[nodiscard]] double seconds(std::uint32_t row, const traces::KernelShape& shape) const {
    return evaluate(cost_of(row, shape), shape);
  }
  // How much faster the row computes at most when cores wait (core_clocks.hpp), and whether the clock of its cores is what
  // a call takes time by: not on an accelerator, nor if it only moves data.
  [[nodiscard]] double headroom(std::uint32_t row) const { return model_->classes[row].headroom; }
  [[nodiscard]] bool by_core_clock(std::uint32_t row, const traces::KernelShape& shape) const {
    return cost_of(row, shape).by_core_clock;
  }
  [[nodiscard]] const topology::PowerBudget& power() const { return model_->power; }
  // Copies that are not durations but flows (Kernel.place = "links"): where there are none, the place of an entry that
  // makes some is empty. over_links: is this call one? Then link_copy says which. Their kernels' seconds() are those of
  // a copy alone on wide links.
  [[nodiscard]] const std::string& links_entry() const { return links_entry_; }
  [[nodiscard]] bool over_links(std::uint32_t row, const traces::KernelShape& shape) const {
    return !links_entry_.empty() && cost_of(row, shape).over_links;
  }
  [[nodiscard]] LinkCopy link_copy(std::uint32_t row, const traces::KernelShape& shape) const;
  // What all draws of a rank have in common.
  [[nodiscard]] static std::uint64_t draws_of(std::uint64_t seed, std::uint32_t rank);
  // As seconds() with the noise of call number `call` of the rank that has these `draws`.
  [[nodiscard]] double noisy_seconds(std::uint32_t row, const traces::KernelShape& shape, std::uint64_t draws,
                                     std::uint64_t call) const;
  [[nodiscard]] bool has_noise() const { return model_->has_noise(); }

 private:
  struct Cost {
    topology::KernelPolynomial time;
    double per_flop = 0, per_byte = 0;  // seconds
    double slowdown = 1;
    // Rarely used ones, on the second cache line.
    topology::KernelPolynomial spread;    // standard deviation
    double noise = 0;                     // ... and its part of the time
    topology::KernelPolynomial transfer;  // of operands to the device, seconds
    bool plain = true;                    // no work term
    bool moves = false;
    bool over_links = false;
    bool by_core_clock = false;
    std::uint32_t next = 0;        // of costs_: for calls beyond the bounds; 0 = none, there are no bounds
    topology::ShapeBounds bounds;  // of the calls that it is for
  };
  KernelClock(const topology::Platform& platform) : model_(&platform.compute) {}
  [[nodiscard]] const Cost& cost_of(std::uint32_t row, const traces::KernelShape& s) const {
    const Cost* c = &costs_[row * traces::kKernelCount + static_cast<std::size_t>(s.kernel)];
    while (c->next != 0 && !c->bounds.hold(s.m, s.n, s.k)) c = &costs_[c->next];
    return *c;
  }
  [[nodiscard]] double evaluate(const Cost& c, const traces::KernelShape& s) const {
    const auto m = static_cast<double>(s.m), n = static_cast<double>(s.n), k = static_cast<double>(s.k);
    double t = c.time(m, n, k);
    if (!c.plain) {
      const traces::KernelWork work = traces::kernel_work(s);
      const double flops = c.per_flop * work.flops, bytes = c.per_byte * work.bytes;
      t += sum_roofline_ ? flops + bytes : (flops > bytes ? flops : bytes);
    }
    t *= c.slowdown;
    if (c.moves) {
      const double x = c.transfer(m, n, k);
      t = overlap_ ? (t > x ? t : x) : t + x;
    }
    return t > 0 ? t : 0;
  }

  const topology::ComputeModel* model_;
  std::uint32_t ranks_per_host_ = 1;
  bool sum_roofline_ = false;
  bool uses_speed_ = false;
  bool overlap_ = false;
  std::string links_entry_;
  std::vector<Cost> costs_;    // by row * kKernelCount + kernel; after these what their `next` points at
  std::vector<double> speed_;  // by row
};

}  // namespace weft::replay
