// Replays on GPUs: PCIe trees alone and under a network, host memory as an endpoint, and a halo exchange over
// both in every order that there is.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>

#include "network/sharing.hpp"
#include "replay/engine.hpp"
#include "tests/support/hosts.hpp"
#include "tests/support/memory_trace.hpp"
#include "topology/routing/route_cache.hpp"

namespace weft::replay::pcie_replay_test {
namespace {

using testing::first_hosts;
using testing::MemoryTrace;
using traces::OpKind;

constexpr std::int64_t kMiB = 1 << 20;
constexpr double kB = 11.6 * 1024 * 1024 * 1024;  // cs-storm

topology::Platform platform(const std::string& spec, const std::vector<std::string>& set = {}) {
  auto p = topology::load_platform(spec, {.set = set});
  EXPECT_TRUE(p) << (p ? "" : p.error().message());
  return std::move(p).value();
}

ReplayResult run(MemoryTrace& t, const topology::Platform& p, const std::vector<HostId>& hosts,
                 std::string model = "pcie") {
  ReplayOptions o;
  o.raw = RawMode::kRendezvous;
  o.model = std::move(model);
  auto r = replay(t, p, hosts, o);
  EXPECT_TRUE(r) << (r ? "" : r.error().message());
  if (!r) return {};
  EXPECT_TRUE(r->finished);
  return std::move(r).value();
}

// Sends of `bytes`, each rank's in its order, one at a time; every receive is posted before.
MemoryTrace sends_in_order(const std::vector<std::vector<std::uint32_t>>& sends, std::int64_t bytes) {
  const auto n = static_cast<std::uint32_t>(sends.size());
  MemoryTrace t(n);
  for (std::uint32_t r = 0; r < n; ++r) {
    std::uint32_t requests = 0;
    for (std::uint32_t s = 0; s < n; ++s)
      for (const std::uint32_t to : sends[s])
        if (to == r) t.p2p(r, OpKind::irecv, static_cast<std::int32_t>(s), 0, bytes, CommId(0), requests++);
    for (const std::uint32_t to : sends[r]) t.p2p(r, OpKind::send, static_cast<std::int32_t>(to), 0, bytes);
    for (std::uint32_t q = 0; q < requests; ++q) t.wait(r, q);
  }
  return t;
}

double seconds(const ReplayResult& r) { return to_seconds(r.makespan); }

TEST(PcieReplay, TheWorkedExampleAsATrace) {
  const auto p = platform("cs-storm", {"tau=1/5"});
  auto t = sends_in_order({{2}, {4}, {}, {2}, {}, {}, {4}, {}}, 300 * kMiB);
  const auto r = run(t, p, first_hosts(8));
  const double alone = 300.0 * kMiB / kB;
  EXPECT_NEAR(seconds(r), 18.0 / 7 * alone, 1e-11) << "64.94 ms";
  EXPECT_NEAR(seconds(r), 64.94e-3, 0.005e-3);
  EXPECT_NEAR(to_seconds(r.ranks[3].finish), 10.0 / 7 * alone, 1e-11) << "36.08 ms";
  EXPECT_NEAR(to_seconds(r.ranks[3].finish), 36.08e-3, 0.005e-3);
  // Plain max-min, which knows no round robin and no root complex, says something else.
  EXPECT_NEAR(seconds(run(t, p, first_hosts(8), "max-min")), 2 * alone, 1e-9);
}

TEST(PcieReplay, AMessageBetweenNodesTakesTheLatencyAndTheNarrowestLinkOfTheWholeRoute) {
  const auto p = platform("crossbar:n=4,node=gpu-server-4,bw=10GB/s,lat=1us");
  MemoryTrace t(2);
  t.p2p(0, OpKind::send, 1, 0, 1'000'000);
  t.p2p(1, OpKind::recv, 0, 0, 1'000'000);
  // node0.gpu0 - rc0 - nic0 - switch - nic0 - rc0 - gpu0: two and two PCIe links of 150 ns, two cables.
  EXPECT_EQ(run(t, p, {HostId(0), HostId(4)}).makespan.count(), 4 * 150'000 + 2'000'000 + 100'000'000);
}

// Two GPUs of node 0 send to node 1 over a network of 4 GB/s, a third one exchanges within the node: the two
// share the cable, and the third has what they leave of the up link of its switch.
TEST(PcieReplay, NetworkAndTreeLimitInOneSolve) {
  const auto p =
      platform("crossbar:n=2,bw=4GB/s,lat=0,node=\"pcie:switches=2,cards=3,gpus=1,bw=10GB/s,lat=0,tau=0\"");
  auto t = sends_in_order({{6}, {6}, {3}, {}, {}, {}, {}, {}, {}, {}, {}, {}}, 100'000'000);
  const auto r = run(t, p, first_hosts(12));
  EXPECT_NEAR(seconds(r), 0.05, 1e-10) << "2 GB/s each";
  EXPECT_NEAR(to_seconds(r.ranks[2].finish), 1.0 / 60, 1e-10) << "6 GB/s";
}

TEST(PcieReplay, CopiesFromHostMemoryAreMessagesOfARankThere) {
  const auto p = platform("cs-storm", {"mem=on", "tau=1/5"});
  ASSERT_EQ(p.fabric.host_name(HostId(8)), "mem0");
  // Rank 0 is the host: it feeds GPUs 0 and 1 of one card at once, while GPU 3 sends to GPU 0.
  MemoryTrace t(4);
  t.p2p(0, OpKind::isend, 1, 0, 116'000'000, CommId(0), 0);
  t.p2p(0, OpKind::isend, 2, 0, 116'000'000, CommId(0), 1);
  t.wait(0, 0);
  t.wait(0, 1);
  t.p2p(1, OpKind::irecv, 0, 0, 116'000'000, CommId(0), 0);
  t.p2p(1, OpKind::irecv, 3, 0, 116'000'000, CommId(0), 1);
  t.wait(1, 0);
  t.wait(1, 1);
  t.p2p(2, OpKind::recv, 0, 0, 116'000'000);
  t.p2p(3, OpKind::send, 1, 0, 116'000'000);
  const auto r = run(t, p, {HostId(8), HostId(0), HostId(1), HostId(3)});
  // The switch's port to card 0 serves two input ports alike, as host memory does not count as crossing the
  // root complex: 1/2 for the two copies together, 1/2 for GPU 3; then the two copies have 1/2 each.
  const double alone = 116e6 / kB;
  EXPECT_NEAR(to_seconds(r.ranks[3].finish), 2 * alone, 1e-11);
  EXPECT_NEAR(seconds(r), 3 * alone, 1e-11);
}

// Both GPUs of node 0 send to node 1, or all GPUs to their neighbours in a ring, each by a card of its own. Where card 0 of node 0
// is gone its cable is that of both, as on nodes that have the other card alone; the same where it is node 1's.
TEST(PcieReplay, WithoutACardItsNodeSharesTheOther) {
  const std::string tree = "\"pcie:gen=3,lat=0,tau=0,tree=rc(2*gpu 2*nic)\"";
  const auto one =
      platform("crossbar:n=2,bw=4GB/s,lat=1us,node=\"pcie:gen=3,lat=0,tau=0,tree=rc(2*gpu nic)\"");
  const auto nodes = [&](const std::string& fail) {
    return platform("crossbar:n=4,bw=4GB/s,lat=1us,node=" + tree,
                    fail.empty() ? std::vector<std::string>{} : std::vector{"fail=" + fail});
  };
  const auto finishes = [](const ReplayResult& r) {
    std::vector<std::int64_t> out;
    for (const auto& rank : r.ranks) out.push_back(rank.finish.count());
    return out;
  };
  auto pair = sends_in_order({{2}, {3}, {}, {}}, 4'000'000);
  auto ring = sends_in_order({{1}, {2}, {3}, {0}}, 4'000'000);
  EXPECT_EQ(seconds(run(pair, nodes(""), first_hosts(4))), 2e-6 + 1e-3);
  const auto latency_and_two = 2e-6 + 2e-3;
  for (const char* gone : {"link=node0.nic0->switch", "link=node0.nic1->switch", "link=node1.nic0->switch",
                           "link=node0.nic0->switch;link=node1.nic0->switch",
                           "link=node0.nic0->switch;link=node1.nic1->switch"}) {
    SCOPED_TRACE(gone);
    const auto left = nodes(gone);
    EXPECT_NEAR(seconds(run(pair, left, first_hosts(4))), latency_and_two, 1e-12);
    for (MemoryTrace* t : {&pair, &ring})
      for (const char* model : {"pcie", "max-min"})
        EXPECT_EQ(finishes(run(*t, left, first_hosts(4), model)),
                  finishes(run(*t, one, first_hosts(4), model)));
  }
  ReplayOptions o;
  const auto none = replay(pair, nodes("link=node1.nic0->switch;link=node1.nic1->switch"), first_hosts(4), o);
  ASSERT_FALSE(none);
  EXPECT_EQ(
      none.error().message(),
      "error: no route; got \"node0.gpu0 to node1.gpu0\"; expected a network that joins a card of the one "
      "(node0.nic0, node0.nic1) to one of the other (node1.nic0, node1.nic1)");
}

TEST(PcieReplay, EveryNetworkTakesNodes) {
  for (const char* network : {"xgft:h=2,m=4x2,w=1x2,p=1x1", "fat-tree:m=4,n=2", "torus:dims=4x2",
                              "dragonfly:p=2,a=2,h=1", "crossbar:n=8"}) {
    const auto p = platform(std::string(network) + ",node=cs-storm", {"node.nics=2"});
    const auto n = p.fabric.rank_hosts();
    std::vector<std::vector<std::uint32_t>> ring(n);
    for (std::uint32_t r = 0; r < n; ++r) ring[r] = {(r + 1) % n, (r + n - 1) % n};
    auto t = sends_in_order(ring, kMiB);
    const auto pcie = run(t, p, first_hosts(n)), alone = run(t, p, first_hosts(n), "contention-free");
    EXPECT_GE(seconds(pcie), seconds(alone)) << network;
    EXPECT_EQ(pcie.fingerprint, run(t, p, first_hosts(n)).fingerprint) << network;
  }
}

// --- the halo exchange of 2 nodes and 8 GPUs ---

// All orders of sends of a 4x2 grid (rank = x + 4 y), evaluated without the replay engine: rates of a set of
// active sends from the sharing model, remembered; a rank starts its next send when one is through.
class Exchange {
 public:
  explicit Exchange(const topology::Platform& p) : routes_(p.fabric) {
    auto m = network::make_model("pcie", p.fabric);
    model_ = std::move(m).value();
    for (std::uint32_t r = 0; r < 8; ++r) {
      std::vector<std::uint32_t> to;
      if (r % 4 > 0) to.push_back(r - 1);
      if (r % 4 < 3) to.push_back(r + 1);
      to.push_back((r + 4) % 8);
      std::sort(to.begin(), to.end());
      do orders_[r].push_back(to);
      while (std::next_permutation(to.begin(), to.end()));
    }
  }
  [[nodiscard]] std::uint64_t count() const {
    std::uint64_t n = 1;
    for (const auto& o : orders_) n *= o.size();
    return n;
  }
  [[nodiscard]] std::vector<std::vector<std::uint32_t>> schedule(std::uint64_t number) const {
    std::vector<std::vector<std::uint32_t>> s;
    for (const auto& o : orders_) {
      s.push_back(o[number % o.size()]);
      number /= o.size();
    }
    return s;
  }
  // Seconds until the last of all sends of `bytes` is through. `delay`: by link, the time that flows lost
  // while it held them, against their first link's rate.
  double time(const std::vector<std::vector<std::uint32_t>>& s, double bytes,
              std::map<LinkId, double>* delay = nullptr) {
    std::array<std::size_t, 8> at{};
    std::array<double, 8> left{};
    left.fill(bytes);
    double now = 0;
    while (true) {
      std::uint64_t key = 0;
      for (std::uint32_t r = 0; r < 8; ++r)
        key |= (at[r] < s[r].size() ? s[r][at[r]] + 1ull : 0ull) << (4 * r);
      if (key == 0) return now;
      const Rates& now_at = rates(key);
      const std::array<double, 8>& rate = now_at.rate;
      double step = std::numeric_limits<double>::infinity();
      for (std::uint32_t r = 0; r < 8; ++r)
        if (rate[r] > 0) step = std::min(step, left[r] / rate[r]);
      now += step;
      for (std::uint32_t r = 0; r < 8; ++r) {
        if (rate[r] == 0) continue;
        if (delay != nullptr && rate[r] < kB * (1 - 1e-9))
          (*delay)[now_at.held[r]] += step * (1 - rate[r] / kB);
        left[r] -= rate[r] * step;
        if (left[r] > 1e-9 * bytes) continue;
        ++at[r];
        left[r] = bytes;
      }
    }
  }

 private:
  struct Rates {
    std::array<double, 8> rate{};
    std::array<LinkId, 8> held{};
  };
  const Rates& rates(std::uint64_t key) {
    const auto known = memo_.find(key);
    if (known != memo_.end()) return known->second;
    std::array<FlowId, 8> ids;
    for (std::uint32_t r = 0; r < 8; ++r) {
      const std::uint64_t to = key >> (4 * r) & 15;
      if (to == 0) continue;
      const auto route = routes_.find(HostId(r), HostId(static_cast<std::uint32_t>(to - 1)));
      ids[r] = model_->add(route.links, 1, std::numeric_limits<double>::infinity());
    }
    (void)model_->solve();
    Rates found;
    for (std::uint32_t r = 0; r < 8; ++r) {
      if (!ids[r].valid()) continue;
      found.rate[r] = model_->rate(ids[r]);
      found.held[r] = model_->bottleneck(ids[r]);
    }
    for (const FlowId id : ids)
      if (id.valid()) model_->remove(id);
    return memo_.emplace(key, found).first->second;
  }
  topology::RouteCache routes_;
  std::unique_ptr<congestion::SharingModel> model_;
  std::array<std::vector<std::vector<std::uint32_t>>, 8> orders_;
  std::map<std::uint64_t, Rates> memo_;
};

// 2 nodes of 4 GPUs (two K80 boards, each behind its switch) on a fat-tree.
constexpr const char* kTwoNodes = "fat-tree:m=4,n=2,bw=100Gbps,lat=0,node=cs-storm";

std::string text(const std::vector<std::vector<std::uint32_t>>& s) {
  std::string out;
  for (std::size_t r = 0; r < s.size(); ++r) {
    out += std::to_string(r) + ":";
    for (const std::uint32_t to : s[r]) out += " " + std::to_string(to);
    out += r + 1 < s.size() ? "; " : "";
  }
  return out;
}

TEST(PcieReplay, EveryOrderOfAHaloExchangeOverTreeAndFabricReplaysAsItsPhasesSay) {
  const auto p = platform(kTwoNodes, {"node.cards=1"});
  ASSERT_EQ(p.fabric.host_name(HostId(4)), "node1.gpu0");
  Exchange halo(p);
  ASSERT_EQ(halo.count(), 20'736u);
  constexpr double kBytes = 64.0 * kMiB;
  double best = std::numeric_limits<double>::infinity(), worst = 0, sum = 0;
  std::uint64_t best_at = 0, worst_at = 0, best_count = 0;
  for (std::uint64_t i = 0; i < halo.count(); ++i) {
    const double t = halo.time(halo.schedule(i), kBytes);
    sum += t;
    if (t < best * (1 - 1e-9)) {
      best = t;
      best_at = i;
      best_count = 0;
    }
    best_count += t <= best * (1 + 1e-9) ? 1 : 0;
    if (t > worst * (1 + 1e-9)) {
      worst = t;
      worst_at = i;
    }
  }
  std::printf("best %.4f ms (%llu of 20,736), mean %.4f ms, worst %.4f ms\nbest   %s\nworst  %s\n",
              best * 1e3, static_cast<unsigned long long>(best_count), sum / 20736 * 1e3, worst * 1e3,
              text(halo.schedule(best_at)).c_str(), text(halo.schedule(worst_at)).c_str());
  for (const std::uint64_t at : {best_at, worst_at}) {
    std::map<LinkId, double> delay;
    (void)halo.time(halo.schedule(at), kBytes, &delay);
    std::vector<std::pair<double, LinkId>> by_delay;
    for (const auto& [link, lost] : delay) by_delay.emplace_back(-lost, link);
    std::sort(by_delay.begin(), by_delay.end());
    for (std::size_t i = 0; i < std::min<std::size_t>(6, by_delay.size()); ++i)
      std::printf("  %s: flows lose %.2f ms at %s\n", at == best_at ? "best" : "worst",
                  -1e3 * by_delay[i].first, p.fabric.link_name(by_delay[i].second).c_str());
  }
  // No order is faster than the fullest simplex link: 4 messages leave each node by one cable.
  const double cable = 4 * kBytes / 12.5e9;
  EXPECT_GE(best, cable * (1 - 1e-9));
  EXPECT_GT(worst, best * 1.2);
  // The replay engine, event by event, comes to the same.
  std::vector<std::uint64_t> sample = {best_at, worst_at};
  for (std::uint64_t i = 0; i < 60; ++i) sample.push_back(i * 345);
  for (const std::uint64_t i : sample) {
    const auto s = halo.schedule(i);
    auto t = sends_in_order(s, static_cast<std::int64_t>(kBytes));
    EXPECT_NEAR(seconds(run(t, p, first_hosts(8))), halo.time(s, kBytes), 1e-9 * worst) << text(s);
  }
}

}  // namespace
}  // namespace weft::replay::pcie_replay_test
