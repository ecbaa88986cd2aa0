#include "tests/work/scenarios.hpp"

#include "core/check.hpp"
#include "core/rng.hpp"
#include "hpl_gen/hpl_trace.hpp"
#include "network/flow_run.hpp"
#include "replay/engine.hpp"
#include "schedule/search.hpp"
#include "tests/support/checkout.hpp"
#include "tests/support/hosts.hpp"
#include "topology/platform/platform.hpp"
#include "topology/routing/route_cache.hpp"
#include "traces/formats.hpp"
#include "traces/synthetic/pattern.hpp"
#include "traces/trace.hpp"

namespace weft::work {
namespace {

template <class T>
T must(Result<T> r) {
  WEFT_CHECK(r.has_value(), r.error().message());
  return std::move(r).value();
}

// `flows` messages of 1 to 16 MiB between random hosts, all at once, run to the end.
Counts random_flows(const char* spec, std::uint32_t flows, const char* model = "max-min") {
  const topology::Platform p = must(topology::load_platform(spec));
  network::FlowRun run = must(network::FlowRun::create(model, p.fabric));
  topology::RouteCache routes(p.fabric);
  const std::uint32_t hosts = p.fabric.rank_hosts();
  Rng rng(1);
  for (std::uint32_t i = 0; i < flows; ++i) {
    const auto s = static_cast<std::uint32_t>(rng.below(hosts));
    const auto d = static_cast<std::uint32_t>((s + 1 + rng.below(hosts - 1)) % hosts);
    const auto route = routes.find(HostId(s), HostId(d));
    run.add(route.links, Bytes(static_cast<std::int64_t>((1 << 20) + rng.below(15 << 20))), kTimeZero,
            route.latency);
  }
  WEFT_CHECK(run.run(false).has_value(), "the flows run");
  const auto& s = run.stats();
  return {{"events", run.events()},
          {"solves", s.solves},
          {"flows_solved", s.flows_solved},
          {"links_touched", s.links_touched},
          {"max_component", s.max_component}};
}

Counts replayed(traces::TraceReader& trace, const char* spec, const char* model = "max-min") {
  const topology::Platform p = must(topology::load_platform(spec));
  replay::ReplayOptions options;
  options.model = model;
  const auto r = must(replay::replay(trace, p, testing::first_hosts(trace.header().ranks), options));
  WEFT_CHECK(r.finished, r.deadlock.summary());
  return {{"messages", r.network.count},
          {"events", r.engine.events},
          {"solves", r.engine.solves},
          {"flows_solved", r.engine.flows_solved},
          {"links_touched", r.engine.links_touched},
          {"max_component", r.engine.max_component}};
}

std::unique_ptr<hpl_gen::HplTrace> hpl(std::int64_t n, std::int64_t nb, int p, int q) {
  hpl_gen::HplDat dat;
  dat.n = {n};
  dat.nb = {nb};
  dat.grids = {{p, q}};
  dat.depth = {1};
  return must(hpl_gen::HplTrace::create(dat));
}
Counts hpl_on(const char* spec) { return replayed(*hpl(2000, 64, 8, 8), spec); }

std::unique_ptr<traces::TraceReader> pattern(const char* kind,
                                             const std::vector<std::pair<const char*, const char*>>& keys) {
  traces::PatternArgs args;
  for (const auto& [key, value] : keys) args.set(key, value);
  return must(traces::synthetic_trace(kind, args, 1));
}

Counts read_all(traces::TraceReader& t) {
  traces::OpBlock block;
  std::uint64_t ops = 0, blocks = 0, values = 0;
  for (std::uint32_t r = 0; r < t.header().ranks; ++r)
    while (must(t.next_block(RankId(r), block))) {
      ops += block.ops.size();
      values += block.lists.size();
      ++blocks;
    }
  return {{"operations", ops}, {"blocks", blocks}, {"list_values", values}};
}

Counts halo_search(const char* grid, const char* spec) {
  const topology::Platform p = must(topology::load_platform(spec));
  auto g = must(schedule::parse_grid(grid, "grid"));
  g.face.fill(Bytes(1 << 20));
  const schedule::Exchange exchange = schedule::halo_exchange(g);
  const auto hosts = testing::first_hosts(exchange.ranks);
  const schedule::Workload w = must(schedule::place_exchange(exchange, p.fabric, hosts));
  const auto oracle = must(schedule::make_rate_oracle("pcie", w, p.fabric));
  schedule::SearchOptions o;
  o.evaluations = 20'000;
  o.nodes = 20'000;
  o.sample = 0;
  const auto r = schedule::search_schedule(w, *oracle, o, {});
  return {{"evaluated", static_cast<std::uint64_t>(r.evaluated)}, {"sets_solved", r.sets_solved}};
}

constexpr Scenario kScenarios[] = {
    {"flows-fat-tree", "10,000 random messages at once on a fat-tree of 4,096 hosts",
     [] { return random_flows("xgft:h=3,m=16x16x16,w=1x16x16", 10'000); }},
    {"flows-dragonfly", "3,000 on a dragonfly of 1,056 hosts",
     [] { return random_flows("dragonfly:p=4,a=8,h=4", 3'000); }},
    {"flows-torus", "1,000 on a torus of 1,000 hosts",
     [] { return random_flows("torus:dims=10x10x10", 1'000); }},
    {"flows-pcie", "300 among 64 GPUs of one PCIe tree, arbitrated",
     [] { return random_flows("pcie:tree=rc(8*switch(8*gpu)),bw=12GB/s,lat=1us", 300, "pcie"); }},
    {"flows-pcie-nodes", "300 among 128 GPUs in 16 nodes, arbitrated there, on a fat-tree",
     [] { return random_flows("fat-tree:m=8,n=2,bw=100Gbps,lat=500ns,node=cs-storm", 300, "pcie"); }},
    {"hpl-crossbar", "HPL N=2000 NB=64 on 8x8, look-ahead 1, crossbar",
     [] { return hpl_on("crossbar:n=64,bw=12.5GB/s,lat=1us,speed=10Gflops"); }},
    {"hpl-fat-tree", "the same on a fat-tree",
     [] { return hpl_on("fat-tree:m=8,n=3,bw=12.5GB/s,lat=1us,speed=10Gflops"); }},
    {"hpl-tapered", "the same on a tree with half the links upwards",
     [] { return hpl_on("xgft:h=2,m=8x8,w=1x4,bw=12.5GB/s,lat=1us,speed=10Gflops"); }},
    {"hpl-dragonfly", "the same on a dragonfly",
     [] { return hpl_on("dragonfly:p=2,a=4,h=2,bw=12.5GB/s,lat=1us,speed=10Gflops"); }},
    {"hpl-torus", "the same on a torus",
     [] { return hpl_on("torus:dims=4x4x4,bw=12.5GB/s,lat=1us,speed=10Gflops"); }},
    {"alltoall-fat-tree", "an all-to-all of 128 ranks, 64 KiB each, on a fat-tree",
     [] {
       const auto t = pattern(
           "collective", {{"op", "alltoall"}, {"ranks", "128"}, {"bytes", "64KiB"}, {"iterations", "1"}});
       return replayed(*t, "fat-tree:m=8,n=3,bw=12.5GB/s,lat=1us");
     }},
    {"ring-alone", "a ring of 4,096 ranks, 10 rounds, messages that meet nobody",
     [] {
       const auto t = pattern("ring", {{"ranks", "4096"}, {"bytes", "8KiB"}, {"iterations", "10"}});
       return replayed(*t, "crossbar:n=4096,bw=12.5GB/s,lat=1us", "contention-free");
     }},
    {"generate-hpl", "the operations of HPL N=4000 NB=128 on 8x8",
     [] { return read_all(*hpl(4000, 128, 8, 8)); }},
    {"read-weft", "the operations of the recorded sample of 16 ranks",
     [] {
       const auto t =
           must(traces::open_trace({support::source_dir() + "/traces/samples/hpl_4x4_2000_64.weft"}));
       return read_all(*t);
     }},
    {"search-halo", "a halo exchange of 8 GPUs on a PCIe tree, searched",
     [] { return halo_search("4x2", "cs-storm"); }},
};

}  // namespace

std::span<const Scenario> scenarios() { return kScenarios; }

}  // namespace weft::work
