// Flows that share all of their shared links are filled at once; with a flow of a limit of its own in the model, far from all
// others, they are not. Both must tell the same, to the last bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "congestion/max_min.hpp"
#include "core/rng.hpp"
#include "tests/congestion/cases.hpp"

namespace weft::congestion {
namespace {

constexpr double kUnlimited = std::numeric_limits<double>::infinity();
constexpr std::uint32_t kShared = 10;
constexpr std::uint32_t kBystander = kShared;  // the link that it has to itself

// One model, and one that fills link by link. The bystander is flow 0 there, so the ids of others are one higher.
class Pair {
 public:
  explicit Pair(const std::vector<double>& capacity)
      : at_once_(capacity, MaxMin::Scope::kLocal), by_link_(capacity, MaxMin::Scope::kLocal) {
    const std::vector<LinkId> route{LinkId(kBystander)};
    EXPECT_EQ(by_link_.add(route, 1, 0.5), FlowId(0));
    (void)by_link_.solve();
    before_ = by_link_.stats();
  }
  std::uint32_t add(const std::vector<LinkId>& route) {
    const FlowId flow = at_once_.add(route, 1, kUnlimited);
    EXPECT_EQ(by_link_.add(route, 1, kUnlimited), FlowId(flow.index() + 1));
    return flow.index();
  }
  void remove(std::uint32_t flow) {
    at_once_.remove(FlowId(flow));
    by_link_.remove(FlowId(flow + 1));
  }
  void solve(const std::vector<std::uint32_t>& alive) {
    const auto ids = [](std::span<const FlowId> flows, std::uint32_t shift) {
      std::vector<std::uint32_t> out;
      for (const FlowId f : flows) out.push_back(f.index() - shift);
      return out;
    };
    const auto changed = ids(at_once_.solve(), 0);
    ASSERT_EQ(changed, ids(by_link_.solve(), 1));
    ASSERT_EQ(ids(at_once_.moved(), 0), ids(by_link_.moved(), 1));
    for (const std::uint32_t f : alive) {
      ASSERT_EQ(at_once_.rate(FlowId(f)), by_link_.rate(FlowId(f + 1))) << "flow " << f;
      ASSERT_EQ(at_once_.bottleneck(FlowId(f)), by_link_.bottleneck(FlowId(f + 1))) << "flow " << f;
    }
    const SolveStats a = at_once_.stats();
    const SolveStats b = by_link_.stats();
    ASSERT_EQ(a.solves, b.solves - before_.solves);
    ASSERT_EQ(a.flows_solved, b.flows_solved - before_.flows_solved);
    ASSERT_EQ(a.links_touched, b.links_touched - before_.links_touched);
    ASSERT_EQ(std::max(1u, a.max_component), b.max_component);
  }

 private:
  MaxMin at_once_;
  MaxMin by_link_;
  SolveStats before_;
};

TEST(MaxMin, FlowsOfTheSameLinksAreFilledAtOnceAsOneLinkAfterTheOther) {
  const std::uint64_t first = problems::base_seed(1);
  for (std::uint64_t seed = first; seed < first + 1500; ++seed) {
    SCOPED_TRACE(::testing::Message() << "WEFT_SEED=" << seed);
    Rng rng(seed);
    // Few capacities, so that links tie, and narrow ones, which stop a flow that has them to itself.
    std::vector<double> capacity;
    for (std::uint32_t l = 0; l <= kShared; ++l)
      capacity.push_back(1e9 * static_cast<double>(1 + rng.below(3)) / static_cast<double>(1 + rng.below(4)));
    // Pairs of ends repeat: their flows share whole routes.
    std::vector<std::vector<LinkId>> routes;
    for (std::uint32_t i = 0; i < 2 + rng.below(5); ++i) {
      std::vector<LinkId> route;
      for (std::uint32_t l = 0; l < kShared; ++l)
        if (rng.below(4) == 0) route.emplace_back(l);
      if (route.empty()) route.emplace_back(static_cast<std::uint32_t>(rng.below(kShared)));
      routes.push_back(route);
    }
    Pair models(capacity);
    std::vector<std::uint32_t> alive;
    for (int step = 0; step < 60; ++step) {
      for (std::uint64_t changes = 1 + rng.below(2); changes > 0; --changes) {
        if (alive.empty() || (alive.size() < 6 && rng.below(2) == 0)) {
          alive.push_back(models.add(routes[rng.below(routes.size())]));
        } else {
          std::swap(alive[rng.below(alive.size())], alive.back());
          models.remove(alive.back());
          alive.pop_back();
        }
      }
      models.solve(alive);
      if (HasFatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace weft::congestion
