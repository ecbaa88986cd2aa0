#include "topology/platform/platform.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "tests/topology/support.hpp"
#include "topology/platform/catalogue.hpp"
#include "topology/registry.hpp"
#include "topology/verify.hpp"

namespace weft::topology {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

TEST(Platform, ShorthandSetsEveryCommonKey) {
  const Platform p = load("crossbar:n=5,bw=25Gbps,lat=1.5us,speed=2Tflops,ranks_per_host=3");
  EXPECT_EQ(p.fabric.host_count(), 5u);
  EXPECT_EQ(p.fabric.switch_count(), 1u);
  EXPECT_EQ(p.fabric.cable_count(), 5u);
  EXPECT_EQ(p.fabric.links().capacity[7], 3.125e9);
  EXPECT_EQ(p.fabric.links().latency[7], Duration(1'500'000));
  EXPECT_EQ(p.speed(HostId(4)).value(), 2e12);
  EXPECT_EQ(p.ranks_per_host, 3u);
  EXPECT_EQ(p.family, "crossbar");
}

TEST(Platform, MpiParametersThatNobodySetAreReportedAsAssumed) {
  EXPECT_EQ(load("crossbar:n=2").mpi.assumed.size(), 7u);
  const Platform p = load("crossbar:n=2", {"mpi.eager_limit=16KiB", "mpi.send_copy_bandwidth=10GB/s"});
  EXPECT_EQ(p.mpi.eager_limit, Bytes(16384));
  EXPECT_DOUBLE_EQ(p.mpi.send_overhead_per_byte, 1e-10);
  EXPECT_EQ(p.mpi.assumed.size(), 5u);
}

// bw and lat that neither keys nor a file nor a real machine give.
TEST(Platform, LinksThatNobodyGaveAreReportedAsAssumed) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(load("torus:dims=4x4").assumed_links, (Names{"bw", "lat"}));
  EXPECT_EQ(load("torus:dims=4x4,lat=1us").assumed_links, Names{"bw"});
  EXPECT_EQ(load("torus:dims=4x4,bw=1GB/s,node=\"pcie:gpus=2\"").assumed_links, Names{"lat"});
  EXPECT_EQ(load("torus:dims=4x4,bw=1GB/s,lat=1us").assumed_links, Names{});
  EXPECT_EQ(load("tofud:dims=2x2x2").assumed_links, Names{});
  EXPECT_EQ(load("pcie:gpus=4").assumed_links, Names{});
  EXPECT_EQ(load("crossbar-16").assumed_links, Names{});
  const auto of_file = [](const std::string& edge, const std::string& keys) {
    const TempFile f(
        "net.dot",
        "graph { a [kind=host]; b [kind=host]; s [kind=switch]; a -- s [bw=\"1GB/s\", lat=\"1us\"]; b -- s " +
            edge + " }");
    return load("file:path=" + f.path() + keys).assumed_links;
  };
  EXPECT_EQ(of_file("[bw=\"1GB/s\", lat=\"1us\"]", ""), Names{});
  EXPECT_EQ(of_file("[latency_s=\"1e-6\"]", ""), Names{"bw"});
  EXPECT_EQ(of_file("", ",lat=1us"), Names{"bw"});
}

TEST(Platform, OverridesReplaceKeysOfShorthandFilesAndBuiltIns) {
  EXPECT_EQ(load("crossbar:n=4", {"n=6"}).fabric.host_count(), 6u);
  EXPECT_EQ(load("crossbar-16", {"topology.n=6"}).fabric.host_count(), 6u);
  EXPECT_EQ(load("crossbar-16", {"host.speed=3Gflops"}).speed(HostId(0)).value(), 3e9);
  EXPECT_EQ(load("crossbar-16", {"speed=4Gflops"}).speed(HostId(0)).value(), 4e9);
}

