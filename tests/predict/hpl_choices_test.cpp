// What HPL is run with when nobody says, against the closed forms.
#include "predict/hpl_choices.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include "core/quantity_text.hpp"
#include "tests/predict/support.hpp"

namespace weft::predict {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr double kHostBytes = 3.0 * (1 << 30);
topology::Platform machine() { return crossbar_of(4, "ranks: 2 memory: \"3GiB\" speed: \"10Gflops\""); }

Result<std::int64_t> block_order(const topology::Platform& p, int ranks, std::int64_t nb) {
  return largest_order(p, ranks, nb, "block", 1);
}

TEST(LargestOrder, IsTheLargestMultipleOfNbWhoseMatrixFitsIntoFourFifthsOfTheHostsUsed) {
  const auto p = machine();
  for (const int ranks : {1, 2, 3, 5, 8})
    for (const std::int64_t nb : {1, 64, 192, 256}) {
      const auto n = block_order(p, ranks, nb);
      ASSERT_TRUE(n);
      // Two ranks a host: with three the first one has two thirds of the matrix.
      const double room = 0.8 * kHostBytes * ranks / std::min(2, ranks);
      const auto bytes = [](std::int64_t order) {
        return 8.0 * static_cast<double>(order) * static_cast<double>(order);
      };
      EXPECT_EQ(*n % nb, 0);
      EXPECT_LE(bytes(*n), room) << ranks << " " << nb;
      EXPECT_GT(bytes(*n + nb), room) << ranks << " " << nb;
    }
  EXPECT_EQ(*block_order(p, 8, 192), 35712);  // sqrt(0.8 * 4 * 3 GiB / 8) = 35895.7...
}

TEST(LargestOrder, NeedsToKnowTheMemoryAndRoomForABlock) {
  const auto small = block_order(crossbar_of(1, "memory: \"8KB\""), 1, 192);  // holds an order of 28
  ASSERT_FALSE(small);
  EXPECT_EQ(small.error().code, ErrorCode::kUsage);
  const auto r = block_order(platform_of("crossbar:n=2"), 2, 64);
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code, ErrorCode::kUsage);
  EXPECT_THAT(r.error().message(), HasSubstr("how much memory"));
}

// Two of four ranks share a host, or none does.
TEST(LargestOrder, IsWhatTheFullestHostOfThePlacementHolds) {
  const auto p = machine();
  const auto root = [](double bytes) { return static_cast<std::int64_t>(std::sqrt(0.8 * bytes / 8)); };
  for (const auto& [map, hosts] : {std::pair{"block", 2}, {"block,hosts=packed", 2}, {"cyclic", 4}}) {
    const auto n = largest_order(p, 4, 1, map, 1);
    ASSERT_TRUE(n) << map;
    EXPECT_EQ(*n, root(kHostBytes * hosts)) << map;
  }
  // Three on one, one on another: the one with three holds three quarters.
  const auto four = crossbar_of(4, "ranks: 4 memory: \"3GiB\"");
  const TempFile file("map.txt", "0\n0\n0\n1\n");
  const auto uneven = largest_order(four, 4, 1, "file:" + file.path(), 1);
  ASSERT_TRUE(uneven);
  EXPECT_EQ(*uneven, root(kHostBytes * 4 / 3));
  hpl_gen::HplDat dat;
  dat.nb = {1};
  dat.grids = {{2, 2}};
  EXPECT_THAT(complete_dat(dat, {.n = true}, p, "cyclic", 1)->dat.n, ElementsAre(root(kHostBytes * 4)));
  EXPECT_FALSE(largest_order(p, 9, 1, "block", 1)) << "there are eight slots";
}

hpl_gen::HplConfig run_of(std::int64_t n, int p, int q) {
  hpl_gen::HplConfig c;
  c.n = n, c.p = p, c.q = q;
  return c;
}

