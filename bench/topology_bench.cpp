// Networks of 100,000 hosts: time to build, routes per second between random pairs, peak memory.
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include "core/rng.hpp"
#include "topology/platform/platform.hpp"

namespace weft::topology {
namespace {

struct Network {
  const char* name;
  const char* spec;
};
constexpr Network kNetworks[] = {
    {"fat_tree", "fat-tree:m=74,n=3"},
    {"fat_tree_random", "fat-tree:m=74,n=3,routing=random"},
    {"dragonfly", "dragonfly:p=16,a=32,h=16,g=196"},
    {"dragonfly_ugal", "dragonfly:p=16,a=32,h=16,g=196,routing=ugal-u"},
    {"aries", "aries:groups=241"},
    {"torus", "torus:dims=48x48x44"},
    {"hyperx", "hyperx:dims=24x24x22,hosts_per_switch=8"},
    {"slim_fly", "slim-fly:q=43,hosts_per_switch=28,routing=ecmp"},
};

void peak(benchmark::State& state) {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  state.counters["peak_rss_MB"] = static_cast<double>(usage.ru_maxrss) / 1024;
}

void Build(benchmark::State& state, const char* spec) {
  for (auto _ : state) {
    auto p = load_platform(spec).value();
    benchmark::DoNotOptimize(p.fabric.link_count());
    state.counters["hosts"] = p.fabric.host_count();
    state.counters["cables"] = p.fabric.cable_count();
  }
  peak(state);
}

void Routes(benchmark::State& state, const char* spec) {
  const auto p = load_platform(spec).value();
  const Routing& routing = p.fabric.routing();
  std::vector<std::uint32_t> load;
  if (routing.scope() == RouteScope::kLoad) {
    Rng fill(2);
    load.resize(p.fabric.link_count());
    for (auto& x : load) x = static_cast<std::uint32_t>(fill.below(3));
  }
  Rng rng(1);
  std::vector<LinkId> out;
  // Shortest-path routings search once per destination switch: that is not what is measured.
  for (std::uint32_t h = 1; h < p.fabric.host_count(); ++h) {
    out.clear();
    benchmark::DoNotOptimize(routing.route(HostId(0), HostId(h), out));
  }
  std::uint64_t message = 0, hops = 0;
  for (auto _ : state) {
    out.clear();
    const HostId a(static_cast<std::uint32_t>(rng.below(p.fabric.host_count())));
    const HostId b(static_cast<std::uint32_t>(rng.below(p.fabric.host_count())));
    benchmark::DoNotOptimize(routing.route_message(a, b, message++, load, out));
    hops += out.size();
  }
  state.SetItemsProcessed(state.iterations());
  state.counters["mean_hops"] = static_cast<double>(hops) / static_cast<double>(message);
  peak(state);
}

[[maybe_unused]] const bool kRegistered = [] {
  for (const Network& n : kNetworks) {
    benchmark::RegisterBenchmark((std::string("Build/") + n.name).c_str(), Build, n.spec)
        ->Unit(benchmark::kMillisecond);
    benchmark::RegisterBenchmark((std::string("Routes/") + n.name).c_str(), Routes, n.spec);
  }
  return true;
}();

}  // namespace
}  // namespace weft::topology
