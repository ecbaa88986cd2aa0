// weft fit as a user runs it: measurements in, a platform file out that replays.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/cli/run_weft.hpp"

namespace weft::testing::fit_test {
namespace {

TEST(Fit, FragmentsOfBothKindsMakeAPlatform) {
  const Workspace here;
  std::ostringstream calls, messages;
  calls << "m,n,k,seconds\n";
  for (int m = 100; m <= 2000; m += 100) calls << m << ",200,128," << 2e-6 + 8e-11 * m * 200 * 128 << "\n";
  messages << "# OSU MPI Latency Test v7.3\n# Size          Latency (us)\n";
  for (long s = 1; s <= 1L << 22; s *= 2) messages << s << "  " << 2 + static_cast<double>(s) / 1e4 << "\n";
  here.write("calls.csv", calls.str());
  here.write("osu.txt", messages.str());
  const Outcome a = here.weft("fit dgemm calls.csv -o host.part --json fit.json --csv fit.csv");
  ASSERT_EQ(a.exit_code, 0) << a.err;
  EXPECT_NE(a.out.find("25 Gflop/s"), std::string::npos) << a.out;
  const auto json = nlohmann::json::parse(here.read("fit.json"));
  EXPECT_EQ(json.at("schema"), "weft.fit/1");
  EXPECT_NEAR(json.at("mean").at("mnk_s").get<double>(), 8e-11, 1e-14);
  EXPECT_EQ(json.at("textproto"), here.read("host.part"));
  EXPECT_EQ(here.read("fit.csv").substr(0, 11), "host,socket");
  const Outcome b = here.weft("fit network osu.txt --latency 1us --bandwidth 10GB/s --eager-limit 1GB -o -");
  ASSERT_EQ(b.exit_code, 0) << b.err;
  EXPECT_EQ(b.out.substr(0, 1), "#") << "the fragment alone";
  here.write("p.textproto",
             "topology { family: \"crossbar\" set: \"n=2\" set: \"bw=10GB/s\" set: \"lat=500ns\" }\n" +
                 here.read("host.part") + b.out);
  EXPECT_EQ(here.weft("platform check p.textproto").exit_code, 0);
  // One message of 1 MB: 2 us + 100 us.
  here.write("t.txt", "0 init\n1 init\n0 send 1 7 1000000 6\n1 recv 0 7 1000000 6\n0 finalize\n1 finalize\n");
  const Outcome c = here.weft("replay t.txt --on p.textproto --json -");
  ASSERT_EQ(c.exit_code, 0) << c.err;
  EXPECT_NEAR(nlohmann::json::parse(c.out).at("makespan_s").get<double>(), 102e-6, 0.2e-6);
}

// Ping-pongs alone: 2 us and 10 GB/s up to 16 KiB, 5 us more beyond. Sends show the limit.
TEST(Fit, AnEagerLimitThatPingPongsDoNotShowIsToldWithWhatReplaysAssume) {
  const Workspace here;
  std::ostringstream lines;
  lines << "experiment,msg_size,duration\n";
  for (long s = 1; s <= 1L << 22; s *= 2)
    for (const long size : {s, s + s / 2})
      lines << "pingpong," << size << ","
            << 2 * ((size <= 16384 ? 2e-6 : 7e-6) + static_cast<double>(size) * 1e-10) << "\n";
  here.write("pp.csv", lines.str());
  const Outcome alone = here.weft("fit network pp.csv --json fit.json");
  ASSERT_EQ(alone.exit_code, 0) << alone.err;
  const auto warnings = nlohmann::json::parse(here.read("fit.json")).at("warnings");
  ASSERT_EQ(warnings.size(), 1u);
  const std::string told = warnings[0];
  EXPECT_NE(told.find("replays take 65536 B"), std::string::npos) << told;
  EXPECT_NE(told.find("--eager-limit BYTES"), std::string::npos) << told;
  const std::string jump = "the one-way time jumps at ";
  const std::size_t at = told.find(jump);
  ASSERT_NE(at, std::string::npos) << told;
  const double size = std::stod(told.substr(at + jump.size()));
  EXPECT_GT(size, 16384) << told;
  EXPECT_LE(size, 24576) << told;
  EXPECT_NE(alone.out.find("warning: " + told), std::string::npos);
  EXPECT_EQ(here.weft("fit network pp.csv --eager-limit 16KiB").out.find("warning"), std::string::npos);
}

// 1 ns per m is 2 Gflop/s of daxpy, 400 ps per m n are 5 of dgemv; dtrsm has m m n flops, which m n does not show.
TEST(Fit, RatesAreOfTheDimensionsThatAKernelHas) {
  const Workspace here;
  std::string axpy = "m,seconds\n", two = "m,n,seconds\n";
  for (const int m : {100, 500, 2000}) {
    axpy += std::to_string(m) + "," + std::to_string(1 + m) + "e-9\n";
    for (const int n : {100, 700, 3000})
      two += std::to_string(m) + "," + std::to_string(n) + "," + std::to_string(1 + m * n / 5 * 2) + "e-9\n";
  }
  here.write("axpy.csv", axpy);
  here.write("two.csv", two);
  const auto fitted = [&](const std::string& line) {
    const Outcome o = here.weft("fit dgemm --kernel " + line + " --json fit.json");
    EXPECT_EQ(o.exit_code, 0) << o.err;
    return o.out;
  };
  const auto flops = [&] {
    return nlohmann::json::parse(here.read("fit.json")).at("mean_flops").get<double>();
  };
  EXPECT_NE(fitted("daxpy axpy.csv").find("2 Gflop/s a rank"), std::string::npos);
  EXPECT_NEAR(flops(), 2e9, 1e6);
  EXPECT_NE(fitted("dgemv two.csv").find("5 Gflop/s a rank"), std::string::npos);
  EXPECT_NEAR(flops(), 5e9, 1e6);
  const std::string none = fitted("dtrsm_left two.csv");
  EXPECT_NE(none.find("no rate, the flops of dtrsm_left are not proportional"), std::string::npos) << none;
  EXPECT_EQ(none.find("flop/s"), std::string::npos) << none;
  EXPECT_EQ(flops(), 0);
}

TEST(Fit, AKernelWithoutFlopsHasNoRate) {
  const Workspace here;
  here.write("swap.csv", "m,n,seconds\n32,100,7.4e-06\n32,1000,6.5e-05\n64,100,1.38e-05\n64,1000,1.29e-4\n");
  const Outcome rate = here.weft("fit dgemm --kernel dlaswp01 --model rate swap.csv");
  EXPECT_EQ(rate.exit_code, 2);
  EXPECT_NE(rate.err.find("dlaswp01 has no flops; got \"--model rate\"; expected --model linear"),
            std::string::npos)
      << rate.err;
  EXPECT_EQ(here.weft("fit dgemm --kernel dlaswp01 swap.csv").exit_code, 0);
}

TEST(Fit, NoiseNeedsItsFlagAndFollowsItsSeed) {
  const Workspace here;
  here.write("p.textproto",
             "topology { family: \"crossbar\" set: \"n=2\" }\n"
             "host { speed: \"1Gflops\" kernel { name: \"*\" rate: \"1Gflops\" noise: \"0.1\" } }\n");
  here.write("t.txt", "0 init\n1 init\n0 compute 1e6\n1 compute 1e6\n0 finalize\n1 finalize\n");
  const Outcome plain = here.weft("replay t.txt --on p.textproto --json -");
  ASSERT_EQ(plain.exit_code, 0) << plain.err;
  const auto json = nlohmann::json::parse(plain.out);
  EXPECT_EQ(json.at("model").at("noise"), false);
  EXPECT_EQ(json.at("model").at("kernel_models"), true);
  EXPECT_EQ(json.at("makespan_s"), 1e-3) << "flops without a kernel take the host's speed";
  EXPECT_EQ(here.weft("replay t.txt --on p.textproto --noise --seed 3 --json -").exit_code, 0);
  const auto warns = [&](const std::string& line) {
    const Outcome o = here.weft(line);
    EXPECT_EQ(o.exit_code, 0) << o.err;
    return o.out.find("--noise changes nothing") != std::string::npos;
  };
  EXPECT_FALSE(warns("replay t.txt --on p.textproto --noise"));
  EXPECT_FALSE(warns("replay t.txt --on crossbar:n=2,bw=1GB/s"));
  EXPECT_TRUE(warns("replay t.txt --on crossbar:n=2,bw=1GB/s --noise"));
  EXPECT_TRUE(warns("predict hpl --on crossbar:n=2,bw=1GB/s,speed=1Gflops --n 100 --noise"));
}

}  // namespace
}  // namespace weft::testing::fit_test
