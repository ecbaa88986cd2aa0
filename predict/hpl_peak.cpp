#include "predict/hpl_peak.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/quantity_text.hpp"
#include "traces/kernel.hpp"

namespace weft::predict {
namespace {

using hpl_gen::HplConfig;
using topology::ComputeClass;
using traces::Kernel;

constexpr std::int64_t kLarge = 1000000;
// Rates are rounded when platforms are written.
constexpr double kRounding = 1e-3;

}  // namespace

bool has_dgemm(const ComputeClass& c, const HplConfig& config) {
  const traces::Kernel own = dgemm_of(config);
  for (const std::string_view name :
       {traces::kKernelNames[static_cast<std::size_t>(own)],
        traces::kKernelNames[static_cast<std::size_t>(traces::wider_kernel(own))], std::string_view("*")}) {
    const auto entry = std::ranges::find(c.kernels, name, &topology::KernelCost::kernel);
    if (entry != c.kernels.end()) return entry->efficiency == 0 && (name != "*" || entry->rate > 0);
  }
  return false;
}

namespace {

// flop/s of the class's dgemm at its best, as far as this run goes.
double dgemm_rate(const replay::KernelClock& clock, std::uint32_t row, const HplConfig& config) {
  const std::int64_t nb = std::max<std::int64_t>(1, std::min(config.nb, config.n));
  const auto rate = [&](std::int64_t m, std::int64_t n) {
    const traces::KernelShape shape{dgemm_of(config), std::max<std::int64_t>(1, m),
                                    std::max<std::int64_t>(1, n), nb};
    const double seconds = clock.seconds(row, shape);
    return seconds > 0 ? traces::kernel_flops(shape) / seconds : 0;
  };
  return std::max(rate(kLarge, kLarge), rate(config.n / config.p, config.n / config.q));
}

// Whether nobody gave the class's speed.
bool assumed(const topology::Platform& platform, const ComputeClass& c) {
  return platform.speed_assumed && c.speed == platform.compute.classes.front().speed;
}

}  // namespace

Kernel dgemm_of(const HplConfig& config) {
  return hpl_gen::on_accelerators(config.program) ? Kernel::device_dgemm : Kernel::dgemm;
}

HplPeak::HplPeak(const topology::Platform& platform, const replay::KernelClock& clock,
                 const HplConfig& config)
    : platform_(&platform), clock_(&clock) {
  if (!platform.speed_assumed) return;
  const auto& classes = platform.compute.classes;
  of_dgemm_.reserve(classes.size());
  for (std::uint32_t row = 0; row < classes.size(); ++row)
    of_dgemm_.push_back(assumed(platform, classes[row]) && has_dgemm(classes[row], config)
                            ? dgemm_rate(clock, row, config)
                            : 0);
  if (std::ranges::none_of(of_dgemm_, [](double rate) { return rate > 0; })) of_dgemm_.clear();
}

double HplPeak::rank(HostId host) const {
  if (of_dgemm_.empty()) return platform_->speed(host).value();
  const std::uint32_t ranks = std::max(1U, platform_->ranks_per_host);
  double sum = 0;
  for (std::uint32_t local = 0; local < ranks; ++local) {
    const std::uint32_t row = clock_->row_of(host, local);
    sum += of_dgemm_[row] > 0 ? of_dgemm_[row] : platform_->compute.classes[row].speed;
  }
  return sum / ranks;
}

double HplPeak::on(std::span<const HostId> hosts) const {
  double sum = 0;
  for (const HostId h : hosts) sum += rank(h) * std::max(1U, platform_->ranks_per_host);
  return sum;
}

std::vector<HostId> hosts_of(const std::vector<HostId>& placement) {
  std::vector<HostId> hosts = placement;
  std::sort(hosts.begin(), hosts.end());
  hosts.erase(std::unique(hosts.begin(), hosts.end()), hosts.end());
  return hosts;
}

std::vector<std::string> peak_warnings(const topology::Platform& platform,
                                       const std::vector<HplConfig>& configs) {
  // Rate, speed and NB of the case that is furthest off.
  struct Case {
    double rate = 0, speed = 1;
    std::int64_t nb = 0;
    void take(const Case& other) {
      if (other.rate / other.speed > rate / speed) *this = other;
    }
  };
  const auto clock = replay::KernelClock::create(platform);
  if (!clock) return {};
  Case by_dgemm, slower;
  const auto& classes = platform.compute.classes;
  for (const HplConfig& config : configs)
    for (std::uint32_t row = 0; row < classes.size(); ++row) {
      if (!has_dgemm(classes[row], config)) continue;
      const Case one{dgemm_rate(*clock, row, config), classes[row].speed, config.nb};
      if (assumed(platform, classes[row]))
        by_dgemm.take(one);
      else if (one.rate > one.speed * (1 + kRounding))
        slower.take(one);
    }
  std::vector<std::string> out;
  if (by_dgemm.rate > 0)
    out.push_back(fmt::format(
        "the platform gives no speed: its peak is what its dgemm does, {} a rank at NB = {}, not the default "
        "of {}",
        show(FlopRate(by_dgemm.rate)), by_dgemm.nb, show(FlopRate(by_dgemm.speed))));
  if (slower.rate > 0)
    out.push_back(
        fmt::format("the platform's speed of {} a rank is less than its dgemm does, {} at NB = {}: shares of "
                    "the peak and "
                    "the roofline are of that speed and may be exceeded",
                    show(FlopRate(slower.speed)), show(FlopRate(slower.rate)), slower.nb));
  return out;
}

}  // namespace weft::predict
