#include "predict/hpl_windows.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <mutex>
#include <numeric>
#include <utility>

#include "core/rng.hpp"
#include "core/threads/parallel.hpp"
#include "hpl_gen/hpl_trace.hpp"
#include "hpl_gen/steps/op_sink.hpp"
#include "network/sharing.hpp"
#include "predict/hpl_peak.hpp"
#include "predict/interrupted.hpp"
#include "predict/journal/prediction_point.hpp"
#include "predict/panel_broadcasts.hpp"
#include "replay/time.hpp"

namespace weft::predict {
namespace {

using hpl_gen::HplConfig;
using hpl_gen::PanelSeconds;
using hpl_gen::SampleWindow;
using Part = PanelSeconds::Part;

// PanelSeconds while they add up: whole ticks, so that the order in which ranks are heard of does not matter.
struct PanelSums {
  std::array<replay::Elapsed, PanelSeconds::kParts> s{};
  PanelSums& operator+=(const PanelSums& o) {
    for (std::size_t i = 0; i < s.size(); ++i) s[i] += o.s[i];
    return *this;
  }
};

// Sums up regions and messages by panel while a window is replayed.
class Collector {
 public:
  Collector(const HplConfig& config, const SampleWindow& window)
      : ranks_(static_cast<std::size_t>(config.ranks())),
        first_(window.first),
        parts_(ranks_),
        end_(static_cast<std::size_t>(window.last - window.first), 0.0),
        panels_(end_.size()),
        broadcasts_(config),
        rows_(config.p) {}

  void region(RankId rank, RegionId region, SimTime begin, SimTime end) {
    const std::uint32_t id = region.index();
    const replay::Elapsed took(end - begin);
    auto& parts = parts_[rank.index()];
    switch (id) {
      case hpl_gen::kPfact:
        parts.s[Part::kPfact] += took;
        return;
      case hpl_gen::kBcast:
        parts.s[Part::kBcast] += took;
        broadcasts_.region(rank, end);
        return;
      case hpl_gen::kSwap:
        parts.s[Part::kSwap] += took;
        return;
      case hpl_gen::kUpdate:
        parts.s[Part::kUpdate] += took;
        return;
      case hpl_gen::kSolve:
        solve_ += took;
        return;
      default:
        break;
    }
    const std::int64_t panel = static_cast<std::int64_t>(id) - hpl_gen::kFirstPanel - first_;
    // With more look-ahead than panels there are iterations after the last one: what they do stays with the tail.
    if (panel < 0 || panel >= static_cast<std::int64_t>(panels_.size())) return;
    const auto i = static_cast<std::size_t>(panel);
    panels_[i] += parts;
    end_[i] = std::max(end_[i], to_seconds(end.time_since_epoch()));
    parts = {};
  }

  void message(const replay::MessageSeen& m) { broadcasts_.message(m); }

  [[nodiscard]] WindowRun take(const SampleWindow& w) {
    const double took = broadcasts_.take().seconds();
    WindowRun run;
    const auto n = static_cast<double>(ranks_);
    const auto count = static_cast<double>(w.last - w.first);
    double before = w.measured > w.first ? end_[static_cast<std::size_t>(w.measured - w.first - 1)] : 0;
    for (std::int64_t k = w.measured; k < w.last; ++k) {
      const auto i = static_cast<std::size_t>(k - w.first);
      PanelSeconds p;
      for (std::size_t part = 0; part < p.s.size(); ++part) p.s[part] = panels_[i].s[part].seconds() / n;
      // An iteration without panel (the look-ahead's first ones, the run's tail) ends when the next one does.
      const double end = end_[i] > 0 ? end_[i] : before;
      p.s[Part::kTime] = end - before;
      p.s[Part::kBcastTook] = took / static_cast<double>(rows_) / count;
      before = end;
      run.panels.push_back(p);
    }
    PanelSums rest;
    for (const PanelSums& of_rank : parts_) rest += of_rank;
    for (std::size_t part = 0; part < rest.s.size(); ++part) run.tail.s[part] = rest.s[part].seconds() / n;
    run.solve_s = solve_.seconds() / n;
    run.after_last_panel_s = -before;
    return run;
  }

 private:
  std::size_t ranks_;
  std::int64_t first_;
  std::vector<PanelSums> parts_;  // by rank, since its last panel ended
  std::vector<double> end_;       // by panel, of the last rank
  std::vector<PanelSums> panels_;
  PanelBroadcasts broadcasts_;
  int rows_;
  replay::Elapsed solve_;
};

// How many panels are done, told by any thread, passed on one at a time; several times a panel, which may take minutes.
class PanelCount {
 public:
  PanelCount(const PredictOptions& options, const HplConfig& config)
      : options_(options), ranks_(static_cast<std::uint64_t>(config.ranks())) {}

  // So many of them are done anew.
  void take_back(std::uint64_t rank_panels) { rank_panels_ -= rank_panels; }
  // A rank has done one of its panels.
  void rank_panel() {
    if (options_.stop != nullptr && options_.stop->load(std::memory_order_relaxed)) throw Interrupted();
    if (!options_.on_panels) return;
    const std::uint64_t done = ++rank_panels_;
    if (done % (1 + ranks_ / 16) != 0 && done % ranks_ != 0) return;
    const std::lock_guard lock(mutex_);
    options_.on_panels(done % ranks_ == 0 ? 1 : 0, 0);
  }

