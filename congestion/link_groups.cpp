#include "congestion/link_groups.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "congestion/pcie_model.hpp"
#include "core/check.hpp"

namespace weft::congestion {
namespace {

// What there is with the groups behind the links; a model keeps a span of the capacities.
struct LinksAndGroups {
  std::vector<double> capacity;
  std::optional<PcieNetwork> pcie;
  LinkGroups groups;
};

class GroupedModel final : public SharingModel {
 public:
  GroupedModel(std::unique_ptr<LinksAndGroups> all, std::unique_ptr<SharingModel> model)
      : all_(std::move(all)),
        links_(static_cast<std::uint32_t>(all_->groups.of_link.size())),
        model_(std::move(model)) {}

  [[nodiscard]] FlowId add(std::span<const LinkId> route, double weight, double rate_cap) override {
    route_.assign(route.begin(), route.end());
    all_->groups.append(route, route_);
    const FlowId f = model_->add(route_, weight, rate_cap);
    if (f.index() >= own_.size()) {
      own_.resize(f.index() + std::size_t{1});
      held_.resize(own_.size());
    }
    own_[f.index()] = static_cast<std::uint32_t>(route.size());
    held_[f.index()] = LinkId();
    return f;
  }
  void remove(FlowId flow) override { model_->remove(flow); }
  std::span<const FlowId> solve() override {
    const std::span<const FlowId> changed = model_->solve();
    for (const FlowId f : changed) held_[f.index()] = link_that_holds(f);
    moved_.clear();
    for (const FlowId f : model_->moved())
      if (const LinkId l = link_that_holds(f); l != std::exchange(held_[f.index()], l)) moved_.push_back(f);
    return changed;
  }
  [[nodiscard]] double rate(FlowId flow) const override { return model_->rate(flow); }
  [[nodiscard]] std::span<const double> rates() const override { return model_->rates(); }
  [[nodiscard]] std::span<const LinkId> route(FlowId flow) const override {
    return model_->route(flow).first(own_[flow.index()]);
  }
  [[nodiscard]] LinkId bottleneck(FlowId flow) const override { return held_[flow.index()]; }
  [[nodiscard]] std::span<const LinkId> bottlenecks() const override { return held_; }
  [[nodiscard]] std::span<const FlowId> moved() const override { return moved_; }
  [[nodiscard]] std::uint32_t flows_on(LinkId link) const override { return model_->flows_on(link); }
  [[nodiscard]] bool weight_counts_flows() const override { return model_->weight_counts_flows(); }
  [[nodiscard]] bool set_accuracy(double ratio) override { return model_->set_accuracy(ratio); }
  [[nodiscard]] const SolveStats& stats() const override { return model_->stats(); }

 private:
  [[nodiscard]] LinkId link_that_holds(FlowId flow) const {
    const LinkId held = model_->bottleneck(flow);
    if (!held.valid() || held.index() < links_) return held;
    const std::uint32_t group = held.index() - links_;
    for (const LinkId l : route(flow))
      if (all_->groups.of_link[l.index()] == group) return l;
    return {};
  }

  std::unique_ptr<LinksAndGroups> all_;
  std::uint32_t links_;
  std::unique_ptr<SharingModel> model_;
  // columns over flow
  std::vector<std::uint32_t> own_;  // links of its route that are none of groups
  std::vector<LinkId> held_;
  std::vector<FlowId> moved_;
  std::vector<LinkId> route_;
};

}  // namespace

void LinkGroups::append(std::span<const LinkId> route, std::vector<LinkId>& out) const {
  if (of_link.empty()) return;
  const auto links = static_cast<std::uint32_t>(of_link.size());
  const std::size_t first = out.size();
  for (const LinkId l : route) {
    if (of_link[l.index()] == kNone) continue;
    const LinkId group(links + of_link[l.index()]);
    WEFT_CHECK(std::find(out.begin() + static_cast<std::ptrdiff_t>(first), out.end(), group) == out.end(),
               "a route over two links that share a capacity");
    out.push_back(group);
  }
}

Result<std::unique_ptr<SharingModel>> make_grouped_model(std::string_view name,
                                                         std::span<const double> capacity,
                                                         const PcieNetwork* pcie, const LinkGroups& groups) {
  if (groups.empty()) return make_sharing_model(name, capacity, pcie);
  WEFT_CHECK(groups.of_link.size() == capacity.size(), "groups of other links");
  auto all = std::make_unique<LinksAndGroups>();
  all->capacity.assign(capacity.begin(), capacity.end());
  all->capacity.insert(all->capacity.end(), groups.capacity.begin(), groups.capacity.end());
  all->groups = groups;
  if (pcie != nullptr) {
    all->pcie = *pcie;
    all->pcie->pcie_link.resize(all->capacity.size(), PcieNetwork::kFabric);
  }
  WEFT_ASSIGN(auto model,
              make_sharing_model(name, all->capacity, all->pcie.has_value() ? &*all->pcie : nullptr));
  return std::unique_ptr<SharingModel>(std::make_unique<GroupedModel>(std::move(all), std::move(model)));
}

}  // namespace weft::congestion
