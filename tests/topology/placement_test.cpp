#include <set>

#include "tests/topology/support.hpp"

namespace weft::topology {
namespace {

using ::testing::HasSubstr;

std::vector<std::uint32_t> place(const Platform& p, std::uint32_t ranks, const std::string& map,
                                 std::uint64_t seed = 0) {
  auto r = place_ranks(p, ranks, map, seed);
  if (!r) ADD_FAILURE() << r.error().message();
  std::vector<std::uint32_t> out;
  if (r)
    for (HostId h : *r) out.push_back(h.index());
  return out;
}
std::string place_error(const Platform& p, std::uint32_t ranks, const std::string& map) {
  auto r = place_ranks(p, ranks, map, 0);
  EXPECT_FALSE(r.has_value());
  return r ? std::string() : r.error().message();
}

TEST(Placement, BlockFillsAHostBeforeTheNextAndCyclicDeals) {
  const Platform p = load("crossbar:n=3,ranks_per_host=2");
  EXPECT_EQ(place(p, 6, "block"), (std::vector<std::uint32_t>{0, 0, 1, 1, 2, 2}));
  EXPECT_EQ(place(p, 6, "cyclic"), (std::vector<std::uint32_t>{0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(place(p, 3, "block"), (std::vector<std::uint32_t>{0, 0, 1}));
}

TEST(Placement, RandomIsAPermutationFixedByItsSeedAndUsesTheWholeMachine) {
  const Platform p = load("crossbar:n=64,ranks_per_host=2");
  const auto a = place(p, 128, "random", 7);
  EXPECT_EQ(a, place(p, 128, "random", 7));
  EXPECT_NE(a, place(p, 128, "random", 8));
  std::vector<int> load_of(64, 0);
  for (std::uint32_t h : a) ++load_of[h];
  EXPECT_THAT(load_of, ::testing::Each(2));
  const auto few = place(p, 32, "random", 7);
  EXPECT_GT(std::set<std::uint32_t>(few.begin(), few.end()).size(), 20u);
  EXPECT_GT(*std::max_element(few.begin(), few.end()), 48u);
}

TEST(Placement, FileNamesTheHostOfEachRankByIndexOrName) {
  const Platform p = load("crossbar:n=4");
  const TempFile f("map", "2\nnode-0\n 3 \r\n");
  EXPECT_EQ(place(p, 3, "file:" + f.path()), (std::vector<std::uint32_t>{2, 0, 3}));
}

TEST(Placement, BadMapsAreRefusedWithLineAndColumn) {
  const Platform p = load("crossbar:n=4");
  EXPECT_THAT(place_error(p, 5, "block"), HasSubstr("5 ranks on 4 hosts of 1"));
  EXPECT_THAT(place_error(p, 2, "best"), HasSubstr("block, cyclic, random or file:PATH"));
  EXPECT_THAT(place_error(p, 2, "file:/nonexistent"), HasSubstr("cannot open"));
  struct Case {
    std::string text, expected;
  };
  for (const Case& c :
       std::vector<Case>{{"0\n4\n", ":2:1: error: unknown host; got \"4\"; expected an index from 0 to 3"},
                         {"0\n  node-9\n", ":2:3: error: unknown host; got \"node-9\""},
                         {"0\n", ":2:1: error: fewer lines than ranks"},
                         {"0\n1\n2\n", ":3:1: error: more lines than ranks"},
                         {"0\n\n", ":2:1: error: empty line"},
                         {"1\n1\n", ":2:1: error: more ranks on a host than its slots"},
                         {"0\n99999999999999999999999\n", "unknown host"}}) {
    const TempFile f("badmap", c.text);
    EXPECT_THAT(place_error(p, 2, "file:" + f.path()), HasSubstr(f.path())) << c.text;
    EXPECT_THAT(place_error(p, 2, "file:" + f.path()), HasSubstr(c.expected)) << c.text;
  }
}

}  // namespace
}  // namespace weft::topology
