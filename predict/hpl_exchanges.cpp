#include "predict/hpl_exchanges.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "core/quantity_text.hpp"
#include "hpl_gen/grid.hpp"
#include "network/sharing.hpp"
#include "predict/hpl_windows.hpp"
#include "topology/routing/socket_routes.hpp"

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

// Message by message, which is exact.
ExchangeChoice one_by_one(std::string why, std::int64_t panels_tried) {
  ExchangeChoice out;
  out.why = std::move(why);
  out.differs_at_most = 0.0;
  out.panels_tried = panels_tried;
  return out;
}

// Does no link carry any message within a process column?
bool columns_share_nothing(const hpl_gen::HplConfig& config, const topology::Fabric& fabric,
                           const std::vector<HostId>& placement) {
  const hpl_gen::ProcessGrid grid = hpl_gen::grid_of(config);
  const topology::SocketRoutes sockets(fabric, placement);
  for (int q = 0; q < config.q; ++q)
    for (int p = 1; p < config.p; ++p)
      if (!sockets.is_copy(static_cast<std::uint32_t>(grid.rank_of(p, q)),
                           static_cast<std::uint32_t>(grid.rank_of(0, q))))
        return false;
  return true;
}

// What a series does not have; empty: it is exact. REQUIRES: several process rows.
std::vector<std::string_view> parts_left_out(const topology::Platform& platform, bool shares_links,
                                             bool columns_alone) {
  std::vector<std::string_view> out;
  if (shares_links && !columns_alone) out.emplace_back("contention of exchanges");
  if (platform.fabric.routing().scope() != topology::RouteScope::kPair && !columns_alone)
    out.emplace_back("routes of single messages");
  return out;
}

// Panels of a run that are nearest to each window.
std::vector<double> weights_of(const std::vector<SampleWindow>& windows, std::int64_t panels) {
  std::vector<double> middle, weight(windows.size(), 0.0);
  for (const SampleWindow& w : windows) middle.push_back(static_cast<double>(w.fitted + w.last) / 2);
  std::size_t near = 0;
  for (std::int64_t k = 0; k < panels; ++k) {
    const double at = static_cast<double>(k) + 0.5;
    while (near + 1 < middle.size() && std::fabs(middle[near + 1] - at) < std::fabs(middle[near] - at))
      ++near;
    ++weight[near];
  }
  return weight;
}

constexpr std::array kPhases = {PanelSeconds::kPfact, PanelSeconds::kBcast, PanelSeconds::kSwap,
                                PanelSeconds::kUpdate};
constexpr std::array kPartsThatCount = {PanelSeconds::kTime, PanelSeconds::kPfact, PanelSeconds::kBcast,
                                        PanelSeconds::kSwap, PanelSeconds::kUpdate};

// What the series leaves out of a run, part by part: the sum over windows of a panel's mean difference times the panels that a
// window speaks for, and the variance of that sum. Differences of windows have their signs, and their chance is independent.
// The time is the sum of the phases here: they are means over ranks, while when one panel ends and the next begins is a matter of
// the rank that happens to be last.
struct LeftOut {
  PanelSeconds sum, variance;

  void add(const SampleWindow& window, double weight, const WindowRun& messages, const WindowRun& series) {
    const auto skip = static_cast<std::size_t>(window.fitted - window.measured);
    const auto n = static_cast<double>(messages.panels.size() - skip);
    std::array<double, PanelSeconds::kParts> all{}, squares{};
    for (std::size_t i = skip; i < messages.panels.size(); ++i) {
      PanelSeconds d;
      for (const auto part : kPhases) {
        d.s[part] = messages.panels[i].s[part] - series.panels[i].s[part];
        d.s[PanelSeconds::kTime] += d.s[part];
      }
      for (const auto part : kPartsThatCount) {
        all[part] += d.s[part];
        squares[part] += d.s[part] * d.s[part];
      }
    }
    for (const auto part : kPartsThatCount) {
      const double mean = all[part] / n;
      const double spread = std::max(0.0, (squares[part] - n * mean * mean) / (n - 1));
      sum.s[part] += weight * mean;
      variance.s[part] += weight * weight * spread / n;
    }
  }
  // Two standard errors: other windows add to them, whatever the signs of their differences.
  [[nodiscard]] double chance(std::size_t part) const { return 2 * std::sqrt(variance.s[part]); }
  [[nodiscard]] double at_most(std::size_t part) const { return std::fabs(sum.s[part]) + chance(part); }
};

// What the exchanges themselves take longer, in seconds of the run. A panel's means are over all columns, one of which has it;
// where its exchanges wait for other messages, these wait for them as long, and so may others behind both. That is far less a matter
// of chance than the time of short windows is, and says more where a long run falls into another rhythm (docs/hpl.md).
constexpr double kAmplified = 3;
// Of that, what another phase may have of it.
constexpr double kPassedOn = 2.0 / 3;
double in_exchanges(const LeftOut& d, int columns) {
  return kAmplified * columns * d.at_most(PanelSeconds::kPfact);
}

// The largest of that and of each part, in seconds: `of` at_most, by how much the run may differ; chance, what no other window
// takes back.
double largest(const LeftOut& d, int columns, double (LeftOut::*of)(std::size_t) const) {
  double most = in_exchanges(d, columns);
  for (const auto part : kPartsThatCount) most = std::max(most, (d.*of)(part));
  return most;
}

// By how much one phase may.
double phase_at_most(const LeftOut& d, int columns, PanelSeconds::Part phase) {
  const double of_exchanges = phase == PanelSeconds::kPfact ? 0 : kPassedOn * in_exchanges(d, columns);
  return d.at_most(phase) + of_exchanges;
}

