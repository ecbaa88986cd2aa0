// Rules: which algorithm each library takes for a call. Expected picks: the libraries' own decision functions.
#include "replay/collectives/rules.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "replay/collective_calls.hpp"
#include "replay/engine.hpp"
#include "tests/support/checkout.hpp"
#include "tests/support/hosts.hpp"
#include "tests/support/memory_trace.hpp"
#include "tests/traces/trace_testing.hpp"

namespace weft::replay::collective_rules_test {
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
        EXPECT_EQ(pick.algorithm->number, kind < OpKind::neighbor_allgather ? openmpi_number(c) : 0);
        if (kind < OpKind::neighbor_allgather) {
          EXPECT_TRUE(pick.algorithm->name.starts_with("openmpi.")) << pick.algorithm->name;
        }
        EXPECT_EQ(pick.segment, 0);
      }
  }
}

TEST(OpenMpiRules, HanComesFirstOnSeveralNodesWithSeveralRanksOnOne) {
  const auto four = *open_collective_rules("openmpi4");
  const auto five = *open_collective_rules("openmpi5");
  const NodeShape pairs(std::vector<std::uint32_t>{0, 0, 1, 1});
  const NodeShape uneven(std::vector<std::uint32_t>{0, 0, 0, 1});
  const NodeShape one(std::vector<std::uint32_t>{3, 3, 3, 3});
  const NodeShape apart(std::vector<std::uint32_t>{0, 1, 2, 3});
  const std::vector<std::int64_t> list(4, 100);
  for (int k = static_cast<int>(OpKind::barrier); k <= static_cast<int>(OpKind::exscan); ++k) {
    const auto kind = static_cast<OpKind>(k);
    CollectiveCall c = call(kind, 4, 100);
    if (kind == OpKind::allgatherv || kind == OpKind::reduce_scatter) c.counts = list;
    const auto tuned = four->pick(c).algorithm;
    const bool han = kind == OpKind::barrier || kind == OpKind::bcast || kind == OpKind::reduce ||
                     kind == OpKind::allreduce || kind == OpKind::allgather || kind == OpKind::gather ||
                     kind == OpKind::scatter;
    for (const NodeShape* shape : {&pairs, &uneven, &one, &apart}) {
      c.nodes = shape;
      EXPECT_EQ(four->pick(c).algorithm, tuned);
      const bool here = han && (shape == &pairs ||
                                (shape == &uneven && (kind == OpKind::barrier || kind == OpKind::allreduce)));
      EXPECT_EQ(five->pick(c).algorithm->name, here ? "openmpi.han" : tuned->name) << traces::op_name(kind);
    }
  }
}

// Bounds of libnbc 5.0.10 (nbc_i*.c); tests/replay/collective_wire_test.cpp has what 4.1.4 sent.
TEST(OpenMpiRules, NonBlockingCallsAreLibnbcs) {
  const auto rules = *open_collective_rules("openmpi4");
  const auto pick = [&](OpKind kind, std::uint32_t ranks, std::int64_t bytes) {
    CollectiveCall c = call(kind, ranks, bytes);
    c.nonblocking = true;
    return rules->pick(c).algorithm->name;
  };
  EXPECT_EQ(pick(OpKind::bcast, 4, kMi), "libnbc.linear");
  EXPECT_EQ(pick(OpKind::bcast, 5, 8), "libnbc.binomial");
  EXPECT_EQ(pick(OpKind::bcast, 5, kMi), "libnbc.binomial");
  EXPECT_EQ(pick(OpKind::reduce, 2, 64 * kKi), "libnbc.chain");
  EXPECT_EQ(pick(OpKind::reduce, 2, 8), "libnbc.binomial");
  EXPECT_EQ(pick(OpKind::reduce, 8, 56), "libnbc.binomial") << "7 elements";
  EXPECT_EQ(pick(OpKind::reduce, 8, 64), "libnbc.rabenseifner");
  EXPECT_EQ(pick(OpKind::allreduce, 3, kMi), "libnbc.binomial");
  EXPECT_EQ(pick(OpKind::allreduce, 4, 64 * kKi - 8), "libnbc.binomial");
  EXPECT_EQ(pick(OpKind::allreduce, 4, 64 * kKi), "libnbc.rabenseifner");
  EXPECT_EQ(pick(OpKind::allreduce, 16384, 64 * kKi), "libnbc.ring") << "fewer elements than ranks";
  EXPECT_EQ(pick(OpKind::barrier, 9, 0), "libnbc.dissemination");
  EXPECT_EQ(pick(OpKind::alltoall, 9, 1), "libnbc.linear");
  EXPECT_EQ(pick(OpKind::reduce_scatter_block, 9, 1), "libnbc.binomial");
  EXPECT_EQ(pick(OpKind::scan, 9, 1), "libnbc.linear");
  CollectiveCall c = call(OpKind::bcast, 5, 600000);
  const auto chain = find_collective(OpKind::bcast, "libnbc.chain");
  ASSERT_TRUE(chain);
  RankSchedule s;
  (*chain)->build(c, 0, s);
  EXPECT_EQ(s.messages.size(), 19u) << "segments of 32 KiB";
  c.bytes = 500000;
  s.clear();
  (*chain)->build(c, 0, s);
  EXPECT_EQ(s.messages.size(), 62u) << "of 8 KiB";
}

