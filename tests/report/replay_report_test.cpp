// The keys and values of weft.replay/1, the CSV, and the text, from a result written by hand.
#include <gmock/gmock.h>

#include <sstream>

#include "report/replay_json.hpp"
#include "report/replay_text.hpp"
#include "tests/report/hand_made.hpp"

namespace weft::report {
namespace {

using nlohmann::ordered_json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;

std::vector<std::string> keys(const ordered_json& j) {
  std::vector<std::string> out;
  for (const auto& [k, v] : j.items()) out.push_back(k);
  return out;
}

TEST(ReplayJson, HasEveryKeyOfTheContract) {
  const HandMade h;
  const auto j = ordered_json::parse(replay_json(h.facts(), {}));
  EXPECT_THAT(keys(j),
              IsSupersetOf({"schema", "trace", "platform", "model", "makespan_s", "fingerprint",
                            "network_messages", "network_bytes", "ranks", "regions", "links", "engine"}));
  EXPECT_EQ(j["schema"], "weft.replay/1");
  EXPECT_THAT(keys(j["trace"]), IsSupersetOf({"ranks", "ops", "messages", "bytes"}));
  EXPECT_THAT(keys(j["platform"]), IsSupersetOf({"name", "hosts", "links"}));
  EXPECT_THAT(keys(j["ranks"][0]), ElementsAre("rank", "finish_s", "compute_s", "send_s", "recv_s", "wait_s",
                                               "collective_s", "causes"));
  EXPECT_THAT(keys(j["regions"][0]), ElementsAre("name", "count", "total_s"));
  EXPECT_THAT(keys(j["links"][0]), ElementsAre("name", "class", "bandwidth_Bps", "bytes", "busy_s",
                                               "utilization", "peak_flows", "waited_s"));
  EXPECT_THAT(keys(j["engine"]), IsSupersetOf({"events", "solves", "flows", "wall_s", "peak_rss_bytes"}));
  EXPECT_FALSE(j.contains("error"));
}

TEST(ReplayJson, SaysWhatTheResultSays) {
  const HandMade h;
  const auto j = ordered_json::parse(replay_json(h.facts(), {}));
  EXPECT_EQ(j["trace"]["ops"], 40);
  EXPECT_EQ(j["trace"]["messages"], 4);
  EXPECT_EQ(j["platform"]["hosts"], 4);
  EXPECT_EQ(j["platform"]["links"], 8);
  EXPECT_EQ(j["makespan_s"], 0.002);
  EXPECT_EQ(j["fingerprint"], "00000000000000ab");
  EXPECT_EQ(j["network_messages"], 10);
  EXPECT_EQ(j["network_bytes"], 1000000);
  ASSERT_EQ(j["ranks"].size(), 4u);
  EXPECT_EQ(j["ranks"][3]["finish_s"], 0.0017);
  // 1,000,000 B over 1 GB/s x 2 ms; equal ones in the order of their numbers.
  ASSERT_EQ(j["links"].size(), 3u);
  EXPECT_EQ(j["links"][0]["name"], h.platform.fabric.link_name(LinkId(5)));
  EXPECT_EQ(j["links"][0]["class"], "host");
  EXPECT_EQ(j["links"][0]["bandwidth_Bps"], 1e9);
  EXPECT_EQ(j["links"][0]["utilization"], 0.5);
  EXPECT_EQ(j["links"][0]["busy_s"], 0.0011);
  EXPECT_EQ(j["links"][0]["peak_flows"], 3);
  EXPECT_EQ(j["links"][1]["name"], h.platform.fabric.link_name(LinkId(0)));
  EXPECT_EQ(j["links"][2]["name"], h.platform.fabric.link_name(LinkId(2)));
  EXPECT_EQ(j["regions"][0]["total_s"], 0.003);
  EXPECT_EQ(j["engine"]["wall_s"], 0.25);
}

TEST(ReplayJson, FivePartsOfEachRankAddUpToItsFinishAndSoDoComputationAndTheCauses) {
  const HandMade h;
  const auto j = ordered_json::parse(replay_json(h.facts(), {}));
  ASSERT_FALSE(j["ranks"].empty());
  for (const auto& r : j["ranks"]) {
    double sum = 0;
    for (const auto* part : {"compute_s", "send_s", "recv_s", "wait_s", "collective_s"})
      sum += r[part].get<double>();
    EXPECT_NEAR(sum, r["finish_s"].get<double>(), 1e-15);
    double causes = r["compute_s"].get<double>();
    for (const auto& [name, s] : r["causes"].items()) causes += s.get<double>();
    EXPECT_NEAR(causes, r["finish_s"].get<double>(), 1e-15);
  }
}

TEST(ReplayJson, NumbersReadBackExactly) {
  HandMade h;
  h.result.makespan = Duration(123456789012345677);
  h.result.ranks[0].finish = Duration(1);
  const auto j = ordered_json::parse(replay_json(h.facts(), {}));
  EXPECT_EQ(j["makespan_s"].get<double>(), to_seconds(h.result.makespan));
  EXPECT_EQ(j["ranks"][0]["finish_s"].get<double>(), 1e-12);
}

TEST(ReplayJson, DiffersOnlyUnderEngineWhenOnlyTheMachineDiffers) {
  const HandMade h;
  auto again = h.facts();
  again.wall_s = 17;
  again.peak_rss_bytes = 1;
  auto a = ordered_json::parse(replay_json(h.facts(), {}));
  auto b = ordered_json::parse(replay_json(again, {}));
  EXPECT_NE(a, b);
  a.erase("engine");
  b.erase("engine");
  EXPECT_EQ(a.dump(), b.dump());
}

TEST(ReplayJson, ListsRanksUpTo4096AndBeyondOnlyWhenAsked) {
  HandMade h;
  h.result.ranks.resize(4096);
  EXPECT_TRUE(ordered_json::parse(replay_json(h.facts(), {})).contains("ranks"));
  h.result.ranks.resize(4097);
  EXPECT_FALSE(ordered_json::parse(replay_json(h.facts(), {})).contains("ranks"));
  EXPECT_EQ(ordered_json::parse(replay_json(h.facts(), {.per_rank = true}))["ranks"].size(), 4097u);
}

TEST(ReplayJson, ShowsTwentyLinksOrAllOfThem) {
  HandMade h("crossbar:n=16,bw=8Gbps,lat=1us");
  for (std::size_t l = 0; l < h.result.links.size(); ++l) h.result.links[l].bytes = 1000 + l;
  const auto top = ordered_json::parse(replay_json(h.facts(), {}));
  ASSERT_EQ(top["links"].size(), 20u);
  EXPECT_EQ(top["links"][0]["bytes"], 1031);
  EXPECT_EQ(top["links"][19]["bytes"], 1012);
  const auto all = ordered_json::parse(replay_json(h.facts(), {.all_links = true}));
  ASSERT_EQ(all["links"].size(), 32u);
  EXPECT_EQ(all["links"][0]["bytes"], 1000);
}

TEST(ReplayJson, TellsADeadlockWithItsCycle) {
  HandMade h;
  h.result.finished = false;
  h.result.deadlock.blocked = {{RankId(1), 7, "recv from 2 tag 0 on world", "t.txt:9", {RankId(2)}},
                               {RankId(2), 8, "recv from 1 tag 0 on world", "t.txt:12", {RankId(1)}}};
  h.result.deadlock.cycle = {0, 1};
  const auto j = ordered_json::parse(replay_json(h.facts(), {}));
  EXPECT_EQ(j["error"]["kind"], "deadlock");
  EXPECT_EQ(j["error"]["cycle"].dump(), "[1,2]");
  EXPECT_EQ(j["error"]["blocked"][1]["position"], "t.txt:12");
  const std::string text = replay_text(h.facts(), {});
  EXPECT_THAT(text,
              ::testing::StartsWith(
                  "t.weft: 4 ranks on crossbar:n=4,bw=8Gbps,lat=1us,speed=10Gflops deadlock after 2 ms\n"));
  EXPECT_THAT(text,
              HasSubstr("rank 1 in recv from 2 tag 0 on world (operation 7, t.txt:9) waits for rank 2\n"));
}

TEST(ReplayJson, SurvivesNamesThatAreNoUtf8) {
  HandMade h;
  h.result.regions[0].name = "\xff\xfe";
  EXPECT_EQ(ordered_json::parse(replay_json(h.facts(), {}))["regions"].size(), 1u);
}

TEST(ReplayJson, NamesTheMpiParametersInForceAndWhichAreAssumed) {
  HandMade h;
  EXPECT_FALSE(ordered_json::parse(replay_json(h.facts(), {}))["model"].contains("mpi")) << "raw has none";
  h.options.raw = replay::RawMode::kOff;
  h.platform.mpi.assumed = {"eager_limit"};
  const auto j = ordered_json::parse(replay_json(h.facts(), {}));
  EXPECT_EQ(j["model"]["mpi"]["eager_limit_bytes"], 65536);
  EXPECT_EQ(j["model"]["mpi"]["assumed"].dump(), "[\"eager_limit\"]");
  EXPECT_THAT(replay_text(h.facts(), {}),
              HasSubstr("assumed, because neither platform nor command line says: eager_limit\n"));
}

TEST(ReplayCsv, HasALinePerRank) {
  const HandMade h;
  std::istringstream in(replay_csv(h.result));
  std::string line;
  std::getline(in, line);
  EXPECT_EQ(
      line,
      "rank,finish_s,compute_s,send_s,recv_s,wait_s,collective_s,send_overhead_s,recv_overhead_s,polls_s,"
      "handshake_s,latency_s,transfer_s,contention_s,late_sender_s,late_receiver_s,in_order_s,never_s");
  std::getline(in, line);
  EXPECT_EQ(
      line,
      "0,0.002,0.001,0.0001,0.0003,0.0004,0.0002,2e-05,2.5e-05,0,0,5e-06,0.00025,0.0001,0.00059,1e-05,0,0");
}

TEST(ReplayText, GivesTheAnswerInItsFirstLine) {
  const HandMade h;
  const std::string text = replay_text(h.facts("runs/a/b/hpl.weft"), {});
  const std::string answer =
      "b/hpl.weft: 4 ranks take 2 ms on crossbar:n=4,bw=8Gbps,lat=1us,speed=10Gflops; 54 % compute, 22 % "
      "wait, "
      "11 % collective, 8 % receive, 5 % send";
  EXPECT_THAT(replay_text(h.facts("runs/a/b/hpl.weft"), {.width = 200}),
              ::testing::StartsWith(answer + '\n'));
  EXPECT_THAT(text, ::testing::StartsWith(wrap(answer, kUsualWidth) + '\n'));
}

TEST(ReplayText, TablesCarryTheCostsAndAreAligned) {
  const HandMade h;
  const std::string text = replay_text(h.facts(), {});
  EXPECT_THAT(text, HasSubstr("receive        0 s   150 us  300 us    8 %\n"));
  EXPECT_THAT(
      text,
      HasSubstr(
          "contention: waiting for a share              100 us   12 %           400 us        40 us\n"));
  EXPECT_THAT(
      text,
      HasSubstr(
          "late sender: its send not called yet         440 us   52 %                -            -\n"));
  EXPECT_THAT(
      text, HasSubstr("10 messages of 1 MB (4 of 400 kB written as point-to-point), 2.00 hops a message\n"));
  EXPECT_THAT(text, HasSubstr(h.platform.fabric.link_name(LinkId(5))));
  EXPECT_THAT(text, HasSubstr("protocol: raw eager; no overheads\n"));
}

// Both rankings, in the text and in the JSON.
TEST(ReplayText, RanksLinksByUseOrByWaiting) {
  const HandMade h;
  const auto& fabric = h.platform.fabric;
  const std::string used = replay_text(h.facts(), {}),
                    waited = replay_text(h.facts(), {.link_order = predict::LinkOrder::kWaited});
  const auto before = [&](const std::string& text, std::uint32_t a, std::uint32_t b) {
    return text.find(fabric.link_name(LinkId(a))) < text.find(fabric.link_name(LinkId(b)));
  };
  EXPECT_TRUE(before(used, 5, 0));
  EXPECT_TRUE(before(waited, 0, 5));
  EXPECT_THAT(waited, HasSubstr("links waited for"));
  const auto j = ordered_json::parse(replay_json(h.facts(), {.link_order = predict::LinkOrder::kWaited}));
  EXPECT_EQ(j["links"][0]["name"], fabric.link_name(LinkId(0)));
  EXPECT_EQ(j["links"][0]["waited_s"], 300e-6);
}

TEST(ReplayText, TellsFlagsThatAreNotAtTheirDefaultsAndTheLabel) {
  HandMade h;
  h.platform.label = "box";
  predict::RunFacts run = h.facts();
  run.changes = {"--fail switch=s0", "--seed 3"};
  const std::string text = replay_text(run, {});
  EXPECT_THAT(text, ::testing::StartsWith("t.weft: 4 ranks take 2 ms on box; "));
  EXPECT_THAT(text, HasSubstr("\nbox: crossbar:n=4,bw=8Gbps,lat=1us,speed=10Gflops\n"));
  EXPECT_THAT(text, HasSubstr("\nwith --fail switch=s0 --seed 3\n"));
  const auto j = ordered_json::parse(replay_json(run, {}));
  EXPECT_EQ(j["platform"]["label"], "box");
  EXPECT_EQ(j["changes"].dump(), "[\"--fail switch=s0\",\"--seed 3\"]");
}

TEST(ReplayText, FitsTheWidth) {
  HandMade h;
  h.options.raw = replay::RawMode::kOff;
  h.platform.mpi.assumed = {"eager_limit", "send_overhead", "recv_overhead", "send_copy_bandwidth",
                            "local_latency"};
  for (const std::size_t width : {60u, 80u, 100u, 160u}) {
    std::istringstream in(replay_text(h.facts(), {.width = width}));
    for (std::string line; std::getline(in, line);) EXPECT_LE(line.size(), width) << line;
  }
}

TEST(ReplayText, TheNameOfATraceIsItsLastFolderAndFile) {
  HandMade h;
  EXPECT_THAT(replay_text(h.facts("/study/n=4000,nb=128/run/T.weft"), {}),
              ::testing::StartsWith("run/T.weft: 4 ranks take "));
  EXPECT_THAT(replay_text(h.facts("/study/n=4000,nb=128/T.weft"), {}),
              ::testing::StartsWith("n=4000,nb=128/T.weft: 4 ranks take "));
  EXPECT_THAT(replay_text(h.facts("./x.weft"), {}), ::testing::StartsWith("./x.weft: "));
  auto jobs = h.facts("t/a.weft + t/b.weft + t/c.weft");
  jobs.joined = true;
  EXPECT_THAT(replay_text(jobs, {}), ::testing::StartsWith("t/a.weft + t/b.weft + t/c.weft: 4 ranks take "));
}

TEST(ReplayText, ShortensPathsButNoBandwidths) {
  EXPECT_EQ(predict::short_name("routes:path=/a/b/torus.txt,bw=12.5GB/s,lat=0"),
            "routes:path=b/torus.txt,bw=12.5GB/s,lat=0");
  EXPECT_EQ(predict::short_name("x.weft"), "x.weft");
  EXPECT_EQ(predict::short_name("/x.weft"), "/x.weft");
  EXPECT_EQ(predict::short_name("a/x.weft"), "a/x.weft");
}

// What accelerators do beside their ranks is told wherever ranks are: in the JSON, the table, the CSV.
TEST(ReplayReport, AcceleratorsAreToldBesideTheTimesOfTheirRanks) {
  HandMade h;
  EXPECT_EQ(replay_text(h.facts(), {}).find("accelerator"), std::string::npos);
  EXPECT_EQ(replay_csv(h.result).find("device_s"), std::string::npos);
  h.result.ranks[1].device = HandMade::us(900);
  h.result.ranks[2].device = HandMade::us(500);
  EXPECT_THAT(replay_text(h.facts(), {}),
              ::testing::ContainsRegex("\naccelerator +0 s +350 us +900 us +19 %\n"));
  const std::string csv = replay_csv(h.result);
  EXPECT_THAT(csv.substr(0, csv.find('\n')), ::testing::EndsWith(",never_s,device_s"));
  std::istringstream in(csv);
  std::vector<std::string> last;
  for (std::string line; std::getline(in, line);) last.push_back(line.substr(line.rfind(',') + 1));
  EXPECT_EQ(last, (std::vector<std::string>{"device_s", "0", "0.0009", "0.0005", "0"}));
  const auto j = ordered_json::parse(replay_json(h.facts(), {}));
  EXPECT_EQ(j["ranks"][1]["device_s"], 0.0009);
}

}  // namespace
}  // namespace weft::report
