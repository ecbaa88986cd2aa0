// weft fit: coefficients that are known come back, and what is written can be read.
#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <sstream>

#include "core/numbers/least_squares.hpp"
#include "tests/support/checkout.hpp"
#include "tests/support/needs.hpp"
#include "tests/support/seed.hpp"
#include "tests/topology/support.hpp"
#include "topology/fit/kernel_fit.hpp"
#include "topology/fit/network_fit.hpp"

namespace weft::topology::fit {
namespace {

using ::testing::HasSubstr;

std::uint64_t seed() { return support::seed_or(1); }

Measurements parsed(const std::string& text) {
  auto m = Measurements::parse("in.csv", text);
  EXPECT_TRUE(m) << (m ? "" : m.error().message());
  return std::move(m).value();
}

template <class T>
std::string message(const Result<T>& r) {
  return r ? std::string("accepted") : const_cast<Result<T>&>(r).error().message();
}

TEST(Measurements, BenchmarkOutputIsRecognised) {
  const auto osu =
      parsed("# OSU MPI Latency Test v5.8\n# Size          Latency (us)\n0      1.12\n1      1.15\n");
  EXPECT_EQ(osu.format(), Measurements::Format::kOsuLatency);
  EXPECT_EQ(osu.rows(), 2u);
  const auto bw =
      parsed("# OSU MPI Bandwidth Test v5.8\n# Size      Bandwidth (MB/s)\n1   2.9\n1048576   12100.4\n");
  EXPECT_EQ(bw.format(), Measurements::Format::kOsuBandwidth);
  EXPECT_EQ(*bw.number(1, 1), 12100.4);
  const auto imb = parsed(
      "#---------------\n# Benchmarking PingPong\n# #processes = 2\n#---------------\n"
      "       #bytes #repetitions      t[usec]   Mbytes/sec\n            0         1000         1.05         "
      "0.00\n"
      "            8         1000         1.10         7.25\n\n# All processes entering MPI_Finalize\n");
  EXPECT_EQ(imb.format(), Measurements::Format::kImbPingPong);
  EXPECT_EQ(imb.rows(), 2u);
  EXPECT_EQ(*imb.number(1, 1), 1.10);
}

TEST(Measurements, OnlyThePingPongsOfAnImbRunCount) {
  const std::string head = "       #bytes #repetitions      t[usec]   Mbytes/sec\n";
  const auto imb =
      parsed("# List of Benchmarks to run:\n# PingPong\n# PingPing\n# Benchmarking PingPong \n" + head +
             "0 1000 1.00 0.00\n4194304 10 336.00 12483.05\n\n# Benchmarking PingPing\n" + head +
             "0 1000 1.20 0.00\n4194304 10 636.00 12483.05\n# Benchmarking Allreduce\n# #processes = 2\n"
             "#bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]\n0 1000 0.02 0.03 0.02\n"
             "# Benchmarking Allreduce\n# #processes = 4\n0 1000 0.02 0.03 0.02\n");
  ASSERT_EQ(imb.rows(), 2u);
  EXPECT_EQ(*imb.number(1, 1), 336);
  EXPECT_EQ(imb.left_out(), (std::vector<std::string>{"PingPing", "Allreduce"}));
  EXPECT_THAT(
      message(Measurements::parse("f", "# Benchmarking Sendrecv\n" + head + "0 1000 1.20 0.00\n")),
      HasSubstr("f:1:1: error: no measurement in the file; expected a PingPong block beside Sendrecv"));
  EXPECT_THAT(message(Measurements::parse("f", "\n" + head + "0 1000 1.20 0.00\n")),
              HasSubstr("f:2:1: error: no line says which benchmark this table is of"));
}

TEST(Measurements, OsuProgramsThatDoNotTimeOneMessageAreRefused) {
  for (const std::string title :
       {"OSU MPI Bi-Directional Bandwidth Test v5.6", "OSU MPI Multi Latency Test v5.6",
        "OSU MPI Multiple Bandwidth / Message Rate Test v5.6", "OSU MPI Allreduce Latency Test v5.6",
        "OSU MPI Broadcast Latency Test v7.3", "OSU MPI_Put Latency Test v5.6"}) {
    const std::string text =
        "host a\n# " + title + "\n# Size      Bandwidth (MB/s)  Latency (us)\n1 2\n1024 2\n";
    EXPECT_THAT(message(Measurements::parse("f", text)),
                HasSubstr("f:2:1: error: not times of one message at a time"))
        << title;
    EXPECT_THAT(message(Measurements::parse("f", text)),
                HasSubstr("got \"" + title + "\"; expected \"# OSU MPI"));
  }
  EXPECT_THAT(message(Measurements::parse("f", "# Size      Latency (us)\n1 2\n")),
              HasSubstr("f:1:1: error: no line says which benchmark"));
  EXPECT_EQ(parsed("# OSU MPI-CUDA Latency Test v5.9\n# Size Latency (us)\n1 2\n").rows(), 1u);
  EXPECT_THAT(
      message(Measurements::parse("f", "# OSU MPI Latency Test\n1 2\n# OSU MPI Bandwidth Test\n1 2\n")),
      HasSubstr("f:3:1: error: a second kind of benchmark in one file"));
}

TEST(Measurements, WhatIsWrongIsNamedWithItsPlace) {
  EXPECT_THAT(message(Measurements::parse("f", "")), HasSubstr("f:1:1"));
  EXPECT_THAT(message(Measurements::parse("f", "hello\nworld\n")), HasSubstr("not a file of measurements"));
  EXPECT_THAT(message(Measurements::parse("f", "a,b\n1,2\n3\n")),
              HasSubstr("f:3:1: error: row of another length"));
  EXPECT_THAT(message(Measurements::parse("f", "a,b\n")), HasSubstr("no measurement"));
  const auto m = parsed("m,n,k,seconds\n1,2,x,4\n");
  EXPECT_THAT(message(fit_kernel(m, {})), HasSubstr("in.csv:2:5: error: k is not a number; got \"x\""));
  EXPECT_THAT(message(fit_kernel(parsed("a,b\n1,2\n"), {})), HasSubstr("columns of no known kind"));
  EXPECT_THAT(message(fit_network({parsed("a,b\n1,2\n")}, {})), HasSubstr("columns of no known kind"));
  EXPECT_THAT(message(Measurements::parse("f", "# OSU MPI Latency Test\n0\n")), HasSubstr("f:2:1"));
  const auto negative = parsed("m,n,k,seconds\n1,2,3,-4\n1,2,3,4\n");
  EXPECT_THAT(message(fit_kernel(negative, {})), HasSubstr("in.csv:2:7: error: seconds is out of range"));
}

TEST(KernelFit, CallsOfEveryCpuGiveItsOwnCoefficientsAndTheFragmentHoldsThem) {
  Rng rng(seed());
  std::string csv = "node,cpu,m,n,k,duration\n";
  const auto truth = [](int node, int cpu) { return 8e-11 * (1 + 0.1 * node + 0.05 * cpu); };
  for (int node : {3, 7})
    for (int cpu : {0, 1})
      for (int i = 0; i < 50; ++i) {
        const double m = std::floor(1 + 2000 * rng.unit()), n = std::floor(1 + 2000 * rng.unit());
        const double t = 2e-6 + truth(node, cpu) * m * n * 128 + 4e-10 * m * n;
        csv += std::to_string(node) + "," + std::to_string(cpu) + "," + std::to_string(m) + "," +
               std::to_string(n) + ",128," +
               [&] {
                 char b[40];
                 std::snprintf(b, sizeof b, "%.17g", t);
                 return std::string(b);
               }() +
               "\n";
      }
  // With k the same in all calls, mnk and mn are one column: the linear model takes both.
  auto f = fit_kernel(parsed(csv), {});
  ASSERT_TRUE(f) << f.error().message();
  ASSERT_EQ(f->cpus.size(), 4u);
  EXPECT_EQ(f->hosts, 2u);
  EXPECT_EQ(f->sockets, 2u);
  EXPECT_EQ(f->cpus[3].host, 1u);
  for (const CpuFit& c : f->cpus)
    EXPECT_NEAR(c.time.mnk, truth(static_cast<int>(c.node), static_cast<int>(c.cpu)) + 4e-10 / 128, 1e-16);
  const TempFile file("fit.textproto", "topology { family: \"crossbar\" set: \"n=2\" }\n" + f->textproto());
  const Platform p = load(file.path());
  ASSERT_EQ(p.compute.classes.size(), 5u);
  EXPECT_EQ(p.compute.sockets, 2u);
  const auto& own = p.compute.classes[p.compute.class_index(HostId(1), 1, 2)].kernels;
  ASSERT_EQ(own.size(), 1u);
  EXPECT_NEAR(own[0].polynomial.mnk, f->cpus[3].time.mnk, 1e-5 * own[0].polynomial.mnk);
}

// Calls of many shapes, each `times` times: `time(m, n, k)` and a scatter of `relative` (normal).
template <class F>
std::string calls(Rng& rng, const std::vector<int>& ks, int shapes, int times, double relative, F time) {
  std::string csv = "m,n,k,seconds\n";
  for (const int k : ks)
    for (int i = 0; i < shapes; ++i) {
      const double m = std::floor(100 + 4000 * rng.unit()), n = std::floor(100 + 4000 * rng.unit());
      for (int j = 0; j < times; ++j) {
        // Sum of twelve uniform numbers: near enough to normal, with deviation 1.
        double z = -6;
        for (int u = 0; u < 12; ++u) z += rng.unit();
        csv += fmt::format("{},{},{},{:.17g}\n", m, n, k, time(m, n, k) * (1 + relative * z));
      }
    }
  return csv;
}

TEST(KernelFit, CallsOfOneKHaveAFitOfTheirOwnAndTheFragmentKeepsThemApart) {
  Rng rng(seed());
  const auto time = [](double m, double n, double k) {
    return (k == 128 ? 60e-12 : 70e-12) * m * n * k + 2e-9 * m * k + 5e-9 * n * k;
  };
  KernelFitOptions o;
  o.model = KernelModel::kFull;
  o.parts = {{128, {96, 191}}, {512, {384, ShapeBounds::kUnbounded}}};
  const auto f = fit_kernel(parsed(calls(rng, {64, 128, 200, 300, 512}, 60, 1, 0, time)), o);
  ASSERT_TRUE(f) << const_cast<Result<KernelFit>&>(f).error().message();
  ASSERT_EQ(f->mean.parts.size(), 2u);
  for (const double k : {64.0, 128.0, 300.0, 512.0})
    EXPECT_NEAR(f->seconds(f->mean, 1000, 200, k), time(1000, 200, k), 1e-6 * time(1000, 200, k)) << k;
  EXPECT_NEAR(f->mean.parts[0].time.mk, 2e-9, 1e-13);
  const TempFile file("parts.textproto", "topology { family: \"crossbar\" set: \"n=2\" }\n" + f->textproto());
  const auto own = load(file.path()).compute.classes[0].kernels;
  ASSERT_EQ(own.size(), 3u);
  EXPECT_EQ(own[0].bounds.k, (ShapeBounds::Range{96, 191}));
  EXPECT_EQ(own[1].bounds.k, (ShapeBounds::Range{384, ShapeBounds::kUnbounded}));
  EXPECT_TRUE(own[2].bounds.all());
  o.parts = {{129, {129, 129}}};
  EXPECT_THAT(message(fit_kernel(parsed("m,n,k,seconds\n1,2,3,4\n1,2,3,4\n2,2,3,4\n3,2,3,4\n5,2,3,4\n"), o)),
              HasSubstr("no call has this k"));
}

TEST(KernelFit, MisfitIsNoNoise) {
  Rng rng(seed());
  // Every other shape is 5 % slower than any polynomial says; calls of one shape scatter by 0.2 %.
  const auto time = [](double m, double n, double k) {
    return 70e-12 * m * n * k * (std::fmod(m, 2) == 0 ? 0.95 : 1.05);
  };
  KernelFitOptions o;
  o.model = KernelModel::kFull;
  const auto f = fit_kernel(parsed(calls(rng, {64, 128, 256, 500}, 40, 12, 0.002, time)), o);
  ASSERT_TRUE(f);
  EXPECT_EQ(f->mean.shapes, 160u);
  EXPECT_EQ(f->mean.repeated, 160u);
  EXPECT_NEAR(f->mean.scatter, 0.002, 0.0002);
  EXPECT_NEAR(f->mean.misfit, 0.05, 0.01);
  EXPECT_NEAR(f->mean.noise, 0.002, 0.0004);
  ASSERT_FALSE(f->mean.worst.empty() && f->cpus[0].worst.empty());
  for (const ShapeMiss& w : f->cpus[0].worst) EXPECT_GT(std::fabs(w.deviation), 0.04);
  // Called once each, nobody can tell: no noise.
  const auto once = fit_kernel(parsed(calls(rng, {64, 128, 256, 500}, 40, 1, 0.002, time)), o);
  ASSERT_TRUE(once);
  EXPECT_EQ(once->mean.repeated, 0u);
  EXPECT_EQ(once->mean.noise, 0);
  EXPECT_THAT(once->textproto(), ::testing::Not(HasSubstr("noise")));
}

TEST(KernelFit, AnInterceptBelowNothingIsNothing) {
  Rng rng(seed());
  const auto time = [](double m, double n, double k) { return 70e-12 * m * n * k - 5e-5; };
  KernelFitOptions o;
  const auto f = fit_kernel(parsed(calls(rng, {128}, 60, 1, 0, time)), o);
  ASSERT_TRUE(f);
  EXPECT_EQ(f->mean.time.intercept, 0);
  EXPECT_GT(f->mean.time.mnk, 60e-12);
}

TEST(KernelFit, AFitThatFallsWithTheWorkIsNone) {
  for (const std::string text :
       {"m,n,k,seconds\n64,64,64,8e-3\n128,128,128,4e-3\n256,256,256,1e-3\n512,512,512,1e-4\n",
        "intercept,mnk\n1e-6,-1e-10\n"}) {
    KernelFitOptions o;
    o.model = KernelModel::kLinear;
    EXPECT_THAT(message(fit_kernel(parsed(text), o)),
                HasSubstr("in.csv:2:1: error: fitted large calls take less than no time"));
  }
}

TEST(KernelFit, RegressionsAreSummarisedByTheirMedianWithinTheDates) {
  const std::string csv =
      "intercept,mnk,mnk_residual,function,cluster,node,cpu,start_time\n"
      "1e-6,8e-11,2e-12,dgemm,a,1,0,1000000\n"
      "2e-6,9e-11,2e-12,dgemm,a,1,0,1090000\n"
      "9e-6,9e-10,2e-12,dgemm,a,1,0,1100000\n"
      "3e-6,7e-11,3e-12,dgemm,a,2,0,1100000\n"
      "3e-6,1e-11,3e-12,dtrsm,a,2,0,1100000\n"
      "3e-6,1e-11,3e-12,dgemm,b,2,0,1100000\n";
  KernelFitOptions o;
  o.cluster = "a";
  auto f = fit_kernel(parsed(csv), o);
  ASSERT_TRUE(f) << f.error().message();
  EXPECT_TRUE(f->from_regressions);
  EXPECT_DOUBLE_EQ(f->cpus[0].time.mnk, 9e-11) << "the bad day moves nothing";
  EXPECT_DOUBLE_EQ(f->cpus[0].time.intercept, 2e-6);
  EXPECT_DOUBLE_EQ(f->cpus[1].noise_time.mnk, 3e-12);
  EXPECT_EQ(f->left_out, 2u);
  o.to_time = 1095000;
  auto early = fit_kernel(parsed(csv), o);
  ASSERT_TRUE(early);
  EXPECT_EQ(early->cpus.size(), 1u);
  EXPECT_DOUBLE_EQ(early->cpus[0].time.mnk, 8.5e-11);
  o.from_time = 5e6;
  o.to_time = 6e6;
  EXPECT_THAT(message(fit_kernel(parsed(csv), o)), HasSubstr("no row is left"));
}

TEST(KernelFit, DatesAreUtcDays) {
  EXPECT_EQ(*parse_date("1970-01-02", ""), 86400);
  EXPECT_EQ(*parse_date("2019-11-27", ""), 1574812800);
  for (const std::string bad : {"2019-02-30", "2019-11", "2019-11-27x", ""})
    EXPECT_THAT(message(parse_date(bad, "--from-date")), HasSubstr("--from-date: error: not a date")) << bad;
}

// Times of a made-up MPI library over 0.4 us and 10 GB/s; breaks of the transfer at 1000 B and 65536 B.
struct Library {
  double send(double s) const { return 2e-7 + 1e-10 * s; }
  double recv(double s) const { return 3e-7 + 5e-11 * s; }
  double rest(double s) const {
    if (s < 1000) return 5e-7 + s / 4e9;
    if (s < 65536) return 9e-7 + s / 6e9;
    return 8e-6 + s / 9.5e9;
  }
  bool eager(double s) const { return s < 65536; }
  double one_way(double s) const { return rest(s) + (eager(s) ? send(s) + recv(s) : 0); }
};

std::string csv_of(const Library& l) {
  std::string csv = "experiment,cluster,msg_size,duration\n";
  const auto add = [&](const char* what, double s, double t) {
    char line[100];
    std::snprintf(line, sizeof line, "%s,x,%.0f,%.17g\n", what, s, t);
    csv += line;
  };
  for (double s = 1; s < 1e8; s = std::ceil(s * 1.2)) {
    add("pingpong", s, 2 * l.one_way(s));
    add("send", s, l.eager(s) ? l.send(s) : l.one_way(s));
    add("recv", s, l.eager(s) ? l.recv(s) : l.one_way(s));
    add("isend", s, l.eager(s) ? l.send(s) : 4e-7);
  }
  return csv;
}

TEST(NetworkFit, ALibraryOfKnownCostsComesBack) {
  const Library l;
  NetworkFitOptions o;
  o.latency = 4e-7;
  o.bandwidth = 1e10;
  auto f = fit_network({parsed(csv_of(l))}, o);
  ASSERT_TRUE(f) << f.error().message();
  ASSERT_EQ(f->transfer.size(), 3u);
  EXPECT_NEAR(f->transfer[0].intercept, 5e-7, 1e-11);
  EXPECT_NEAR(1 / f->transfer[1].slope, 6e9, 1e4);
  EXPECT_NEAR(f->transfer[2].intercept, 8e-6, 1e-10);
  EXPECT_TRUE(f->found_eager_limit);
  EXPECT_LT(f->options.eager_limit, 65536);
  EXPECT_GT(static_cast<double>(f->options.eager_limit) * 1.2 + 1, 65535);
  ASSERT_EQ(f->send.size(), 1u);
  EXPECT_NEAR(f->send[0].slope, 1e-10, 1e-15);
  EXPECT_EQ(f->recv_lowered_by, 0);
  ASSERT_EQ(f->isend.size(), 2u);

  const TempFile file(
      "net.textproto",
      "topology { family: \"crossbar\" set: \"n=2\" set: \"bw=10GB/s\" set: \"lat=200ns\" }\n" +
          f->textproto());
  const Platform p = load(file.path());
  ASSERT_EQ(p.mpi.transfer.size(), 3u);
  EXPECT_NEAR(p.mpi.transfer[0].latency_factor, 1.25, 1e-3);
  EXPECT_NEAR(p.mpi.transfer[2].bandwidth_factor, 0.95, 1e-3);
  EXPECT_EQ(p.mpi.send_cost.back().from, f->options.eager_limit + 1);
  EXPECT_EQ(p.mpi.send_cost.back().intercept, 0);
}

TEST(NetworkFit, ALatencyBelowTheRoutesIsTakenFromTheReceive) {
  const Library l;
  NetworkFitOptions o;
  o.latency = 6e-7;  // the data show 0.5 us
  o.bandwidth = 1e10;
  auto f = fit_network({parsed(csv_of(l))}, o);
  ASSERT_TRUE(f) << f.error().message();
  EXPECT_NEAR(f->recv_lowered_by, 1e-7, 1e-11);
  EXPECT_NEAR(f->transfer[0].intercept, 6e-7, 1e-11);
}

// Calls and route add up to the one-way time: what sums of such numbers are off by is nobody's finding.
TEST(NetworkFit, RoundingLowersNoReceive) {
  for (const double call : {3e-7, 1e-7, 7e-7, 1.1e-6}) {
    std::string csv = "experiment,msg_size,duration\n";
    for (double s = 0; s <= 65536; s = s < 1 ? 1 : 2 * s) {
      const double one_way = 1e-6 + 1e-10 * s + 2 * call;
      csv += fmt::format("pingpong,{0},{1:.17g}\nsend,{0},{2:.17g}\nrecv,{0},{2:.17g}\nisend,{0},{2:.17g}\n",
                         s, 2 * one_way, call);
    }
    NetworkFitOptions o;
    o.latency = 1e-6;
    o.bandwidth = 1e10;
    o.eager_limit = 1 << 20;
    const auto f = fit_network({parsed(csv)}, o);
    ASSERT_TRUE(f) << f.error().message();
    EXPECT_EQ(f->recv_lowered_by, 0) << call;
  }
}

TEST(NetworkFit, OsuOutputAloneGivesLatencyAndBandwidth) {
  std::string text = "# OSU MPI Latency Test v5.8\n# Size          Latency (us)\n";
  for (double s = 1; s <= 4194304; s *= 2)
    text += std::to_string(static_cast<int>(s)) + " " + std::to_string(1.5 + s / 1e4) + "\n";
  auto latency = Measurements::parse("osu.txt", text);
  auto bandwidth = Measurements::parse(
      "bw.txt", "# OSU MPI Bandwidth Test\n# Size   Bandwidth (MB/s)\n1 5\n4194304 12000\n");
  ASSERT_TRUE(latency);
  ASSERT_TRUE(bandwidth);
  std::vector<Measurements> both;
  both.push_back(*latency);
  auto alone = fit_network(both, {});
  ASSERT_TRUE(alone) << alone.error().message();
  EXPECT_NEAR(alone->options.latency, 1.5e-6, 1e-8);
  EXPECT_NEAR(alone->options.bandwidth, 1e10, 1e7);
  both.push_back(*bandwidth);
  auto f = fit_network(both, {});
  ASSERT_TRUE(f);
  EXPECT_EQ(f->options.bandwidth, 12e9) << "the link's bandwidth is what many messages at once get";
}

Measurements osu(const std::string& kind, double last, double (*value)(double)) {
  std::string text = "# OSU MPI " + kind + "\n";
  for (double s = 1; s <= last; s *= 2) text += fmt::format("{:.0f} {}\n", s, value(s));
  auto m = Measurements::parse("osu.txt", text);
  EXPECT_TRUE(m);
  return *m;
}

TEST(NetworkFit, SmallMessagesAloneDoNotShowABandwidth) {
  // 1.5 us and 10 GB/s: at 1 KiB the bytes take 7 % of the time, at 16 KiB 52 %.
  const auto line = [](double s) { return 1.5 + s / 1e4; };
  const auto small = fit_network({osu("Latency Test v5.8\n# Size Latency (us)", 1024, line)}, {});
  ASSERT_TRUE(small) << small.error().message();
  EXPECT_TRUE(small->bandwidth_unknown);
  EXPECT_EQ(small->options.bandwidth, 0);
  EXPECT_NEAR(small->options.latency, 1.5e-6, 1e-9);
  EXPECT_THAT(small->textproto(), HasSubstr("too small to show its bandwidth"));
  const TempFile file("small.textproto",
                      "topology { family: \"crossbar\" set: \"n=2\" }\n" + small->textproto());
  EXPECT_EQ(load(file.path()).mpi.transfer.at(0).bandwidth_factor, 1);
  NetworkFitOptions given;
  given.bandwidth = 1e10;
  EXPECT_FALSE(
      fit_network({osu("Latency Test v5.8\n# Size Latency (us)", 1024, line)}, given)->bandwidth_unknown);
  const auto large = fit_network({osu("Latency Test v5.8\n# Size Latency (us)", 16384, line)}, {});
  ASSERT_TRUE(large);
  EXPECT_FALSE(large->bandwidth_unknown);
  EXPECT_NEAR(large->options.bandwidth, 1e10, 1e7);
}

TEST(NetworkFit, ABandwidthTestAloneGivesTheLinkAndTheGapBetweenMessages) {
  // A message follows another after 0.4 us + s / 12 GB/s.
  const auto f = fit_network({osu("Bandwidth Test v5.8\n# Size Bandwidth (MB/s)", 4194304,
                                  [](double s) { return s / (0.4 + s / 12e3); })},
                             {});
  ASSERT_TRUE(f) << f.error().message();
  ASSERT_FALSE(f->stream.empty());
  EXPECT_NEAR(f->stream.front().intercept, 4e-7, 1e-10);
  EXPECT_NEAR(1 / f->stream.back().slope, 12e9, 1e6);
  EXPECT_NEAR(f->options.bandwidth, 12e9, 2e7);
  EXPECT_EQ(f->options.latency, 0);
  EXPECT_TRUE(f->transfer.empty());
  EXPECT_THAT(f->textproto(), HasSubstr("bw=11.9"));
}

// Whatever was measured: the fragment is one that the platform reader takes, or the error names what is missing.
TEST(NetworkFit, EverySetOfExperimentsGivesAFragmentThatIsReadOrAnError) {
  const Library l;
  const std::string all = csv_of(l);
  const std::vector<std::string> names = {"pingpong", "send", "isend", "recv", "local"};
  int read = 0, refused = 0;
  for (unsigned set = 1; set < 1u << names.size(); ++set) {
    std::string csv = "experiment,cluster,msg_size,duration\n", what;
    std::istringstream lines(all);
    for (std::string line; std::getline(lines, line);)
      for (std::size_t i = 0; i + 1 < names.size(); ++i)
        if ((set >> i & 1) != 0 && line.starts_with(names[i] + ",")) csv += line + "\n";
    if ((set >> 4 & 1) != 0)
      for (double s = 1; s < 1e6; s *= 2) csv += fmt::format("local,x,{:.0f},{}\n", s, 1e-7 + s / 5e9);
    SCOPED_TRACE(fmt::format("set {}", set));
    const bool calls = (set & 14) != 0, pingpong = (set & 1) != 0;
    const auto f = fit_network({parsed(csv)}, {});
    if (calls && !pingpong) {
      EXPECT_THAT(message(f), HasSubstr("calls without a ping-pong"));
      ++refused;
      continue;
    }
    ASSERT_TRUE(f) << f.error().message();
    EXPECT_EQ(f->send_as_isend, (set & 6) == 4);
    const TempFile file("set.textproto", "topology { family: \"crossbar\" set: \"n=2\" }\n" + f->textproto());
    const Platform p = load(file.path());
    EXPECT_EQ(p.mpi.send_cost.empty(), (set & 6) == 0);
    ++read;
  }
  EXPECT_EQ(read, 17);
  EXPECT_EQ(refused, 14);
}

TEST(NetworkFit, WhatTakesNoTimeIsNoMeasurement) {
  EXPECT_THAT(
      message(fit_network({parsed("experiment,msg_size,duration\npingpong,0,1e-6\npingpong,100,0\n")}, {})),
      HasSubstr("in.csv:3:14: error: duration is out of range; got \"0\""));
  EXPECT_THAT(message(fit_network({parsed("# OSU MPI Latency Test\n0 1.00\n1024 2\n1024 0\n")}, {})),
              HasSubstr("in.csv:4:6: error: time is out of range; got \"0\""));
}

TEST(NetworkFit, SeveralClustersNeedAChoice) {
  const auto m = parsed("experiment,cluster,msg_size,duration\npingpong,a,1,1e-6\npingpong,b,2,1e-6\n");
  EXPECT_THAT(message(fit_network({m}, {})), HasSubstr("a, b"));
  NetworkFitOptions o;
  o.cluster = "c";
  EXPECT_THAT(message(fit_network({m}, o)), HasSubstr("no such cluster"));
}

TEST(Fit, MutatedFilesAreFittedOrRefusedWithTheirPlace) {
  Rng rng(seed());
  SCOPED_TRACE("seed " + std::to_string(seed()));
  std::string osu = "# OSU MPI Latency Test v5.8\n# Size          Latency (us)\n";
  for (long s = 1; s < 100000; s *= 3)
    osu += std::to_string(s) + "   " + std::to_string(1.5 + static_cast<double>(s) / 1e4) + "\n";
  const std::string texts[] = {osu, csv_of(Library()).substr(0, 1500),
                               "m,n,k,seconds,node,cpu\n10,20,30,1e-6,0,1\n100,20,30,2e-6,0,1\n10,200,30,3e-"
                               "6,1,0\n40,20,30,4e-6,1,0\n"};
  const std::string_view bits[] = {",", "\n", "-1", "1e309",        "nan", "1e-320",
                                   "#", "\"", "\0", "999999999999", " ",   "x"};
  int fitted = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string text = texts[round % 3];
    for (std::uint64_t i = 1 + rng.below(3); i > 0; --i) {
      const std::size_t at = rng.below(text.size());
      text.replace(at, rng.below(4), bits[rng.below(std::size(bits))]);
    }
    auto m = Measurements::parse("f", text);
    if (!m) {
      EXPECT_EQ(m.error().where.substr(0, 2), "f:") << text;
      continue;
    }
    KernelFitOptions kernel;
    kernel.model = round % 2 == 0 ? KernelModel::kFull : KernelModel::kLinear;
    if (auto f = fit_kernel(*m, kernel)) {
      EXPECT_FALSE(f->textproto().empty());
      ++fitted;
    }
    if (auto f = fit_network({*m}, {})) {
      // What is fitted is finite: no text of it holds nan or inf.
      const std::string t = f->textproto();
      EXPECT_EQ(t.find("nan"), std::string::npos) << text << t;
      EXPECT_EQ(t.find("inf"), std::string::npos) << text << t;
      ++fitted;
    }
  }
  EXPECT_GT(fitted, 150);
}

TEST(DahuCalibration, RatesAndSegmentsAreThoseOfTheMeasurements) {
  const std::filesystem::path data = std::filesystem::path(support::shared_dir()) / "data/dahu";
  WEFT_NEEDS(std::filesystem::exists(data), "no " << data);
  auto regressions = Measurements::read((data / "dgemm_calibration.csv").string());
  ASSERT_TRUE(regressions) << regressions.error().message();
  auto f = fit_kernel(*regressions, {});
  ASSERT_TRUE(f);
  EXPECT_EQ(f->cpus.size(), 64u);
  EXPECT_EQ(f->hosts, 32u);
  EXPECT_EQ(f->rows, 1456u);
  EXPECT_NEAR(f->mean.time.mnk, 7.37e-11, 0.02e-11);
  auto network = Measurements::read((data / "pycewise_data.csv").string());
  ASSERT_TRUE(network);
  NetworkFitOptions o;
  o.cluster = "dahu";
  o.latency = 2e-7;
  o.bandwidth = 12.5e9;
  auto n = fit_network({*network}, o);
  ASSERT_TRUE(n) << n.error().message();
  // SMPI's calibration of the same machine: breaks at 8,133 and 63,305 B; 12.33 GB/s beyond.
  EXPECT_NEAR(1 / n->transfer.back().slope, 12.33e9, 0.25e9);
  EXPECT_GT(n->options.eager_limit, 4000);
  EXPECT_LE(n->options.eager_limit, 8133);
}

// Messages under load: the wait for the next poll, then two rates, then a start that costs 50 ms.
TEST(NetworkFit, MessagesUnderLoadBecomeSegmentsOfTheirOwn) {
  const Library library;
  std::string idle = "experiment,msg_size,duration\n", loaded = idle;
  for (double s = 1; s < 4e8; s *= 1.2) {
    const double n = std::floor(s);
    idle += fmt::format("pingpong,{},{:.17g}\nsend,{},{:.17g}\n", n, 2 * library.one_way(n), n,
                        library.eager(n) ? library.send(n) : library.one_way(n));
    const double way = n < 1e6 ? 1e-4 + 300e-12 * n : n < 1e8 ? -2e-4 + 700e-12 * n : 50e-3 + 200e-12 * n;
    loaded += fmt::format("pingpong,{},{:.17g}\n", n, 2 * way);
  }
  NetworkFitOptions o;
  o.latency = 4e-7;
  o.bandwidth = 1e10;
  o.eager_limit = 65535;
  const auto f = fit_network({parsed(idle)}, o, {parsed(loaded)});
  ASSERT_TRUE(f) << const_cast<Result<NetworkFit>&>(f).error().message();
  EXPECT_TRUE(f->loaded_local.empty());
  const TempFile file("loaded.textproto",
                      "topology { family: \"crossbar\" set: \"n=2\" set: \"bw=10GB/s\" }\n" + f->textproto());
  const auto& list = load(file.path()).mpi.loaded_transfer;
  ASSERT_GE(list.size(), 3u) << f->textproto();
  EXPECT_EQ(list.front().from, 65536) << "smaller ones are there before the poll";
  for (const CostSegment& c : list) {
    const double expected = c.from < 900'000 ? 300e-12 : c.from < 90'000'000 ? 700e-12 : 200e-12;
    EXPECT_NEAR(c.per_byte, expected, 0.02 * expected) << c.from;
  }
  EXPECT_EQ(list.front().intercept, 0) << "the wait for a poll is a replay's own";
  for (const CostSegment& c : list)
    if (c.per_byte > 600e-12) {
      EXPECT_NEAR(c.intercept, -2e-4, 2e-5) << c.from;
    }
  EXPECT_NEAR(list.back().intercept, 50e-3, 1e-3);
  EXPECT_THAT(message(fit_network({parsed(idle)}, o, {parsed("experiment,msg_size,duration\nsend,1,1\n")})),
              HasSubstr("no message under load"));
}

// A line through 0 may come out a zero below it.
TEST(NetworkFit, ALineThroughZeroIsNotBelowIt) {
  NetworkFit f;
  LineSegment line;
  line.intercept = -0.0;
  line.slope = 1e-10;
  f.loaded = {line};
  EXPECT_NE(f.textproto().find("intercept: \"0us\" per_byte"), std::string::npos) << f.textproto();
}

}  // namespace
}  // namespace weft::topology::fit
