// Files of rules: what they choose, and what is answered to those that are not well.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "core/rng.hpp"
#include "replay/collectives/rules.hpp"

namespace weft::replay::collective_rule_files_test {
namespace {

using traces::OpKind;
using Rules = std::shared_ptr<const CollectiveRules>;

Result<Rules> rules_of(std::string_view text) { return parse_collective_rules("rules", text); }

CollectiveCall call(OpKind kind, std::uint32_t ranks, std::int64_t bytes) {
  return {.kind = kind, .ranks = ranks, .bytes = bytes};
}
std::string picked(const Rules& r, const CollectiveCall& c) {
  const auto pick = r->pick(c);
  return pick.algorithm == nullptr ? std::string(pick.not_supported) : std::string(pick.algorithm->name);
}

TEST(OpenMpiRuleFile, TakesTheLastSizesThatAreNotAboveTheCallsAndGoesToTheTablesForZero) {
  const auto r = rules_of(
      "# two collectives\n2\n7 # bcast\n2\n 8 2\n  0 6 0 0\n  4096 3 0 8192\n 64 1\n  0 0 0 0\n"
      "0 1 4 2  0 4 0 0  1024 2 0 0\n");
  ASSERT_TRUE(r) << r.error().message();
  EXPECT_EQ(picked(*r, call(OpKind::bcast, 8, 4095)), "openmpi.binomial");
  EXPECT_EQ(picked(*r, call(OpKind::bcast, 2, 4095)), "openmpi.binomial")
      << "the first entry serves fewer ranks too";
  EXPECT_EQ(picked(*r, call(OpKind::bcast, 63, 4096)), "openmpi.pipeline");
  EXPECT_EQ((*r)->pick(call(OpKind::bcast, 63, 4096)).segment, 8192);
  EXPECT_EQ(picked(*r, call(OpKind::bcast, 64, 1 << 20)),
            picked(Rules(*open_collective_rules("openmpi4")), call(OpKind::bcast, 64, 1 << 20)));
  // Of an allgather all blocks count.
  EXPECT_EQ(picked(*r, call(OpKind::allgather, 8, 127)), "openmpi.ring");
  EXPECT_EQ(picked(*r, call(OpKind::allgather, 8, 128)), "openmpi.bruck");
  EXPECT_EQ(picked(*r, call(OpKind::barrier, 8, 0)), "openmpi.recursive_doubling") << "no rule";
}

TEST(OpenMpiRuleFile, VersionTwoHasRequestsAndCountsBytesAsTheLibrarysDynamicRules) {
  const auto r = rules_of(
      "rule-file-version-2\n4\n3 1 2 2 0 4 0 0 2 800 2 0 0 0\n12 1 2 2 0 3 0 0 0 4096 4 0 0 0\n"
      "13 1 2 2 0 2 0 0 0 4096 3 0 0 0\n14 1 2 2 0 1 0 0 0 64 2 0 0 0");
  ASSERT_TRUE(r) << r.error().message();
  EXPECT_EQ(picked(*r, call(OpKind::alltoall, 8, 99)), "openmpi.linear_sync");
  EXPECT_EQ((*r)->pick(call(OpKind::alltoall, 8, 99)).at_once, 2u);
  EXPECT_EQ(picked(*r, call(OpKind::alltoall, 8, 100)), "openmpi.pairwise");
  const std::vector<std::int64_t> parts(8, 512);
  CollectiveCall c = call(OpKind::reduce_scatter, 8, 512);
  c.counts = parts;
  EXPECT_EQ(picked(*r, c), "openmpi.butterfly") << "4096 in total";
  EXPECT_EQ(picked(*r, call(OpKind::reduce_scatter_block, 8, 512)), "openmpi.recursive_halving");
  EXPECT_EQ(picked(*r, call(OpKind::reduce_scatter_block, 8, 511)), "openmpi.recursive_doubling");
  EXPECT_EQ(picked(*r, call(OpKind::scan, 8, 1 << 20)), "openmpi.recursive_doubling")
      << "an element of 8 bytes, 8 ranks";
  EXPECT_EQ(picked(*r, call(OpKind::scan, 7, 1 << 20)), "openmpi.linear");
}

// Of 5.0.7: the fifth number of a rule may be absent, and stands on its line; a number is as C's %li reads it.
TEST(OpenMpiRuleFile, VersionTwoReadsRequestsFromTheLineOfTheirRule) {
  const auto r = rules_of(
      "rule-file-version-2\n2\n3 1 2 4\n 0 4 0 0 2 # two\n 800 4 0 0\n 0x400 4 0 0 # none\n 03720 4 0 0\t3\n"
      "7 1 2 1 0 3 0 1000\n");
  ASSERT_TRUE(r) << r.error().message();
  const auto requests = [&](std::int64_t all_blocks) {
    return (*r)->pick(call(OpKind::alltoall, 8, all_blocks / 8)).at_once;
  };
  EXPECT_EQ(requests(792), 2u);
  EXPECT_EQ(requests(800), 0u);
  EXPECT_EQ(requests(1024), 0u);
  EXPECT_EQ(requests(1992), 0u);
  EXPECT_EQ(requests(2000), 3u);
  EXPECT_EQ((*r)->pick(call(OpKind::bcast, 8, 8)).segment, 1000);
}

TEST(OpenMpiRuleFile, SegmentsAndRequestsCutMessagesAsAsked) {
  const auto r =
      rules_of("rule-file-version-2\n3\n7 1 2 1 0 3 0 1000 0\n3 1 2 1 0 4 0 0 2\n11 1 2 1 0 2 3 0 0\n");
  ASSERT_TRUE(r) << r.error().message();
  const auto built = [&](const CollectiveCall& c, std::uint32_t me) {
    RankSchedule s;
    build_chosen(**r, c, me, s);
    return s;
  };
  // 10,000 bytes in segments of 1000: the root of a line sends ten.
  EXPECT_EQ(built(call(OpKind::bcast, 3, 10000), 0).messages.size(), 10u);
  EXPECT_EQ(built(call(OpKind::bcast, 3, 10000), 1).messages.size(), 20u);
  EXPECT_EQ(built(call(OpKind::alltoall, 8, 10), 0).rounds, 4u) << "7 messages each way, two at a time";
  // Three chains hang from the root: of 9 others three each.
  EXPECT_EQ(built(call(OpKind::reduce, 10, 10), 0).messages.size(), 3u);
  EXPECT_EQ(built(call(OpKind::reduce, 10, 10), 3).messages.size(), 1u) << "the end of the first chain";
}

// Elements of 8 bytes: the nearest number of them, and the whole message where a segment holds none.
TEST(OpenMpiRuleFile, SegmentsAreRoundedToElementsAsInTheLibrary) {
  const auto sizes = [](int collective, int algorithm, int segment, const CollectiveCall& c,
                        std::uint32_t me) {
    const auto r = rules_of("1\n" + std::to_string(collective) + " 1 2 1 0 " + std::to_string(algorithm) +
                            " 0 " + std::to_string(segment) + "\n");
    EXPECT_TRUE(r) << r.error().message();
    RankSchedule s;
    build_chosen(**r, c, me, s);
    std::vector<std::int64_t> out;
    for (const auto& m : s.messages)
      if (m.send) out.push_back(m.bytes);
    return out;
  };
  using Sizes = std::vector<std::int64_t>;
  const auto pipeline = [&](int segment) { return sizes(7, 3, segment, call(OpKind::bcast, 2, 2048), 0); };
  EXPECT_EQ(pipeline(1022), Sizes({1024, 1024})) << "127 elements and three quarters";
  EXPECT_EQ(pipeline(1020), Sizes({1016, 1016, 16})) << "127 and a half";
  EXPECT_EQ(pipeline(8).size(), 256u);
  EXPECT_EQ(pipeline(4), Sizes({2048}));
  EXPECT_EQ(pipeline(0), Sizes({2048}));
  EXPECT_EQ(sizes(11, 3, 1022, call(OpKind::reduce, 2, 2048), 1), Sizes({1024, 1024}));
  // The halves of a split tree are cut into 127 elements, or single ones; then the two children exchange halves.
  EXPECT_EQ(sizes(7, 4, 1022, call(OpKind::bcast, 3, 4096), 0), Sizes({1016, 1016, 1016, 1016, 16, 16}));
  EXPECT_EQ(sizes(7, 4, 4, call(OpKind::bcast, 3, 32), 0), Sizes({8, 8, 8, 8}));
  EXPECT_EQ(sizes(9, 3, 1022, call(OpKind::gather, 3, 2048), 1), Sizes({1024, 1024}));
  EXPECT_EQ(sizes(9, 3, 4, call(OpKind::gather, 3, 2048), 1), Sizes({2048, 0}));
  // Two phases of a ring of two ranks: 2 x 2 x 128 elements; then the blocks go round.
  EXPECT_EQ(sizes(2, 5, 1022, call(OpKind::allreduce, 2, 4096), 0), Sizes({1024, 1024, 2048}));
  EXPECT_EQ(sizes(2, 5, 1022, call(OpKind::allreduce, 2, 0), 0), Sizes());
}

TEST(OpenMpiRuleFile, JsonSpellsNoBoundInThreeWays) {
  for (const std::string inf : {"inf", "Inf", "INF"}) {
    const auto r = rules_of(R"({"collectives": {"bcast": [{"rules": [{"msg_size_max": ")" + inf +
                            R"(", "alg": 3}]}]}})");
    ASSERT_TRUE(r) << r.error().message();
    EXPECT_EQ(picked(*r, call(OpKind::bcast, 4, 1 << 20)), "openmpi.pipeline") << inf;
  }
  EXPECT_FALSE(rules_of(R"({"collectives": {"bcast": [{"rules": [{"msg_size_max": "iNf", "alg": 3}]}]}})"));
}