TEST(Platform, TextprotoHoldsEverythingWithItsPositions) {
  const TempFile f("a.textproto", R"(name: "demo"
summary: "a demonstration"
topology { family: "crossbar" set: "n=3" set: "lat=2us" }
host { speed: "7Gflops" ranks: 2 }
mpi { send_overhead: "300ns" collective { collective: "bcast" algorithm: "binomial" } }
)");
  const Platform p = load(f.path());
  EXPECT_EQ(p.name, "demo");
  EXPECT_EQ(p.fabric.host_count(), 3u);
  EXPECT_EQ(p.ranks_per_host, 2u);
  EXPECT_EQ(p.speed(HostId(2)).value(), 7e9);
  EXPECT_EQ(p.mpi.send_overhead, Duration(300'000));
  EXPECT_EQ(p.mpi.collectives.at("bcast"), "binomial");
  EXPECT_EQ(p.fabric.links().latency[0], Duration(2'000'000));
}

TEST(Platform, TextprotoErrorsCarryFileLineAndColumn) {
  struct Case {
    std::string text, expected;
  };
  const std::vector<Case> cases = {
      {"topology { family: \"crossbar\" set: \"n=3\" }\nspeeed: \"1\"\n", ":2:7: error: "},
      {"topology { family: \"crossbar\" set: \"n=3\"\n  set: \"bw=100\" }\n",
       ":2:3: bw: error: not a bandwidth"},
      {"topology { family: \"crossbar\" set: \"n=3\" }\nmpi { eager_limit: \"12\" }\n",
       ":2:7: error: not a size"},
      {"topology { family: \"crossbar\" set: \"n=3\" }\nhost { ranks: -1 }\n", ":2:15: error: "},
      {"topology { family: \"crossbar\" set: \"n3\" }\n", ":1:31: error: setting without a key; got \"n3\""},
      {"topology { family: \"crosbar\" }\n",
       ":1:12: error: unknown topology; got \"crosbar\"; expected one of "},
      {"name: \"x\"\n", ": error: platform without topology"},
      {"topology { family: \"crossbar\" set: \"n=3\" set: \"m=3\" }\n",
       "has no such key; got \"m\"; expected one of n, routing, bw"},
      {"topology { family: \"crossbar", ":1:29: error: "},
      // The fields of the message that has no such one.
      {"topology { family: \"torus\" set: \"dims=4x4\" }\nhost { speeed: \"1Gflops\" }\n",
       ":2:14: error: Host has no such field; got \"speeed\"; expected one of speed, ranks, "},
      {"topology { family: \"torus\" set: \"dims=4x4\" }\nhost { speeed: \"1Gflops\" }\n",
       "; did you mean speed?"},
      {"topology { family: \"torus\" dims: \"4x4\" }\n",
       ":1:32: error: Topology has no such field; got \"dims\"; expected one of family, set; a key of the "
       "family is a "
       "set: \"dims=...\""},
      // Quotes around values.
      {"topology { family: \"torus\" set: \"dims=4x4\" }\nhost {\n\tspeed: 1Gflops }\n",
       ": error: a value without quotes; got \"1Gflops\"; expected speed: \"1Gflops\""},
      {"topology { family: \"crossbar\" set: \"n=3\" }\nmpi { send_overhead: 1.5us }\n",
       ": error: a value without quotes; got \"1.5us\"; expected send_overhead: \"1.5us\""},
      {"topology { family: crossbar set: \"n=3\" }\n",
       ":1:20: error: a value without quotes; got \"crossbar\"; expected family: \"crossbar\""},
      {"topology { family: \"crossbar\" set: n=3 }\n",
       ":1:36: error: a value without quotes; got \"n=3\"; expected set: \"n=3\""},
  };
  for (const Case& c : cases) {
    const TempFile f("bad.textproto", c.text);
    EXPECT_THAT(error_of(f.path()), AllOf(StartsWith(f.path()), HasSubstr(c.expected))) << c.text;
  }
}

// A line may be below 0 for short messages, where it counts as 0; one that no message takes time by is a mistake.
TEST(Platform, CostsOfMessagesRiseAndAreAboveZeroSomewhere) {
  const auto file = [](std::string_view list, std::string_view line) {
    return fmt::format("topology {{ family: \"crossbar\" set: \"n=3\" }}\nmpi {{\n{}{} {{ {} }}\n}}\n",
                       list == "isend_cost" ? "send_cost { } " : "", list, line);
  };
  for (const std::string_view list : {"send_cost", "isend_cost", "recv_cost", "local_transfer",
                                      "loaded_transfer", "loaded_local_transfer"}) {
    SCOPED_TRACE(list);
    const TempFile falls("falls.textproto", file(list, "intercept: \"1s\" per_byte: \"-1ps\""));
    EXPECT_THAT(error_of(falls.path()), AllOf(StartsWith(falls.path() + ":3:"),
                                              HasSubstr("time of a byte is negative; got \"-1ps\"")));
    const TempFile none("none.textproto", file(list, "intercept: \"-1us\""));
    EXPECT_THAT(error_of(none.path()),
                AllOf(StartsWith(none.path() + ":3:"),
                      HasSubstr("messages of every size take less than no time; got \"-1us\"")));
    for (const std::string_view line : {"", "intercept: \"-1us\" per_byte: \"1ps\"", "per_byte: \"0\""}) {
      const TempFile rises("rises.textproto", file(list, line));
      EXPECT_TRUE(load_platform(rises.path()).has_value()) << line;
    }
  }
}

TEST(Platform, UnknownNamesAreAnsweredWithTheKnownOnes) {
  EXPECT_THAT(error_of("nonesuch"),
              AllOf(HasSubstr("unknown platform; got \"nonesuch\""), HasSubstr("crossbar-16"),
                    HasSubstr("FAMILY one of"), HasSubstr("routes")));
  EXPECT_THAT(error_of("fattree:m=4,n=2,bw=1GB/s"),
              HasSubstr("unknown topology; got \"fattree\"; expected "));
  EXPECT_THAT(error_of("crossbar:q=3"),
              HasSubstr("crossbar has no such key; got \"q\"; expected one of n, routing, bw, lat"));
  EXPECT_THAT(error_of("crossbar:n=3", {"mpi.eager=3B"}),
              HasSubstr("expected a key of the topology, or one of name"));
  EXPECT_THAT(error_of("crossbar:n=3,routing=best"),
              HasSubstr("unknown routing; got \"best\"; expected one of direct"));
}

// "x" may be no value of it, but it is one of the keys.
TEST(Platform, FieldsThatAnErrorOffersAreTaken) {
  const std::string offer = error_of("crossbar:n=3", {"mpi.eager=3B"});
  const std::string start = "or one of ";
  ASSERT_THAT(offer, HasSubstr(start));
  const auto from = offer.find(start) + start.size();
  std::size_t fields = 0;
  for (const std::string_view part :
       split(std::string_view(offer).substr(from, offer.find(';', from) - from), ',')) {
    const std::string field(part.substr(part.find_first_not_of(' ')));
    const auto p = load_platform("crossbar:n=3,node=pcie", {.set = {field + "=x"}});
    const std::string refusal = p ? std::string() : p.error().message();
    EXPECT_THAT(refusal, Not(AnyOf(HasSubstr("no such"), HasSubstr("not of its nodes"))));
    ++fields;
  }
  EXPECT_GE(fields, 30u);
}

TEST(Platform, ItsSummaryAndTheFamilyOfItsNodesCanBeSet) {
  EXPECT_EQ(load("crossbar-16", {"summary=two words"}).summary, "two words");
  const Platform fresh = load("crossbar:n=4", {"node.family=cs-storm"}),
                 key = load("crossbar:n=4,node=cs-storm");
  EXPECT_EQ(fresh.fabric.rank_hosts(), 32u);
  EXPECT_EQ(fresh.fabric.links().capacity, key.fabric.links().capacity);
  EXPECT_EQ(fresh.speed(HostId(0)).value(), 935e9);
  // Another tree under the keys that are said: 2 x 2 x 1 GPUs a node.
  const TempFile field("f.textproto",
                       "topology { family: \"crossbar\" set: \"n=4\" }\n"
                       "node { family: \"dgx-1-like\" set: \"gpus=1\" set: \"tau=1/5\" }\n");
  for (const std::string& spec : {std::string("crossbar:n=4,node=\"pcie:gpus=1,tau=1/5\""), field.path()}) {
    const Platform p = load(spec, {"node.family=cs-storm"});
    EXPECT_EQ(p.fabric.rank_hosts(), 16u) << spec;
    EXPECT_EQ(p.fabric.pcie()->tau[0], 0.2) << spec;
    EXPECT_EQ(p.fabric.links().latency[0], Duration(0)) << spec << ": the built-in's";
    EXPECT_EQ(load(spec, {"node.family=cs-storm", "node.gpus=2"}).fabric.rank_hosts(), 32u) << spec;
  }
  EXPECT_EQ(load("crossbar:n=4,node=dgx-1-like", {"node.family=cs-storm"}).fabric.rank_hosts(), 32u);
  EXPECT_THAT(error_of("crossbar:n=4", {"node.family=crossbar-16"}),
              StartsWith("--set node.family=crossbar-16: error: what is under a host is a PCIe tree"));
  EXPECT_THAT(error_of("crossbar:n=4", {"node.family=foo"}),
              StartsWith("--set node.family=foo: error: unknown platform"));
}

TEST(Platform, BadShorthandIsRefusedWithItsColumn) {
  EXPECT_THAT(error_of("crossbar"), HasSubstr("key n is missing"));
  EXPECT_THAT(error_of("crossbar:n"), HasSubstr(":1:10: error: setting without a key; got \"n\""));
  EXPECT_THAT(error_of("crossbar:n=3,"), HasSubstr("comma at the end"));
  EXPECT_THAT(error_of("crossbar:n=3,n=4"), HasSubstr(":1:14: error: key given twice; got \"n\""));
  EXPECT_THAT(error_of("crossbar:n=0"), HasSubstr("got \"0\"; expected a whole number from 1 to"));
  EXPECT_THAT(error_of("crossbar:n=-4"), HasSubstr("got \"-4\""));
  EXPECT_THAT(error_of("crossbar:n=99999999999999999999"), HasSubstr("out of range"));
  EXPECT_THAT(error_of("crossbar:n=4,bw=100"), HasSubstr("a number with a unit"));
  EXPECT_THAT(error_of("crossbar:n=4,bw=1Gbpsx2Gbps"), HasSubstr("expected 1 value"));
  EXPECT_THAT(error_of("crossbar:n=4,lat=\"1us"), HasSubstr("quote is not closed"));
  EXPECT_THAT(error_of("crossbar:n=4,speed=-1Gflops"), HasSubstr("not positive"));
  EXPECT_THAT(error_of("crossbar:n=4,ranks_per_host=0"), HasSubstr("from 1 to"));
  EXPECT_THAT(error_of("torus:dims=2x2,seed=banana"), HasSubstr("seed")) << "though nothing is drawn";
}

TEST(Platform, TheExampleOfEveryFamilyOfTheListIsASmallSoundPlatform) {
  const Examples examples;
  for (const Family& f : families()) {
    ASSERT_NE(f.build, nullptr) << f.name;
    const std::string spec = examples.of(f);
    SCOPED_TRACE(spec);
    const Platform p = load(spec);
    EXPECT_EQ(p.family, f.name);
    EXPECT_GE(p.fabric.host_count(), 2u);
    EXPECT_LE(p.fabric.host_count(), 1000u);
    EXPECT_THAT(verify(p.fabric).findings, IsEmpty());
  }
}

TEST(Platform, RoutingsOfTheListAreThoseThatTheFamilyTakes) {
  const Examples examples;
  for (const Family& f : families()) {
    const auto row = std::ranges::find(f.params, "routing", &ParamInfo::name);
    if (f.name == "routes" || f.name == "simgrid") {
      EXPECT_EQ(row, f.params.end()) << "the file fixes it";
      continue;
    }
    ASSERT_NE(row, f.params.end()) << f.name;
    EXPECT_TRUE(row->help.starts_with(row->fallback)) << f.name << ": the first one is the default";
    EXPECT_THAT(error_of(examples.of(f) + ",routing=xx"),
                EndsWith("unknown routing; got \"xx\"; expected one of " + std::string(row->help)));
  }
}

TEST(Platform, EveryBuiltInLoadsUnderItsFileName) {
  ASSERT_FALSE(catalogue().empty());
  for (const CatalogueEntry& e : catalogue()) {
    const Platform p = load(std::string(e.name));
    EXPECT_EQ(p.name, e.name);
    EXPECT_FALSE(p.summary.empty()) << e.name;
    EXPECT_THAT(std::string(e.text), HasSubstr("source:")) << e.name;
  }
}

TEST(Platform, QuotesAroundAValueAreNotPartOfIt) {
  EXPECT_EQ(load("crossbar:n=4", {"fail=\"switch=switch\""}).fabric.cable_count(), 0u);
  EXPECT_EQ(load("crossbar:n=4,fail=\"switch=switch\"").fabric.cable_count(), 0u);
  EXPECT_EQ(load("crossbar:n=4", {"name=\"x\""}).name, "x");
}

}  // namespace
}  // namespace weft::topology
