#include "replay/kernel_time.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "core/rng.hpp"

namespace weft::replay {
namespace {

// Standard normal number, by the polar method (Marsaglia and Bray, SIAM Review 6, 1964).
double normal(Rng& rng) {
  while (true) {
    const double x = 2 * rng.unit() - 1, y = 2 * rng.unit() - 1;
    const double r = x * x + y * y;
    if (r > 0 && r < 1) return x * std::sqrt(-2 * std::log(r) / r);
  }
}

// Half-normal number with mean 0 and variance 1: |z| has mean sqrt(2/pi) and variance 1 - 2/pi.
double centred_half_normal(Rng& rng) {
  static const double mean = std::sqrt(2 / std::numbers::pi), spread = std::sqrt(1 - 2 / std::numbers::pi);
  return (std::fabs(normal(rng)) - mean) / spread;
}

// Draws below 0 that count as 0 lengthen the mean. The least of a half-normal time is
// mean - spread sqrt(2/pi) / sqrt(1 - 2/pi): where that is not below 0 there are none. A normal time has some always: up
// to 0.3 of the mean they lengthen it by r phi(1/r) - Phi(-1/r) = 3.4e-5 at most, r = spread / mean.
bool too_wide(bool is_normal, double spread, double mean) {
  static const double half_normal = std::sqrt(std::numbers::pi / 2 - 1);
  constexpr double kNormal = 0.3;
  return spread > (is_normal ? kNormal : half_normal) * mean;
}

// Lognormal number with that mean and deviation, of one normal number as the others.
double lognormal(Rng& rng, double mean, double spread) {
  const double relative = std::min(spread / mean, 1e9), variance = std::log1p(relative * relative);
  return mean * std::exp(std::sqrt(variance) * normal(rng) - variance / 2);
}

}  // namespace

Result<KernelClock> KernelClock::create(const topology::Platform& platform) {
  KernelClock clock(platform);
  const topology::ComputeModel& model = platform.compute;
  clock.ranks_per_host_ = platform.ranks_per_host;
  clock.sum_roofline_ = model.sum_roofline;
  clock.overlap_ = model.device.overlap;
  clock.costs_.resize(model.classes.size() * traces::kKernelCount);
  for (std::size_t row = 0; row < model.classes.size(); ++row) {
    const topology::ComputeClass& c = model.classes[row];
    clock.speed_.push_back(c.speed / c.slowdown);
    const auto convert = [&](const topology::KernelCost& in) {
      Cost out;
      out.time = in.polynomial;
      out.per_flop = in.rate > 0 ? 1 / in.rate : 0;
      out.per_byte = in.bandwidth > 0 ? 1 / in.bandwidth : 0;
      out.plain = out.per_flop == 0 && out.per_byte == 0;
      out.slowdown = c.slowdown;
      out.spread = in.noise_polynomial;
      out.noise = in.noise;
      out.bounds = in.bounds;
      out.over_links = in.over_links;
      if (in.moved_mn + in.moved_mk + in.moved_nk > 0) {
        const double per_element = sizeof(double) / model.device.bandwidth;
        out.transfer.intercept = model.device.latency;
        out.transfer.mn = in.moved_mn * per_element;
        out.transfer.mk = in.moved_mk * per_element;
        out.transfer.nk = in.moved_nk * per_element;
        out.moves = true;
      }
      return out;
    };
    Cost rest;
    rest.per_flop = 1 / c.speed;
    rest.plain = false;
    rest.slowdown = c.slowdown;
    // Entries by kernel, in the order of the file; those of "*" last.
    std::array<std::vector<const topology::KernelCost*>, traces::kKernelCount + 1> entries;
    for (const topology::KernelCost& in : c.kernels) {
      std::size_t k = 0;
      while (k < traces::kKernelCount && traces::kKernelNames[k] != in.kernel) ++k;
      if (k == traces::kKernelCount && in.kernel != "*")
        return bad_input(
            in.where, "unknown kernel", in.kernel,
            fmt::format("one of {}, or \"*\" for all others", fmt::join(traces::kKernelNames, ", ")));
      if (in.over_links) {
        if (k == traces::kKernelCount || !traces::is_device_copy(static_cast<traces::Kernel>(k)))
          return bad_input(in.where, "kernel over links", in.kernel, "copy_to_host or copy_to_device");
        clock.links_entry_ = in.where;
      }
      entries[k].push_back(&in);
    }
    for (std::size_t k = 0; k < traces::kKernelCount; ++k) {
      // Its own entries, those of the kernel that it is a kind of, those of all others: up to one without bounds.
      std::vector<Cost> chain;
      const auto kernel = static_cast<traces::Kernel>(k);
      // Accelerators do not feel what the host's cores are held down by.
      const bool by_core = traces::kernel_flops({kernel, 2, 2, 2}) > 0 && !traces::runs_on_device(kernel);
      const auto wider = static_cast<std::size_t>(traces::wider_kernel(kernel));
      const auto add = [&](std::size_t list) {
        if (!chain.empty() && chain.back().bounds.all()) return;
        for (const topology::KernelCost* in : entries[list]) {
          chain.push_back(convert(*in));
          chain.back().by_core_clock = by_core && !in->on_device;
        }
      };
      add(k);
      if (wider != k) add(wider);
      add(traces::kKernelCount);
      if (chain.empty() || !chain.back().bounds.all()) {
        chain.push_back(rest);
        clock.uses_speed_ = clock.uses_speed_ || traces::kernel_flops({kernel, 2, 2, 2}) > 0;
        chain.back().by_core_clock = by_core;
      }
      clock.costs_[row * traces::kKernelCount + k] = chain.front();
      std::size_t before = row * traces::kKernelCount + k;
      for (std::size_t i = 1; i < chain.size(); ++i) {
        clock.costs_[before].next = static_cast<std::uint32_t>(clock.costs_.size());
        before = clock.costs_.size();
        clock.costs_.push_back(chain[i]);
      }
    }
  }
  return clock;
}

LinkCopy KernelClock::link_copy(std::uint32_t row, const traces::KernelShape& s) const {
  const Cost& c = cost_of(row, s);
  const auto m = static_cast<double>(s.m), n = static_cast<double>(s.n), k = static_cast<double>(s.k);
  LinkCopy copy;
  // 2^50 bytes are beyond any memory, and their time is not beyond the clock.
  copy.bytes = static_cast<std::int64_t>(std::clamp(traces::kernel_bytes(s), 0.0, 0x1p50));
  copy.to_device = s.kernel == traces::Kernel::copy_to_device;
  copy.both_ways = s.k == 2;
  copy.before = Elapsed::of_seconds(std::max(0.0, c.slowdown * c.time(m, n, k)));
  copy.cap = c.per_byte > 0 ? 1 / c.per_byte : std::numeric_limits<double>::infinity();
  return copy;
}

// One step of the generator between seed, rank and call mixes them all.
std::uint64_t KernelClock::draws_of(std::uint64_t seed, std::uint32_t rank) {
  return Rng(Rng(seed).next() ^ rank).next();
}

double KernelClock::noisy_seconds(std::uint32_t row, const traces::KernelShape& s, std::uint64_t draws,
                                  std::uint64_t call) const {
  const Cost& c = cost_of(row, s);
  const double t = evaluate(c, s);
  const auto m = static_cast<double>(s.m), n = static_cast<double>(s.n), k = static_cast<double>(s.k);
  const double spread = c.slowdown * c.spread(m, n, k) + c.noise * t;
  if (!(spread > 0) || t == 0) return t;
  Rng rng(draws ^ call);
  if (too_wide(model_->normal_noise, spread, t)) return lognormal(rng, t, spread);
  const double noisy = t + spread * (model_->normal_noise ? normal(rng) : centred_half_normal(rng));
  return noisy > 0 ? noisy : 0;
}

}  // namespace weft::replay
