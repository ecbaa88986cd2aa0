// HPL's panels in a replay, as the page draws them: by hand, and against the sums that the replay keeps by region.
#include "report/html/panel_section.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "hpl_gen/hpl_trace.hpp"
#include "replay/engine.hpp"
#include "topology/placement/placement.hpp"
#include "topology/platform/platform.hpp"

namespace weft::report::panel_section_test {
namespace {

hpl_gen::HplConfig config_of(std::int64_t n, std::int64_t nb, int p, int q, int depth) {
  hpl_gen::HplConfig c;
  c.n = n;
  c.nb = nb;
  c.p = p;
  c.q = q;
  c.depth = depth;
  return c;
}

std::unique_ptr<hpl_gen::HplTrace> trace_of(const hpl_gen::HplConfig& c,
                                            const hpl_gen::HplTraceOptions& options = {}) {
  auto trace = hpl_gen::HplTrace::create(hpl_gen::to_dat(c), options);
  EXPECT_TRUE(trace);
  return std::move(*trace);
}

SimTime at(double s) { return SimTime(Duration(static_cast<std::int64_t>(s * 1e12))); }

double sum(const std::vector<double>& column) { return std::accumulate(column.begin(), column.end(), 0.0); }

constexpr std::size_t kPfact = 0, kBcast = 1, kSwap = 2, kUpdate = 3;

// Rank 0 factors panel 0 until 3 s; rank 1 updates until 4 s, waits for the panel until 5 s.
TEST(PanelSection, TellsWhatWentOnBehindUpdatesByHand) {
  for (const bool numbered : {true, false}) {
    hpl_gen::HplTraceOptions options;
    if (!numbered) options.most_named_panels = 0;
    const auto trace = trace_of(config_of(128, 64, 1, 2, 0), options);
    PanelCollector c(*trace);
    const RegionId pfact(hpl_gen::kPfact), bcast(hpl_gen::kBcast), update(hpl_gen::kUpdate),
        panel(hpl_gen::kFirstPanel), next(hpl_gen::kFirstPanel + (numbered ? 1 : 0));
    c.add(RankId(0), pfact, at(1), at(3));
    c.add(RankId(0), panel, at(0), at(4));
    c.add(RankId(1), update, at(1), at(4));
    c.add(RankId(1), bcast, at(4), at(5));
    c.add(RankId(1), panel, at(0), at(6));
    c.add(RankId(1), pfact, at(6), at(7));
    c.add(RankId(1), next, at(6), at(8));
    c.add(RankId(0), bcast, at(5), at(9));
    c.add(RankId(0), next, at(4), at(9.5));
    c.add(RankId(0), update, at(10), at(11));  // after the last panel: nobody's
    const PanelSection p = c.finish();
    ASSERT_EQ(p.panels, 2u);
    EXPECT_EQ(p.end_s, (std::vector<double>{6, 9.5}));
    EXPECT_EQ(p.factor_s, (std::vector<double>{2, 1}));
    EXPECT_EQ(p.phase_s[kPfact], (std::vector<double>{1, 0.5}));
    EXPECT_EQ(p.phase_s[kBcast], (std::vector<double>{0.5, 2}));
    EXPECT_EQ(p.phase_s[kUpdate], (std::vector<double>{1.5, 0}));
    EXPECT_EQ(p.bcast_took_s, (std::vector<double>{2, 2}));  // from 3 to 5, from 7 to 9
    EXPECT_EQ(p.bcast_waited_s, (std::vector<double>{1, 4}));
  }
}

TEST(PanelSection, AddsUpToTheRegionsOfTheReplay) {
  const auto platform = topology::load_platform("torus-16");
  ASSERT_TRUE(platform);
  const auto placement = topology::place(*platform, 16, "block", 0);
  ASSERT_TRUE(placement);
  for (const int depth : {0, 1, 2}) {
    for (const std::int64_t nb : {32, 2}) {  // 2: more panels than points
      SCOPED_TRACE(::testing::Message() << "depth " << depth << " NB " << nb);
      const auto trace = trace_of(config_of(nb == 2 ? 1200 : 1000, nb, 4, 4, depth));
      PanelCollector c(*trace);
      replay::ReplayOptions options;
      options.on_region = [&](RankId r, RegionId id, SimTime b, SimTime e) { c.add(r, id, b, e); };
      const auto result = replay::replay(*trace, *platform, placement->hosts, options);
      ASSERT_TRUE(result);
      const PanelSection p = c.finish();
      EXPECT_EQ(p.panels, nb == 2 ? 600u : 32u);
      EXPECT_EQ(p.per_point, nb == 2 ? 2u : 1u);
      ASSERT_EQ(p.end_s.size(), nb == 2 ? 300u : 32u);
      for (const std::size_t i : {kPfact, kBcast, kSwap, kUpdate}) {
        const double all = to_seconds(result->regions[i].total) / 16;
        const double rounding = 1e-12 * static_cast<double>(result->regions[i].count) / 16;  // 1 ps an end
        // After its last panel a look-ahead swaps and updates what is left.
        if (i == kPfact || i == kBcast || depth == 0)
          EXPECT_NEAR(sum(p.phase_s[i]), all, rounding) << kPanelPhases[i];
        else
          EXPECT_LE(sum(p.phase_s[i]), all + rounding);
      }
      EXPECT_TRUE(std::is_sorted(p.end_s.begin(), p.end_s.end()));
      EXPECT_LE(p.end_s.back(), to_seconds(result->makespan));
      // Look-ahead is there to hide the making and sending of a panel.
      const double hidden = 1 - sum(p.bcast_waited_s) / (sum(p.factor_s) + sum(p.bcast_took_s));
      if (depth == 0)
        EXPECT_NEAR(hidden, 0, 0.05);
      else
        EXPECT_GT(hidden, 0.5);
    }
  }
}

TEST(PanelSection, OfSeveralRunsHasNoCurve) {
  auto dat = hpl_gen::to_dat(config_of(128, 64, 1, 2, 0));
  dat.n = {128, 256};
  auto trace = hpl_gen::HplTrace::create(dat, {});
  ASSERT_TRUE(trace);
  const auto platform = topology::load_platform("crossbar-16");
  ASSERT_TRUE(platform);
  PanelCollector c(**trace);
  replay::ReplayOptions options;
  options.on_region = [&](RankId r, RegionId id, SimTime b, SimTime e) { c.add(r, id, b, e); };
  ASSERT_TRUE(replay::replay(**trace, *platform, {HostId(0), HostId(1)}, options));
  EXPECT_EQ(to_json(c.finish()).dump(), R"({"none":"the trace holds several runs of HPL"})");
}

}  // namespace
}  // namespace weft::report::panel_section_test