 private:
  const PredictOptions& options_;
  std::uint64_t ranks_;
  std::atomic<std::uint64_t> rank_panels_{0};
  std::mutex mutex_;
};

// Draws of noise and of routes are numbered from the beginning of a replay: with one seed every window would have the draws of the
// first one, and what is chance would not average out over windows. Windows that begin with the run keep its seed.
std::uint64_t seed_of(std::uint64_t seed, const SampleWindow& window) {
  if (window.first == 0) return seed;
  return Rng(Rng(seed).next() ^ static_cast<std::uint64_t>(window.first)).next();
}

// About when a panel begins, by what is computed before it at the peak of the platform.
double seconds_before(const HplConfig& config, std::int64_t panel, double flops_per_second) {
  const auto left = static_cast<double>(std::max<std::int64_t>(0, config.n - panel * config.nb));
  const auto n = static_cast<double>(config.n);
  return 2.0 / 3 * (n * n * n - left * left * left) / flops_per_second;
}

Result<WindowRun> run_window(const HplConfig& config, const topology::Platform& platform,
                             const std::vector<HostId>& placement, const PredictOptions& options,
                             const WindowTask& task, double seconds_before, PanelCount& count) {
  const SampleWindow& window = task.window;
  hpl_gen::HplTraceOptions generate = options.pivots;
  generate.start_end = false;
  generate.aggregate_pfact = !task.message_by_message;
  generate.most_pieces = options.most_pieces;
  generate.most_named_panels = std::numeric_limits<std::int64_t>::max();  // the collector goes by them
  const bool all = window.first == 0 && window.last == config.panels();
  generate.solve = window.last == config.panels();
  if (!all) generate.window = hpl_gen::PanelWindow{window.first, window.last};
  WEFT_ASSIGN(auto trace, hpl_gen::HplTrace::create(hpl_gen::to_dat(config), generate));
  Collector collector(config, window);
  replay::ReplayOptions replay_options;
  replay_options.seed = seed_of(options.seed, window);
  replay_options.model = options.model;
  replay_options.accuracy = options.accuracy;
  replay_options.noise = task.noise;
  replay_options.unseen_s = seconds_before;
  std::uint64_t counted = 0;
  replay_options.on_region = [&](RankId r, RegionId id, SimTime b, SimTime e) {
    collector.region(r, id, b, e);
    if (id.index() < hpl_gen::kFirstPanel) return;
    ++counted;
    count.rank_panel();
  };
  replay_options.on_again = [&] {
    collector = Collector(config, window);
    count.take_back(std::exchange(counted, 0));
  };
  replay_options.on_message = [&](const replay::MessageSeen& m) {
    if (!m.of_collective) collector.message(m);
  };
  WEFT_ASSIGN(auto result, replay::replay(*trace, platform, placement, replay_options));
  WEFT_CHECK(result.finished, "a generated run of HPL deadlocks: " + result.deadlock.summary());
  WindowRun run = collector.take(window);
  run.time_s = to_seconds(result.makespan);
  run.after_last_panel_s += run.time_s;
  run.ops = trace->totals().ops;
  for (const replay::RankTimes& r : result.ranks) {
    run.device_s += to_seconds(r.device);
    run.device_hidden_s += to_seconds(r.device_hidden);
  }
  run.device_s /= static_cast<double>(config.ranks());
  run.device_hidden_s /= static_cast<double>(config.ranks());
  run.result = std::move(result);
  run.result.ranks.clear();
  run.result.regions.clear();
  return run;
}

}  // namespace

std::int64_t panels_of(const std::vector<SampleWindow>& windows) {
  std::int64_t sum = 0;
  for (const SampleWindow& w : windows) sum += w.last - w.first;
  return sum;
}

Result<std::vector<WindowRun>> run_windows(const HplConfig& config, const topology::Platform& platform,
                                           const std::vector<HostId>& placement,
                                           const PredictOptions& options,
                                           const std::vector<WindowTask>& tasks) {
  std::vector<WindowRun> runs(tasks.size());
  PanelCount count(options, config);
  WEFT_ASSIGN(const auto clock, replay::KernelClock::create(platform));
  const HplPeak peak(platform, clock, config);
  const double rate = std::accumulate(placement.begin(), placement.end(), 0.0,
                                      [&](double sum, HostId h) { return sum + peak.rank(h); });
  const auto run = [&](std::size_t i) -> Result<WindowRun> {
    try {
      return run_window(config, platform, placement, options, tasks[i],
                        seconds_before(config, tasks[i].window.first, rate), count);
    } catch (const Interrupted&) {
      return Error{ErrorCode::kFinding, {}, "interrupted", {}, {}};
    }
  };
  if (options.windows != nullptr)
    return share_windows(*options.windows, tasks, platform.fabric.link_count(), options, run);
  WEFT_TRY(run_parallel(
      tasks.size(), options.threads,
      [&](std::size_t i) -> Result<void> {
        WEFT_ASSIGN(runs[i], run(i));
        return {};
      },
      options.on_fewer_threads));
  return runs;
}

}  // namespace weft::predict