TEST(MemoryWarnings, AreOfMatricesThatTheFullestHostDoesNotHold) {
  const auto p = machine();
  const auto order = [](double bytes) { return static_cast<std::int64_t>(std::sqrt(bytes / 8)); };
  const std::int64_t fits = order(2 * kHostBytes);  // four ranks on two hosts
  const auto of = [&](const std::vector<hpl_gen::HplConfig>& runs, std::string_view map = "block") {
    return memory_warnings(p, runs, map, 1);
  };
  EXPECT_THAT(of({run_of(fits, 2, 2)}), IsEmpty());
  EXPECT_THAT(of({run_of(fits + 1, 2, 2)}), ElementsAre(HasSubstr("does not fit")));
  EXPECT_THAT(of({run_of(fits + 1, 2, 2)}, "cyclic"), IsEmpty());
  EXPECT_THAT(of({run_of(*block_order(p, 8, 64), 2, 4)}), IsEmpty());
  // The one that takes most, once for each size.
  EXPECT_THAT(of({run_of(40'000, 1, 4), run_of(50'000, 1, 4), run_of(50'000, 1, 4), run_of(1000, 1, 4)}),
              ElementsAre("N = 50000 on 1 x 4 does not fit: its matrix takes 10 GB of a host that has " +
                          show(Bytes(p.compute.memory_bytes)) + "; 2 of 3 sizes do not fit"));
  // Nothing is known of memory, or of ranks that have no place.
  EXPECT_THAT(memory_warnings(platform_of("crossbar:n=4"), {run_of(1'000'000, 2, 2)}, "block", 1), IsEmpty());
  EXPECT_THAT(of({run_of(1'000'000, 4, 4)}), IsEmpty());
}

TEST(MemoryWarnings, OfAcceleratorsAreOfWhatIsSaidToBeBeyondTheirs) {
  const auto p = machine();
  auto c = run_of(100'000, 2, 2);  // 20 GB each, two on a host of 3.2
  for (const auto program : {hpl_gen::Program::kRocHpl, hpl_gen::Program::kNvidia}) {
    c.program = program;
    EXPECT_THAT(memory_warnings(p, {c}, "block", 1), IsEmpty());
  }
  c.rochpl.device_memory = 19'000'000'000;
  EXPECT_THAT(memory_warnings(p, {c}, "block", 1), IsEmpty());
  c.rochpl.device_memory = 18'000'000'000;
  EXPECT_THAT(memory_warnings(p, {c}, "block", 1), ElementsAre(HasSubstr("its matrix takes 4 GB of a host")));
}

TEST(CompleteDat, OpenLinesAreFilledInAndNamedOthersStay) {
  hpl_gen::HplDat given;
  given.n = {500};
  given.nb = {32, 48};
  given.grids = {{1, 2}, {2, 3}};
  const auto kept = complete_dat(given, {}, machine(), "block", 1);
  ASSERT_TRUE(kept);
  EXPECT_THAT(kept->chosen, IsEmpty());
  EXPECT_EQ(kept->dat.n, given.n);
  EXPECT_EQ(kept->dat.nb, given.nb);
  EXPECT_EQ(kept->dat.grids, given.grids);

  const auto all = complete_dat(given, {.n = true, .nb = true, .grid = true}, machine(), "block", 1);
  ASSERT_TRUE(all);
  EXPECT_THAT(all->dat.nb, ElementsAre(kDefaultNb));
  EXPECT_THAT(all->dat.grids, ElementsAre(hpl_gen::Grid{2, 4}));
  EXPECT_THAT(all->dat.n, ElementsAre(35712));
  EXPECT_THAT(all->chosen, ElementsAre("NB = 192 (the default)", "P x Q = 2 x 4 (all 8 ranks)",
                                       "N = 35712 (80 % of memory)"));

  // The order fits on every grid; its width is the first one.
  const auto order = complete_dat(given, {.n = true}, machine(), "block", 1);
  ASSERT_TRUE(order);
  EXPECT_THAT(order->dat.n, ElementsAre(*block_order(machine(), 2, 32)));
  EXPECT_EQ(order->dat.nb, given.nb);
}

TEST(CompleteDat, AnOpenGridIsOneThatTheRowsAndColumnsOnANodeDivide) {
  hpl_gen::HplDat dat;
  dat.rochpl.local_p = 4;
  const auto nodes = platform_of("crossbar:n=2,ranks_per_host=4");
  const auto chosen = [&] { return complete_dat(dat, {.grid = true}, nodes, "block", 1); };
  EXPECT_THAT(chosen()->dat.grids, ElementsAre(hpl_gen::Grid{2, 4})) << "HPL's own knows no nodes";
  for (const auto program : {hpl_gen::Program::kRocHpl, hpl_gen::Program::kNvidia}) {
    dat.program = program;
    dat.rochpl.local_p = 4, dat.rochpl.local_q = 0;
    EXPECT_THAT(chosen()->dat.grids, ElementsAre(hpl_gen::Grid{4, 2}));
    EXPECT_THAT(chosen()->chosen, ElementsAre("P x Q = 4 x 2 (all 8 ranks)"));
    dat.rochpl.local_p = 0, dat.rochpl.local_q = 4;
    EXPECT_THAT(chosen()->dat.grids, ElementsAre(hpl_gen::Grid{2, 4}));
  }
  dat.rochpl.local_p = 3, dat.rochpl.local_q = 8;
  const auto none = chosen();
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::kUsage);
  EXPECT_THAT(none.error().message(), HasSubstr("got \"3 x 8, 8 ranks\""));
  dat.program = hpl_gen::Program::kRocHpl;
  dat.rochpl.local_p = 3, dat.rochpl.local_q = 0;
  EXPECT_THAT(chosen().error().message(), HasSubstr("got \"3 x any, 8 ranks, 4 on a node\""));
}

// 15 ranks on nodes of 5: no two rows of a square are whole nodes.
TEST(CompleteDat, AnOpenGridOfRocHplIsOneThatItLaysOnTheNodesByItself) {
  hpl_gen::HplDat dat;
  dat.program = hpl_gen::Program::kRocHpl;
  const auto chosen = [&](const char* platform) {
    return complete_dat(dat, {.grid = true}, platform_of(platform), "block", 1)->dat.grids;
  };
  EXPECT_THAT(chosen("crossbar:n=3,ranks_per_host=5"), ElementsAre(hpl_gen::Grid{3, 5}));
  EXPECT_THAT(chosen("crossbar:n=10,ranks_per_host=6"), ElementsAre(hpl_gen::Grid{10, 6}));
  EXPECT_THAT(chosen("crossbar:n=4,ranks_per_host=8"), ElementsAre(hpl_gen::Grid{4, 8}));
}

TEST(LaidOnNodes, ANodeIsAHostOrThePcieTreeOfGpus) {
  hpl_gen::HplConfig c{.n = 1000, .p = 4, .q = 4};
  c.program = hpl_gen::Program::kRocHpl;
  const auto of = [&](const std::string& platform, const std::string& map = "block") {
    const auto p = platform_of(platform);
    const auto laid = laid_on_nodes(c, p.fabric, *topology::place_ranks(p, 16, map, 1));
    EXPECT_TRUE(laid) << (laid ? "" : laid.error().message());
    return laid ? hpl_gen::Grid{laid->rochpl.local_p, laid->rochpl.local_q} : hpl_gen::Grid{};
  };
  EXPECT_EQ(of("crossbar:n=16"), (hpl_gen::Grid{1, 1}));
  EXPECT_EQ(of("crossbar:n=2,ranks_per_host=8"), (hpl_gen::Grid{2, 4}));
  EXPECT_EQ(of("crossbar:n=8,ranks_per_host=8", "cyclic"), (hpl_gen::Grid{1, 2}));
  EXPECT_EQ(of("cs-storm-16"), (hpl_gen::Grid{4, 4})) << "sixteen GPUs of one node";
  EXPECT_EQ(of("crossbar:n=8,node=dgx-1-like"), (hpl_gen::Grid{2, 4}));
  c.program = hpl_gen::Program::kNvidia;
  EXPECT_EQ(of("crossbar:n=2,ranks_per_host=8"), (hpl_gen::Grid{0, 0})) << "nothing says that it asks";
}

TEST(LaidOnNodes, NodesThatDifferAreNamed) {
  hpl_gen::HplConfig c{.n = 1000, .p = 3, .q = 4};
  c.program = hpl_gen::Program::kRocHpl;
  const auto p = platform_of("crossbar:n=2,ranks_per_host=8");
  const auto laid = laid_on_nodes(c, p.fabric, *topology::place_ranks(p, 12, "block", 1));
  ASSERT_FALSE(laid);
  EXPECT_EQ(laid.error().code, ErrorCode::kBadInput);
  EXPECT_THAT(
      laid.error().message(),
      HasSubstr("nodes have different numbers of processes, on which rocHPL stops; got \"8 on that of "
                "node-0, 4 on that of node-1\""));
}

TEST(CompleteDat, AnOrderNeedsMemoryAGridDoesNot) {
  EXPECT_TRUE(complete_dat({}, {.grid = true}, platform_of("crossbar:n=6"), "block", 1));
  EXPECT_FALSE(complete_dat({}, {.n = true}, platform_of("crossbar:n=6"), "block", 1));
}

}  // namespace
}  // namespace weft::predict