TEST(OpenMpiRuleFile, JsonTakesTheFirstMatchWithBoundsIncluded) {
  const auto r = rules_of(R"({"rule_file_version": 3, "module": "tuned", "collectives": {
    "bcast": [{"comm_size_min": 4, "comm_size_max": 8, "rules": [
                {"msg_size_min": 10, "msg_size_max": 20, "alg": "binomial"},
                {"msg_size_max": "inf", "alg": 3, "faninout": 2}]},
              {"comm_rank_distribution": "single-node", "rules": [{"alg": "knomial"}]},
              {"comm_rank_distribution": "one-per-node", "rules": [{"alg": "chain"}]}],
    "reducescatter": [{"rules": [{"alg": "butterfly"}]}]}})");
  ASSERT_TRUE(r) << r.error().message();
  EXPECT_TRUE((*r)->asks_for_nodes());
  EXPECT_EQ(picked(*r, call(OpKind::bcast, 4, 10)), "openmpi.binomial");
  EXPECT_EQ(picked(*r, call(OpKind::bcast, 8, 20)), "openmpi.binomial");
  EXPECT_EQ(picked(*r, call(OpKind::bcast, 8, 21)), "openmpi.pipeline");
  CollectiveCall c = call(OpKind::bcast, 9, 21);
  const NodeShape one(std::vector<std::uint32_t>(9, 5));
  c.nodes = &one;
  EXPECT_EQ(picked(*r, c), "openmpi.knomial");
  const NodeShape apart(std::vector<std::uint32_t>{0, 1, 2, 3, 4, 5, 6, 7, 8});
  c.nodes = &apart;
  EXPECT_EQ(picked(*r, c), "openmpi.chain");
}

