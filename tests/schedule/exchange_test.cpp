#include "schedule/exchange.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "schedule/exhaustive.hpp"
#include "tests/schedule/storm_workload.hpp"

namespace weft::schedule {
namespace {

Grid grid_of(std::string_view text) {
  auto g = parse_grid(text, "--grid");
  EXPECT_TRUE(g) << (g ? "" : g.error().message());
  g->face = {Bytes(10), Bytes(20), Bytes(30)};
  g->edge = Bytes(2);
  g->corner = Bytes(1);
  return *g;
}

TEST(Exchange, GridsHaveTheNeighboursOfTheirCells) {
  EXPECT_EQ(halo_exchange(grid_of("4x2")).messages.size(), 20u);
  EXPECT_EQ(halo_exchange(grid_of("4x2")).schedules(), 20736);
  EXPECT_EQ(halo_exchange(grid_of("2x2x2")).schedules(), 1679616);
  EXPECT_EQ(halo_exchange(grid_of("5")).messages.size(), 8u);
  EXPECT_EQ(halo_exchange(grid_of("4x4")).messages.size(), 48u);
}

TEST(Exchange, PeriodicGridsHaveTwoMessagesPerDimensionAndRank) {
  Grid g = grid_of("4x2x3");
  g.periodic = true;
  const Exchange e = halo_exchange(g);
  EXPECT_EQ(e.messages.size(), 24u * 6);  // two messages to the one neighbour of a dimension of two
  g = grid_of("1x3");
  g.periodic = true;
  EXPECT_EQ(halo_exchange(g).messages.size(), 6u);
}

TEST(Exchange, EdgesAndCornersMakeTwentySixPeriodicNeighboursWithTheirOwnSizes) {
  Grid g = grid_of("3x3x3");
  g.periodic = true;
  g.diagonals = true;
  const Exchange e = halo_exchange(g);
  ASSERT_EQ(e.messages.size(), 27u * 26);
  std::map<std::int64_t, int> sizes;
  for (std::uint32_t m = e.first[13]; m < e.first[14]; ++m) ++sizes[e.messages[m].bytes.value()];
  EXPECT_EQ(sizes, (std::map<std::int64_t, int>{{1, 8}, {2, 12}, {10, 2}, {20, 2}, {30, 2}}));
  g.periodic = false;
  EXPECT_EQ(halo_exchange(g).sends(13), 26u);
  EXPECT_EQ(halo_exchange(g).sends(0), 7u);
}

// Every message is answered, and ranks agree with a plain reading of the coordinates.
TEST(Exchange, HaloExchangesAreSymmetricAndStayInTheGrid) {
  for (bool periodic : {false, true}) {
    for (bool diagonals : {false, true}) {
      Grid g = grid_of("3x4x2");
      g.periodic = periodic;
      g.diagonals = diagonals;
      const Exchange e = halo_exchange(g);
      std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t> sent;
      for (const Message& m : e.messages) {
        EXPECT_NE(m.src, m.dst);
        sent[{m.src, m.dst}] += m.bytes.value();
      }
      for (const auto& [pair, bytes] : sent) EXPECT_EQ(bytes, (sent[{pair.second, pair.first}]));
    }
  }
}

TEST(Exchange, BadGridsAreAnsweredWithWhatWasExpected) {
  for (const char* text : {"", "x", "4x", "0x2", "2x2x2x2", "4 x2", "-1", "99999", "64x65", "4x2.5"}) {
    const auto g = parse_grid(text, "--grid");
    ASSERT_FALSE(g) << text;
    EXPECT_EQ(g.error().code, ErrorCode::kBadInput);
    EXPECT_NE(g.error().message().find("--grid: error: no grid"), std::string::npos) << g.error().message();
  }
}

TEST(Exchange, APatternIsReadWithUnitsOrBareNumbers) {
  const auto e = parse_pattern("src,dst,bytes\n1,0,64KiB\n0, 1 ,1MB\n\n0,2,0\n", "p.csv");
  ASSERT_TRUE(e) << e.error().message();
  EXPECT_EQ(e->ranks, 3u);
  ASSERT_EQ(e->messages.size(), 3u);
  EXPECT_EQ(e->messages[0], (Message{0, 1, Bytes(1000000)}));
  EXPECT_EQ(e->messages[2], (Message{1, 0, Bytes(65536)}));
  const auto bare = parse_pattern("bytes_B,dst,src\r\n7,1,0\r\n", "p.csv");
  ASSERT_TRUE(bare);
  EXPECT_EQ(bare->messages[0], (Message{0, 1, Bytes(7)}));
}

TEST(Exchange, BadPatternsNameTheirPlace) {
  const auto message = [](std::string_view text) {
    const auto e = parse_pattern(text, "p.csv");
    EXPECT_FALSE(e) << text;
    return e ? std::string() : e.error().message();
  };
  EXPECT_NE(message("").find("no message in the pattern"), std::string::npos);
  EXPECT_NE(message("src,dst\n0,1\n").find("p.csv:1:1: error: a column is missing"), std::string::npos);
  EXPECT_NE(message("src,dst,size\n").find("p.csv:1:9: error: unknown column"), std::string::npos);
  EXPECT_NE(message("src,src,bytes\n").find("p.csv:1:5: error: a column twice"), std::string::npos);
  EXPECT_NE(message("src,dst,bytes\n0,1\n").find("p.csv:2:1: error: wrong number of cells"),
            std::string::npos);
  EXPECT_NE(message("src,dst,bytes\n0,0,1KiB\n").find("p.csv:2:3: error: a rank that sends to itself"),
            std::string::npos);
  EXPECT_NE(message("src,dst,bytes\n0,1,12\n").find("p.csv:2:5"), std::string::npos);
  EXPECT_NE(message("src,dst,bytes_B\n0,1,-3\n").find("p.csv:2:5"), std::string::npos);
  EXPECT_NE(message("src,dst,bytes_B\n0,99999,3\n").find("p.csv:2:3"), std::string::npos);
}

// Symmetries by brute force over all permutations of 8 ranks, for grid and tree together.
TEST(Symmetry, TheGroupFoundHasTheOrderThatBruteForceCounts) {
  using weft::testing::Fraction;
  for (const auto& [e, expected] :
       {std::pair(weft::testing::unit_grid(4, 2), 4.0), std::pair(weft::testing::unit_grid(2, 2, 2), 8.0),
        std::pair(weft::testing::unit_grid(8, 1), 2.0)}) {
    const weft::testing::StormWorkload s(e, 1, Fraction(1, 5));
    std::map<std::pair<std::uint32_t, std::uint32_t>, int> arcs;
    for (const Message& m : e.messages) ++arcs[{m.src, m.dst}];
    std::vector<std::uint32_t> p = {0, 1, 2, 3, 4, 5, 6, 7};
    double count = 0;
    do {
      bool good = true;
      for (const auto& [pair, n] : arcs) good = good && arcs.contains({p[pair.first], p[pair.second]});
      // The tree: cards are pairs, switches fours.
      for (std::uint32_t i = 0; i < 8; i += 2) good = good && p[i] / 2 == p[i + 1] / 2;
      for (std::uint32_t i = 0; i < 8; i += 4) good = good && p[i] / 4 == p[i + 2] / 4;
      count += good ? 1 : 0;
    } while (std::next_permutation(p.begin(), p.end()));
    EXPECT_EQ(count, expected);
    EXPECT_EQ(workload_symmetry(s.workload).order, expected);
  }
}

}  // namespace
}  // namespace weft::schedule
