// Failed cables and switches: what is left, who is rerouted, who is cut off.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <map>
#include <set>
#include <string>

#include "tests/topology/oracles.hpp"

namespace weft::topology {
namespace {

using ::testing::HasSubstr;

TEST(Failures, OnlyPairsThatCrossedTheFailureAreRerouted) {
  const Platform a = load("xgft:m=4x4,w=1x2"),
                 b = load("xgft:m=4x4,w=1x2", {"fail=link=switch-1-0->switch-2-1"});
  EXPECT_EQ(b.fabric.cable_count(), a.fabric.cable_count() - 1);
  EXPECT_EQ(b.fabric.routing().name(), a.fabric.routing().name());
  std::size_t changed = 0;
  for (std::uint32_t s = 0; s < 16; ++s)
    for (std::uint32_t d = 0; d < 16; ++d) {
      std::vector<std::string> x, y;
      bool broken = false;
      for (const LinkId l : route_of(a.fabric, s, d)) {
        x.push_back(a.fabric.link_name(l));
        broken = broken || x.back() == "switch-1-0->switch-2-1" || x.back() == "switch-2-1->switch-1-0";
      }
      for (const LinkId l : route_of(b.fabric, s, d)) y.push_back(b.fabric.link_name(l));
      EXPECT_EQ(x != y, broken) << s << " to " << d;
      changed += x != y ? 1 : 0;
    }
  EXPECT_EQ(changed, 48u);  // half of the 96 pairs into and out of the leaf
  expect_sound(b.fabric);
  expect_routes_are_shortest(b.fabric);
}

TEST(Failures, ADeadSwitchCutsOffItsHostsAndItIsSaid) {
  const Platform p = load("xgft:m=4x4,w=1x2", {"fail=switch=switch-1-0"});
  EXPECT_EQ(p.fabric.switch_count(), 5u);
  EXPECT_EQ(p.fabric.host_count(), 16u);
  const VerifyReport r = verify(p.fabric);
  EXPECT_EQ(r.unreachable, 2u * 4 * 12 + 4 * 3);
  EXPECT_FALSE(r.findings.empty());  // hosts that hang on nothing
  EXPECT_EQ(measure(p.fabric).hops->unreachable, 108u);
  // A top switch: everybody still reaches everybody.
  const Platform q = load("xgft:m=4x4,w=1x2", {"fail=switch=switch-2-0"});
  expect_sound(q.fabric);
}

TEST(Failures, AShareOfTheCablesIsDrawnWithTheSeed) {
  const auto names = [](const Fabric& f) {
    std::set<std::string> out;
    for (std::uint32_t l = 0; l < f.link_count(); ++l) out.insert(f.link_name(LinkId(l)));
    return out;
  };
  const std::string spec = "dragonfly:p=2";  // 54 local and 36 global cables
  const Platform whole = load(spec), a = load(spec, {"fail=10%", "seed=1"}),
                 b = load(spec, {"fail=10%", "seed=1"}), c = load(spec, {"fail=10%", "seed=2"}),
                 d = load(spec, {"fail=9", "seed=1"});
  EXPECT_EQ(whole.fabric.cable_count() - a.fabric.cable_count(), 9u);
  EXPECT_EQ(names(a.fabric), names(b.fabric));
  EXPECT_NE(names(a.fabric), names(c.fabric));
  EXPECT_EQ(names(a.fabric), names(d.fabric));
  for (const std::string& n : names(a.fabric)) EXPECT_EQ(names(whole.fabric).count(n), 1u);  // names stay
  EXPECT_EQ(load(spec, {"fail=0%"}).fabric.cable_count(), whole.fabric.cable_count());
  expect_sound(a.fabric);
}

TEST(Failures, RandomFailuresOfEveryFamilyLeaveSimpleWalksOrUnreachablePairs) {
  const std::uint64_t seed = seed_or(11);
  const Examples examples;
  std::vector<std::string> specs =
      examples.but({"pcie", "aries", "simgrid"});  // nothing fails in a PCIe tree, nor where legs are told
  for (const char* besides :
       {"fat-tree:m=4,n=3", "xgft:m=4x4,w=2x3,p=1x2", "dragonfly:p=2,a=4,h=2,g=5",
        "torus:dims=4x4,host_links=off", "torus:dims=3x4,cables=2x1", "aries:groups=2,blue=2",
        "dragonfly:p=2,routing=valiant", "torus:dims=4x4,cables=2x2,routing=adaptive",
        "fat-tree:m=4,n=3,routing=random"})
    specs.emplace_back(besides);
  for (const std::string& spec : specs)
    for (const std::string fail : {"5%", "20%", "60%"}) {
      const Platform p = load(spec, {"fail=" + fail, "seed=" + std::to_string(seed)});
      const Fabric& f = p.fabric;
      SCOPED_TRACE(spec + " " + fail + " seed " + std::to_string(seed));
      std::uint64_t cut = 0;
      for (std::uint32_t s = 0; s < std::min(f.host_count(), 40u); ++s) {
        const auto far = bfs_over_switches(f, s);
        for (std::uint32_t d = 0; d < f.host_count(); ++d) {
          std::vector<LinkId> out;
          const bool reached = f.routing().route(HostId(s), HostId(d), out);
          EXPECT_EQ(reached, far[d] != ~0u);
          cut += reached ? 0 : 1;
          std::vector<std::uint32_t> load(f.link_count(), 1);
          out.clear();
          EXPECT_EQ(f.routing().route_message(HostId(s), HostId(d), d, load, out), reached);
          std::uint32_t at = s;
          std::set<std::uint32_t> seen = {s};
          for (const LinkId l : out) {
            ASSERT_EQ(f.links().from[l.index()].index(), at);
            at = f.links().to[l.index()].index();
            EXPECT_TRUE(seen.insert(at).second);
          }
          if (reached) {
            EXPECT_EQ(at, d);
          }
        }
      }
      const VerifyReport r = verify(f);
      EXPECT_EQ(r.unreachable > 0, !r.findings.empty() || cut > 0);
    }
}

// What is on a link is asked by its number in the fabric that is left: of the two spines that a leaf still reaches, adaptive
// takes the one whose link has fewer messages, and never the broken one, though nothing is on that.
TEST(Failures, LoadIsThatOfTheLinksThatAreLeft) {
  const Platform p = load("xgft:m=4x4,w=1x3,routing=adaptive,fail=link=switch-1-0->switch-2-0", {});
  const auto up_of = [&](std::uint32_t spine) {
    for (std::uint32_t l = 0; l < p.fabric.link_count(); ++l)
      if (p.fabric.link_name(LinkId(l)) == fmt::format("switch-1-0->switch-2-{}", spine)) return l;
    return ~0u;
  };
  EXPECT_EQ(up_of(0), ~0u);
  for (const std::uint32_t full : {1u, 2u})
    for (std::uint64_t message = 0; message < 8; ++message) {
      std::vector<std::uint32_t> on(p.fabric.link_count(), 3);
      on[up_of(full)] = 4;
      std::vector<LinkId> out;
      ASSERT_TRUE(p.fabric.routing().route_message(HostId(0), HostId(4), message, on, out));
      ASSERT_EQ(out.size(), 4u);
      EXPECT_EQ(out[1].index(), up_of(3 - full));
    }
}

// Hosts of a network are cards of nodes where a tree is put under each: what `weft route` prints breaks that cable.
TEST(Failures, CablesOfNodesGoByTheNamesThatTheyHaveThere) {
  const std::string tree = "xgft:m=2x2,w=2x1,node=\"pcie:switches=0,cards=1,gpus=1,nics=2\"";
  const Platform whole = load(tree);
  std::size_t cables = 0;
  for (std::uint32_t l = 0; l < whole.fabric.link_count(); ++l) {
    const LinkTable& t = whole.fabric.links();
    const std::string name = whole.fabric.link_name(LinkId(l));
    if (t.class_names[t.link_class[l]] != "host") continue;
    const Platform left = load(tree, {"fail=link=" + name});
    EXPECT_EQ(left.fabric.cable_count(), whole.fabric.cable_count() - 1) << name;
    for (std::uint32_t k = 0; k < left.fabric.link_count(); ++k)
      EXPECT_NE(left.fabric.link_name(LinkId(k)), name);
    ++cables;
  }
  EXPECT_EQ(cables, 16u);
  EXPECT_EQ(load(tree, {"fail=link=node-3->switch-1-2"}).fabric.cable_count(),
            whole.fabric.cable_count() - 1);
  EXPECT_THAT(error_of(tree + ",fail=link=node1.nic0->switch-1-9"),
              HasSubstr("a link, like node1.nic0->switch-1-"));
  EXPECT_THAT(error_of(tree + ",fail=link=node0.gpu0->node0.rc0"),
              HasSubstr("a link, like node0.nic0->switch-1-"));
}

std::multiset<std::string> link_names(const Fabric& f) {
  std::multiset<std::string> out;
  for (std::uint32_t l = 0; l < f.wired_links(); ++l) out.insert(f.link_name(LinkId(l)));
  return out;
}

// What a file calls its links, and the numbers of parallel cables, whatever lies between: network cards, failures, nodes.
TEST(Failures, LinksThatAreLeftKeepTheirNames) {
  const TempFile routes("four", [] {
    std::string text;
    for (const char* way : {"up", "down"})
      for (int h = 0; h < 4; ++h)
        text += fmt::format("L {} {}{} 1e9 1e-6\n", h + (way[0] == 'u' ? 0 : 4), way, h);
    for (int a = 0; a < 4; ++a)
      for (int b = 0; b < 4; ++b)
        if (a != b) text += fmt::format("R {} {} {} {}\n", a, b, a, 4 + b);
    return text;
  }());
  const std::string tree = ",node=\"pcie:switches=0,cards=1,gpus=1\"";
  EXPECT_EQ(link_names(load("routes:path=" + routes.path() + ",nics=2").fabric),
            (std::multiset<std::string>{"up0", "up1", "up2", "up3", "down0", "down1", "down2", "down3"}));
  for (const std::string& spec :
       {"routes:path=" + routes.path() + ",nics=2", std::string("torus:dims=3x3,cables=3x2"),
        "torus:dims=3x3,cables=3x2" + tree, "xgft:m=2x2,w=1x2,p=2x1" + tree,
        std::string("xgft:m=2x2,w=1x2,p=2x1,nics=2"), "xgft:m=2x2,w=1x2,p=2x1,nics=2" + tree}) {
    const Platform whole = load(spec);
    const std::multiset<std::string> before = link_names(whole.fabric);
    for (std::uint32_t l = 0; l < whole.fabric.wired_links(); l += 5) {
      const std::string name = whole.fabric.link_name(LinkId(l));
      if (name.starts_with("node") && name.find("->node") != std::string::npos) continue;  // within a node
      if (name.find(".gpu") != std::string::npos || name.find(".rc") != std::string::npos) continue;
      const std::multiset<std::string> left = link_names(load(spec, {"fail=link=" + name}).fabric);
      EXPECT_EQ(left.count(name) + 1, before.count(name)) << spec << " without " << name;
      for (const std::string& n : left)
        EXPECT_EQ(before.count(n), 1u) << spec << ": " << n << " without " << name;
    }
  }
}

// A cable fails in both directions, whatever the order of the cables at its ends.
TEST(Failures, ACableOfAFileFailsInBothDirections) {
  const TempFile file("triangle.dot",
                      "graph { node [kind=switch]; s0; s1; s2; node [kind=host]; h0; h1; h2;"
                      " s0 -- s2; s0 -- s1; s2 -- s1; h0 -- s0; h1 -- s1; h2 -- s2; }");
  const Platform p = load("file:path=" + file.path(), {"fail=link=s0->s2"});
  for (std::uint32_t s = 0; s < 3; ++s)
    for (std::uint32_t d = 0; d < 3; ++d)
      if (s != d) {
        EXPECT_EQ(route_of(p.fabric, s, d).size(), s != 1 && d != 1 ? 4u : 3u) << s << " to " << d;
      }
}

TEST(Failures, ANameMayHoldAnArrow) {
  const TempFile file("arrows.dot",
                      "graph { \"a->b\" [kind=switch]; \"b->c\" [kind=switch]; a [kind=host]; b [kind=host];"
                      " a -- \"a->b\"; b -- \"b->c\"; \"a->b\" -- \"b->c\" [cables=2]; a -- \"b->c\"; }");
  const std::string spec = "file:path=" + file.path();
  const Platform whole = load(spec);
  for (std::uint32_t l = 0; l < whole.fabric.link_count(); ++l) {
    const std::string name = whole.fabric.link_name(LinkId(l));
    EXPECT_EQ(load(spec, {"fail=link=" + name}).fabric.cable_count(), whole.fabric.cable_count() - 1) << name;
  }
  EXPECT_THAT(error_of(spec, {"fail=link=a->b->d"}),
              HasSubstr("unknown link; got \"a->b->d\"; expected a link, like a->a->b, a->b->c"));
}

// A fabric within a fabric within a fabric: 0 and 2 of the outermost are 1 and 0 of the next, whose 1 is the innermost's 0.
TEST(LinkLoad, IsAskedByTheNumbersOfTheInnermostFabric) {
  const std::vector<std::uint32_t> messages{5, 6, 7};
  const std::vector<LinkId> middle{LinkId(2), LinkId(0)}, inner{LinkId(1), LinkId()};
  const LinkLoad outermost(messages), next(outermost, middle, 9), last(next, inner, 8);
  EXPECT_EQ(next[0], 7u);
  EXPECT_EQ(next[1], 5u);
  EXPECT_EQ(last[0], 5u);
  EXPECT_EQ(last[1], 8u);
  EXPECT_FALSE(last.empty());
  const LinkLoad idle;
  EXPECT_TRUE(LinkLoad(LinkLoad(idle, middle, 9), inner, 8).empty());
}

// The cables of the cards `card` of `nodes` nodes on a crossbar, as failures.
std::string without_cards(const std::vector<std::uint32_t>& nodes, std::uint32_t card) {
  std::string fail = "fail=";
  for (const std::uint32_t n : nodes) fail += fmt::format("link=node{}.nic{}->switch;", n, card);
  fail.pop_back();
  return fail;
}

// The rates and latencies of a route, link by link: what a message sees of it.
std::vector<std::pair<double, Duration>> values_of(const Fabric& f, const std::vector<LinkId>& links) {
  std::vector<std::pair<double, Duration>> out;
  for (const LinkId l : links) out.emplace_back(f.links().capacity[l.index()], f.links().latency[l.index()]);
  return out;
}

TEST(FailuresUnderNodes, WithoutACardRoutesAreThoseOfNodesThatHaveTheOtherAlone) {
  const std::string two = "isl(rc(2*card(2*gpu) nic@4x8 mem) rc(gpu nic@5x16 mem))";
  const std::array<std::string, 2> alone = {"isl(rc(2*card(2*gpu) mem) rc(gpu nic@5x16 mem))",
                                            "isl(rc(2*card(2*gpu) nic@4x8 mem) rc(gpu mem))"};
  const auto on = [](int hosts, const std::string& tree) {
    return fmt::format("crossbar:n={},node=\"pcie:isl_lat=300ns,tree={}\"", hosts, tree);
  };
  for (const std::uint32_t gone : {0u, 1u}) {
    const Platform p = load(on(6, two), {without_cards({0, 1, 2}, gone)});
    const Platform q = load(on(3, alone[gone]));
    ASSERT_EQ(p.fabric.host_count(), q.fabric.host_count());
    EXPECT_EQ(verify(p.fabric).unreachable, 0u);
    const HopHistogram one = walked_histogram(p.fabric), other = walked_histogram(q.fabric);
    EXPECT_EQ(one.pairs, other.pairs);
    EXPECT_EQ(one.unreachable + other.unreachable, 0u);
    for (std::uint32_t a = 0; a < p.fabric.host_count(); ++a)
      for (std::uint32_t b = 0; b < p.fabric.host_count(); ++b)
        EXPECT_EQ(values_of(p.fabric, route_of(p.fabric, a, b)),
                  values_of(q.fabric, route_of(q.fabric, a, b)))
            << p.fabric.host_name(HostId(a)) << " to " << p.fabric.host_name(HostId(b)) << " without nic"
            << gone;
  }
}

// On a crossbar of nodes whose cards failed at random: who has a card left is reached, over as few links as there are, the
// same way back; a route whose cards are left is as it was.
TEST(FailuresUnderNodes, AnyCardThatIsLeftServesAllOfItsNode) {
  constexpr std::uint32_t kNodes = 4, kCards = 3;
  for (const std::string tree :
       {"rc(3*gpu 3*nic)", "isl(rc(switch(2*gpu nic) switch(gpu nic)) rc(gpu nic mem))"}) {
    const std::string spec = fmt::format("crossbar:n={},node=\"pcie:tree={}\"", kNodes * kCards, tree);
    const Platform whole = load(spec);
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
      SCOPED_TRACE(fmt::format("{}, seed {}", tree, seed));
      Rng rng(seed);
      std::vector<std::uint32_t> left(kNodes, kCards);
      std::string fail;
      for (std::uint32_t c = 0; c < kNodes * kCards; ++c) {
        if (rng.below(3) != 0) continue;
        fail +=
            fmt::format("{}link=node{}.nic{}->switch", fail.empty() ? "fail=" : ";", c / kCards, c % kCards);
        --left[c / kCards];
      }
      if (fail.empty()) continue;
      const Platform p = load(spec, {fail});
      const Fabric& f = p.fabric;
      const auto node_of = [&](std::uint32_t h) {
        return static_cast<std::uint32_t>(f.host_name(HostId(h))[4] - '0');
      };
      for (std::uint32_t a = 0; a < f.host_count(); ++a) {
        const auto far = bfs_from(f, a);
        for (std::uint32_t b = 0; b < f.host_count(); ++b) {
          if (node_of(a) == node_of(b)) continue;
          std::vector<LinkId> links;
          const bool reached = f.routing().route(HostId(a), HostId(b), links);
          ASSERT_EQ(reached, left[node_of(a)] > 0 && left[node_of(b)] > 0);
          EXPECT_EQ(links.size(), reached ? far[b] : 0) << a << " to " << b;
          if (!reached) continue;
          std::vector<std::string> there = via(f, a, b), back = via(f, b, a);
          std::ranges::reverse(back);
          EXPECT_EQ(there, back) << a << " to " << b;
          const auto usual = via(whole.fabric, a, b);
          const auto cable = [&](const std::string& v) { return fail.find(v + "->") != std::string::npos; };
          if (std::ranges::none_of(usual, cable)) {
            EXPECT_EQ(there, usual) << a << " to " << b;
          }
        }
      }
    }
  }
}

TEST(FailuresUnderNodes, GpusOfACardThatFailedAreDealtToTheOthersInTurn) {
  const std::string spec = "crossbar:n=8,node=\"pcie:tree=rc(12*gpu 4*nic)\"";
  for (std::uint32_t gone = 0; gone < 4; ++gone) {
    const Platform p = load(spec, {without_cards({1}, gone)});
    std::map<std::string, int> gpus;
    for (std::uint32_t g = 12; g < 24; ++g) ++gpus[via(p.fabric, g, 0).at(1)];
    std::map<std::string, int> expected;
    for (std::uint32_t c = 0; c < 4; ++c)
      if (c != gone) expected[fmt::format("node1.nic{}", c)] = 4;
    EXPECT_EQ(gpus, expected);
  }
}

// Card k of each node in plane k, and no cable between the planes: two GPUs meet in one that both nodes still have.
TEST(FailuresUnderNodes, PlanesThatNoCableJoins) {
  const TempFile planes("planes.dot",
                        "graph { node [kind=switch]; p0; p1; node [kind=host]; h0; h1; h2; h3; "
                        "h0 -- p0; h1 -- p1; h2 -- p0; h3 -- p1; }");
  const auto nodes = [&](const std::string& tree) {
    return "file:path=" + planes.path() + ",node=\"pcie:tree=" + tree + "\"";
  };
  const std::string spec = nodes("rc(2*gpu 2*nic)");
  const auto crossed = [](const Platform& p, std::uint32_t a, std::uint32_t b) {
    std::vector<std::string> out;
    for (const std::string& v : via(p.fabric, a, b))
      if (v.starts_with("p")) out.push_back(v);
    return fmt::format("{}", fmt::join(out, " "));
  };
  const Platform whole = load(spec);
  EXPECT_EQ(crossed(whole, 0, 2), "p0");
  EXPECT_EQ(crossed(whole, 1, 3), "p1");
  for (const auto& [a, b] : {std::pair(0u, 3u), std::pair(1u, 2u)}) {
    EXPECT_EQ(crossed(whole, a, b), a == 0 ? "p0" : "p1")
        << "that of the GPU on the node of the lower number";
    EXPECT_EQ(crossed(whole, b, a), crossed(whole, a, b));
  }
  const Platform one = load(spec, {"fail=link=node1.nic0->p0"});
  for (std::uint32_t a = 0; a < 2; ++a)
    for (std::uint32_t b = 2; b < 4; ++b) {
      EXPECT_EQ(crossed(one, a, b), "p1");
      EXPECT_EQ(crossed(one, b, a), "p1");
    }
  const Platform none = load(spec, {"fail=link=node1.nic0->p0;link=node0.nic1->p1"});
  EXPECT_EQ(verify(none.fabric).unreachable, 8u) << "each node has a card, of another plane";

  // gpu0 is 2 links from nic0 and 4 from nic1, gpu1 is 3 from either and was dealt nic1.
  const Platform uneven = load(nodes("rc(switch(switch(gpu nic) gpu) nic)"));
  EXPECT_EQ(crossed(uneven, 1, 3), "p1");
  for (const auto& [a, b] : {std::pair(0u, 3u), std::pair(1u, 2u)}) {
    EXPECT_EQ(crossed(uneven, a, b), "p0") << "5 links in both trees, by the other plane 7";
    EXPECT_EQ(crossed(uneven, b, a), "p0");
  }
}

TEST(Failures, SwitchLatencyAndInjectionLimit) {
  const Platform p = load("crossbar:n=4,lat=1us,bw=10GB/s,switch_lat=300ns,nic_bw=4GB/s");
  const auto r = route_of(p.fabric, 0, 1);
  EXPECT_EQ(p.fabric.links().latency[r[0].index()], from_seconds(1.3e-6));
  EXPECT_EQ(p.fabric.links().latency[r[1].index()], from_seconds(1e-6));
  EXPECT_EQ(p.fabric.links().capacity[r[0].index()], 4e9);
  EXPECT_EQ(p.fabric.links().capacity[r[1].index()], 4e9);
  const Platform t = load("torus:dims=4,bw=10GB/s,nic_bw=4GB/s");
  EXPECT_EQ(t.fabric.links().capacity[route_of(t.fabric, 0, 1)[1].index()], 10e9);
  EXPECT_THAT(error_of("torus:dims=4,host_links=off,nic_bw=1GB/s"), HasSubstr("no cable of their own"));
  EXPECT_THAT(error_of("crossbar:n=4,switch_lat=3"), HasSubstr("switch_lat"));
}

TEST(Failures, BadOnesAreNamed) {
  const std::string spec = "xgft:m=4x4,w=1x2";
  EXPECT_THAT(
      error_of(spec, {"fail=link=switch-1-0->switch-9-9"}),
      HasSubstr("unknown link; got \"switch-1-0->switch-9-9\"; expected a link, like switch-1-0->node-0"));
  EXPECT_THAT(error_of(spec, {"fail=link=foo"}), HasSubstr("unknown link"));
  EXPECT_THAT(error_of(spec, {"fail=switch=node-0"}), HasSubstr("unknown switch"));
  EXPECT_THAT(error_of(spec, {"fail=all"}), HasSubstr("link=NAME, switch=NAME, 2% or a number of cables"));
  EXPECT_THAT(error_of(spec, {"fail=101%"}), HasSubstr("0% to 100%"));
  EXPECT_THAT(error_of(spec, {"fail=9"}), HasSubstr("from 0 to 8"));
  EXPECT_THAT(error_of(spec, {"fail=;"}), HasSubstr("not a failure"));
  EXPECT_THAT(
      error_of("crossbar:n=4", {"fail=1"}),
      HasSubstr("no cable between switches is left to break; got \"1\"; expected link=NAME or switch=NAME"));
}

}  // namespace
}  // namespace weft::topology