// From 5.0 on HAN comes before the file; its parts, which are smaller and know no nodes, go by it.
TEST(OpenMpiRuleFile, BehindHanChoosesThePartsAndWhatIsNotHans) {
  const auto r =
      parse_rules_behind_han("rules", "3\n7 2 3 1 0 2 0 0  9 1 0 9 0 0\n2 1 0 1 0 4 0 0\n4 1 0 1 0 2 0 0\n");
  ASSERT_TRUE(r) << r.error().message();
  EXPECT_TRUE((*r)->asks_for_nodes());
  const NodeShape even(std::vector<std::uint32_t>{0, 0, 0, 1, 1, 1, 2, 2, 2});
  const NodeShape uneven(std::vector<std::uint32_t>{0, 0, 0, 0, 1, 1, 1, 2, 2});
  const auto pick = [&](OpKind kind, const NodeShape* shape, bool nonblocking = false) {
    CollectiveCall c = call(kind, 9, 800);
    c.nodes = shape;
    c.nonblocking = nonblocking;
    return picked(*r, c);
  };
  EXPECT_EQ(pick(OpKind::bcast, &even), "openmpi.han");
  EXPECT_EQ(pick(OpKind::bcast, &even, true), "libnbc.binomial");
  EXPECT_EQ(pick(OpKind::bcast, &uneven), "openmpi.scatter_allgather_ring") << "9 ranks";
  EXPECT_EQ(pick(OpKind::bcast, nullptr), "openmpi.scatter_allgather_ring");
  EXPECT_EQ(pick(OpKind::allreduce, &uneven), "openmpi.han");
  EXPECT_EQ(pick(OpKind::barrier, &even), "openmpi.han");
  EXPECT_EQ(pick(OpKind::alltoallv, &even), "openmpi.pairwise") << "the file has that";
  CollectiveCall c = call(OpKind::alltoallv, 9, 0);
  EXPECT_FALSE((*r)->sends_empties(c)) << "5.0 does not";
  EXPECT_TRUE((*rules_of("0"))->sends_empties(c)) << "4.1 does";
  EXPECT_EQ(picked(*rules_of("0"), c), picked(Rules(*open_collective_rules("openmpi4")), c));
  // Chains of three among the nodes and within each: the root sends one message for each.
  c = call(OpKind::bcast, 9, 800);
  c.nodes = &even;
  RankSchedule s;
  build_chosen(**r, c, 0, s);
  ASSERT_EQ(s.messages.size(), 2u);
  EXPECT_EQ(s.messages[0].peer, 3u);
  EXPECT_EQ(s.messages[1].peer, 1u);
}

// The form of 6.0, which may ask how ranks are spread: within a node are those of one, between nodes one of each.
TEST(OpenMpiRuleFile, BehindHanPartsAreSpreadAsTheyAre) {
  const auto r = parse_rules_behind_han("rules", R"({"collectives": {"bcast": [
      {"comm_rank_distribution": "single-node", "rules": [{"alg": "basic_linear"}]},
      {"comm_rank_distribution": "one-per-node", "rules": [{"alg": "chain"}]}]}})");
  ASSERT_TRUE(r) << r.error().message();
  const NodeShape even(std::vector<std::uint32_t>{0, 0, 0, 1, 1, 1, 2, 2, 2});
  CollectiveCall c = call(OpKind::bcast, 9, 800);
  c.nodes = &even;
  RankSchedule s;
  EXPECT_EQ(build_chosen(**r, c, 0, s).name, "openmpi.han");
  std::vector<std::uint32_t> to;
  for (const auto& m : s.messages) to.push_back(m.peer);
  EXPECT_EQ(to, (std::vector<std::uint32_t>{3, 1, 2})) << "the chain of three nodes, then both of its own";
}

TEST(OpenMpiRuleFile, BehindHanIsAskedForByNameAndNotForRulesOfMpich) {
  const auto r = parse_rules_behind_han("rules", "{\"collective=bcast\": {}}");
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().message(),
            "rules:1:1: error: not a file of Open MPI's rules; got \"collective=bcast\"; expected one of "
            "coll_tuned_dynamic_rules_filename after \"openmpi5:\"");
  const auto none = open_collective_rules("openmpi5:no such file");
  ASSERT_FALSE(none);
  EXPECT_EQ(
      none.error().message(),
      "error: unknown rules for collectives; got \"openmpi5:no such file\"; expected default, openmpi4, "
      "openmpi5, mpich, FILE, openmpi5:FILE");
  EXPECT_EQ(file_of_collective_rules("openmpi5:a/b.txt"), "a/b.txt");
  EXPECT_EQ(file_of_collective_rules("a/b.txt"), "a/b.txt");
  EXPECT_EQ(file_of_collective_rules("openmpi5"), std::nullopt);
}

