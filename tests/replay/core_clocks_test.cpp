// Cores that compute faster while others of their CPU wait (docs/kernels.md, "Power").
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "replay/engine.hpp"
#include "tests/support/memory_trace.hpp"
#include "tests/support/platform_text.hpp"
#include "traces/kernel.hpp"

namespace weft::replay {
namespace {

using testing::MemoryTrace;
using traces::Kernel;
using traces::OpKind;

// dgemm takes m seconds, dlaswp too; messages of no bytes take no time.
topology::Platform cpus(const std::string& power, const std::string& more = {}) {
  return testing::platform_of_text(
      "topology { family: \"crossbar\" set: \"n=2\" set: \"lat=0\" }\n"
      "host { speed: \"1Gflops\" " +
      power +
      "\n"
      "kernel { name: \"dgemm\" mnk: \"1s\" }\n"
      "kernel { name: \"device_dgemm\" mnk: \"1s\" }\n"
      "kernel { name: \"dtrsm_right\" mnk: \"1s\" place: \"device\" }\n"
      "kernel { name: \"dlaswp\" mn: \"1s\" } " +
      more + " }\n");
}

void call(MemoryTrace& t, std::uint32_t rank, Kernel kernel, std::int64_t seconds) {
  t.add(rank, {.kind = OpKind::compute_kernel}, {static_cast<std::int64_t>(kernel), seconds, 1, 1});
}

// Rank 1 computes 1 s, waits 2 s for rank 0, then does what `last` adds.
template <class Last>
double seconds_of_rank_1(const topology::Platform& p, Last last, bool ahead = true, double unseen_s = 0) {
  MemoryTrace t(2);
  call(t, 0, Kernel::dgemm, 3);
  t.p2p(0, OpKind::send, 1, 0, 0);
  call(t, 1, Kernel::dgemm, 1);
  t.p2p(1, OpKind::recv, 0, 0, 0);
  last(t);
  ReplayOptions o;
  o.ranks_ahead = ahead;
  o.unseen_s = unseen_s;
  const auto r = replay(t, p, std::vector<HostId>{HostId(0), HostId(1)}, o);
  EXPECT_TRUE(r) << (r ? "" : r.error().message());
  return r ? static_cast<double>(r->ranks[1].finish.count()) * 1e-12 : 0;
}

// What the equations say of a rank that computed 1 s of 3.
double gain(double waiting, double time) {
  const double share = 1 - (1 - std::exp(-3 / time)) * (1 - 1.0 / 3);
  return std::cbrt(1 / (share + (1 - share) * waiting));
}

TEST(CoreClocks, ACoreThatWaitedComputesFasterByWhatTheEquationSays) {
  const auto dgemm = [](MemoryTrace& t) { call(t, 1, Kernel::dgemm, 1); };
  EXPECT_NEAR(seconds_of_rank_1(cpus(""), dgemm), 4, 1e-11);
  for (const bool ahead : {true, false}) {
    EXPECT_NEAR(seconds_of_rank_1(cpus("power { waiting: \"0.5\" headroom: \"9\" }"), dgemm, ahead),
                3 + 1 / gain(0.5, 1), 1e-11);
    EXPECT_NEAR(
        seconds_of_rank_1(cpus("power { waiting: \"0\" headroom: \"9\" time: \"7s\" }"), dgemm, ahead),
        3 + 1 / gain(0, 7), 1e-11);
  }
  EXPECT_NEAR(seconds_of_rank_1(cpus("power { waiting: \"1\" headroom: \"9\" }"), dgemm), 4, 1e-11);
}

// The rank has computed a third of what is seen; before that, `unseen` seconds ago, it began with 1.
TEST(CoreClocks, WhatWasNotSeenHasNoPartInTheAverage) {
  const topology::Platform p = cpus("power { waiting: \"0.5\" headroom: \"9\" time: \"4s\" }");
  const auto dgemm = [](MemoryTrace& t) { call(t, 1, Kernel::dgemm, 1); };
  for (const double unseen : {0.0, 0.5, 3.0, 40.0, 1e9}) {
    const double beginning = std::exp(-(unseen + 3) / 4), seen = 1 - std::exp(-3.0 / 4);
    const double share = (beginning + seen / 3) / (beginning + seen);
    for (const bool ahead : {true, false})
      EXPECT_NEAR(seconds_of_rank_1(p, dgemm, ahead, unseen), 3 + std::cbrt(share + (1 - share) * 0.5), 1e-11)
          << unseen;
  }
}

TEST(CoreClocks, NoClockIsAboveTheHeadroom) {
  const auto dgemm = [](MemoryTrace& t) { call(t, 1, Kernel::dgemm, 1); };
  EXPECT_NEAR(seconds_of_rank_1(cpus("power { waiting: \"0\" headroom: \"1.25\" }"), dgemm), 3.8, 1e-11);
  EXPECT_NEAR(seconds_of_rank_1(cpus("power { waiting: \"0\" }"), dgemm), 4, 1e-11);
  // Of host 1 alone; rank 0 computes as before.
  EXPECT_NEAR(
      seconds_of_rank_1(cpus("power { waiting: \"0\" }", "group { hosts: \"1\" headroom: \"1.25\" }"), dgemm),
      3.8, 1e-11);
}

TEST(CoreClocks, WhatGoesByTheClockIsComputationOfTheHost) {
  const topology::Platform p = cpus("power { waiting: \"0\" headroom: \"1.25\" }");
  EXPECT_NEAR(seconds_of_rank_1(p, [](MemoryTrace& t) { t.flops(1, 1e9); }), 3.8, 1e-11);
  EXPECT_NEAR(seconds_of_rank_1(p, [](MemoryTrace& t) { call(t, 1, Kernel::dlaswp, 1); }), 4, 1e-11);
  for (const Kernel on_device : {Kernel::device_dgemm, Kernel::dtrsm_right, Kernel::device_dtrsm_right})
    EXPECT_NEAR(seconds_of_rank_1(p, [&](MemoryTrace& t) { call(t, 1, on_device, 1); }), 4, 1e-11);
  EXPECT_NEAR(seconds_of_rank_1(p, [](MemoryTrace& t) { t.compute(1, Duration(1'000'000'000'000)); }), 4,
              1e-11);
}

// Waiting was long ago: 20 s of computation with a wait of 1 ns after them, then the call.
TEST(CoreClocks, TheAverageForgets) {
  const topology::Platform p = cpus("power { waiting: \"0\" headroom: \"9\" }");
  const double took = seconds_of_rank_1(p, [](MemoryTrace& t) {
    t.compute(1, Duration(20'000'000'000'000));
    t.compute(0, Duration(20'000'000'001'000));
    t.p2p(0, OpKind::send, 1, 1, 0);
    t.p2p(1, OpKind::recv, 0, 1, 0);
    call(t, 1, Kernel::dgemm, 1);
  });
  EXPECT_NEAR(took, 24, 1e-7);
  EXPECT_LT(took, 24.000000001);
}

}  // namespace
}  // namespace weft::replay
