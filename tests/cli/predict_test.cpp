// weft predict hpl and weft tune hpl on the command line, and the sampling of panels against panels made by formula.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/hpl_sampling.hpp"
#include "cli/hpl_search.hpp"
#include "tests/cli/run_weft.hpp"

namespace weft::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

const std::string kOn = " --on \"crossbar:n=16,bw=10GB/s,lat=1us,speed=20Gflops\" ";

json predict(const Workspace& here, const std::string& flags) {
  const Outcome o = here.weft("predict hpl" + kOn + flags + " --json -");
  EXPECT_EQ(o.exit_code, 0) << o.err;
  return o.exit_code == 0 ? json::parse(o.out) : json();
}

json without_engine(json j) {
  j.erase("engine");
  return j;
}

TEST(PredictHpl, SaysTimeRateAndPartsUnderTheContractsKeys) {
  const Workspace here;
  const json j = predict(here, "--n 3000 --nb 64 --p 4 --q 4 --depth 1");
  EXPECT_EQ(j["schema"], "weft.predict/1");
  EXPECT_EQ(j["n"], 3000);
  EXPECT_EQ(j["nb"], 64);
  EXPECT_EQ(j["p"], 4);
  EXPECT_EQ(j["q"], 4);
  const double t = j["time_s"], n = 3000;
  EXPECT_NEAR(j["gflops"].get<double>(), n * n * (2 * n / 3 + 1.5) / t * 1e-9,
              1e-9 * j["gflops"].get<double>());
  EXPECT_NEAR(j["efficiency"].get<double>(), j["gflops"].get<double>() / (16 * 20), 1e-12);
  double sum = 0;
  for (const char* part : {"pfact_s", "bcast_s", "swap_s", "update_s", "solve_s"}) {
    EXPECT_GT(j["phases"][part].get<double>(), 0) << part;
    sum += j["phases"][part].get<double>();
  }
  EXPECT_LE(sum, t * (1 + 1e-9));
  EXPECT_GT(sum, 0.9 * t);
  EXPECT_EQ(j["panels_total"], 47);
  EXPECT_EQ(j["panels_simulated"], 47);
  EXPECT_EQ(j["error_estimate"], 0.0);
  for (const char* form : {"hpl_gflops", "mcl_gflops", "roofline_gflops"})
    EXPECT_GT(j["closed_form"][form].get<double>(), 0) << form;
  EXPECT_LE(j["gflops"].get<double>(), j["closed_form"]["roofline_gflops"].get<double>());
  EXPECT_TRUE(j["engine"].contains("wall_s"));
}

// On one process nothing is sent: the time is the sum of its kernels at the host's speed.
TEST(PredictHpl, OneProcessTakesItsFlopsOverItsSpeed) {
  const Workspace here;
  const json j = predict(here, "--n 1000 --nb 50 --p 1 --q 1");
  const double flops = 1000.0 * 1000.0 * (2.0 / 3.0 * 1000 + 1.5);
  EXPECT_NEAR(j["time_s"].get<double>(), flops / 20e9, 0.02 * flops / 20e9);
}

TEST(PredictHpl, TheSameTwiceAndWithAnyNumberOfThreads) {
  const Workspace here;
  const std::string flags = "--n 12000 --nb 64 --p 4 --q 4 --depth 1 --sample 6 --window 8";
  const json one = predict(here, flags), again = predict(here, flags),
             four = predict(here, flags + " --threads 4");
  EXPECT_EQ(without_engine(one), without_engine(again));
  EXPECT_EQ(without_engine(one), without_engine(four));
}

TEST(PredictHpl, ASampleOfPanelsIsWithinItsEstimateOfAllPanels) {
  const Workspace here;
  for (const std::string shape : {"--n 12000 --nb 64 --p 4 --q 4 --depth 1 --bcast 2ring --swap 0",
                                  "--n 12000 --nb 64 --p 2 --q 8 --depth 0 --bcast 1rM --swap 1"}) {
    SCOPED_TRACE(shape);
    std::string flags = shape;
    if (const auto at = flags.find("2ring"); at != std::string::npos) flags.replace(at, 5, "2rg");
    const json all = predict(here, flags), some = predict(here, flags + " --sample 6 --window 8");
    EXPECT_LT(some["panels_simulated"].get<int>(), all["panels_total"].get<int>() / 2);
    const double error = some["time_s"].get<double>() / all["time_s"].get<double>() - 1;
    EXPECT_LT(std::fabs(error), 0.01);
    EXPECT_LT(std::fabs(error), std::max(0.002, 2 * some["error_estimate"].get<double>()));
  }
}

