// What neither flags nor the platform say, in the outputs of every verb that runs on one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/run_weft.hpp"

namespace weft::testing::assumed_test {
namespace {

using nlohmann::ordered_json;
using ::testing::HasSubstr;

// bw, lat and speed that nobody gave, speed only where some computation goes by it.
TEST(Assumed, DefaultsThatNobodyGaveAreTold) {
  const Workspace w;
  w.write("t.txt", "0 init\n1 init\n0 send 1 7 1000 6\n1 recv 0 7 1000 6\n0 finalize\n1 finalize\n");
  w.write("flops.txt", "0 init\n1 init\n0 compute 1000000\n1 compute 1000000\n0 finalize\n1 finalize\n");
  const std::string line = "assumed, because neither platform nor command line says: ";
  const auto text = [&](const std::string& command) {
    std::string out = w.weft(command).out;
    for (std::size_t at = 0; (at = out.find("\n  ", at)) != std::string::npos;)
      out.replace(at, 3, " ");  // wrapped lines
    return out;
  };
  const auto assumed = [&](const std::string& arguments) {
    return ordered_json::parse(w.weft("replay " + arguments + " --json - --quiet").out)["model"]["assumed"];
  };
  const auto has = [](const ordered_json& names, const char* name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  EXPECT_THAT(text("replay t.txt --on torus:dims=2x2"),
              HasSubstr(line + "bw 100Gbps, lat 500ns, eager_limit, "));
  EXPECT_THAT(text("replay flops.txt --on torus:dims=2x2"),
              HasSubstr(line + "bw 100Gbps, lat 500ns, speed 10Gflops,"));
  EXPECT_THAT(text("replay flops.txt --on torus:dims=2x2 --raw"),
              HasSubstr(line + "bw 100Gbps, lat 500ns, speed 10Gflops\n"));
  const std::string on = " --on crossbar:n=4,bw=8Gbps,lat=1us,speed=1Gflops";
  for (const char* how : {"", " --verify"}) {  // ranks that go ahead, and not
    EXPECT_TRUE(has(assumed(std::string("flops.txt --on torus:dims=2x2") + how), "speed"));
    EXPECT_FALSE(has(assumed(std::string("t.txt --on torus:dims=2x2") + how), "speed"));
    EXPECT_FALSE(has(assumed("flops.txt" + on + how), "speed"));
    EXPECT_FALSE(has(assumed("flops.txt" + on + how), "bw"));
  }
  // Once for all runs, with the platforms that are silent.
  const std::string two =
      " flops.txt --on a=torus:dims=2x2,lat=1us --on b=torus:dims=2x2,bw=1GB/s,speed=1Gflops ";
  const std::string compared =
      text("compare" + two + "--map block --map cyclic --journal kept --json j.json");
  EXPECT_THAT(compared, HasSubstr(line + "bw 100Gbps (a), speed 10Gflops (a), eager_limit,"));
  EXPECT_EQ(text("compare" + two + "--map block --map cyclic --journal kept"), compared) << "as kept";
  const auto rows = ordered_json::parse(w.read("j.json"))["rows"];
  EXPECT_TRUE(has(rows[0]["assumed"], "speed") == (rows[0]["label"] == "a"));
  EXPECT_THAT(text("sweep flops.txt --on torus:dims=2x2,lat=1us --set bw=1GB/s,2GB/s"),
              HasSubstr(line + "speed 10Gflops, "));
  EXPECT_THAT(text("predict hpl --on torus:dims=2x2 --n 500 --nb 50 --p 2 --q 2"),
              HasSubstr(line + "bw 100Gbps, lat 500ns, speed 10Gflops, "));
  EXPECT_THAT(
      w.weft("tune hpl --on torus:dims=2x2,speed=1Gflops --n 500 --nb 50 --p 2 --q 2 --evaluations 8").out,
      HasSubstr(line + "bw 100Gbps, lat 500ns, eager_limit, "));
}

}  // namespace
}  // namespace weft::testing::assumed_test
