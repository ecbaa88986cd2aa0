// What a solve costs. Scenarios:
//   fat_tree/MODEL/F   F random flows of 1-10 MB, all started at once, on a 256-host full fat tree (16 leaves
//                      x 16 hosts, 16 spines); every end re-solves. The ends and sizes are those of SimGrid's
//                      `flows` load, so whole runs can be compared.
//   rings/MODEL        HPL-like: 256 ranks as a 16 x 16 grid on a dragonfly with one cable per pair; every
//                      rank keeps sending to its right neighbour in the row or in the column; random sizes,
//                      so starts and ends interleave.
// Counters: solves, flows filled per solve, links per solve, ns per solve, largest filling; all but the time
// are exact.
//   solver_bench --once MODEL SCENARIO [F]   one run without the benchmark library, to count instructions
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

#include "core/rng.hpp"
#include "network/flow_run.hpp"

namespace weft {
namespace {

constexpr double kCapacity = 12.5e9;
constexpr std::uint32_t kHosts = 256;

// Host up 0..255, host down 256..511, leaf-to-spine 512.., spine-to-leaf 768..; the spine is destination
// mod 16.
std::vector<LinkId> fat_tree_route(std::uint32_t s, std::uint32_t d) {
  std::vector<LinkId> r{LinkId(s)};
  if (s / 16 != d / 16) {
    r.emplace_back(512 + s / 16 * 16 + d % 16);
    r.emplace_back(768 + d / 16 * 16 + d % 16);
  }
  r.emplace_back(256 + d);
  return r;
}

// 16 groups of 16 routers, one host each; all-to-all in a group, one cable between groups: 16 x 16 local, 16
// x 16 global.
std::vector<LinkId> dragonfly_route(std::uint32_t s, std::uint32_t d) {
  std::vector<LinkId> r{LinkId(s)};
  const std::uint32_t gs = s / 16;
  const std::uint32_t gd = d / 16;
  std::uint32_t at = s % 16;
  const auto local = [&](std::uint32_t g, std::uint32_t from, std::uint32_t to) {
    if (from != to) r.emplace_back(512 + g * 256 + from * 16 + to);
  };
  if (gs != gd) {
    local(gs, at, gd);
    r.emplace_back(512 + 16 * 256 + gs * 16 + gd);
    at = gs;
  }
  local(gd, at, d % 16);
  r.emplace_back(256 + d);
  return r;
}

network::FlowRun make_run(const std::string& model, const std::vector<double>& capacity) {
  auto run = network::FlowRun::create(model, capacity);
  WEFT_CHECK(run.has_value(), run.error().message());
  return std::move(run).value();
}

network::FlowRun fat_tree_load(const std::string& model, const std::vector<double>& capacity,
                               std::uint32_t flows) {
  auto run = make_run(model, capacity);
  Rng rng(1);
  for (std::uint32_t i = 0; i < flows; ++i) {
    const auto s = static_cast<std::uint32_t>(rng.next() % kHosts);
    auto d = static_cast<std::uint32_t>(rng.next() % (kHosts - 1));
    if (d >= s) ++d;
    const auto bytes = static_cast<std::int64_t>(1000000 + rng.next() % 9000001);
    run.add(fat_tree_route(s, d), Bytes(bytes), kTimeZero, Duration(0));
  }
  return run;
}

// Panel broadcasts along rows and swaps along columns: each rank has a chain of sends at random gaps, mean
// gap set so that about a third of the ranks send at a time.
network::FlowRun ring_load(const std::string& model, const std::vector<double>& capacity,
                           std::uint32_t messages) {
  auto run = make_run(model, capacity);
  Rng rng(7);
  std::vector<std::int64_t> at(kHosts, 0);
  for (std::uint32_t i = 0; i < messages; ++i) {
    const std::uint32_t rank = i % kHosts;
    const std::uint32_t row = rank / 16;
    const std::uint32_t column = rank % 16;
    const bool along_row = rng.below(3) == 0;
    const std::uint32_t to = along_row
                                 ? row * 16 + (column + 1) % 16
                                 : (row + 1 + static_cast<std::uint32_t>(rng.below(4))) % 16 * 16 + column;
    const std::int64_t bytes = along_row ? 256 * 1024 : 4096 + static_cast<std::int64_t>(rng.below(65536));
    at[rank] += static_cast<std::int64_t>(rng.below(45'000'000));
    run.add(dragonfly_route(rank, to), Bytes(bytes), SimTime(Duration(at[rank])), Duration(0));
  }
  return run;
}

const std::vector<double>& capacities() {
  static const std::vector<double> c(512 + 16 * 256 + 256, kCapacity);
  return c;
}

network::FlowRun load(const std::string& model, const std::string& scenario, std::uint32_t flows) {
  return scenario == "fat_tree" ? fat_tree_load(model, capacities(), flows)
                                : ring_load(model, capacities(), flows);
}

void report(benchmark::State& state, const network::FlowRun& run, double seconds) {
  const auto& s = run.stats();
  const auto solves = static_cast<double>(s.solves);
  state.counters["solves"] = solves;
  state.counters["flows/solve"] = static_cast<double>(s.flows_solved) / solves;
  state.counters["links/solve"] = static_cast<double>(s.links_touched) / solves;
  state.counters["ns/solve"] = seconds * 1e9 / solves / static_cast<double>(state.iterations());
  state.counters["largest"] = s.max_component;
}

void bench(benchmark::State& state, const std::string& model, const std::string& scenario,
           std::uint32_t flows) {
  double seconds = 0;
  network::FlowRun run = load(model, scenario, flows);
  for (auto _ : state) {
    state.PauseTiming();
    run = load(model, scenario, flows);
    state.ResumeTiming();
    const auto begin = std::chrono::steady_clock::now();
    WEFT_CHECK(run.run(false).has_value(), "the load runs");
    seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }
  report(state, run, seconds);
}

}  // namespace
}  // namespace weft

int main(int argc, char** argv) {
  if (argc >= 4 && std::string(argv[1]) == "--once") {
    const auto flows = static_cast<std::uint32_t>(argc > 4 ? std::atoi(argv[4]) : 1000);
    auto run = weft::load(argv[2], argv[3], flows);
    WEFT_CHECK(run.run(false).has_value(), "the load runs");
    const auto& s = run.stats();
    fmt::print(
        "{} {} F {} makespan {:.12f} s, {} solves, {:.1f} flows and {:.1f} links a solve, largest {}\n",
        argv[2], argv[3], flows, weft::to_seconds(run.makespan()), s.solves,
        static_cast<double>(s.flows_solved) / static_cast<double>(s.solves),
        static_cast<double>(s.links_touched) / static_cast<double>(s.solves), s.max_component);
    return 0;
  }
  for (const char* model : {"max-min", "max-min-component"}) {
    for (const std::uint32_t flows : {1000u, 3000u, 10000u})
      benchmark::RegisterBenchmark(fmt::format("fat_tree/{}/{}", model, flows).c_str(), weft::bench, model,
                                   "fat_tree", flows)
          ->Unit(benchmark::kMillisecond);
    benchmark::RegisterBenchmark(fmt::format("rings/{}", model).c_str(), weft::bench, model, "rings", 100000u)
        ->Unit(benchmark::kMillisecond);
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
