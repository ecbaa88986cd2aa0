// What platform files say about computation: classes, defaults and refusals.
#include "topology/platform/compute_reader.hpp"

#include <cmath>

#include "tests/topology/support.hpp"
#include "topology/platform/catalogue.hpp"

namespace weft::topology {
namespace {

using ::testing::HasSubstr;

Platform of(const std::string& host) {
  const TempFile f("compute.textproto",
                   "topology { family: \"crossbar\" set: \"n=8\" }\nhost { " + host + " }\n");
  return load(f.path());
}

std::string refusal(const std::string& host) {
  const TempFile f("compute.textproto",
                   "topology { family: \"crossbar\" set: \"n=8\" }\nhost {\n" + host + "\n}\n");
  const std::string e = error_of(f.path());
  EXPECT_THAT(e, HasSubstr(".textproto:3:")) << host;
  return e;
}

TEST(ComputeReader, SocketsOfTheSameGroupsShareAClass) {
  const Platform p =
      of("sockets: 2 group { hosts: \"1-6\" slowdown: \"1.1\" } group { hosts: \"6,7\" socket: 1 slowdown: "
         "\"1.2\" }");
  EXPECT_EQ(p.compute.classes.size(), 4u);  // none, first, second, both
  const auto at = [&](std::uint32_t host, std::uint32_t local) {
    return p.compute.classes[p.compute.class_index(HostId(host), local, 2)].slowdown;
  };
  EXPECT_EQ(at(0, 1), 1);
  EXPECT_EQ(at(3, 1), 1.1);
  EXPECT_EQ(at(6, 0), 1.1);
  EXPECT_EQ(at(6, 1), 1.2);
  EXPECT_EQ(at(7, 0), 1);
  EXPECT_EQ(at(7, 1), 1.2);
}

TEST(ComputeReader, TheSpeedOfAGroupIsThatOfTheModelThatMemoryBandwidthGives) {
  const Platform p =
      of("speed: \"10Gflops\" ranks: 2 memory_bandwidth: \"100GB/s\" group { hosts: \"1\" speed: "
         "\"20Gflops\" }");
  for (const std::uint32_t host : {0u, 1u}) {
    const auto& kernels = p.compute.classes[p.compute.class_index(HostId(host), 0, 2)].kernels;
    ASSERT_EQ(kernels.size(), 1u);
    EXPECT_EQ(kernels[0].kernel, "*");
    EXPECT_EQ(kernels[0].rate, host == 0 ? 10e9 : 20e9);
    EXPECT_EQ(kernels[0].bandwidth, 50e9);
  }
}

TEST(ComputeReader, TheMemoryOfTheHostIsNotThatOfItsDevices) {
  const Platform p =
      of("ranks: 4 memory_bandwidth: \"200GB/s\" kernel { name: \"device_dgemm\" place: \"device\" rate: "
         "\"20Tflops\" }"
         " kernel { name: \"device_dger\" place: \"device\" rate: \"1Tflops\" bandwidth: \"900GB/s\" }"
         " kernel { name: \"dgemm\" rate: \"100Gflops\" }");
  const auto& kernels = p.compute.classes[0].kernels;
  ASSERT_GE(kernels.size(), 3u);
  EXPECT_EQ(kernels[0].bandwidth, 0) << "flops alone";
  EXPECT_EQ(kernels[1].bandwidth, 900e9);
  EXPECT_EQ(kernels[2].bandwidth, 50e9);
}

// (for_k, mnk in ps) of the dgemm entries of a host, in their order.
std::vector<std::pair<std::string, double>> dgemm_entries(const Platform& p, std::uint32_t host) {
  std::vector<std::pair<std::string, double>> out;
  for (const KernelCost& k : p.compute.classes[p.compute.class_index(HostId(host), 0, 1)].kernels)
    if (k.kernel == "dgemm")
      out.emplace_back(k.bounds.all() ? "" : text_of(k.bounds.k), std::round(k.polynomial.mnk * 1e12));
  return out;
}

TEST(ComputeReader, EntriesOfAGroupComeBeforeWiderOnesOfTheHost) {
  const Platform p = of(
      "kernel { name: \"dgemm\" for_k: \"96-191\" mnk: \"100ps\" } kernel { name: \"dgemm\" mnk: \"50ps\" }"
      " kernel { name: \"dger\" mn: \"1ns\" }"
      " group { hosts: \"1-3\" kernel { name: \"dgemm\" for_k: \"128\" mnk: \"200ps\" } }"
      " group { hosts: \"2\" kernel { name: \"dgemm\" for_k: \"128\" mnk: \"210ps\" }"
      "   kernel { name: \"dgemm\" for_k: \"96-191\" mnk: \"300ps\" } kernel { name: \"dgemm\" mnk: \"60ps\" "
      "} }"
      " group { hosts: \"3\" kernel { name: \"dgemm\" for_k: \"100-130\" mnk: \"400ps\" } }");
  using Entries = std::vector<std::pair<std::string, double>>;
  EXPECT_EQ(dgemm_entries(p, 0), (Entries{{"96-191", 100}, {"", 50}}));
  EXPECT_EQ(dgemm_entries(p, 1), (Entries{{"128", 200}, {"96-191", 100}, {"", 50}}));
  EXPECT_EQ(dgemm_entries(p, 2), (Entries{{"128", 210}, {"96-191", 300}, {"", 60}}));
  EXPECT_EQ(dgemm_entries(p, 3), (Entries{{"100-130", 400}, {"128", 200}, {"96-191", 100}, {"", 50}}))
      << "later groups win";
}

// Terms below zero correct a cost; they do not outgrow it.
TEST(ComputeReader, LargeCallsTakeTime) {
  const auto told = HasSubstr("kernel whose large calls take less than no time; got \"dgemm\"");
  EXPECT_THAT(refusal("kernel { name: \"dgemm\" mnk: \"-1ps\" }"), told);
  EXPECT_THAT(refusal("kernel { name: \"dgemm\" intercept: \"-1us\" }"), told);
  EXPECT_THAT(refusal("kernel { name: \"dgemm\" for_k: \"1-8\" mnk: \"1ps\" mn: \"-10ps\" }"), told);
  const Platform p =
      of("kernel { name: \"dgemm\" for_k: \"1-16\" mnk: \"1ps\" mn: \"-10ps\" intercept: \"1us\" }");
  EXPECT_DOUBLE_EQ(p.compute.classes[0].kernels[0].polynomial(100, 100, 16), 1e-6 + 0.06e-6);
}

TEST(ComputeReader, APowerBudgetSaysWhatAWaitingCoreTakes) {
  const Platform p = of(
      "power { waiting: \"0.4\" headroom: \"1.1\" time: \"2s\" } group { hosts: \"3\" headroom: \"1.3\" }");
  EXPECT_EQ(p.compute.power.waiting, 0.4);
  EXPECT_EQ(p.compute.power.time, 2);
  EXPECT_EQ(p.compute.classes[0].headroom, 1.1);
  EXPECT_EQ(p.compute.classes[p.compute.class_index(HostId(3), 0, 1)].headroom, 1.3);
  EXPECT_THAT(refusal("power { headroom: \"1.1\" }"), HasSubstr("without the power of a core that waits"));
  EXPECT_THAT(refusal("power { waiting: \"1.5\" }"), HasSubstr("ratio out of range; got \"1.5\""));
  EXPECT_THAT(refusal("power { waiting: \"0.5\" headroom: \"0.9\" }"), HasSubstr("ratio out of range"));
  EXPECT_THAT(refusal("power { waiting: \"0.5\" time: \"0s\" }"), HasSubstr("time is not above 0"));
  EXPECT_THAT(refusal("group { hosts: \"3\" headroom: \"1.3\" }"),
              HasSubstr("headroom without a power budget"));
}

TEST(ComputeReader, SpeedOfAHostIsTheMeanOverItsSockets) {
  const Platform p = of("speed: \"10Gflops\" sockets: 2 group { hosts: \"2\" socket: 0 speed: \"4Gflops\" }");
  EXPECT_EQ(p.speed(HostId(0)).value(), 1e10);
  EXPECT_EQ(p.speed(HostId(2)).value(), 7e9);
  EXPECT_EQ(of("speed: \"10Gflops\"").host_speed.size(), 1u);
}

TEST(ComputeReader, AnEfficiencyIsOfTheHostsOwnSpeed) {
  const Platform p =
      of("speed: \"10Gflops\" kernel { name: \"dgemm\" efficiency: \"0.8\" } group { hosts: \"1\" speed: "
         "\"20Gflops\" }");
  EXPECT_DOUBLE_EQ(p.compute.classes[0].kernels[0].rate, 8e9);
  EXPECT_DOUBLE_EQ(p.compute.classes[1].kernels[0].rate, 16e9);
}

TEST(ComputeReader, TheOverriddenSpeedCounts) {
  const TempFile f("compute.textproto",
                   "topology { family: \"crossbar\" set: \"n=2\" }\nhost { speed: \"1Gflops\" kernel { name: "
                   "\"dgemm\" efficiency: \"0.5\" } }\n");
  EXPECT_DOUBLE_EQ(load(f.path(), {"host.speed=8Gflops"}).compute.classes[0].kernels[0].rate, 4e9);
}

TEST(ComputeReader, WhatMakesNoSenseIsRefusedWithItsPlace) {
  EXPECT_THAT(refusal("kernel { mnk: \"1ps\" }"), HasSubstr("without a name"));
  EXPECT_THAT(refusal("kernel { name: \"dgemm\" }"), HasSubstr("without a cost"));
  EXPECT_THAT(refusal("kernel { name: \"dgemm\" mnk: \"1\" }"), HasSubstr("a number with a unit"));
  EXPECT_THAT(refusal("kernel { name: \"dgemm\" mnk: \"1ps\" } kernel { name: \"dgemm\" mnk: \"1ps\" }"),
              HasSubstr("given twice"));
  EXPECT_THAT(refusal("kernel { name: \"dgemm\" rate: \"1Gflops\" efficiency: \"1\" }"),
              HasSubstr("both a rate and"));
  EXPECT_THAT(refusal("kernel { name: \"dgemm\" rate: \"1Gflops\" moved_mn: \"1\" }"),
              HasSubstr("not to a device"));
  EXPECT_THAT(refusal("kernel { name: \"dgemm\" rate: \"1Gflops\" place: \"moon\" }"),
              HasSubstr("host or device"));
  EXPECT_THAT(
      refusal("kernel { name: \"dgemm\" for_k: \"8\" mnk: \"1ps\" } kernel { name: \"dgemm\" for_k: \"8-8\" "
              "mnk: \"2ps\" }"),
      HasSubstr("given twice"));
  EXPECT_THAT(
      refusal("kernel { name: \"dgemm\" mnk: \"1ps\" } kernel { name: \"dgemm\" for_k: \"8\" mnk: \"2ps\" }"),
      HasSubstr("no call takes"));
  for (const std::string bad : {"", "-", "8-7", "1-2-3", "x", "-1-2", "8k"})
    EXPECT_THAT(refusal("kernel { name: \"dgemm\" for_n: \"" + bad + "\" mnk: \"1ps\" }"),
                ::testing::AnyOf(HasSubstr("not a range of sizes"), HasSubstr("whole number")))
        << bad;
  EXPECT_THAT(refusal("sockets: 0"), HasSubstr("out of range"));
  EXPECT_THAT(refusal("group { hosts: \"7-8\" slowdown: \"2\" }"), HasSubstr("from 7 to 7"));
  EXPECT_THAT(refusal("group { hosts: \"3-1\" slowdown: \"2\" }"), HasSubstr("3 to 7"));
  EXPECT_THAT(refusal("group { hosts: \"\" slowdown: \"2\" }"), HasSubstr("error"));
  EXPECT_THAT(refusal("sockets: 2 group { socket: 2 slowdown: \"2\" }"), HasSubstr("no such socket"));
  EXPECT_THAT(refusal("group { slowdown: \"0\" }"), HasSubstr("out of range"));
  EXPECT_THAT(refusal("socket_order: \"odd\""), HasSubstr("block or cyclic"));
  EXPECT_THAT(refusal("roofline: \"odd\""), HasSubstr("overlap or sum"));
}

TEST(ComputeReader, EveryCoefficientIsReadFromItsOwnField) {
  const Platform p =
      of("kernel { name: \"dgemm\" intercept: \"1s\" mnk: \"2s\" mn: \"3s\" mk: \"5s\" nk: \"7s\""
         " noise_intercept: \"11s\" noise_mnk: \"13s\" noise_mn: \"17s\" noise_mk: \"19s\" noise_nk: \"23s\""
         " noise: \"0.5\" }");
  const KernelCost& c = p.compute.classes[0].kernels[0];
  // m, n, k = 10, 100, 1000 put each product into digits of its own.
  EXPECT_EQ(c.polynomial(10, 100, 1000), 1 + 2e6 + 3e3 + 5e4 + 7e5);
  EXPECT_EQ(c.noise_polynomial(10, 100, 1000), 11 + 13e6 + 17e3 + 19e4 + 23e5);
  EXPECT_EQ(c.noise, 0.5);
}

TEST(ComputeReader, TheTermsOfAPolynomialAreItsSum) {
  KernelPolynomial p;
  double sum = 0, coefficient = 1;
  for (const auto& term : KernelPolynomial::kTerms) {
    p.*term.coefficient = ++coefficient;
    sum += coefficient * term.factor(3, 7, 13);
  }
  EXPECT_EQ(p(3, 7, 13), sum);
  EXPECT_EQ(p(3, 7, 13), 2 + 3.0 * 273 + 4.0 * 21 + 5.0 * 39 + 6.0 * 91);
}

TEST(ComputeReader, DahuGivesEveryCpuItsOwnCoefficients) {
  for (const std::string name : {"dahu", "dahu-2019-04", "dahu-2020"}) {
    const Platform p = load(name);
    EXPECT_EQ(p.compute.classes.size(), 65u) << name;
    EXPECT_EQ(p.name, name == "dahu-2020" ? "dahu" : name);
    double rate = 0, slowest = 1e300;  // of a wide call with k = 128, Gflop/s
    for (std::uint32_t h = 0; h < 32; ++h)
      for (std::uint32_t local = 0; local < 32; ++local) {
        const KernelCost& c = p.compute.classes[p.compute.class_index(HostId(h), local, 32)].kernels.front();
        ASSERT_EQ(c.kernel, "dgemm");
        ASSERT_TRUE(c.bounds.k.holds(128));
        ASSERT_FALSE(c.bounds.all());
        const double one = 2e-9 * 1e4 * 1e4 * 128 / c.polynomial(1e4, 1e4, 128);
        rate += one / 1024;
        slowest = std::min(slowest, one);
      }
    // The hot nodes of 2019 are up to 17 % below the mean of all.
    EXPECT_NEAR(rate, name == "dahu-2019-04" ? 28.81 : 29.29, 0.05) << name;
    EXPECT_NEAR(slowest / rate, name == "dahu-2019-04" ? 0.825 : 0.904, 0.01) << name;
    EXPECT_TRUE(p.mpi.assumed.empty());
    EXPECT_EQ(p.mpi.eager_limit, Bytes(8132));
    ASSERT_EQ(p.mpi.loaded_transfer.size(), 6u);
    EXPECT_EQ(p.mpi.loaded_transfer.back().intercept, 97.091e-3);
    EXPECT_EQ(p.mpi.loaded_local_transfer.size(), 5u);
  }
}

}  // namespace
}  // namespace weft::topology
