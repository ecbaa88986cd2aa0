// Ranking, slowdown, and the reason: each cause is made to grow alone, and the sentence must name that one.
#include "report/compare.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "report/explain.hpp"
#include "tests/report/hand_made.hpp"

namespace weft::report {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

HandMade slower_by(double us) {
  HandMade h;
  h.result.makespan += HandMade::us(us);
  return h;
}

TEST(Explain, NamesContentionWithTheWorstLinkWhenThatGrew) {
  const HandMade best;
  HandMade h = slower_by(500);
  h.result.network.contention += HandMade::us(1200);
  h.result.network.latency += HandMade::us(4);
  EXPECT_EQ(explain_slower(h.facts(), best.facts()),
            "500 us slower: contention takes 300 us more per rank (worst link " +
                h.platform.fabric.link_name(LinkId(5)) + ": 40 % used, up to 3 messages at once)");
}

TEST(Explain, NamesLatencyWithHopsWhenThatGrew) {
  const HandMade best;
  HandMade h = slower_by(500);
  h.result.network.latency += HandMade::us(400);
  h.result.network.late_sender += HandMade::us(1000);
  h.result.point_to_point.hops = 24;
  EXPECT_EQ(explain_slower(h.facts(), best.facts()),
            "500 us slower: latency takes 100 us more per rank (42 us instead of 2 us a message, 6.00 "
            "instead of 3.00 "
            "hops); it adds up along the ranks: they wait 250 us longer for late senders");
}

TEST(Explain, NamesTheNarrowLinkWhenMovingDataGrew) {
  const HandMade best;
  HandMade h("crossbar:n=4,bw=4Gbps,lat=1us,speed=10Gflops");
  h.result.makespan += HandMade::us(100);
  h.result.network.transfer += HandMade::us(1000);
  EXPECT_EQ(explain_slower(h.facts(), best.facts()),
            "100 us slower: moving the data takes 250 us more per rank (narrowest link used: 500 MB/s "
            "instead of 1 GB/s)");
}

TEST(Explain, NamesComputationAndTheHostsSpeed) {
  const HandMade best;
  HandMade h("crossbar:n=4,bw=8Gbps,lat=1us,speed=5Gflops");
  h.result.makespan += HandMade::us(1000);
  for (auto& r : h.result.ranks) r.compute += HandMade::us(1000);
  EXPECT_EQ(explain_slower(h.facts(), best.facts()),
            "1 ms slower: computation takes 1 ms more per rank (hosts of 5 Gflop/s instead of 10 Gflop/s)");
}

TEST(Explain, NamesOverheadsOutsideOfRawMode) {
  HandMade best;
  best.options.raw = replay::RawMode::kOff;
  HandMade h = slower_by(10);
  h.options.raw = replay::RawMode::kOff;
  h.platform.mpi.send_overhead = HandMade::us(2);
  EXPECT_EQ(explain_slower(h.facts(), best.facts()),
            "10 us slower: message overheads take 5 us more per rank");
}

TEST(Explain, NamesLateSendersOnlyWhereNoCostGrew) {
  const HandMade best;
  HandMade h = slower_by(10);
  h.result.network.late_sender += HandMade::us(40);
  EXPECT_EQ(explain_slower(h.facts(), best.facts()),
            "10 us slower: no message costs more, but ranks wait 10 us longer for late senders");
}

TEST(Explain, NamesASecondCauseOfAtLeastHalfTheFirst) {
  const HandMade best;
  HandMade h = slower_by(500);
  h.result.network.contention += HandMade::us(400);
  h.result.network.latency += HandMade::us(200);
  EXPECT_THAT(explain_slower(h.facts(), best.facts()),
              AllOf(HasSubstr("contention takes 100 us"), HasSubstr("; latency takes 50 us")));
  h.result.network.latency -= HandMade::us(1);
  EXPECT_THAT(explain_slower(h.facts(), best.facts()), Not(HasSubstr("latency")));
}

TEST(Explain, DoesNotInventAReasonForEqualTimes) {
  const HandMade best;
  EXPECT_EQ(explain_slower(HandMade().facts(), best.facts()), "as fast as the best");
}

TEST(Explain, OfTheFastestTellsWhereItsTimeGoes) {
  EXPECT_EQ(explain_alone(HandMade().facts()),
            "54.1 % of the ranks' time is computation, 45.9 % is spent in MPI; messages: moving data 250 us "
            "per rank, "
            "contention 100 us");
}

TEST(Compare, RanksWithinEachTraceAndPutsDeadlocksLast) {
  const HandMade fast;
  const HandMade slow = slower_by(2000);
  HandMade dead;
  dead.result.makespan = HandMade::us(1);
  dead.result.finished = false;
  dead.result.deadlock.blocked = {{RankId(0), 3, "recv from 1", "t:1", {RankId(1)}}};
  const std::vector<RunFacts> runs{dead.facts("b"), slow.facts("b"), slow.facts("a"), fast.facts("b")};
  const auto rows = rank_runs(runs);
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[0].trace, "b");
  EXPECT_EQ(rows[0].slowdown, 1.0);
  EXPECT_EQ(rows[1].slowdown, 2.0);
  EXPECT_FALSE(rows[2].slowdown);
  EXPECT_THAT(rows[2].error, HasSubstr("deadlock"));
  EXPECT_EQ(rows[3].trace, "a");
  EXPECT_EQ(rows[3].slowdown, 1.0) << "the smallest makespan of the same trace";
  const std::string text = compare_text(rows);
  EXPECT_THAT(text, testing::StartsWith(
                        "b: fastest on crossbar:n=4,bw=8Gbps,lat=1us,speed=10Gflops, 2 ms; slowest on "
                        "crossbar:n=4,bw=8Gbps,lat=1us,speed=10Gflops, 4 ms (2.00 times as long)\n"));
}