// A file that says what MPICH's built-in rules say chooses what they choose.
TEST(MpichRuleFile, EntersTheFirstTrueKeyAndNamesAlgorithmsOfFlatCommunicators) {
  const auto r = rules_of(R"({
    "collective=bcast": {"comm_type=intra": {
        "comm_size<8": {"algorithm=MPIR_Bcast_intra_binomial": {}},
        "comm_size=pow2": {"avg_msg_size<=12288": {"algorithm=MPIR_Bcast_intra_binomial": {}},
                           "avg_msg_size<=524288": {"algorithm=MPIR_Bcast_intra_scatter_recursive_doubling_allgather": {}},
                           "avg_msg_size=any": {"algorithm=MPIR_Bcast_intra_scatter_ring_allgather": {}}},
        "comm_size=any": {"avg_msg_size<=12288": {"algorithm=MPIR_Bcast_intra_binomial": {}},
                          "avg_msg_size=any": {"algorithm=MPIR_Bcast_intra_scatter_ring_allgather": {}}}},
      "comm_type=inter": {"algorithm=MPIR_Bcast_inter_remote_send_local_bcast": {}}},
    "collective=ibcast": {"algorithm=MPIR_Ibcast_intra_sched_binomial": {}},
    "collective=allreduce": {"is_commutative=no": {"algorithm=MPIR_Allreduce_intra_tree": {}},
        "avg_msg_size<=8": {"algorithm=MPIR_Allreduce_intra_recursive_doubling": {}},
        "count<pow2": {"algorithm=MPIR_Allreduce_intra_recursive_doubling": {}},
        "count=any": {"algorithm=MPIR_Allreduce_intra_reduce_scatter_allgather": {}}},
    "collective=gather": {"comm_size<4": {"algorithm=MPIR_Gather_intra_binomial": {}},
                          "comm_size=any": {"algorithm=MPIR_Gather_intra_k_tree": {"k=3": {}}}}})");
  ASSERT_TRUE(r) << r.error().message();
  const auto built_in = open_collective_rules("mpich");
  for (const OpKind kind : {OpKind::bcast, OpKind::allreduce, OpKind::alltoall})
    for (const std::uint32_t p : {1u, 2u, 7u, 8u, 9u, 16u, 100u})
      for (const std::int64_t n : {0, 8, 9, 120, 128, 12288, 12289, 524288, 524289})
        EXPECT_EQ(picked(*r, call(kind, p, n)), picked(Rules(*built_in), call(kind, p, n)))
            << traces::op_name(kind) << ' ' << p << ' ' << n;
  CollectiveCall nonblocking = call(OpKind::bcast, 100, 1 << 20);
  nonblocking.nonblocking = true;
  EXPECT_EQ(picked(*r, nonblocking), "mpich.binomial");
  EXPECT_EQ(picked(*r, call(OpKind::gather, 3, 8)), "mpich.binomial");
  EXPECT_EQ(picked(*r, call(OpKind::gather, 4, 8)), "the algorithm that the file of rules names");
  RankSchedule s;
  build_chosen(**r, call(OpKind::gather, 4, 8), 0, s);
  EXPECT_FALSE(s.not_supported.empty()) << "refused when a call wants it";
}

// MPICH prunes the tree with `<` for comm_size<N as far as the first key about the call; what is below is read as `<=`.
TEST(MpichRuleFile, BoundsOfRanksBelowKeysOfTheCallAreIncluded) {
  const auto picks = [](const std::string& outer) {
    const std::string choice = R"({"comm_size<8": {"algorithm=MPIR_Alltoall_intra_scattered": {}},
                                   "comm_size=any": {"algorithm=MPIR_Alltoall_intra_brucks": {}}})";
    const auto r = rules_of(
        "{\"collective=alltoall\": {" + outer + choice +
        std::string(static_cast<std::size_t>(std::ranges::count(outer, '{') - std::ranges::count(outer, '}')),
                    '}') +
        "}}");
    EXPECT_TRUE(r) << r.error().message();
    std::string out;
    for (const std::uint32_t p : {7u, 8u, 9u}) out += picked(*r, call(OpKind::alltoall, p, 8))[6];
    return out;
  };
  for (const char* communicators : {R"("comm_type=intra": )", R"("comm_hierarchy=any": {"comm_size=any": )"})
    EXPECT_EQ(picks(communicators), "sbb") << communicators;
  for (const char* calls : {R"("is_sendbuf_inplace=no": )", R"("comm_type=intra": {"avg_msg_size<=256": )",
                            R"("avg_msg_size<=4": {}, "comm_type=intra": )"})
    EXPECT_EQ(picks(calls), "ssb") << calls;
}

