// HPL.dat: read as HPL reads it, written back, refused with a position.
#include "hpl_gen/hpl_dat.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/rng.hpp"

namespace weft::hpl_gen {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The 31 lines; tests replace one.
std::vector<std::string> lines() {
  return {"HPLinpack benchmark input file",
          "Innovative Computing Laboratory",
          "HPL.out      output file name (if any)",
          "6            device out (6=stdout,7=stderr,file)",
          "2            # of problems sizes (N)",
          "29 30000 Ns",
          "1            # of NBs",
          "128  NBs",
          "0            PMAP process mapping (0=Row-,1=Column-major)",
          "3            # of process grids (P x Q)",
          "2 1 4        Ps",
          "2 4 1        Qs",
          "16.0         threshold",
          "3            # of panel fact",
          "0 1 2        PFACTs (0=left, 1=Crout, 2=Right)",
          "2            # of recursive stopping criterium",
          "2 4          NBMINs (>= 1)",
          "1            # of panels in recursion",
          "2            NDIVs",
          "3            # of recursive panel fact.",
          "0 1 2        RFACTs (0=left, 1=Crout, 2=Right)",
          "1            # of broadcast",
          "0            BCASTs (0=1rg,1=1rM,2=2rg,3=2rM,4=Lng,5=LnM)",
          "1            # of lookahead depth",
          "0            DEPTHs (>=0)",
          "2            SWAP (0=bin-exch,1=long,2=mix)",
          "64           swapping threshold",
          "0            L1 in (0=transposed,1=no-transposed) form",
          "0            U  in (0=transposed,1=no-transposed) form",
          "1            Equilibration (0=no,1=yes)",
          "8            memory alignment in double (> 0)"};
}

std::string text_of(const std::vector<std::string>& v) {
  std::string out;
  for (const auto& line : v) out += line + "\n";
  return out;
}

Result<HplDat> with(std::size_t line, const std::string& replacement) {
  auto v = lines();
  v[line - 1] = replacement;
  return parse_hpl_dat(text_of(v), "HPL.dat");
}

// rocHPL's own scripts/HPL.dat (v6.1.0) in the lines that are others than those above.
std::vector<std::string> rochpl_lines() {
  auto v = lines();
  v[22] = "6            BCASTs (0=1rg,1=1rM,2=2rg,3=2rM,4=Lng,5=LnM)";
  v[24] = "1            DEPTHs (>=0)";
  v[25] = "1            SWAP (0=bin-exch,1=long,2=mix)";
  v[27] = "1            L1 in (0=transposed,1=no-transposed) form";
  v[29] = "0            Equilibration (0=no,1=yes)";
  return v;
}

Result<HplDat> rochpl_with(std::size_t line, const std::string& replacement) {
  auto v = rochpl_lines();
  v[line - 1] = replacement;
  return parse_hpl_dat(text_of(v), "HPL.dat", Program::kRocHpl);
}

TEST(HplDat, WithoutAFileIsTheDefaultRunAlone) {
  ASSERT_EQ(HplDat().run_count(), 1u);
  EXPECT_EQ(HplDat().runs().front(), HplDat::kDefault);
}

TEST(HplDat, ListsBecomeACrossProductInHplsOrder) {
  auto d = parse_hpl_dat(text_of(lines()), "HPL.dat");
  ASSERT_TRUE(d) << d.error().message();
  EXPECT_THAT(d->n, ElementsAre(29, 30000));
  EXPECT_EQ(d->ranks(), 4);
  const auto runs = d->runs();
  ASSERT_EQ(runs.size(), 3u * 2 * 3 * 2 * 3);
  EXPECT_EQ(d->run_count(), runs.size());
  // Innermost: NBMIN (NDIV has one value), then PFACT, RFACT, N; grids outermost.
  EXPECT_EQ(runs[0].nbmin, 2);
  EXPECT_EQ(runs[1].nbmin, 4);
  EXPECT_EQ(runs[2].pfact, Factor::kCrout);
  EXPECT_EQ(runs[6].rfact, Factor::kCrout);
  EXPECT_EQ(runs[18].n, 30000);
  EXPECT_EQ(runs[36].p, 1);
  EXPECT_EQ(runs[36].q, 4);
}

TEST(HplDat, WhatIsWrittenIsReadBackTheSame) {
  Rng rng(1);
  for (int i = 0; i < 200; ++i) {
    HplConfig c;
    c.n = static_cast<std::int64_t>(rng.below(100000));
    c.nb = 1 + static_cast<std::int64_t>(rng.below(500));
    c.p = 1 + static_cast<int>(rng.below(64)), c.q = 1 + static_cast<int>(rng.below(64));
    c.pmap = static_cast<ProcessMap>(rng.below(2));
    c.pfact = static_cast<Factor>(rng.below(3)), c.rfact = static_cast<Factor>(rng.below(3));
    c.nbmin = 1 + static_cast<int>(rng.below(16)), c.ndiv = 2 + static_cast<int>(rng.below(4));
    c.bcast = static_cast<Bcast>(rng.below(6)), c.depth = static_cast<int>(rng.below(4));
    c.swap = static_cast<Swap>(rng.below(3)), c.swap_threshold = static_cast<std::int64_t>(rng.below(300));
    c.l1_transposed = rng.below(2) == 0, c.u_transposed = rng.below(2) == 0, c.equil = rng.below(2) == 0;
    auto back = parse_hpl_dat(write_hpl_dat(to_dat(c)), "written");
    ASSERT_TRUE(back) << back.error().message();
    EXPECT_TRUE(back->notes.empty());
    ASSERT_EQ(back->runs().size(), 1u);
    EXPECT_EQ(back->runs()[0], c);
  }
}

TEST(HplDat, ThresholdsAreReadAsCReadsThemAndWrittenWhole) {
  HplConfig c;
  for (const auto& [threshold, text] : {std::pair{16.0, "\n16.0 "},
                                        {1e-7, "\n1e-07 "},
                                        {16.25, "\n16.25 "},
                                        {1e300, "\n1e+300 "},
                                        {-1.0, "\n-1.0 "},
                                        {0.0, "\n0.0 "},
                                        {0.1 + 0.2, "\n0.30000000000000004 "}}) {
    c.threshold = threshold;
    const std::string written = write_hpl_dat(to_dat(c));
    EXPECT_THAT(written, HasSubstr(text));
    const auto back = parse_hpl_dat(written, "written");
    ASSERT_TRUE(back) << back.error().message();
    EXPECT_EQ(back->threshold, threshold);
  }
  for (const char* sixteen : {"+16.0 threshold", "+16 threshold", "1.6e+1 threshold", "16. threshold"}) {
    const auto d = with(13, sixteen);
    ASSERT_TRUE(d) << d.error().message();
    EXPECT_EQ(d->threshold, 16.0) << sixteen;
  }
  for (const char* none : {"+-16.0", "++16.0", "+", "+much"}) EXPECT_FALSE(with(13, none)) << none;
  EXPECT_FALSE(with(6, "+-5 29")) << "HPL's atoi makes 0 of it";
}

TEST(HplDat, NumbersThatHplReplacesAreReplacedAndNamed) {
  auto d = with(23, "9  BCASTs");
  ASSERT_TRUE(d);
  EXPECT_EQ(d->bcast[0], Bcast::k1RingM);
  EXPECT_THAT(d->notes, ElementsAre(HasSubstr("HPL.dat:23: BCAST 9 is unknown to HPL, which takes 1 (1rM)")));
  EXPECT_EQ(with(26, "7 SWAP")->swap, Swap::kSpreadRoll);
  EXPECT_EQ(with(9, "2 PMAP")->pmap, ProcessMap::kRowMajor);
  EXPECT_EQ(with(31, "-1 align")->align, 4);
  EXPECT_EQ(with(27, "-5 threshold")->swap_threshold, 0);
}

// HPL_pdinfo.cpp, v6.1.0: any other DEPTH, SWAP, form of U and equilibration is "Illegal input in file HPL.dat".
TEST(HplDat, OfRocHplHasTheOneDepthSwapFormOfUAndEquilibrationThatItTakes) {
  const auto d = parse_hpl_dat(text_of(rochpl_lines()), "HPL.dat", Program::kRocHpl);
  ASSERT_TRUE(d) << d.error().message();
  EXPECT_EQ(d->program, Program::kRocHpl);
  EXPECT_EQ(d->swap, Swap::kSpreadRoll);
  EXPECT_FALSE(d->equil);
  EXPECT_TRUE(d->u_transposed);
  EXPECT_THAT(d->depth, ElementsAre(1));
  for (const auto& [line, text, what] : std::vector<std::tuple<std::size_t, std::string, std::string>>{
           {25, "0 DEPTH", "HPL.dat:25:1: error: rocHPL takes no other DEPTH than 1; got \"0\"; expected 1"},
           {25, "2 DEPTH", "HPL.dat:25:1: error: rocHPL takes no other DEPTH than 1; got \"2\""},
           {26, "0 SWAP",
            "HPL.dat:26:1: error: rocHPL takes no other SWAP than 1; got \"0\"; expected 1 (long)"},
           {26, " 2 SWAP", "HPL.dat:26:2: error: rocHPL takes no other SWAP than 1; got \"2\""},
           {29, "1 U", "HPL.dat:29:1: error: rocHPL takes U in transposed form only; got \"1\""},
           {30, "1 Equilibration", "HPL.dat:30:1: error: rocHPL knows no equilibration; got \"1\""},
           {30, "7 Equilibration", "HPL.dat:30:1: error: rocHPL knows no equilibration; got \"7\""}}) {
    const auto refused = rochpl_with(line, text);
    ASSERT_FALSE(refused) << text;
    EXPECT_THAT(refused.error().message(), HasSubstr(what));
    EXPECT_EQ(refused.error().code, ErrorCode::kBadInput);
    EXPECT_TRUE(with(line, text)) << "HPL takes it: " << text;
  }
  auto depths = rochpl_lines();
  depths[23] = "2            # of lookahead depth", depths[24] = "1 0          DEPTHs (>=0)";
  EXPECT_THAT(parse_hpl_dat(text_of(depths), "HPL.dat", Program::kRocHpl).error().message(),
              HasSubstr("HPL.dat:25:3: error: rocHPL takes no other DEPTH than 1; got \"0\""));
  // What it replaces by what it takes is no fault.
  for (const auto& [line, text] : {std::pair<std::size_t, std::string>{26, "5 SWAP"}, {29, "5 U"}})
    EXPECT_THAT(rochpl_with(line, text)->notes, testing::Contains(HasSubstr("is unknown to rocHPL")));
}

TEST(HplDat, OfRocHplHasTheModifiedLongBroadcastForAllThatItDoesNotKnow) {
  for (const char* unknown : {"6", "9", "-1"}) {
    const auto d = rochpl_with(23, unknown);
    ASSERT_TRUE(d) << d.error().message();
    EXPECT_THAT(d->bcast, ElementsAre(Bcast::kLongM));
    EXPECT_THAT(d->notes, ElementsAre(fmt::format(
                              "HPL.dat:23: BCAST {} is unknown to rocHPL, which takes 5 (LnM)", unknown)));
  }
  EXPECT_THAT(rochpl_with(23, "1")->bcast, ElementsAre(Bcast::k1RingM));
}

TEST(HplDat, OfNvidiaHasOneRunForAllDepths) {
  auto v = lines();
  v[23] = "3            # of lookahead depth", v[24] = "0 1 2        DEPTHs (>=0)";
  const auto d = parse_hpl_dat(text_of(v), "HPL.dat", Program::kNvidia);
  ASSERT_TRUE(d) << d.error().message();
  EXPECT_THAT(d->depth, ElementsAre(1));
  EXPECT_THAT(d->notes,
              ElementsAre("HPL.dat:25: DEPTH 0 1 2 makes one run: nvidia always looks one panel ahead"));
  EXPECT_EQ(parse_hpl_dat(text_of(v), "HPL.dat")->run_count(), 3 * d->run_count());
  EXPECT_THAT(parse_hpl_dat(text_of(lines()), "HPL.dat", Program::kNvidia)->notes, testing::IsEmpty());
}

TEST(HplDat, WrittenForRocHplIsOneThatItTakes) {
  HplConfig c;
  c.program = Program::kRocHpl;
  for (const Swap swap : {Swap::kBinaryExchange, Swap::kSpreadRoll, Swap::kMix})
    for (const bool either : {false, true}) {
      c.swap = swap, c.depth = either ? 0 : 3, c.equil = either, c.u_transposed = either;
      const std::string text = write_hpl_dat(to_dat(c));
      const auto back = parse_hpl_dat(text, "written", Program::kRocHpl);
      ASSERT_TRUE(back) << back.error().message();
      EXPECT_THAT(text, HasSubstr("\n1            number of DEPTHs\n1            DEPTH"));
      EXPECT_THAT(text, HasSubstr("\n1            SWAP"));
      EXPECT_THAT(text, HasSubstr("\n0            U "));
      EXPECT_THAT(text, HasSubstr("\n0            equilibration"));
    }
}

TEST(HplDat, FaultsAreAnsweredWithLineColumnAndMeaning) {
  const auto message = [](std::size_t line, const std::string& text) {
    auto d = with(line, text);
    return d ? std::string("accepted") : d.error().message();
  };
  EXPECT_THAT(message(5, "0 sizes"),
              HasSubstr("HPL.dat:5:1: error: the number of problem sizes is out of range"));
  EXPECT_THAT(message(5, "21 sizes"), HasSubstr("expected 1 to 20"));
  EXPECT_THAT(message(6, "29 many Ns"),
              HasSubstr("HPL.dat:6:4: error: value 2 of N is not a number; got \"many\""));
  EXPECT_THAT(message(6, "29"), HasSubstr("value 2 of N is missing"));
  EXPECT_THAT(message(6, "-1 5"), HasSubstr("HPL.dat:6:1: error: a value of N is less than 0"));
  EXPECT_THAT(message(8, "0 NBs"), HasSubstr("a value of NB is less than 1"));
  EXPECT_THAT(message(11, "2 0 4"), HasSubstr("HPL.dat:11:3"));
  EXPECT_THAT(message(13, "much"), HasSubstr("HPL.dat:13:1: error: the threshold is not a number"));
  EXPECT_THAT(message(19, "1 NDIV"), HasSubstr("a value of NDIV is less than 2"));
  EXPECT_THAT(message(25, "-1"), HasSubstr("DEPTH"));
  EXPECT_THAT(message(8, "40000 NBs"), HasSubstr("HPL.dat:8:1: error: a value of NB is more than 32768"));
  EXPECT_THAT(message(25, "65"), HasSubstr("HPL.dat:25:1: error: a value of DEPTH is more than 64"));
  EXPECT_THAT(message(6, "99999999999 1"), HasSubstr("too large"));
  EXPECT_THAT(message(11, "100000 1 4"), HasSubstr("accepted"));
  auto v = lines();
  v.resize(20);
  EXPECT_THAT(parse_hpl_dat(text_of(v), "short.dat").error().message(),
              HasSubstr("short.dat:21:1: error: the file ends early; expected RFACT"));
  EXPECT_THAT(parse_hpl_dat("", "empty.dat").error().message(), HasSubstr("empty.dat:1:1"));
}

TEST(HplDat, BlanksThatHplMisreadsAreRefused) {
  // HPL steps over "29" and one blank from the line's start and reads "9" next.
  EXPECT_THAT(with(6, "   29 30000").error().message(), HasSubstr("HPL would misread value 2 of N"));
  EXPECT_TRUE(with(6, "29  30000  Ns"));
}

TEST(HplDat, ALineThatHplWouldCutIsRefused) {
  // fgets() takes 253 bytes at most: 252 and the line feed.
  const auto padded = [](std::string line, std::size_t size) {
    line.resize(size, 'x');
    return line;
  };
  for (const std::size_t line : {1, 2, 6, 29}) {
    const std::string text = lines()[line - 1] + ' ';
    EXPECT_TRUE(with(line, padded(text, 252))) << line;
    EXPECT_EQ(with(line, padded(text, 253)).error().message(),
              fmt::format("HPL.dat:{}:253: error: HPL would take the rest of a line that is too long for the "
                          "next line; got \"253 characters\"; expected at most 253, the end of the line "
                          "included",
                          line));
  }
}

TEST(HplDat, DamagedTextIsReadOrRefusedWithAPosition) {
  const std::string whole = text_of(lines());
  for (std::uint64_t i = 0; i < 4000; ++i) {
    Rng rng(i);
    std::string text = whole;
    for (std::uint64_t k = 0; k <= rng.below(4); ++k) {
      const std::size_t at = rng.below(text.size());
      switch (rng.below(4)) {
        case 0:
          text[at] = static_cast<char>(rng.below(256));
          break;
        case 1:
          text.erase(at, rng.below(20));
          break;
        case 2:
          text.insert(at, std::to_string(rng.next()));
          break;
        default:
          text.insert(at, 1 + rng.below(3), ' ');
      }
      if (text.empty()) text = "x";
    }
    const auto d = parse_hpl_dat(text, "HPL.dat");
    if (d) {
      EXPECT_LE(d->ranks(), kMaxProcesses) << "seed " << i;
      for (const auto n : d->n) EXPECT_GE(n, 0);
    } else {
      EXPECT_THAT(d.error().message(), ::testing::StartsWith("HPL.dat:")) << "seed " << i;
      EXPECT_EQ(d.error().code, ErrorCode::kBadInput);
    }
  }
}

TEST(HplDat, AnUnreadableFileIsNamed) {
  EXPECT_THAT(read_hpl_dat("/no/such/HPL.dat").error().message(), HasSubstr("/no/such/HPL.dat"));
}

TEST(HplDat, NamesAndNumbersAreBothTaken) {
  EXPECT_EQ(*parse_bcast("2rM", "--bcast"), Bcast::k2RingM);
  EXPECT_EQ(*parse_bcast("5", "--bcast"), Bcast::kLongM);
  EXPECT_EQ(*parse_factor("Crout", "--pfact"), Factor::kCrout);
  EXPECT_THAT(parse_swap("3", "--swap").error().message(), HasSubstr("0|bin-exch, 1|long, 2|mix"));
}

}  // namespace
}  // namespace weft::hpl_gen
