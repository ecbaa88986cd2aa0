// What the reports blame is checked by doing what they imply: the blamed link twice as fast, the blamed latency,
// overhead, bandwidth or speed changed. Either the answer is known in closed form, or it must lie within stated bounds.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "core/quantity_text.hpp"
#include "core/rng.hpp"
#include "replay/engine.hpp"
#include "report/explain.hpp"
#include "tests/support/memory_trace.hpp"
#include "traces/synthetic/pattern.hpp"

namespace weft::report {
namespace {

using replay::ReplayResult;
using traces::OpKind;

struct Replayed {
  topology::Platform platform;
  replay::ReplayOptions options;
  ReplayResult result;
  [[nodiscard]] predict::RunFacts facts() const {
    predict::RunFacts f;
    f.trace = "t";
    f.map = "block";
    f.routing = std::string(platform.fabric.routing().name());
    f.ranks = static_cast<std::uint32_t>(result.ranks.size());
    f.platform = &platform;
    f.options = &options;
    f.result = &result;
    return f;
  }
};

topology::Platform load(const std::string& spec) {
  auto p = topology::load_platform(spec);
  EXPECT_TRUE(p) << (p ? "" : p.error().message());
  return std::move(p).value();
}

Replayed run(traces::TraceReader& trace, topology::Platform platform, const std::vector<HostId>& hosts) {
  Replayed out;
  out.platform = std::move(platform);
  trace.rewind();
  auto r = replay::replay(trace, out.platform, hosts, out.options);
  EXPECT_TRUE(r) << (r ? "" : r.error().message());
  out.result = std::move(r).value();
  EXPECT_TRUE(out.result.finished);
  return out;
}

Replayed with_link(traces::TraceReader& trace, topology::Platform platform, const std::vector<HostId>& hosts,
                   LinkId link, double factor) {
  platform.fabric.scale_link(link, factor);
  return run(trace, std::move(platform), hosts);
}

// Seconds that all messages were under way after their latency.
double moving(const Replayed& r) {
  return to_seconds(r.result.network.transfer) + to_seconds(r.result.network.contention);
}

constexpr const char* kTopologies[] = {"hyperx:dims=4x4,hosts_per_switch=4",
                                       "crossbar:n=64",
                                       "torus:dims=8x8",
                                       "mesh:dims=16x4",
                                       "fat-tree:m=8,n=3",
                                       "xgft:h=2,m=16x4,w=1x4,p=1x1",
                                       "dragonfly:p=4,a=4,h=2",
                                       "hypercube:n=6"};

// Routes of all pairs of hosts, by the links that they cross.
struct Crossing {
  HostId src, dst;
  std::vector<LinkId> route;
};
std::vector<std::vector<Crossing>> crossings(const topology::Fabric& fabric) {
  std::vector<std::vector<Crossing>> by_link(fabric.link_count());
  const std::uint32_t n = std::min(fabric.host_count(), 72u);
  for (std::uint32_t a = 0; a < n; ++a)
    for (std::uint32_t b = 0; b < n; ++b) {
      Crossing c{HostId(a), HostId(b), {}};
      if (a == b || !fabric.routing().route(c.src, c.dst, c.route)) continue;
      for (const LinkId l : c.route) by_link[l.index()].push_back(c);
    }
  return by_link;
}

// Source and destination in turn of pairs of hosts whose routes meet on `link` and nowhere else; empty if there are not
// so many.
std::vector<HostId> meeting(const std::vector<Crossing>& over_link, LinkId link, std::uint32_t pairs) {
  std::vector<HostId> hosts;
  std::set<LinkId> used;
  for (const Crossing& c : over_link) {
    if (std::any_of(c.route.begin(), c.route.end(), [&](LinkId l) { return l != link && used.contains(l); }))
      continue;
    used.insert(c.route.begin(), c.route.end());
    hosts.insert(hosts.end(), {c.src, c.dst});
    if (hosts.size() == 2 * pairs) return hosts;
  }
  return {};
}

struct Meeting {
  LinkId link;
  std::vector<HostId> hosts;
};

// n messages of one size over one link and nothing else in common: each loses (n - 1) t, t = its time alone. Twice as
// fast, the link takes n/2 t, or t for n = 2, so of what it was blamed for it gives back n / 2 (n - 1).
TEST(Counterfactual, ALinkThatIsBlamedGivesBackWhatTheClosedFormSays) {
  std::size_t cases = 0;
  double worst = 0;
  for (const char* spec : kTopologies) {
    const auto platform = load(std::string(spec) + ",lat=0");  // so that all begin together
    auto by_link = crossings(platform.fabric);
    for (std::uint32_t draw = 0; draw < 14; ++draw) {
      // Two links for every n, drawn from those over which so many routes go.
      const std::uint32_t n = 2 + draw / 2;
      Rng rng(draw);
      Meeting m;
      for (int attempt = 0; attempt < 300 && m.hosts.empty(); ++attempt) {
        m.link = LinkId(static_cast<std::uint32_t>(rng.below(platform.fabric.link_count())));
        auto& list = by_link[m.link.index()];
        rng.shuffle(std::span<Crossing>(list));
        m.hosts = meeting(list, m.link, n);
      }
      if (m.hosts.empty()) continue;  // routes to one host share more than a link
      ++cases;
      SCOPED_TRACE(std::string(spec) + ", " + std::to_string(n) + " messages over " +
                   platform.fabric.link_name(m.link));
      testing::MemoryTrace trace(2 * n);
      constexpr std::int64_t kBytes = 10'000'000;
      for (std::uint32_t i = 0; i < n; ++i) {
        trace.p2p(2 * i, OpKind::send, static_cast<std::int32_t>(2 * i + 1), 0, kBytes);
        trace.p2p(2 * i + 1, OpKind::recv, static_cast<std::int32_t>(2 * i), 0, kBytes);
      }
      const Replayed base = run(trace, platform, m.hosts);
      const Replayed fast = with_link(trace, platform, m.hosts, m.link, 2);
      const double alone = kBytes / platform.fabric.links().capacity[m.link.index()];
      const double blamed = to_seconds(base.result.links[m.link.index()].waited);
      EXPECT_EQ(predict::digest_of(base.facts()).most_waited.link, m.link);
      EXPECT_NEAR(blamed / (n * (n - 1) * alone), 1, 1e-9);
      const double gave = moving(base) - moving(fast);
      const double share = gave / blamed, want = n / (2.0 * (n - 1));
      worst = std::max(worst, std::abs(share / want - 1));
      EXPECT_NEAR(share, want, 1e-9 * want);
      // The sentence: contention, this link, and as much as the run became faster.
      const std::string why = explain_slower(base.facts(), fast.facts());
      EXPECT_THAT(why, ::testing::HasSubstr(" slower: contention takes "));
      EXPECT_THAT(why, ::testing::HasSubstr(show_seconds(blamed) + " of it on " +
                                            platform.fabric.link_name(m.link) + ","));
      const predict::TimeSums a = predict::time_sums(base.result), b = predict::time_sums(fast.result);
      const double told =
          (a.cause(replay::Cause::kContention) - b.cause(replay::Cause::kContention)) / (2 * n);
      const double fell = to_seconds(base.result.makespan - fast.result.makespan);
      EXPECT_NEAR(told / fell, 1, 1e-9);
    }
  }
  EXPECT_GE(cases, 80u);
  RecordProperty("cases", static_cast<int>(cases));
  std::printf("%zu cases, worst deviation from the closed form %.2g\n", cases, worst);
}

struct Pattern {
  const char* kind;
  std::vector<std::pair<const char*, const char*>> keys;
};
const std::vector<Pattern>& patterns() {
  static const std::vector<Pattern> all{
      {"stencil", {{"dims", "4x4x4"}, {"bytes", "512KiB"}, {"iterations", "2"}}},
      {"halo", {{"dims", "8x8"}, {"bytes", "512KiB"}, {"iterations", "2"}}},
      {"permutation", {{"ranks", "64"}, {"pattern", "random"}, {"bytes", "1MiB"}, {"iterations", "1"}}},
      {"permutation", {{"ranks", "64"}, {"pattern", "transpose"}, {"bytes", "1MiB"}, {"iterations", "2"}}},
      {"random", {{"ranks", "64"}, {"messages", "3"}, {"bytes", "256KiB"}}},
      {"alltoall", {{"ranks", "64"}, {"bytes", "16KiB"}, {"how", "pairwise"}, {"iterations", "1"}}},
      {"ring", {{"ranks", "64"}, {"stride", "5"}, {"bytes", "1MiB"}, {"iterations", "2"}}},
  };
  return all;
}

// On patterns many links are full at once, and one of them twice as fast may bring nothing where the next is as full.
// But the one that is waited for most is a reason of its own: with all others a thousand times as fast messages still
// wait for it.
TEST(Counterfactual, TheLinkWaitedForMostIsWaitedForWhateverTheOthersAre) {
  std::size_t cases = 0;
  double least = 1e9;
  for (const char* spec : kTopologies)
    for (const Pattern& p : patterns()) {
      SCOPED_TRACE(std::string(spec) + ' ' + p.kind);
      traces::PatternArgs args;
      for (const auto& [key, value] : p.keys) args.set(key, value);
      auto trace = traces::synthetic_trace(p.kind, args, 1);
      ASSERT_TRUE(trace) << trace.error().message();
      const auto platform = load(spec);
      const auto hosts = topology::place_ranks(platform, 64, "block", 1);
      ASSERT_TRUE(hosts) << hosts.error().message();
      const Replayed base = run(**trace, platform, *hosts);
      double sum = 0;
      for (const auto& l : base.result.links) sum += to_seconds(l.waited);
      EXPECT_NEAR(sum, to_seconds(base.result.network.contention), 1e-9 * sum + 1e-9);
      const LinkId worst = predict::digest_of(base.facts()).most_waited.link;
      if (!worst.valid() || sum < 1e-6) continue;  // no contention worth a sentence
      ++cases;
      auto others = load(spec);
      for (std::uint32_t l = 0; l < platform.fabric.link_count(); ++l)
        if (LinkId(l) != worst) others.fabric.scale_link(LinkId(l), 1000);
      const Replayed alone = run(**trace, std::move(others), *hosts);
      const double blamed = to_seconds(base.result.links[worst.index()].waited);
      const double kept = to_seconds(alone.result.links[worst.index()].waited) / blamed;
      least = std::min(least, kept);
      EXPECT_GE(kept, 0.6) << platform.fabric.link_name(worst) << ' ' << show_seconds(blamed);
      EXPECT_GE(base.result.links[worst.index()].peak_flows, 2u);
    }
  EXPECT_GE(cases, 45u);
  std::printf("%zu cases, least share that stays %.3g\n", cases, least);
}

// The other sentences: one thing is made worse, and it alone must be named, with the difference that it made.
TEST(Counterfactual, WhateverElseIsChangedIsNamedWithItsDifference) {
  testing::MemoryTrace trace(2);
  for (int i = 0; i < 50; ++i)
    for (std::uint32_t r = 0; r < 2; ++r) {
      trace.flops(r, 1e4);
      const std::int64_t bytes = i % 10 == 0 ? 300'000 : 1000;  // some wait for the receiver
      trace.p2p(r, (r == 0) == (i % 2 == 0) ? OpKind::send : OpKind::recv, static_cast<std::int32_t>(1 - r),
                0, bytes);
    }
  struct Change {
    const char* starts;
    std::vector<replay::Cause> causes;
    std::function<void(topology::Platform&)> make;
    std::string more;
  };
  const std::vector<Change> changes{
      {"latency takes", {replay::Cause::kLatency, replay::Cause::kHandshake}, {}, ",lat=3us"},
      {"moving the data takes", {replay::Cause::kTransfer}, {}, ",bw=1GB/s"},
      {"computation takes", {}, {}, ",speed=1Gflops"},
      {"message overheads take",
       {replay::Cause::kSendOverhead, replay::Cause::kRecvOverhead},
       [](topology::Platform& p) { p.mpi.send_overhead = p.mpi.recv_overhead = Duration(2'000'000); },
       ""},
      {"message overheads take",
       {replay::Cause::kSendOverhead, replay::Cause::kRecvOverhead},
       [](topology::Platform& p) {
         p.mpi.send_cost = p.mpi.recv_cost = {{0, 2e-6, 1e-11}};
         p.mpi.send_overhead = Duration(900'000'000);  // not in force
       },
       ""},
  };
  for (const char* spec : kTopologies) {
    const auto platform = load(spec + std::string(",lat=1us,bw=10GB/s,speed=10Gflops"));
    const std::vector<HostId> hosts{HostId(0), HostId(platform.fabric.host_count() - 1)};
    const Replayed base = run(trace, platform, hosts);
    for (const Change& c : changes) {
      SCOPED_TRACE(std::string(spec) + ": " + c.starts);
      std::string with = spec + std::string(",lat=1us,bw=10GB/s,speed=10Gflops");
      if (!c.more.empty()) {
        const std::string key = c.more.substr(0, c.more.find('=') + 1);
        const std::size_t at = with.find(key);
        with = with.substr(0, at) + c.more + with.substr(std::min(with.find(',', at + 1), with.size()));
      }
      auto changed = load(with);
      if (c.make) c.make(changed);
      const Replayed slow = run(trace, std::move(changed), hosts);
      const std::string why = explain_slower(slow.facts(), base.facts());
      const double difference = to_seconds(slow.result.makespan - base.result.makespan);
      EXPECT_THAT(why, ::testing::StartsWith(show_seconds(difference) + " slower: " + c.starts)) << why;
      // What is named is at least half of the difference (the rest is what it does to the other rank), and taking it
      // back gives exactly the difference.
      const predict::TimeSums a = predict::time_sums(slow.result), b = predict::time_sums(base.result);
      double named = c.causes.empty() ? a.compute - b.compute : 0;
      for (const auto cause : c.causes) named += a.cause(cause) - b.cause(cause);
      EXPECT_GE(named / 2, 0.45 * difference) << why;
      EXPECT_LE(named / 2, 1.05 * difference) << why;
    }
    // Parameters that no message feels make no difference and no sentence.
    auto other = load(spec + std::string(",lat=1us,bw=10GB/s,speed=10Gflops"));
    other.mpi.send_cost = other.mpi.recv_cost = {{0, 0, 0}};
    other.mpi.send_overhead = Duration(900'000'000);
    EXPECT_EQ(explain_slower(run(trace, std::move(other), hosts).facts(), base.facts()),
              "as fast as the best");
  }
}

}  // namespace
}  // namespace weft::report