TEST(MpichRuleFile, CompositionsAreForCommunicatorsWithNodes) {
  const auto r = rules_of(R"({"collective=bcast": {"comm_hierarchy=parent": {
      "avg_msg_size<100": {"composition=MPIDI_Bcast_intra_composition_alpha": {}},
      "avg_msg_size<200": {"composition=MPIDI_Bcast_intra_composition_beta": {}},
      "avg_msg_size=any": {"composition=MPIDI_Bcast_intra_composition_gamma": {}}}},
    "collective=allreduce": {"comm_size=node_comm_size": {"composition=MPIDI_Allreduce_intra_composition_gamma": {}},
      "comm_avg_ppn<=2": {"composition=MPIDI_Allreduce_intra_composition_alpha": {}}},
    "collective=scan": {"is_node_consecutive=yes": {"composition=MPIDI_Scan_intra_composition_alpha": {}}}})");
  ASSERT_TRUE(r) << r.error().message();
  const NodeShape pairs(std::vector<std::uint32_t>{0, 0, 1, 1, 2, 2, 3, 3, 4, 4});
  const NodeShape one(std::vector<std::uint32_t>(10, 1));
  const NodeShape dealt(std::vector<std::uint32_t>{0, 1, 0, 1, 0, 1, 0, 1, 0, 1});
  const NodeShape apart(std::vector<std::uint32_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  const auto pick = [&](OpKind kind, std::int64_t bytes, const NodeShape& shape) {
    CollectiveCall c = call(kind, 10, bytes);
    c.nodes = &shape;
    return picked(*r, c);
  };
  EXPECT_EQ(pick(OpKind::bcast, 99, pairs), "mpich.composition_alpha");
  EXPECT_EQ(pick(OpKind::bcast, 100, pairs), "mpich.composition_beta");
  EXPECT_EQ(pick(OpKind::bcast, 200, pairs), "mpich.binomial") << "gamma: as flat";
  EXPECT_EQ(pick(OpKind::bcast, 99, one), "mpich.composition_alpha") << "one node is a hierarchy, too";
  EXPECT_EQ(pick(OpKind::bcast, 99, apart), "mpich.binomial") << "no leaf: the built-in rules";
  EXPECT_EQ(pick(OpKind::allreduce, 8, one), "mpich.recursive_doubling");
  EXPECT_EQ(pick(OpKind::allreduce, 8, pairs), "mpich.composition_alpha");
  EXPECT_EQ(pick(OpKind::scan, 8, pairs), "mpich.smp");
  EXPECT_EQ(pick(OpKind::scan, 8, dealt), "mpich.recursive_doubling");
  EXPECT_EQ(pick(OpKind::scan, 8, one), "mpich.smp");
  EXPECT_EQ(pick(OpKind::scan, 8, apart), "mpich.recursive_doubling");
  // The parts of a form that knows nodes ask again, without nodes: they do not get it for ever.
  const auto always = rules_of(R"({"collective=bcast": {"algorithm=MPIR_Bcast_intra_smp": {}}})");
  ASSERT_TRUE(always);
  CollectiveCall c = call(OpKind::bcast, 10, 8);
  EXPECT_EQ(picked(*always, c), "mpich.binomial");
  c.nodes = &pairs;
  RankSchedule s;
  EXPECT_EQ(build_chosen(**always, c, 0, s).name, "mpich.composition_alpha");
  EXPECT_EQ(s.messages.size(), 4u) << "to the first ranks of three nodes, and to the other of its own";
}

// MPICH 4.0 to 4.3 prunes the tree for the communicator of a node and for that of the first ranks, too.
TEST(MpichRuleFile, PartsOfCompositionsAreOfTheirOwnKind) {
  const auto r = rules_of(R"({
    "collective=bcast": {"comm_hierarchy=node": {"algorithm=MPIR_Bcast_intra_scatter_ring_allgather": {}},
      "comm_hierarchy=node_roots": {"algorithm=MPIR_Bcast_intra_scatter_recursive_doubling_allgather": {}},
      "comm_hierarchy=flat": {"algorithm=MPIR_Bcast_intra_binomial": {}}},
    "collective=allgather": {"comm_avg_ppn<=1": {"algorithm=MPIR_Allgather_intra_ring": {}},
      "comm_size=any": {"algorithm=MPIR_Allgather_intra_brucks": {}}}})");
  ASSERT_TRUE(r) << r.error().message();
  const auto pick = [&](OpKind kind, Among among) {
    CollectiveCall c = call(kind, 4, 1 << 20);
    c.among = among;
    return picked(*r, c);
  };
  EXPECT_EQ(pick(OpKind::bcast, Among::kAll), "mpich.binomial");
  EXPECT_EQ(pick(OpKind::bcast, Among::kNode), "mpich.scatter_ring_allgather");
  EXPECT_EQ(pick(OpKind::bcast, Among::kNodeRoots), "mpich.scatter_recursive_doubling_allgather");
  EXPECT_EQ(pick(OpKind::allgather, Among::kAll), "mpich.ring") << "every rank on a node of its own";
  EXPECT_EQ(pick(OpKind::allgather, Among::kNode), "mpich.brucks") << "four ranks on one";
  EXPECT_EQ(pick(OpKind::allgather, Among::kNodeRoots), "mpich.ring");
  // Three ranks on each of two nodes.
  const NodeShape two(std::vector<std::uint32_t>{0, 0, 0, 1, 1, 1});
  CollectiveCall c = call(OpKind::bcast, 6, 6);
  c.nodes = &two;
  std::map<std::uint32_t, int> sends;
  for (const std::uint32_t me : {0u, 3u}) {
    RankSchedule s;
    EXPECT_EQ(build_chosen(**r, c, me, s).name, "mpich.composition_alpha");
    for (const auto& m : s.messages) sends[me] += m.send ? 1 : 0;
  }
  EXPECT_EQ(sends[0], 1 + 1 + 2 + 2) << "scatter and allgather of the two, then of its node";
  EXPECT_EQ(sends[3], 1 + 2 + 2);
}

