// What the libraries send: every pair of ranks, messages and bytes, of each collective against recordings of the layers
// below them (tests/oracle/data/collectives/SOURCE.txt).
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include "replay/collectives/rules.hpp"
#include "tests/support/checkout.hpp"
#include "tests/support/unpacked.hpp"

namespace weft::replay {
namespace {

using traces::OpKind;

using Pairs = std::map<std::pair<std::uint32_t, std::uint32_t>, std::pair<std::int64_t, std::int64_t>>;

using support::unpacked;

// One line: "collective ranks root bytes from>to:messages:bytes...", or with `counts` after the bytes (wire.c).
struct Recorded {
  std::string name;
  OpKind kind{};
  bool nonblocking = false;
  std::uint32_t ranks = 0;
  std::uint32_t root = 0;
  std::int64_t bytes = 0;
  int counts = 0;
  Pairs pairs;
};

Recorded parsed(const std::string& line, bool uneven) {
  Recorded r;
  std::istringstream words(line);
  EXPECT_TRUE(words >> r.name >> r.ranks >> r.root >> r.bytes) << line;
  if (uneven) {
    EXPECT_TRUE(words >> r.counts) << line;
  }
  r.nonblocking = r.name[0] == 'i';
  const auto kind = find_collective_kind(r.nonblocking ? r.name.substr(1) : r.name);
  EXPECT_TRUE(kind) << r.name;
  r.kind = *kind;
  std::string pair;
  while (words >> pair) {
    std::istringstream parts(pair);
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    char mark = 0;
    auto& sum = (parts >> from >> mark >> to, r.pairs[{from, to}]);
    EXPECT_TRUE(parts >> mark >> sum.first >> mark >> sum.second) << pair;
  }
  return r;
}

// Bytes of a rank, and from one to another, as wire.c has them.
std::int64_t own_bytes(const Recorded& call, std::uint32_t rank) {
  if (call.counts == 0) return call.bytes;
  const std::int64_t e = call.bytes / 8;
  return 8 * (call.counts == 1 ? rank % 3 * e + rank % 2 : rank % 2 * e);
}
std::int64_t pair_bytes(const Recorded& call, std::uint32_t from, std::uint32_t to) {
  if (call.counts == 0) return call.bytes;
  return call.counts == 1 ? (3 * from + 5 * to) % 4 * call.bytes : (from + to) % 2 * call.bytes;
}

// The same of our schedule.
Pairs scheduled(const CollectiveRules& rules, const Recorded& r, const NodeShape& nodes,
                std::string_view& algorithm) {
  Pairs ours;
  for (std::uint32_t me = 0; me < r.ranks; ++me) {
    std::vector<std::int64_t> list;
    const bool at_root = r.kind == OpKind::gatherv || r.kind == OpKind::scatterv;
    std::int64_t bytes = own_bytes(r, me);
    if (r.kind == OpKind::alltoallv) {
      list.push_back(r.ranks);
      for (std::uint32_t to = 0; to < r.ranks; ++to) list.push_back(pair_bytes(r, me, to));
      for (std::uint32_t from = 0; from < r.ranks; ++from) list.push_back(pair_bytes(r, from, me));
      bytes = std::accumulate(list.begin() + 1, list.begin() + 1 + r.ranks, std::int64_t{0});
    }
    if (r.kind == OpKind::allgatherv || r.kind == OpKind::reduce_scatter || (at_root && me == r.root))
      for (std::uint32_t k = 0; k < r.ranks; ++k) list.push_back(own_bytes(r, k));
    if (r.kind == OpKind::reduce_scatter) bytes = std::accumulate(list.begin(), list.end(), std::int64_t{0});
    CollectiveCall call{.kind = r.kind, .ranks = r.ranks, .root = r.root, .bytes = bytes, .counts = list};
    call.nonblocking = r.nonblocking;
    call.nodes = &nodes;
    EXPECT_TRUE(check_collective(call, me, "wire"));
    RankSchedule s;
    algorithm = build_chosen(rules, call, me, s).name;
    for (const auto& m : s.messages) {
      if (!m.send) continue;
      auto& sum = ours[{me, m.peer}];
      ++sum.first;
      sum.second += m.bytes;
    }
  }
  return ours;
}

enum class Nodes : std::uint8_t { kApart, kOddAndEven, kOne, kThreeBlocks, kRecorded };

// Of three blocks the first ones have one rank more.
std::uint32_t host_of(Nodes nodes, std::uint32_t rank, std::uint32_t ranks) {
  switch (nodes) {
    case Nodes::kApart:
      return rank;
    case Nodes::kOddAndEven:
      return rank % 2;
    case Nodes::kOne:
    case Nodes::kRecorded:
      return 0;
    case Nodes::kThreeBlocks: {
      const std::uint32_t longer = ranks / 3 + 1, of_longer = ranks % 3 * longer;
      return rank < of_longer ? rank / longer : ranks % 3 + (rank - of_longer) / (ranks / 3);
    }
  }
  return 0;
}

// Returns how many calls were compared, by collective.
std::map<std::string, int> compare(const std::string& file, const std::string& rules_name, Nodes where) {
  const bool uneven = file.find("uneven") != std::string::npos;
  const auto rules = *open_collective_rules(rules_name);
  std::istringstream in(unpacked(support::oracle_dir() + "/collectives/" + file));
  std::map<std::string, int> calls;
  std::vector<std::uint32_t> recorded;  // "nodes" and the node of every rank, of the lines that follow
  std::string line;
  while (std::getline(in, line)) {
    if (line.starts_with("nodes ")) {
      std::istringstream hosts(line.substr(6));
      recorded.assign(std::istream_iterator<std::uint32_t>(hosts), {});
      continue;
    }
    const Recorded r = parsed(line, uneven);
    std::vector<std::uint32_t> hosts(r.ranks);
    for (std::uint32_t k = 0; k < r.ranks; ++k) hosts[k] = host_of(where, k, r.ranks);
    if (where == Nodes::kRecorded) hosts = recorded;
    EXPECT_EQ(hosts.size(), r.ranks) << line;
    const NodeShape nodes(hosts);
    std::string_view algorithm;
    const Pairs ours = scheduled(*rules, r, nodes, algorithm);
    EXPECT_EQ(ours, r.pairs) << r.name << ' ' << r.ranks << " ranks, root " << r.root << ", " << r.bytes
                             << " B, counts " << r.counts << ": " << algorithm;
    ++calls[r.name];
  }
  return calls;
}

TEST(CollectiveWire, EveryPairsMessagesAndBytesAreThoseOfOpenMpi) {
  const auto calls = compare("openmpi_wire.txt.zst", "openmpi4", Nodes::kApart);
  EXPECT_EQ(calls.size(), 26u);
  EXPECT_EQ(calls.at("bcast"), 7 * 2 * 9) << "2 to 8 ranks, two roots, 9 sizes";
}

// Uneven counts, none among them, and vectors that no power of two divides.
TEST(CollectiveWire, UnevenCountsAndNoneAsOpenMpi) {
  const auto calls = compare("openmpi_uneven_wire.txt.zst", "openmpi4", Nodes::kApart);
  EXPECT_EQ(calls.size(), 28u);
  EXPECT_EQ(calls.at("alltoallv"), 5 * 5 * 3) << "2, 3, 5, 8, 9 ranks; 5 sizes; 3 kinds of counts";
}

// With HAN in front: nodes of as many and of other numbers of ranks, in blocks, dealt round and mixed, segments and the last
// one of 8 bytes among the sizes.
TEST(CollectiveWire, EveryPairsMessagesAndBytesAreThoseOfOpenMpi5WithNodes) {
  const auto calls = compare("openmpi5_nodes_wire.txt.zst", "openmpi5", Nodes::kRecorded);
  EXPECT_EQ(calls.size(), 9u);
  EXPECT_EQ(calls.at("reduce"), 15 * 3 * 10) << "15 shapes, three roots, 10 sizes";
}

TEST(CollectiveWire, UnevenCountsAndNoneAsOpenMpi5WithNodes) {
  const auto calls = compare("openmpi5_uneven_nodes_wire.txt.zst", "openmpi5", Nodes::kRecorded);
  EXPECT_EQ(calls.size(), 28u);
  EXPECT_EQ(calls.at("alltoallv"), 3 * 5 * 3) << "3 shapes, 5 sizes, 3 kinds of counts";
}

// HAN stays before a file of rules, which chooses its parts by their own ranks and bytes, and what is not HAN's.
TEST(CollectiveWire, FilesOfRulesBehindHanAsOpenMpi5) {
  for (const std::string file : {"openmpi5_rules_1", "openmpi5_rules_2"}) {
    const std::string rules = "openmpi5:" + support::oracle_dir() + "/collectives/" + file + ".txt";
    auto calls = compare(file + "_nodes_wire.txt.zst", rules, Nodes::kRecorded);
    EXPECT_EQ(calls.size(), 9u);
    EXPECT_EQ(calls.at("reduce"), 8 * 3 * 10) << "8 shapes, three roots, 10 sizes";
    calls = compare(file + "_uneven_nodes_wire.txt.zst", rules, Nodes::kRecorded);
    EXPECT_EQ(calls.size(), 28u);
    EXPECT_EQ(calls.at("alltoallv"), 3 * 5 * 3) << "3 shapes, 5 sizes, 3 kinds of counts";
  }
}

// coll_tuned_bcast_algorithm and the like are a file with one rule, whose fan is that of the variables.
TEST(CollectiveWire, VariablesOfAlgorithmsAreAFileOfRulesBehindHan) {
  const std::string rules = "openmpi5:" + support::oracle_dir() + "/collectives/openmpi5_variables.txt";
  const auto calls = compare("openmpi5_variables_nodes_wire.txt.zst", rules, Nodes::kRecorded);
  EXPECT_EQ(calls.size(), 9u);
  EXPECT_EQ(calls.at("bcast"), 3 * 10) << "three roots, 10 sizes";
}

// 12 blocks of one byte are 12 elements, not 3 of 4 bytes: HAN's reduce halves among six ranks with the root's place. Recorded
// like the files, with MPI_CHAR.
TEST(CollectiveWire, PartsHaveTheElementsOfTheCall) {
  const Recorded r = parsed(
      "reduce_scatter_block 12 0 1 0>1:1:1 0>2:2:8 0>4:2:10 0>8:2:7 1>0:1:12 2>0:2:12 2>3:1:1 3>2:1:12 "
      "4>0:2:12 "
      "4>5:1:1 4>6:2:8 4>10:1:3 5>4:1:12 6>4:2:12 6>7:1:1 7>6:1:12 8>0:2:6 8>9:1:1 8>10:2:8 9>8:1:12 "
      "10>4:2:6 "
      "10>8:1:6 10>11:1:1 11>10:1:12",
      false);
  const NodeShape nodes(std::vector<std::uint32_t>{0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5});
  std::string_view algorithm;
  EXPECT_EQ(scheduled(**open_collective_rules("openmpi5"), r, nodes, algorithm), r.pairs) << algorithm;
}

// Three segments: the library begins the bcast of one between nodes before the reduce of the next. Recorded like the files, with the
// sends of every rank in their order ("| to:bytes...").
TEST(CollectiveWire, AllreduceInSegmentsSendsEachPairsMessagesInOpenMpisOrder) {
  const std::pair<std::vector<std::uint32_t>, const char*> recorded[] = {
      {{0, 0, 1, 1, 2, 2},
       "| 2:32768 4:32768 2:65536 4:65536 2:32768 4:32768 2:65536 4:65536 1:65536 2:8 4:8 1:65536 1:8 "
       "| 0:65536 0:65536 0:8 | 0:32768 0:32768 0:32768 0:32768 0:8 3:65536 3:65536 3:8 | 2:65536 2:65536 "
       "2:8 "
       "| 0:32768 0:32768 0:32768 0:32768 0:8 5:65536 5:65536 5:8 | 4:65536 4:65536 4:8"},
      {{0, 1, 2, 1, 0, 2, 2, 0, 1},
       "| 1:32768 2:32768 1:65536 2:65536 1:32768 2:32768 1:65536 2:65536 4:65536 7:65536 1:8 2:8 4:65536 "
       "7:65536 4:8 | 0:32768 0:32768 0:32768 0:32768 0:8 3:65536 8:65536 3:65536 8:65536 3:8 | 0:32768 "
       "0:32768 0:32768 0:32768 0:8 5:65536 6:65536 5:65536 6:65536 5:8 | 1:65536 1:65536 1:8 8:8 | 0:65536 "
       "0:65536 0:8 7:8 | 2:65536 2:65536 2:8 6:8 | 2:65536 2:65536 2:8 | 0:65536 0:65536 0:8 | 1:65536 "
       "1:65536 "
       "1:8"}};
  using Sizes = std::map<std::uint32_t, std::vector<std::int64_t>>;  // by receiver
  for (const auto& [hosts, log] : recorded) {
    const NodeShape nodes(hosts);
    std::istringstream ranks(log + 1);
    std::string sends;
    for (std::uint32_t me = 0; me < hosts.size(); ++me) {
      ASSERT_TRUE(std::getline(ranks, sends, '|'));
      std::istringstream words(sends);
      Sizes theirs, ours;
      std::uint32_t to = 0;
      std::int64_t bytes = 0;
      for (char mark = 0; words >> to >> mark >> bytes;) theirs[to].push_back(bytes);
      RankSchedule s;
      const CollectiveCall call{.kind = OpKind::allreduce,
                                .ranks = static_cast<std::uint32_t>(hosts.size()),
                                .bytes = 131080,
                                .nodes = &nodes};
      build_chosen(**open_collective_rules("openmpi5"), call, me, s);
      for (const auto& m : s.messages)
        if (m.send) ours[m.peer].push_back(m.bytes);
      EXPECT_EQ(ours, theirs) << me << " of " << hosts.size();
    }
  }
}

TEST(CollectiveWire, EveryPairsMessagesAndBytesAreThoseOfMpich) {
  const auto calls = compare("mpich_wire.txt.zst", "mpich", Nodes::kApart);
  EXPECT_EQ(calls.size(), 26u);
  EXPECT_EQ(calls.at("bcast"), 7 * 2 * 9);
  int all = 0;
  for (const auto& [name, count] : calls) all += count;
  EXPECT_EQ(all, 2156);
}

TEST(CollectiveWire, UnevenCountsAndNoneAsMpich) {
  const auto calls = compare("mpich_uneven_wire.txt.zst", "mpich", Nodes::kApart);
  EXPECT_EQ(calls.size(), 28u);
  EXPECT_EQ(calls.at("iallgatherv"), 4 * 5 * 3) << "3, 5, 8, 9 ranks; 5 sizes; 3 kinds of counts";
}

// Odd ranks on one node, even ones on the other.
TEST(CollectiveWire, WithNodesToo) {
  const auto calls = compare("mpich_nodes_wire.txt.zst", "mpich", Nodes::kOddAndEven);
  EXPECT_EQ(calls.size(), 26u);
  EXPECT_EQ(calls.at("bcast"), 5 * 2 * 9) << "4 to 8 ranks";
  int all = 0;
  for (const auto& [name, count] : calls) all += count;
  EXPECT_EQ(all, 1540);
}

// An allreduce of no bytes sends empty messages within nodes, be it several nodes or one.
TEST(CollectiveWire, UnevenCountsAndNoneWithNodesToo) {
  EXPECT_EQ(compare("mpich_uneven_nodes_wire.txt.zst", "mpich", Nodes::kOddAndEven).size(), 28u);
  EXPECT_EQ(compare("mpich_uneven_block_nodes_wire.txt.zst", "mpich", Nodes::kThreeBlocks).size(), 28u);
  const auto calls = compare("mpich_uneven_one_node_wire.txt.zst", "mpich", Nodes::kOne);
  EXPECT_EQ(calls.size(), 28u);
  EXPECT_EQ(calls.at("allreduce"), 3 * 5) << "2, 5 and 8 ranks, 5 sizes";
}

TEST(CollectiveWire, WithAllRanksOnOneNodeToo) {
  const auto calls = compare("mpich_one_node_wire.txt.zst", "mpich", Nodes::kOne);
  EXPECT_EQ(calls.size(), 26u);
  EXPECT_EQ(calls.at("bcast"), 3 * 2 * 9) << "2, 5 and 8 ranks, two roots, 9 sizes";
  EXPECT_EQ(calls.at("scan"), 3 * 9);
}

// Where the ranks of each node follow one another, scan goes by nodes.
TEST(CollectiveWire, WithNodesOfConsecutiveRanksToo) {
  const auto calls = compare("mpich_block_nodes_wire.txt.zst", "mpich", Nodes::kThreeBlocks);
  EXPECT_EQ(calls.size(), 26u);
  EXPECT_EQ(calls.at("scan"), 2 * 9) << "6 and 7 ranks";
  EXPECT_EQ(calls.at("iscan"), 2 * 9);
}

// Nodes of unequal numbers of ranks, and nodes that the ranks leave and come back to.
TEST(CollectiveWire, WithMixedNodesToo) {
  const auto calls = compare("mpich_mixed_nodes_wire.txt.zst", "mpich", Nodes::kRecorded);
  EXPECT_EQ(calls.size(), 9u);
  EXPECT_EQ(calls.at("bcast"), 2 * 3 * 10) << "2 shapes, three roots, 10 sizes";
}

}  // namespace
}  // namespace weft::replay
