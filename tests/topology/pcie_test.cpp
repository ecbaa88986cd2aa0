// PCIe trees alone and under the hosts of networks: shape, link rates, routes, names, errors.
#include <fmt/format.h>

#include <numeric>
#include <set>

#include "tests/topology/oracles.hpp"
#include "topology/bisection.hpp"
#include "topology/metrics.hpp"
#include "topology/pcie/forest.hpp"
#include "topology/pcie/link_rate.hpp"
#include "topology/pcie/tree.hpp"
#include "topology/platform/catalogue.hpp"
#include "topology/verify.hpp"

namespace weft::topology {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::vector<std::string> names_of(const Fabric& f, const std::vector<LinkId>& links) {
  std::vector<std::string> out;
  for (const LinkId l : links) out.push_back(f.link_name(l));
  return out;
}

TEST(PcieRate, AgreesWithThePublishedModelAtGen3x16) {
  // pcie-bench/pcie-model: 126.03 Gb/s after encoding; long writes at MPS 128 and 256.
  EXPECT_NEAR(pcie_raw_rate({3, 16, 256, 0}).value() * 8, 126.03e9, 0.005e9);
  EXPECT_NEAR(pcie_payload_rate({3, 16, 128, 0}).value(), 11.76e9, 0.005e9);
  EXPECT_NEAR(pcie_payload_rate({3, 16, 256, 0}).value(), 12.99e9, 0.005e9);
}

TEST(PcieRate, HandComputedOverheads) {
  // Gen 1 x1, MPS 128: 2.5 GT/s x 8/10 / 8 = 250 MB/s; one update of each kind per 237 bytes.
  const double packets = 250e6 * (1 - 16.0 / 237 - 4.0 / 1538);
  EXPECT_DOUBLE_EQ(pcie_packet_rate({1, 1, 128, 0}).value(), packets);
  EXPECT_DOUBLE_EQ(pcie_payload_rate({1, 1, 128, 0}).value(), packets * 128 / 152);
  // Gen 2 x8, MPS 256: 158 bytes; gen 5 x4, MPS 512: 250 bytes.
  EXPECT_DOUBLE_EQ(pcie_packet_rate({2, 8, 256, 0}).value(), 4e9 * (1 - 16.0 / 158 - 4.0 / 1538));
  EXPECT_DOUBLE_EQ(pcie_packet_rate({5, 4, 512, 0}).value(),
                   32e9 * 4 * 128 / 130 / 8 * (1 - 16.0 / 250 - 4.0 / 1538));
  // Gen 6: flits of 236 in 256, headers of 16.
  EXPECT_DOUBLE_EQ(pcie_payload_rate({6, 16, 256, 0}).value(), 128e9 * 236 / 256 * 256 / 272);
  // A write of 300 bytes needs two packets of at most 256.
  EXPECT_DOUBLE_EQ(pcie_payload_rate({3, 16, 256, 300}).value(),
                   pcie_packet_rate({3, 16, 256, 300}).value() * 300 / 348);
}

TEST(PcieRate, GrowsWithGenerationWidthAndPayload) {
  for (const std::uint32_t w : {1u, 2u, 4u, 8u, 16u})
    for (std::uint32_t g = 1; g <= 6; ++g) {
      for (const std::uint32_t mps : {128u, 256u, 512u, 1024u, 2048u, 4096u}) {
        const double b = pcie_payload_rate({g, w, mps, 0}).value();
        EXPECT_LT(b, pcie_raw_rate({g, w, mps, 0}).value());
        if (g < 6) {
          EXPECT_LT(b, pcie_payload_rate({g + 1, w, mps, 0}).value());
        }
        if (w < 16) {
          EXPECT_LT(b, pcie_payload_rate({g, 2 * w, mps, 0}).value());
        }
        // From 256 to 512 the specification asks an x8 link to acknowledge more often.
        if (mps < 4096 && mps != 256) {
          EXPECT_LT(b, pcie_payload_rate({g, w, 2 * mps, 0}).value()) << g << " x" << w << " " << mps;
        }
        EXPECT_LT(pcie_payload_rate({g, w, mps, 64}).value(), b);
      }
    }
}

TEST(Pcie, CsStormIsTheTreeOfThePaper) {
  const Platform p = load("cs-storm");
  EXPECT_EQ(p.fabric.host_count(), 8u);
  EXPECT_EQ(p.fabric.cable_count(), 14u) << "8 GPUs, 4 cards, 2 switches";
  EXPECT_EQ(via(p.fabric, 0, 1), (std::vector<std::string>{"card0"}));
  EXPECT_EQ(via(p.fabric, 0, 2), (std::vector<std::string>{"card0", "switch0", "card1"}));
  EXPECT_EQ(via(p.fabric, 1, 4), (std::vector<std::string>{"card0", "switch0", "rc0", "switch1", "card2"}));
  for (const double c : p.fabric.links().capacity) EXPECT_EQ(c, 11.6 * 1024 * 1024 * 1024);
  const PcieForest& forest = *p.fabric.pcie();
  EXPECT_EQ(forest.tau[0], 21.0 / 121);
  EXPECT_EQ(load("cs-storm", {"tau=1/5"}).fabric.pcie()->tau[3], 0.2);
}

TEST(Pcie, TwoSocketsMeetAtTheInterSocketNode) {
  const Platform p = load("cs-storm-16");
  EXPECT_EQ(p.fabric.host_count(), 16u);
  EXPECT_EQ(via(p.fabric, 7, 8),
            (std::vector<std::string>{"card3", "switch1", "rc0", "isl", "rc1", "switch2", "card4"}));
  EXPECT_EQ(load("pcie:sockets=2,isl_bw=1GB/s").fabric.links().capacity.size(), 60u);
}

TEST(Pcie, CountsFollowFromTheShapeAndEveryRouteIsSound) {
  for (std::uint64_t s = 1; s <= 3; ++s)
    for (std::uint64_t w = 0; w <= 2; ++w)
      for (std::uint64_t c = 1; c <= 3; ++c)
        for (std::uint64_t g = 1; g <= 3; ++g) {
          const std::string spec = "pcie:sockets=" + std::to_string(s) + ",switches=" + std::to_string(w) +
                                   ",cards=" + std::to_string(c) + ",gpus=" + std::to_string(g) +
                                   ",mem=on,nics=2";
          const Platform p = load(spec);
          const std::uint64_t bridges = s * std::max<std::uint64_t>(w, 1), cards = bridges * c;
          const std::uint64_t gpus = cards * g;
          EXPECT_EQ(p.fabric.rank_hosts(), gpus) << spec;
          EXPECT_EQ(p.fabric.host_count(), gpus + s + 2) << spec;
          // A tree has one link pair per node but the root.
          const std::uint64_t inner = s + s * w + (g > 1 ? cards : 0) + (s > 1 ? 1 : 0);
          EXPECT_EQ(p.fabric.cable_count(), gpus + s + 2 + inner - 1) << spec;
          const VerifyReport r = verify(p.fabric);
          EXPECT_TRUE(r.findings.empty()) << spec << ": " << r.findings.front();
          EXPECT_EQ(r.unreachable, 0u);
        }
}

TEST(Pcie, KeysSetRatesPerLevel) {
  const Platform p =
      load("pcie:gen=4x4x3,width=16x8x16,isl_bw=9GB/s,sockets=2,mem=on,mem_bw=50GB/s,lat=1usx2usx3us");
  const LinkTable& t = p.fabric.links();
  const auto of = [&](const std::string& c) {
    for (std::size_t l = 0; l < t.size(); ++l)
      if (t.class_names[t.link_class[l]] == c) return t.capacity[l];
    return 0.0;
  };
  EXPECT_EQ(of("pcie-gpu"), pcie_payload_rate({4, 16, 256, 0}).value());
  EXPECT_EQ(of("pcie-card"), pcie_payload_rate({4, 8, 256, 0}).value());
  EXPECT_EQ(of("pcie-root"), pcie_payload_rate({3, 16, 256, 0}).value());
  EXPECT_EQ(of("isl"), 9e9);
  EXPECT_EQ(of("mem"), 50e9);
  EXPECT_EQ(load("pcie:width=x8").fabric.links().capacity[0], pcie_payload_rate({3, 8, 256, 0}).value());
}

// nics, nic and nic_bw are keys of every family too, and limit the cables of hosts there: here the GPUs'.
TEST(Pcie, ItsOwnKeysAreNotTheCommonOnesOfTheSameName) {
  const Fabric plain = load("pcie:nics=2,nic=switch").fabric;
  const Fabric slow = load("pcie:nics=2,nic=switch,nic_bw=1GB/s").fabric;
  ASSERT_EQ(slow.links().size(), plain.links().size());
  std::size_t limited = 0;
  for (std::size_t l = 0; l < slow.links().size(); ++l) {
    const bool of_nic = slow.links().class_names[slow.links().link_class[l]] == "pcie-nic";
    EXPECT_EQ(slow.links().capacity[l], of_nic ? 1e9 : plain.links().capacity[l])
        << slow.link_name(LinkId(static_cast<std::uint32_t>(l)));
    limited += of_nic ? 1 : 0;
  }
  EXPECT_EQ(limited, 4u);
}

TEST(Pcie, AnyTreeCanBeWrittenOut) {
  // The same wiring as the keys give, link by link.
  const Platform keys = load("pcie:sockets=2,switches=2,cards=2,gpus=2,mem=on,lat=0");
  const Platform text = load("pcie:lat=0,tree=\"isl(2*rc(2*switch(2*card(2*gpu)), mem))\"");
  ASSERT_EQ(text.fabric.host_count(), 18u);
  ASSERT_EQ(text.fabric.link_count(), keys.fabric.link_count());
  for (std::uint32_t a = 0; a < 18; ++a)
    for (std::uint32_t b = 0; b < 18; ++b)
      EXPECT_EQ(via(text.fabric, a, b), via(keys.fabric, a, b)) << a << " " << b;
  const Platform odd = load("pcie:tree=rc(switch(switch(3*gpu@5x8) nic@4x4 gpu) gpu)");
  EXPECT_EQ(odd.fabric.rank_hosts(), 5u);
  EXPECT_EQ(odd.fabric.links().capacity[0], pcie_payload_rate({5, 8, 256, 0}).value());
  EXPECT_EQ(odd.fabric.links().capacity[3], pcie_payload_rate({3, 16, 256, 0}).value());
  EXPECT_EQ(odd.fabric.links().capacity[5], pcie_payload_rate({4, 4, 256, 0}).value());
  EXPECT_EQ(via(odd.fabric, 2, 4), (std::vector<std::string>{"switch1", "switch0", "rc0"}));
  EXPECT_TRUE(verify(odd.fabric).findings.empty());
  EXPECT_EQ(load("crossbar:n=4,node=\"pcie:tree=rc(gpu nic nic)\"").fabric.rank_hosts(), 2u);
}

TEST(Pcie, ANetworkThatRoutesByMessageStillDoesUnderNodes) {
  for (const char* routing : {"valiant", "ugal-u"}) {
    const Platform p =
        load(fmt::format("dragonfly:p=2,a=4,h=2,routing={},node=\"pcie:gpus=2,nics=1\"", routing));
    const Routing& r = p.fabric.routing();
    EXPECT_NE(r.scope(), RouteScope::kPair) << routing;
    const std::vector<std::uint32_t> idle(p.fabric.link_count(), 0);
    std::set<std::vector<LinkId>> seen;
    std::vector<LinkId> out;
    const HostId src(0), dst(p.fabric.rank_hosts() - 1);
    for (std::uint64_t message = 0; message < 64; ++message) {
      out.clear();
      ASSERT_TRUE(r.route_message(src, dst, message, idle, out));
      const LinkTable& l = p.fabric.links();
      VertexId at(src.index());
      for (const LinkId id : out) {
        EXPECT_EQ(l.from[id.index()], at);
        at = l.to[id.index()];
      }
      EXPECT_EQ(at, VertexId(dst.index()));
      seen.insert(out);
    }
    if (std::string_view(routing) == "valiant") {
      EXPECT_GT(seen.size(), 4u) << "every message the same way";
    }
    // Load on the minimal route's network links sends ugal-u elsewhere: the graft hands the load through.
    if (std::string_view(routing) != "ugal-u") continue;
    std::vector<std::uint32_t> busy(p.fabric.link_count(), 0);
    out.clear();
    ASSERT_TRUE(r.route(src, dst, out));
    const std::vector<LinkId> minimal = out;
    for (const LinkId id : minimal) busy[id.index()] = 1000;
    std::size_t elsewhere = 0;
    for (std::uint64_t message = 0; message < 64; ++message) {
      out.clear();
      ASSERT_TRUE(r.route_message(src, dst, message, busy, out));
      elsewhere += out != minimal ? 1u : 0u;
    }
    EXPECT_GT(elsewhere, 32u);
  }
}

TEST(Pcie, MistakesInATreeAreNamedWithTheirPlace) {
  EXPECT_THAT(error_of("pcie:tree=rc(gpux)"),
              HasSubstr("tree, character 4: error: no such node; got \"gpux)\""));
  EXPECT_THAT(error_of("pcie:tree=rc(gpu"), HasSubstr("character 7: error: a bracket is not closed"));
  EXPECT_THAT(error_of("pcie:tree=gpu"), HasSubstr("wrong place"));
  EXPECT_THAT(error_of("pcie:tree=rc(rc(gpu))"), HasSubstr("wrong place"));
  EXPECT_THAT(error_of("pcie:tree=rc(switch(mem))"), HasSubstr("wrong place"));
  EXPECT_THAT(error_of("pcie:tree=2*rc(gpu)"), HasSubstr("several roots"));
  EXPECT_THAT(error_of("pcie:tree=rc(gpu))"), HasSubstr("more than one tree"));
  EXPECT_THAT(error_of("pcie:tree=rc(0*gpu)"), HasSubstr("not a count"));
  EXPECT_THAT(error_of("pcie:tree=rc(gpu@7x8)"), HasSubstr("not a link"));
  EXPECT_THAT(error_of("pcie:tree=rc(switch gpu)"), HasSubstr("without anything below"));
  EXPECT_THAT(error_of("pcie:tree=rc(nic)"), HasSubstr("without a GPU"));
  EXPECT_THAT(error_of("pcie:tree="), HasSubstr("no such node"));
  EXPECT_THAT(error_of("pcie:tree=rc(99999*switch(99999*gpu))"), HasSubstr("not a count"));
  EXPECT_THAT(error_of("pcie:tree=rc(9999*switch(9999*gpu))"), HasSubstr("too large"));
  EXPECT_THAT(error_of("pcie:gpus=2,tree=rc(gpu)"), HasSubstr("gpus beside tree"));
  std::string deep = "pcie:tree=rc(";
  for (int i = 0; i < 100; ++i) deep += "switch(";
  EXPECT_THAT(error_of(deep), HasSubstr("too large"));
}

// 12 of 24 GPUs are on either side of a tree: one cable of the network and one link within a node.
TEST(PcieNodes, AnOddNumberOfThemIsHalvedThroughOne) {
  const Platform p = load("crossbar:n=3,node=cs-storm");
  EXPECT_EQ(p.fabric.bisection_cables(), std::nullopt);
  EXPECT_GE(best_bisection(p.fabric).value_or(2), 2u);
}

TEST(Pcie, MistakesAreNamed) {
  EXPECT_THAT(error_of("pcie:tau=2"), HasSubstr("expected 0 to 1"));
  EXPECT_THAT(error_of("pcie:gen=7"), HasSubstr("one of 1, 2, 3, 4, 5, 6"));
  EXPECT_THAT(error_of("pcie:width=3"), HasSubstr("one of 1, 2, 4, 8, 16"));
  EXPECT_THAT(error_of("pcie:mps=100"), HasSubstr("one of 128"));
  EXPECT_THAT(error_of("pcie:payload=0B"), HasSubstr("expected 1B"));
  EXPECT_THAT(error_of("pcie:sockets=64,switches=256,cards=256,gpus=256"), HasSubstr("too large"));
  EXPECT_THAT(error_of("pcie:switches=0,nics=1,nic=switch"), HasSubstr("no switch"));
  EXPECT_THAT(error_of("pcie:gpu=4"), HasSubstr("pcie has no such key; got \"gpu\""));
  EXPECT_THAT(error_of("crossbar:n=3,node=dgx-1-like"), HasSubstr("a divisor of 3"));
  EXPECT_THAT(error_of("crossbar:n=3,node=crossbar-16"), HasSubstr("a PCIe tree"));
  EXPECT_THAT(error_of("crossbar:n=3,node=foo"), HasSubstr("unknown platform; got \"foo\""));
  EXPECT_THAT(error_of("crossbar:n=3", {"node.tau=0"}), HasSubstr("no node { }"));
  EXPECT_THAT(error_of("crossbar:n=3,node=cs-storm", {"node.nics=0"}), HasSubstr("not on the network"));
  EXPECT_THAT(error_of("pcie:node=cs-storm"), HasSubstr("not supported"));
  EXPECT_THAT(error_of("pcie:gpus=2,fail=1"), HasSubstr("failures inside a PCIe tree"));
  EXPECT_THAT(error_of("pcie:gpus=2,hosts_per_switch=8"),
              HasSubstr("GPUs on its switches; got \"8\"; expected cards and gpus"));
}

// Every key of every family but speed would change nothing there: what it says is refused, not lost.
TEST(PcieNodes, HaveTheKeysOfTreesAndSpeed) {
  const auto params = pcie_params();
  for (const ParamInfo& common : common_params()) {
    const std::string key(common.name), value = key == "speed" ? "1Gflops" : "junk";
    SCOPED_TRACE(key);
    if (std::ranges::find(params, key, &ParamInfo::name) != params.end()) continue;
    const TempFile file("n.textproto", "topology { family: \"crossbar\" set: \"n=3\" }\n" +
                                           fmt::format("node {{ set: \"{}={}\" }}\n", key, value));
    if (key == "speed") {
      EXPECT_EQ(load("crossbar:n=3,node=pcie", {"node.speed=1Gflops"}).speed(HostId(0)).value(), 1e9);
      EXPECT_EQ(load(file.path()).speed(HostId(0)).value(), 1e9);
      continue;
    }
    const std::string says =
        key == "fail" ? "failures inside a PCIe tree" : "of the network, not of its nodes";
    EXPECT_THAT(error_of("crossbar:n=3,node=pcie", {"node." + key + "=" + value}),
                AllOf(StartsWith("--set node." + key), HasSubstr(says)));
    EXPECT_THAT(error_of("crossbar:n=3,node=\"pcie:" + key + "=junk\""),
                HasSubstr(key == "node" ? "what is under a host is a PCIe tree" : says));
    EXPECT_THAT(error_of(file.path()), AllOf(StartsWith(file.path() + ":2:8: error: "), HasSubstr(says)));
  }
  EXPECT_THAT(error_of("crossbar:n=3,node=pcie", {"node.gpu=2"}),
              AllOf(HasSubstr("a node has no such key; got \"gpu\""), Not(HasSubstr("switch_lat"))));
}

TEST(PcieNodes, AreTreesAndASpeedAndNothingElseOfAFile) {
  const std::string tree = "topology { family: \"pcie\" set: \"gpus=1\" }\n";
  const auto node = [](const TempFile& f) { return "crossbar:n=3,node=" + f.path(); };
  const TempFile plain(
      "plain.textproto",
      tree + "name: \"x\" summary: \"y\" source: \"z\"\nhost { speed: \"3Gflops\" }\nmpi { }\n");
  EXPECT_EQ(load(node(plain)).speed(HostId(0)).value(), 3e9);
  struct Case {
    std::string fields, place, path;
  };
  for (const auto& [fields, place, path] :
       {Case{"mpi { eager_limit: \"1KiB\" }", ":2:7", "mpi.eager_limit"},
        Case{"mpi { send_cost { } }", ":2:7", "mpi.send_cost"},
        Case{"host { speed: \"3Gflops\" ranks: 2 }", ":2:25", "host.ranks"},
        Case{"host { memory: \"1GiB\" }", ":2:8", "host.memory"},
        Case{"host { kernel { name: \"dgemm\" rate: \"1Gflops\" } }", ":2:8", "host.kernel"}}) {
    const TempFile file("n.textproto", tree + fields + "\n");
    EXPECT_THAT(error_of(node(file)),
                AllOf(StartsWith(file.path() + place + ": error: a field of the network's platform"),
                      HasSubstr("got \"" + path + "\"")));
    const TempFile field("f.textproto", "topology { family: \"crossbar\" set: \"n=3\" }\nnode { family: \"" +
                                            file.path() + "\" }\n");
    EXPECT_THAT(error_of(field.path()), StartsWith(file.path() + place));
    EXPECT_TRUE(load_platform(file.path()).has_value()) << "alone it is a platform";
  }
  // All that are built in may be nodes.
  for (const CatalogueEntry& e : catalogue())
    if (const Platform p = load(std::string(e.name)); p.family == "pcie") {
      EXPECT_EQ(load("crossbar:n=4,node=" + p.name).speed(HostId(0)).value(), p.speed(HostId(0)).value());
    }
}

// The route of the result = up to the card, the network's own route, down from the card.
TEST(Graft, EveryRouteIsTreePlusNetworkPlusTree) {
  const std::string node = "\"pcie:sockets=2,switches=1,cards=2,gpus=2,nics=2,nic=switch,mem=on\"";
  for (const std::string network :
       {"crossbar:n=4", "xgft:h=2,m=4x2,w=1x2,p=1x2", "fat-tree:m=4,n=2", "torus:dims=4x2",
        "torus:dims=4x2,host_links=off", "dragonfly:p=2,a=2,h=1"}) {
    SCOPED_TRACE(network);
    const Platform alone = load(network);
    const Platform p = load(network + ",node=" + node);
    const Fabric& f = p.fabric;
    const std::uint32_t nodes = alone.fabric.host_count() / 2;
    ASSERT_EQ(f.rank_hosts(), nodes * 8);
    ASSERT_EQ(f.host_count(), nodes * 10);
    EXPECT_EQ(f.link_count(), alone.fabric.link_count() + nodes * 2 * 20);
    const VerifyReport r = verify(f);
    EXPECT_TRUE(r.findings.empty()) << r.findings.front();
    for (std::uint32_t a = 0; a < f.rank_hosts(); ++a)
      for (std::uint32_t b = 0; b < f.rank_hosts(); ++b) {
        const auto route = route_of(f, a, b);
        if (a / 8 == b / 8) {
          for (const LinkId l : route)
            EXPECT_NE(f.links().class_names[f.links().link_class[l.index()]], "host");
          continue;
        }
        // GPUs of socket s leave by card s: 4 up links (gpu, card, switch sits beside the card's port).
        const std::uint32_t ca = a / 8 * 2 + a % 8 / 4, cb = b / 8 * 2 + b % 8 / 4;
        const auto inner = route_of(alone.fabric, ca, cb);
        ASSERT_EQ(route.size(), inner.size() + 6);
        for (std::size_t i = 0; i < inner.size(); ++i) {
          EXPECT_EQ(f.links().capacity[route[i + 3].index()],
                    alone.fabric.links().capacity[inner[i].index()]);
          if (i > 0 && i + 1 < inner.size() && !alone.fabric.hosts_are_routers()) {
            EXPECT_EQ(f.link_name(route[i + 3]), alone.fabric.link_name(inner[i]));
          }
        }
      }
  }
}

// One card or several, hosts' memories, endpoints at several depths, pairs without a route; against every route.
TEST(Graft, LengthsOfRoutesAreThoseOfTheNetworkAndTheTreesTogether) {
  // Nobody reaches a.
  const TempFile one_way(
      "one-way",
      "digraph { a [kind=host]; b [kind=host]; c [kind=host]; d [kind=host]; s [kind=switch]; "
      "a -> s; b -> s; s -> b; c -> s; s -> c; d -> s; s -> d; }");
  for (const std::string& network :
       {std::string("crossbar:n=12"), std::string("torus:dims=4x3"), std::string("xgft:m=4x4,w=1x2"),
        std::string("dragonfly:p=2,a=4,h=2"), "file:path=" + one_way.path()})
    for (const std::string node :
         {"pcie", "pcie:gpus=1,nics=1,mem=on", "pcie:nics=2", "pcie:tree=rc(gpu mem switch(2*gpu nic))"}) {
      SCOPED_TRACE(network + " " + node);
      const Fabric f = load(network + ",node=\"" + node + "\"").fabric;
      const auto h = f.routing().hop_histogram();
      // Where two cards have no route other cards of their nodes may.
      const bool other_cards = network.starts_with("file:") && std::string_view(node) == "pcie:nics=2";
      ASSERT_EQ(h.has_value(), !other_cards);
      if (other_cards) continue;
      const HopHistogram walked = walked_histogram(f);
      EXPECT_EQ(h->pairs, walked.pairs);
      EXPECT_EQ(h->unreachable, walked.unreachable);
    }
  // Two GPUs go by one card and one by the other: which pairs of cards are how far apart is not in the network's own count.
  EXPECT_FALSE(load("crossbar:n=4,node=\"pcie:tree=isl(rc(2*gpu nic) rc(gpu nic))\"")
                   .fabric.routing()
                   .hop_histogram());
}

// 37.7 million pairs of GPUs; walked one by one they took a minute. With a GPU a node they are those of the network, and a tree at
// each end.
TEST(Graft, LengthsOfRoutesOfThousandsOfGpusAreCounted) {
  const Metrics m = measure(load("aries:groups=2,node=pcie").fabric, 0);
  ASSERT_TRUE(m.hops);
  EXPECT_EQ(std::accumulate(m.hops->pairs.begin(), m.hops->pairs.end(), std::uint64_t{0}), 6144u * 6143u);
  const auto alone = load("aries:groups=2").fabric.routing().hop_histogram();
  const auto one = load("aries:groups=2,node=\"pcie:sockets=1,switches=0,cards=1,gpus=1\"")
                       .fabric.routing()
                       .hop_histogram();
  ASSERT_TRUE(alone && one);
  std::vector<std::uint64_t> further(4, 0);  // GPU to root, root to card; and back
  further.insert(further.end(), alone->pairs.begin(), alone->pairs.end());
  EXPECT_EQ(one->pairs, further);
}

TEST(Graft, NamesSayNodeAndDevice) {
  const Platform p = load("crossbar:n=2,node=cs-storm", {"node.mem=on"});
  const Fabric& f = p.fabric;
  EXPECT_EQ(f.host_name(HostId(0)), "node0.gpu0");
  EXPECT_EQ(f.host_name(HostId(15)), "node1.gpu7");
  EXPECT_EQ(f.host_name(HostId(16)), "node0.mem0");
  EXPECT_THAT(names_of(f, route_of(f, 16, 8)),
              ElementsAre("node0.mem0->node0.rc0", "node0.rc0->node0.nic0", "node0.nic0->switch",
                          "switch->node1.nic0", "node1.nic0->node1.rc0", "node1.rc0->node1.switch0",
                          "node1.switch0->node1.card0", "node1.card0->node1.gpu0"));
}

TEST(Graft, RanksGoToGpusAndToOtherEndpointsByMapOnly) {
  const Platform p = load("crossbar:n=2,node=gpu-server-4", {"node.mem=on"});
  ASSERT_EQ(p.fabric.host_count(), 12u);
  auto block = place_ranks(p, 8, "block", 0);
  ASSERT_TRUE(block.has_value());
  EXPECT_EQ((*block)[7], HostId(7));
  EXPECT_FALSE(place_ranks(p, 9, "block", 0).has_value());
  const TempFile map("map", "node1.mem1\nnode0.gpu3\n");
  auto mapped = place_ranks(p, 2, "file:" + map.path(), 0);
  ASSERT_TRUE(mapped.has_value()) << mapped.error().message();
  EXPECT_EQ((*mapped)[0], HostId(11));
  EXPECT_EQ((*mapped)[1], HostId(3));
}

TEST(Graft, ATextprotoSaysItInANodeField) {
  const TempFile f("g.textproto", R"(name: "cluster"
topology { family: "fat-tree" set: "m=4" set: "n=2" }
node { family: "cs-storm" set: "tau=1/5" set: "nics=2" }
)");
  const Platform p = load(f.path(), {"node.lat=1us"});
  EXPECT_EQ(p.fabric.rank_hosts(), 32u);
  EXPECT_EQ(p.fabric.pcie()->tau[0], 0.2);
  EXPECT_EQ(p.fabric.links().latency[0], Duration(1'000'000));
  EXPECT_EQ(p.speed(HostId(0)).value(), 935e9) << "the GPU's, from the node";
  EXPECT_EQ(p.family, "fat-tree+pcie");
  const TempFile bad("b.textproto",
                     "topology { family: \"crossbar\" set: \"n=2\" }\nnode { set: \"tau\" }\n");
  EXPECT_THAT(error_of(bad.path()), HasSubstr(":2:8: error: setting without a key"));
}

// Link up from a vertex and down to it, and the part of their sum that both carry.
struct Port {
  double up, down, both;
};
Port port_of(const Platform& p, std::string_view name) {
  const Fabric& f = p.fabric;
  for (std::uint32_t v = 0; v < f.vertex_count(); ++v)
    if (f.vertex_name(VertexId(v)) == name) {
      const PcieForest& t = *f.pcie();
      const double up = f.links().capacity[t.up[v].index()], down = f.links().capacity[t.down[v].index()];
      return {up, down, t.both[v] * (up + down)};
    }
  ADD_FAILURE() << "no " << name;
  return {};
}

TEST(PcieDirections, EachMayHaveARateAndBothTogetherAnother) {
  const auto p = load(
      "pcie:switches=0,cards=2,gpus=1,nics=1,mem=on,bw=12.3GB/s,down_bw=11.4GB/s,both_bw=19.8GB/s,"
      "mem_bw=64GB/s,mem_both_bw=74GB/s");
  for (const char* gpu : {"gpu0", "gpu1", "nic0"}) {  // a card's link is that of a root port
    const Port port = port_of(p, gpu);
    EXPECT_EQ(port.up, 12.3e9) << gpu;
    EXPECT_EQ(port.down, 11.4e9) << gpu;
    EXPECT_NEAR(port.both, 19.8e9, 1) << gpu;
  }
  EXPECT_NEAR(port_of(p, "mem0").both, 74e9, 1);
  EXPECT_EQ(port_of(p, "mem0").down, 64e9);
  // A link whose rate is given is another link.
  const auto nic = load("pcie:switches=0,gpus=1,nics=1,nic_bw=3GB/s,bw=12.3GB/s,both_bw=19.8GB/s");
  EXPECT_EQ(port_of(nic, "nic0").both, 6e9);
  const auto tree = load("pcie:bw=12.3GB/s,both_bw=19.8GB/s", {"tree=rc(gpu gpu@3x8)"});
  EXPECT_NEAR(port_of(tree, "gpu0").both, 19.8e9, 1);
  EXPECT_EQ(port_of(tree, "gpu1").both, 2 * port_of(tree, "gpu1").up);
}

TEST(PcieDirections, ShareNothingUnlessTold) {
  const auto plain = load("dgx-1-like");
  for (const double both : plain.fabric.pcie()->both) EXPECT_EQ(both, 1);
}

TEST(PcieDirections, UnderANetworkAndByLevel) {
  const auto p = load("crossbar:n=2,node=pcie",
                      {"node.bw=4GB/sx6GB/sx8GB/s", "node.both_bw=7GB/sx12GB/sx10GB/s", "node.mem=on"});
  EXPECT_NEAR(port_of(p, "node1.gpu3").both, 7e9, 1);
  EXPECT_NEAR(port_of(p, "node1.card1").both, 12e9, 1);
  EXPECT_NEAR(port_of(p, "node0.switch0").both, 10e9, 1);
  EXPECT_NEAR(port_of(p, "node0.nic0").both, 10e9, 1);
  EXPECT_EQ(port_of(p, "node0.mem0").both, 128e9);
}

TEST(PcieDirections, SumsThatCannotBeAreErrors) {
  EXPECT_THAT(error_of("pcie:bw=12GB/s,both_bw=11GB/s"),
              HasSubstr("both directions together carry less than one of them, or more than their sum"));
  EXPECT_THAT(error_of("pcie:bw=12GB/s,both_bw=25GB/s"), HasSubstr("12 GB/s to 24 GB/s"));
  EXPECT_THAT(error_of("pcie:bw=12GB/s,down_bw=10GB/s,both_bw=23GB/s"), HasSubstr("12 GB/s to 22 GB/s"));
  EXPECT_THAT(error_of("pcie:both_bw=10GB/sx9GB/s"), HasSubstr("both_bw has 2 values"));
  EXPECT_THAT(error_of("pcie:down_bw=fast"), HasSubstr("down_bw"));
  EXPECT_THAT(error_of("pcie:mem=on,mem_both_bw=63GB/s"),
              HasSubstr("64 GB/s to 128 GB/s, or another mem_bw than 64 GB/s"));
}

}  // namespace
}  // namespace weft::topology
