// weft report and --report through the built binary: the page is written, whole, the same each time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/run_weft.hpp"

namespace weft::testing::report_test {
namespace {

using nlohmann::ordered_json;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::string kPingPong =
    "0 init\n1 init\n"
    "0 send 1 7 1000000 6\n0 recv 1 8 1000000 6\n"
    "1 recv 0 7 1000000 6\n1 send 0 8 1000000 6\n"
    "0 finalize\n1 finalize\n";
const std::string kSlow = "crossbar:n=4,bw=8Gbps,lat=1us,speed=1Gflops";
const std::string kFast = "crossbar:n=4,bw=80Gbps,lat=1us,speed=1Gflops";

ordered_json data_of(const std::string& html) {
  const std::string open = "type=\"application/json\">";
  const std::size_t begin = html.find(open) + open.size();
  return ordered_json::parse(html.substr(begin, html.find("</script", begin) - begin));
}

TEST(CliReport, ComparesOnOnePage) {
  const Workspace w;
  w.write("t.txt", kPingPong);
  const std::string command = "report --raw t.txt --on slow=" + kSlow + " --on fast=" + kFast;
  const Outcome o = w.weft(command + " -o page.html --json out.json");
  ASSERT_EQ(o.exit_code, 0) << o.err;
  EXPECT_THAT(o.out, StartsWith("t.txt: fastest on fast"));
  const std::string html = w.read("page.html");
  EXPECT_THAT(html, StartsWith("<!doctype html>"));
  EXPECT_THAT(html, EndsWith("</html>\n"));
  const auto j = data_of(html);
  const auto rows = ordered_json::parse(w.read("out.json"))["rows"];
  ASSERT_EQ(j["rows"].size(), 2u);
  EXPECT_EQ(j["rows"][0]["label"], "fast");
  EXPECT_EQ(j["rows"][1]["makespan_s"], rows[1]["makespan_s"]);
  // Two messages of 2 us + 1 ms, all of it on the path; without a network nothing is left.
  const auto& slow = j["runs"][0]["result"];
  EXPECT_EQ(slow["makespan_s"], 0.002004);
  EXPECT_NEAR(slow["critical_path"]["parts"]["transfer_s"].get<double>(), 0.002, 1e-15);
  EXPECT_NEAR(slow["critical_path"]["parts"]["latency_s"].get<double>(), 4e-6, 1e-15);
  // The same bytes from another run, by any number of threads and wherever they go.
  EXPECT_EQ(j["command"], "weft " + command);
  ASSERT_EQ(w.weft(command + " --output=page2.html --threads 2").exit_code, 0);
  EXPECT_EQ(w.read("page2.html"), html);
}

// What `replay --sensitivity` says of a platform stands on the page for the two best of three, and the sentences name them.
TEST(CliReport, TellsWhatTheBestRunsDependOn) {
  const Workspace w;
  ASSERT_EQ(w.weft("generate alltoall --ranks 4 --bytes 100kB --compute 20us -o t.weft --quiet").exit_code,
            0);
  const std::string best = "crossbar:n=4,bw=4GB/s,lat=1us", next = "crossbar:n=4,bw=2GB/s,lat=1us",
                    last = "crossbar:n=4,bw=1GB/s,lat=1us";
  const std::string command = "report t.weft --critical-path --sensitivity --on last=" + last +
                              " --on best=" + best + " --on next=" + next + " -o page.html --json out.json";
  ASSERT_EQ(w.weft(command + " --threads 1").exit_code, 0);
  const auto j = data_of(w.read("page.html"));
  ASSERT_EQ(j["runs"].size(), 3u);
  EXPECT_FALSE(j["runs"][0]["result"]["sensitivity"].contains("twice_as_fast")) << "the slowest of three";
  std::size_t run = 1;
  for (const std::string& on : {best, next}) {
    const auto alone = ordered_json::parse(w.weft("replay t.weft --sensitivity --json - --on " + on).out);
    EXPECT_EQ(j["runs"][run++]["result"]["sensitivity"], alone["sensitivity"]) << on;
    EXPECT_EQ(alone["sensitivity"]["twice_as_fast"].size(), 1u);
  }
  ASSERT_EQ(j["answer"].size(), 3u);
  EXPECT_THAT(j["answer"][1].get<std::string>(),
              StartsWith("What if, on best (first of the ranking): It is 1 % longer with "));
  EXPECT_THAT(j["answer"][2].get<std::string>(),
              HasSubstr("What if, on next (next of the ranking): It is 1 % longer with "));
  EXPECT_THAT(j["answer"][1].get<std::string>(), HasSubstr("\"host\" is worth doubling most"));
  // The page says why as the other outputs of the same run do.
  const auto rows = ordered_json::parse(w.read("out.json"))["rows"];
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(j["rows"][i]["why"], rows[i]["why"]);
  EXPECT_THAT(rows[1]["why"].get<std::string>(), HasSubstr("critical path"));
  ASSERT_EQ(w.weft(command + " --threads 2").exit_code, 0);
  EXPECT_EQ(data_of(w.read("page.html"))["runs"].dump(), j["runs"].dump());
  const Outcome no_page = w.weft("compare t.weft --sensitivity --on " + best);
  EXPECT_EQ(no_page.exit_code, 2);
  EXPECT_THAT(no_page.err, HasSubstr("expected --report FILE"));
}

TEST(CliReport, OfAReplayHoldsItsCriticalPathAndEfficiency) {
  const Workspace w;
  w.write(
      "t.txt",
      "0 init\n1 init\n0 compute 1000000\n0 send 1 7 1000 6\n1 recv 0 7 1000 6\n0 finalize\n1 finalize\n");
  const Outcome o = w.weft("replay t.txt --raw --on " + kSlow + " --report page.html --quiet");
  ASSERT_EQ(o.exit_code, 0) << o.err;
  EXPECT_EQ(o.out, "");
  const auto j = data_of(w.read("page.html"));
  EXPECT_EQ(j["verb"], "replay");
  // 1 ms of computation, 3 us for the message.
  const auto& result = j["runs"][0]["result"];
  EXPECT_NEAR(result["critical_path"]["parts"]["compute_s"].get<double>(), 1e-3, 1e-15);
  EXPECT_NEAR(result["efficiency"]["transfer"].get<double>(), 1000.0 / 1003.0, 1e-12);
  EXPECT_EQ(j["command"], "weft replay t.txt --raw --on " + kSlow) << "where the page went is no part of it";
  // To standard output, alone there.
  const Outcome piped = w.weft("replay t.txt --raw --on " + kSlow + " --report -");
  EXPECT_EQ(piped.out, w.read("page.html"));
}

TEST(CliReport, HoldsTheCostliestDelays) {
  const Workspace w;
  ASSERT_EQ(w.weft("generate hpl --n 400 --nb 50 --p 8 --q 8 -o t.weft").exit_code, 0);
  const Outcome o =
      w.weft("replay t.weft --on crossbar:n=64,bw=8Gbps,lat=1us --report page.html --json out.json --quiet");
  ASSERT_EQ(o.exit_code, 0) << o.err;
  auto out = ordered_json::parse(w.read("out.json"))["wait_states"];
  const auto kept = data_of(w.read("page.html"))["runs"][0]["result"]["wait_states"];
  ASSERT_GT(out["delays"].size(), 200u);
  auto& delays = out["delays"];
  delays.erase(delays.begin() + 200, delays.end());
  EXPECT_EQ(kept.dump(), out.dump());
}

TEST(CliReport, OfSeveralJobsTellsEachAsTheJsonDoes) {
  const Workspace w;
  w.write("t.txt", kPingPong);
  w.write("u.txt",
          "0 init\n1 init\n2 init\n1 send 2 7 1000 6\n2 recv 1 7 1000 6\n0 finalize\n1 finalize\n"
          "2 finalize\n");
  const Outcome o = w.weft(
      "replay t.txt --with u.txt --raw --on crossbar:n=8,bw=8Gbps,lat=1us,speed=1Gflops"
      " --report page.html --json out.json --quiet");
  ASSERT_EQ(o.exit_code, 0) << o.err;
  const auto out = ordered_json::parse(w.read("out.json"));
  const auto result = data_of(w.read("page.html"))["runs"][0]["result"];
  ASSERT_EQ(result["jobs"].size(), 2u);
  EXPECT_EQ(result["jobs"].dump(), out["jobs"].dump());
  EXPECT_EQ(result["shared_links"].dump(), out["shared_links"].dump());
  EXPECT_EQ(result["jobs"][0]["first_rank"], 0);
  EXPECT_EQ(result["jobs"][1]["first_rank"], 2);
  EXPECT_EQ(result["jobs"][1]["ranks"], 3);
}

TEST(CliReport, ADeadlockIsShownAndIsAFinding) {
  const Workspace w;
  w.write("t.txt", "0 init\n1 init\n0 recv 1 8 1000 6\n1 recv 0 7 1000 6\n0 finalize\n1 finalize\n");
  EXPECT_EQ(w.weft("report t.txt --on " + kSlow + " --on " + kFast + " -o page.html").exit_code, 1);
  const auto j = data_of(w.read("page.html"));
  EXPECT_THAT(j["answer"][0].get<std::string>(), HasSubstr("deadlock in every run"));
  EXPECT_EQ(j["runs"][0]["result"]["error"]["kind"], "deadlock");
  EXPECT_EQ(w.weft("replay t.txt --on " + kSlow + " --report page.html").exit_code, 1);
  EXPECT_THAT(data_of(w.read("page.html"))["answer"][0].get<std::string>(), HasSubstr("deadlock after"));
}

// Of a page or an output without what the machine that ran it adds.
void drop_machine(ordered_json& j) {
  if (j.is_object())
    for (const char* key : {"engine", "wall_s", "peak_rss_bytes", "command", "version", "warnings"})
      j.erase(key);
  for (auto& below : j)
    if (below.is_structured()) drop_machine(below);
}

TEST(CliReport, OtherVerbsShowTheirOwnObject) {
  const Workspace w;
  w.write("t.txt", kPingPong);
  const std::string on = " --on slow=" + kSlow;
  for (const std::string& command :
       {"sweep t.txt --raw" + on + " --set lat=1us,2us",
        std::string("predict hpl --on crossbar-16 --n 400 --nb 50 --p 2 --q 2"),
        std::string("predict hpl --on crossbar-16 --on torus-16 --n 400 --nb 50 --p 2 --q 2"),
        std::string("tune hpl --on crossbar-16 --n 400 --nb 50 --p 2 --q 2 --evaluations 8"),
        std::string("search halo --grid 2x2 --on cs-storm")}) {
    SCOPED_TRACE(command);
    const Outcome o = w.weft(command + " --report page.html --json out.json");
    ASSERT_EQ(o.exit_code, 0) << o.err;
    auto page = data_of(w.read("page.html"));
    EXPECT_EQ(page["verb"], command.substr(0, command.find(' ')));
    EXPECT_EQ(page["command"], "weft " + command);
    EXPECT_TRUE(page["rows"].empty() && page["runs"].empty());
    std::string text = o.out, answer = page["answer"][0];
    std::erase_if(text, [](char c) { return c == ' ' || c == '\n'; });
    std::erase_if(answer, [](char c) { return c == ' '; });
    EXPECT_THAT(text, HasSubstr(answer));
    auto out = ordered_json::parse(w.read("out.json"));
    EXPECT_EQ(page["warnings"].dump(), out["warnings"].dump());
    drop_machine(out);
    EXPECT_EQ(page["document"].dump(), out.dump());
    ASSERT_EQ(w.weft(command + " --report again.html --quiet").exit_code, 0);
    EXPECT_EQ(w.read("again.html"), w.read("page.html"));
  }
  EXPECT_EQ(w.weft("predict hpl --closed-form --on crossbar-16 --n 400 --nb 50 --p 2 --q 2 --report x.html")
                .exit_code,
            2);
}

TEST(CliReport, WhatCannotBeWrittenIsToldFirst) {
  const Workspace w;
  w.write("t.txt", kPingPong);
  EXPECT_EQ(w.weft("report t.txt --on " + kSlow).exit_code, 2) << "no -o";
  EXPECT_EQ(w.weft("report t.txt --on " + kSlow + " -o none/page.html").exit_code, 3);
  EXPECT_EQ(w.weft("replay t.txt --on " + kSlow + " --report a --json a").exit_code, 2) << "one file twice";
  EXPECT_EQ(w.list(), std::vector<std::string>{"t.txt"});
}

}  // namespace
}  // namespace weft::testing::report_test
