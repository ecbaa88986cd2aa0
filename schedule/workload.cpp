#include "schedule/workload.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "congestion/models.hpp"
#include "congestion/pcie_arbiter.hpp"
#include "core/check.hpp"
#include "network/sharing.hpp"
#include "schedule/link_colors.hpp"
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

class ArbiterOracle final : public RateOracle {
 public:
  // `trees`: of the links of `workload`.
  ArbiterOracle(const Workload& workload, congestion::PcieNetwork trees)
      : workload_(workload), trees_(std::move(trees)), arbiter_(trees_.tree) {
    for (std::uint32_t m = 0; m < workload.messages(); ++m) {
      path_.clear();
      for (std::uint32_t l : workload.links_of(m))
        path_.push_back(trees_.pcie_link[workload.link[l].index()]);
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
    return std::make_unique<ArbiterOracle>(workload_, trees_);
  }

 private:
  const Workload& workload_;
  congestion::PcieNetwork trees_;
  congestion::PcieArbiter arbiter_;
  std::vector<congestion::PcieLink> path_;
};

}  // namespace

bool messages_share(std::string_view model) {
  const congestion::ModelRow* row = congestion::find_model(model);
  return row == nullptr || !row->is(congestion::kNoContention);
}

void set_lanes(Workload& w, bool share) {
  const auto add = [&w](std::uint32_t link, double capacity, bool both) {
    w.lane_link.push_back(link);
    w.lane_capacity.push_back(capacity);
    w.lane_both.push_back(both ? 1 : 0);
  };
  w.lane_start.push_back(0);
  if (!share) {
    // Messages of one sender cross a link one way: what both ways carry together limits them no more.
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> lane_of;  // by sender and link
    for (std::uint32_t m = 0; m < w.messages(); ++m) {
      for (const std::uint32_t l : w.links_of(m)) {
        const auto [it, fresh] = lane_of.try_emplace({w.exchange.messages[m].src, l}, w.lanes());
        if (fresh) add(l, w.capacity[l], false);
        w.lane.push_back(it->second);
      }
      w.lane_start.push_back(static_cast<std::uint32_t>(w.lane.size()));
    }
    return;
  }
  for (std::uint32_t l = 0; l < w.links(); ++l) add(l, w.capacity[l], false);
  constexpr std::uint32_t kNoLane = 0xffffffffu;
  std::map<std::uint32_t, std::uint32_t> first_of;  // link by tie
  std::vector<std::uint32_t> both(w.links(), kNoLane);
  for (std::uint32_t l = 0; l < w.together.size(); ++l) {
    if (std::isinf(w.together[l])) continue;
    const auto [it, fresh] = first_of.try_emplace(w.tie[l], l);
    if (fresh) continue;
    both[l] = both[it->second] = w.lanes();
    add(it->second, w.together[l], true);
  }
  for (std::uint32_t m = 0; m < w.messages(); ++m) {
    const auto route = w.links_of(m);
    w.lane.insert(w.lane.end(), route.begin(), route.end());
    for (const std::uint32_t l : route)
      if (both[l] != kNoLane) w.lane.push_back(both[l]);
    w.lane_start.push_back(static_cast<std::uint32_t>(w.lane.size()));
  }
}

Result<void> check_links(const topology::Fabric& fabric) {
  if (!fabric.links().fatpipes) return {};
  return not_supported("a search of schedules on fatpipe links", "a platform whose links are shared");
}

Result<Workload> place_exchange(const Exchange& exchange, const topology::Fabric& fabric,
                                std::span<const HostId> host, bool share) {
  WEFT_CHECK(host.size() == exchange.ranks, "as many hosts as ranks");
  WEFT_TRY(check_links(fabric));
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
        w.tie.push_back(colors.tie(l));
        w.together.push_back(colors.together(l));
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
    congestion::PcieNetwork trees = network::pcie_network(fabric);
    const bool inside = network::link_groups(fabric).empty() &&
                        std::all_of(workload.link.begin(), workload.link.end(), [&](LinkId l) {
                          return trees.pcie_link[l.index()] != congestion::PcieNetwork::kFabric;
                        });
    if (inside)
      return Result<std::unique_ptr<RateOracle>>(std::make_unique<ArbiterOracle>(workload, std::move(trees)));
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
    if (seconds[l] > bound.seconds)
      bound = {seconds[l], workload.lane_link[l], messages[l], workload.lane_both[l] != 0};
  }
  return bound;
}

}  // namespace weft::schedule
