// What every sharing model must do, whatever its rates.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "congestion/sharing_model.hpp"
#include "tests/congestion/pcie_machine.hpp"

namespace weft::congestion {
namespace {

constexpr double kNoLimit = std::numeric_limits<double>::infinity();

// A model by its name; with `trees` the links are those of PCIe trees (and of a network around them).
struct Named {
  const char* name;
  bool trees = false;
};

// Random flows on a random network, of links alone or of PCIe trees under it.
class Source {
 public:
  Source(bool trees, Rng& rng) : trees_(trees), maker_(testing::kShapes[rng.below(4)], rng) {
    if (trees_) machine_ = testing::random_machine(rng, 10e9, 10e9);
    options_ = testing::random_options(rng);
    if (!trees_) capacity_ = testing::random_capacity(maker_.links(), options_, rng);
  }
  [[nodiscard]] const std::vector<double>& capacity() const { return trees_ ? machine_.capacity : capacity_; }
  [[nodiscard]] const PcieNetwork* pcie() const { return trees_ ? &machine_.pcie : nullptr; }
  testing::Flow flow(Rng& rng) const {
    if (!trees_) return testing::random_flow(maker_, options_, rng);
    testing::Flow f = testing::random_flows(machine_, rng, 1)[0];
    if (options_.limits && rng.below(3) == 0) f.limit = 10e9 * (0.001 + rng.unit());
    return f;
  }