// From 4.2 on a key may be "any", and any condition.
TEST(MpichRuleFile, AnyIsTrueOfEveryCallAndTheMeanOfRanksPerNodeIsBelowItsBound) {
  for (const char* any : {"any", "comm_type=any", "is_commutative=any", "comm_avg_ppn=any", "weather=any"}) {
    const auto r = rules_of(std::string("{\"collective=bcast\": {\"") + any +
                            "\": {\"algorithm=MPIR_Bcast_intra_scatter_ring_allgather\": {}}}}");
    ASSERT_TRUE(r) << r.error().message();
    EXPECT_EQ(picked(*r, call(OpKind::bcast, 2, 8)), "mpich.scatter_ring_allgather") << any;
  }
  EXPECT_FALSE(rules_of(R"({"collective=any": {"algorithm=MPIR_Bcast_intra_binomial": {}}})"));
  const auto r = rules_of(R"({"collective=alltoall": {
      "comm_avg_ppn<2": {"algorithm=MPIR_Alltoall_intra_pairwise": {}},
      "comm_avg_ppn<=2": {"algorithm=MPIR_Alltoall_intra_scattered": {}},
      "any": {"algorithm=MPIR_Alltoall_intra_brucks": {}}}})");
  ASSERT_TRUE(r) << r.error().message();
  const auto pick = [&](const std::vector<std::uint32_t>& hosts) {
    const NodeShape nodes(hosts);
    CollectiveCall c = call(OpKind::alltoall, static_cast<std::uint32_t>(hosts.size()), 8);
    c.nodes = &nodes;
    return picked(*r, c);
  };
  EXPECT_EQ(pick({0, 0, 1}), "mpich.pairwise") << "1.5";
  EXPECT_EQ(pick({0, 0, 1, 1}), "mpich.scattered") << "2";
  EXPECT_EQ(pick({0, 0, 0, 1, 1}), "mpich.brucks") << "2.5";
}