// Of an even shape: r ranks on each of n nodes. Messages of han by its steps.
TEST(OpenMpiRules, HansMessagesAreThoseOfItsSteps) {
  const auto rules = *open_collective_rules("openmpi5");
  const auto sent = [&](OpKind kind, std::int64_t bytes, std::uint32_t n, std::uint32_t r) {
    std::vector<std::uint32_t> hosts;
    for (std::uint32_t i = 0; i < n * r; ++i) hosts.push_back(i / r);
    const NodeShape shape(hosts);
    std::pair<std::int64_t, std::int64_t> between_and_within{0, 0};
    for (std::uint32_t me = 0; me < n * r; ++me) {
      CollectiveCall c = call(kind, n * r, bytes);
      c.nodes = &shape;
      RankSchedule s;
      EXPECT_EQ(build_chosen(*rules, c, me, s).name, "openmpi.han");
      EXPECT_TRUE(s.not_supported.empty());
      for (const auto& m : s.messages)
        if (m.send)
          (shape.node[m.peer] == shape.node[me] ? between_and_within.second : between_and_within.first) +=
              m.bytes;
    }
    return between_and_within;
  };
  using P = std::pair<std::int64_t, std::int64_t>;
  // 3 segments: each crosses to n - 1 nodes once, and to r - 1 ranks of each node.
  const std::int64_t big = 3 * 65536;
  EXPECT_EQ(sent(OpKind::bcast, big, 3, 4), P(big * 2, big * 3 * 3));
  EXPECT_EQ(sent(OpKind::allgather, 96, 3, 4).first, 4 * 96 * 3 * 2) << "all but its own of 3 nodes' blocks";
  // A binomial tree of four ranks carries four blocks.
  EXPECT_EQ(sent(OpKind::gather, 96, 3, 4), P(2 * 4 * 96, 3 * 4 * 96));
  EXPECT_EQ(sent(OpKind::scatter, 96, 3, 4), P(2 * 4 * 96, 3 * 4 * 96));
}

// In the library the reduce of a segment between nodes and the bcast of the one before go on together: no rank's part in the
// reduce waits until the bcast has come down a tree.
TEST(OpenMpiRules, HansReduceBetweenNodesDoesNotWaitForABcastDownATree) {
  std::vector<std::uint32_t> hosts;
  for (std::uint32_t i = 0; i < 16; ++i) hosts.push_back(i / 2);
  const NodeShape shape(hosts);
  const auto rules = *open_collective_rules("openmpi5");
  for (const std::uint32_t me : {4u, 8u, 12u}) {
    CollectiveCall c = call(OpKind::allreduce, 16, 3 * 65536);
    c.nodes = &shape;
    RankSchedule s;
    build_chosen(*rules, c, me, s);
    int halves = 0;  // of segments, which pairs of first ranks exchange first of all to reduce them
    for (const auto& m : s.messages) {
      if (m.send && m.bytes == 32768 && m.peer == (me ^ 2u)) ++halves;
      if (!m.send && m.bytes == 65536 && shape.node[m.peer] != shape.node[me]) break;
    }
    EXPECT_EQ(halves, 2) << "of the first and the second segment, by rank " << me;
  }
}

