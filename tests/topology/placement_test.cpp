#include <set>

#include "tests/topology/support.hpp"
#include "topology/graphs/export.hpp"
#include "topology/placement/host_lookup.hpp"
#include "topology/placement/locality.hpp"
#include "topology/placement/placement.hpp"

namespace weft::topology {
namespace {

using ::testing::HasSubstr;

std::vector<std::uint32_t> placed(const Platform& p, std::uint32_t ranks, const std::string& map,
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
  EXPECT_EQ(placed(p, 6, "block"), (std::vector<std::uint32_t>{0, 0, 1, 1, 2, 2}));
  EXPECT_EQ(placed(p, 6, "cyclic"), (std::vector<std::uint32_t>{0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(placed(p, 3, "block"), (std::vector<std::uint32_t>{0, 0, 1}));
}

TEST(Placement, RandomIsAPermutationFixedByItsSeedAndUsesTheWholeMachine) {
  const Platform p = load("crossbar:n=64,ranks_per_host=2");
  const auto a = placed(p, 128, "random", 7);
  EXPECT_EQ(a, placed(p, 128, "random", 7));
  EXPECT_NE(a, placed(p, 128, "random", 8));
  std::vector<int> load_of(64, 0);
  for (std::uint32_t h : a) ++load_of[h];
  EXPECT_THAT(load_of, ::testing::Each(2));
  const auto few = placed(p, 32, "random", 7);
  EXPECT_GT(std::set<std::uint32_t>(few.begin(), few.end()).size(), 20u);
  EXPECT_GT(*std::max_element(few.begin(), few.end()), 48u);
}

TEST(Placement, FileNamesTheHostOfEachRankByIndexOrName) {
  const Platform p = load("crossbar:n=4");
  const TempFile f("map", "2\nnode-0\n 3 \r\n");
  EXPECT_EQ(placed(p, 3, "file:" + f.path()), (std::vector<std::uint32_t>{2, 0, 3}));
}

// The formats of man smpirun, of MPICH's Hydra and of Open MPI ("man mpirun", hostfiles).
TEST(Placement, HostFilesOfLaunchersPlaceSeveralRanksALine) {
  const Platform p = load("crossbar:n=4,ranks_per_host=3");
  const std::vector<std::uint32_t> want{2, 2, 2, 0, 3, 3};
  for (const char* text :
       {"2\n2\n2\n0\n3\n3\n", "node-2:3\nnode-0:1\nnode-3:2\n", "2:3\n0\n3:2\n",
        "# allocated\nnode-2 slots=3\n  node-0\tslots=1 max_slots=9\nnode-3 max-slots=4 slots=2 \r\n",
        "node-2 slots=1\nnode-2:2\n#node-1\nnode-0\nnode-3:2\n", "node-2:3\nnode-0\nnode-3:3\nnode-1:3\n"}) {
    const TempFile f("hostfile", text);
    EXPECT_EQ(placed(p, 6, "file:" + f.path()), want) << text;
  }
  const TempFile more("hostfile", "node-2:3\nnode-0:3\nnode-1:3\n");
  const auto noted = place(p, 4, "file:" + more.path(), 0);
  ASSERT_TRUE(noted.has_value());
  EXPECT_THAT(noted->notes,
              ::testing::ElementsAre(more.path() + ":2:1: 2 slots beyond the 4 ranks are not used",
                                     more.path() + ": 1 line beyond the 4 ranks is not used"));
  // A name comes before what it could be read as.
  const TempFile graph("colons",
                       "graph g { \"n:2\" [kind=host]; \"a b\" [kind=host]; n [kind=host];"
                       " s [kind=switch]; \"n:2\" -- s; \"a b\" -- s; n -- s }");
  const Platform named = load("file:path=" + graph.path() + ",ranks_per_host=2");
  const auto at = [&](const char* name) {
    return HostLookup(named.fabric).find(name, "here").value().index();
  };
  const TempFile names("hostfile", "n:2\na b\nn:2:2\n");
  EXPECT_THAT(place_error(named, 4, "file:" + names.path()), HasSubstr(":3:1: error: more ranks on a host"));
  EXPECT_EQ(placed(named, 3, "file:" + names.path()),
            (std::vector<std::uint32_t>{at("n:2"), at("a b"), at("n:2")}));
}

TEST(Placement, BadHostFilesAreRefusedWithLineAndColumn) {
  const Platform p = load("crossbar:n=4,ranks_per_host=2");
  const std::pair<const char*, const char*> cases[] = {
      {"node-0:x\n", ":1:8: error: ranks of a host; got \"x\"; expected a number from 1"},
      {"node-0\n node-1:0\n", ":2:9: error: ranks of a host; got \"0\""},
      {"node-0:99999999999999999999\n", ":1:8: error: ranks of a host"},
      {"node-9:2\n", ":1:1: error: unknown host; got \"node-9\"; expected an index from 0 to 3 or a name"},
      {"node-0:2\n  node-9 slots=2\n", ":2:3: error: unknown host; got \"node-9\""},
      {"node-0 slots=two\n", ":1:14: error: ranks of a host; got \"two\""},
      {"node-0 slots=1 slots=1\n", ":1:22: error: ranks of a host told twice; got \"1\""},
      {"node-0:1 slots=1\n", ":1:16: error: ranks of a host told twice"},
      {"node-0 max_slots=2\n",
       ":1:1: error: host without the number of its ranks; got \"node-0 max_slots=2\""},
      {"node-0 slots=1 user=me\n",
       ":1:16: error: unknown word behind a host; got \"user=me\"; expected slots=N"},
      {"node-0:3\n",
       ":1:1: error: more ranks on a host than its slots; got \"node-0:3\"; expected at most 2"},
      {"node-0:2\nnode-0\n", ":2:1: error: more ranks on a host than its slots"},
      {"node-0:2\n# end\n", ":3:1: error: the lines hold fewer ranks; got \"2\"; expected 3 ranks"}};
  for (const auto& [text, expected] : cases) {
    const TempFile f("hostfile", text);
    EXPECT_THAT(place_error(p, 3, "file:" + f.path()), HasSubstr(f.path() + expected)) << text;
  }
}

// Rules place ranks on GPUs only, so there may be more ranks than GPUs where a file names the memories.
TEST(Placement, AFileMayPlaceRanksOnAllGpusAndOnHostMemory) {
  const Platform p = load("pcie:switches=1,cards=1,gpus=2,mem=on");
  const TempFile f("memory", "gpu0\ngpu1\nmem0\n");
  EXPECT_EQ(placed(p, 3, "file:" + f.path()), (std::vector<std::uint32_t>{0, 1, 2}));
  EXPECT_THAT(place_error(p, 3, "block"), HasSubstr("3 ranks on 2 hosts with room for 1 each"));
  const TempFile more("more", "gpu0\ngpu1\nmem0\nmem0\n");
  EXPECT_THAT(place_error(p, 4, "file:" + more.path()),
              HasSubstr(":4:1: error: more ranks on a host than its slots"));
}

TEST(Placement, BadMapsAreRefusedWithLineAndColumn) {
  const Platform p = load("crossbar:n=4");
  EXPECT_THAT(place_error(p, 5, "block"), HasSubstr("5 ranks on 4 hosts with room for 1 each"));
  EXPECT_THAT(place_error(p, 2, "best"), HasSubstr("block, cyclic, random, switch, group, strided:K"));
  EXPECT_THAT(place_error(p, 2, "file:/nonexistent"), HasSubstr("cannot open"));
  struct Case {
    std::string text, expected;
  };
  for (const Case& c :
       std::vector<Case>{{"0\n4\n", ":2:1: error: unknown host; got \"4\"; expected an index from 0 to 3"},
                         {"0\n  node-9\n", ":2:3: error: unknown host; got \"node-9\""},
                         {"0\n", ":2:1: error: fewer lines than ranks"},
                         {"0\n\n", ":2:1: error: empty line"},
                         {"1\n1\n", ":2:1: error: more ranks on a host than its slots"},
                         {"0\n99999999999999999999999\n", "unknown host"}}) {
    const TempFile f("badmap", c.text);
    EXPECT_THAT(place_error(p, 2, "file:" + f.path()), HasSubstr(f.path())) << c.text;
    EXPECT_THAT(place_error(p, 2, "file:" + f.path()), HasSubstr(c.expected)) << c.text;
  }
}

TEST(Placement, LinesBeyondTheRanksAreNotUsedAndNoted) {
  const Platform p = load("crossbar:n=4");
  const TempFile f("long", "3\n1\nno-such-host\n0\n\n");
  const auto r = place(p, 2, "file:" + f.path(), 0);
  ASSERT_TRUE(r.has_value());
  EXPECT_EQ(r->hosts, (std::vector<HostId>{HostId(3), HostId(1)}));
  ASSERT_EQ(r->notes.size(), 1u);
  EXPECT_THAT(r->notes[0], HasSubstr("2 lines beyond the 2 ranks are not used"));
}

TEST(Placement, SwitchAndGroupDealRanksInTurn) {
  // 3 leaves of 4 hosts.
  const Platform tree = load("xgft:h=2,m=4x3,w=1x2");
  EXPECT_EQ(placed(tree, 7, "switch"), (std::vector<std::uint32_t>{0, 4, 8, 1, 5, 9, 2}));
  // Groups of 2 routers of 2 hosts: hosts 0..3, 4..7, ...
  const Platform fly = load("dragonfly:p=2,a=2,h=1,g=3");
  EXPECT_EQ(placed(fly, 8, "group"), (std::vector<std::uint32_t>{0, 4, 8, 1, 5, 9, 2, 6}));
  EXPECT_EQ(placed(fly, 12, "switch"), (std::vector<std::uint32_t>{0, 2, 4, 6, 8, 10, 1, 3, 5, 7, 9, 11}));
  const Platform two = load("xgft:h=2,m=2x2,w=1x1,ranks_per_host=2");
  EXPECT_EQ(placed(two, 8, "switch"), (std::vector<std::uint32_t>{0, 2, 0, 2, 1, 3, 1, 3}));
}

TEST(Placement, LocalityFollowsTheCablesOfTheFamily) {
  const auto fly = locality_of(load("dragonfly:p=2,a=4,h=2,g=9").fabric);
  EXPECT_EQ(fly.switches, 36u);
  EXPECT_EQ(fly.groups, 9u);
  for (std::uint32_t h = 0; h < 72; ++h) {
    EXPECT_EQ(fly.switch_of[h], h / 2);
    EXPECT_EQ(fly.group_of[h], h / 8);
  }
  const auto tree = locality_of(load("xgft:h=3,m=3x4x5,w=1x2x2").fabric);
  EXPECT_EQ(tree.switches, 20u);
  EXPECT_EQ(tree.groups, 5u);
  for (std::uint32_t h = 0; h < 60; ++h) EXPECT_EQ(tree.group_of[h], h / 12);
  EXPECT_EQ(locality_of(load("crossbar:n=7").fabric).groups, 1u);
  EXPECT_EQ(locality_of(load("torus:dims=4x4,host_links=off").fabric).switches, 16u);
}

// One network, said in other ways, has the same groups.
TEST(Placement, GroupsAreThoseOfTheNetworkWhateverHangsOnItAndHoweverItIsSaid) {
  const auto groups = [](const std::string& spec) { return locality_of(load(spec).fabric); };
  const auto nodes = groups("dragonfly:p=2,a=4,h=2,node=\"pcie:sockets=1\"");  // 8 GPUs a node
  EXPECT_EQ(nodes.groups, 9u);
  for (std::uint32_t h = 0; h < nodes.group_of.size(); ++h)
    EXPECT_EQ(nodes.group_of[h], h * 9 / nodes.group_of.size());
  EXPECT_EQ(groups("dragonfly:p=2,a=4,h=2,fail=3").groups, 9u);
  EXPECT_EQ(groups("dragonfly:p=2,a=4,h=2,nics=2").groups, 9u);
  EXPECT_EQ(groups("dragonfly:p=2,a=4,h=2,g=1").groups, 1u);
  EXPECT_EQ(groups("rail:nodes=2,pods=2,rails=2").groups, 2u);
  EXPECT_EQ(groups("crossbar:n=4,node=\"pcie:sockets=1\"").groups, 1u);
  EXPECT_EQ(groups("torus:dims=4x4,bw=1GB/s").group_of,
            groups("torus:dims=4x4,bw=1GB/sx1GB/sx1GB/s").group_of);
  EXPECT_EQ(groups("hyperx:dims=3x3,bw=1GB/s").group_of,
            groups("hyperx:dims=3x3,bw=1GB/sx1GB/sx1GB/s").group_of);
  for (const char* spec : {"fat-tree:m=4,n=3", "xgft:h=3,m=3x4x5,w=1x2x2", "dragonfly:p=2,a=4,h=2"}) {
    const Platform p = load(spec);
    const TempFile dot("groups", to_dot(p.fabric)), xml("groups", to_graphml(p.fabric));
    EXPECT_EQ(groups("file:path=" + dot.path()).group_of, locality_of(p.fabric).group_of) << spec;
    EXPECT_EQ(groups("file:path=" + xml.path()).group_of, locality_of(p.fabric).group_of) << spec;
  }
}

TEST(Placement, NumbersAreNamesWhereSomeHostIsCalledByOne) {
  const TempFile f(
      "numbers",
      "graph g { 1 [kind=host]; 2 [kind=host]; 3 [kind=host]; 10 [kind=switch]; 11 [kind=switch];"
      " 1 -- 10; 2 -- 10; 3 -- 11; 10 -- 11 }");
  const Platform p = load("file:path=" + f.path());
  HostLookup hosts(p.fabric);
  for (const std::uint32_t h : {0u, 1u, 2u}) EXPECT_EQ(*hosts.find(std::to_string(h + 1), "here"), HostId(h));
  const auto none = hosts.find("0", "here");
  ASSERT_FALSE(none.has_value());
  EXPECT_THAT(none.error().message(), HasSubstr("a name from 1 to 3 (numbers are names here)"));
}

TEST(Placement, StridedFillsEveryKthHostFirst) {
  const Platform p = load("crossbar:n=7");
  EXPECT_EQ(placed(p, 7, "strided:3"), (std::vector<std::uint32_t>{0, 3, 6, 1, 4, 2, 5}));
  EXPECT_EQ(placed(load("crossbar:n=4,ranks_per_host=2"), 5, "strided:2"),
            (std::vector<std::uint32_t>{0, 0, 2, 2, 1}));
  EXPECT_EQ(placed(p, 2, "strided:100"), (std::vector<std::uint32_t>{0, 1}));
}

TEST(Placement, HplRowsAndColumnsStayOnOneSwitchWhereThereIsRoom) {
  // 4 leaves of 4 hosts, a 4 x 3 grid, ranks along the rows: rank = 3 i + j.
  const Platform p = load("xgft:h=2,m=4x4,w=1x2");
  const auto rows = placed(p, 12, "hpl-rows:4x3");
  for (std::uint32_t r = 0; r < 12; ++r) EXPECT_EQ(rows[r], r / 3 * 4 + r % 3);
  const auto cols = placed(p, 12, "hpl-cols:4x3");
  for (std::uint32_t r = 0; r < 12; ++r) EXPECT_EQ(cols[r], r % 3 * 4 + r / 3);
  // Ranks down the columns: rank = i + 4 j.
  const auto pmap = placed(p, 12, "hpl-cols:4x3:col");
  for (std::uint32_t r = 0; r < 12; ++r) EXPECT_EQ(pmap[r], r);
  // 3 x 5 on 16 slots: a row does not fit a leaf, and no slot may be wasted.
  const auto tight = placed(p, 15, "hpl-rows:3x5");
  for (std::uint32_t r = 0; r < 15; ++r) EXPECT_EQ(tight[r], r);
  // Columns of 2 ranks on hosts of 3 slots: none is split over two hosts.
  const auto hosts = placed(load("crossbar:n=4,ranks_per_host=3"), 8, "hpl-cols:2x4");
  for (std::uint32_t j = 0; j < 4; ++j) EXPECT_EQ(hosts[j], hosts[4 + j]);
}

// Other jobs leave 2, 2, 3 and 4 hosts of the leaves: rows of 3 pass the first two over. Rows of 2 need not.
TEST(Placement, HplRowsPassOverSwitchesWithoutRoomForThem) {
  const Platform p = load("xgft:h=2,m=4x4,w=1x2");
  std::vector<bool> taken(16, false);
  for (const std::uint32_t h : {0, 1, 6, 7, 9}) taken[h] = true;
  const auto on = [&](std::uint32_t ranks, const char* map) {
    const auto r = place(p, ranks, map, 0, taken);
    EXPECT_TRUE(r.has_value());
    std::vector<std::uint32_t> hosts;
    if (r)
      for (const HostId h : r->hosts) hosts.push_back(h.index());
    return hosts;
  };
  using Hosts = std::vector<std::uint32_t>;
  EXPECT_EQ(on(6, "hpl-rows:2x3"), Hosts({8, 10, 11, 12, 13, 14}));
  EXPECT_EQ(on(4, "hpl-rows:2x2"), Hosts({2, 3, 4, 5}));
  // No room for three of 3: slots in order, but for what the next switch holds.
  EXPECT_EQ(on(9, "hpl-rows:3x3"), Hosts({2, 3, 4, 8, 10, 11, 12, 13, 14}));
}

TEST(Placement, EveryMapPlacesEveryRankOnceAndFillsNoHostTwice) {
  const std::uint64_t seed = seed_or(20261120);
  Rng rng(seed);
  for (int i = 0; i < 200; ++i) {
    const std::uint32_t per_host = 1 + static_cast<std::uint32_t>(rng.below(3));
    const Platform p =
        load("xgft:h=2,m=" + std::to_string(1 + rng.below(6)) + "x" + std::to_string(1 + rng.below(6)) +
             ",w=1x2,ranks_per_host=" + std::to_string(per_host));
    const std::uint32_t hosts = p.fabric.host_count();
    std::vector<bool> taken(hosts, false);
    std::uint32_t free = hosts;
    for (std::uint32_t h = 0; h < hosts; ++h)
      if (rng.below(4) == 0 && free > 1) taken[h] = true, --free;
    const auto ranks = static_cast<std::uint32_t>(1 + rng.below(free * per_host));
    const std::string k = std::to_string(1 + rng.below(5));
    for (std::string map :
         {std::string("block"), std::string("cyclic"), std::string("random"), std::string("switch"),
          std::string("group"), "strided:" + k, "hpl-rows:1x" + std::to_string(ranks),
          "hpl-cols:" + std::to_string(ranks) + "x1"})
      for (const char* use : {"", ",hosts=packed", ",hosts=random"}) {
        SCOPED_TRACE(map + use + " seed " + std::to_string(seed) + " case " + std::to_string(i));
        const auto r = place(p, ranks, map + use, 7, taken);
        ASSERT_TRUE(r.has_value()) << r.error().message();
        ASSERT_EQ(r->hosts.size(), ranks);
        std::vector<std::uint32_t> load_of(hosts, 0);
        std::set<std::uint32_t> used;
        for (const HostId h : r->hosts) {
          EXPECT_FALSE(taken[h.index()]);
          EXPECT_LE(++load_of[h.index()], per_host);
          used.insert(h.index());
        }
        if (*use != 0) {
          EXPECT_LE(used.size(), (ranks + per_host - 1) / per_host);
        }
        EXPECT_EQ(r->hosts, place(p, ranks, map + use, 7, taken)->hosts);
      }
  }
}

TEST(Placement, ArgumentsOfMapsAreChecked) {
  const Platform p = load("crossbar:n=8");
  for (const char* map :
       {"strided", "strided:0", "strided:x", "hpl-rows", "hpl-rows:3x3", "hpl-rows:2x", "hpl-cols:x4",
        "hpl-cols:2x4:row", "block:3", "switch:2", "block,hosts=few", "", ",hosts=packed"})
    EXPECT_THAT(place_error(p, 8, map), HasSubstr("unknown --map")) << map;
  std::vector<bool> taken(8, false);
  taken[2] = true;
  const TempFile f("taken", "1\n2\n");
  const auto r = place(p, 2, "file:" + f.path(), 0, taken);
  ASSERT_FALSE(r.has_value());
  EXPECT_THAT(r.error().message(), HasSubstr(":2:1: error: host of another job"));
  EXPECT_THAT(place(p, 8, "block", 0, taken).error().message(), HasSubstr("free hosts"));
}

}  // namespace
}  // namespace weft::topology
