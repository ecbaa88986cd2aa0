// The matrix of runs against replays one by one.
#include "predict/run_matrix.hpp"

#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

#include "tests/predict/support.hpp"
#include "tests/support/files.hpp"
#include "tests/support/link_copies.hpp"
#include "topology/placement/placement.hpp"

namespace weft::predict {
namespace {

// Every rank sends `bytes` to the rank half way round, `rounds` times.
testing::MemoryTrace ring(std::uint32_t ranks, std::int64_t bytes, int rounds) {
  testing::MemoryTrace t(ranks);
  for (std::uint32_t r = 0; r < ranks; ++r) {
    const auto peer = static_cast<std::int32_t>((r + ranks / 2) % ranks);
    t.add(r, {.kind = traces::OpKind::init});
    for (int i = 0; i < rounds; ++i) {
      t.p2p(r, traces::OpKind::irecv, peer, 0, bytes, CommId(0), 0);
      t.p2p(r, traces::OpKind::send, peer, 0, bytes);
      t.wait(r, 0);
    }
    t.add(r, {.kind = traces::OpKind::finalize});
  }
  return t;
}

// A link to a GPU carries 1 MB of a message and 3 MB of a copy.
TEST(RunMatrixWithCopies, ThoseWhoShareTheWorstLinkAreMessagesAndCopies) {
  testing::MemoryTrace t(2);
  testing::copy_over_links(t, 0, traces::Kernel::copy_to_device, 3'000'000);
  t.p2p(1, traces::OpKind::send, 0, 0, 1'000'000);
  t.p2p(0, traces::OpKind::recv, 1, 0, 1'000'000);
  const TraceFile trace("copies.weft", t);
  const support::TempDir folder;
  const std::string platform =
      folder.write("node.textproto",
                   "topology { family: \"pcie\" set: \"switches=0\" set: \"cards=2\" set: \"gpus=1\" set: "
                   "\"mem=on\" set: \"bw=10GB/s\" }\n"
                   "host { kernel { name: \"copy_to_device\" place: \"links\" } }\n");
  MatrixRequest request;
  request.traces = {trace.path()};
  request.platforms = {{platform, {}}};
  Matrix m;
  const auto ran = run_matrix(request, m);
  ASSERT_TRUE(ran) << ran.error().message();
  const LinkSharers& s = m.runs[0].facts.worst_link_sharers;
  EXPECT_TRUE(s.known);
  EXPECT_EQ(s.pairs, 1u);
  EXPECT_EQ(s.bytes, 1'000'000u);
  EXPECT_EQ(s.copied, 3'000'000u);
}

class RunMatrix : public ::testing::Test {
 protected:
  RunMatrix()
      : small_(ring(4, 1000, 2)), large_(ring(8, 1 << 20, 3)), a_("a.weft", small_), b_("b.weft", large_) {
    request_.traces = {a_.path(), b_.path()};
    request_.platforms = {{"crossbar:n=4,ranks_per_host=2,bw=10Gbps", {}}, {"torus:dims=8,bw=25Gbps", {}}};
    request_.maps = {"block", "cyclic", "random"};
    request_.seed = 7;
  }
  testing::MemoryTrace small_, large_;
  TraceFile a_, b_;
  MatrixRequest request_;
};

TEST_F(RunMatrix, RunsGoTraceByTracePlatformByPlatformMapByMapAndAreThoseOfReplaysAlone) {
  for (const unsigned threads : {1u, 3u}) {
    request_.threads = threads;
    Matrix m;
    ASSERT_TRUE(run_matrix(request_, m));
    ASSERT_EQ(m.runs.size(), 12u);
    std::size_t i = 0;
    for (auto* trace : {&small_, &large_})
      for (std::size_t p = 0; p < 2; ++p)
        for (const std::string map : {"block", "cyclic", "random"}) {
          const MatrixRun& run = m.runs[i++];
          EXPECT_EQ(run.trace, trace == &small_ ? a_.path() : b_.path());
          EXPECT_EQ(std::tie(run.platform, run.map), std::tie(p, map));
          const auto platform = platform_of(request_.platforms[p].spec);
          const auto hosts = topology::place_ranks(platform, trace->header().ranks, map, 7);
          ASSERT_TRUE(hosts);
          trace->rewind();
          const auto alone = replay::replay(*trace, platform, *hosts, {});
          ASSERT_TRUE(alone);
          EXPECT_EQ(run.result.makespan, alone->makespan) << run.trace << " " << p << " " << map;
          EXPECT_EQ(run.facts.result, &run.result);
          EXPECT_EQ(run.facts.platform->name, platform.name);
          EXPECT_EQ(run.facts.map, map);
        }
    EXPECT_EQ(m.facts().size(), 12u);
    EXPECT_NE(m.runs[6].result.makespan, m.runs[9].result.makespan) << "the platforms differ";
  }
}

// What grows with ranks, links and operations goes; what comparisons ask for stays.
TEST_F(RunMatrix, ADigestStandsForARunWhereOnlyDigestsAreKept) {
  request_.options.critical_path = true;
  Matrix whole, digests, shown;
  ASSERT_TRUE(run_matrix(request_, whole));
  request_.kept = KeptOfRuns::kDigest;
  ASSERT_TRUE(run_matrix(request_, digests));
  request_.kept = KeptOfRuns::kRanksAndLinks;
  ASSERT_TRUE(run_matrix(request_, shown));
  ASSERT_EQ(digests.runs.size(), whole.runs.size());
  for (std::size_t i = 0; i < whole.runs.size(); ++i) {
    const MatrixRun &a = whole.runs[i], &b = digests.runs[i];
    EXPECT_FALSE(a.result.ranks.empty() || a.result.links.empty() || a.result.path.segments.empty());
    EXPECT_EQ(b.result.ranks.capacity() + b.result.links.capacity() + b.result.path.segments.capacity(), 0u);
    EXPECT_EQ(shown.runs[i].result.ranks.size(), a.result.ranks.size());
    EXPECT_EQ(shown.runs[i].result.links.size(), a.result.links.size());
    EXPECT_EQ(shown.runs[i].result.path.segments.capacity(), 0u);
    EXPECT_EQ(shown.runs[i].result.path.parts, a.result.path.parts);
    EXPECT_EQ(a.result.makespan, b.result.makespan);
    EXPECT_EQ(a.result.fingerprint, b.result.fingerprint);
    const RunDigest x = digest_of(a.facts), y = digest_of(b.facts);
    EXPECT_EQ(x.ranks, y.ranks);
    EXPECT_EQ(x.sums.finish, y.sums.finish);
    EXPECT_EQ(x.sums.causes, y.sums.causes);
    EXPECT_EQ(x.worst.link, y.worst.link);
    if (x.worst.link.valid()) {
      EXPECT_EQ(utilization(a.facts, x.worst), utilization(b.facts, y.worst));
    }
    EXPECT_EQ(x.most_waited.link, y.most_waited.link);
    EXPECT_EQ(path_digest_of(a.facts).parts, path_digest_of(b.facts).parts);
    EXPECT_EQ(mean_hops(a.facts), mean_hops(b.facts));
  }
}

TEST_F(RunMatrix, TheFirstErrorInOrderIsToldWhateverTheNumberOfThreads) {
  // Whether a kernel exists is asked when a run starts, not when the platform is read.
  const auto with = [](const std::string& kernel) {
    return "topology { family: \"crossbar\" set: \"n=8\" }\nhost { kernel { name: \"" + kernel +
           "\" mnk: \"1ps\" } }\n";
  };
  const TempFile second("second.textproto", with("second")), third("third.textproto", with("third"));
  request_.platforms = {{"crossbar:n=8", {}}, {second.path(), {}}, {third.path(), {}}};
  for (const unsigned threads : {1u, 2u, 5u, 9u})
    for (int again = 0; again < 5; ++again) {
      request_.threads = threads;
      Matrix m;
      const auto r = run_matrix(request_, m);
      ASSERT_FALSE(r);
      EXPECT_EQ(r.error().got, "second");
    }
}

TEST_F(RunMatrix, WhatHasNoPlaceIsRefusedBeforeAnythingRuns) {
  request_.platforms.push_back({"crossbar:n=4", {}});  // 8 ranks have no place
  bool ran = false;
  request_.on_progress = [&](std::uint64_t, std::uint64_t) { ran = true; };
  Matrix m;
  EXPECT_FALSE(run_matrix(request_, m));
  EXPECT_FALSE(ran);
}

TEST_F(RunMatrix, ProgressRisesToAllOperationsOfAllRuns) {
  // 4 ranks of 2 + 3 * 2 operations and 8 of 2 + 3 * 3, on two platforms with three maps each.
  constexpr std::uint64_t kAll = (4 * 8 + 8 * 11) * 6;
  for (const unsigned threads : {1u, 3u}) {
    request_.threads = threads;
    std::uint64_t last = 0;
    request_.on_progress = [&](std::uint64_t done, std::uint64_t total) {
      EXPECT_EQ(total, kAll);
      EXPECT_GE(done, last);
      last = done;
    };
    Matrix m;
    ASSERT_TRUE(run_matrix(request_, m));
    EXPECT_EQ(last, kAll);
  }
}

}  // namespace
}  // namespace weft::predict
