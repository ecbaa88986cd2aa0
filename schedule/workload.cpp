#include "schedule/workload.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

#include "congestion/models.hpp"
#include "congestion/pcie_arbiter.hpp"
#include "core/check.hpp"
#include "network/sharing.hpp"
#include "schedule/link_colors.hpp"
#include "topology/pcie/forest.hpp"
#include "topology/routing/route_cache.hpp"

namespace weft::schedule {
namespace {

class ModelOracle final : public RateOracle {
 public:
  ModelOracle(std::string_view model, const Workload& workload, const topology::Fabric& fabric,
              std::unique_ptr<congestion::SharingModel> made)
      : name_(model), workload_(workload), fabric_(fabric), model_(std::move(made)) {}

  // All flows are removed again, the last first, so that each set meets an empty model and equal ids.
  void rates(std::span<const std::uint32_t> active, std::span<double> rates) override {
    flows_.clear();
    for (std::uint32_t m : active) {
      links_.clear();
      for (std::uint32_t l : workload_.links_of(m)) links_.push_back(workload_.link[l]);
      flows_.push_back(links_.empty() ? FlowId()
                                      : model_->add(links_, 1, std::numeric_limits<double>::infinity()));
    }
    (void)model_->solve();
    for (std::size_t i = 0; i < active.size(); ++i) {
      rates[i] = flows_[i].valid() ? model_->rate(flows_[i]) : std::numeric_limits<double>::infinity();
    }
    for (std::size_t i = active.size(); i-- > 0;) {
      if (flows_[i].valid()) model_->remove(flows_[i]);
    }
    (void)model_->solve();
  }
  [[nodiscard]] std::unique_ptr<RateOracle> clone() const override {
    auto made = network::make_model(name_, fabric_);
    return std::make_unique<ModelOracle>(name_, workload_, fabric_, std::move(*made));
  }

 private:
  std::string name_;
  const Workload& workload_;
  const topology::Fabric& fabric_;
  std::unique_ptr<congestion::SharingModel> model_;
  std::vector<LinkId> links_;
  std::vector<FlowId> flows_;
};

// Nodes of the trees are the vertices of the fabric, so that columns carry over; capacities in bytes/s.
congestion::PcieTree arbiter_tree(const topology::Fabric& fabric) {
  using congestion::PcieTree;
  using topology::PcieKind;
  const topology::PcieForest& forest = *fabric.pcie();
  PcieTree tree;
  for (std::uint32_t v = 0; v < fabric.vertex_count(); ++v) {
    const bool inner = forest.parent[v].valid();
    tree.parent.push_back(inner ? forest.parent[v].index() : PcieTree::kNoParent);
    tree.up_capacity.push_back(inner ? fabric.links().capacity[forest.up[v].index()] : 1);
    tree.down_capacity.push_back(inner ? fabric.links().capacity[forest.down[v].index()] : 1);
    const PcieKind kind = forest.kind[v];
    tree.root_complex.push_back(kind == PcieKind::kRootComplex || kind == PcieKind::kInterSocket ? 1 : 0);
    tree.never_crosses.push_back(kind == PcieKind::kMemory ? 1 : 0);
    tree.tau.push_back(forest.tau[v]);
  }
  return tree;
}

// By LinkId: the arbiter's name of a link, kNone outside of the trees.
std::vector<congestion::PcieLink> pcie_links(const topology::Fabric& fabric) {
  const topology::PcieForest& forest = *fabric.pcie();
  std::vector<congestion::PcieLink> of(fabric.link_count(), congestion::PcieArbiter::kNone);
  for (std::uint32_t v = 0; v < fabric.vertex_count(); ++v) {
    if (!forest.parent[v].valid()) continue;
    of[forest.up[v].index()] = congestion::pcie_up(v);
    of[forest.down[v].index()] = congestion::pcie_down(v);
  }
  return of;
}

class ArbiterOracle final : public RateOracle {
 public:
  ArbiterOracle(const Workload& workload, const topology::Fabric& fabric)
      : workload_(workload), fabric_(fabric), arbiter_(arbiter_tree(fabric)) {
    const auto name = pcie_links(fabric);
    for (std::uint32_t m = 0; m < workload.messages(); ++m) {
      path_.clear();
      for (std::uint32_t l : workload.links_of(m)) path_.push_back(name[workload.link[l].index()]);
      // A factor of 1 is the full rate of the first link.
      const double start = path_.empty() ? std::numeric_limits<double>::infinity()
                                         : workload.capacity[workload.links_of(m).front()];
      (void)arbiter_.add(path_, start);
    }
  }
  void rates(std::span<const std::uint32_t> active, std::span<double> rates) override {
    const auto got = arbiter_.solve(active);
    std::copy(got.begin(), got.end(), rates.begin());
  }
  [[nodiscard]] std::unique_ptr<RateOracle> clone() const override {
    return std::make_unique<ArbiterOracle>(workload_, fabric_);
  }