 private:
  bool trees_;
  testing::RouteMaker maker_;
  testing::Machine machine_;
  testing::CaseOptions options_;
  std::vector<double> capacity_;
};

class Conformance : public ::testing::TestWithParam<Named> {
 protected:
  static std::unique_ptr<SharingModel> make(const std::vector<double>& capacity, const PcieNetwork* pcie) {
    auto model = make_sharing_model(GetParam().name, capacity, pcie);
    EXPECT_TRUE(model.has_value());
    return std::move(model).value();
  }
  // Up to three links. As a tree: up from a leaf, up from the node above it, down to another child of the root.
  static std::unique_ptr<SharingModel> make(const std::vector<double>& capacity) {
    if (!GetParam().trees) return make(capacity, nullptr);
    PcieNetwork pcie;
    PcieTree& t = pcie.tree;
    t.parent = {PcieTree::kNoParent, 2, 0, 0};
    t.up_capacity = {1, 1, 1, 1};
    t.down_capacity = t.up_capacity;
    t.root_complex = {1, 0, 0, 0};
    t.never_crosses = {0, 0, 0, 0};
    t.tau = {0.2, 0.2, 0.2, 0.2};
    const PcieLink links[] = {pcie_up(1), pcie_up(2), pcie_down(3)};
    for (std::size_t l = 0; l < capacity.size(); ++l) {
      pcie.pcie_link.push_back(links[l]);
      (l < 2 ? t.up_capacity : t.down_capacity)[links[l] / 2] = capacity[l];
    }
    return make(capacity, &pcie);
  }
};

std::vector<LinkId> links(std::initializer_list<std::uint32_t> ids) {
  std::vector<LinkId> r;
  for (const auto i : ids) r.emplace_back(i);
  return r;
}

TEST_P(Conformance, AFlowAloneRunsAtItsNarrowestLink) {
  const std::vector<double> capacity{9e9, 3e9, 5e9};
  const auto m = make(capacity);
  const FlowId f = m->add(links({0, 1, 2}), 1, kNoLimit);
  ASSERT_EQ(m->solve().size(), 1u);
  EXPECT_EQ(m->rate(f), 3e9);
  EXPECT_EQ(m->bottleneck(f), LinkId(1));
  EXPECT_EQ(std::vector<LinkId>(m->route(f).begin(), m->route(f).end()), links({0, 1, 2}));
}

TEST_P(Conformance, AFlowWithALimitBelowItsLinksRunsAtTheLimit) {
  const std::vector<double> capacity{9e9};
  const auto m = make(capacity);
  const FlowId f = m->add(links({0}), 5, 1e9);
  const FlowId g = m->add({}, 1, 7e9);
  ASSERT_EQ(m->solve().size(), 2u);
  EXPECT_EQ(m->rate(f), 1e9);
  EXPECT_EQ(m->rate(g), 7e9);
  EXPECT_FALSE(m->bottleneck(f).valid());
  EXPECT_FALSE(m->bottleneck(g).valid());
}

TEST_P(Conformance, SolveWithoutAChangeReportsNothing) {
  const std::vector<double> capacity{9e9};
  const auto m = make(capacity);
  EXPECT_TRUE(m->solve().empty());
  (void)m->add(links({0}), 1, kNoLimit);
  EXPECT_EQ(m->solve().size(), 1u);
  EXPECT_TRUE(m->solve().empty());
  EXPECT_EQ(m->stats().solves, 1u);
}

TEST_P(Conformance, AFlowAddedAndRemovedBetweenSolvesLeavesNoTrace) {
  const std::vector<double> capacity{8e9};
  const auto m = make(capacity);
  const FlowId a = m->add(links({0}), 1, kNoLimit);
  (void)m->solve();
  const FlowId b = m->add(links({0}), 1, kNoLimit);
  m->remove(b);
  EXPECT_TRUE(m->solve().empty());
  EXPECT_EQ(m->rate(a), 8e9);
  EXPECT_EQ(m->flows_on(LinkId(0)), 1u);
}

TEST_P(Conformance, AnIdReusedWithinOneInstantIsReportedOnce) {
  const std::vector<double> capacity{8e9, 4e9};
  const auto m = make(capacity);
  const FlowId a = m->add(links({0}), 1, kNoLimit);
  (void)m->solve();
  m->remove(a);
  const FlowId b = m->add(links({1}), 1, kNoLimit);
  m->remove(b);
  const FlowId c = m->add(links({1}), 1, kNoLimit);
  EXPECT_EQ(c, a);
  ASSERT_EQ(m->solve().size(), 1u);
  EXPECT_EQ(m->rate(c), 4e9);
}

// Random operations against a plain map of who is there: ids, counts, routes, reports, limits; twice, bit for
// bit.
TEST_P(Conformance, RandomOperationsKeepTheBooksAndRepeatBitForBit) {
  const std::uint64_t base = testing::base_seed(1);
  for (std::uint64_t seed = base; seed < base + 40; ++seed) {
    SCOPED_TRACE("WEFT_SEED=" + std::to_string(seed));
    std::vector<double> log[2];
    for (auto& rates : log) {
      Rng rng(seed);
      const Source source(GetParam().trees, rng);
      const auto& capacity = source.capacity();
      const auto m = make(capacity, source.pcie());
      std::map<FlowId, testing::Flow> alive;
      std::vector<std::uint32_t> on(capacity.size(), 0);
      std::set<FlowId> fresh;
      for (int step = 0; step < 300; ++step) {
        if (!alive.empty() && rng.below(5) < 2) {
          const auto it = std::next(alive.begin(), static_cast<std::ptrdiff_t>(rng.below(alive.size())));
          for (const LinkId l : it->second.route) --on[l.index()];
          m->remove(it->first);
          fresh.erase(it->first);
          alive.erase(it);
        } else {
          const auto f = source.flow(rng);
          const FlowId id = m->add(f.route, f.weight, f.limit);
          ASSERT_TRUE(alive.emplace(id, f).second) << "id of a living flow given again";
          fresh.insert(id);
          for (const LinkId l : f.route) ++on[l.index()];
        }
        for (std::uint32_t l = 0; l < on.size(); ++l) ASSERT_EQ(m->flows_on(LinkId(l)), on[l]);
        if (rng.below(3) != 0) continue;
        const auto changed = m->solve();
        ASSERT_TRUE(std::is_sorted(changed.begin(), changed.end()));
        for (const FlowId id : changed) {
          ASSERT_TRUE(alive.contains(id));
          fresh.erase(id);
          rates.push_back(m->rate(id));
        }
        ASSERT_TRUE(fresh.empty()) << "a new flow was not reported";
        for (const auto& [id, f] : alive) {
          ASSERT_GT(m->rate(id), 0);
          ASSERT_LE(m->rate(id), f.limit);
          for (const LinkId l : f.route) ASSERT_LE(m->rate(id), capacity[l.index()] * (1 + 1e-12));
          const auto route = m->route(id);
          ASSERT_TRUE(std::equal(route.begin(), route.end(), f.route.begin(), f.route.end()));
        }
      }
    }
    ASSERT_EQ(log[0], log[1]);
  }
}

INSTANTIATE_TEST_SUITE_P(AllModels, Conformance,
                         ::testing::Values(Named{"max-min"}, Named{"max-min-component"},
                                           Named{"contention-free"}, Named{"pcie"}, Named{"pcie", true}),
                         [](const auto& model) {
                           std::string name = model.param.name;
                           if (model.param.trees) name += "-trees";
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(Registry, AnswersAnUnknownNameWithTheKnownOnes) {
  const std::vector<double> capacity{1};
  const auto r = make_sharing_model("fair", capacity);
  ASSERT_FALSE(r.has_value());
  EXPECT_EQ(r.error().code, ErrorCode::kUsage);
  EXPECT_EQ(r.error().message(),
            "error: unknown network model; got \"fair\"; expected one of: max-min, max-min-component, "
            "contention-free, pcie");
}

}  // namespace
}  // namespace weft::congestion
