// Traffic that papers and machines are measured by, on their networks: the fat-tree patterns of PPT's section VI,
// Aries' injection limit, Frontera's taper, shifts on a full fat-tree. Oracles are closed forms.
#include <gtest/gtest.h>

#include "core/rng.hpp"
#include "network/flow_run.hpp"
#include "topology/platform/platform.hpp"
#include "topology/routing/route_cache.hpp"

namespace weft::network {
namespace {

topology::Platform platform(const std::string& spec) {
  auto p = topology::load_platform(spec);
  EXPECT_TRUE(p) << (p ? "" : p.error().message());
  return std::move(p).value();
}

struct Flow {
  std::uint32_t src, dst;
  std::int64_t bytes;
};

// Mean time of a flow and the time of the last, all started at once.
struct Times {
  double mean = 0, last = 0;
  std::vector<double> each;
};
Times run(const topology::Platform& p, const std::vector<Flow>& flows) {
  auto run = FlowRun::create("max-min", p.fabric.links().capacity);
  EXPECT_TRUE(run);
  topology::RouteCache routes(p.fabric);
  for (const Flow& f : flows) {
    const auto route = routes.find(HostId(f.src), HostId(f.dst));
    EXPECT_TRUE(route.reachable);
    run->add(route.links, Bytes(f.bytes), kTimeZero, route.latency, 1.0);
  }
  EXPECT_TRUE(run->run(false));
  Times t;
  for (std::uint32_t f = 0; f < run->size(); ++f) {
    t.each.push_back(to_seconds(run->finish(f)));
    t.mean += t.each.back() / static_cast<double>(flows.size());
    t.last = std::max(t.last, t.each.back());
  }
  return t;
}

// PPT, Fig. 3: 16 nodes, 20 switches, 1,024-byte messages, 500 to 8,000 of them, FDR links of 0.7 us. The paper gives
// curves only, so what is checked is their direction. All start at once: under fair sharing the messages of a host to
// its neighbour all end together, at the end, so the order of the patterns shows in the last message, not in the mean.
TEST(PaperFigures, FatTreeNearestNeighbourAndRandomTrafficGrowWithMessagesAndRandomEndsLater) {
  const auto p = platform("fat-tree:m=4,n=3,bw=56Gbps,lat=0.7us");
  const double rate = 7e9;
  double before_near = 0, before_random = 0;
  for (const std::uint32_t messages : {500u, 1000u, 2000u, 4000u, 8000u}) {
    std::vector<Flow> near, random;
    std::vector<std::uint32_t> out(16, 0), in(16, 0);
    Rng rng(17);
    for (std::uint32_t m = 0; m < messages; ++m) {
      const std::uint32_t s = m % 16;
      near.push_back({s, s ^ 1u, 1024});
      auto d = static_cast<std::uint32_t>(rng.below(15));
      if (d >= s) ++d;
      random.push_back({s, d, 1024});
      ++out[s];
      ++in[d];
    }
    const Times a = run(p, near), b = run(p, random);
    // Nearest neighbours share nothing but their own cables: two links, then the messages of a host one rate.
    EXPECT_NEAR(a.last, 2 * 0.7e-6 + *std::max_element(out.begin(), out.end()) * 1024.0 / rate, 1e-11);
    // Random: never faster than the busiest cable of a host; full bisection keeps it within a small factor.
    const double bound =
        std::max(*std::max_element(out.begin(), out.end()), *std::max_element(in.begin(), in.end())) *
        1024.0 / rate;
    EXPECT_GE(b.last, bound);
    EXPECT_LE(b.last, 3 * bound + 6 * 0.7e-6);
    EXPECT_GT(b.last, a.last);
    EXPECT_GT(a.mean, before_near);
    EXPECT_GT(b.mean, before_random);
    before_near = a.mean;
    before_random = b.mean;
    std::printf(
        "%5u messages of 1,024 B: last %.1f us to a neighbour, %.1f us to random; mean %.1f, %.1f us\n",
        messages, a.last * 1e6, b.last * 1e6, a.mean * 1e6, b.mean * 1e6);
  }
}

TEST(PaperFigures, AriesInjectsItsLimitAndOnePathCarriesOneCable) {
  const auto p = platform("aries:groups=2");
  constexpr std::int64_t kBytes = 10'000'000;
  // One pair: a green or black cable within a group, a blue one between groups.
  EXPECT_NEAR(kBytes / run(p, {{0, 4, kBytes}}).last, 5.25e9, 5.25e9 * 1e-3);
  EXPECT_NEAR(kBytes / run(p, {{0, 384, kBytes}}).last, 4.7e9, 4.7e9 * 1e-3);
  EXPECT_NEAR(kBytes / run(p, {{0, 1, kBytes}}).last, 10.2e9, 10.2e9 * 1e-3);  // two nodes of a router
  // To many places at once: 10.2 GB/s out of the node.
  std::vector<Flow> many;
  for (std::uint32_t i = 1; i <= 8; ++i) many.push_back({0, 4 * i, kBytes});
  EXPECT_NEAR(8.0 * kBytes / run(p, many).last, 10.2e9, 10.2e9 * 1e-3);
  // Latency of 8 bytes between the farthest: 1.3 us and the wire time.
  const auto far = platform("aries:groups=97,blue=1");
  std::uint32_t farthest = 384;
  std::vector<LinkId> route, longest;
  for (std::uint32_t d = 384; d < 800; ++d) {
    route.clear();
    ASSERT_TRUE(far.fabric.routing().route(HostId(300), HostId(d), route));
    if (route.size() <= longest.size()) continue;
    longest = route;
    farthest = d;
  }
  EXPECT_EQ(longest.size(), 7u);
  EXPECT_NEAR(run(far, {{300, farthest, 8}}).last, 1.3e-6, 5e-9);
}

TEST(PaperFigures, EveryShiftOnAFullFatTreeRunsAtLineRate) {
  for (const std::string spec :
       {"fat-tree:m=4,n=3,routing=d-mod-k", "xgft:m=4x8,w=1x4", "xgft:m=2x2x4,w=1x2x2"}) {
    const auto p = platform(spec + ",bw=10GB/s,lat=0");
    const std::uint32_t n = p.fabric.host_count();
    for (std::uint32_t shift = 1; shift < n; ++shift) {
      std::vector<Flow> flows;
      for (std::uint32_t s = 0; s < n; ++s) flows.push_back({s, (s + shift) % n, 1'000'000});
      EXPECT_NEAR(run(p, flows).last, 1e-4, 1e-10) << spec << " shift " << shift;
    }
  }
}

TEST(PaperFigures, TrafficOutOfAFronteraLeafRunsAtEighteenOf22) {
  // Four of Frontera's leaves: 44 hosts of HDR100, 18 up cables of HDR200.
  const auto p = platform("xgft:m=44x4,w=1x6,p=1x3,bw=100Gbpsx200Gbps,lat=0");
  constexpr std::int64_t kBytes = 12'500'000;  // 1 ms at host speed
  std::vector<Flow> flows;
  for (std::uint32_t h = 0; h < 44; ++h) flows.push_back({h, 44 + h, kBytes});
  // D-mod-K deals 2 or 3 destinations to a cable of two hosts' speed: 8 cables x 3, 10 cables x 2.
  const Times t = run(p, flows);
  EXPECT_NEAR(t.last, 1.5e-3, 1e-9);
  double rate = 0;
  for (const double s : t.each) rate += 1e-3 / s;
  EXPECT_NEAR(rate / 44, 18.0 / 22.0, 1e-9);
}

// However routes are chosen, the bytes that cross the best equal cut go over its cables: N^2 / 4 pairs each way.
TEST(PaperFigures, AllToAllIsNoFasterThanTheCut) {
  constexpr std::int64_t kBytes = 1'000'000;
  constexpr double kRate = 1e9;
  for (const char* spec : {"fat-tree:m=4,n=3", "torus:dims=4x4", "torus:dims=8x4", "hyperx:dims=4x4",
                           "hypercube:n=4", "dragonfly:p=1,a=2,h=1"}) {
    const auto p = platform(std::string(spec) + ",bw=1GB/s,lat=0");
    const std::uint32_t n = p.fabric.host_count();
    const auto cut = p.fabric.bisection_cables();
    ASSERT_TRUE(cut.has_value()) << spec;
    std::vector<Flow> flows;
    for (std::uint32_t a = 0; a < n; ++a)
      for (std::uint32_t b = 0; b < n; ++b)
        if (a != b) flows.push_back({a, b, kBytes});
    const double half = static_cast<double>(n / 2);
    const double crossing = half * (n - half);
    const double by_cut = crossing * kBytes / (static_cast<double>(*cut) * kRate);
    const double by_host = (n - 1) * static_cast<double>(kBytes) / kRate;
    const double last = run(p, flows).last;
    EXPECT_GE(last, std::max(by_cut, by_host) * (1 - 1e-9)) << spec;
    EXPECT_LE(last, 3 * std::max(by_cut, by_host)) << spec << ": worse than any of these should be";
  }
}

// Quiet latencies: a leaf of Frontera as one FDR hop of the study's Stampede (0.7 us), 90 ns more for each of the three
// switches of the way over a core; an Omni-Path switch of 105 ns between two ports.
TEST(PaperFigures, QuietLatenciesAreTheirLinksAndSwitches) {
  const auto latency = [](const topology::Platform& p, std::uint32_t a, std::uint32_t b) {
    topology::RouteCache routes(p.fabric);
    return to_seconds(routes.find(HostId(a), HostId(b)).latency) * 1e9;
  };
  const auto frontera = platform("frontera");
  EXPECT_NEAR(latency(frontera, 0, 1), 700, 15);
  EXPECT_NEAR(latency(frontera, 0, 44) - latency(frontera, 0, 1), 3 * 90, 1e-6);
  EXPECT_NEAR(latency(platform("crossbar:n=2,lat=100ns,switch_lat=105ns"), 0, 1), 2 * 100 + 105, 1e-6);
}

}  // namespace
}  // namespace weft::network
