// Everything that is said to add up, of every recorded trace that replays and of random programs: parts of the critical path to
// the makespan, their differences to the difference, efficiencies to the parallel one, wait states to the waits, kernels to
// computation, messages in the way to contention.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "hpl_gen/hpl_trace.hpp"
#include "predict/path_details.hpp"
#include "predict/sensitivity.hpp"
#include "report/why/critical_path.hpp"
#include "report/why/path_difference.hpp"
#include "tests/replay/microseconds.hpp"
#include "tests/replay/well_formed.hpp"
#include "tests/replay/why/why_sums.hpp"
#include "tests/support/checkout.hpp"
#include "tests/support/needs.hpp"
#include "tests/support/seed.hpp"
#include "traces/formats.hpp"

namespace weft::report::why_sums_test {
namespace {

using replay::PathPart;
using replay::ReplayOptions;
using Open = std::function<Result<std::unique_ptr<traces::TraceReader>>()>;

// What was there to add up.
struct Seen {
  std::size_t efficiencies = 0, regions = 0, waits = 0, rivals = 0, known_ideals = 0;
};

Duration sum(const replay::PathParts& parts) {
  Duration all{0};
  for (const Duration d : parts) all += d;
  return all;
}

void expect_multiply(const Efficiency& e) {
  const double close = 1e-12;
  EXPECT_NEAR(e.parallel, e.load_balance * e.communication, close);
  EXPECT_NEAR(e.communication, e.serialisation * e.transfer, close * std::max(1.0, e.communication));
  if (e.split) {
    EXPECT_NEAR(e.transfer, e.split->contention * e.split->latency * e.split->bandwidth, close);
  }
}

// A replay of a trace on a platform with all that says why, as the reports see it.
class Explained {
 public:
  Explained(const Open& open, const std::string& spec, const ReplayOptions& options)
      : platform_(topology::load_platform(spec).value()), options_(options) {
    auto all = options;
    all.critical_path = all.wait_states = true;
    result_ = again(open, all);
    facts_.platform = &platform_;
    facts_.options = &options_;
    facts_.result = &result_;
    facts_.ranks = static_cast<std::uint32_t>(result_.ranks.size());
  }
  [[nodiscard]] bool finished() const { return result_.finished; }
  [[nodiscard]] const replay::ReplayResult& result() const { return result_; }
  [[nodiscard]] const predict::RunFacts& facts() const { return facts_; }

  void expect_sums(const Open& open, Seen& seen) {
    replay::expect_path_adds_up(result_);
    replay::expect_waits_add_up(result_);
    seen.waits += result_.wait_states.count > 0;
    auto without = options_;
    without.ideal_network = true;
    const auto ideal = again(open, without);
    without = predict::without_contention(options_);
    facts_.uncontended = again(open, without).makespan;
    without.what_if.no_latency = true;
    facts_.without_latency = again(open, without).makespan;
    facts_.ideal = ideal.makespan;
    for (const auto& g : ideal.regions) facts_.ideal_regions.push_back(g.longest);
    if (result_.ideal.known) {
      ++seen.known_ideals;
      EXPECT_EQ(result_.ideal.makespan, ideal.makespan);
      EXPECT_EQ(result_.ideal.regions, facts_.ideal_regions);
    }
    if (const auto e = efficiency(facts_)) {
      expect_multiply(*e);
      EXPECT_LE(e->load_balance, 1 + 1e-12);
      EXPECT_LE(e->communication, 1 + 1e-12);
      ++seen.efficiencies;
    }
    for (std::uint32_t r = 0; r < result_.regions.size(); ++r)
      if (const auto e = efficiency(facts_, RegionId(r))) {
        expect_multiply(*e);
        ++seen.regions;
      }
    const auto hosts = testing::first_hosts(result_.ranks.size());
    const auto d = predict::path_details({platform_, hosts, options_, result_, open});
    ASSERT_TRUE(d) << d.error().message();
    Duration kernels{0}, contention = d->nobody;
    for (const auto& k : d->kernels) kernels += k.time;
    for (const auto& r : d->rivals) contention += r.contention;
    const auto part = [&](PathPart p) { return result_.path.parts[static_cast<std::size_t>(p)]; };
    EXPECT_EQ(kernels, part(PathPart::kCompute));
    EXPECT_EQ(contention, part(PathPart::kContention));
    seen.rivals += !d->rivals.empty();
  }