TEST(RuleFiles, MalformedOnesAreAnsweredWithTheirPlace) {
  const struct {
    const char* text;
    const char* message;
  } kBad[] = {
      {"",
       "rules:1:1: error: not the number of collectives; got \"the end of the file\"; expected an integer "
       "from 0 to 22"},
      {"x", "rules:1:1: error: not the number of collectives; got \"x\"; expected an integer from 0 to 22"},
      {"1.5",
       "rules:1:1: error: not the number of collectives; got \"1.5\"; expected an integer from 0 to 22"},
      {"23", "rules:1:1: error: not the number of collectives; got \"23\"; expected an integer from 0 to 22"},
      {"-1", "rules:1:1: error: not the number of collectives; got \"-1\"; expected an integer from 0 to 22"},
      {"99999999999999999999",
       "rules:1:1: error: not the number of collectives; got \"99999999999999999999\"; expected an integer "
       "from 0 to 22"},
      {"rule-file-version-9\n1",
       "rules:1:19: error: not the version of the file; got \"9\"; expected an integer from 1 to 2"},
      {"rule-file-version-\n1",
       "rules:2:2: error: not the number of collectives; got \"the end of the file\"; expected an integer "
       "from 0 to 22"},
      {"1",
       "rules:1:2: error: not the number of a collective; got \"the end of the file\"; expected an integer "
       "from 0 to 21"},
      {"1\n 22",
       "rules:2:2: error: not the number of a collective; got \"22\"; expected an integer from 0 to 21"},
      {"1 7",
       "rules:1:4: error: not the number of communicator sizes; got \"the end of the file\"; expected an "
       "integer, 0 or more"},
      {"1 7 1",
       "rules:1:6: error: not a communicator size; got \"the end of the file\"; expected an integer, 0 or "
       "more"},
      {"1 7 1 2",
       "rules:1:8: error: not the number of message sizes; got \"the end of the file\"; expected an integer, "
       "0 or more"},
      {"1 7 1 2 1",
       "rules:1:10: error: not a message size; got \"the end of the file\"; expected an integer, 0 or more"},
      {"1 7 1 2 1 5 6 0 0",
       "rules:1:11: error: the first message size of a list is not 0; got \"5\"; expected 0"},
      {"1 7 1 2 1 0",
       "rules:1:12: error: not an algorithm; got \"the end of the file\"; expected an integer, 0 or more"},
      {"1 7 1 2 1 0 99 0 0",
       "rules:1:13: error: no such algorithm of bcast; got \"99\"; expected 0 fixed, 1 basic_linear, 2 "
       "chain, 3 pipeline, 4 split_binary_tree, 5 binary_tree, 6 binomial, 7 knomial, 8 scatter_allgather, 9 "
       "scatter_allgather_ring"},
      {"1 2 1 2 1 0 7 0 0",
       "rules:1:13: error: not supported: algorithm 7 of allreduce (0 fixed, 1 basic_linear, 2 "
       "nonoverlapping, 3 recursive_doubling, 4 ring, 5 segmented_ring, 6 rabenseifner)"},
      {"1 5 1 2 1 0 1 0 0", "rules:1:13: error: not supported: rules for alltoallw"},
      {"1 7 1 2 1 0 6",
       "rules:1:14: error: not a fan in and out; got \"the end of the file\"; expected an integer from 0 to "
       "1048576"},
      {"1 7 1 2 1 0 6 0",
       "rules:1:16: error: not a segment size; got \"the end of the file\"; expected an integer, 0 or more"},
      {"1 7 1 2 1 0 6 0 -8",
       "rules:1:17: error: not a segment size; got \"-8\"; expected an integer, 0 or more"},
      {"rule-file-version-2 1 7 1 2 1 0 6 0 0 2000000",
       "rules:1:39: error: not a number of requests; got \"2000000\"; expected an integer from 0 to 1048576"},
      {"# mine\nrule-file-version-2\n0",
       "rules:2:1: error: version below the beginning of the file, which Open MPI ignores then; got "
       "\"rule-file-version-2\"; expected it first of all, before comments and blanks"},
      {"1 7 2 8 1 0 6 0 0 4 1 0 6 0 0",
       "rules:1:19: error: communicator sizes do not ascend; got \"4\"; expected 8 or more"},
      {"1 7 1 2 3 0 6 0 0 9 6 0 0 8 6 0 0",
       "rules:1:27: error: message sizes do not ascend; got \"8\"; expected 9 or more"},
      {"2 7 1 2 1 0 6 0 0 7 0", "rules:1:19: error: collective twice; got \"7\"; expected each once"},
      {"1 7 1 2 1 0 6 0 0 # good\nmore",
       "rules:2:1: error: text after the last rule; got \"more\"; expected nothing"},
      {"{", "rules:1:2: error: malformed JSON; got \"the end of the file\"; expected \""},
      {"{}x", "rules:1:3: error: text after the end of the rules; got \"x\"; expected nothing"},
      {"{\"a\"", "rules:1:5: error: malformed JSON; got \"the end of the file\"; expected :"},
      {"{\"a\": }",
       "rules:1:7: error: malformed JSON; got \"the end of the file\"; expected an object, a list, a string "
       "or an integer"},
      {"{\"a\": {} \"b\": {}}", "rules:1:10: error: malformed JSON; got \"\"b\": {}}\"; expected ,"},
      {"{\"a", "rules:1:4: error: string without an end; got \"the end of the file\"; expected \""},
      {"{\"a\nb\": {}}", "rules:1:4: error: string without an end; expected \""},
      {"{\"\\u0041\": 1}",
       "rules:1:4: error: escape in a string of rules; got \"u0041\": 1}\"; expected \\\", \\\\ or \\/"},
      {"{\"collectives\": {}, \"collectives\": {}}",
       "rules:1:21: error: key twice in one object; got \"collectives\"; expected each once"},
      {"{\"rule_file_version\": 2}",
       "rules:1:23: error: unknown version of the rules; got \"2\"; expected 3"},
      {"{\"rule_file_version\": 3}", "rules:1:1: error: rules without collectives; expected \"collectives\""},
      {"{\"module\": \"han\", \"collectives\": {}}",
       "rules:1:12: error: not supported: rules of module \"han\""},
      {"{\"collectives\": []}", "rules:1:17: error: wrong kind of value; expected an object of collectives"},
      {"{\"collectives\": {\"broadcast\": []}}",
       "rules:1:18: error: unknown key of rules; got \"broadcast\"; expected allgather, bcast, "
       "reducescatterblock, ..."},
      {"{\"collectives\": {\"bcast\": {}}}",
       "rules:1:27: error: wrong kind of value; expected a list of communicator sizes"},
      {"{\"collectives\": {\"bcast\": [{}]}}",
       "rules:1:28: error: communicator sizes without rules; expected \"rules\""},
      {"{\"collectives\": {\"bcast\": [{\"comm_size_min\": -1}]}}",
       "rules:1:46: error: not a bound; got \"-1\"; expected an integer, 0 or more, or \"inf\""},
      {"{\"collectives\": {\"bcast\": [{\"comm_rank_distribution\": \"two\"}]}}",
       "rules:1:55: error: unknown distribution of ranks; got \"two\"; expected any, one-per-node, "
       "single-node"},
      {"{\"collectives\": {\"bcast\": [{\"rules\": [{}]}]}}",
       "rules:1:39: error: rule without an algorithm; expected \"alg\""},
      {"{\"collectives\": {\"bcast\": [{\"rules\": [{\"alg\": \"tree\"}]}]}}",
       "rules:1:47: error: not supported: algorithm \"tree\" of bcast"},
      {"{\"collectives\": {\"bcast\": [{\"rules\": [{\"alg\": 6, \"segsize\": 1}]}]}}",
       "rules:1:50: error: unknown key of rules; got \"segsize\"; expected msg_size_min, msg_size_max, alg, "
       "faninout, reqs"},
      {"{\"collective=broadcast\": {}}",
       "rules:1:2: error: unknown collective; got \"collective=broadcast\"; expected bcast, ibcast, "
       "allreduce, ..."},
      {"{\"collective=bcast\": 1}", "rules:1:22: error: wrong kind of value; got \"1\"; expected an object"},
      {"{\"collective\": {}}",
       "rules:1:2: error: condition without a value; got \"collective\"; expected NAME=VALUE, NAME<N or "
       "NAME<=N"},
      {"{\"algorithm=MPIR_Bcast_intra_binomial\": {}}",
       "rules:1:2: error: algorithm outside of a collective; got \"algorithm=MPIR_Bcast_intra_binomial\"; "
       "expected \"collective=NAME\" above it"},
      {"{\"collective=bcast\": {\"algorithm=MPIR_Reduce_intra_binomial\": {}}}",
       "rules:1:23: error: algorithm of another collective; got \"algorithm=MPIR_Reduce_intra_binomial\"; "
       "expected MPIR_Bcast_intra_..."},
      {"{\"collective=bcast\": {\"collective=bcast\": {}}}",
       "rules:1:23: error: collective within a collective; got \"collective=bcast\"; expected another "
       "condition"},
      {"{\"collective=bcast\": {\"comm_size<x\": {}}}",
       "rules:1:23: error: not a bound; got \"comm_size<x\"; expected an integer, 0 or more, or any"},
      {"{\"collective=bcast\": {\"comm_type=both\": {}}}",
       "rules:1:23: error: unknown kind of communicator; got \"comm_type=both\"; expected intra, inter, any"},
      {"{\"collective=bcast\": {\"comm_hierarchy=up\": {}}}",
       "rules:1:23: error: unknown hierarchy; got \"comm_hierarchy=up\"; expected parent, node_roots, node, "
       "flat, any"},
      {"{\"collective=bcast\": {\"is_commutative=maybe\": {}}}",
       "rules:1:23: error: not yes or no; got \"is_commutative=maybe\"; expected yes, no, any"},
      {"{\"collective=bcast\": {\"weather=fine\": {}}}",
       "rules:1:23: error: unknown condition; got \"weather=fine\"; expected comm_type, comm_size, "
       "comm_hierarchy, comm_avg_ppn, avg_msg_size, total_msg_size, count, is_..."},
  };
  for (const auto& bad : kBad) {
    const auto r = rules_of(bad.text);
    ASSERT_FALSE(r) << bad.text;
    EXPECT_EQ(r.error().message(), bad.message) << bad.text;
    const std::string_view message = bad.message;
    EXPECT_EQ(exit_code(r.error().code), message.find("not supported") != std::string_view::npos ? 2 : 3)
        << bad.text;
  }
  std::string deep;
  for (int i = 0; i < 1000; ++i) deep += "{\"comm_size=any\":";
  const auto r = rules_of(deep);
  ASSERT_FALSE(r);
  EXPECT_THAT(r.error().message(), ::testing::HasSubstr("more than 64 deep"));
}

