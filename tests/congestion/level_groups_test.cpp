// Rates by groups of flows: the same allocation as any other way to find it, in every state of a run with starts and ends.
#include "congestion/level_groups.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/congestion/checks.hpp"
#include "tests/congestion/life.hpp"

namespace weft::congestion {
namespace {

using problems::base_seed;
using problems::certify_case;
using problems::describe;

// A run: twice as many flows as links, then each step one or a few end, and now and then some start. For some seeds there are so
// many links that their numbers are no longer kept in 16 bits; for others links have less and more capacity on the way.
class Life : public problems::Life {
 public:
  Life(std::uint64_t seed, MaxMin::Scope scope, std::size_t large_solve, std::uint64_t most_visits,
       double accuracy, bool groups)
      : problems::Life(seed, seed % 8 == 5 || seed % 8 == 7 ? 40'000 : 0, scope, large_solve, most_visits),
        varies_(seed % 3 == 1) {
    EXPECT_TRUE(model().set_accuracy(accuracy));
    if (varies_) {
      EXPECT_TRUE(model().vary_capacities());
    }
    model().report_groups(groups);
    for (std::uint32_t i = 0; i < 2 * links(); ++i) start();
  }
  void step() {
    // Capacities alone at times.
    if (varies_)
      for (std::uint64_t i = rng().below(4); i > 0; --i) squeeze();
    if (varies_ && rng().below(3) == 0) return;
    const std::uint64_t ends = 1 + (rng().below(4) == 0 ? rng().below(5) : 0);
    for (std::uint64_t i = 0; i < ends && !ids().empty(); ++i) end();
    if (rng().below(3) == 0)
      for (std::uint64_t i = 0; i <= rng().below(6); ++i) start();
    if (rng().below(40) == 0)
      for (std::uint32_t i = 0; i < links(); ++i) start();
  }

 private:
  bool varies_;
};

TEST(LevelGroups, EveryStateOfARunIsCertifiedAndEqualsTheReferenceTo1em12) {
  const std::uint64_t base = base_seed(1);
  for (std::uint64_t seed = base; seed < base + 30; ++seed) {
    Life life(seed, MaxMin::Scope::kLocal, 0, 0, 0, seed % 2 == 0);
    SCOPED_TRACE(describe(seed, life.load()));
    for (int i = 0; i < 80 && !life.ids().empty(); ++i, life.step()) {
      (void)life.model().solve();
      ASSERT_EQ(certify_case(life.load(), life.rates()).value_or(""), "") << "step " << i;
      if (i % 20 == 19)
        problems::expect_rates(life.model(), life.ids(), problems::reference_rates(life.load()), 1e-12);
    }
    if (HasFailure()) return;
  }
}

// A link that is slow beside the one that holds its flows back: when that one gets room, it offers them many times what the slow
// one carries, before this is asked. So much fits into no count of its quanta, however many flows it is offered for.
TEST(LevelGroups, AnOfferOfManyTimesASlowLinkIsFoundTooMuch) {
  for (std::uint32_t crossing = 1; crossing <= 9; ++crossing) {
    for (const double slow : {1e9, 3e7, 1e3}) {
      SCOPED_TRACE(fmt::format("{} of 200 flows also cross a link of {} bytes/s", crossing, slow));
      // A fair part of the fast link is nine tenths of what the slow one has for each.
      const double fast = 200 * 0.9 * slow / crossing;
      const std::vector<double> capacity{fast, slow, 1e12};
      MaxMin model(capacity, MaxMin::Scope::kLocal, 0);
      // Many more elsewhere: so few ends are not worth a solve from scratch.
      for (int i = 0; i < 4000; ++i) (void)model.add(problems::links({2}), 1, problems::kNoLimit);
      std::vector<FlowId> others, both;
      for (std::uint32_t i = 0; i < crossing; ++i)
        both.push_back(model.add(problems::links({0, 1}), 1, problems::kNoLimit));
      for (std::uint32_t i = crossing; i < 200; ++i)
        others.push_back(model.add(problems::links({0}), 1, problems::kNoLimit));
      (void)model.solve();
      for (const FlowId f : both) ASSERT_NEAR(model.rate(f), fast / 200, 1e-12 * fast);
      for (const FlowId f : others) model.remove(f);
      (void)model.solve();
      for (const FlowId f : both) ASSERT_NEAR(model.rate(f), slow / crossing, 1e-12 * slow);
    }
  }
}

// Who asks by group hears of every change: levels and groups of all flows follow from what was named since the start,
// where solves are given up and filled from scratch, too.
TEST(LevelGroups, WhatIsNamedIsAllThatChanged) {
  const std::uint64_t base = base_seed(1);
  constexpr std::uint64_t kFew = 6;
  int from_scratch = 0;
  for (std::uint64_t seed = base; seed < base + 40; ++seed) {
    const std::uint64_t most_visits = seed % 2 == 0 ? 0 : kFew;
    Life life(seed / 2, MaxMin::Scope::kLocal, 0, most_visits, 0, true);
    SCOPED_TRACE(describe(seed, life.load()));
    std::vector<std::uint32_t> group;
    std::vector<double> level;
    bool before = false;
    for (int i = 0; i < 80 && !life.ids().empty(); ++i, life.step()) {
      const std::uint64_t visited = life.model().stats().links_touched;
      const auto named = life.model().solve();
      const LevelGroups* const groups = life.model().groups();
      if (most_visits > 0 && groups == nullptr) break;
      ASSERT_NE(groups, nullptr);
      from_scratch += most_visits > 0 && life.model().stats().links_touched - visited > kFew;
      level.resize(groups->groups());
      const auto see = [&](std::uint32_t flow) {
        if (flow >= group.size()) group.resize(flow + 1);
        group[flow] = groups->group(flow);
        level[group[flow]] = groups->level(group[flow]);
      };
      if (!before)
        for (const FlowId f : life.ids()) see(f.index());
      before = true;
      std::vector<std::uint32_t> changed(groups->changed().begin(), groups->changed().end());
      std::ranges::sort(changed);
      ASSERT_EQ(std::ranges::adjacent_find(changed), changed.end()) << "step " << i << ": a group twice";
      for (const FlowId f : named) see(f.index());
      for (const std::uint32_t g : groups->changed()) level[g] = groups->level(g);
      for (const FlowId f : life.ids()) {
        ASSERT_EQ(group[f.index()], groups->group(f.index())) << "step " << i << ", flow " << f.index();
        ASSERT_EQ(level[group[f.index()]] * groups->weight(f.index()), life.model().rate(f)) << "step " << i;
        const LinkId link = life.model().bottleneck(f);
        ASSERT_EQ(link.valid() ? link.index() : group[f.index()], group[f.index()]);
      }
    }
  }
  EXPECT_GT(from_scratch, 20);
}

// With an accuracy the two conditions hold to twice of it, in every state: it does not add up. And it saves work.
TEST(LevelGroups, AccuracyIsKeptInEveryStateAndSavesWork) {
  const std::uint64_t base = base_seed(1);
  std::uint64_t exact_flows = 0, flows = 0;
  double off = 0;
  for (std::uint64_t seed = base; seed < base + 20; ++seed) {
    const double accuracy = seed % 2 == 0 ? 1e-2 : 1e-4;
    Life exact(seed, MaxMin::Scope::kLocal, 0, 0, 0, false);
    Life life(seed, MaxMin::Scope::kLocal, 0, 0, accuracy, false);
    SCOPED_TRACE(describe(seed, life.load()));
    for (int i = 0; i < 100 && !life.ids().empty(); ++i, life.step(), exact.step()) {
      (void)life.model().solve();
      (void)exact.model().solve();
      FlowTable table(static_cast<std::uint32_t>(life.load().capacity.size()));
      std::vector<std::uint32_t> all;
      for (const problems::Flow& f : life.load().flows) all.push_back(table.add(f.route, f.weight, f.limit));
      ASSERT_EQ(certify(table, life.load().capacity, life.rates(), all, ~std::uint64_t{0},
                        kCertificateTolerance + 2 * accuracy)
                    .value_or(""),
                "")
          << "step " << i;
      const auto rates = life.rates(), want = exact.rates();
      for (std::size_t f = 0; f < rates.size(); ++f)
        off = std::max(off, std::abs(rates[f] - want[f]) / want[f] / accuracy);
    }
    exact_flows += exact.model().stats().flows_solved;
    flows += life.model().stats().flows_solved;
  }
  EXPECT_LT(flows, exact_flows);
  EXPECT_GT(off, 0.1);  // it is not exact
  EXPECT_LT(off, 100);  // chains of links add up, but not without end
}

// A solve that visits more links than it may, from scratch as well, falls back to filling by flow, for good.
TEST(LevelGroups, GivingUpLosesNothing) {
  const std::uint64_t base = base_seed(1);
  int gave_up = 0;
  for (std::uint64_t seed = base; seed < base + 20; ++seed) {
    Life life(seed, MaxMin::Scope::kLocal, 0, 1, 0, true);
    SCOPED_TRACE(describe(seed, life.load()));
    bool grouped = false;
    for (int i = 0; i < 140 && !life.ids().empty(); ++i, life.step()) {
      const auto named = life.model().solve();
      const bool now = life.model().groups() != nullptr;
      if (grouped && !now) {
        ++gave_up;
        ASSERT_EQ(named.size(), life.ids().size()) << "all are named";
      }
      grouped = now;
      ASSERT_EQ(certify_case(life.load(), life.rates()).value_or(""), "") << "step " << i;
    }
    (void)life.model().solve();
    problems::expect_rates(life.model(), life.ids(), problems::reference_rates(life.load()), 1e-12);
  }
  EXPECT_GT(gave_up, 5);
}

}  // namespace
}  // namespace weft::congestion
