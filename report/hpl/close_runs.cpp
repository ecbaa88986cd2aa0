#include "report/hpl/close_runs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include "core/quantity_text.hpp"
#include "hpl_gen/hpl_sampling.hpp"
#include "report/hpl/factorisation.hpp"

namespace weft::report {
namespace {

// Rates that differ by rounding.
constexpr double kSameRate = 1e-9;

double mean_rate(const RatedRun& run) { return spread_of(run.gflops).mean; }

// By how much `best` is faster with each seed that both have. An interrupted study may have other seeds of other runs.
std::vector<double> paired_differences(const RatedRun& best, const RatedRun& run) {
  std::vector<double> out;
  for (std::size_t i = 0; i < best.seeds.size(); ++i)
    for (std::size_t k = 0; k < run.seeds.size(); ++k)
      if (best.seeds[i] == run.seeds[k]) out.push_back(best.gflops[i] - run.gflops[k]);
  return out;
}

std::optional<WhyClose> why_close(const RatedRun& best, const RatedRun& run, bool drawn) {
  const double best_rate = mean_rate(best), rate = mean_rate(run);
  const std::vector<double> differences = paired_differences(best, run);
  const bool equal =
      std::ranges::all_of(differences, [&](double d) { return std::fabs(d) <= kSameRate * best_rate; });
  if (equal && !differences.empty()) return WhyClose::kEqual;
  const Spread spread = spread_of(differences);
  const double d = differences.empty() ? best_rate - rate : spread.mean;
  const std::size_t pairs = differences.size();
  const double scatter =
      pairs > 1 ? student_quantile(pairs - 1) * spread.stddev / std::sqrt(static_cast<double>(pairs)) : 0;
  if (best.interval && run.interval) {
    if (d <= scatter + *best.interval * best_rate + *run.interval * rate) return WhyClose::kWithin;
  } else if (d <= scatter + kWithoutInterval * best_rate) {
    return WhyClose::kNoInterval;
  }
  if (drawn && pairs < 2 && d < kChance * best_rate) return WhyClose::kOneSeed;
  return std::nullopt;
}

// What of `run` is not as in `best`: "b", "NB 192, LnM".
std::string difference_text(const NamedRun& run, const NamedRun& best) {
  std::string out;
  const auto add = [&](const std::string& text) { out += (out.empty() ? "" : ", ") + text; };
  const hpl_gen::HplConfig &c = *run.config, &b = *best.config;
  if (run.label != best.label) add(run.label);
  if (c.n != b.n) add(fmt::format("N {}", c.n));
  if (c.nb != b.nb) add(fmt::format("NB {}", c.nb));
  if (c.p != b.p || c.q != b.q) add(fmt::format("{} x {}", c.p, c.q));
  if (c.pmap != b.pmap) add(fmt::format("PMAP {}", hpl_gen::name_of(c.pmap)));
  if (c.bcast != b.bcast) add(std::string(hpl_gen::name_of(c.bcast)));
  if (c.depth != b.depth) add(fmt::format("depth {}", c.depth));
  if (c.swap != b.swap) add(fmt::format("swap {}", hpl_gen::name_of(c.swap)));
  const std::array both = {hpl_gen::factorisation_of(c), hpl_gen::factorisation_of(b)};
  if (const auto varied = varying_parts(both); !varied.empty()) add(factorisation_words(both[0], varied));
  return out.empty() ? "another run" : out;
}

std::string behind(double slower) {
  return slower < 0 ? show_percent(-slower) + " faster" : show_percent(slower) + " slower";
}

}  // namespace

double student_quantile(std::size_t freedom) {
  static_assert(hpl_gen::kConfidence == 0.95);
  constexpr std::array kTable = {12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646,
                                 2.3060,  2.2622, 2.2281, 2.2010, 2.1788, 2.1604, 2.1448,
                                 2.1314,  2.1199, 2.1098, 2.1009, 2.0930, 2.0860};
  if (freedom <= kTable.size()) return kTable[freedom - 1];
  // Abramowitz and Stegun, 26.7.5.
  constexpr double z = 1.959964;
  const auto v = static_cast<double>(freedom);
  return z + (z * z * z + z) / (4 * v) + (5 * std::pow(z, 5) + 16 * std::pow(z, 3) + 3 * z) / (96 * v * v) +
         (3 * std::pow(z, 7) + 19 * std::pow(z, 5) + 17 * std::pow(z, 3) - 15 * z) / (384 * v * v * v);
}

std::vector<RatedRun> rated_runs(std::span<const predict::HplPrediction> predictions,
                                 std::span<const SeedGroup> groups, std::span<const std::uint64_t> seeds) {
  std::vector<RatedRun> out;
  for (const SeedGroup& g : groups) {
    RatedRun run;
    for (std::size_t i = g.first; i < g.first + g.count; ++i) {
      run.seeds.push_back(seeds[i]);
      run.gflops.push_back(predictions[i].gflops);
    }
    run.interval = mean_of(predictions.subspan(g.first, g.count)).error_estimate;
    out.push_back(std::move(run));
  }
  return out;
}

std::size_t fastest_of(std::span<const RatedRun> runs) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < runs.size(); ++i)
    if (mean_rate(runs[i]) > mean_rate(runs[best])) best = i;
  return best;
}