TEST(Compare, JsonAndCsvHaveTheContractsColumns) {
  const HandMade fast;
  const auto rows = rank_runs({fast.facts()});
  const auto j = nlohmann::ordered_json::parse(compare_json(rows));
  EXPECT_EQ(j["schema"], "weft.compare/1");
  std::vector<std::string> keys;
  for (const auto& [k, v] : j["rows"][0].items()) keys.push_back(k);
  EXPECT_THAT(keys,
              testing::ElementsAre("trace", "platform", "map", "routing", "makespan_s", "slowdown", "hosts",
                                   "switches", "links", "mean_hops", "worst_link", "worst_link_utilization",
                                   "why", "cables", "links_per_host", "worst_link_pairs"));
  EXPECT_EQ(j["rows"][0]["cables"], 4);
  EXPECT_EQ(j["rows"][0]["links_per_host"], 1.0);
  EXPECT_TRUE(j["rows"][0]["worst_link_pairs"].is_null()) << "nobody asked who shares it";
  EXPECT_EQ(j["rows"][0]["mean_hops"], 3.0) << "over the trace's own messages";
  EXPECT_EQ(j["rows"][0]["worst_link_utilization"], 0.5);
  EXPECT_EQ(j["rows"][0]["hosts"], 4);
  EXPECT_EQ(j["rows"][0]["switches"], 1);
  EXPECT_THAT(compare_csv(rows),
              HasSubstr("\"crossbar:n=4,bw=8Gbps,lat=1us,speed=10Gflops\",block,direct,0.002,1,4,1,8,3,"));
}

TEST(Compare, SharersOfALinkAreThePairsWhoseRouteCrossesItMostBytesFirst) {
  // Two leaves of 2 hosts and one cable between them; ranks in order of host.
  const HandMade h("xgft:h=2,m=2x2,w=1x1");
  const std::vector<HostId> placement{HostId(0), HostId(1), HostId(2), HostId(3)};
  PairTraffic traffic;
  traffic.add(RankId(0), RankId(1), Bytes(1000));  // stays in its leaf
  traffic.add(RankId(0), RankId(2), Bytes(10));
  traffic.add(RankId(1), RankId(3), Bytes(25));
  traffic.add(RankId(0), RankId(2), Bytes(15));
  traffic.add(RankId(1), RankId(2), Bytes(50));
  traffic.add(RankId(3), RankId(1), Bytes(70));  // the other way
  traffic.add(RankId(0), RankId(3), Bytes(0));
  std::vector<LinkId> route;
  ASSERT_TRUE(h.platform.fabric.routing().route(HostId(0), HostId(2), route));
  auto run = h.facts();
  run.worst_link_sharers = traffic.sharers_of(route[1], h.platform.fabric, placement);
  const auto j = compare_row_json(compare_row(run, &run))["worst_link_pairs"];
  EXPECT_EQ(j["pairs"], 3);
  EXPECT_EQ(j["bytes"], 100);
  EXPECT_EQ(j["most"].dump(),
            "[{\"src\":1,\"dst\":2,\"bytes\":50,\"share\":0.5},"
            "{\"src\":0,\"dst\":2,\"bytes\":25,\"share\":0.25},"
            "{\"src\":1,\"dst\":3,\"bytes\":25,\"share\":0.25}]");
}

TEST(Compare, ARunWithoutMessagesHasNoWorstLink) {
  HandMade h;
  h.result.links.assign(h.result.links.size(), {});
  h.result.network = {};
  h.result.point_to_point = {};
  const auto j = nlohmann::ordered_json::parse(compare_json(rank_runs({h.facts()})));
  EXPECT_TRUE(j["rows"][0]["worst_link"].is_null());
  EXPECT_EQ(j["rows"][0]["mean_hops"], 0.0);
}

}  // namespace
}  // namespace weft::report