// Segments wait for those before them; a message that is whole, or a block of its own, waits for nothing.
TEST(OpenMpiRules, SegmentsArePacedAndWholeMessagesAreNot) {
  const NodeShape pairs(std::vector<std::uint32_t>{0, 0, 1, 1, 2, 2});
  const auto paced = [&](OpKind kind, const char* name, std::int64_t bytes, std::int64_t segment) {
    const auto algorithm = find_collective(kind, name);
    EXPECT_TRUE(algorithm) << name;
    std::size_t messages = 0, of_them = 0;
    for (std::uint32_t me = 0; me < 6; ++me) {
      CollectiveCall c = call(kind, 6, bytes);
      c.nodes = &pairs;
      c.segment = segment;
      RankSchedule s;
      (*algorithm)->build(c, me, s);
      messages += s.messages.size();
      for (const auto& m : s.messages) of_them += m.paced ? 1 : 0;
    }
    EXPECT_GT(messages, 0u) << name;
    return of_them == 0 ? "none" : of_them == messages ? "all" : "some";
  };
  for (const OpKind kind : {OpKind::bcast, OpKind::reduce})
    for (const char* name : {"openmpi.chain", "openmpi.pipeline", "openmpi.binomial"}) {
      EXPECT_STREQ(paced(kind, name, kMi, 0), "none") << name;
      EXPECT_STREQ(paced(kind, name, kMi, 65536), "all") << name;
    }
  EXPECT_STREQ(paced(OpKind::bcast, "openmpi.split_binary_tree", kMi, 0), "none");
  EXPECT_STREQ(paced(OpKind::bcast, "openmpi.split_binary_tree", kMi, 65536), "some") << "halves at the end";
  for (const OpKind kind : {OpKind::bcast, OpKind::reduce, OpKind::allreduce}) {
    EXPECT_STREQ(paced(kind, "openmpi.han", 65536, 0), "none");
    EXPECT_STREQ(paced(kind, "openmpi.han", kMi, 0), "all");
  }
  for (const OpKind kind : {OpKind::bcast, OpKind::reduce}) {
    EXPECT_STREQ(paced(kind, "libnbc.chain", 8192, 0), "none");
    EXPECT_STREQ(paced(kind, "libnbc.chain", kMi, 0), "all");
    EXPECT_STREQ(paced(kind, "pipeline", 65536, 0), "none");
    EXPECT_STREQ(paced(kind, "pipeline", kMi, 0), "all");
  }
}

TEST(CollectiveRules, UnknownNamesAreAnsweredWithTheKnownOnes) {
  const auto r = open_collective_rules("openmp");
  ASSERT_FALSE(r);
  EXPECT_THAT(r.error().message(),
              ::testing::StartsWith("error: unknown rules for collectives; got \"openmp\"; "
                                    "expected default, openmpi4, openmpi5, mpich, FILE"));
  EXPECT_EQ(exit_code(r.error().code), 2);
}

TEST(CollectiveRules, ALibraryThatNamesItselfHasItsRules) {
  const std::pair<const char*, const char*> cases[] = {
      {"Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4, repo rev: v4.1.4, May 26, 2022", "openmpi4"},
      {"Open MPI v5.0.3, package: Open MPI", "openmpi5"},
      {"Open MPI v10.1", "openmpi5"},
      {"Open MPI v4.0.7, package: Open MPI", ""},  // its tables were others
      {"Open MPI v3.1.6", ""},
      {"Open MPI v4", ""},
      {"Open MPI vx.y", ""},
      {"MPICH Version:      4.0.2\nMPICH Release date: Thu Apr  7 12:34:45 CDT 2022", "mpich"},
      {"Intel(R) MPI Library 2021.11 for Linux* OS", ""},
      {"MVAPICH2 Version      :\t2.3.7", ""},
      {"MPI VERSION    : CRAY MPICH version 8.1.25.17", ""},
      {"", ""},
  };
  for (const auto& [version, rules] : cases) EXPECT_EQ(rules_of_library(version), rules) << version;
}

TEST(CollectiveRules, TheCommandLineIsHeardBeforeThePlatformAndThatBeforeTheRecording) {
  traces::TraceHeader recorded, other;
  recorded.mpi_version = "Open MPI v5.0.3, package: x";
  const auto told = [](const RulesName& r) { return std::pair(r.name, r.from); };
  using Told = std::pair<std::string, RulesFrom>;
  EXPECT_EQ(told(name_of_rules("mpich", "openmpi4", recorded)), Told("mpich", RulesFrom::kOptions));
  EXPECT_EQ(told(name_of_rules("", "openmpi4", recorded)), Told("openmpi4", RulesFrom::kPlatform));
  EXPECT_EQ(told(name_of_rules("", "", recorded)), Told("openmpi5", RulesFrom::kRecording));
  EXPECT_EQ(told(name_of_rules("default", "", recorded)), Told("default", RulesFrom::kOptions));
  EXPECT_EQ(told(name_of_rules("", "", other)), Told("", RulesFrom::kDefault));
}

