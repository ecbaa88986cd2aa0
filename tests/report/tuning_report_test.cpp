#include "report/hpl/tuning_report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "report/table.hpp"

namespace weft::report {
namespace {

using hpl_gen::Candidate;
using ::testing::HasSubstr;
using ::testing::Not;

Candidate tried(std::int64_t nb, int nbmin, double gflops, int round, bool exact) {
  Candidate c;
  c.config.n = 1000, c.config.nb = nb, c.config.p = 2, c.config.q = 4, c.config.nbmin = nbmin;
  c.gflops = gflops, c.round = round, c.exact = exact;
  if (!exact) c.error_estimate = 0.05;
  return c;
}

// A search that tried two values of NB and of NBMIN.
struct Tuned {
  hpl_gen::SearchSpace space;
  hpl_gen::SearchResult result;
  TuningFacts facts;
  Tuned() {
    space.factorisation = {{.nbmin = 4}, {.nbmin = 8}};
    result.base = tried(64, 4, 100, 3, true);
    result.best = tried(32, 8, 150, 3, true);
    result.ranking = {result.best, result.base, tried(64, 8, 99, 1, false), tried(32, 4, 98, 1, false)};
    result.evaluations = 6;
    result.candidates = 4;
    facts.platform = "a machine", facts.model = "max-min", facts.pivots = "random", facts.evaluations = 8;
    facts.space = &space, facts.result = &result;
    facts.chosen = {"N = 1000 (80 % of memory)"}, facts.warnings = {"it is small"};
    facts.hpl_dat = "HPLinpack\n";
  }
};

TEST(TuningReport, SaysWhatIsBestAndHowItWasFound) {
  Tuned t;
  const std::string best = "N 1000 NB 32 2 x 4 1rM depth 0 mix row nbmin 8";
  EXPECT_EQ(tuning_answer(t.facts), best +
                                        ": 150 Gflop/s, +50.0 % over the base (N 1000 NB 64 2 x 4 1rM depth "
                                        "0 mix row nbmin 4: 100 Gflop/s)");
  EXPECT_EQ(
      tuning_text(t.facts, kNoWidth),
      "chosen: N = 1000 (80 % of memory)\n" + tuning_answer(t.facts) +
          "\n6 predictions, of all panels or of windows of them, max-min sharing; the HPL.dat is below, -o "
          "FILE writes it\nwarning: it is small\n\n"
          "   N  NB  P  Q  map  bcast  depth  swap  nbmin         rate   +-  round\n"
          "1000  32  2  4  row  1rM        0  mix       8  150 Gflop/s    -      3\n"
          "1000  64  2  4  row  1rM        0  mix       4  100 Gflop/s    -      3\n"
          "1000  64  2  4  row  1rM        0  mix       8   99 Gflop/s  5 %      1\n"
          "1000  32  2  4  row  1rM        0  mix       4   98 Gflop/s  5 %      1\n");
  t.facts.hpl_dat_file = "best.dat";
  t.result.candidates = 9;
  t.result.local_best = true;
  const std::string local = tuning_text(t.facts, kNoWidth);
  EXPECT_THAT(local, HasSubstr("HPL.dat written to best.dat\n"));
  EXPECT_THAT(local, HasSubstr("\na local best: 4 of 9 candidates were tried\n"));
  EXPECT_THAT(local, Not(HasSubstr("--evaluations")));
  EXPECT_EQ(tuning_json(t.facts)["local_best"], true);
  t.result.local_best = false;
  EXPECT_EQ(tuning_json(t.facts)["local_best"], false);
  const std::string of_some = tuning_text(t.facts, kNoWidth);
  EXPECT_THAT(of_some, HasSubstr("\nthe best of 4 of 9 candidates\n"));
  EXPECT_THAT(of_some, HasSubstr("\nwarning: 6 predictions were not enough to end at a local best; "
                                 "--evaluations 16 or more\n"));
  t.result.untried = {"NB 96"};
  EXPECT_THAT(tuning_text(t.facts, kNoWidth), Not(HasSubstr("local best"))) << "the values say it";
  t.result.complete = false;
  t.result.untried = {};
  EXPECT_THAT(tuning_text(t.facts, kNoWidth), Not(HasSubstr("best of")));
  EXPECT_THAT(tuning_text(t.facts, kNoWidth), Not(HasSubstr("local best")));
}

TEST(TuningReport, TheLabelOfThePlatformIsToldWhereThereIsOne) {
  Tuned t;
  EXPECT_FALSE(tuning_json(t.facts).contains("label"));
  t.facts.label = "old";
  EXPECT_EQ(tuning_json(t.facts)["platform"], "a machine");
  EXPECT_EQ(tuning_json(t.facts)["label"], "old");
}

// The text has the first twelve, files have all.
TEST(TuningReport, FilesHaveTheWholeRanking) {
  Tuned t;
  t.result.ranking.assign(20, t.result.best);
  t.result.untried = {"N 2000", "NB 96"};
  const auto lines = [](const std::string& text) { return std::count(text.begin(), text.end(), '\n'); };
  EXPECT_EQ(lines(tuning_text(t.facts, kNoWidth)), 7 + 1 + 12);
  const std::string csv = tuning_csv(t.result);
  EXPECT_EQ(lines(csv), 1 + 20);
  EXPECT_THAT(csv, HasSubstr("\n1000,32,2,4,row,1rM,0,mix,150,,3,right,8,crout,2\n"));
  const auto j = tuning_json(t.facts);
  EXPECT_EQ(j["rows"].size(), 20u);
  EXPECT_TRUE(j["rows"][0]["error_estimate"].is_null());
  EXPECT_TRUE(j["hpl_dat"].is_null());
  EXPECT_EQ(j["hpl_dat_text"], "HPLinpack\n");
  EXPECT_EQ(j["gain"], 0.5);
  EXPECT_FALSE(j.contains("error"));
  const std::string untried = "6 predictions were not enough to try N 2000, NB 96; --evaluations 16 or more";
  EXPECT_EQ(j["warnings"], (nlohmann::ordered_json{"it is small", untried}));
  EXPECT_THAT(tuning_text(t.facts, kNoWidth), HasSubstr("warning: " + untried + "\n"));
  t.facts.error = "interrupted";
  EXPECT_EQ(tuning_json(t.facts)["error"], "interrupted");
}

}  // namespace
}  // namespace weft::report
