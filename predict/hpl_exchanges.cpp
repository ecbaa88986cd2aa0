#include "predict/hpl_exchanges.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
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
// Between them, where it is only chance that they differ by too much: there a window costs its warm-up again, and longer ones
// say more for that.
constexpr std::int64_t kBetweenWidth = 16;
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

bool starts_earlier(const SampleWindow& a, const SampleWindow& b) { return a.first < b.first; }

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

// A window that was simulated both ways, and by how much a panel of it differs, part by part: the mean, and that mean's variance.
// The time is the sum of the phases here: they are means over ranks, while when one panel ends and the next begins is a matter of
// the rank that happens to be last.
struct TriedWindow {
  SampleWindow window;
  std::vector<PanelSeconds> panels;  // message by message
  PanelSeconds mean, variance;
};

TriedWindow compare(const SampleWindow& window, const WindowRun& messages, const WindowRun& series) {
  TriedWindow out{window, messages.panels, {}, {}};
  const auto skip = static_cast<std::size_t>(window.fitted - window.measured);
  const auto n = static_cast<double>(messages.panels.size() - skip);
  PanelSeconds all, squares;
  for (std::size_t i = skip; i < messages.panels.size(); ++i) {
    PanelSeconds d;
    for (const auto part : kPhases) {
      d.s[part] = messages.panels[i].s[part] - series.panels[i].s[part];
      d.s[PanelSeconds::kTime] += d.s[part];
    }
    for (const auto part : kPartsThatCount) {
      all.s[part] += d.s[part];
      squares.s[part] += d.s[part] * d.s[part];
    }
  }
  for (const auto part : kPartsThatCount) {
    out.mean.s[part] = all.s[part] / n;
    const double about_mean = squares.s[part] - n * out.mean.s[part] * out.mean.s[part];
    out.variance.s[part] = std::max(0.0, about_mean / (n - 1) / n);
  }
  return out;
}

// What the series leaves out of a run, part by part: the sum over windows of a panel's difference times the panels that a window
// speaks for, and the variance of that sum. Differences of windows have their signs, and their chance is independent.
struct LeftOut {
  PanelSeconds sum, variance;

  void add(const TriedWindow& tried, double weight) {
    for (const auto part : kPartsThatCount) {
      sum.s[part] += weight * tried.mean.s[part];
      variance.s[part] += weight * weight * tried.variance.s[part];
    }
  }
  // Two standard errors: other windows add to them, whatever the signs of their differences.
  [[nodiscard]] double chance(std::size_t part) const { return 2 * std::sqrt(variance.s[part]); }
  [[nodiscard]] double size(std::size_t part) const { return std::fabs(sum.s[part]); }
  [[nodiscard]] double at_most(std::size_t part) const { return size(part) + chance(part); }
};

// What the exchanges themselves take longer, in seconds of the run. A panel's means are over all columns, one of which has it;
// where its exchanges wait for other messages, these wait for them as long, and so may others behind both. That is far less a matter
// of chance than the time of short windows is, and says more where a long run falls into another rhythm (docs/hpl.md).
constexpr double kAmplified = 3;
// Of that, what another phase may have of it.
constexpr double kPassedOn = 2.0 / 3;
double in_exchanges(const LeftOut& d, int columns,
                    double (LeftOut::*of)(std::size_t) const = &LeftOut::at_most) {
  return kAmplified * columns * (d.*of)(PanelSeconds::kPfact);
}

// The largest of that and of each part, in seconds: `of` at_most, by how much the run may differ; size, without chance;
// chance, what no other window takes back.
double largest(const LeftOut& d, int columns, double (LeftOut::*of)(std::size_t) const) {
  double most = in_exchanges(d, columns, of);
  for (const auto part : kPartsThatCount) most = std::max(most, (d.*of)(part));
  return most;
}

