#include "predict/hpl_warnings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <string_view>
#include <utility>

#include "core/quantity_text.hpp"
#include "predict/hpl_choices.hpp"
#include "predict/hpl_peak.hpp"
#include "predict/run_facts.hpp"
#include "replay/kernel_time.hpp"
#include "topology/placement/placement.hpp"
#include "traces/kernel.hpp"

namespace weft::predict {
namespace {

using hpl_gen::HplConfig;

std::vector<std::string> device_warnings(const topology::Platform& platform,
                                         const std::vector<HplConfig>& configs) {
  const bool devices =
      std::ranges::any_of(configs, [](const HplConfig& c) { return hpl_gen::on_accelerators(c.program); });
  if (!devices || platform.compute.classes.empty()) return {};
  const auto& kernels = platform.compute.classes.front().kernels;
  const auto names = [&](std::string_view kernel) {
    return std::any_of(kernels.begin(), kernels.end(), [&](const auto& k) { return k.kernel == kernel; });
  };
  std::vector<std::string> out;
  if (!names("device_dgemm"))
    out.push_back(
        "the platform has no kernel \"device_dgemm\": its accelerators and the cores that factor panels "
        "compute alike");
  if (!names("copy_to_host") || !names("copy_to_device"))
    out.push_back(names("*")
                      ? "the platform has no kernels \"copy_to_host\" and \"copy_to_device\": panels are "
                        "copied at the rate of \"*\""
                      : "the platform has no kernels \"copy_to_host\" and \"copy_to_device\": copies of "
                        "panels take no time");
  return out;
}

// A dgemm that goes by the speed that nobody gave.
bool assumes_speed(const topology::Platform& platform, const std::vector<HplConfig>& configs) {
  return platform.speed_assumed && !configs.empty() &&
         !has_dgemm(platform.compute.classes.front(), configs.front());
}

std::vector<std::string> speed_warnings(const topology::Platform& platform,
                                        const std::vector<HplConfig>& configs) {
  if (!assumes_speed(platform, configs)) return {};
  return {fmt::format("the platform gives no speed: {} a rank are assumed",
                      show(FlopRate(platform.compute.classes.front().speed)))};
}

// None, too, where the kernels' times cannot be made: the prediction says why.
std::vector<std::string> width_warnings(const topology::Platform& platform,
                                        const std::vector<HplConfig>& configs) {
  if (configs.empty()) return {};
  const auto [first, last] = std::ranges::minmax_element(configs, {}, &HplConfig::nb);
  const std::int64_t least = first->nb, most = last->nb;
  if (least == most) return {};
  const auto clock = replay::KernelClock::create(platform);
  if (!clock) return {};
  const traces::Kernel dgemm = dgemm_of(*first);
  const auto per_flop = [&](std::int64_t nb) {
    const traces::KernelShape shape{dgemm, 4096, 4096, nb};
    return clock->seconds(0, shape) / traces::kernel_flops(shape);
  };
  if (std::fabs(per_flop(least) / per_flop(most) - 1) > 1e-9) return {};
  return {fmt::format(
      "{} one speed for every kernel: its dgemm is as fast at NB = {} as at NB = {}, so "
      "small blocks look better than they are; weft fit dgemm makes kernel times from measurements",
      assumes_speed(platform, configs) ? "what is assumed is" : "the platform gives", least, most)};
}

// Those of each number of ranks, in the order of the configurations.
std::vector<std::string> placement_warnings(const topology::Platform& platform,
                                            const std::vector<HplConfig>& configs,
                                            const PredictOptions& options) {
  std::vector<std::string> out;
  std::set<int> sizes;
  for (const HplConfig& c : configs)
    if (sizes.insert(c.ranks()).second)
      for (std::string& note : topology::placement_notes(platform, static_cast<std::uint32_t>(c.ranks()),
                                                         options.map, options.seed))
        out.push_back(std::move(note));
  return out;
}

}  // namespace

std::vector<std::string> hpl_warnings(const topology::Platform& platform,
                                      const std::vector<HplConfig>& configs, const PredictOptions& options) {
  std::vector<std::string> out = device_warnings(platform, configs);
  const auto add = [&](std::vector<std::string> more) {
    for (std::string& w : more) out.push_back(std::move(w));
  };
  add(speed_warnings(platform, configs));
  add(width_warnings(platform, configs));
  add(memory_warnings(platform, configs, options.map, options.seed));
  add(platform.warnings);
  if (options.noise && !platform.compute.has_noise()) out.emplace_back(topology::kNoNoise);
  add(placement_warnings(platform, configs, options));
  return out;
}

std::vector<std::string> hpl_assumed(const topology::Platform& platform) {
  const auto clock = replay::KernelClock::create(platform);
  return assumed_of(platform, clock && clock->uses_speed());
}

bool is_drawn(const topology::Platform& platform, const std::vector<HplConfig>& configs,
              const PredictOptions& options) {
  // Within one process row nobody is told of pivots.
  const bool pivots = options.pivots.pivots == hpl_gen::PivotKind::kRandom &&
                      std::ranges::any_of(configs, [](const HplConfig& c) { return c.p > 1; });
  return pivots || (options.noise && platform.compute.has_noise()) || options.map.starts_with("random") ||
         options.map.ends_with("hosts=random");
}

}  // namespace weft::predict
