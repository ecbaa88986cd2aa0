// KernelClock: how long one call of a computational kernel takes on a rank of a platform.
//
//   t = slowdown * (intercept + mnk*(m n k) + mn*(m n) + mk*(m k) + nk*(n k) + work) [+ transfer to a device]
//   work = larger of flops/rate and bytes/bandwidth, or their sum (docs/kernels.md: sources of each form)
//
// flops and bytes as in traces/kernel.hpp. A kernel without an entry in the platform, and without one for "*", takes
// flops / speed: a pure copy takes no time then. The entry dlaswp serves dlaswp00 to dlaswp10 that have none. Negative results count 0.
//
// Noise (off unless asked for): a call's time is drawn around t with the standard deviation
// noise_intercept + noise_mnk*(m n k) + noise_mn*(m n) + noise_mk*(m k) + noise_nk*(n k) + noise*t, half-normal or
// normal, both with mean t. The draw is a function of
// (seed, rank, call number) alone, so it does not depend on the order in which ranks are simulated.
//
// The platform outlives the clock. A rank resolves its row once (row_of), a call then reads one cache-line pair: a few ns, no allocation.
#pragma once

#include <cstdint>
#include <vector>

#include "core/result.hpp"
#include "core/units.hpp"
#include "topology/platform/platform.hpp"
#include "traces/kernel.hpp"

namespace weft::replay {

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

  [[nodiscard]] double seconds(std::uint32_t row, const traces::KernelShape& shape) const {
    return evaluate(costs_[row * traces::kKernelCount + static_cast<std::size_t>(shape.kernel)], shape);
  }
  // As above with the noise of call number `call` of rank `rank`.
  [[nodiscard]] double noisy_seconds(std::uint32_t row, const traces::KernelShape& shape, std::uint64_t seed,
                                     std::uint32_t rank, std::uint64_t call) const;
  // For callers that compute a few: the `local`-th rank on `host`.
  [[nodiscard]] Duration duration(HostId host, std::uint32_t local, const traces::KernelShape& shape) const {
    return from_seconds(seconds(row_of(host, local), shape));
  }

 private:
  struct Cost {
    double intercept = 0, mnk = 0, mn = 0, mk = 0, nk = 0;
    double per_flop = 0, per_byte = 0;  // seconds
    double slowdown = 1;
    // Rarely used ones, on the second cache line.
    double noise_intercept = 0, noise_mnk = 0, noise_mn = 0, noise_mk = 0, noise_nk = 0, noise = 0;
    double moved_mn = 0, moved_mk = 0, moved_nk = 0;  // seconds per element
    double moved_latency = 0;                         // seconds
    bool plain = true;                                // no work term
    bool moves = false;
  };
  KernelClock(const topology::Platform& platform) : model_(&platform.compute) {}
  [[nodiscard]] double evaluate(const Cost& c, const traces::KernelShape& s) const {
    const auto m = static_cast<double>(s.m), n = static_cast<double>(s.n), k = static_cast<double>(s.k);
    double t = c.intercept + c.mnk * (m * n * k) + c.mn * (m * n) + c.mk * (m * k) + c.nk * (n * k);
    if (!c.plain) {
      const traces::KernelWork work = traces::kernel_work(s);
      const double flops = c.per_flop * work.flops, bytes = c.per_byte * work.bytes;
      t += sum_roofline_ ? flops + bytes : (flops > bytes ? flops : bytes);
    }
    t *= c.slowdown;
    if (c.moves) {
      const double x = c.moved_latency + c.moved_mn * (m * n) + c.moved_mk * (m * k) + c.moved_nk * (n * k);
      t = overlap_ ? (t > x ? t : x) : t + x;
    }
    return t > 0 ? t : 0;
  }

  const topology::ComputeModel* model_;
  std::uint32_t ranks_per_host_ = 1;
  bool sum_roofline_ = false;
  bool overlap_ = false;
  std::vector<Cost> costs_;    // by row * kKernelCount + kernel
  std::vector<double> speed_;  // by row
};

}  // namespace weft::replay