TEST(CollectiveRules, ARecordingIsReplayedWithThoseOfItsLibraryAndTheResultSaysSo) {
  const traces::testing::TempDir dir;
  traces::TraceHeader h;
  h.ranks = 4;
  h.mpi_version = "Open MPI v4.1.4, package: x";
  auto w = traces::TraceWriter::create(dir.path("t.weft"), h);
  ASSERT_TRUE(w);
  for (std::uint32_t r = 0; r < h.ranks; ++r) {
    traces::OpBlock b;
    b.rank = RankId(r);
    b.ops = {{.kind = OpKind::bcast, .peer = 0, .amount = kMi}};
    w->append(b);
  }
  ASSERT_TRUE(w->finish());
  auto t = traces::open_trace({dir.path("t.weft")});
  ASSERT_TRUE(t);
  auto p = topology::load_platform("crossbar:n=4,bw=1GB/s,lat=1us").value();
  const auto algorithm = [&](const std::string& rules, RulesFrom from) {
    ReplayOptions o;
    o.collective_rules = rules;
    const auto r = replay(**t, p, testing::first_hosts(4), o);
    EXPECT_EQ(r->collective_rules.from, from);
    return std::string(r->collectives.at(0).algorithm);
  };
  EXPECT_EQ(algorithm("", RulesFrom::kRecording), "openmpi.chain");
  EXPECT_EQ(algorithm("default", RulesFrom::kOptions), "binomial");
  p.mpi.collective_rules = "mpich";
  EXPECT_EQ(algorithm("", RulesFrom::kPlatform).substr(0, 6), "mpich.");
}

// Two nodes of eight GPUs, each a host: libraries go by who shares memory.
TEST(CollectiveRules, GpusOfATreeAreANode) {
  const auto p = topology::load_platform("fat-tree:m=4,n=2,bw=100Gbps,node=cs-storm").value();
  for (const auto& [rules, algorithm] :
       {std::pair("openmpi5", "openmpi.han"), std::pair("mpich", "mpich.composition_alpha")}) {
    testing::MemoryTrace t(16);
    for (std::uint32_t r = 0; r < 16; ++r) t.collective(r, OpKind::bcast, 0, 4096, CommId(0));
    ReplayOptions o;
    o.collective_rules = rules;
    const auto r = replay(t, p, testing::first_hosts(16), o);
    ASSERT_TRUE(r) << r.error().message();
    EXPECT_EQ(r->collectives.at(0).algorithm, algorithm);
  }
}

// Brute force over the definition.
TEST(NodeShape, RanksOfAHostAreANodeAndNodesAreInTheOrderOfTheirFirstRank) {
  for (const std::vector<std::uint32_t>& hosts : {std::vector<std::uint32_t>{7},
                                                  {3, 3, 3},
                                                  {5, 2, 5, 2, 9},
                                                  {0, 1, 2, 3},
                                                  {8, 8, 1, 1, 1, 4, 4},
                                                  {6, 3, 3, 6}}) {
    const NodeShape s(hosts);
    std::vector<std::uint32_t> seen;  // hosts by first rank
    std::map<std::uint32_t, std::uint32_t> members;
    std::map<std::uint32_t, std::vector<std::uint32_t>> alike;  // by place on the node
    bool consecutive = true;
    for (std::uint32_t r = 0; r < hosts.size(); ++r) {
      const auto at = std::find(seen.begin(), seen.end(), hosts[r]);
      EXPECT_EQ(s.node[r], at - seen.begin()) << r;
      consecutive = consecutive && (at == seen.end() || hosts[r] == hosts[r - 1]);
      if (at == seen.end()) seen.push_back(hosts[r]);
      EXPECT_EQ(s.local[r], members[hosts[r]]++) << r;
      EXPECT_EQ(s.on(s.node[r])[s.local[r]], r);
      EXPECT_EQ(s.place_up(r), alike[s.local[r]].size()) << r;
      alike[s.local[r]].push_back(r);
    }
    for (const auto& [local, ranks] : alike)
      EXPECT_TRUE(std::ranges::equal(s.with_local(local), ranks)) << local;
    EXPECT_EQ(s.nodes(), seen.size());
    EXPECT_EQ(s.shares(), seen.size() < hosts.size());
    EXPECT_EQ(s.hierarchical(), seen.size() > 1 && seen.size() < hosts.size());
    EXPECT_EQ(s.consecutive(), consecutive);
    bool even = true;
    for (const auto& [host, count] : members) even = even && count == members.begin()->second;
    EXPECT_EQ(s.even(), even);
  }
}

}  // namespace
}  // namespace weft::replay::collective_rules_test
