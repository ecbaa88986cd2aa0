// PCIe platforms through the built binary: phases with their factors, replays on GPUs, named endpoints.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/run_weft.hpp"

namespace weft::testing::pcie_test {
namespace {

using nlohmann::ordered_json;
using ::testing::HasSubstr;

const std::string kWorked = "src,dst,bytes,start\n0,2,300MiB,0\n1,4,300MiB,0\n3,2,300MiB,0\n6,4,300MiB,0\n";

ordered_json json_of(const Workspace& w, const std::string& arguments) {
  const Outcome o = w.weft(arguments + " --json - --quiet");
  EXPECT_EQ(o.exit_code, 0) << arguments << "\n" << o.err;
  return o.out.empty() ? ordered_json{} : ordered_json::parse(o.out);
}

TEST(CliPcie, FlowsGiveTheFactorsAndTimesOfTheWorkedExample) {
  const Workspace w;
  w.write("f.csv", kWorked);
  const auto j = json_of(w, "flows f.csv --on cs-storm --set tau=1/5 --model pcie");
  const double factors[4][2] = {{0.3, 0.5}, {0.3, 0.5}, {0.7, 0}, {0.7, 0}};
  for (int f = 0; f < 4; ++f) {
    const auto& phases = j["flows"][f]["phases"];
    ASSERT_EQ(phases.size(), f < 2 ? 2u : 1u);
    for (std::size_t p = 0; p < phases.size(); ++p)
      EXPECT_NEAR(phases[p]["factor"].get<double>(), factors[f][p], 1e-12);
  }
  EXPECT_NEAR(j["makespan_s"].get<double>(), 64.94e-3, 5e-6);
  EXPECT_NEAR(j["flows"][2]["finish_s"].get<double>(), 36.08e-3, 5e-6);
  EXPECT_EQ(j["flows"][0]["phases"][0]["bottleneck"], "switch1->card2") << "b holds a back";
  EXPECT_EQ(j["flows"][0]["phases"][1]["bottleneck"], "card0->switch0");
  const std::string text = w.weft("flows f.csv --on cs-storm --set tau=1/5 --model pcie").out;
  EXPECT_THAT(text, HasSubstr("1      0 s  36.1 ms     0  gpu0  gpu2  0.3000  3/10  switch1->card2"));
  EXPECT_THAT(text, HasSubstr("0.7000  7/10"));
  EXPECT_THAT(text, HasSubstr("2  36.1 ms  64.9 ms     0  gpu0  gpu2  0.5000  1/2"));
}

TEST(CliPcie, ThePaperTauAndOtherModelsAreOneFlagAway) {
  const Workspace w;
  w.write("f.csv", kWorked);
  // tau = 21/121: b gets 1/2 - 21/121 = 79/242, d the rest.
  const auto j = json_of(w, "flows f.csv --on cs-storm");
  EXPECT_NEAR(j["flows"][1]["phases"][0]["factor"].get<double>(), 79.0 / 242, 1e-12);
  EXPECT_NEAR(j["flows"][3]["phases"][0]["factor"].get<double>(), 163.0 / 242, 1e-12);
  const auto fair = json_of(w, "flows f.csv --on cs-storm --model max-min");
  EXPECT_NEAR(fair["flows"][1]["phases"][0]["factor"].get<double>(), 0.5, 1e-12);
  // A platform without PCIe: the model is max-min.
  const std::string tree = "flows f.csv --on crossbar:n=8";
  EXPECT_EQ(json_of(w, tree + " --model pcie")["flows"],
            json_of(w, tree + " --model max-min-component")["flows"]);
}

TEST(CliPcie, EveryVerbTakesTheModelThatThePlatformIsAndNamesIt) {
  const Workspace w;
  w.write("f.csv", kWorked);
  w.write("t.txt",
          "0 init\n1 init\n2 init\n3 init\n0 isend 2 0 100000000 6\n0 waitall\n3 isend 2 0 100000000 6\n"
          "3 waitall\n2 irecv 0 0 100000000 6\n2 irecv 3 0 100000000 6\n2 waitall\n"
          "0 finalize\n1 finalize\n2 finalize\n3 finalize\n");
  const std::string hpl = "predict hpl --n 2000 --nb 100 --p 2 --q 2 --on ";
  const std::string halo = "search halo --grid 2x2 --on ";
  for (const auto& [platform, model] :
       {std::pair<std::string, std::string>{"cs-storm --set speed=1Tflops", "pcie"},
        {"crossbar:n=8,speed=1Tflops", "max-min"}}) {
    SCOPED_TRACE(platform);
    EXPECT_EQ(json_of(w, "flows f.csv --on " + platform)["model"]["name"], model);
    EXPECT_EQ(json_of(w, "replay t.txt --raw --on " + platform)["model"]["name"], model);
    EXPECT_EQ(json_of(w, "compare t.txt --raw --on " + platform)["rows"][0]["model"], model);
    EXPECT_EQ(json_of(w, "sweep t.txt --raw --set lat=0,1us --on " + platform)["rows"][0]["model"], model);
    EXPECT_EQ(json_of(w, halo + platform)["model"], model);
    EXPECT_EQ(json_of(w, hpl + platform)["model"]["name"], model);
    for (const std::string verb :
         {"flows f.csv --on ", "replay t.txt --raw --on ", "compare t.txt --raw --on "})
      EXPECT_THAT(w.weft(verb + platform).out, HasSubstr(model + " sharing")) << verb;
    // The default is that model, and not only its name.
    for (const std::string verb : {"flows f.csv --on ", "replay t.txt --raw --on "})
      EXPECT_EQ(json_of(w, verb + platform)["makespan_s"],
                json_of(w, verb + platform + " --model " + model)["makespan_s"]);
  }
  const auto rows = json_of(w, "compare t.txt --raw --on cs-storm --on crossbar:n=8")["rows"];
  for (const auto& row : rows) EXPECT_EQ(row["model"], row["platform"] == "cs-storm" ? "pcie" : "max-min");
}

// A gather of all GPUs behind two switches to the first and the last: what their links need, whatever the width.
TEST(CliPcie, GathersBehindWideSwitchesEndWhenTheRootsLinksAreThrough) {
  for (int gpus = 4; gpus <= 16; gpus += 4) {
    const Workspace w;
    std::string flows = "src,dst,bytes,start\n";
    for (int a = 0; a < 2 * gpus; ++a)
      for (const int b : {0, 2 * gpus - 1})
        if (a != b) flows += fmt::format("gpu{},gpu{},1MB,0\n", a, b);
    w.write("f.csv", flows);
    const std::string on = fmt::format(" --on 'pcie:tree=rc(2*switch({}*gpu)),bw=10GB/s,lat=0'", gpus);
    EXPECT_NEAR(json_of(w, "flows f.csv" + on)["makespan_s"].get<double>(), (2 * gpus - 1) * 1e-4, 1e-9);
  }
}

TEST(CliPcie, ReplaysPlaceRanksOnNamedEndpoints) {
  const Workspace w;
  // Rank 0 is the host: it copies 100 MB to each of two GPUs; rank 2 is on the other node.
  w.write("t.txt",
          "0 init\n1 init\n2 init\n0 send 1 0 100000000 6\n0 send 2 0 100000000 6\n"
          "1 recv 0 0 100000000 6\n2 recv 0 0 100000000 6\n0 finalize\n1 finalize\n2 finalize\n");
  w.write("map", "node0.mem0\nnode0.gpu1\nnode1.gpu3\n");
  const std::string on =
      " --on crossbar:n=2,bw=5GB/s,lat=0,node=cs-storm --set node.mem=on --set node.bw=10GB/s ";
  const auto j = json_of(w, "replay t.txt --raw=rendezvous --model pcie --map file:map" + on);
  EXPECT_NEAR(j["makespan_s"].get<double>(), 0.01 + 0.02, 1e-12);
  const Outcome unknown = w.weft("replay t.txt --model pcie --map file:map --on crossbar:n=2,node=cs-storm");
  EXPECT_EQ(unknown.exit_code, 3);
  EXPECT_THAT(unknown.err, HasSubstr("map:1:1: error: unknown host; got \"node0.mem0\""));
  const Outcome route = w.weft("route node0.mem0 node1.gpu3" + on);
  EXPECT_THAT(route.out, HasSubstr("node0.rc0->node0.nic0"));
  EXPECT_THAT(route.out, HasSubstr("node1.card1->node1.gpu3"));
}

// PCIe trees promise something else than networks do, and the answer says what.
TEST(CliPcie, AnAccuracyOnPcieTreesIsOfTheRatesThemselves) {
  const Workspace here;
  const std::string line = "predict hpl --on cs-storm --n 2000 --nb 64 --p 2 --q 4 --accuracy 1e-3";
  const Outcome o = here.weft(line), json_too = here.weft(line + " --json -");
  EXPECT_THAT(o.out, HasSubstr("not exact: every rate is within 0.001 of the exact one at all times"));
  const auto j = ordered_json::parse(json_too.out);
  EXPECT_EQ(j["model"]["rates_to"], 1e-3);
  EXPECT_FALSE(j["model"].contains("max_min_to"));
}

TEST(CliPcie, PlatformVerbsKnowTheTrees) {
  const Workspace w;
  const auto list = json_of(w, "platform list");
  std::string names;
  for (const auto& p : list["platforms"]) names += p["name"].get<std::string>() + " ";
  for (const char* built_in : {"cs-storm ", "cs-storm-16 ", "hd-pex ", "dgx-1-like ", "gpu-server-4 "})
    EXPECT_THAT(names, HasSubstr(built_in));
  EXPECT_EQ(json_of(w, "platform show cs-storm")["hosts"], 8);
  EXPECT_EQ(json_of(w, "platform show cs-storm-16")["hosts"], 16);
  for (const char* p : {"cs-storm", "cs-storm-16", "hd-pex", "dgx-1-like", "gpu-server-4",
                        "dragonfly-72 --set node=cs-storm"})
    EXPECT_EQ(json_of(w, std::string("platform check ") + p)["ok"], true) << p;
}

}  // namespace
}  // namespace weft::testing::pcie_test
