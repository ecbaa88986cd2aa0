// Rules: which algorithm each library takes for a call. Expected picks: the libraries' own decision functions.
#include "replay/collectives/rules.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/checkout.hpp"

namespace weft::replay {
namespace {

using traces::OpKind;

constexpr std::int64_t kKi = 1024;
constexpr std::int64_t kMi = 1048576;

CollectiveCall call(OpKind kind, std::uint32_t ranks, std::int64_t bytes) {
  return {.kind = kind, .ranks = ranks, .bytes = bytes};
}

// The picks that an evaluator over the table extracted from Open MPI's source gave (v4.1.0, v4.1.4, v5.0.10).
TEST(OpenMpiRules, TakeWhatItsDecisionFunctionsTake) {
  const auto number = [](OpKind kind, std::uint32_t ranks, std::int64_t bytes) {
    return static_cast<int>(openmpi_number(call(kind, ranks, bytes)));
  };
  EXPECT_EQ(number(OpKind::bcast, 64, kMi), 7);
  EXPECT_EQ(number(OpKind::bcast, 1024, 512 * kKi), 8);
  EXPECT_EQ(number(OpKind::bcast, 2, 8), 3);
  EXPECT_EQ(number(OpKind::allreduce, 128, 128 * kKi), 3);
  EXPECT_EQ(number(OpKind::allreduce, 16, 64), 3);
  EXPECT_EQ(number(OpKind::allreduce, 4096, 2 * kKi), 5);
  EXPECT_EQ(number(OpKind::allreduce, 3, 256 * kKi), 6);
  EXPECT_EQ(number(OpKind::alltoall, 2, 1), 2);
  EXPECT_EQ(number(OpKind::alltoall, 64, kKi), 1);
  EXPECT_EQ(number(OpKind::alltoall, 1000, 16 * kKi), 4);
  EXPECT_EQ(number(OpKind::allgather, 48, 64 * kKi), 4);
  EXPECT_EQ(number(OpKind::allgather, 47, 65535), 5);
  EXPECT_EQ(number(OpKind::reduce, 300, 8 * kKi), 6);
  EXPECT_EQ(number(OpKind::reduce_scatter_block, 2, 8), 3);
  EXPECT_EQ(number(OpKind::gather, 5, 256 * kKi), 3);
  EXPECT_EQ(number(OpKind::barrier, 256, 0), 6);
  const std::vector<std::int64_t> parts(40, 51);  // 2040 bytes
  CollectiveCall scattered = call(OpKind::reduce_scatter, 40, 51);
  scattered.counts = parts;
  EXPECT_EQ(openmpi_number(scattered), 2);
  std::vector<std::int64_t> more(40, 51);
  more[0] += 8;  // 2 KiB in total
  scattered.counts = more;
  EXPECT_EQ(openmpi_number(scattered), 4);
  // allgatherv counts by the mean block.
  std::vector<std::int64_t> blocks{0, 0, 0, 4 * 4095};
  CollectiveCall gathered = call(OpKind::allgatherv, 4, 0);
  gathered.counts = blocks;
  EXPECT_EQ(openmpi_number(gathered), 4);
  blocks[3] += 4;
  EXPECT_EQ(openmpi_number(gathered), 3);
}

// Powers of two and one less, on both sides of every boundary of communicator sizes: against what the decision functions
// of Open MPI 4.1.4 and 5.0.10 answered (tests/oracle/data/collectives/SOURCE.txt).
TEST(OpenMpiRules, AgreeWithTheLibrarysOwnFunctionsOnBothSidesOfEveryBoundary) {
  std::ifstream in(support::oracle_dir() + "/collectives/openmpi_fixed.txt");
  ASSERT_TRUE(in) << "the recording is missing";
  std::vector<std::int64_t> sizes{1};
  for (std::int64_t n = 2; n <= 8 * kMi; n *= 2) {
    if (n > 2) sizes.push_back(n - 1);
    sizes.push_back(n);
  }
  std::string line;
  std::size_t compared = 0;
  while (std::getline(in, line)) {
    if (line[0] == '#') continue;
    std::istringstream words(line);
    std::string name, change;
    std::uint32_t ranks = 0;
    ASSERT_TRUE(words >> name >> ranks) << line;
    const auto kind = find_collective_kind(name);
    ASSERT_TRUE(kind) << line;
    std::map<std::int64_t, int> from;
    while (words >> change) {
      const auto colon = change.find(':');
      from[std::stoll(change.substr(0, colon))] = std::stoi(change.substr(colon + 1));
    }
    const bool sized = from.begin()->first > 0;
    for (const std::int64_t bytes : sized ? sizes : std::vector<std::int64_t>{0}) {
      if (*kind == OpKind::allgatherv && bytes >= 300000) continue;  // not recorded
      std::vector<std::int64_t> list;
      CollectiveCall c = call(*kind, ranks, bytes);
      if (*kind == OpKind::allgatherv) list.assign(ranks, bytes);
      if (*kind == OpKind::reduce_scatter) list.assign(ranks, 0), list[0] = bytes;
      c.counts = list;
      ASSERT_EQ(static_cast<int>(openmpi_number(c)), std::prev(from.upper_bound(bytes))->second)
          << name << ' ' << ranks << " ranks " << bytes << " B";
      ++compared;
    }
  }
  EXPECT_EQ(compared, 15820u);
}

TEST(OpenMpiRules, EveryKindAndNumberIsAnAlgorithmAndAllRanksTakeOne) {
  const auto rules = open_collective_rules("openmpi4");
  ASSERT_TRUE(rules);
  for (int k = static_cast<int>(OpKind::barrier); k <= static_cast<int>(OpKind::neighbor_alltoallw); ++k) {
    const auto kind = static_cast<OpKind>(k);
    for (const std::uint32_t p : {1u, 2u, 3u, 7u, 8u, 16u, 40u, 300u, 5000u})
      for (const std::int64_t bytes : {std::int64_t{0}, std::int64_t{8}, 4 * kKi, 100 * kKi, 8 * kMi}) {
        const std::vector<std::int64_t> list(p, bytes);
        CollectiveCall c = call(kind, p, bytes);
        if (kind == OpKind::allgatherv || kind == OpKind::reduce_scatter) c.counts = list;
        const auto pick = (*rules)->pick(c);
        ASSERT_NE(pick.algorithm, nullptr);
        EXPECT_EQ(pick.algorithm->kind, kind);
        EXPECT_EQ(pick.algorithm->number, openmpi_number(c));
        if (kind < OpKind::neighbor_allgather) {
          EXPECT_TRUE(pick.algorithm->name.starts_with("openmpi.")) << pick.algorithm->name;
        }
        EXPECT_EQ(pick.segment, 0);
      }
  }
}

TEST(CollectiveRules, UnknownNamesAreAnsweredWithTheKnownOnes) {
  const auto r = open_collective_rules("openmp");
  ASSERT_FALSE(r);
  EXPECT_THAT(r.error().message(),
              ::testing::StartsWith("error: unknown rules for collectives; got \"openmp\"; "
                                    "expected default, openmpi4"));
  EXPECT_EQ(exit_code(r.error().code), 2);
}

// Brute force over the definition.
TEST(NodeShape, RanksOfAHostAreANodeAndNodesAreInTheOrderOfTheirFirstRank) {
  for (const std::vector<std::uint32_t>& hosts :
       {std::vector<std::uint32_t>{7}, {3, 3, 3}, {5, 2, 5, 2, 9}, {0, 1, 2, 3}, {8, 8, 1, 1, 1, 4, 4}}) {
    const NodeShape s(hosts);
    std::vector<std::uint32_t> seen;  // hosts by first rank
    std::map<std::uint32_t, std::uint32_t> members;
    for (std::uint32_t r = 0; r < hosts.size(); ++r) {
      const auto at = std::find(seen.begin(), seen.end(), hosts[r]);
      EXPECT_EQ(s.node[r], at - seen.begin()) << r;
      if (at == seen.end()) seen.push_back(hosts[r]);
      EXPECT_EQ(s.local[r], members[hosts[r]]++) << r;
      EXPECT_EQ(s.on(s.node[r])[s.local[r]], r);
    }
    EXPECT_EQ(s.nodes(), seen.size());
    EXPECT_EQ(s.hierarchical(), seen.size() > 1 && seen.size() < hosts.size());
    bool even = true;
    for (const auto& [host, count] : members) even = even && count == members.begin()->second;
    EXPECT_EQ(s.even(), even);
  }
}

}  // namespace
}  // namespace weft::replay
