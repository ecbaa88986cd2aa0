// The phases of a prediction of all panels against the regions of the run replayed as any other trace: nothing that a rank does in a
// region is left out, whichever iteration it is of.
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "hpl_gen/hpl_trace.hpp"
#include "hpl_gen/steps/op_sink.hpp"
#include "predict/hpl_prediction.hpp"
#include "replay/engine.hpp"
#include "tests/predict/support.hpp"

namespace weft::predict {
namespace {

// Mean over ranks of what they are in each region, in seconds; those of the panels are not asked for.
std::array<double, hpl_gen::kFirstPanel> regions_of(const hpl_gen::HplConfig& config,
                                                    const topology::Platform& platform) {
  hpl_gen::HplTraceOptions how;
  how.start_end = false;
  auto trace = hpl_gen::HplTrace::create(hpl_gen::to_dat(config), how).value();
  std::array<Duration, hpl_gen::kFirstPanel> sums{};
  replay::ReplayOptions options;
  options.ranks_ahead = false;  // each region is told once
  options.on_region = [&](RankId, RegionId id, SimTime from, SimTime to) {
    if (id.index() < sums.size()) sums[id.index()] += to - from;
  };
  const auto ranks = static_cast<std::uint32_t>(config.ranks());
  const auto hosts = topology::place_ranks(platform, ranks, "block", 0).value();
  const auto result = replay::replay(*trace, platform, hosts, options);
  EXPECT_TRUE(result) << (result ? "" : result.error().message());
  std::array<double, hpl_gen::kFirstPanel> means{};
  for (std::size_t i = 0; i < means.size(); ++i) means[i] = to_seconds(sums[i]) / ranks;
  return means;
}

TEST(HplPhases, AreTheRegionsOfTheRunToItsEnd) {
  const auto platform = platform_of("crossbar:n=8,bw=10Gbps,lat=1us,speed=2Gflops");
  using hpl_gen::Program;
  for (const auto program : {Program::kNetlib, Program::kRocHpl, Program::kNvidia})
    for (const int depth : {0, 1, 2, 3})
      for (const std::int64_t nb :
           {300, 100, 1000})  // 4 panels, 10, and one, which is fewer than the look-ahead
        for (const auto& [p, q] : {std::pair{2, 2}, {4, 2}, {2, 1}, {1, 4}}) {
          if (program != Program::kNetlib && depth != 1) continue;
          hpl_gen::HplConfig config{.n = 1000, .nb = nb, .p = p, .q = q, .depth = depth};
          config.program = program;
          SCOPED_TRACE(std::string(name_of(program)) + " NB " + std::to_string(nb) + " DEPTH " +
                       std::to_string(depth) + " on " + std::to_string(p) + " x " + std::to_string(q));
          PredictOptions options;
          options.exchanges = Exchanges::kMessages;
          const auto run = predict_hpl(config, platform, options);
          ASSERT_TRUE(run) << run.error().message();
          const auto region = regions_of(config, platform);
          EXPECT_NEAR(run->pfact_s, region[hpl_gen::kPfact], 1e-12);
          EXPECT_NEAR(run->bcast_s, region[hpl_gen::kBcast], 1e-12);
          EXPECT_NEAR(run->swap_s, region[hpl_gen::kSwap], 1e-12);
          EXPECT_NEAR(run->update_s, region[hpl_gen::kUpdate], 1e-12);
          EXPECT_NEAR(run->solve_s, region[hpl_gen::kSolve], 1e-12);
          EXPECT_GT(run->update_s, 0);
        }
}

}  // namespace
}  // namespace weft::predict
