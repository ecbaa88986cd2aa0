#include "predict/hpl_prediction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "hpl_gen/closed_form/closed_form.hpp"
#include "hpl_gen/closed_form/phase_model.hpp"
#include "hpl_gen/grid.hpp"
#include "network/sharing.hpp"
#include "predict/hpl_choices.hpp"
#include "predict/hpl_exchanges.hpp"
#include "predict/hpl_peak.hpp"
#include "predict/hpl_windows.hpp"
#include "replay/kernel_time.hpp"
#include "replay/message_cost.hpp"
#include "topology/routing/no_route.hpp"
#include "topology/routing/route_cache.hpp"
#include "topology/sockets.hpp"

namespace weft::predict {
namespace {

using hpl_gen::HplConfig;
using hpl_gen::PanelSeconds;
using hpl_gen::SampleWindow;
using Part = PanelSeconds::Part;

// With noise the kernels of a solve are drawn anew in each sample: its error is that many times larger.
constexpr double kNoisySolve = 6;
// A solve has no pivot exchanges: where these are series it begins otherwise, and takes other by so much of itself at most (docs/hpl.md).
constexpr double kSolveInSeries = 0.002;

std::vector<SampleWindow> windows_of(const HplConfig& config, const PredictOptions& options) {
  const std::int64_t panels = config.panels();
  if (options.sample == 0) return {{0, 0, 0, panels}};
  const std::int64_t width = options.width > 0 ? options.width : std::clamp<std::int64_t>(config.q, 8, 32);
  const std::int64_t warm_up = options.warm_up > 0 ? options.warm_up : default_warm_up(config);
  return hpl_gen::choose_windows(panels, std::max(2, options.sample), width, warm_up);
}

// What is kept of each panel, simulated or not, is about 100 bytes.
constexpr std::int64_t kMostPanels = std::int64_t{1} << 22;

// Quantities that are computed from the time must be numbers that a reader can use.
Result<void> check_time(const HplPrediction& p) {
  if (p.time_s > 0 && std::isfinite(p.gflops) && std::isfinite(p.efficiency)) return {};
  return usage_error(
      "the prediction is no number: at this speed the run takes no time that can be told from none",
      fmt::format("{:.3g} s at a peak of {:.3g} Gflop/s", p.time_s, p.peak_gflops),
      "a speed of real machines, or a larger N");
}

// How far off clocks of a sample are that power holds down: a window does not see how its ranks waited in the seconds before it, which count
// in runs that take not many times as long. Relative, of what is computed; of the solve, which is short, so many times that.
constexpr double kClock = 0.01, kSolveClock = 5;
constexpr double kClockTimes = 5;
double unknown_clock(const topology::PowerBudget& power, double run_s) {
  return power.varies() ? kClock * std::min(1.0, kClockTimes * power.time / run_s) : 0;
}

// What has a rate, by replay or by closed forms.
Result<void> check_run(const HplConfig& config) {
  WEFT_TRY(hpl_gen::check_config(config));
  if (config.n == 0) return usage_error("a prediction needs a matrix", "N = 0", "1 or more");
  return {};
}

Result<void> check_counts(const PredictOptions& options) {
  for (const auto& [name, count] : {std::pair<const char*, std::int64_t>{"sample", options.sample},
                                    {"width", options.width},
                                    {"warm_up", options.warm_up},
                                    {"most_pieces", options.most_pieces}})
    if (count < 0)
      return usage_error(fmt::format("{} of a prediction is not a count", name), std::to_string(count),
                         "0 or more");
  return {};
}

}  // namespace

void set_names(HplPrediction& prediction, const topology::Platform& platform) {
  prediction.platform = platform.name;
  prediction.label = platform.label.empty() ? platform.name : platform.label;
}

std::int64_t planned_panels(const HplConfig& config, const PredictOptions& options) {
  return hpl_gen::check_config(config) && config.panels() <= kMostPanels
             ? panels_of(windows_of(config, options))
             : 0;
}

Result<HplPrediction> predict_hpl(const HplConfig& asked, const topology::Platform& platform,
                                  const PredictOptions& options) {
  WEFT_TRY(check_run(asked));
  WEFT_TRY(check_counts(options));
  if (asked.panels() > kMostPanels)
    return not_supported(fmt::format("a prediction of {} panels", asked.panels()),
                         fmt::format("at most {} = N / NB", kMostPanels));
  const auto ranks = static_cast<std::uint32_t>(asked.ranks());
  WEFT_ASSIGN(const auto placement, topology::place_ranks(platform, ranks, options.map, options.seed));
  WEFT_ASSIGN(const HplConfig config, laid_on_nodes(asked, platform.fabric, placement));

  const std::int64_t panels = config.panels();
  const std::vector<SampleWindow> windows = windows_of(config, options);
  WEFT_ASSIGN(auto exchanges, choose_exchanges(config, platform, placement, options, panels_of(windows)));
  std::vector<WindowTask> tasks;
  tasks.reserve(windows.size());
  for (const SampleWindow& w : windows) tasks.push_back({w, !exchanges.series, options.noise});
  WEFT_ASSIGN(auto runs, run_windows(config, platform, placement, options, tasks));

  HplPrediction out;
  out.config = config;
  set_names(out, platform);
  out.panels_total = panels;
  out.exchanges = std::move(exchanges);
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
  fit.panels.back() += last.tail;
  fit.total += last.tail;
  const bool all = windows.size() == 1;
  if (all && last.device_s > 0) {
    out.device_s = last.device_s;
    out.device_hidden_s = last.device_hidden_s;
  }
  out.solve_s = last.solve_s;
  out.time_s = all ? last.time_s : fit.total.s[Part::kTime] + last.after_last_panel_s;
  if (fit.error && out.exchanges.differs_at_most) {
    const auto& e = fit.error->s;
    const double d = *out.exchanges.differs_at_most * out.time_s;
    const double clock_off = all ? 0 : unknown_clock(platform.compute.power, out.time_s);
    const double pfact_off = clock_off * fit.total.s[Part::kPfact];
    const double update_off = clock_off * fit.total.s[Part::kUpdate];
    const double solve =
        fit.solve_error * (options.noise ? kNoisySolve : 1) + kSolveClock * clock_off * out.solve_s;
    out.error_estimate = (std::hypot(e[Part::kTime], d) + pfact_off + update_off) / out.time_s;
    const auto& phases = out.exchanges.phases_at_most.s;
    const double solve_d = d > 0 ? std::max(*out.exchanges.differs_at_most, kSolveInSeries) * out.solve_s : 0;
    // What the sample misses and what the series leaves out have nothing to do with each other.
    const auto both = [&](Part part) { return std::hypot(e[part], phases[part] * out.time_s); };
    out.phase_error = {both(Part::kPfact) + pfact_off, both(Part::kBcast), both(Part::kSwap),
                       both(Part::kUpdate) + update_off, solve + solve_d};
  }
  out.pfact_s = fit.total.s[Part::kPfact];
  out.bcast_s = fit.total.s[Part::kBcast];
  out.swap_s = fit.total.s[Part::kSwap];
  out.update_s = fit.total.s[Part::kUpdate];
  out.bcast_took_s = fit.total.s[Part::kBcastTook];
  out.panels = std::move(fit.panels);
  out.gflops = hpl_gen::hpl_gflops(config.n, out.time_s);

  WEFT_ASSIGN(const auto clock, replay::KernelClock::create(platform));
  out.peak_gflops = HplPeak(platform, clock, config).on(hosts_of(placement)) * 1e-9;
  out.efficiency = out.gflops / out.peak_gflops;

  WEFT_TRY(check_time(out));

  std::size_t busiest = 0;
  const topology::LinkTable& links = platform.fabric.links();
  // Nobody is in anybody's way on a fatpipe.
  const auto use = [&](std::size_t l) {
    return links.is_fatpipe(LinkId(static_cast<std::uint32_t>(l)))
               ? 0
               : static_cast<double>(bytes[l]) / links.capacity[l];
  };
  for (std::size_t l = 1; l < bytes.size(); ++l)
    if (use(l) > use(busiest)) busiest = l;
  out.model = network::model_name(options.model, platform.fabric);
  if (!bytes.empty() && use(busiest) > 0) {
    out.busiest_link = platform.fabric.link_name(LinkId(static_cast<std::uint32_t>(busiest)));
    out.busiest_utilization = use(busiest) / simulated_s;
  }
  return out;
}

namespace {

// Closed forms see one route; a run that would end for want of another has no rate. From the first host to each and back.
Result<void> all_joined(const topology::Fabric& fabric, topology::RouteCache& routes,
                        const std::vector<HostId>& placement) {
  const HostId first = placement[0];
  HostId last = first;
  for (const HostId h : placement) {
    if (h == last) continue;
    last = h;
    if (h == first) continue;
    for (const auto& [from, to] : {std::pair(first, h), std::pair(h, first)})
      if (!routes.find(from, to).reachable) return topology::no_route(fabric, from, to);
  }
  return {};
}

}  // namespace

Result<ClosedFormPrediction> closed_forms(const HplConfig& asked, const topology::Platform& platform,
                                          const PredictOptions& options) {
  WEFT_TRY(check_run(asked));
  const auto ranks = static_cast<std::uint32_t>(asked.ranks());
  WEFT_ASSIGN(const auto placement, topology::place_ranks(platform, ranks, options.map, options.seed));
  WEFT_ASSIGN(const HplConfig config, laid_on_nodes(asked, platform.fabric, placement));
  WEFT_ASSIGN(const auto clock, replay::KernelClock::create(platform));
  ClosedFormPrediction out;
  out.config = config;
  const hpl_gen::ClosedFormRun run{config.n, config.nb, config.p, config.q};
  // gamma: the dgemm of a middling update on the slowest rank: all have the same work, and wait for it.
  const std::int64_t m = std::max<std::int64_t>(1, config.n / config.p / 2);
  const std::int64_t n = std::max<std::int64_t>(1, config.n / config.q / 2);
  const bool device = hpl_gen::on_accelerators(config.program);
  const std::int64_t nb = std::min(config.nb, config.n);
  const traces::KernelShape shape{device ? traces::Kernel::device_dgemm : traces::Kernel::dgemm, m, n, nb};
  const std::vector<std::uint32_t> local = topology::local_ranks(placement, platform.fabric.host_count());
  std::uint32_t slowest = clock.row_of(placement[0], local[0]);
  double most_s = clock.seconds(slowest, shape);
  for (std::size_t r = 1; r < placement.size(); ++r) {
    const std::uint32_t row = clock.row_of(placement[r], local[r]);
    if (row == slowest) continue;
    if (const double s = clock.seconds(row, shape); s > most_s) most_s = s, slowest = row;
  }
  out.gamma = most_s / traces::kernel_flops(shape);

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
    WEFT_TRY(all_joined(platform.fabric, routes, placement));
    const auto route = routes.find(placement[0], *other);
    layers.push_back({parameters({route.latency, route.narrowest, false}), config.p, config.q});
    out.network = platform.fabric.host_name(placement[0]) + " to " + platform.fabric.host_name(*other);
  } else {
    out.network = "ranks of " + platform.fabric.host_name(placement[0]);
    layers.back().p = config.p;
    layers.back().q = config.q;
  }
  out.alpha = layers.back().net.alpha;
  out.beta = layers.back().net.beta;
  const double rate = 8 / std::max(out.beta, 1e-30);
  hpl_gen::PhaseMachine machine{
      .gemm = FlopRate(1 / out.gamma),
      // The port of a host, shared by its ranks; within one host, what a message gets there.
      .injection = Bandwidth(rate),
      .latency = from_seconds(out.alpha)};
  machine.node_of.reserve(placement.size());
  for (const HostId h : placement) machine.node_of.push_back(h.index());
  // Netlib's messages leave from the host; what its kernels move to a device and back is in their time.
  if (device && platform.compute.device.bandwidth > 0)
    machine.host_link = Bandwidth(platform.compute.device.bandwidth);
  const hpl_gen::ProcessGrid grid = hpl_gen::grid_of(config);
  const hpl_gen::PhaseRun phases{.n = config.n,
                                 .nb = nb,
                                 .p = config.p,
                                 .q = config.q,
                                 .row_major = config.pmap == hpl_gen::ProcessMap::kRowMajor,
                                 .local_p = grid.local_p,
                                 .local_q = grid.local_q,
                                 .overlap = device                    ? hpl_gen::Overlap::kSplit
                                            : config.look_ahead() > 0 ? hpl_gen::Overlap::kPanel
                                                                      : hpl_gen::Overlap::kNone,
                                 .split = config.rochpl.split};
  if (device) {
    const auto rate_of = [&](const traces::KernelShape& s, double work) {
      const double seconds = clock.seconds(slowest, s);
      return seconds > 0 ? work / seconds : 0;
    };
    const std::int64_t half = std::max<std::int64_t>(1, nb / 2);
    const traces::KernelShape inner{traces::Kernel::dgemm, m, half, half};
    if (const double r = rate_of(inner, traces::kernel_flops(inner)); r > 0) machine.factor = FlopRate(r);
    const traces::KernelShape copy{traces::Kernel::copy_to_host, m, nb, 1};
    if (const double r = rate_of(copy, 8 * static_cast<double>(m) * static_cast<double>(nb)); r > 0)
      machine.panel_link = Bandwidth(r);
    if (config.rochpl.device_memory > 0) {
      // What the panel's buffers leave (columns_without_room in hpl_gen/steps/rochpl_step.hpp).
      const std::int64_t rows = config.n / config.p, columns = config.n / config.q;
      machine.device_memory = Bytes(std::max<std::int64_t>(
          1, config.rochpl.device_memory - hpl_gen::device_buffers(nb, rows, columns)));
      const traces::KernelShape both_ways{traces::Kernel::copy_to_device, m, nb, 2};
      if (const double r = rate_of(both_ways, 8 * static_cast<double>(m) * static_cast<double>(nb)); r > 0)
        machine.stream_link = Bandwidth(r);
    }
  }
  out.phases = hpl_gen::phase_model(machine, phases).gflops;
  const std::vector<HostId> hosts = hosts_of(placement);
  const double peak = HplPeak(platform, clock, config).on(hosts);
  const double memory = platform.compute.memory_bandwidth * static_cast<double>(hosts.size());
  out.hpl = hpl_gen::hpl_gflops(config.n, hpl_gen::netlib_seconds(run, out.gamma, layers.back().net));
  out.mcl = hpl_gen::hpl_gflops(config.n, hpl_gen::mcl_seconds(run, out.gamma, layers));
  out.roofline = hpl_gen::hpl_gflops(config.n, hpl_gen::roofline_seconds(run, peak, memory));
  return out;
}

}  // namespace weft::predict