std::vector<CloseRun> close_runs(std::span<const RatedRun> runs, std::size_t best, bool drawn) {
  std::vector<CloseRun> out;
  const double best_rate = mean_rate(runs[best]);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (i == best) continue;
    if (const auto why = why_close(runs[best], runs[i], drawn))
      out.push_back({i, *why, *why == WhyClose::kEqual ? 0 : 1 - mean_rate(runs[i]) / best_rate});
  }
  std::ranges::stable_sort(out, [](const CloseRun& a, const CloseRun& b) {
    return a.why != b.why ? a.why < b.why : a.slower < b.slower;
  });
  return out;
}

std::string close_runs_text(std::span<const CloseRun> close, std::span<const NamedRun> runs, std::size_t best,
                            std::size_t seeds, const std::string& repeat) {
  std::string out;
  for (std::size_t i = 0; i < close.size();) {
    const WhyClose why = close[i].why;
    std::size_t end = i;
    while (end < close.size() && close[end].why == why) ++end;
    std::string who = difference_text(runs[close[i].run], runs[best]);
    if (end - i > 1) who = fmt::format("{} others, of them {}", end - i, who);
    const std::string by = behind(close[i].slower);
    switch (why) {
      case WhyClose::kEqual:
        out += fmt::format("As fast: {}.\n", who);
        break;
      case WhyClose::kWithin:
        out += fmt::format("As fast within {}: {}, {}.\n",
                           seeds > 1 ? fmt::format("the scatter of {} seeds and +-", seeds) : "+-", who, by);
        break;
      case WhyClose::kNoInterval:
        out += fmt::format("Without an interval not told apart (up to {}): {}, {}.\n",
                           show_percent(kWithoutInterval), who, by);
        break;
      case WhyClose::kOneSeed:
        out += fmt::format("With one seed: {}, {}; {} tells that from chance.\n", who, by, repeat);
        break;
    }
    i = end;
  }
  return out;
}

nlohmann::ordered_json close_runs_json(std::span<const CloseRun> close, std::size_t best) {
  constexpr std::array<std::string_view, 4> kWhy = {"equal", "within", "no interval", "one seed"};
  nlohmann::ordered_json j{{"index", best}, {"close", nlohmann::ordered_json::array()}};
  for (const CloseRun& c : close)
    j["close"].push_back(
        {{"index", c.run}, {"why", kWhy[static_cast<std::size_t>(c.why)]}, {"slower", c.slower}});
  return j;
}

}  // namespace weft::report
