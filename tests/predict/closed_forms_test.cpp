// What the closed forms of a prediction take from the platform and the run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "predict/hpl_peak.hpp"
#include "predict/hpl_prediction.hpp"
#include "tests/predict/support.hpp"

namespace weft::predict {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Four nodes of four ranks on a 4 x 4 grid: which ranks share a port decides the phase model.
TEST(ClosedForms, ThePhaseModelLaysTheGridOnNodesAsTheProgramDoes) {
  const auto platform = platform_of("crossbar:n=4,ranks_per_host=4,bw=1Gbps");
  const auto phases = [&](hpl_gen::ProcessMap map, int local_p, int local_q) {
    hpl_gen::HplConfig c{.n = 2048, .nb = 64, .p = 4, .q = 4, .pmap = map};
    c.program = hpl_gen::Program::kRocHpl;
    c.rochpl.local_p = local_p;
    c.rochpl.local_q = local_q;
    const auto forms = closed_forms(c, platform, {});
    EXPECT_TRUE(forms) << (forms ? "" : forms.error().message());
    return forms ? forms->phases : 0;
  };
  using hpl_gen::ProcessMap;
  const double columns = phases(ProcessMap::kColumnMajor, 4, 1), rows = phases(ProcessMap::kRowMajor, 0, 0);
  EXPECT_NE(columns, rows);
  EXPECT_EQ(phases(ProcessMap::kColumnMajor, 4, 0), columns);
  EXPECT_EQ(phases(ProcessMap::kColumnMajor, 1, 4), rows);
  EXPECT_EQ(phases(ProcessMap::kColumnMajor, 0, 0), rows) << "of a node's ranks as many columns as Q has";
  EXPECT_EQ(phases(ProcessMap::kRowMajor, 4, 1), rows) << "row by row, whatever the nodes are";
  const double squares = phases(ProcessMap::kColumnMajor, 2, 2);
  EXPECT_NE(squares, columns);
  EXPECT_NE(squares, rows);
}

// One process column has nothing to look ahead to: HPL runs it as DEPTH 0, whatever is asked for (HPL_pdgesv.c).
TEST(ClosedForms, ThePhaseModelLooksAheadWhereTheProgramDoes) {
  const auto platform = platform_of("crossbar:n=16,bw=10Gbps,lat=5us,speed=10Gflops");
  const auto phases = [&](int p, int q, int depth) {
    const auto forms = closed_forms({.n = 4000, .nb = 64, .p = p, .q = q, .depth = depth}, platform, {});
    EXPECT_TRUE(forms) << (forms ? "" : forms.error().message());
    return forms ? forms->phases : 0;
  };
  EXPECT_EQ(phases(8, 1, 1), phases(8, 1, 0));
  EXPECT_GT(phases(8, 2, 1), phases(8, 2, 0));
}

// Block-cyclic work is equal: whichever socket is the slow one, the run goes at its speed.
TEST(ClosedForms, TheSlowestRankDecidesOnWhateverSocketItIs) {
  const hpl_gen::HplConfig netlib{.n = 4000, .nb = 100, .p = 4, .q = 4, .depth = 1};
  for (const hpl_gen::Program program : {hpl_gen::Program::kNetlib, hpl_gen::Program::kRocHpl}) {
    hpl_gen::HplConfig c = netlib;
    c.program = program;
    const auto forms = [&](const std::string& group) {
      const auto f = closed_forms(
          c,
          crossbar_of(4,
                      "speed: \"50Gflops\" ranks: 4 sockets: 2 kernel { name: \"dgemm\" rate: \"40Gflops\" } "
                      "kernel { name: \"copy_to_host\" bandwidth: \"10GB/s\" } " +
                          group),
          {});
      EXPECT_TRUE(f) << (f ? "" : f.error().message());
      return f ? *f : ClosedFormPrediction();
    };
    const auto even = forms(""), all = forms("group { slowdown: \"4\" }");
    EXPECT_DOUBLE_EQ(all.gamma, 4 * even.gamma);
    for (const char* where : {"group { socket: 0 slowdown: \"4\" }", "group { socket: 1 slowdown: \"4\" }",
                              "group { hosts: \"3\" socket: 1 slowdown: \"4\" }"}) {
      const auto one = forms(where);
      EXPECT_EQ(one.gamma, all.gamma) << where;
      EXPECT_EQ(one.hpl, all.hpl) << where;
      EXPECT_EQ(one.mcl, all.mcl) << where;
      EXPECT_EQ(one.phases, all.phases) << where;
    }
    c.p = 2, c.q = 1;  // both on the first socket
    EXPECT_EQ(forms("group { socket: 1 slowdown: \"4\" }").gamma, forms("").gamma);
  }
}

// Rank r is on host r mod 4: row by row that lays columns on hosts, as column by column and host by host does.
TEST(ClosedForms, ThePhaseModelTakesTheNodesOfTheMap) {
  const auto platform = platform_of("crossbar:n=4,ranks_per_host=4,bw=1Gbps");
  const auto phases = [&](hpl_gen::ProcessMap pmap, const std::string& map) {
    PredictOptions options;
    options.map = map;
    const auto forms = closed_forms({.n = 2048, .nb = 64, .p = 4, .q = 4, .pmap = pmap}, platform, options);
    EXPECT_TRUE(forms) << (forms ? "" : forms.error().message());
    return forms ? forms->phases : 0;
  };
  using hpl_gen::ProcessMap;
  const double rows = phases(ProcessMap::kRowMajor, "block"),
               columns = phases(ProcessMap::kColumnMajor, "block");
  EXPECT_NE(rows, columns);
  EXPECT_EQ(phases(ProcessMap::kRowMajor, "cyclic"), columns);
  EXPECT_EQ(phases(ProcessMap::kColumnMajor, "cyclic"), rows);
  EXPECT_EQ(phases(ProcessMap::kRowMajor, "hpl-cols:4x4"), columns);
}

// A link to an accelerator that nothing runs on, of a program whose messages leave from the host, changes nothing; nor does
// it a replay.
TEST(ClosedForms, NetlibsMessagesDoNotCrossALinkToAnAccelerator) {
  const hpl_gen::HplConfig config{.n = 3000, .nb = 60, .p = 4, .q = 4};
  const std::string host = "speed: \"50Gflops\" kernel { name: \"dgemm\" rate: \"40Gflops\" } ";
  const auto without = closed_forms(config, crossbar_of(16, host), {});
  const auto with = closed_forms(config, crossbar_of(16, host + "device { bandwidth: \"0.1GB/s\" }"), {});
  ASSERT_TRUE(without && with);
  EXPECT_EQ(with->phases, without->phases);
}

// Links one way only: messages reach h3, and none comes back from it.
TEST(ClosedForms, HostsThatRoutesLeadToButNotFromAreRefused) {
  const TempFile f(
      "oneway.dot",
      "digraph g { h0 [kind=host]; h1 [kind=host]; h2 [kind=host]; h3 [kind=host]; s [kind=switch];\n"
      "h0 -> s; h1 -> s; h2 -> s; s -> h0; s -> h1; s -> h2; s -> h3; }\n");
  const auto forms = closed_forms({.n = 1000, .nb = 50, .p = 2, .q = 2}, platform_of(f.path()), {});
  ASSERT_FALSE(forms);
  EXPECT_THAT(forms.error().message(), ::testing::HasSubstr("no route; got \"h3 to h0\""));
}

// What a replay refuses has no closed form either, for the same reason.
TEST(ClosedForms, WhatIsNoRunIsRefusedAsByTheReplay) {
  const auto platform = platform_of("crossbar:n=4,bw=1Gbps");
  hpl_gen::HplConfig odd_node{.n = 1000, .nb = 50, .p = 2, .q = 2};
  odd_node.program = hpl_gen::Program::kRocHpl;
  odd_node.rochpl.local_p = 3;
  for (const hpl_gen::HplConfig& config :
       {odd_node, hpl_gen::HplConfig{.n = 0, .nb = 10, .p = 2, .q = 2},
        hpl_gen::HplConfig{.n = 1000, .nb = 2'000'000'000, .p = 2, .q = 2}}) {
    const auto forms = closed_forms(config, platform, {});
    const auto run = predict_hpl(config, platform, {});
    ASSERT_TRUE(!forms && !run);
    EXPECT_EQ(forms.error().message(), run.error().message());
    EXPECT_EQ(forms.error().code, run.error().code);
  }
}

// Kernels as weft fit writes them say nothing of a speed: the default of 10 Gflop/s is no peak of theirs.
TEST(ClosedForms, WithoutASpeedThePeakIsThatOfDgemm) {
  const std::string kernels = R"(kernel { name: "dgemm" intercept: "2.4us" mnk: "70ps" }
                                 kernel { name: "dtrsm_left" mnk: "36ps" })";
  const hpl_gen::HplConfig config{.n = 1500, .nb = 128, .p = 2, .q = 2};
  const double rate = 2 / 70e-12;
  const auto platform = crossbar_of(4, kernels);
  const auto run = predict_hpl(config, platform, {});
  const auto forms = closed_forms(config, platform, {});
  ASSERT_TRUE(run && forms);
  EXPECT_NEAR(run->peak_gflops, 4 * rate * 1e-9, 1e-4);
  EXPECT_GT(run->efficiency, 0.1);
  EXPECT_LT(run->efficiency, 1);
  EXPECT_GT(forms->roofline, run->gflops);
  EXPECT_THAT(
      peak_warnings(platform, {config}),
      ElementsAre("the platform gives no speed: its peak is what its dgemm does, 28.6 Gflop/s a rank at "
                  "NB = 128, not the default of 10 Gflop/s"));

  // What is given is the peak, and told of where it is none.
  const auto given = crossbar_of(4, "speed: \"20Gflops\" " + kernels);
  const auto low = predict_hpl(config, given, {});
  ASSERT_TRUE(low);
  EXPECT_DOUBLE_EQ(low->peak_gflops, 80);
  EXPECT_THAT(
      peak_warnings(given, {config}),
      ElementsAre("the platform's speed of 20 Gflop/s a rank is less than its dgemm does, 28.6 Gflop/s at "
                  "NB = 128: shares of the peak and the roofline are of that speed and may be exceeded"));
  EXPECT_THAT(peak_warnings(crossbar_of(4, "speed: \"30Gflops\" " + kernels), {config}), IsEmpty());
  EXPECT_THAT(peak_warnings(crossbar_of(4, ""), {config}), IsEmpty());
  // A share of the speed is no rate of its own.
  EXPECT_THAT(peak_warnings(crossbar_of(4, "kernel { name: \"dgemm\" efficiency: \"0.9\" }"), {config}),
              IsEmpty());
  for (const char* built_in : {"dahu", "dahu-2019-04", "frontera", "pupmaya", "torus-16"})
    EXPECT_THAT(peak_warnings(platform_of(built_in), {config}), IsEmpty()) << built_in;
  // Hosts of a group have the group's.
  const auto mixed = crossbar_of(4, kernels + " group { hosts: \"1\" speed: \"40Gflops\" }");
  const auto of_mixed = predict_hpl(config, mixed, {});
  ASSERT_TRUE(of_mixed);
  EXPECT_NEAR(of_mixed->peak_gflops, 3 * rate * 1e-9 + 40, 1e-4);
}

// Two hosts of four ranks, of which a run of five leaves three idle: both are of all eight.
TEST(ClosedForms, TheRooflineIsOfTheSameRanksAsThePeak) {
  const hpl_gen::HplConfig config{.n = 2000, .nb = 100, .p = 5, .q = 1};
  for (const char* map : {"block", "cyclic"}) {
    PredictOptions options;
    options.map = map;
    const auto platform = crossbar_of(2, "speed: \"10Gflops\" ranks: 4");
    const auto run = predict_hpl(config, platform, options);
    const auto forms = closed_forms(config, platform, options);
    ASSERT_TRUE(run && forms);
    EXPECT_DOUBLE_EQ(run->peak_gflops, 80);
    EXPECT_NEAR(forms->roofline / run->peak_gflops, 1, 2e-3) << map;  // 3/2 N^2 beside 2/3 N^3
  }
}

// A platform whose ranks are the accelerators has one table: its dgemm is theirs. So is that of all kernels.
TEST(ClosedForms, ThePeakIsThatOfTheEntryThatTheUpdateTakes) {
  hpl_gen::HplConfig config{.n = 30000, .nb = 512, .p = 2, .q = 2};
  config.program = hpl_gen::Program::kRocHpl;
  for (const char* name : {"device_dgemm", "dgemm", "*"}) {
    const auto platform = crossbar_of(4, std::string("kernel { name: \"") + name + "\" rate: \"19Tflops\" }");
    const auto clock = replay::KernelClock::create(platform);
    ASSERT_TRUE(clock);
    EXPECT_DOUBLE_EQ(HplPeak(platform, *clock, config).rank(HostId(0)), 19e12) << name;
    EXPECT_THAT(peak_warnings(platform, {config}), ElementsAre(::testing::HasSubstr("19 Tflop/s a rank")))
        << name;
  }
}

// Columns that the accelerator's memory has no room for go to it and back for each update.
TEST(ClosedForms, WhatDoesNotFitIsStreamedInThePhaseModelToo) {
  const auto platform = crossbar_of(
      4,
      "speed: \"20Tflops\" kernel { name: \"device_dgemm\" rate: \"19Tflops\" } kernel { name: "
      "\"copy_to_device\" bandwidth: \"2GB/s\" } kernel { name: \"copy_to_host\" bandwidth: \"2GB/s\" }");
  const auto phases = [&](std::int64_t memory) {
    hpl_gen::HplConfig c{.n = 20000, .nb = 256, .p = 2, .q = 2};
    c.program = hpl_gen::Program::kNvidia;
    c.rochpl.device_memory = memory;
    const auto forms = closed_forms(c, platform, {});
    EXPECT_TRUE(forms) << (forms ? "" : forms.error().message());
    return forms ? forms->phases : 0;
  };
  const double all = phases(0), fits = phases(4'000'000'000), none = phases(165'000'000),
               half = phases(400'000'000);
  EXPECT_EQ(fits, all);
  EXPECT_LT(half, all);
  EXPECT_LT(none, half);
  // With room for the buffers and 14 columns more, 0.15 % of a process, all others cross in every update, 2 GB/s each way, as long as they
  // are left: no faster than that, 1.5 times 0.15 % for the 14.
  double seconds = 0;
  for (double done = 0; done < 20000; done += 256) {
    const double left = 20000 - done;
    seconds += 8 * left / 2 * left / 2 / 2e9;
  }
  const double most = (2.0 / 3 * 8e12 + 1.5 * 4e8) / seconds * 1e-9;
  EXPECT_LT(none, 1.0023 * most);
  EXPECT_GT(none, 0.4 * most);
}

}  // namespace
}  // namespace weft::predict
