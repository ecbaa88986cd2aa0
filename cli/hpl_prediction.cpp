#include "cli/hpl_prediction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/parallel.hpp"
#include "hpl_gen/closed_form.hpp"
#include "hpl_gen/hpl_trace.hpp"
#include "hpl_gen/op_sink.hpp"
#include "hpl_gen/phase_model.hpp"
#include "replay/kernel_time.hpp"
#include "replay/message_cost.hpp"
#include "replay/sharing.hpp"
#include "topology/route_cache.hpp"

namespace weft::cli {
namespace {

using hpl_gen::HplConfig;
using hpl_gen::PanelSeconds;
using hpl_gen::SampleWindow;
using Part = PanelSeconds::Part;

// What the replay of a window tells.
struct WindowRun {
  std::vector<PanelSeconds> panels;  // measured ones
  double solve_s = 0;
  double time_s = 0;
  double after_last_panel_s = 0;  // what the look-ahead left to update, and the solve
  replay::ReplayResult result;
  std::uint64_t ops = 0;
  std::vector<std::uint64_t> link_bytes;
  double simulated_s = 0;
};

// Sums up regions and messages by panel while a window is replayed.
class Collector {
 public:
  Collector(const HplConfig& config, const SampleWindow& window)
      : ranks_(static_cast<std::size_t>(config.ranks())),
        first_(window.first),
        parts_(ranks_),
        end_(static_cast<std::size_t>(window.last - window.first + 1), 0.0),
        panels_(end_.size()),
        rows_(config.p) {}

  void region(RankId rank, RegionId region, SimTime begin, SimTime end) {
    const std::uint32_t id = region.index();
    const double seconds = to_seconds(end - begin);
    auto& parts = parts_[rank.index()];
    switch (id) {
      case hpl_gen::kPfact:
        parts.s[Part::kPfact] += seconds;
        return;
      case hpl_gen::kBcast:
        parts.s[Part::kBcast] += seconds;
        return;
      case hpl_gen::kSwap:
        parts.s[Part::kSwap] += seconds;
        return;
      case hpl_gen::kUpdate:
        parts.s[Part::kUpdate] += seconds;
        return;
      case hpl_gen::kSolve:
        solve_ += seconds;
        return;
      default:
        break;
    }
    const std::int64_t panel = static_cast<std::int64_t>(id) - hpl_gen::kFirstPanel - first_;
    if (panel < 0 || panel >= static_cast<std::int64_t>(panels_.size())) return;
    const auto i = static_cast<std::size_t>(panel);
    panels_[i] += parts;
    end_[i] = std::max(end_[i], to_seconds(end.time_since_epoch()));
    parts = {};
  }

  // A panel's broadcast in one row: first send to last arrival. Tags tell panels apart; a row has a few under way.
  void message(const replay::MessageSeen& m) {
    if (m.tag < hpl_gen::kTagPanel || m.tag >= hpl_gen::kTagPanel + hpl_gen::kTagRange) return;
    const std::size_t slot = m.comm.index() * kOpen + static_cast<std::size_t>(m.tag) % kOpen;
    if (slot >= open_.size()) open_.resize(slot + 1);
    Open& o = open_[slot];
    if (o.tag != m.tag) {
      close(o);
      o = {m.tag, m.posted, m.come};
    }
    o.from = std::min(o.from, m.posted);
    o.to = std::max(o.to, m.come);
  }

  [[nodiscard]] WindowRun take(const SampleWindow& w) {
    for (const Open& o : open_) close(o);
    WindowRun run;
    const auto n = static_cast<double>(ranks_);
    const auto count = static_cast<double>(w.last - w.first);
    double before = w.measured > w.first ? end_[static_cast<std::size_t>(w.measured - w.first - 1)] : 0;
    for (std::int64_t k = w.measured; k < w.last; ++k) {
      const auto i = static_cast<std::size_t>(k - w.first);
      PanelSeconds p = panels_[i];
      for (double& s : p.s) s /= n;
      // An iteration without panel (the look-ahead's first ones, the run's tail) ends when the next one does.
      const double end = end_[i] > 0 ? end_[i] : before;
      p.s[Part::kTime] = end - before;
      p.s[Part::kBcastTook] = took_ / static_cast<double>(rows_) / count;
      before = end;
      run.panels.push_back(p);
    }
    run.solve_s = solve_ / n;
    run.after_last_panel_s = -before;
    return run;
  }