// By how much one phase may.
double phase_at_most(const LeftOut& d, int columns, PanelSeconds::Part phase) {
  const double of_exchanges = phase == PanelSeconds::kPfact ? 0 : kPassedOn * in_exchanges(d, columns);
  return d.at_most(phase) + of_exchanges;
}

std::vector<SampleWindow> windows_tried(std::span<const TriedWindow> tried) {
  std::vector<SampleWindow> out;
  for (const TriedWindow& t : tried) out.push_back(t.window);
  return out;
}

// What the windows that a trial has by now leave out. REQUIRES: in the order of their panels.
LeftOut left_out_of(std::span<const TriedWindow> tried, std::int64_t panels) {
  const std::vector<double> weights = weights_of(windows_tried(tried), panels);
  LeftOut out;
  for (std::size_t w = 0; w < tried.size(); ++w) out.add(tried[w], weights[w]);
  return out;
}

// The run's time and parts as these windows have them, message by message.
PanelSeconds whole_of(const hpl_gen::HplConfig& config, std::span<const TriedWindow> tried) {
  std::vector<std::vector<PanelSeconds>> measured;
  for (const TriedWindow& t : tried) measured.push_back(t.panels);
  return hpl_gen::fit_panels(config, windows_tried(tried), measured).total;
}

// Windows in the middle of the gaps of these; none where there is no room.
std::vector<SampleWindow> windows_between(const hpl_gen::HplConfig& config,
                                          const std::vector<SampleWindow>& windows) {
  const auto finer =
      hpl_gen::choose_windows(config.panels(), 2 * kTrialWindows - 1, kBetweenWidth, default_warm_up(config));
  if (windows.size() != kTrialWindows || finer.size() != 2 * kTrialWindows - 1) return {};
  std::vector<SampleWindow> out;
  for (std::size_t w = 1; w < windows.size(); ++w) {
    const SampleWindow& between = finer[2 * w - 1];
    if (between.first >= windows[w - 1].last && between.last <= windows[w].first) out.push_back(between);
  }
  return out;
}

// Panels that `window` speaks for where `others` are simulated, too.
double weight_among(const SampleWindow& window, std::vector<SampleWindow> others, std::int64_t panels) {
  others.push_back(window);
  std::sort(others.begin(), others.end(), starts_earlier);
  const auto at = std::lower_bound(others.begin(), others.end(), window, starts_earlier) - others.begin();
  return weights_of(others, panels)[static_cast<std::size_t>(at)];
}

// Which of the windows between takes most of the chance in the largest sum away, as the others then speak for fewer panels.
// REQUIRES: at least one.
std::size_t most_telling(std::span<const SampleWindow> between, std::span<const TriedWindow> tried,
                         std::int64_t panels) {
  const LeftOut now = left_out_of(tried, panels);
  const auto part =
      *std::max_element(kPartsThatCount.begin(), kPartsThatCount.end(),
                        [&](std::size_t a, std::size_t b) { return now.variance.s[a] < now.variance.s[b]; });
  std::size_t best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t b = 0; b < between.size(); ++b) {
    double variance = 0;
    for (const TriedWindow& t : tried) {
      std::vector<SampleWindow> others{between[b]};
      for (const TriedWindow& other : tried)
        if (&other != &t) others.push_back(other.window);
      const double weight = weight_among(t.window, std::move(others), panels);
      variance += weight * weight * t.variance.s[part];
    }
    if (variance < least) best = b, least = variance;
  }
  return best;
}