// Cut off anywhere, a byte changed anywhere: an answer with a place, or rules that answer every call.
TEST(RuleFiles, DamagedOnesAreRefusedOrChooseSomething) {
  const std::string good[] = {
      "2\n7 2\n 8 2\n  0 6 0 0\n  4096 3 0 8192\n 64 1\n  0 0 0 0\n0 1 4 2  0 4 0 0  1024 2 0 0\n",
      R"({"rule_file_version":3,"module":"tuned","collectives":{"bcast":[{"comm_size_min":4,"rules":[{"msg_size_max":"inf","alg":3}]}]}})",
      R"({"collective=bcast":{"comm_size<8":{"algorithm=MPIR_Bcast_intra_binomial":{}},"count<pow2":{"algorithm=MPIR_Bcast_intra_binomial":{}}}})"};
  constexpr std::uint64_t kSeed = 20261122;
  Rng rng(kSeed);
  for (const std::string& text : good) {
    ASSERT_TRUE(rules_of(text));
    const auto survives = [](const std::string& damaged) {
      const auto r = rules_of(damaged);
      if (!r) {
        EXPECT_THAT(r.error().message(), ::testing::StartsWith("rules:")) << damaged;
        return;
      }
      for (const std::uint32_t p : {1u, 8u, 100u}) {
        RankSchedule s;
        build_chosen(**r, call(OpKind::bcast, p, 10000), 0, s);
      }
    };
    for (std::size_t n = 0; n < text.size(); ++n) survives(text.substr(0, n));
    for (int i = 0; i < 3000; ++i) {
      std::string damaged = text;
      damaged[rng.below(text.size())] = static_cast<char>(rng.below(256));
      survives(damaged);
      if (HasFailure()) FAIL() << "seed " << kSeed << ", change " << i;
    }
  }
}

TEST(RuleFiles, AreOpenedByTheirPathAndUnknownNamesAreNot) {
  const auto dir = std::filesystem::path(::testing::TempDir()) / "weft_rule_files";
  std::filesystem::create_directories(dir);
  const auto write = [&](const char* name, const char* text) {
    std::ofstream(dir / name) << text;
    return (dir / name).string();
  };
  const auto text = open_collective_rules(write("a.conf", "1 7 1 2 1 0 6 0 0\n"));
  ASSERT_TRUE(text) << text.error().message();
  EXPECT_EQ(picked(*text, call(OpKind::bcast, 99, 1 << 20)), "openmpi.binomial");
  const auto json = open_collective_rules(write(
      "b.json", "\n{\"collective=bcast\": {\"algorithm=MPIR_Bcast_intra_scatter_ring_allgather\": {}}}"));
  ASSERT_TRUE(json) << json.error().message();
  EXPECT_EQ(picked(*json, call(OpKind::bcast, 2, 8)), "mpich.scatter_ring_allgather");
  const auto bad = open_collective_rules(write("c.conf", "1 7 x"));
  ASSERT_FALSE(bad);
  EXPECT_THAT(bad.error().message(),
              ::testing::HasSubstr("c.conf:1:5: error: not the number of communicator sizes"));
  const auto none = open_collective_rules((dir / "missing").string());
  ASSERT_FALSE(none);
  EXPECT_EQ(exit_code(none.error().code), 2);
  std::filesystem::remove_all(dir);
}

}  // namespace
}  // namespace weft::replay::collective_rule_files_test
