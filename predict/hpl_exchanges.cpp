#include "predict/hpl_exchanges.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/quantity_text.hpp"
#include "hpl_gen/grid.hpp"
#include "predict/hpl_windows.hpp"

namespace weft::predict {
namespace {

using hpl_gen::PanelSeconds;
using hpl_gen::SampleWindow;

constexpr int kTrialWindows = 3;
constexpr std::int64_t kTrialWidth = 8;
// A panel message by message costs several times one in series: trying both ways must leave something to save.
constexpr std::int64_t kWorthTrying = 3;
// Where ranks mostly wait for the network, small delays decide who waits for whom, and a long run may fall into another
// rhythm than short windows show.
constexpr double kLeastUpdate = 0.5;

// Are all ranks of every process column on one host?
bool columns_within_hosts(const hpl_gen::HplConfig& config, const std::vector<HostId>& placement) {
  const hpl_gen::ProcessGrid grid{config.p, config.q, config.pmap};
  for (int q = 0; q < config.q; ++q)
    for (int p = 1; p < config.p; ++p)
      if (placement[static_cast<std::size_t>(grid.rank_of(p, q))] !=
          placement[static_cast<std::size_t>(grid.rank_of(0, q))])
        return false;
  return true;
}

// What the series leaves out in a run of `panels`, part by part: for each window the mean difference of its panels plus
// two standard errors, whatever its sign, times the panels that are nearest to it.
PanelSeconds left_out(const std::vector<SampleWindow>& windows, const std::vector<WindowRun>& messages,
                      const std::vector<WindowRun>& series, std::int64_t panels) {
  std::vector<double> middle, weight(windows.size(), 0.0);
  for (const SampleWindow& w : windows) middle.push_back(static_cast<double>(w.fitted + w.last) / 2);
  std::size_t near = 0;
  for (std::int64_t k = 0; k < panels; ++k) {
    const double at = static_cast<double>(k) + 0.5;
    while (near + 1 < middle.size() && std::fabs(middle[near + 1] - at) < std::fabs(middle[near] - at))
      ++near;
    ++weight[near];
  }
  PanelSeconds out;
  for (std::size_t w = 0; w < windows.size(); ++w) {
    const auto skip = static_cast<std::size_t>(windows[w].fitted - windows[w].measured);
    const auto n = static_cast<double>(messages[w].panels.size() - skip);
    for (std::size_t part = 0; part < PanelSeconds::kParts; ++part) {
      double sum = 0, squares = 0;
      for (std::size_t i = skip; i < messages[w].panels.size(); ++i) {
        const double d = messages[w].panels[i].s[part] - series[w].panels[i].s[part];
        sum += d;
        squares += d * d;
      }
      const double mean = sum / n, variance = std::max(0.0, (squares - n * mean * mean) / (n - 1));
      out.s[part] += weight[w] * (std::fabs(mean) + 2 * std::sqrt(variance / n));
    }
  }
  return out;
}

}  // namespace

std::int64_t default_warm_up(const hpl_gen::HplConfig& config) {
  return config.look_ahead() + 5;
}

Result<ExchangeChoice> choose_exchanges(const hpl_gen::HplConfig& config, const topology::Platform& platform,
                                        const std::vector<HostId>& placement, const PredictOptions& options,
                                        std::int64_t planned) {
  if (options.exchanges == Exchanges::kMessages) return ExchangeChoice{false, "as asked for", 0.0, 0};
  ExchangeChoice series{true, "", 0.0, 0};
  if (config.p == 1)
    series.why = "one process row, nothing to exchange";
  else if (options.model == "contention-free")
    series.why = "the model knows no contention";
  else if (columns_within_hosts(config, placement))
    series.why = "process columns are within hosts, where messages share nothing";
  if (!series.why.empty()) return series;
  if (options.exchanges == Exchanges::kSeries) {
    series.why = "as asked for; contention of exchanges is left out";
    series.differs_at_most.reset();
    return series;
  }

  const auto windows =
      hpl_gen::choose_windows(config.panels(), kTrialWindows, kTrialWidth, default_warm_up(config));
  std::int64_t trial = 0;
  for (const SampleWindow& w : windows) trial += w.last - w.first;
  if (windows.size() == 1 || planned < kWorthTrying * trial)
    return ExchangeChoice{false, "so few panels that a short cut would not pay", 0.0, 0};
  std::vector<WindowTask> tasks;
  for (const bool one_by_one : {true, false})
    for (const SampleWindow& w : windows) tasks.push_back({w, one_by_one, false});
  if (options.on_panels) options.on_panels(0, 2 * trial);
  WEFT_ASSIGN(auto runs, run_windows(config, platform, placement, options, tasks));
  const auto half = static_cast<std::ptrdiff_t>(windows.size());
  const std::vector<WindowRun> one_by_one(std::make_move_iterator(runs.begin()),
                                          std::make_move_iterator(runs.begin() + half));
  const std::vector<WindowRun> together(std::make_move_iterator(runs.begin() + half),
                                        std::make_move_iterator(runs.end()));
  std::vector<std::vector<PanelSeconds>> measured;
  for (const WindowRun& r : one_by_one) measured.push_back(r.panels);
  const PanelSeconds whole = hpl_gen::fit_panels(config, windows, measured).total;
  const double time = whole.s[PanelSeconds::kTime];
  if (whole.s[PanelSeconds::kUpdate] < kLeastUpdate * time)
    return ExchangeChoice{false, "the network takes most of the time", 0.0, trial};
  const PanelSeconds difference = left_out(windows, one_by_one, together, config.panels());
  double most = 0;
  for (const auto part : {PanelSeconds::kTime, PanelSeconds::kPfact, PanelSeconds::kBcast,
                          PanelSeconds::kSwap, PanelSeconds::kUpdate})
    most = std::max(most, difference.s[part] / time);
  ExchangeChoice choice;
  choice.series = most <= kSeriesTolerance;
  choice.panels_tried = trial;
  choice.differs_at_most = choice.series ? most : 0.0;
  choice.why = fmt::format("{} panels both ways differ by {} of the time at most", trial, show_percent(most));
  return choice;
}

}  // namespace weft::predict
