// Ranking, slowdown, and the reason: each cause is made to grow alone, and the sentence must name that one.
#include "report/compare.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "report/explain.hpp"
#include "tests/report/hand_made.hpp"

namespace weft::report {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

using replay::Cause;
using ::testing::StartsWith;

HandMade slower_by(double us) {
  HandMade h;
  h.slow(us, Cause::kLateSender);
  return h;
}

TEST(Explain, NamesContentionWithTheLinkThatHeldMessagesBackLongest) {
  const HandMade best;
  HandMade h;
  h.slow(300, Cause::kContention);
  h.result.network.contention += HandMade::us(1200);
  h.result.links[0].waited += HandMade::us(1200);
  // Not the busiest one, which is link 5.
  EXPECT_EQ(
      explain_slower(h.facts(), best.facts()),
      "300 us slower: contention takes 300 us more per rank (messages lost 1.6 ms in all, 1.5 ms of it on " +
          h.platform.fabric.link_name(LinkId(0)) + ", crossed by up to 2 messages at once)");
  h.result.links[0].peak_flows = 1;
  EXPECT_THAT(explain_slower(h.facts(), best.facts()), HasSubstr("up to 1 message at once"));
}

TEST(Explain, NamesLatencyWithHopsAndWhatTheDelayDoesToOthers) {
  const HandMade best;
  HandMade h;
  h.slow(100, Cause::kLatency);
  h.slow(400, Cause::kLateSender);
  h.result.network.latency += HandMade::us(400);
  // Hops of all messages, as the latency is.
  h.result.network.hops *= 2;
  EXPECT_EQ(
      explain_slower(h.facts(), best.facts()),
      "500 us slower: latency takes 100 us more per rank (42 us instead of 2 us a message, 4.00 instead of "
      "2.00 hops); ranks wait 400 us longer for late senders");
  h.result.network.hops /= 2;
  EXPECT_THAT(explain_slower(h.facts(), best.facts()), HasSubstr("a message, 2.00 hops as well)"));
}

TEST(Explain, CountsHandshakesAsLatency) {
  const HandMade best;
  HandMade h;
  h.slow(100, Cause::kHandshake);
  EXPECT_THAT(explain_slower(h.facts(), best.facts()),
              StartsWith("100 us slower: latency takes 100 us more"));
}

TEST(Explain, NamesTheNarrowLinkWhenMovingDataGrew) {
  const HandMade best;
  HandMade h("crossbar:n=4,bw=4Gbps,lat=1us,speed=10Gflops");
  h.slow(250, Cause::kTransfer);
  EXPECT_EQ(explain_slower(h.facts(), best.facts()),
            "250 us slower: moving the data takes 250 us more per rank (narrowest link used: 500 MB/s "
            "instead of 1 GB/s)");
}

TEST(Explain, NamesComputationAndTheHostsSpeed) {
  const HandMade best;
  HandMade h("crossbar:n=4,bw=8Gbps,lat=1us,speed=5Gflops");
  h.slow(1000, std::nullopt);
  EXPECT_EQ(explain_slower(h.facts(), best.facts()),
            "1 ms slower: computation takes 1 ms more per rank (hosts of 5 Gflop/s instead of 10 Gflop/s)");
}

// Overheads are what the engine booked, whatever the platform's parameters are called.
TEST(Explain, TakesOverheadsFromTheReplayAndNotFromThePlatform) {
  const HandMade best;
  HandMade h;
  h.options.raw = replay::RawMode::kOff;
  h.platform.mpi.send_overhead = HandMade::us(2000);
  h.slow(10, Cause::kLatency);
  EXPECT_THAT(explain_slower(h.facts(), best.facts()), Not(HasSubstr("overhead")));
  h.slow(20, Cause::kSendOverhead);
  h.slow(30, Cause::kPolls);
  EXPECT_EQ(explain_slower(h.facts(), best.facts()),
            "60 us slower: message overheads take 50 us more per rank; all else takes 10 us more");
}

TEST(Explain, NamesLateSendersAndAnUnevenEndOnlyBehindWhatGrewItself) {
  const HandMade best;
  HandMade h;
  h.slow(10, Cause::kLateSender);
  EXPECT_EQ(explain_slower(h.facts(), best.facts()),
            "10 us slower: no message costs more, but ranks wait 10 us longer for late senders");
  h.result.makespan += HandMade::us(5);  // one rank ends later, nobody knows why
  EXPECT_EQ(explain_slower(h.facts(), best.facts()),
            "15 us slower: no message costs more, but ranks wait 10 us longer for late senders; ranks are "
            "done 5 us "
            "longer before the last one");
}

TEST(Explain, NamesASecondCauseOfAtLeastHalfTheFirst) {
  const HandMade best;
  HandMade h;
  h.slow(100, Cause::kContention);
  h.slow(50, Cause::kLatency);
  EXPECT_THAT(explain_slower(h.facts(), best.facts()),
              AllOf(HasSubstr("contention takes 100 us"), HasSubstr("; latency takes 50 us")));
  h.slow(-1, Cause::kLatency);
  EXPECT_THAT(explain_slower(h.facts(), best.facts()),
              AllOf(Not(HasSubstr("latency")), HasSubstr("; all else takes 49 us more")));
}

// Every figure of the sentence adds up to the difference, whatever grew and shrank.
TEST(Explain, ItsPartsAddUpToTheDifference) {
  const HandMade best;
  HandMade h;
  h.slow(1000, std::nullopt);
  h.slow(-40, Cause::kTransfer);
  h.slow(700, Cause::kContention);
  h.slow(300, Cause::kLateReceiver);
  h.slow(-460, Cause::kLateSender);
  EXPECT_THAT(
      explain_slower(h.facts(), best.facts()),
      AllOf(StartsWith("1.5 ms slower: computation takes 1 ms more"),
            HasSubstr("contention takes 700 us more"), HasSubstr("wait 300 us longer for late receivers"),
            HasSubstr("all else takes 500 us less")));
}

TEST(Explain, DoesNotInventAReasonForEqualTimes) {
  const HandMade best;
  EXPECT_EQ(explain_slower(HandMade().facts(), best.facts()), "as fast as the best");
}

TEST(Explain, OfTheFastestTellsWhereItsTimeGoes) {
  EXPECT_EQ(explain_alone(HandMade().facts()),
            "54.1 % of the ranks' time is computation, 45.9 % is spent in MPI: late senders 440 us per rank, "
            "moving "
            "data 250 us");
  HandMade h;
  h.slow(300, Cause::kContention);
  EXPECT_THAT(explain_alone(h.facts()),
              HasSubstr("contention 400 us (messages lost 400 us in all, 300 us of it on " +
                        h.platform.fabric.link_name(LinkId(0))));
}

TEST(Compare, RanksWithinEachTraceAndPutsDeadlocksLast) {
  const HandMade fast;
  const HandMade slow = slower_by(2000);
  HandMade dead;
  dead.result.makespan = HandMade::us(1);
  dead.result.finished = false;
  dead.result.deadlock.blocked = {{RankId(0), 3, "recv from 1", "t:1", {RankId(1)}}};
  const std::vector<predict::RunFacts> runs{dead.facts("b"), slow.facts("b"), slow.facts("a"),
                                            fast.facts("b")};
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
  EXPECT_THAT(text, ::testing::StartsWith("b: fastest on P1, 2 ms; slowest on P1, 4 ms (2.00 times as long); "
                                          "1 of 3 runs ends in a deadlock\n"));
  EXPECT_THAT(text, ::testing::EndsWith("\nP1 = crossbar:n=4,bw=8Gbps,lat=1us,speed=10Gflops\n"));
}

// Files of one name in folders of one name.
TEST(Compare, WhatIsCalledAlikeForShortIsNamedInFull) {
  HandMade a("crossbar:n=4"), b("crossbar:n=4,lat=2us");
  a.platform.name = "/a/x/net.graphml";
  b.platform.name = "/b/x/net.graphml";
  b.slow(2000, Cause::kLateSender);
  EXPECT_THAT(
      compare_answers(rank_runs({a.facts(), b.facts()})),
      ::testing::ElementsAre("t.weft: fastest on /a/x/net.graphml, 2 ms; slowest on /b/x/net.graphml, 4 ms "
                             "(2.00 times as long)"));
  EXPECT_THAT(
      compare_answers(rank_runs({a.facts("/a/x/T.weft"), a.facts("/b/x/T.weft"), a.facts("/b/y/T.weft")})),
      ::testing::ElementsAre("/a/x/T.weft: fastest on x/net.graphml, 2 ms",
                             "/b/x/T.weft: fastest on x/net.graphml, 2 ms",
                             "y/T.weft: fastest on x/net.graphml, 2 ms"));
  a.platform.name = "/a/folder-with-a-long-name/x/net.graphml";
  EXPECT_THAT(compare_text(rank_runs({a.facts(), b.facts()}), 200),
              AllOf(HasSubstr("fastest on P1, 2 ms; slowest on /b/x/net.graphml, 4 ms"),
                    ::testing::EndsWith("\nP1 = /a/folder-with-a-long-name/x/net.graphml\n")));
  // A label is a name as well.
  a.platform.name = "/a/x/net.graphml";
  b.platform.label = "x/net.graphml";
  EXPECT_THAT(compare_answers(rank_runs({a.facts(), b.facts()})).front(),
              HasSubstr("fastest on /a/x/net.graphml, 2 ms; slowest on x/net.graphml, 4 ms"));
}

// On a page no legend follows the sentence.
TEST(Compare, AnAnswerHasWholeNamesAndTheTableNumbersThemAsTheyWereAskedFor) {
  HandMade slow("crossbar:n=4,bw=8Gbps,lat=1us,speed=10Gflops"),
      fast("crossbar:n=4,bw=16Gbps,lat=1us,speed=10Gflops");
  slow.slow(2000, Cause::kLateSender);
  const auto rows = rank_runs({slow.facts(), fast.facts()});
  EXPECT_THAT(
      compare_answers(rows),
      ::testing::ElementsAre("t.weft: fastest on crossbar:n=4,bw=16Gbps,lat=1us,speed=10Gflops, 2 ms; "
                             "slowest on crossbar:n=4,bw=8Gbps,lat=1us,speed=10Gflops, 4 ms (2.00 times as "
                             "long)"));
  EXPECT_THAT(compare_text(rows),
              AllOf(StartsWith("t.weft: fastest on P2, 2 ms; slowest on P1, 4 ms"),
                    ::testing::EndsWith("\nP1 = crossbar:n=4,bw=8Gbps,lat=1us,speed=10Gflops\n"
                                        "P2 = crossbar:n=4,bw=16Gbps,lat=1us,speed=10Gflops\n")));
}

TEST(Compare, ANumberedNameIsNobodysLabel) {
  HandMade a("crossbar:n=4"), b("crossbar:n=4,bw=16Gbps,lat=1us,speed=10Gflops");
  a.platform.label = "P2";
  b.slow(2000, Cause::kLateSender);
  EXPECT_THAT(compare_text(rank_runs({a.facts(), b.facts()})),
              AllOf(StartsWith("t.weft: fastest on P2, 2 ms; slowest on P4, 4 ms"),
                    ::testing::EndsWith(
                        "\nP2 = crossbar:n=4\nP4 = crossbar:n=4,bw=16Gbps,lat=1us,speed=10Gflops\n")));
}

// Each against all others for each that comes is 10^12 comparisons: hours.
TEST(Compare, NamesOfManyPlatformsAreMadeOnce) {
  constexpr std::size_t kMany = 10'000;
  std::vector<CompareRow> rows(kMany);
  for (std::size_t i = 0; i < kMany; ++i) {
    rows[i].run = i;
    rows[i].trace = "T.weft";
    rows[i].platform = "crossbar:n=4,bw=" + std::to_string(i + 1) + "Gbps,lat=1us,speed=10Gflops";
    rows[i].finished = true;
    rows[i].makespan_s = 1 + 1e-3 * static_cast<double>(i);
  }
  EXPECT_EQ(compare_answers(rows).size(), 1u);
  EXPECT_THAT(compare_text(rows, 200),
              AllOf(StartsWith("T.weft: fastest on P1, 1 s; slowest on P10000, 11 s"),
                    ::testing::EndsWith("\nP10000 = " + rows.back().platform + "\n")));
}

// A terminal would go on in the next line, as if it were another sentence.
TEST(Compare, ALineEndInANameIsShownAsOne) {
  HandMade h("crossbar:n=4");
  h.platform.name = "x\ny";
  EXPECT_THAT(compare_answers(rank_runs({h.facts("a/T\n.weft")})),
              ::testing::ElementsAre("a/T\\n.weft: fastest on x\\ny, 2 ms"));
  EXPECT_EQ(predict::trace_label(h.facts("a/T\n.weft")), "a/T\\n.weft");
  EXPECT_EQ(predict::platform_label(h.platform), "x\\ny");
}

// The first line says what makes the difference, and only that.
TEST(Compare, TheHeadlineNamesWhatDiffers) {
  const HandMade fast("crossbar:n=4"), slow = [] {
    HandMade h("crossbar:n=4");
    h.slow(2000, Cause::kLateSender);
    return h;
  }();
  const auto first_line = [&](const auto& change) {
    predict::RunFacts a = fast.facts("b"), b = slow.facts("b");
    change(a, b);
    const std::string text = compare_text(rank_runs({a, b}), 200);
    return text.substr(0, text.find('\n'));
  };
  EXPECT_EQ(
      first_line([](predict::RunFacts&, predict::RunFacts& b) { b.map = "random"; }),
      "b on crossbar:n=4: fastest with map block, 2 ms; slowest with map random, 4 ms (2.00 times as long)");
  EXPECT_EQ(first_line([](predict::RunFacts& a, predict::RunFacts&) { a.routing = "valiant"; }),
            "b on crossbar:n=4: fastest with routing valiant, 2 ms; slowest with routing direct, 4 ms (2.00 "
            "times as "
            "long)");
  HandMade other("crossbar:n=4,lat=2us");
  other.platform.label = "far";
  EXPECT_EQ(first_line([&](predict::RunFacts& a, predict::RunFacts& b) {
              a.platform = &other.platform;
              a.routing = "valiant";
              b.map = "random";
            }),
            "b: fastest on far with map block, 2 ms; slowest on crossbar:n=4 with map random, 4 ms (2.00 "
            "times as long)");
}

// What a run found no time says; stderr names the first one only.
TEST(Compare, TheHeadlineCountsRunsThatFoundSomething) {
  const HandMade good;
  HandMade dead, left;
  dead.result.finished = false;
  dead.result.deadlock.blocked = {{RankId(0), 3, "recv from 1", "t:1", {RankId(1)}}};
  left.slow(2000, Cause::kLateSender);
  left.result.unmatched_messages = 1;
  const auto answer = [](const std::vector<predict::RunFacts>& runs) {
    return compare_answers(rank_runs(runs)).front();
  };
  EXPECT_THAT(answer({good.facts(), left.facts()}),
              ::testing::EndsWith("times as long); 1 of 2 runs leaves messages or receives unmatched"));
  EXPECT_THAT(answer({dead.facts(), good.facts(), dead.facts(), left.facts()}),
              ::testing::EndsWith("times as long); 2 of 4 runs end in a deadlock; "
                                  "1 of 4 runs leaves messages or receives unmatched"));
  EXPECT_THAT(answer({good.facts(), dead.facts(), good.facts()}),
              ::testing::EndsWith("as long in the 2 runs that end, 2 ms; 1 of 3 runs ends in a deadlock"));
  EXPECT_THAT(answer({dead.facts(), dead.facts()}), ::testing::EndsWith(": deadlock in every run"));
}

TEST(Compare, TextFitsTheWidthAndTellsFlagsAndLabels) {
  HandMade h("fat-tree:m=4,n=3,bw=8Gbps,lat=1us,speed=10Gflops");
  h.slow(300, Cause::kContention);
  predict::RunFacts run = h.facts("runs/b.weft");
  run.changes = {"--fail 2%", "--collective bcast=ring"};
  for (const std::size_t width : {60u, 80u, 100u, 140u}) {
    const std::string text = compare_text(rank_runs({run, run}), width);
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) EXPECT_LE(line.size(), width) << line;
    EXPECT_THAT(text, HasSubstr("all with --fail 2% --collective bcast=ring\n"));
    EXPECT_THAT(text, HasSubstr("P1 = fat-tree:m=4,n=3,bw=8Gbps,lat=1us,speed=10Gflops\n"));
  }
}