// Pivot exchanges as one operation a panel, against message by message: these share links with row swaps and with each
// other's next round, which a series leaves out; 0.30 % here, less for larger matrices.
TEST(PredictHpl, ExchangesTogetherAndOneByOneAgree) {
  const Workspace here;
  const std::string flags = "--n 3000 --nb 64 --p 4 --q 4 --depth 1";
  const double together = predict(here, flags)["time_s"],
               single = predict(here, flags + " --exchanges")["time_s"];
  EXPECT_NEAR(together / single, 1, 0.005);
}

TEST(PredictHpl, ListsOfValuesMakeATableOfRuns) {
  const Workspace here;
  const json j = predict(here, "--n 1000,2000 --nb 32,64 --p 2 --q 2");
  ASSERT_EQ(j["runs"].size(), 4u);
  EXPECT_LT(j["runs"][0]["gflops"].get<double>(), j["runs"][3]["gflops"].get<double>());
}

TEST(PredictHpl, WhatCannotBePredictedIsAnError) {
  const Workspace here;
  EXPECT_EQ(here.weft("predict hpl" + kOn + "--n auto").exit_code, 2);
  EXPECT_THAT(here.weft("predict hpl" + kOn + "--n auto").err, HasSubstr("memory"));
  EXPECT_EQ(here.weft("predict hpl" + kOn + "--n 0").exit_code, 2);
  EXPECT_EQ(here.weft("predict hpl" + kOn + "--n 100 --bcast star").exit_code, 2);
  EXPECT_EQ(here.weft("predict hpl" + kOn + "--n 100 --sample many").exit_code, 2);
  EXPECT_NE(here.weft("predict hpl" + kOn + "--n 100 --p 5 --q 5").exit_code, 0);
  EXPECT_EQ(here.weft("predict hpl --n 100").exit_code, 2);
  EXPECT_EQ(here.weft("predict").exit_code, 2);
  EXPECT_EQ(here.weft("predict linpack").exit_code, 2);
}

TEST(PredictHpl, TheOrderFillsEightyPercentOfTheMemory) {
  const Workspace here;
  here.write("p.textproto",
             "topology { family: \"crossbar\" set: \"n=4\" set: \"bw=10GB/s\" set: \"lat=1us\" }\n"
             "host { speed: \"10Gflops\" memory: \"10MB\" }\n");
  const Outcome o = here.weft("predict hpl --on p.textproto --nb 32 --json -");
  ASSERT_EQ(o.exit_code, 0) << o.err;
  const json j = json::parse(o.out);
  EXPECT_EQ(j["p"], 2);
  EXPECT_EQ(j["q"], 2);
  EXPECT_EQ(j["n"], 2000 / 32 * 32);  // sqrt(0.8 x 4 x 10 MB / 8 B) = 2000
}

TEST(TuneHpl, WritesAnHplDatThatIsNoSlowerThanTheBase) {
  const Workspace here;
  const std::string line =
      "tune hpl" + kOn + "--n 1500 --nb 32 --p 4 --q 4 --evaluations 14 -o best.dat --json ";
  const Outcome o = here.weft(line + "a.json");
  ASSERT_EQ(o.exit_code, 0) << o.err;
  const json j = json::parse(here.read("a.json"));
  EXPECT_EQ(j["schema"], "weft.tune/1");
  EXPECT_GE(j["gain"].get<double>(), 0);
  EXPECT_LE(j["evaluations"].get<int>(), 14);
  const Outcome again = here.weft("predict hpl" + kOn + "--dat best.dat --json b.json");
  EXPECT_EQ(again.exit_code, 0) << again.err;
  ASSERT_EQ(here.weft(line + "c.json").exit_code, 0);
  EXPECT_EQ(here.read("a.json"), here.read("c.json"));
}

// ---- sampling

using cli::PanelSeconds;

hpl_gen::HplConfig config(std::int64_t n, std::int64_t nb, int p, int q) {
  hpl_gen::HplConfig c;
  c.n = n, c.nb = nb, c.p = p, c.q = q;
  return c;
}

