// What reports say of copies over links between accelerators and hosts (tests/replay has one of the same name): what links
// carry when, and who shares them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "predict/link_sharers.hpp"
#include "report/compare.hpp"
#include "report/html/run_collector.hpp"
#include "report/timeline/timeline.hpp"
#include "tests/support/hosts.hpp"
#include "tests/support/link_copies.hpp"

namespace weft::report::link_copies_test {
namespace {

using testing::MemoryTrace;
using traces::Kernel;
using traces::OpKind;

constexpr std::int64_t kMega = 1'000'000;

// A rank on each of two GPUs: both launch copies, rank 0 makes some itself, one of them both ways, and sends to rank 1.
MemoryTrace program() {
  MemoryTrace t(2);
  for (const std::uint32_t r : {0u, 1u}) {
    testing::launch_over_links(t, r, Kernel::copy_to_device, 4 * kMega, 0);
    testing::launch_over_links(t, r, Kernel::copy_to_host, 2 * kMega, 1);
  }
  testing::copy_over_links(t, 0, Kernel::copy_to_host, 8 * kMega, true);
  t.p2p(0, OpKind::send, 1, 0, 3 * kMega);
  t.p2p(1, OpKind::recv, 0, 0, 3 * kMega);
  testing::copy_over_links(t, 0, Kernel::copy_to_device, 16 * kMega);
  for (const std::uint32_t r : {0u, 1u})
    for (const std::uint32_t request : {0u, 1u}) t.wait(r, request);
  return t;
}

// Collected for viewers and for the page.
struct World {
  topology::Platform platform =
      testing::with_link_copies("pcie:switches=0,cards=2,gpus=1,mem=on,bw=10GB/s,both_bw=16GB/s,lat=1us");
  std::vector<HostId> hosts = testing::first_hosts(2);
  MemoryTrace trace = program();
  replay::ReplayOptions options;
  replay::ReplayResult result;
  LinkLoad of_viewers, of_page;

  World() {
    options.header = Bytes(16);  // of messages alone
    TimelineCollector timeline(2, {}, platform.fabric, hosts, options);
    RunCollector page(trace, platform, hosts, options, {});
    auto watched = options;
    timeline.attach(watched);
    page.attach(watched);
    result = replay::replay(trace, platform, hosts, watched).value();
    trace.rewind();
    of_viewers = timeline.finish(trace, result.makespan).value().load;
    predict::RunFacts facts;
    facts.platform = &platform;
    facts.options = &options;
    facts.result = &result;
    of_page = page.finish(trace, facts).value().traffic->load;
  }
};

TEST(LinkCopiesInReports, WhatEveryLinkCarriesIsWhatTheReplayCounts) {
  const World w;
  EXPECT_TRUE(w.result.finished);
  const LinkId to_gpu(3), from_memory(2);
  ASSERT_EQ(w.platform.fabric.link_name(to_gpu), "rc0->gpu0");
  ASSERT_EQ(w.platform.fabric.link_name(from_memory), "mem0->rc0");
  for (const LinkLoad& load : {w.of_viewers, w.of_page}) {
    ASSERT_EQ(load.unknown, "");
    std::vector<std::uint64_t> counted;
    for (const auto& use : w.result.links) counted.push_back(use.bytes);
    EXPECT_EQ(load.link_bytes, counted);
    EXPECT_EQ(load.link_bytes[to_gpu.index()], 28u * kMega);
    EXPECT_EQ(load.link_bytes[from_memory.index()], 32u * kMega);
    EXPECT_EQ(load.links.size(), counted.size()) << "all are used";
    // The use of a link over all bins is its utilization, and never more than its bandwidth.
    for (std::size_t i = 0; i < load.links.size(); ++i) {
      const std::size_t l = load.links[i].index();
      double used = 0;
      for (std::uint32_t b = 0; b < load.bins; ++b) {
        EXPECT_LE(load.used[i * load.bins + b], 1 + 1e-6);
        used += load.used[i * load.bins + b];
      }
      EXPECT_NEAR(used * to_seconds(load.bin) * w.platform.fabric.links().capacity[l],
                  static_cast<double>(counted[l]), 1e-6 * static_cast<double>(counted[l]));
    }
  }
}

TEST(LinkCopiesInReports, SharesOfPairsAreOfAllBytesOfTheLink) {
  const World w;
  predict::RunFacts run;
  run.platform = &w.platform;
  run.options = &w.options;
  run.result = &w.result;
  run.ranks = 2;
  const LinkId to_gpu(3), from_memory(2);
  predict::PairTraffic traffic;
  traffic.add(RankId(1), RankId(0), Bytes(kMega));
  traffic.add_copy(HostId(2), HostId(0), Bytes(3 * kMega));
  traffic.add_copy(HostId(0), HostId(2), Bytes(5 * kMega));  // the other way
  traffic.add_copy(HostId(2), HostId(1), Bytes(7 * kMega));  // to the other GPU
  run.worst_link_sharers = traffic.sharers_of(to_gpu, w.platform.fabric, w.hosts);
  const CompareRow row = compare_row(run, &run);
  EXPECT_EQ(
      compare_row_json(row)["worst_link_pairs"].dump(),
      "{\"pairs\":1,\"bytes\":1000000,\"most\":[{\"src\":1,\"dst\":0,\"bytes\":1000000,\"share\":0.25}]}");
  EXPECT_THAT(compare_csv({row}), ::testing::HasSubstr("one pair of ranks uses it: 1->0 25 %; copies 75 %"));
  run.worst_link_sharers = traffic.sharers_of(from_memory, w.platform.fabric, w.hosts);
  const CompareRow copies = compare_row(run, &run);
  EXPECT_EQ(compare_row_json(copies)["worst_link_pairs"].dump(), "{\"pairs\":0,\"bytes\":0,\"most\":[]}");
  EXPECT_THAT(compare_csv({copies}), ::testing::HasSubstr("copies alone use it"));
}

}  // namespace
}  // namespace weft::report::link_copies_test
