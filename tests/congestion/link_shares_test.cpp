// Shares of one link, by hand and against max-min on a network that is one link.
#include "congestion/link_shares.hpp"

#include <gtest/gtest.h>

#include "congestion/max_min.hpp"
#include "tests/congestion/checks.hpp"

namespace weft::congestion {
namespace {

std::vector<double> shared(double room, std::vector<std::pair<double, double>> weights_and_demands) {
  std::vector<LinkShare> shares;
  for (const auto& [weight, demand] : weights_and_demands) shares.push_back({weight, demand, 0, demand > 0});
  fill_link(shares, room);
  std::vector<double> rates;
  for (const LinkShare& s : shares) rates.push_back(s.rate);
  return rates;
}

TEST(LinkShares, ByHand) {
  EXPECT_EQ(shared(10, {{1, 1}, {1, 9}, {2, 9}}), (std::vector<double>{1, 3, 6}));
  EXPECT_EQ(shared(10, {{1, 1}, {1, 2}, {2, 3}}), (std::vector<double>{1, 2, 3})) << "room for all";
  EXPECT_EQ(shared(9, {{0, 5}, {0, 5}, {0, 1}}), (std::vector<double>{4, 4, 1})) << "no weights: equal parts";
  EXPECT_EQ(shared(4, {{1, 0}, {1, 9}}), (std::vector<double>{0, 4})) << "who asks for nothing takes nothing";
  EXPECT_EQ(shared(0, {{1, 1}}), (std::vector<double>{0}));
}

TEST(LinkShares, AreMaxMinOnANetworkOfOneLink) {
  const std::uint64_t seed = problems::base_seed(500000);
  for (std::uint64_t round = 0; round < 2000; ++round) {
    SCOPED_TRACE("seed " + std::to_string(seed + round));
    Rng rng(seed + round);
    const double room = 1e9 * static_cast<double>(1 + rng.below(20));
    const std::vector<double> capacity{room};
    MaxMin network(capacity, MaxMin::Scope::kLocal);
    std::vector<std::pair<double, double>> flows;
    for (std::uint64_t i = 0, n = 1 + rng.below(12); i < n; ++i) {
      flows.emplace_back(static_cast<double>(1 + rng.below(8)), 1e8 * static_cast<double>(1 + rng.below(60)));
      (void)network.add(std::vector{LinkId(0)}, flows.back().first, flows.back().second);
    }
    (void)network.solve();
    const auto rates = shared(room, flows);
    for (std::uint32_t i = 0; i < flows.size(); ++i)
      ASSERT_NEAR(rates[i], network.rate(FlowId(i)), 1e-9 * room) << "flow " << i;
  }
}

}  // namespace
}  // namespace weft::congestion