TEST(SampleWindows, AreApartInOrderAndEndWithTheRun) {
  for (const std::int64_t panels : {1, 5, 40, 300, 1954, 24122})
    for (const int count : {2, 3, 6, 24}) {
      const auto windows = cli::choose_windows(panels, count, 8, 3);
      ASSERT_FALSE(windows.empty());
      EXPECT_EQ(windows.front().first, 0);
      EXPECT_EQ(windows.back().last, panels);
      for (std::size_t i = 0; i < windows.size(); ++i) {
        EXPECT_LE(windows[i].first, windows[i].measured);
        EXPECT_LE(windows[i].measured, windows[i].fitted);
        EXPECT_LT(windows[i].fitted, windows[i].last);
        if (i > 0) {
          EXPECT_LE(windows[i - 1].last, windows[i].first);
        }
      }
    }
}

TEST(SampleFit, PanelsThatFollowTheModelAreFoundExactly) {
  const auto c = config(64000, 64, 4, 8);
  const std::int64_t panels = c.panels();
  const auto windows = cli::choose_windows(panels, 6, 8, 3);
  ASSERT_GT(windows.size(), 3u);
  const auto seconds = [&](std::int64_t k) {
    // Most local rows and columns, counted block by block.
    const std::int64_t from = (k + 1) * c.nb, blocks = from < c.n ? (c.n - from + c.nb - 1) / c.nb : 0;
    const auto rows = static_cast<double>((blocks + c.p - 1) / c.p * c.nb);
    // N + 1 columns: the right-hand side is a block of its own, of one column.
    const std::int64_t all = blocks + 1;
    const bool alone = (all - 1) % c.q == 0;
    const auto columns =
        static_cast<double>(alone ? (all - 1) / c.q * c.nb + 1 : (all + c.q - 1) / c.q * c.nb);
    return 1e-9 * rows * (from < c.n ? columns : 1) + 1e-7 * (rows + (from < c.n ? columns : 1)) + 1e-5;
  };
  std::vector<std::vector<PanelSeconds>> measured;
  for (const auto& w : windows) {
    measured.emplace_back();
    for (std::int64_t k = w.measured; k < w.last; ++k) {
      PanelSeconds p;
      p.s[PanelSeconds::kTime] = seconds(k);
      measured.back().push_back(p);
    }
  }
  double total = 0;
  for (std::int64_t k = 0; k < panels; ++k) total += seconds(k);
  const auto fit = cli::fit_panels(c, windows, measured);
  EXPECT_NEAR(fit.total.s[PanelSeconds::kTime] / total, 1, 1e-6);
  EXPECT_LT(fit.relative_error, 1e-6);
}

TEST(HplSearch, FindsTheBestOfAFormulaWithinItsBudgetAndNeverWorseThanTheBase) {
  cli::SearchSpace space;
  space.n = {1000};
  space.nb = {32, 64, 128, 256};
  space.grids = {{2, 8}, {4, 4}, {8, 2}};
  space.bcast = {hpl_gen::Bcast::k1Ring, hpl_gen::Bcast::k2Ring};
  space.depth = {0, 1};
  space.swap = {hpl_gen::Swap::kMix, hpl_gen::Swap::kBinaryExchange};
  space.pmap = {hpl_gen::ProcessMap::kRowMajor};
  auto base = config(1000, 32, 2, 8);
  int calls = 0;
  const cli::Evaluate evaluate = [&](const hpl_gen::HplConfig& c, int) -> Result<cli::Candidate> {
    ++calls;
    const double gflops =
        100 - std::fabs(std::log2(static_cast<double>(c.nb) / 128)) - std::abs(c.p - 4) + c.depth;
    return cli::Candidate{c, gflops, 0, 0};
  };
  const auto r = cli::search_hpl(base, space, 40, 3, evaluate);
  ASSERT_TRUE(r);
  EXPECT_EQ(r->best.config.nb, 128);
  EXPECT_EQ(r->best.config.p, 4);
  EXPECT_EQ(r->best.config.depth, 1);
  EXPECT_LE(calls, 40);
  EXPECT_EQ(calls, r->evaluations);
  const auto small = cli::search_hpl(base, space, 8, 3, evaluate);
  ASSERT_TRUE(small);
  EXPECT_GE(small->best.gflops, small->base.gflops);
  EXPECT_LE(small->evaluations, 8);
}

}  // namespace
}  // namespace weft::testing
