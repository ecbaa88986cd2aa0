// What every sharing model must do, whatever its rates.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "congestion/models.hpp"
#include "tests/congestion/pcie_machine.hpp"

namespace weft::congestion {
namespace {

using problems::kNoLimit;
using problems::links;

// What the links are: of a network alone, of PCIe trees alone, of PCIe trees with a network beside them.
enum class Links { kNetwork, kTrees, kBoth };

// A row of models.def on links of one kind. Rows that make nothing of PCIe trees are told of them, too.
struct Named {
  const ModelRow* row;
  Links links = Links::kNetwork;
};

std::vector<Named> every_model_on_all_links() {
  std::vector<Named> all;
  for (const ModelRow& row : models())
    for (const Links links : {Links::kNetwork, Links::kTrees, Links::kBoth}) all.push_back({&row, links});
  return all;
}

// Random flows on a random network, of links alone or of PCIe trees, one of them or several joined by a network.
class Source {
 public:
  Source(Links links, Rng& rng)
      : trees_(links != Links::kNetwork), maker_(problems::kShapes[rng.below(4)], rng) {
    if (trees_) machine_ = problems::random_machine(rng, 10e9, 10e9, links == Links::kTrees ? 1 : 4);
    options_ = problems::random_options(rng);
    if (!trees_) capacity_ = problems::random_capacity(maker_.links(), options_, rng);
  }
  [[nodiscard]] const std::vector<double>& capacity() const { return trees_ ? machine_.capacity : capacity_; }
  [[nodiscard]] const PcieNetwork* pcie() const { return trees_ ? &machine_.pcie : nullptr; }
  problems::Flow flow(Rng& rng) const {
    if (!trees_) return problems::random_flow(maker_, options_, rng);
    problems::Flow f = problems::random_flows(machine_, rng, 1)[0];
    // Some see nothing of the trees, as a message between network cards.
    if (rng.below(4) == 0) {
      std::vector<LinkId> outside;
      for (const LinkId l : f.route)
        if (machine_.pcie.pcie_link[l.index()] == PcieNetwork::kFabric) outside.push_back(l);
      if (!outside.empty()) f.route = outside;
    }
    if (options_.limits && rng.below(3) == 0) f.limit = 10e9 * (0.001 + rng.unit());
    return f;
  }

