// Links that give each flow their whole bandwidth: as if every flow had one of its own, and as SimGrid 3.32 has them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/rng.hpp"
#include "network/flow_run.hpp"
#include "network/sharing.hpp"
#include "tests/congestion/cases.hpp"
#include "tests/support/fatpipe_cluster.hpp"
#include "tests/support/files.hpp"
#include "topology/platform/platform.hpp"
#include "topology/routing/route_cache.hpp"

namespace weft::network {
namespace {

namespace problems = congestion::problems;
using support::TempFile;

topology::Platform load(const std::string& spec) {
  auto p = topology::load_platform(spec);
  EXPECT_TRUE(p) << (p ? "" : p.error().message());
  return p ? std::move(*p) : topology::Platform();
}

topology::Platform load_routes(const std::string& text) {
  const TempFile file("fatpipe.routes", text);
  return load("routes:path=" + file.path());
}

// Routes over a few links of any order, some of them fatpipes, narrower and wider than the others.
std::string random_network(std::uint32_t hosts, Rng& rng) {
  const auto links = static_cast<std::uint32_t>(2 + rng.below(20));
  std::string text;
  for (std::uint32_t l = 0; l < links; ++l)
    text += fmt::format("L {} l{} {} {}{}\n", l, l, 1e9 * static_cast<double>(1 + rng.below(16)),
                        1e-6 * static_cast<double>(rng.below(3)), rng.below(3) == 0 ? " fatpipe" : "");
  for (std::uint32_t s = 0; s < hosts; ++s)
    for (std::uint32_t d = 0; d < hosts; ++d) {
      if (s == d) continue;
      text += fmt::format("R {} {}", s, d);
      const auto first = static_cast<std::uint32_t>(rng.below(links));
      const auto hops = static_cast<std::uint32_t>(1 + rng.below(std::min(links, 5u)));
      for (std::uint32_t k = 0; k < hops; ++k) text += fmt::format(" {}", (first + k) % links);
      text += "\n";
    }
  return text;
}

// The same flows where each has a link of its own for each fatpipe.
class PrivateLinks {
 public:
  explicit PrivateLinks(const topology::LinkTable& links) : links_(links) { c_.capacity = links.capacity; }
  void add(std::span<const LinkId> route, double weight, double limit) {
    problems::Flow f{{}, weight, limit};
    for (const LinkId l : route) {
      f.route.push_back(links_.is_fatpipe(l) ? LinkId(static_cast<std::uint32_t>(c_.capacity.size())) : l);
      if (links_.is_fatpipe(l)) c_.capacity.push_back(links_.capacity[l.index()]);
    }
    c_.flows.push_back(std::move(f));
  }
  [[nodiscard]] std::vector<long double> rates(bool share) const {
    if (share) return problems::reference_rates(c_);
    std::vector<long double> alone;
    for (const problems::Flow& f : c_.flows) {
      double least = f.limit;
      for (const LinkId l : f.route) least = std::min(least, c_.capacity[l.index()]);
      alone.push_back(least);
    }
    return alone;
  }

