#include "congestion/port_shares.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "congestion/models.hpp"
#include "core/check.hpp"

namespace weft::congestion {
namespace {

class PortModel final : public SharingModel {
 public:
  PortModel(std::span<const double> capacity, PortShares shares, std::unique_ptr<SharingModel> model)
      : capacity_(capacity),
        shares_(std::move(shares)),
        peers_(shares_.links_of_host.size()),
        model_(std::move(model)) {}

  [[nodiscard]] FlowId add(std::span<const LinkId> route, double weight, double rate_cap) override {
    const FlowId f = model_->add(route, weight, rate_cap);
    if (f.index() >= ends_.size()) ends_.resize(f.index() + std::size_t{1});
    Ends& e = ends_[f.index()] = {};
    if (route.empty()) return f;
    e = {shares_.host_of_link[route.front().index()], shares_.host_of_link[route.back().index()]};
    if (e.joins_hosts()) change(e, [&] { peers_.open(e.from, e.to); });
    return f;
  }
  void remove(FlowId flow) override {
    model_->remove(flow);
    const Ends e = ends_[flow.index()];
    if (e.joins_hosts()) change(e, [&] { peers_.close(e.from, e.to); });
  }
  std::span<const FlowId> solve() override { return model_->solve(); }
  [[nodiscard]] double rate(FlowId flow) const override { return model_->rate(flow); }
  [[nodiscard]] std::span<const double> rates() const override { return model_->rates(); }
  [[nodiscard]] std::span<const LinkId> route(FlowId flow) const override { return model_->route(flow); }
  [[nodiscard]] LinkId bottleneck(FlowId flow) const override { return model_->bottleneck(flow); }
  [[nodiscard]] std::span<const LinkId> bottlenecks() const override { return model_->bottlenecks(); }
  [[nodiscard]] std::span<const FlowId> moved() const override { return model_->moved(); }
  [[nodiscard]] std::uint32_t flows_on(LinkId link) const override { return model_->flows_on(link); }
  [[nodiscard]] bool weight_counts_flows() const override { return model_->weight_counts_flows(); }
  [[nodiscard]] bool to_solve() const override { return model_->to_solve(); }
  void report_groups(bool yes) override { model_->report_groups(yes); }
  [[nodiscard]] const LevelGroups* groups() const override { return model_->groups(); }
  [[nodiscard]] bool set_accuracy(double ratio) override { return model_->set_accuracy(ratio); }
  [[nodiscard]] const SolveStats& stats() const override { return model_->stats(); }

 private:
  struct Ends {
    std::uint32_t from = PortShares::kNone, to = PortShares::kNone;
    [[nodiscard]] bool joins_hosts() const {
      return from != PortShares::kNone && to != PortShares::kNone && from != to;
    }
  };
  template <class Change>
  void change(const Ends& e, Change peers_change) {
    const std::size_t before_from = peers_.of(e.from), before_to = peers_.of(e.to);
    peers_change();
    rate_ports(e.from, before_from);
    rate_ports(e.to, before_to);
  }
  void rate_ports(std::uint32_t host, std::size_t before) {
    const double factor = shares_.factor(peers_.of(host));
    if (factor == shares_.factor(before)) return;
    for (const LinkId l : shares_.links_of_host[host]) model_->set_capacity(l, capacity_[l.index()] * factor);
  }

  std::span<const double> capacity_;
  PortShares shares_;
  PortPeers peers_;
  std::unique_ptr<SharingModel> model_;
  std::vector<Ends> ends_;  // by FlowId
};

}  // namespace

double PortShares::factor(std::size_t peers) const {
  double factor = 1;
  for (const Step& s : steps) {
    if (peers < s.peers) break;
    factor = s.factor;
  }
  return factor;
}

void PortPeers::count(std::uint32_t host, std::uint32_t peer) {
  std::vector<Peer>& row = peers_[host];
  const auto known = std::ranges::find(row, peer, &Peer::host);
  if (known == row.end())
    row.push_back({peer, 1});
  else
    ++known->flows;
}

void PortPeers::discount(std::uint32_t host, std::uint32_t peer) {
  std::vector<Peer>& row = peers_[host];
  const auto known = std::ranges::find(row, peer, &Peer::host);
  WEFT_CHECK(known != row.end(), "a flow ends that never began");
  if (--known->flows > 0) return;
  *known = row.back();
  row.pop_back();
}

Result<std::unique_ptr<SharingModel>> make_port_model(std::string_view name, std::span<const double> capacity,
                                                      PortShares shares) {
  WEFT_ASSIGN(auto model, make_sharing_model(name, capacity));
  const ModelRow* const row = find_model(name);
  if (row != nullptr && row->is(kNoContention)) return model;
  if (!model->vary_capacities())
    return not_supported(
        "--model " + std::string(name) + " on a platform whose ports carry less to several peers",
        "--model max-min");
  return std::unique_ptr<SharingModel>(
      std::make_unique<PortModel>(capacity, std::move(shares), std::move(model)));
}

}  // namespace weft::congestion