 private:
  bool trees_;
  problems::RouteMaker maker_;
  problems::Machine machine_;
  problems::CaseOptions options_;
  std::vector<double> capacity_;
};

class Conformance : public ::testing::TestWithParam<Named> {
 protected:
  static std::unique_ptr<SharingModel> make(const std::vector<double>& capacity, const PcieNetwork* pcie) {
    auto model = make_sharing_model(GetParam().row->name, capacity, pcie);
    EXPECT_TRUE(model.has_value());
    return std::move(model).value();
  }
  // Up to three links. As a tree: up from a leaf, up from the node above it, down to another child of the root. As
  // both: a cable of the network to a leaf, up from it, down to another child of the root.
  static std::unique_ptr<SharingModel> make(const std::vector<double>& capacity) {
    if (GetParam().links == Links::kNetwork) return make(capacity, nullptr);
    const bool both = GetParam().links == Links::kBoth;
    PcieNetwork pcie;
    PcieTree& t = pcie.tree;
    t.parent = {PcieTree::kNoParent, both ? 0u : 2u, 0, 0};
    t.up_capacity = {1, 1, 1, 1};
    t.down_capacity = t.up_capacity;
    t.root_complex = {1, 0, 0, 0};
    t.never_crosses = {0, 0, 0, 0};
    t.tau = {0.2, 0.2, 0.2, 0.2};
    const std::vector<PcieLink> links =
        both ? std::vector<PcieLink>{PcieNetwork::kFabric, pcie_up(1), pcie_down(3)}
             : std::vector<PcieLink>{pcie_up(1), pcie_up(2), pcie_down(3)};
    for (std::size_t l = 0; l < capacity.size(); ++l) {
      pcie.pcie_link.push_back(links[l]);
      if (links[l] == PcieNetwork::kFabric) continue;
      (links[l] % 2 == 0 ? t.up_capacity : t.down_capacity)[links[l] / 2] = capacity[l];
    }
    return make(capacity, &pcie);
  }
};

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
  const std::uint64_t base = problems::base_seed(1);
  for (std::uint64_t seed = base; seed < base + 40; ++seed) {
    SCOPED_TRACE("WEFT_SEED=" + std::to_string(seed));
    std::vector<double> log[2];
    for (auto& rates : log) {
      Rng rng(seed);
      const Source source(GetParam().links, rng);
      const auto& capacity = source.capacity();
      const auto m = make(capacity, source.pcie());
      std::map<FlowId, problems::Flow> alive;
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

std::string name_of(const ::testing::TestParamInfo<Named>& model) {
  const char* const links[] = {"", "-trees", "-trees-and-network"};
  std::string name(model.param.row->name);
  name += links[static_cast<int>(model.param.links)];
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(AllModels, Conformance, ::testing::ValuesIn(every_model_on_all_links()), name_of);

TEST(Registry, AnswersAnUnknownNameWithTheKnownOnes) {
  const std::vector<double> capacity{1};
  const auto r = make_sharing_model("fair", capacity);
  ASSERT_FALSE(r.has_value());
  EXPECT_EQ(r.error().code, ErrorCode::kUsage);
  std::string known;
  for (const ModelRow& row : models()) known += (known.empty() ? "" : ", ") + std::string(row.name);
  EXPECT_TRUE(known.starts_with("max-min, max-min-component, contention-free, pcie")) << known;
  EXPECT_EQ(r.error().message(), "error: unknown network model; got \"fair\"; expected one of: " + known);
  EXPECT_EQ(make_sharing_model("contention-fre", capacity).error().message(),
            "error: unknown network model; got \"contention-fre\"; expected one of: " + known +
                "; did you mean contention-free?");
}

// The columns are what replay, predict, schedule and the help pages ask; each against what the model does.
TEST(Registry, ColumnsSayWhatTheModelDoes) {
  EXPECT_EQ(default_model(false).name, "max-min");
  EXPECT_EQ(default_model(true).name, "pcie");
  EXPECT_TRUE(listed_models().starts_with("max-min|contention-free|pcie")) << listed_models();
  EXPECT_EQ(default_model_rule(), "pcie where there are PCIe trees, else max-min");
  EXPECT_EQ(find_model("fair"), nullptr);
  const std::vector<double> capacity{8e9, 8e9, 8e9};
  for (const ModelRow& row : models()) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(find_model(row.name), &row);
    ASSERT_NE(find_model(row.memoryless), nullptr);
    EXPECT_EQ(find_model(row.memoryless)->memoryless, row.memoryless);
    auto m = std::move(make_sharing_model(row.name, capacity, nullptr)).value();
    const FlowId a = m->add(links({0}), 1, kNoLimit), b = m->add(links({0}), 1, kNoLimit);
    (void)m->solve();
    const double want = row.is(kNoContention) ? 8e9 : 4e9;
    EXPECT_EQ(m->rate(a), want);
    EXPECT_EQ(m->rate(b), want);
  }
}

// Memoryless: the rates of flows are those of a model that saw nothing else before, to the last bit.
TEST(Registry, AMemorylessModelGivesTheRatesOfAFreshOne) {
  const std::uint64_t base = problems::base_seed(1);
  for (const ModelRow& row : models()) {
    if (row.memoryless != row.name) continue;
    for (std::uint64_t seed = base; seed < base + 20; ++seed) {
      SCOPED_TRACE(std::string(row.name) + " WEFT_SEED=" + std::to_string(seed));
      Rng rng(seed);
      const Source source(row.is(kReadsTrees) ? Links::kBoth : Links::kNetwork, rng);
      const auto old = std::move(make_sharing_model(row.name, source.capacity(), source.pcie())).value();
      const auto fresh = std::move(make_sharing_model(row.name, source.capacity(), source.pcie())).value();
      std::vector<FlowId> before;
      for (int i = 0; i < 30; ++i) {
        const problems::Flow f = source.flow(rng);
        before.push_back(old->add(f.route, f.weight, f.limit));
        (void)old->solve();
      }
      // As schedule's oracle does: the last first, so that ids are given again in the same order.
      for (std::size_t i = before.size(); i-- > 0;) old->remove(before[i]);
      (void)old->solve();
      std::vector<FlowId> ids;
      for (int i = 0; i < 30; ++i) {
        const problems::Flow f = source.flow(rng);
        ids.push_back(old->add(f.route, f.weight, f.limit));
        ASSERT_EQ(fresh->add(f.route, f.weight, f.limit), ids.back());
      }
      (void)old->solve();
      (void)fresh->solve();
      for (const FlowId id : ids) ASSERT_EQ(old->rate(id), fresh->rate(id));
    }
  }
}

}  // namespace
}  // namespace weft::congestion
