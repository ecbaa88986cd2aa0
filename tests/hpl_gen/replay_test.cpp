// A generated run and the recording of the same run, replayed on the same platform, take the same time.
//
// The recordings are time-independent traces of real HPL: flops counted at every BLAS call, messages as they went. Both
// sides compute at the platform's flop rate.
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>

#include "hpl_gen/hpl_trace.hpp"
#include "replay/engine.hpp"
#include "tests/support/checkout.hpp"
#include "topology/platform/platform.hpp"
#include "traces/trace.hpp"

namespace weft::hpl_gen {
namespace {

double seconds_of(traces::TraceReader& trace, const topology::Platform& platform) {
  std::vector<HostId> placement;
  for (std::uint32_t r = 0; r < trace.header().ranks; ++r) placement.emplace_back(r);
  trace.rewind();
  auto result = replay::replay(trace, platform, placement, {});
  EXPECT_TRUE(result) << result.error().message();
  if (!result) return 0;
  EXPECT_TRUE(result->finished);
  return to_seconds(result->makespan);
}

// A trace without its communicator operations: a replay splits communicators with messages, and the time-independent
// recordings don't have them.
class WithoutSplits final : public traces::TraceReader {
 public:
  explicit WithoutSplits(traces::TraceReader& from) : from_(from), given_(from.header().ranks) {}
  const traces::TraceHeader& header() const override { return from_.header(); }
  const traces::TraceTotals& totals() const override { return from_.totals(); }
  const std::vector<traces::Communicator>& communicators() const override { return from_.communicators(); }
  const std::vector<std::string>& regions() const override { return from_.regions(); }
  std::uint64_t ops_of(RankId) const override { return traces::kUnknownOps; }
  Result<bool> next_block(RankId rank, traces::OpBlock& out) override {
    auto more = from_.next_block(rank, out);
    std::erase_if(out.ops, [](const traces::Op& op) {
      return traces::is_comm_create(op.kind) || op.kind == traces::OpKind::comm_free;
    });
    out.first_op = given_[rank.index()];
    given_[rank.index()] += out.ops.size();
    return more;
  }
  void rewind() override {
    from_.rewind();
    given_.assign(given_.size(), 0);
  }
  std::string position(RankId rank, std::uint64_t index) const override {
    return from_.position(rank, index);
  }

 private:
  traces::TraceReader& from_;
  std::vector<std::uint64_t> given_;
};

void compare(const std::string& name, const std::vector<std::string>& platforms) {
  const std::string dir = support::oracle_dir() + "/" + name;
  auto recorded = traces::open_trace({dir + "/trace.tar.zst"});
  ASSERT_TRUE(recorded) << recorded.error().message();
  auto dat = read_hpl_dat(dir + "/HPL.dat");
  ASSERT_TRUE(dat);
  for (const PivotKind pivots : {PivotKind::kExact, PivotKind::kRandom}) {
    HplTraceOptions options;
    options.pivots = pivots;
    auto generated = HplTrace::create(*dat, options);
    ASSERT_TRUE(generated);
    for (const std::string& spec : platforms) {
      auto platform = topology::load_platform(spec);
      ASSERT_TRUE(platform) << platform.error().message();
      const double want = seconds_of(**recorded, *platform);
      const double got = seconds_of(**generated, *platform);
      std::printf("%s on %s, %s pivots: recorded %.6f s, generated %.6f s, %+.3f %%\n", name.c_str(),
                  spec.c_str(), pivots == PivotKind::kExact ? "exact" : "random", want, got,
                  (got / want - 1) * 100);
      EXPECT_NEAR(got / want, 1.0, 0.02) << spec;
      if (pivots == PivotKind::kExact) {
        WithoutSplits same(**generated);
        EXPECT_NEAR(seconds_of(same, *platform) / want, 1.0, 1e-5) << spec << ", communicators apart";
      }
    }
  }
}

TEST(HplReplay, GeneratedAndRecordedRunsTakeTheSameTime2x2) {
  compare("2x2_500_64", {"crossbar-16", "fat-tree-16", "dragonfly-18", "torus-16"});
}
TEST(HplReplay, GeneratedAndRecordedRunsTakeTheSameTime4x4) {
  compare("4x4_2000_64", {"crossbar-16", "fat-tree-taper-16", "dragonfly-18", "torus-16"});
}
TEST(HplReplay, GeneratedAndRecordedRunsTakeTheSameTime4x4LongBroadcast) {
  compare("4x4_2000_64_b4", {"crossbar-16", "fat-tree-16"});
}
TEST(HplReplay, GeneratedAndRecordedRunsTakeTheSameTime8x8) { compare("8x8_4000_64", {"dragonfly-72"}); }

TEST(HplReplay, APanelAsOneOperationTakesTheTimeOfItsMessages) {
  // Nothing else crosses a process column while it factors, so its exchanges meet no other traffic on a crossbar.
  auto platform = topology::load_platform("crossbar:n=24,bw=10GB/s,lat=1us,speed=10Gflops");
  ASSERT_TRUE(platform) << platform.error().message();
  for (const int p : {1, 2, 4, 6}) {
    HplConfig c;
    c.n = 1200, c.nb = 48, c.p = p, c.q = 4;
    std::vector<double> seconds;
    for (const bool aggregate : {false, true}) {
      HplTraceOptions options;
      options.aggregate_pfact = aggregate;
      auto trace = HplTrace::create(to_dat(c), options);
      ASSERT_TRUE(trace);
      seconds.push_back(seconds_of(**trace, *platform));
    }
    std::printf("%d x 4, N 1200: messages %.6f s, one operation a panel %.6f s, %+.3f %%\n", p, seconds[0],
                seconds[1], (seconds[1] / seconds[0] - 1) * 100);
    EXPECT_NEAR(seconds[1] / seconds[0], 1.0, 0.02) << p;
  }
}

TEST(HplReplay, LookAheadHidesBroadcasts) {
  // Slow links, so that the broadcasts weigh.
  auto platform = topology::load_platform("crossbar:n=16,bw=2GB/s,lat=1us,speed=10Gflops");
  ASSERT_TRUE(platform) << platform.error().message();
  HplConfig c;
  c.n = 2000, c.nb = 64, c.p = 4, c.q = 4;
  std::vector<double> seconds;
  for (const int depth : {0, 1}) {
    c.depth = depth;
    auto trace = HplTrace::create(to_dat(c));
    ASSERT_TRUE(trace);
    seconds.push_back(seconds_of(**trace, *platform));
  }
  EXPECT_LT(seconds[1], seconds[0]);
}

}  // namespace
}  // namespace weft::hpl_gen