TEST(Compare, JsonAndCsvHaveTheContractsColumns) {
  const HandMade fast;
  const auto rows = rank_runs({fast.facts()});
  const auto j = nlohmann::ordered_json::parse(compare_json(rows));
  EXPECT_EQ(j["schema"], "weft.compare/1");
  std::vector<std::string> keys;
  for (const auto& [k, v] : j["rows"][0].items()) keys.push_back(k);
  EXPECT_THAT(keys,
              ::testing::ElementsAre("trace", "platform", "map", "routing", "model", "makespan_s", "slowdown",
                                     "hosts", "switches", "links", "mean_hops", "worst_link",
                                     "worst_link_utilization", "why", "cables", "links_per_host",
                                     "worst_link_pairs", "most_waited_link", "most_waited_s", "assumed"));
  EXPECT_EQ(j["rows"][0]["most_waited_link"], fast.platform.fabric.link_name(LinkId(0)));
  EXPECT_EQ(j["rows"][0]["most_waited_s"], 300e-6);
  EXPECT_EQ(j["rows"][0]["cables"], 4);
  EXPECT_EQ(j["rows"][0]["links_per_host"], 1.0);
  EXPECT_TRUE(j["rows"][0]["worst_link_pairs"].is_null()) << "nobody asked who shares it";
  EXPECT_EQ(j["rows"][0]["mean_hops"], 3.0) << "over the trace's own messages";
  EXPECT_EQ(j["rows"][0]["worst_link_utilization"], 0.5);
  EXPECT_EQ(j["rows"][0]["hosts"], 4);
  EXPECT_EQ(j["rows"][0]["switches"], 1);
  EXPECT_THAT(compare_csv(rows),
              HasSubstr("\"crossbar:n=4,bw=8Gbps,lat=1us,speed=10Gflops\",block,direct,0.002,1,4,1,8,3,"));
  HandMade named;
  named.platform.label = "far";
  const std::string csv = compare_csv(rank_runs({named.facts()}));
  EXPECT_THAT(csv, HasSubstr(",most_waited_s,label\n"));
  EXPECT_THAT(csv, ::testing::EndsWith(",far\n"));
}