 private:
  static constexpr std::size_t kOpen = 8;
  struct Open {
    std::int32_t tag = -1;
    SimTime from{}, to{};
  };
  void close(const Open& o) {
    if (o.tag >= 0) took_ += to_seconds(o.to - o.from);
  }
  std::size_t ranks_;
  std::int64_t first_;
  std::vector<PanelSeconds> parts_;  // by rank, since its last panel ended
  std::vector<double> end_;          // by panel, of the last rank
  std::vector<PanelSeconds> panels_;
  std::vector<Open> open_;
  int rows_;
  double solve_ = 0;
  double took_ = 0;
};

Result<WindowRun> run_window(const HplConfig& config, const topology::Platform& platform,
                             const std::vector<HostId>& placement, const PredictOptions& options,
                             const SampleWindow& window) {
  hpl_gen::HplTraceOptions generate;
  generate.seed = options.seed;
  generate.pivots = options.pivots;
  generate.matrix_seed = options.matrix_seed;
  generate.start_end = false;
  generate.aggregate_pfact = !options.message_by_message;
  generate.most_pieces = options.most_pieces;
  const bool all = window.first == 0 && window.last == config.panels();
  generate.solve = window.last == config.panels();
  if (!all) generate.window = hpl_gen::PanelWindow{window.first, window.last};
  WEFT_ASSIGN(auto trace, hpl_gen::HplTrace::create(hpl_gen::to_dat(config), generate));
  Collector collector(config, window);
  replay::ReplayOptions replay_options;
  replay_options.seed = options.seed;
  replay_options.model = options.model;
  replay_options.noise = options.noise;
  replay_options.on_region = [&](RankId r, RegionId id, SimTime b, SimTime e) {
    collector.region(r, id, b, e);
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
  run.result = std::move(result);
  run.result.ranks.clear();
  run.result.regions.clear();
  return run;
}

// All windows, `threads` at a time; the order of the results is that of the windows.
Result<std::vector<WindowRun>> run_windows(const HplConfig& config, const topology::Platform& platform,
                                           const std::vector<HostId>& placement,
                                           const PredictOptions& options,
                                           const std::vector<SampleWindow>& windows) {
  std::vector<WindowRun> runs(windows.size());
  WEFT_TRY(run_parallel(windows.size(), options.threads, [&](std::size_t i) -> Result<void> {
    WEFT_ASSIGN(runs[i], run_window(config, platform, placement, options, windows[i]));
    return {};
  }));
  return runs;
}

}  // namespace

Result<HplPrediction> predict_hpl(const HplConfig& config, const topology::Platform& platform,
                                  const PredictOptions& options) {
  WEFT_TRY(hpl_gen::check_config(config));
  if (config.n == 0) return usage_error("a prediction needs a matrix", "N = 0", "1 or more");
  const auto ranks = static_cast<std::uint32_t>(config.ranks());
  WEFT_ASSIGN(const auto placement, topology::place_ranks(platform, ranks, options.map, options.seed));

  const std::int64_t panels = config.panels();
  const int depth = config.q == 1 ? 0 : config.depth;
  std::vector<SampleWindow> windows = {{0, 0, 0, panels}};
  if (options.sample > 0) {
    const std::int64_t width = options.width > 0 ? options.width : std::clamp<std::int64_t>(config.q, 8, 32);
    const std::int64_t warm_up = options.warm_up > 0 ? options.warm_up : depth + 5;
    windows = hpl_gen::choose_windows(panels, std::max(2, options.sample), width, warm_up);
  }
  WEFT_ASSIGN(auto runs, run_windows(config, platform, placement, options, windows));

  HplPrediction out;
  out.config = config;
  out.panels_total = panels;
  std::vector<std::vector<PanelSeconds>> measured;
  std::vector<std::uint64_t> bytes(platform.fabric.link_count(), 0);
  double simulated_s = 0;
  for (std::size_t w = 0; w < windows.size(); ++w) {
    WindowRun& run = runs[w];
    const std::int64_t window = windows[w].last - windows[w].first;
    out.panels_simulated += window;
    out.shortest_window = w == 0 ? window : std::min(out.shortest_window, window);
    measured.push_back(std::move(run.panels));
    const auto& e = run.result.engine;
    out.engine.events += e.events;
    out.engine.solves += e.solves;
    out.engine.flows += e.flows;
    out.engine.flows_solved += e.flows_solved;
    out.messages += run.result.network.count;
    out.ops += run.ops;
    simulated_s += run.time_s;
    for (std::size_t l = 0; l < bytes.size(); ++l) bytes[l] += run.result.links[l].bytes;
  }
  hpl_gen::SampleFit fit = hpl_gen::fit_panels(config, windows, measured);
  // The last window runs to the end: what comes after its last panel, the solve included.
  const WindowRun& last = runs.back();
  const bool all = windows.size() == 1;
  out.solve_s = last.solve_s;
  out.time_s = all ? last.time_s : fit.total.s[Part::kTime] + last.after_last_panel_s;
  out.error_estimate = fit.relative_error * fit.total.s[Part::kTime] / out.time_s;
  out.pfact_s = fit.total.s[Part::kPfact];
  out.bcast_s = fit.total.s[Part::kBcast];
  out.swap_s = fit.total.s[Part::kSwap];
  out.update_s = fit.total.s[Part::kUpdate];
  out.bcast_took_s = fit.total.s[Part::kBcastTook];
  out.panels = std::move(fit.panels);
  out.gflops = hpl_gen::hpl_gflops(config.n, out.time_s);

  std::vector<HostId> hosts = placement;
  std::sort(hosts.begin(), hosts.end());
  hosts.erase(std::unique(hosts.begin(), hosts.end()), hosts.end());
  for (const HostId h : hosts)
    out.peak_gflops += platform.speed(h).value() * 1e-9 * static_cast<double>(platform.ranks_per_host);
  out.efficiency = out.gflops / out.peak_gflops;

  std::size_t busiest = 0;
  const auto& capacity = platform.fabric.links().capacity;
  const auto use = [&](std::size_t l) { return static_cast<double>(bytes[l]) / capacity[l]; };
  for (std::size_t l = 1; l < bytes.size(); ++l)
    if (use(l) > use(busiest)) busiest = l;
  out.model = replay::model_name(options.model, platform.fabric);
  if (!bytes.empty() && bytes[busiest] > 0) {
    out.busiest_link = platform.fabric.link_name(LinkId(static_cast<std::uint32_t>(busiest)));
    out.busiest_utilization = use(busiest) / simulated_s;
  }
  return out;
}

Result<ClosedFormPrediction> closed_forms(const HplConfig& config, const topology::Platform& platform,
                                          const PredictOptions& options) {
  const auto ranks = static_cast<std::uint32_t>(config.ranks());
  WEFT_ASSIGN(const auto placement, topology::place_ranks(platform, ranks, options.map, options.seed));
  WEFT_ASSIGN(const auto clock, replay::KernelClock::create(platform));
  ClosedFormPrediction out;
  const hpl_gen::ClosedFormRun run{config.n, config.nb, config.p, config.q};
  // gamma: the dgemm of a middling update, mean over the ranks of the first host.
  const std::int64_t m = std::max<std::int64_t>(1, config.n / config.p / 2);
  const std::int64_t n = std::max<std::int64_t>(1, config.n / config.q / 2);
  const traces::KernelShape shape{traces::Kernel::dgemm, m, n, config.nb};
  out.gamma = clock.seconds(clock.row_of(placement[0], 0), shape) / traces::kernel_flops(shape);

  // alpha and beta: an empty and a long message between the first two hosts of the placement that differ.
  const replay::MessageCost cost(platform.mpi);
  constexpr std::int64_t kLong = std::int64_t{1} << 23;
  const auto parameters = [&](const replay::MessageCost::Path& path) {
    const double alpha = cost.uncontended(0, path).one_way().seconds();
    const double beta =
        8 * (cost.uncontended(kLong, path).one_way().seconds() - alpha) / static_cast<double>(kLong);
    return hpl_gen::NetworkParameters{alpha, std::max(beta, 0.0)};
  };
  std::vector<hpl_gen::MclLayer> layers;
  const auto other =
      std::find_if(placement.begin(), placement.end(), [&](HostId h) { return h != placement[0]; });
  const auto on_first =
      static_cast<std::int64_t>(std::count(placement.begin(), placement.end(), placement[0]));
  if (on_first > 1 || other == placement.end()) {
    const auto inside = static_cast<int>(std::min<std::int64_t>(on_first, ranks));
    // As square as the node's share of the grid can be; a share of the rows and of the columns each.
    hpl_gen::MclLayer layer;
    layer.net = parameters({Duration(0), 1, true});
    layer.p = std::max<std::int64_t>(
        1, std::min<std::int64_t>(config.p, static_cast<std::int64_t>(std::sqrt(inside))));
    layer.q = std::max<std::int64_t>(1, std::min<std::int64_t>(config.q, inside / layer.p));
    layers.push_back(layer);
  }
  if (other != placement.end()) {
    topology::RouteCache routes(platform.fabric);
    const auto route = routes.find(placement[0], *other);
    double narrowest = 0;
    for (const LinkId l : route.links) {
      const double c = platform.fabric.links().capacity[l.index()];
      narrowest = narrowest == 0 ? c : std::min(narrowest, c);
    }
    layers.push_back({parameters({route.latency, narrowest, false}), config.p, config.q});
  } else {
    layers.back().p = config.p;
    layers.back().q = config.q;
  }
  out.alpha = layers.back().net.alpha;
  out.beta = layers.back().net.beta;
  const double rate = 8 / std::max(out.beta, 1e-30);
  hpl_gen::PhaseMachine machine{
      .gemm = FlopRate(1 / out.gamma),
      .ranks_per_node = static_cast<std::uint32_t>(std::max<std::int64_t>(1, on_first)),
      // The port of a host, shared by its ranks; within one host, what a message gets there.
      .injection = Bandwidth(rate),
      .latency = from_seconds(out.alpha)};
  if (platform.compute.device.bandwidth > 0) machine.host_link = Bandwidth(platform.compute.device.bandwidth);
  const hpl_gen::PhaseRun phases{
      .n = config.n,
      .nb = config.nb,
      .p = config.p,
      .q = config.q,
      .row_major = config.pmap == hpl_gen::ProcessMap::kRowMajor,
      .overlap = config.depth > 0 ? hpl_gen::Overlap::kPanel : hpl_gen::Overlap::kNone};
  out.phases = hpl_gen::phase_model(machine, phases).gflops;
  double peak = 0, memory = 0;
  for (const HostId h : placement) {
    peak += platform.speed(h).value();
    memory += platform.compute.memory_bandwidth / static_cast<double>(std::max(1u, platform.ranks_per_host));
  }
  out.hpl = hpl_gen::hpl_gflops(config.n, hpl_gen::netlib_seconds(run, out.gamma, layers.back().net));
  out.mcl = hpl_gen::hpl_gflops(config.n, hpl_gen::mcl_seconds(run, out.gamma, layers));
  out.roofline = hpl_gen::hpl_gflops(config.n, hpl_gen::roofline_seconds(run, peak, memory));
  return out;
}

}  // namespace weft::cli