 private:
  const topology::LinkTable& links_;
  problems::Case c_;
};

// Flows come and go, some weighted, some with a limit of their own; in the last seeds so many that rates are kept by groups.
void check_rates(std::string_view model, std::uint64_t seed, std::uint32_t most) {
  SCOPED_TRACE(fmt::format("{} WEFT_SEED={}", model, seed));
  Rng rng(seed);
  const auto hosts = static_cast<std::uint32_t>(2 + rng.below(8));
  const topology::Platform p = load_routes(random_network(hosts, rng));
  topology::RouteCache routes(p.fabric);
  auto made = make_model(model, p.fabric);
  ASSERT_TRUE(made);
  const bool weighted = rng.below(2) == 0;
  struct Alive {
    FlowId id;
    topology::RouteCache::Route route;
    std::vector<LinkId> links;
    double weight, cap;
  };
  std::vector<Alive> alive;
  for (int round = 0; round < 6; ++round) {
    for (auto k = static_cast<std::uint32_t>(rng.below(alive.size() + 1)); k-- > 0;) {
      std::swap(alive[rng.below(alive.size())], alive.back());
      (*made)->remove(alive.back().id);
      alive.pop_back();
    }
    while (alive.size() < most / 2 + rng.below(most)) {
      const auto s = static_cast<std::uint32_t>(rng.below(hosts)), d = (s + 1) % hosts;
      const auto route = routes.find(HostId(s), HostId(d));
      Alive a{{},
              route,
              {route.links.begin(), route.links.end()},
              weighted ? static_cast<double>(1 + rng.below(4)) : 1,
              rng.below(3) == 0 ? 1e8 * static_cast<double>(1 + rng.below(40)) : problems::kNoLimit};
      a.id = (*made)->add(a.links, a.weight, a.route.limit(a.cap));
      alive.push_back(std::move(a));
    }
    (void)(*made)->solve();
    PrivateLinks reference(p.fabric.links());
    for (const Alive& a : alive) reference.add(a.links, a.weight, a.cap);
    const auto want = reference.rates(shares_links(model, p.fabric));
    for (std::size_t i = 0; i < alive.size(); ++i)
      ASSERT_NEAR((*made)->rate(alive[i].id) / static_cast<double>(want[i]), 1, 1e-12) << "flow " << i;
  }
}

TEST(Fatpipe, RatesAreThoseOfALinkForEachFlow) {
  const std::uint64_t base = problems::base_seed(1);
  for (const char* model : {"max-min", "max-min-component", "contention-free", "pcie"})
    for (std::uint64_t seed = base; seed < base + 150; ++seed)
      check_rates(model, seed, 3 + static_cast<std::uint32_t>(seed % 40));
  for (std::uint64_t seed = base; seed < base + 6; ++seed) check_rates("max-min", seed, 1500);
}

TEST(Fatpipe, ClustersWithABackboneTakeWhatSimGridSays) {
  constexpr std::int64_t kM = 1'000'000, kHeader = 16;
  const support::FatpipeCase recorded[] = {
      {"two, narrow", 8e8, {{0, 4, kM}, {1, 5, kM}}, {{4, 0.00125302}, {5, 0.00125302}}},
      {"four, narrow",
       8e8,
       {{0, 4, kM}, {1, 5, kM}, {2, 6, kM}, {3, 7, kM}},
       {{4, 0.00125302}, {5, 0.00125302}, {6, 0.00125302}, {7, 0.00125302}}},
      {"four, wide",
       2e9,
       {{0, 4, kM}, {1, 5, kM}, {2, 6, kM}, {3, 7, kM}},
       {{4, 0.001003016}, {7, 0.001003016}}},
      {"three to one beside another",
       8e8,
       {{0, 4, kM}, {1, 4, kM}, {2, 4, 2 * kM}, {3, 5, 4 * kM}},
       {{4, 0.004253048}, {5, 0.00500302}}},
      support::eight_over_a_narrow_fatpipe(),
  };
  for (const support::FatpipeCase& r : recorded) {
    const topology::Platform p = load_routes(support::fatpipe_cluster(r.backbone));
    for (const char* model : {"max-min", "max-min-component"}) {
      SCOPED_TRACE(fmt::format("{}, {}", r.name, model));
      auto run = FlowRun::create(model, p.fabric);
      ASSERT_TRUE(run);
      for (const auto& f : r.sent)
        run->add(HostId(f.src), HostId(f.dst), Bytes(f.bytes + kHeader), kTimeZero, true);
      ASSERT_TRUE(run->run(false));
      for (const auto& [host, seconds] : r.finish) {
        double last = 0;
        for (std::uint32_t f = 0; f < r.sent.size(); ++f)
          if (r.sent[f].dst == host) last = std::max(last, to_seconds(run->finish(f)));
        EXPECT_NEAR(last, seconds, 2e-12) << "host " << host;
      }
    }
  }
}

// 500 MB/s for either flow, the other's latency whatever it is: 2 ms and the own latency. SimGrid 3.32 stops all flows of a
// fatpipe at one rate x latency, so there the second flow takes 3.6036576 ms beside the first, 2.010032 ms alone.
TEST(Fatpipe, OtherLatenciesAreNobodysBusiness) {
  const topology::Platform p = load_routes(
      "L 0 a 1e9 1e-6\nL 1 both 5e8 1e-6 fatpipe\nL 2 b 1e9 9e-6\n"
      "R 0 1 0 1\nR 2 3 2 1\n");
  auto run = FlowRun::create("max-min", p.fabric);
  ASSERT_TRUE(run);
  run->add(HostId(0), HostId(1), Bytes(1'000'016), kTimeZero, true);
  run->add(HostId(2), HostId(3), Bytes(1'000'016), kTimeZero, true);
  ASSERT_TRUE(run->run(false));
  EXPECT_NEAR(to_seconds(run->finish(0)), 0.002002032, 2e-12);
  EXPECT_NEAR(to_seconds(run->finish(1)), 0.002010032, 2e-12);
}

// Where links change their values, shares do.
TEST(Fatpipe, LinksThatAreScaledKeepTheirKind) {
  topology::Platform p = load_routes("L 0 a 1e9 0\nL 1 both 5e8 0 fatpipe\nR 0 1 0 1\nR 2 1 1\n");
  const auto rates = [&] {
    topology::RouteCache routes(p.fabric);
    auto made = make_model("max-min", p.fabric);
    std::vector<double> out;
    std::vector<FlowId> ids;
    for (const std::uint32_t s : {0u, 0u, 0u, 2u}) {
      const auto r = routes.find(HostId(s), HostId(1));
      ids.push_back((*made)->add(r.links, 1, r.limit(problems::kNoLimit)));
    }
    (void)(*made)->solve();
    for (const FlowId f : ids) out.push_back((*made)->rate(f));
    return out;
  };
  const double third = 1e9 / 3;
  EXPECT_EQ(rates(), (std::vector<double>{third, third, third, 5e8}));
  for (std::uint32_t l = 0; l < 2; ++l)
    p.fabric.scale_link(LinkId(l), p.fabric.link_name(LinkId(l)) == "a" ? 3 : 1.5);
  EXPECT_EQ(rates(), (std::vector<double>{7.5e8, 7.5e8, 7.5e8, 7.5e8}));
}

}  // namespace
}  // namespace weft::network