// The run's time and parts as the windows have them.
PanelSeconds whole_of(const hpl_gen::HplConfig& config, std::span<const SampleWindow> windows,
                      std::span<const WindowRun> runs) {
  std::vector<std::vector<PanelSeconds>> measured;
  for (const WindowRun& r : runs) measured.push_back(r.panels);
  return hpl_gen::fit_panels(config, windows, measured).total;
}

// Simulates the windows both ways and compares.
Result<ExchangeChoice> try_both_ways(const hpl_gen::HplConfig& config, const topology::Platform& platform,
                                     const std::vector<HostId>& placement, const PredictOptions& options,
                                     const std::vector<SampleWindow>& windows) {
  const std::vector<double> weights = weights_of(windows, config.panels());
  const auto heaviest =
      static_cast<std::size_t>(std::max_element(weights.begin(), weights.end()) - weights.begin());
  const auto simulate = [&](const std::vector<WindowTask>& tasks) {
    std::vector<SampleWindow> simulated;
    simulated.reserve(tasks.size());
    for (const WindowTask& t : tasks) simulated.push_back(t.window);
    if (options.on_panels) options.on_panels(0, panels_of(simulated));
    return run_windows(config, platform, placement, options, tasks);
  };

  // The window that speaks for most panels, both ways. Where it says no already, or ranks mostly wait, the others are not
  // tried. The time of the run is scaled from this window, which may be off, but what is refused here only costs time.
  const SampleWindow& first = windows[heaviest];
  WEFT_ASSIGN(auto both, simulate({{first, true, false}, {first, false, false}}));
  const std::int64_t first_tried = panels_of({first});
  const PanelSeconds scaled = whole_of(config, {&first, 1}, {&both[1], 1});
  const auto mostly_waits = [](const PanelSeconds& whole) {
    return whole.s[PanelSeconds::kUpdate] < kLeastUpdate * whole.s[PanelSeconds::kTime];
  };
  const auto waits = [](std::int64_t tried) {
    return one_by_one("the network takes most of the time", tried);
  };
  if (mostly_waits(scaled)) return waits(first_tried);
  const auto differ = [](std::int64_t tried, double share, std::string_view least_or_most) {
    return fmt::format("{} panels both ways differ by {} of the time at {}", tried, show_percent(share),
                       least_or_most);
  };
  LeftOut difference;
  difference.add(first, weights[heaviest], both[0], both[1]);
  if (const double share = largest(difference, config.q, &LeftOut::chance) / scaled.s[PanelSeconds::kTime];
      share > kSeriesTolerance)
    return one_by_one(differ(first_tried, share, "least"), first_tried);

  std::vector<WindowTask> tasks;
  for (const bool message_by_message : {true, false})
    for (std::size_t w = 0; w < windows.size(); ++w)
      if (w != heaviest) tasks.push_back({windows[w], message_by_message, false});
  WEFT_ASSIGN(auto others, simulate(tasks));
  std::vector<WindowRun> messages(windows.size());
  for (std::size_t w = 0, next = 0; w < windows.size(); ++w) {
    if (w == heaviest) {
      messages[w] = std::move(both[0]);
      continue;
    }
    difference.add(windows[w], weights[w], others[next], others[next + windows.size() - 1]);
    messages[w] = std::move(others[next++]);
  }
  const PanelSeconds whole = whole_of(config, windows, messages);
  if (mostly_waits(whole)) return waits(panels_of(windows));
  const double most = largest(difference, config.q, &LeftOut::at_most) / whole.s[PanelSeconds::kTime];
  ExchangeChoice choice;
  choice.series = most <= kSeriesTolerance;
  choice.panels_tried = panels_of(windows);
  choice.differs_at_most = choice.series ? most : 0.0;
  if (choice.series)
    for (const auto part : kPhases)
      choice.phases_at_most.s[part] =
          phase_at_most(difference, config.q, part) / whole.s[PanelSeconds::kTime];
  choice.why = differ(choice.panels_tried, most, "most");
  return choice;
}

}  // namespace

std::int64_t default_warm_up(const hpl_gen::HplConfig& config) { return config.look_ahead() + 5; }

Result<ExchangeChoice> choose_exchanges(const hpl_gen::HplConfig& config, const topology::Platform& platform,
                                        const std::vector<HostId>& placement, const PredictOptions& options,
                                        std::int64_t planned) {
  if (options.exchanges == Exchanges::kMessages) return one_by_one("as asked for", 0);
  ExchangeChoice series;
  series.series = true;
  series.why = "one process row, nothing to exchange";
  series.differs_at_most = 0.0;
  if (config.p == 1) return series;
  const bool shares_links = network::shares_links(options.model, platform.fabric);
  const bool columns_alone = columns_share_nothing(config, platform.fabric, placement);
  const auto left_out = parts_left_out(platform, shares_links, columns_alone);
  if (left_out.empty()) {
    series.why = columns_alone ? fmt::format("process columns are within {}, where messages share nothing",
                                             platform.fabric.sockets_joined() ? "sockets" : "hosts")
                               : "the model knows no contention";
    return series;
  }
  if (options.exchanges == Exchanges::kSeries) {
    series.why = fmt::format("as asked for; left out: {}", fmt::join(left_out, ", "));
    series.differs_at_most.reset();
    return series;
  }

  const auto windows =
      hpl_gen::choose_windows(config.panels(), kTrialWindows, kTrialWidth, default_warm_up(config));
  if (windows.size() == 1 || planned < kWorthTrying * panels_of(windows))
    return one_by_one("so few panels that a short cut would not pay", 0);
  return try_both_ways(config, platform, placement, options, windows);
}

}  // namespace weft::predict
