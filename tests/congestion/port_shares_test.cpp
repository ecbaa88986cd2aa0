// Ports that carry less to several hosts: closed forms, and random flows against a model that has no past.
#include "congestion/port_shares.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <vector>

#include "congestion/certificate.hpp"
#include "core/rng.hpp"
#include "tests/congestion/cases.hpp"

namespace weft::congestion::port_shares_test {
namespace {

using problems::kNoLimit;

// Hosts on a switch, or on two joined by a trunk: links 2 h from host h, 2 h + 1 to it, the trunk's two behind them.
struct Machine {
  std::uint32_t hosts;
  std::vector<double> capacity;
  PortShares shares;
  bool trunk;

  Machine(std::uint32_t n, double port, std::vector<PortShares::Step> steps, double trunk_capacity = 0)
      : hosts(n), capacity(std::size_t{2} * n, port), trunk(trunk_capacity > 0) {
    shares.steps = std::move(steps);
    shares.host_of_link.resize(capacity.size());
    shares.links_of_host.resize(n);
    for (std::uint32_t l = 0; l < 2 * n; ++l) {
      shares.host_of_link[l] = l / 2;
      shares.links_of_host[l / 2].push_back(LinkId(l));
    }
    if (!trunk) return;
    capacity.insert(capacity.end(), 2, trunk_capacity);
    shares.host_of_link.insert(shares.host_of_link.end(), 2, PortShares::kNone);
  }
  [[nodiscard]] std::vector<LinkId> route(std::uint32_t a, std::uint32_t b) const {
    std::vector<LinkId> out{LinkId(2 * a)};
    if (trunk && (a < hosts / 2) != (b < hosts / 2)) out.emplace_back(2 * hosts + (a < hosts / 2 ? 0 : 1));
    out.emplace_back(2 * b + 1);
    return out;
  }
  [[nodiscard]] std::unique_ptr<SharingModel> model(std::string_view name) const {
    auto made = make_port_model(name, capacity, shares);
    EXPECT_TRUE(made.has_value());
    return std::move(made).value();
  }
};

constexpr std::string_view kModels[] = {"max-min", "max-min-component"};

TEST(PortShares, OnePeerHasAllOfItBothWaysTwoHaveLess) {
  const Machine m(4, 10, {{2, 0.8}, {3, 0.6}});
  for (const std::string_view name : kModels) {
    const auto net = m.model(name);
    const FlowId there = net->add(m.route(0, 1), 1, kNoLimit);
    const FlowId back = net->add(m.route(1, 0), 1, kNoLimit);
    (void)net->solve();
    EXPECT_DOUBLE_EQ(net->rate(there), 10) << name;
    EXPECT_DOUBLE_EQ(net->rate(back), 10) << name;
    // Host 0 sends to 1 and receives from 2: two peers, both ways less; what goes back to it shares 8.
    const FlowId other = net->add(m.route(2, 0), 1, kNoLimit);
    (void)net->solve();
    EXPECT_DOUBLE_EQ(net->rate(there), 8) << name;
    EXPECT_DOUBLE_EQ(net->rate(back), 4) << name;
    EXPECT_DOUBLE_EQ(net->rate(other), 4) << name;
    const FlowId third = net->add(m.route(0, 3), 1, kNoLimit);
    (void)net->solve();
    EXPECT_DOUBLE_EQ(net->rate(there), 3) << name;
    EXPECT_DOUBLE_EQ(net->rate(third), 3) << name;
    EXPECT_DOUBLE_EQ(net->rate(other), 3) << name;
    net->remove(third);
    net->remove(other);
    (void)net->solve();
    EXPECT_DOUBLE_EQ(net->rate(there), 10) << name;
    EXPECT_DOUBLE_EQ(net->rate(back), 10) << name;
  }
}

TEST(PortShares, AFlowThatItsOwnLimitHoldsIsSlowedOnlyByAPortBelowIt) {
  const Machine m(3, 10, {{2, 0.5}});
  const auto net = m.model("max-min");
  const FlowId slow = net->add(m.route(0, 1), 1, 3);
  const FlowId fast = net->add(m.route(0, 1), 1, 6);
  (void)net->solve();
  EXPECT_DOUBLE_EQ(net->rate(slow), 3);
  EXPECT_DOUBLE_EQ(net->rate(fast), 6);
  const FlowId in = net->add(m.route(2, 0), 1, kNoLimit);
  (void)net->solve();
  EXPECT_DOUBLE_EQ(net->rate(slow), 2.5);
  EXPECT_DOUBLE_EQ(net->rate(fast), 2.5);
  EXPECT_DOUBLE_EQ(net->rate(in), 5);
}

// What each link has while these flows are under way, the peers counted with a set. Flow: with ends `a` and `b`.
template <class Flow>
std::vector<double> capacity_of(const Machine& m, const std::vector<Flow>& flows) {
  std::vector<std::set<std::uint32_t>> peers(m.hosts);
  for (const Flow& f : flows) {
    peers[f.a].insert(f.b);
    peers[f.b].insert(f.a);
  }
  std::vector<double> capacity = m.capacity;
  for (std::uint32_t l = 0; l < 2 * m.hosts; ++l) capacity[l] *= m.shares.factor(peers[l / 2].size());
  return capacity;
}

// All flows given to a plain model at once, over capacities computed apart.
TEST(PortShares, RatesAreThoseOfAModelWithoutAPast) {
  for (int i = 0; i < 400; ++i) {
    const std::uint64_t seed = problems::base_seed(4100) + static_cast<std::uint64_t>(i);
    Rng rng(seed);
    const auto hosts = static_cast<std::uint32_t>(2 + rng.below(12));
    const Machine m(hosts, 1e9 * (1 + static_cast<double>(rng.below(20))), {{2, 0.87}, {3, 0.8}, {6, 0.5}},
                    rng.below(2) == 0 ? 0 : 1e9 * (1 + static_cast<double>(rng.below(40))));
    const bool weights = rng.below(4) == 0, limits = rng.below(3) == 0;
    const auto net = m.model(kModels[rng.below(2)]);
    struct Flow {
      FlowId id;
      std::uint32_t a, b;
      double weight, limit;
    };
    std::vector<Flow> flows;
    for (int step = 0; step < 60; ++step) {
      for (std::uint64_t changes = 1 + rng.below(3); changes > 0; --changes) {
        if (!flows.empty() && rng.below(5) < 2) {
          std::swap(flows[rng.below(flows.size())], flows.back());
          net->remove(flows.back().id);
          flows.pop_back();
          continue;
        }
        const auto a = static_cast<std::uint32_t>(rng.below(hosts));
        const auto b = static_cast<std::uint32_t>((a + 1 + rng.below(hosts - 1)) % hosts);
        Flow f{FlowId(), a, b, weights ? 0.5 + rng.unit() : 1,
               limits && rng.below(2) == 0 ? 1e9 * rng.unit() + 1e6 : kNoLimit};
        f.id = net->add(m.route(a, b), f.weight, f.limit);
        flows.push_back(f);
      }
      (void)net->solve();
      const std::vector<double> capacity = capacity_of(m, flows);
      FlowTable table(static_cast<std::uint32_t>(capacity.size()));
      auto fresh = std::move(make_sharing_model("max-min-component", capacity)).value();
      std::vector<FlowId> ids;
      std::vector<double> rate;
      for (const Flow& f : flows) {
        ids.push_back(fresh->add(m.route(f.a, f.b), f.weight, f.limit));
        (void)table.add(m.route(f.a, f.b), f.weight, f.limit);
        rate.push_back(net->rate(f.id));
      }
      (void)fresh->solve();
      for (std::size_t k = 0; k < flows.size(); ++k)
        ASSERT_NEAR(rate[k], fresh->rate(ids[k]), 1e-9 * rate[k])
            << "WEFT_SEED=" << seed << ", step " << step << ", flow " << k;
      std::vector<std::uint32_t> all(flows.size());
      std::iota(all.begin(), all.end(), 0);
      ASSERT_EQ(certify(table, capacity, rate, all).value_or(""), "") << "WEFT_SEED=" << seed;
    }
  }
}

// So many flows that a change moves more of them than are filled one by one (MaxMin::kLargeSolve): by groups until all are over,
// exactly and to an accuracy.
TEST(PortShares, ManyFlowsGoByGroups) {
  for (const double accuracy : {0.0, 1e-3}) {
    const std::uint64_t seed = problems::base_seed(4200);
    SCOPED_TRACE("WEFT_SEED=" + std::to_string(seed));
    Rng rng(seed);
    const Machine m(40, 1e10, {{2, 0.87}, {8, 0.7}, {20, 0.5}}, 3e10);
    const auto net = m.model("max-min");
    ASSERT_TRUE(net->set_accuracy(accuracy));
    net->report_groups(true);
    struct Flow {
      FlowId id;
      std::uint32_t a, b;
    };
    std::vector<Flow> flows;
    while (flows.size() < 2000) {
      const auto a = static_cast<std::uint32_t>(rng.below(40));
      const auto b = static_cast<std::uint32_t>((a + 1 + rng.below(39)) % 40);
      flows.push_back({net->add(m.route(a, b), 1, kNoLimit), a, b});
    }
    (void)net->solve();
    std::size_t most_in_groups = 0;
    for (std::uint64_t step = 0; !flows.empty(); ++step) {
      for (std::uint64_t ends = 1 + rng.below(4); ends > 0 && !flows.empty(); --ends) {
        std::swap(flows[rng.below(flows.size())], flows.back());
        net->remove(flows.back().id);
        flows.pop_back();
      }
      (void)net->solve();
      if (net->groups() != nullptr) most_in_groups = std::max(most_in_groups, flows.size());
      if (step % 5 != 0) continue;
      const std::vector<double> capacity = capacity_of(m, flows);
      FlowTable table(static_cast<std::uint32_t>(capacity.size()));
      std::vector<std::uint32_t> all;
      std::vector<double> rate;
      for (const Flow& f : flows) {
        all.push_back(table.add(m.route(f.a, f.b), 1, kNoLimit));
        rate.push_back(net->rate(f.id));
      }
      ASSERT_EQ(certify(table, capacity, rate, all, ~std::uint64_t{0}, kCertificateTolerance + 2 * accuracy)
                    .value_or(""),
                "")
          << "step " << step << ", " << flows.size() << " flows";
    }
    EXPECT_GT(most_in_groups, 1000u);
  }
}

TEST(PortShares, ModelsWithoutContentionKnowNoneAndArbitersRefuse) {
  const Machine m(3, 10, {{2, 0.5}});
  const auto alone = m.model("contention-free");
  const FlowId a = alone->add(m.route(0, 1), 1, kNoLimit);
  (void)alone->add(m.route(2, 0), 1, kNoLimit);
  (void)alone->solve();
  EXPECT_EQ(alone->rate(a), 10);
  const auto refused = make_port_model("pcie", m.capacity, m.shares);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kNotSupported);
}

}  // namespace
}  // namespace weft::congestion::port_shares_test