 private:
  [[nodiscard]] replay::ReplayResult again(const Open& open, const ReplayOptions& o) const {
    auto trace = open();
    EXPECT_TRUE(trace) << (trace ? "" : trace.error().message());
    return trace ? replay::replayed(**trace, platform_, o) : replay::ReplayResult{};
  }
  topology::Platform platform_;
  ReplayOptions options_;
  replay::ReplayResult result_;
  predict::RunFacts facts_;
};

void expect_sums_on(const Open& open, const std::string& one, const std::string& other,
                    const ReplayOptions& options, Seen& seen) {
  Explained a(open, one, options), b(open, other, options);
  ASSERT_TRUE(a.finished() && b.finished());
  a.expect_sums(open, seen);
  b.expect_sums(open, seen);
  EXPECT_EQ(sum(path_difference(a.facts(), b.facts())), a.result().makespan - b.result().makespan);
}

Seen expect_sums_of(const std::vector<std::string>& traces) {
  Seen seen;
  for (const std::string& trace : traces) {
    SCOPED_TRACE(trace);
    expect_sums_on([&] { return traces::open_trace({trace}); },
                   "fat-tree:m=8,n=2,bw=5GB/s,lat=500ns,speed=5Gflops",
                   "torus:dims=4x8,bw=1GB/s,lat=1us,speed=5Gflops", {}, seen);
  }
  return seen;
}

TEST(WhySums, AddUpOnEverySampleOfTheCheckout) {
  const std::string root = support::source_dir(), oracle = support::oracle_dir();
  std::vector<std::string> traces;
  for (const char* const folder :
       {"/traces/samples", "/tests/replay/recorded", "/tests/oracle/data/goal", "/tests/oracle/data/llamp"})
    for (const auto& file : std::filesystem::directory_iterator(root + folder))
      if (const auto kind = file.path().extension(); kind == ".weft" || kind == ".goal")
        traces.push_back(file.path().string());
  for (const char* const name : {"2x2_500_64", "4x4_2000_64", "4x4_2000_64_b4"})
    traces.push_back(oracle + "/" + name + "/trace.tar.zst");
  EXPECT_GE(traces.size(), 20u);
  const Seen seen = expect_sums_of(traces);
  EXPECT_GT(seen.known_ideals, 30u);
  EXPECT_GT(seen.efficiencies, 30u);
  EXPECT_GT(seen.waits, 30u);
  EXPECT_GT(seen.rivals, 5u);
}

TEST(WhySums, AddUpOnTracesOfEveryFormat) {
  const std::string from = support::shared_dir() + "/traces/";
  WEFT_NEEDS(std::filesystem::exists(from + "simgrid_ti"), from << " is not here");
  std::vector<std::string> traces;
  for (const char* const name :
       {"dumpi_testbgp",
        "dumpi_testtrace",
        "dumpi_naive_alltoall/multi_process_traces/synthetic/naive_all_to_all/procs4/run_0",
        "dumpi_naive_alltoall/multi_process_traces/synthetic/naive_all_to_all/procs4/run_1",
        "otf2_pipit/ping-pong-otf2",
        "otf2_pipit/ping-pong-otf2-papi",
        "otf2_sstmacro",
        "goal_samples/binary_tree_16.goal",
        "goal_samples/binary_tree_32.goal",
        "goal_samples/dissemination_16.goal",
        "goal_samples/dissemination_32.goal",
        "goal_samples/llamp/blocking.goal",
        "goal_samples/llamp/non_blocking.goal",
        "simgrid_ti/replay_multiple_manual_deploy/coll.txt",
        "simgrid_ti/replay_multiple_manual_deploy/mixed.txt",
        "simgrid_ti/replay_multiple_manual_deploy/compute_only.txt",
        "simgrid_ti/replay_multiple_manual_deploy/empty.txt",
        "simgrid_ti/replay_multiple/smpi_replay.txt",
        "simgrid_ti/replay/split_traces",
        "hpl_ti/hpl_2x2_N2000_NB128_b1d1.tar.gz",
        "hpl_ti/hpl_4x4_N4000_NB128_b1d1.tar.gz"})
    traces.push_back(from + name);
  for (const auto& file : std::filesystem::directory_iterator(from + "simgrid_ti/replay"))
    if (file.path().filename().string().starts_with("actions_")) traces.push_back(file.path().string());
  if (const auto otf2 = traces::open_trace({from + "otf2_sstmacro"}); !otf2) {
    EXPECT_NE(otf2.error().message().find("built without"), std::string::npos) << otf2.error().message();
    std::erase_if(traces, [](const std::string& t) { return t.find("/otf2_") != std::string::npos; });
  }
  EXPECT_GE(traces.size(), 28u);
  const Seen seen = expect_sums_of(traces);
  EXPECT_GT(seen.known_ideals, 50u);
  EXPECT_GT(seen.efficiencies, 30u);
  EXPECT_GE(seen.waits, 40u);
  EXPECT_GT(seen.rivals, 5u);
}

// Its regions are named, and its pivots are exchanged in series.
TEST(WhySums, AddUpOnGeneratedHpl) {
  hpl_gen::HplDat dat;
  dat.n = {1500};
  dat.nb = {64};
  dat.grids = {{2, 4}};
  Seen seen;
  const Open open = [&]() -> Result<std::unique_ptr<traces::TraceReader>> {
    WEFT_ASSIGN(auto trace, hpl_gen::HplTrace::create(dat));
    return std::unique_ptr<traces::TraceReader>(std::move(trace));
  };
  expect_sums_on(open, "fat-tree-16", "torus:dims=4x4,bw=1GB/s,lat=1us,speed=5Gflops", {}, seen);
  EXPECT_EQ(seen.efficiencies, 2u);
  EXPECT_GT(seen.regions, 6u);
}

TEST(WhySums, AddUpOnRandomPrograms) {
  constexpr replay::RawMode kModes[] = {replay::RawMode::kOff, replay::RawMode::kEager,
                                        replay::RawMode::kDetached, replay::RawMode::kRendezvous};
  const char* const specs[] = {"crossbar:n=16,bw=1GB/s,lat=1us", "fat-tree:m=4,n=3,bw=10GB/s,lat=300ns",
                               "torus:dims=4x4,bw=1GB/s,lat=100ns", "dragonfly:p=1,a=2,h=4,bw=1GB/s,lat=1us"};
  Seen seen;
  for (const std::uint64_t seed : support::seeds_to(500)) {
    SCOPED_TRACE("WEFT_SEED=" + std::to_string(seed));
    const auto program = testing::well_formed(seed);
    ReplayOptions o;
    o.raw = kModes[seed % 4];
    const Open open = [&]() -> Result<std::unique_ptr<traces::TraceReader>> {
      auto copy = std::make_unique<testing::MemoryTrace>(program.trace);
      copy->rewind();
      return std::unique_ptr<traces::TraceReader>(std::move(copy));
    };
    expect_sums_on(open, specs[seed / 4 % 4], specs[(seed / 4 + seed / 16 + 1) % 4], o, seen);
  }
  if (support::number_in("WEFT_SEED")) return;
  EXPECT_GT(seen.efficiencies, 900u);
  EXPECT_GT(seen.waits, 900u);
  EXPECT_GT(seen.rivals, 300u);
}

}  // namespace
}  // namespace weft::report::why_sums_test
