// SharingModel: gives every active flow a rate. Sees capacities and routes as spans; knows no graph and reads no clock.
//
// Use: add and remove flows freely, then solve() once per instant. solve() re-solves only what is connected to a
// change and reports the flows whose rate is not what it was, and those that only another link holds now.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "core/id.hpp"
#include "core/result.hpp"

namespace weft::congestion {

class LevelGroups;   // congestion/level_groups.hpp
struct PcieNetwork;  // congestion/pcie_model.hpp

struct SolveStats {
  std::uint64_t solves = 0;         // calls of solve() that had something to do
  std::uint64_t flows_solved = 0;   // flows whose rate was computed
  std::uint64_t links_touched = 0;  // links visited by those solves
  std::uint64_t certificates = 0;   // solves that were checked by the certificate
  std::uint32_t max_component = 0;  // flows in the largest component solved
};

class SharingModel {
 public:
  virtual ~SharingModel() = default;

  // A flow over `route` (each link at most once; may be empty only if rate_cap is finite). Its share of a bottleneck
  // is proportional to `weight` > 0; its rate never exceeds `rate_cap` (bytes/s, may be infinity).
  // The id is dense and reused after remove(). The route is copied. O(route).
  [[nodiscard]] virtual FlowId add(std::span<const LinkId> route, double weight, double rate_cap) = 0;
  virtual void remove(FlowId flow) = 0;
  // False: solve() would find that nothing changed, as after the end of a flow that slowed nobody.
  [[nodiscard]] virtual bool to_solve() const { return true; }
  // Flows whose rate changed by this call, new ones included; valid until the next call. Order: ascending FlowId.
  virtual std::span<const FlowId> solve() = 0;
  // bytes/s; valid after solve().
  [[nodiscard]] virtual double rate(FlowId flow) const = 0;
  // The whole column by FlowId, so that a loop over changed flows makes one virtual call; invalidated by add().
  [[nodiscard]] virtual std::span<const double> rates() const = 0;
  [[nodiscard]] virtual std::span<const LinkId> route(FlowId flow) const = 0;
  // The link (or none: its own cap) that limits the flow, as of the last solve.
  [[nodiscard]] virtual LinkId bottleneck(FlowId flow) const = 0;
  // The whole column by FlowId, as rates().
  [[nodiscard]] virtual std::span<const LinkId> bottlenecks() const = 0;
  // Flows that the last solve gave another bottleneck at the rate that they had, so solve() did not name them; valid
  // until the next call. Order: the same for the same calls.
  [[nodiscard]] virtual std::span<const FlowId> moved() const = 0;
  [[nodiscard]] virtual std::uint32_t flows_on(LinkId link) const = 0;
  // A flow of weight n w and limit n c takes what n flows of weight w and limit c would. False: it is one flow among
  // others, whatever its weight.
  [[nodiscard]] virtual bool weight_counts_flows() const { return false; }
  // Who keeps accounts by group of flows says so before the first solve(). Then solve() may do so, too: groups() is not null
  // after it, solve() names only flows that are new or in another group, groups() says which groups go at another
  // level, and rates() means nothing. Whenever groups() becomes null again, solve() names all flows.
  virtual void report_groups(bool /*yes*/) {}
  [[nodiscard]] virtual const LevelGroups* groups() const { return nullptr; }
  // A relative change of a rate below `ratio` need not be passed on: rates meet the conditions of certificate.hpp to 2 x
  // ratio, or are within `ratio` of the exact ones (trait kNearExact), not exactly. Before the first flow. False: not this
  // model.
  [[nodiscard]] virtual bool set_accuracy(double ratio) { return ratio == 0; }
  // Who changes capacities on the way says so before the first flow. False: not this model.
  [[nodiscard]] virtual bool vary_capacities() { return false; }
  // From the next solve() on `link` has `bytes_per_s` > 0, at most what it had at the start. REQUIRES: vary_capacities() was
  // true.
  virtual void set_capacity(LinkId link, double bytes_per_s);
  [[nodiscard]] virtual const SolveStats& stats() const = 0;
};

// `name`: a row of models.def (models.hpp). `capacity`: bytes/s by LinkId, > 0; must outlive the model. `pcie`: which
// of the links form PCIe trees, for models to which they mean something; null = none. Error: kUsage, with the known
// names.
[[nodiscard]] Result<std::unique_ptr<SharingModel>> make_sharing_model(std::string_view name,
                                                                       std::span<const double> capacity,
                                                                       const PcieNetwork* pcie = nullptr);

}  // namespace weft::congestion
