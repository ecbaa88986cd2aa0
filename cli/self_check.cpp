#include "cli/self_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "congestion/sharing_model.hpp"
#include "core/quantity_text.hpp"
#include "core/rng.hpp"
#include "network/flow_run.hpp"
#include "network/sharing.hpp"
#include "predict/hpl_prediction.hpp"
#include "replay/engine.hpp"
#include "schedule/search.hpp"
#include "topology/placement/placement.hpp"
#include "topology/platform/platform.hpp"
#include "traces/synthetic/pattern.hpp"

namespace weft::cli {
namespace {

using Cases = std::vector<CheckedCase>;

// 80 ps a byte, two links of 1 us between any two hosts.
constexpr const char* kCrossbar = "crossbar:n=8,bw=12.5GB/s,lat=1us";
constexpr std::int64_t kMicro = 1'000'000;  // ps

CheckedCase same_time(std::string name, std::string witness, Duration got, Duration expected) {
  return {std::move(name), std::move(witness), show(got), show(expected), got == expected};
}

std::vector<LinkId> route(const topology::Fabric& fabric, HostId from, HostId to) {
  std::vector<LinkId> links;
  (void)fabric.routing().route(from, to, links);
  return links;
}

Result<replay::ReplayResult> replay_pattern(std::string_view kind,
                                            const std::vector<std::pair<std::string, std::string>>& keys,
                                            const topology::Platform& platform,
                                            const replay::ReplayOptions& options) {
  traces::PatternArgs args;
  for (const auto& [key, value] : keys) args.set(key, value);
  WEFT_ASSIGN(const auto trace, traces::synthetic_trace(kind, args, 0));
  WEFT_ASSIGN(const auto hosts, topology::place_ranks(platform, trace->header().ranks, "block", 0));
  return replay::replay(*trace, platform, hosts, options);
}

Result<void> add_replays(Cases& cases) {
  WEFT_ASSIGN(const auto platform, topology::load_platform(kCrossbar));
  replay::ReplayOptions raw;
  raw.raw = replay::RawMode::kRendezvous;
  WEFT_ASSIGN(
      const auto ring,
      replay_pattern("ring", {{"ranks", "8"}, {"bytes", "1MB"}, {"iterations", "10"}}, platform, raw));
  cases.push_back(
      same_time("ring of 8, 10 times 1 MB", "10 (2 L + n G)", ring.makespan, Duration(820 * kMicro)));
  WEFT_ASSIGN(
      const auto spread,
      replay_pattern("alltoall", {{"ranks", "8"}, {"bytes", "1MB"}, {"iterations", "1"}, {"how", "spread"}},
                     platform, raw));
  cases.push_back(same_time("all to all of 8 at once, 1 MB", "2 L + 7 n G: ports are shared", spread.makespan,
                            Duration(562 * kMicro)));
  raw.collectives["bcast"] = "binomial";
  WEFT_ASSIGN(
      const auto bcast,
      replay_pattern("collective", {{"op", "bcast"}, {"ranks", "8"}, {"bytes", "1MB"}, {"iterations", "1"}},
                     platform, raw));
  cases.push_back(
      same_time("binomial broadcast to 8, 1 MB", "3 (2 L + n G)", bcast.makespan, Duration(246 * kMicro)));

  replay::ReplayOptions path;
  path.critical_path = true;
  WEFT_ASSIGN(
      const auto halo,
      replay_pattern("halo", {{"dims", "4x2"}, {"bytes", "64KiB"}, {"iterations", "3"}, {"compute", "50us"}},
                     platform, path));
  Duration sum{0};
  for (const Duration d : halo.path.parts) sum += d;
  cases.push_back(same_time("halo exchange: parts of its critical path", "they add up to the makespan", sum,
                            halo.makespan));
  std::uint64_t uneven = 0;
  for (const auto& r : halo.ranks)
    uneven += r.compute + r.send + r.recv + r.wait + r.collective != r.finish ? 1 : 0;
  cases.push_back({"halo exchange: five parts of every rank", "they add up to its finish",
                   std::to_string(uneven) + " differ", "0 differ", uneven == 0});
  return {};
}

// Three flows into one host: they share its link, and whoever is left shares less.
Result<void> add_flows(Cases& cases) {
  WEFT_ASSIGN(const auto platform, topology::load_platform("crossbar:n=4,bw=1GB/s,lat=0"));
  WEFT_ASSIGN(auto run, network::FlowRun::create("max-min", platform.fabric));
  for (std::uint32_t i = 0; i < 3; ++i) {
    run.add(route(platform.fabric, HostId(i), HostId(3)), Bytes((i + 1) * 1'000'000), SimTime{}, Duration(0));
  }
  WEFT_TRY(run.run(false));
  const std::int64_t expected[] = {3000, 5000, 6000};
  for (std::uint32_t i = 0; i < 3; ++i)
    cases.push_back(same_time(fmt::format("flow {} of three into one host", i + 1), "max-min fair shares",
                              run.finish(i).time_since_epoch(), Duration(expected[i] * kMicro)));
  return {};
}

// Rates of random flows over a fat-tree: no link carries more than it can, and every flow crosses a full link on which none
// is faster, which only the max-min fair rates do.
Result<void> add_certificate(Cases& cases, std::uint64_t seed) {
  WEFT_ASSIGN(const auto platform, topology::load_platform("fat-tree:m=8,n=3,bw=10GB/s,lat=1us"));
  const auto& fabric = platform.fabric;
  const auto& capacity = fabric.links().capacity;
  WEFT_ASSIGN(const auto model, congestion::make_sharing_model("max-min", capacity));
  Rng rng(seed);
  std::vector<FlowId> flows;
  for (int i = 0; i < 2000; ++i) {
    const HostId a(static_cast<std::uint32_t>(rng.below(fabric.host_count())));
    const HostId b(static_cast<std::uint32_t>(rng.below(fabric.host_count())));
    if (a == b) continue;
    flows.push_back(model->add(route(fabric, a, b), 1.0, 1e18));
  }
  model->solve();
  std::vector<double> load(capacity.size(), 0.0), fastest(capacity.size(), 0.0);
  for (const FlowId f : flows)
    for (const LinkId l : model->route(f)) {
      load[l.index()] += model->rate(f);
      fastest[l.index()] = std::max(fastest[l.index()], model->rate(f));
    }
  std::uint64_t wrong = 0;
  for (std::size_t l = 0; l < load.size(); ++l) wrong += load[l] > capacity[l] * (1 + 1e-9) ? 1 : 0;
  for (const FlowId f : flows) {
    const double rate = model->rate(f);
    const auto& links = model->route(f);
    wrong += std::none_of(links.begin(), links.end(),
                          [&](LinkId l) {
                            return load[l.index()] >= capacity[l.index()] * (1 - 1e-9) &&
                                   fastest[l.index()] <= rate * (1 + 1e-9);
                          })
                 ? 1
                 : 0;
  }
  cases.push_back({fmt::format("rates of {} random flows on a fat-tree", flows.size()),
                   "the max-min certificate", fmt::format("{} violated", wrong), "0 violated", wrong == 0});
  return {};
}

// One rank sends nothing: the time is that of its floating-point operations.
Result<void> add_hpl(Cases& cases) {
  WEFT_ASSIGN(const auto platform,
              topology::load_platform("crossbar:n=16,bw=12.5GB/s,lat=500ns,speed=10Gflops"));
  hpl_gen::HplConfig config;
  config.n = 2000;
  config.nb = 100;
  config.p = config.q = 1;
  WEFT_ASSIGN(const auto one, predict::predict_hpl(config, platform, {}));
  // 2/3 N^3 + 3/2 N^2 by HPL's formula; what its kernels really do is a little more.
  cases.push_back({"HPL on one rank of 10 Gflop/s, N = 2,000", "its flops at that speed, within 5 %",
                   fmt::format("{:.2f} Gflop/s", one.gflops), "9.5 to 10 Gflop/s",
                   one.gflops > 9.5 && one.gflops <= 10.0});
  config.p = config.q = 4;
  WEFT_ASSIGN(const auto all, predict::predict_hpl(config, platform, {}));
  WEFT_ASSIGN(const auto again, predict::predict_hpl(config, platform, {}));
  cases.push_back({"HPL on 4 x 4 ranks, twice", "the same bits", fmt::format("{:.17g} s", all.time_s),
                   fmt::format("{:.17g} s", again.time_s),
                   all.time_s == again.time_s && all.gflops > 10 && all.gflops < 160});
  return {};
}

Result<void> add_search(Cases& cases) {
  WEFT_ASSIGN(const auto platform, topology::load_platform("cs-storm"));
  WEFT_ASSIGN(schedule::Grid grid, schedule::parse_grid("4x2", "selftest"));
  grid.face.fill(Bytes(256 << 20));
  const schedule::Exchange exchange = schedule::halo_exchange(grid);
  WEFT_ASSIGN(const auto hosts, topology::place_ranks(platform, exchange.ranks, "block", 0));
  WEFT_ASSIGN(const auto workload, schedule::place_exchange(exchange, platform.fabric, hosts));
  const std::string model(network::model_name("", platform.fabric));
  WEFT_ASSIGN(const auto oracle, schedule::make_rate_oracle(model, workload, platform.fabric));
  schedule::SearchOptions options;
  const auto all = schedule::search_schedule(workload, *oracle, options, {});
  options.exhaustive_limit = 0;
  const auto bounded = schedule::search_schedule(workload, *oracle, options, {});
  cases.push_back({"halo 4x2 on a PCIe tree: best of 20,736 schedules",
                   "annealing against its bound finds the same", show_seconds(bounded.best_s),
                   show_seconds(all.best_s),
                   bounded.proof != schedule::Proof::kNone && all.proof == schedule::Proof::kExhaustion &&
                       std::fabs(bounded.best_s - all.best_s) <= 1e-9 * all.best_s});
  return {};
}

}  // namespace

Result<std::vector<CheckedCase>> self_check(std::uint64_t seed) {
  Cases cases;
  WEFT_TRY(add_replays(cases));
  WEFT_TRY(add_flows(cases));
  WEFT_TRY(add_certificate(cases, seed));
  WEFT_TRY(add_hpl(cases));
  WEFT_TRY(add_search(cases));
  return cases;
}

}  // namespace weft::cli
