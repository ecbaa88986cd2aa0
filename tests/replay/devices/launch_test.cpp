// Accelerators: what a rank launches runs in order beside it (docs/model.md, "Accelerators").
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/rng.hpp"
#include "replay/engine.hpp"
#include "tests/support/memory_trace.hpp"
#include "tests/support/platform_text.hpp"
#include "traces/kernel.hpp"

namespace weft::replay::launch_test {
namespace {

using testing::MemoryTrace;
using traces::Kernel;
using traces::Op;
using traces::OpKind;

constexpr std::int64_t kUs = 1'000'000;  // ticks

// device_dgemm takes m us; a message of 1,000 bytes takes 1 us, rendezvous.
topology::Platform machine() {
  return testing::platform_of_text(
      "topology { family: \"crossbar\" set: \"n=4\" set: \"bw=1GB/s\" set: \"lat=0\" }\n"
      "host { ranks: 1 kernel { name: \"device_dgemm\" mnk: \"1us\" }\n"
      "       kernel { name: \"copy_to_device\" mnk: \"1us\" } }\n"
      "mpi { eager_limit: \"0B\" }\n");
}

void launch(MemoryTrace& t, std::uint32_t rank, std::int64_t us, std::uint32_t request = traces::kNoRequest,
            Kernel kernel = Kernel::device_dgemm) {
  t.add(rank, {.kind = OpKind::launch, .request = request}, {static_cast<std::int64_t>(kernel), us, 1, 1});
}
void compute(MemoryTrace& t, std::uint32_t rank, std::int64_t us) { t.compute(rank, Duration(us * kUs)); }

Result<ReplayResult> run(MemoryTrace& t) {
  std::vector<HostId> hosts;
  for (std::uint32_t r = 0; r < t.header().ranks; ++r) hosts.emplace_back(r);
  return replay(t, machine(), hosts, {});
}
std::int64_t finish_us(MemoryTrace& t, std::uint32_t rank = 0) {
  const auto r = run(t);
  EXPECT_TRUE(r) << (r ? "" : r.error().message());
  if (!r) return -1;
  const RankTimes& k = r->ranks[rank];
  EXPECT_EQ(k.compute + k.send + k.recv + k.wait + k.collective, k.finish);
  EXPECT_EQ(k.finish.count() % kUs, 0);
  return k.finish.count() / kUs;
}

TEST(Launch, ARankGoesOnAndItsWaitEndsWithTheKernel) {
  MemoryTrace t(1);
  launch(t, 0, 100, 1);
  compute(t, 0, 30);
  t.wait(0, 1);
  EXPECT_EQ(finish_us(t), 100);
}

TEST(Launch, KernelsOfARankRunOneAfterTheOther) {
  MemoryTrace t(1);
  launch(t, 0, 100);
  launch(t, 0, 40, 1);
  t.wait(0, 1);
  EXPECT_EQ(finish_us(t), 140);
}

TEST(Launch, AnAcceleratorThatWasIdleBeginsAtTheLaunch) {
  MemoryTrace t(1);
  launch(t, 0, 10);
  compute(t, 0, 30);
  launch(t, 0, 5, 1);
  t.wait(0, 1);
  EXPECT_EQ(finish_us(t), 35);
}

TEST(Launch, CopiesRunBesideKernelsOneAfterTheOther) {
  // Kernels 70 + 20, copies 30 + 50; the rank waits for what ends first, last, and goes on in between.
  MemoryTrace t(2);
  launch(t, 1, 70, 1);
  launch(t, 1, 30, 2, Kernel::copy_to_device);
  launch(t, 1, 50, 3, Kernel::copy_to_device);
  launch(t, 1, 20, 4);
  launch(t, 0, 1);  // of another rank
  for (const std::uint32_t request : {2, 3, 1, 4}) t.wait(1, request);
  EXPECT_EQ(finish_us(t, 1), 90);

  MemoryTrace first(1);
  launch(first, 0, 70, 1);
  launch(first, 0, 30, 2, Kernel::copy_to_device);
  first.wait(0, 2);
  EXPECT_EQ(finish_us(first), 30);
  const auto r = run(first);
  ASSERT_TRUE(r) << r.error().message();
  EXPECT_EQ(r->ranks[0].device.count(), 70 * kUs);  // kernels alone
}

TEST(Launch, IsToldWithItsTimesByLaneInOrder) {
  MemoryTrace t(2);
  launch(t, 1, 70, 1);
  launch(t, 1, 30, 2, Kernel::copy_to_device);
  launch(t, 1, 50, 3, Kernel::copy_to_device);
  launch(t, 1, 20, 4);
  launch(t, 0, 500);  // longer than anybody waits
  for (const std::uint32_t request : {2, 3, 1, 4}) t.wait(1, request);
  compute(t, 1, 10);
  launch(t, 1, 5, 5);
  t.wait(1, 5);
  std::map<std::pair<std::uint32_t, DeviceSeen::Lane>, std::vector<std::vector<std::int64_t>>> told;
  ReplayOptions o;
  o.on_device = [&told](const DeviceSeen& d) {
    told[{d.rank.index(), d.lane}].push_back({static_cast<std::int64_t>(d.op),
                                              d.begin.time_since_epoch().count() / kUs,
                                              d.end.time_since_epoch().count() / kUs});
    EXPECT_EQ(d.kernel, d.lane == DeviceSeen::Lane::kKernels ? Kernel::device_dgemm : Kernel::copy_to_device);
  };
  const auto r = replay(t, machine(), {HostId(0), HostId(1)}, o);
  ASSERT_TRUE(r) << r.error().message();
  using Rows = std::vector<std::vector<std::int64_t>>;
  EXPECT_EQ(told.size(), 3u);
  EXPECT_EQ((told[{1, DeviceSeen::Lane::kKernels}]), (Rows{{0, 0, 70}, {3, 70, 90}, {9, 100, 105}}));
  EXPECT_EQ((told[{1, DeviceSeen::Lane::kCopies}]), (Rows{{1, 0, 30}, {2, 30, 80}}));
  EXPECT_EQ((told[{0, DeviceSeen::Lane::kKernels}]), (Rows{{0, 0, 500}}));
  EXPECT_EQ(r->ranks[1].device.count(), 95 * kUs);
}

TEST(Launch, WhatNobodyWaitsForHoldsNobodyUp) {
  MemoryTrace t(1);
  launch(t, 0, 500);
  compute(t, 0, 3);
  EXPECT_EQ(finish_us(t), 3);
}

TEST(Launch, AMessageHidesBehindAKernelOfEitherSide) {
  // Send 50 us of data under 80 us of work; then 50 us over the top of 20.
  for (const auto& [work, expected] : {std::pair{80, 80}, std::pair{20, 50}}) {
    MemoryTrace t(2);
    for (std::uint32_t r = 0; r < 2; ++r) {
      launch(t, r, work, 1);
      t.p2p(r, r == 0 ? OpKind::send : OpKind::recv, r == 0 ? 1 : 0, 5, 50'000);
      t.wait(r, 1);
    }
    EXPECT_EQ(finish_us(t, 0), expected);
    EXPECT_EQ(finish_us(t, 1), expected);
  }
}

TEST(Launch, TheWaitIsComputationAndTheDeviceTimeIsTold) {
  MemoryTrace t(2);
  launch(t, 0, 60);
  launch(t, 0, 40, 1);
  t.p2p(0, OpKind::send, 1, 5, 30'000);
  t.wait(0, 1);
  t.p2p(1, OpKind::recv, 0, 5, 30'000);
  const auto r = run(t);
  ASSERT_TRUE(r) << r.error().message();
  EXPECT_EQ(r->ranks[0].send.count(), 30 * kUs);
  EXPECT_EQ(r->ranks[0].compute.count(), 70 * kUs);  // of 100, 30 are hidden
  EXPECT_EQ(r->ranks[0].wait.count(), 0);
  EXPECT_EQ(r->ranks[0].device.count(), 100 * kUs);
  EXPECT_EQ(r->ranks[0].device_hidden.count(), 30 * kUs);
  EXPECT_EQ(r->ranks[1].device.count(), 0);
  EXPECT_EQ(r->ranks[1].device_hidden.count(), 0);
}

// Kernel and copy run from 0 on; the rank computes for 5 us, then waits for both until the copy is over at 50. Of the kernel's 20 us
// 15 are in that wait, of which 30 more are the copy's alone: what is hidden is not work less wait, which is below 0.
TEST(Launch, WaitingForACopyIsNoWaitForKernelsThatAreOver) {
  MemoryTrace t(1);
  launch(t, 0, 20);
  launch(t, 0, 50, 2, Kernel::copy_to_device);
  compute(t, 0, 5);
  t.wait(0, 2);
  const auto r = run(t);
  ASSERT_TRUE(r) << r.error().message();
  EXPECT_EQ(r->makespan.count(), 50 * kUs);
  EXPECT_EQ(r->ranks[0].device.count(), 20 * kUs);
  EXPECT_EQ(r->ranks[0].device_hidden.count(), 5 * kUs);
}

TEST(Launch, OnlyAWaitMayNameIt) {
  const auto message = [](auto add) {
    MemoryTrace t(1);
    launch(t, 0, 10, 3);
    add(t);
    const auto r = run(t);
    EXPECT_FALSE(r);
    return r ? std::string() : r.error().message();
  };
  EXPECT_NE(message([](MemoryTrace& t) {
              t.add(0, {.kind = OpKind::waitall}, {3});
            }).find("waitall on request 3, a launched kernel: only a wait may name it"),
            std::string::npos);
  EXPECT_NE(message([](MemoryTrace& t) {
              t.add(0, {.kind = OpKind::test, .request = 3});
            }).find("test on request 3"),
            std::string::npos);
  EXPECT_NE(message([](MemoryTrace& t) {
              t.add(0, {.kind = OpKind::request_free, .request = 3});
            }).find("request_free on request 3"),
            std::string::npos);
  EXPECT_NE(message([](MemoryTrace& t) {
              t.add(0, {.kind = OpKind::cancel, .request = 3});
            }).find("cancel on request 3"),
            std::string::npos);
  EXPECT_NE(
      message([](MemoryTrace& t) { launch(t, 0, 1, 3); }).find("request 3 is started while it is in use"),
      std::string::npos);
}

TEST(Launch, KernelsBeyondTheEndOfTimeAreAnError) {
  MemoryTrace t(1);
  for (int i = 0; i < 300; ++i)
    t.add(0, {.kind = OpKind::launch, .request = i == 299 ? 1u : traces::kNoRequest},
          {static_cast<std::int64_t>(Kernel::device_dgemm), INT64_MAX, INT64_MAX, INT64_MAX});
  t.wait(0, 1);
  const auto r = run(t);
  EXPECT_FALSE(r && r->finished);
}

// One rank alone, by the definition: host, its accelerator's kernels and its copies are three clocks. What is hidden is counted
// microsecond by microsecond.
TEST(Launch, RandomProgramsTakeWhatThreeClocksSay) {
  const char* given = std::getenv("WEFT_SEED");
  const std::uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : 23;
  SCOPED_TRACE("WEFT_SEED=" + std::to_string(seed));
  Rng rng(seed);
  for (int i = 0; i < 200; ++i) {
    MemoryTrace t(1);
    std::int64_t host = 0, busy = 0;
    std::array<std::int64_t, 2> device{};  // kernels, copies
    std::map<std::uint32_t, std::int64_t> ends;
    std::set<std::int64_t> working, waiting;  // microseconds: kernels run, the rank waits
    const auto launched = [&](std::int64_t us, bool copy) {
      std::int64_t& end = device[copy ? 1 : 0];
      end = std::max(end, host) + us;
      if (copy) return;
      busy += us;
      for (std::int64_t at = end - us; at < end; ++at) working.insert(at);
    };
    for (int op = 0; op < 40; ++op) {
      const auto us = static_cast<std::int64_t>(rng.next() % 50);
      const auto slot = static_cast<std::uint32_t>(rng.next() % 6);
      const bool copy = rng.next() % 3 == 0;
      switch (rng.next() % 4) {
        case 0:
          compute(t, 0, us);
          host += us;
          break;
        case 1:
          launch(t, 0, us);
          launched(us, false);
          break;
        case 2:
          if (ends.contains(slot)) break;
          launch(t, 0, us, slot, copy ? Kernel::copy_to_device : Kernel::device_dgemm);
          launched(us, copy);
          ends[slot] = device[copy ? 1 : 0];
          break;
        default:
          if (!ends.contains(slot)) break;
          t.wait(0, slot);
          for (; host < ends[slot]; ++host) waiting.insert(host);
          ends.erase(slot);
      }
    }
    const auto hidden =
        std::ranges::count_if(working, [&](std::int64_t at) { return !waiting.contains(at); });
    const auto r = run(t);
    ASSERT_TRUE(r) << r.error().message();
    EXPECT_EQ(r->makespan.count(), host * kUs) << "program " << i;
    EXPECT_EQ(r->ranks[0].device.count(), busy * kUs) << "program " << i;
    EXPECT_EQ(r->ranks[0].device_hidden.count(), hidden * kUs) << "program " << i;
  }
}

// Kernels of 10^13 us each: whether somebody waits for the last of them or not, the clock ends before it does.
TEST(Launch, KernelsBeyondTheClockAreAnError) {
  for (const bool requested : {false, true})
    for (const bool waits : {false, true}) {
      MemoryTrace t(1);
      launch(t, 0, 9'000'000'000'000);
      launch(t, 0, 9'000'000'000'000, requested || waits ? 1 : traces::kNoRequest);
      launch(t, 0, 1);
      if (waits) t.wait(0, 1);
      const auto r = run(t);
      ASSERT_FALSE(r);
      EXPECT_NE(r.error().message().find("past"), std::string::npos) << r.error().message();
    }
}

// Rank 0 launches, computes, takes a message, and waits for its accelerator: the path is whatever was over last.
TEST(Launch, TheCriticalPathGoesThroughTheAcceleratorOrTheMessage) {
  for (const std::int64_t late : {20, 200}) {
    MemoryTrace t(2);
    const RegionId all = t.add_region("all");
    t.region(0, OpKind::region_begin, all);
    compute(t, 0, 5);
    launch(t, 0, 60);
    launch(t, 0, 40, 1);
    compute(t, 0, 10);
    t.p2p(0, OpKind::recv, 1, 0, 1000);
    t.wait(0, 1);
    compute(t, 0, 7);
    t.region(0, OpKind::region_end, all);
    compute(t, 1, late);
    t.p2p(1, OpKind::send, 0, 0, 1000);
    ReplayOptions o;
    o.critical_path = true;
    const auto r = replay(t, machine(), {HostId(0), HostId(1)}, o);
    ASSERT_TRUE(r);
    const PathParts& parts = r->path.parts;
    EXPECT_EQ(parts[static_cast<std::size_t>(PathPart::kOther)], Duration(0));
    if (late == 20) {
      ASSERT_EQ(r->path.segments.size(), 1u);
      EXPECT_EQ(r->path.segments[0].rank, RankId(0));
      EXPECT_EQ(parts[static_cast<std::size_t>(PathPart::kCompute)], Duration((5 + 60 + 40 + 7) * kUs));
      EXPECT_EQ(r->regions[0].longest, Duration((5 + 60 + 40 + 7) * kUs));
    } else {
      EXPECT_EQ(r->path.messages, 1u);
      EXPECT_EQ(parts[static_cast<std::size_t>(PathPart::kCompute)], Duration((200 + 7) * kUs));
    }
    Duration sum{0};
    for (const Duration d : parts) sum += d;
    EXPECT_EQ(sum, r->makespan);
  }
}

}  // namespace
}  // namespace weft::replay::launch_test