// Simulates windows both ways and compares: the one that speaks for most panels, the others, and where only by chance they may
// differ by too much and a longer trial still pays, those between them. REQUIRES: several windows.
Result<ExchangeChoice> try_both_ways(const hpl_gen::HplConfig& config, const topology::Platform& platform,
                                     const std::vector<HostId>& placement, const PredictOptions& options,
                                     std::vector<SampleWindow> windows, std::int64_t planned) {
  const std::int64_t panels = config.panels();
  std::vector<SampleWindow> between = windows_between(config, windows);
  const std::vector<double> weights = weights_of(windows, panels);
  const auto heaviest = std::max_element(weights.begin(), weights.end()) - weights.begin();
  const SampleWindow first = windows[static_cast<std::size_t>(heaviest)];
  windows.erase(windows.begin() + heaviest);

  std::vector<TriedWindow> tried;
  std::int64_t panels_tried = 0;
  const auto simulate = [&](const std::vector<SampleWindow>& more) -> Result<void> {
    std::vector<WindowTask> tasks;
    for (const bool message_by_message : {true, false})
      for (const SampleWindow& w : more) tasks.push_back({w, message_by_message, false});
    if (options.on_panels) options.on_panels(0, 2 * panels_of(more));
    WEFT_ASSIGN(auto runs, run_windows(config, platform, placement, options, tasks));
    for (std::size_t w = 0; w < more.size(); ++w)
      tried.push_back(compare(more[w], runs[w], runs[w + more.size()]));
    std::sort(tried.begin(), tried.end(),
              [](const TriedWindow& a, const TriedWindow& b) { return starts_earlier(a.window, b.window); });
    panels_tried += panels_of(more);
    return {};
  };
  const auto mostly_waits = [](const PanelSeconds& whole) {
    return whole.s[PanelSeconds::kUpdate] < kLeastUpdate * whole.s[PanelSeconds::kTime];
  };
  const auto waits = [&] { return one_by_one("the network takes most of the time", panels_tried); };
  const auto differ = [&](double share, std::string_view least_or_most) {
    return fmt::format("{} panels both ways differ by {} of the time at {}", panels_tried,
                       show_percent(share), least_or_most);
  };

  // Where one window says no already, or ranks mostly wait, the others are not tried. The time of the run is scaled from it,
  // which may be off, but what is refused here only costs time.
  WEFT_TRY(simulate({first}));
  PanelSeconds whole = whole_of(config, tried);
  if (mostly_waits(whole)) return waits();
  std::vector<SampleWindow> all_others = windows;
  all_others.insert(all_others.end(), between.begin(), between.end());
  LeftOut difference;
  difference.add(tried.front(), weight_among(first, std::move(all_others), panels));
  const double least =
      std::max(in_exchanges(difference, config.q), largest(difference, config.q, &LeftOut::chance));
  if (const double share = least / whole.s[PanelSeconds::kTime]; share > kSeriesTolerance)
    return one_by_one(differ(share, "least"), panels_tried);

  double most = 0;
  for (std::vector<SampleWindow> next = std::move(windows);;) {
    WEFT_TRY(simulate(next));
    whole = whole_of(config, tried);
    if (mostly_waits(whole)) return waits();
    difference = left_out_of(tried, panels);
    most = largest(difference, config.q, &LeftOut::at_most) / whole.s[PanelSeconds::kTime];
    const double size = largest(difference, config.q, &LeftOut::size) / whole.s[PanelSeconds::kTime];
    if (most <= kSeriesTolerance || size > kSeriesTolerance || between.empty()) break;
    const std::size_t b = most_telling(between, tried, panels);
    next = {between[b]};
    if (planned < kWorthTrying * (panels_tried + panels_of(next))) break;
    between.erase(between.begin() + static_cast<std::ptrdiff_t>(b));
  }
  if (most > kSeriesTolerance) return one_by_one(differ(most, "most"), panels_tried);
  ExchangeChoice choice;
  choice.series = true;
  choice.panels_tried = panels_tried;
  choice.differs_at_most = most;
  for (const auto part : kPhases)
    choice.phases_at_most.s[part] = phase_at_most(difference, config.q, part) / whole.s[PanelSeconds::kTime];
  choice.why = differ(most, "most");
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
  return try_both_ways(config, platform, placement, options, windows, planned);
}

}  // namespace weft::predict