 private:
  const Workload& workload_;
  const topology::Fabric& fabric_;
  congestion::PcieArbiter arbiter_;
  std::vector<congestion::PcieLink> path_;
};

}  // namespace

bool messages_share(std::string_view model) {
  const congestion::ModelRow* row = congestion::find_model(model);
  return row == nullptr || !row->is(congestion::kNoContention);
}

void set_lanes(Workload& w, bool share) {
  if (share) {
    w.lane = w.route;
    w.lane_link.resize(w.links());
    std::iota(w.lane_link.begin(), w.lane_link.end(), 0u);
    return;
  }
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> lane_of;  // by sender and link
  for (std::uint32_t m = 0; m < w.messages(); ++m)
    for (const std::uint32_t l : w.links_of(m)) {
      const auto [it, fresh] = lane_of.try_emplace({w.exchange.messages[m].src, l}, w.lanes());
      if (fresh) w.lane_link.push_back(l);
      w.lane.push_back(it->second);
    }
}

Result<Workload> place_exchange(const Exchange& exchange, const topology::Fabric& fabric,
                                std::span<const HostId> host, bool share) {
  WEFT_CHECK(host.size() == exchange.ranks, "as many hosts as ranks");
  Workload w;
  w.exchange = exchange;
  std::vector<std::uint32_t> dense(fabric.link_count(), LinkId::kNone);
  LinkColors colors(fabric);
  topology::RouteCache routes(fabric);
  w.route_start.push_back(0);
  for (const Message& m : exchange.messages) {
    const auto route = routes.find(host[m.src], host[m.dst]);
    if (!route.reachable)
      return bad_input({}, "a message has no route",
                       fabric.host_name(host[m.src]) + " to " + fabric.host_name(host[m.dst]),
                       "a platform on which all partners reach each other");
    for (LinkId l : route.links) {
      if (dense[l.index()] == LinkId::kNone) {
        dense[l.index()] = w.links();
        w.capacity.push_back(fabric.links().capacity[l.index()]);
        w.link.push_back(l);
        w.color.push_back(colors.of(l));
      }
      w.route.push_back(dense[l.index()]);
    }
    w.route_start.push_back(static_cast<std::uint32_t>(w.route.size()));
  }
  set_lanes(w, share);
  return w;
}

Result<std::unique_ptr<RateOracle>> make_rate_oracle(std::string_view model, const Workload& workload,
                                                     const topology::Fabric& fabric) {
  if (model == "pcie" && fabric.pcie() != nullptr) {
    const auto name = pcie_links(fabric);
    const bool inside = network::link_groups(fabric).empty() &&
                        std::all_of(workload.link.begin(), workload.link.end(), [&](LinkId l) {
                          return name[l.index()] != congestion::PcieArbiter::kNone;
                        });
    if (inside) return Result<std::unique_ptr<RateOracle>>(std::make_unique<ArbiterOracle>(workload, fabric));
  }
  return make_model_oracle(model, workload, fabric);
}

Result<std::unique_ptr<RateOracle>> make_model_oracle(std::string_view model, const Workload& workload,
                                                      const topology::Fabric& fabric) {
  // Rates must not depend on what was asked before.
  if (const congestion::ModelRow* row = congestion::find_model(model)) model = row->memoryless;
  WEFT_ASSIGN(auto made, network::make_model(model, fabric));
  return Result<std::unique_ptr<RateOracle>>(
      std::make_unique<ModelOracle>(model, workload, fabric, std::move(made)));
}

LinkBound link_bound(const Workload& workload) {
  std::vector<double> seconds(workload.lanes(), 0);
  std::vector<std::uint32_t> messages(workload.lanes(), 0);
  for (std::uint32_t m = 0; m < workload.messages(); ++m) {
    for (std::uint32_t l : workload.lanes_of(m)) {
      seconds[l] += workload.seconds_in(m, l);
      ++messages[l];
    }
  }
  LinkBound bound;
  for (std::uint32_t l = 0; l < workload.lanes(); ++l) {
    if (seconds[l] > bound.seconds) bound = {seconds[l], workload.lane_link[l], messages[l]};
  }
  return bound;
}

}  // namespace weft::schedule
