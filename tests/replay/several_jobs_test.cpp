// Several jobs on one fabric: joined traces replay as each alone where they do not meet, and share links where they do.
#include <gtest/gtest.h>

#include "replay/collective_calls.hpp"
#include "replay/engine.hpp"
#include "topology/placement/placement.hpp"
#include "traces/check/check.hpp"
#include "traces/joined_trace.hpp"
#include "traces/synthetic/pattern.hpp"

namespace weft::replay::several_jobs_test {
namespace {

using Args = std::vector<std::pair<std::string, std::string>>;

std::unique_ptr<traces::TraceReader> pattern(const std::string& kind, const Args& args) {
  traces::PatternArgs a;
  for (const auto& [k, v] : args) a.set(k, v);
  auto t = traces::synthetic_trace(kind, a, 3);
  EXPECT_TRUE(t.has_value()) << (t ? "" : t.error().message());
  return std::move(*t);
}
std::unique_ptr<traces::JoinedTrace> join(std::vector<std::unique_ptr<traces::TraceReader>> readers) {
  std::vector<traces::JobTrace> jobs;
  for (auto& r : readers) jobs.push_back({"job " + std::to_string(jobs.size() + 1), std::move(r)});
  auto t = traces::JoinedTrace::join(std::move(jobs));
  EXPECT_TRUE(t.has_value());
  return std::move(*t);
}
topology::Platform load(const std::string& spec) {
  auto p = topology::load_platform(spec);
  EXPECT_TRUE(p.has_value()) << (p ? "" : p.error().message());
  return std::move(*p);
}
ReplayResult run(traces::TraceReader& t, const topology::Platform& p, const std::vector<HostId>& hosts) {
  auto r = replay(t, p, hosts, {});
  EXPECT_TRUE(r.has_value()) << (r ? "" : r.error().message());
  EXPECT_TRUE(r->finished);
  return std::move(*r);
}
std::vector<HostId> range(std::uint32_t first, std::uint32_t count) {
  std::vector<HostId> out;
  for (std::uint32_t i = 0; i < count; ++i) out.emplace_back(first + i);
  return out;
}

std::vector<std::unique_ptr<traces::TraceReader>> one_of_each() {
  std::vector<std::unique_ptr<traces::TraceReader>> out;
  out.push_back(pattern("fft", {{"grid", "3x4"}, {"cells", "30x20x10"}}));
  out.push_back(pattern("stencil", {{"dims", "4x3"}, {"compute", "3us"}}));
  out.push_back(pattern("random", {{"ranks", "9"}, {"messages", "30"}, {"window", "3"}}));
  out.push_back(pattern("collective", {{"ranks", "7"}, {"op", "bcast"}, {"root", "5"}}));
  out.push_back(pattern("sweep", {{"grid", "2x3"}, {"angles", "6"}, {"groups", "2"}}));
  return out;
}

TEST(SeveralJobs, AJoinedTraceIsACorrectProgram) {
  const auto joined = join(one_of_each());
  EXPECT_EQ(joined->header().ranks, 12u + 12 + 9 + 7 + 6);
  traces::CheckOptions o;
  o.synchronous = true;
  const auto report = traces::check_trace(*joined, o);
  ASSERT_TRUE(report.has_value());
  for (const auto& f : report->findings) ADD_FAILURE() << f.message;
}

TEST(SeveralJobs, CollectivesGoByTheLibraryThatIsNamedForAll) {
  std::vector<traces::JobTrace> jobs;
  jobs.push_back({"job 1", pattern("collective", {{"ranks", "6"}, {"op", "allgather"}, {"bytes", "1MB"}})});
  jobs.push_back({"job 2", pattern("collective", {{"ranks", "5"}, {"op", "bcast"}})});
  auto joined = traces::JoinedTrace::join(std::move(jobs), "Open MPI v5.0.3, package: x");
  ASSERT_TRUE(joined.has_value());
  EXPECT_EQ(name_of_rules({}, {}, (*joined)->header()).name, "openmpi5");
}

TEST(SeveralJobs, JobsThatShareNoLinkTakeExactlyTheirTimeAlone) {
  const auto platform = load("crossbar:n=46,bw=10Gbps,lat=1us");
  const auto joined = join(one_of_each());
  const auto together = run(*joined, platform, range(0, 46));
  for (std::size_t j = 0; j < joined->jobs(); ++j) {
    auto alone = one_of_each();
    const std::uint32_t first = joined->first_rank(j), n = alone[j]->header().ranks;
    const auto r = run(*alone[j], platform, range(first, n));
    for (std::uint32_t i = 0; i < n; ++i) {
      EXPECT_EQ(together.ranks[first + i].finish, r.ranks[i].finish) << "job " << j << " rank " << i;
      EXPECT_EQ(together.ranks[first + i].collective, r.ranks[i].collective);
    }
  }
}

TEST(SeveralJobs, TwoJobsOnOneLinkTakeTwiceAsLongAndThreeThrice) {
  // Every job sends across the one cable between two leaves: with n jobs each gets 1/n of it.
  const auto platform = load("xgft:h=2,m=4x2,w=1x1,bw=8Gbps,lat=0");
  for (std::uint32_t n = 1; n <= 3; ++n) {
    std::vector<std::unique_ptr<traces::TraceReader>> jobs;
    std::vector<HostId> hosts;
    for (std::uint32_t j = 0; j < n; ++j) {
      jobs.push_back(pattern("permutation", {{"ranks", "2"}, {"bytes", "100MB"}, {"iterations", "5"}}));
      hosts.emplace_back(j);
      hosts.emplace_back(4 + j);
    }
    const auto joined = join(std::move(jobs));
    const auto r = run(*joined, platform, hosts);
    EXPECT_NEAR(to_seconds(r.makespan), 0.5 * n, 1e-9) << n;
  }
}

TEST(SeveralJobs, JobsPlacedOneAfterTheOtherUseDifferentHosts) {
  const auto platform = load("xgft:h=2,m=4x4,w=1x2");
  std::vector<bool> taken(16, false);
  std::vector<HostId> all;
  for (const char* map : {"strided:2,hosts=all", "block", "random"}) {
    const auto p = topology::place(platform, 5, map, 1, taken);
    ASSERT_TRUE(p.has_value());
    for (const HostId h : p->hosts) {
      EXPECT_FALSE(taken[h.index()]);
      taken[h.index()] = true;
    }
  }
}

}  // namespace
}  // namespace weft::replay::several_jobs_test
