#include "schedule/workload.hpp"

#include <limits>
#include <map>
#include <tuple>

#include "core/check.hpp"
#include "topology/route_cache.hpp"

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
    auto made = congestion::make_sharing_model(name_, fabric_.links().capacity);
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

}  // namespace

Result<Workload> place_exchange(const Exchange& exchange, const topology::Fabric& fabric,
                                std::span<const HostId> host) {
  WEFT_CHECK(host.size() == exchange.ranks, "as many hosts as ranks");
  Workload w;
  w.exchange = exchange;
  std::vector<std::uint32_t> dense(fabric.link_count(), LinkId::kNone);
  std::map<std::tuple<std::uint8_t, double, std::int64_t>, std::uint32_t> colors;
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
        const auto& t = fabric.links();
        w.capacity.push_back(t.capacity[l.index()]);
        w.link.push_back(l);
        const auto key =
            std::tuple(t.link_class[l.index()], t.capacity[l.index()], t.latency[l.index()].count());
        w.color.push_back(colors.try_emplace(key, static_cast<std::uint32_t>(colors.size())).first->second);
      }
      w.route.push_back(dense[l.index()]);
    }
    w.route_start.push_back(static_cast<std::uint32_t>(w.route.size()));
  }
  return w;
}

Result<std::unique_ptr<RateOracle>> make_model_oracle(std::string_view model, const Workload& workload,
                                                      const topology::Fabric& fabric) {
  // Rates must not depend on what was asked before.
  if (model == "max-min") model = "max-min-component";
  WEFT_ASSIGN(auto made, congestion::make_sharing_model(model, fabric.links().capacity));
  return Result<std::unique_ptr<RateOracle>>(
      std::make_unique<ModelOracle>(model, workload, fabric, std::move(made)));
}

LinkBound link_bound(const Workload& workload) {
  std::vector<double> seconds(workload.links(), 0);
  std::vector<std::uint32_t> messages(workload.links(), 0);
  for (std::uint32_t m = 0; m < workload.messages(); ++m) {
    for (std::uint32_t l : workload.links_of(m)) {
      seconds[l] += workload.seconds_on(m, l);
      ++messages[l];
    }
  }
  LinkBound bound;
  for (std::uint32_t l = 0; l < workload.links(); ++l) {
    if (seconds[l] > bound.seconds) bound = {seconds[l], l, messages[l]};
  }
  return bound;
}

}  // namespace weft::schedule