TEST(Compare, SharersOfALinkAreThePairsWhoseRouteCrossesItMostBytesFirst) {
  // Two leaves of 2 hosts and one cable between them; ranks in order of host.
  const HandMade h("xgft:h=2,m=2x2,w=1x1");
  const std::vector<HostId> placement{HostId(0), HostId(1), HostId(2), HostId(3)};
  predict::PairTraffic traffic;
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

TEST(Compare, SharersAreNotKnownWhereMessagesChooseTheirWays) {
  predict::PairTraffic traffic;
  traffic.add(RankId(0), RankId(1), Bytes(1000));
  for (const char* routing : {"", "valiant", "ugal"}) {
    topology::PlatformChanges changes;
    changes.routing = routing;
    const auto p = topology::load_platform("dragonfly-18", changes);
    ASSERT_TRUE(p) << p.error().message();
    EXPECT_EQ(traffic.sharers_of(LinkId(0), p->fabric, {HostId(0), HostId(9)}).known, *routing == '\0')
        << routing;
  }
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

TEST(Compare, AReplayThatIsWrongIsAnErrorOfItsRowAndNamedInTheText) {
  HandMade fine, wrong;
  wrong.result.makespan = 2 * fine.result.makespan;
  auto a = fine.facts(), b = wrong.facts();
  a.verified = replay::Verification{"max-min certificate", 10, 20, 3, 4, 1e-12, 3, 7, 9, 0, {}};
  b.verified = a.verified;
  b.verified->conditions = "narrowest link";
  b.verified->worst_bytes_error = 0.5;
  b.verified->wrong = 2;
  b.verified->told = {"message 0->1 got half of its bytes", "and another one"};
  const auto rows = rank_runs({a, b});
  EXPECT_EQ(rows[0].error, "");
  EXPECT_EQ(rows[1].error, "--verify found 2 things wrong, the first: message 0->1 got half of its bytes");
  EXPECT_TRUE(rows[1].slowdown) << "it has a time all the same";
  const auto j = nlohmann::ordered_json::parse(compare_json(rows))["rows"];
  EXPECT_EQ(j[0]["verification"]["wrong"], 0);
  EXPECT_FALSE(j[0].contains("error"));
  EXPECT_EQ(j[1]["verification"]["findings"].size(), 2u);
  EXPECT_EQ(j[1]["error"], rows[1].error);
  const std::string text = compare_text(rows);
  EXPECT_THAT(text,
              HasSubstr("verified in 2 runs: 20 solves of 40 rates (max-min certificate or narrowest link), "
                        "bytes of 6 messages and of 8 links, 6 matches, 18 events in order: 2 wrong\n"));
  EXPECT_THAT(text, HasSubstr(", map block: message 0->1 got half of its bytes\n"));
  // By their labels, which tell runs apart where their platforms are called the same.
  wrong.platform.label = "far";
  const auto labelled = rank_runs({a, b});
  EXPECT_THAT(compare_text(labelled),
              HasSubstr("t.weft on far, map block: message 0->1 got half of its bytes\n"));
  EXPECT_EQ(labelled[1].finding().what, "on far: " + labelled[1].error);
  a.verified.reset();
  EXPECT_THAT(compare_text(rank_runs({a})), Not(HasSubstr("verified")));
}

}  // namespace
}  // namespace weft::report
