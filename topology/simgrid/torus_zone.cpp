// A torus: each host has a link to the next one in every dimension. Routes take the dimensions in order, each the way that the
// coordinates of source and destination say at the start.
#include <fmt/format.h>

#include "topology/fabric_builder.hpp"
#include "topology/simgrid/cluster_zones.hpp"

namespace weft::topology::simgrid {
namespace {

class TorusZone final : public Zone {
 public:
  TorusZone(std::vector<std::uint32_t> dims, std::uint64_t hosts) : dims_(std::move(dims)), hosts_(hosts) {}

  [[nodiscard]] std::uint64_t next(std::uint64_t host, std::size_t d) const {
    const std::uint64_t step = step_of(d);
    return coordinate(host, d) + 1 == dims_[d] ? host - (dims_[d] - 1) * step : host + step;
  }
  [[nodiscard]] std::uint64_t previous(std::uint64_t host, std::size_t d) const {
    const std::uint64_t step = step_of(d);
    return coordinate(host, d) == 0 ? host + (dims_[d] - 1) * step : host - step;
  }

  bool leg(const Network& /*net*/, std::uint32_t src, std::uint32_t dst, Leg& out) const override {
    if (src >= hosts_ || dst >= hosts_) return false;
    std::uint64_t at = src;
    for (std::size_t d = 0; d < dims_.size(); ++d) {
      const std::uint64_t from = coordinate(src, d), to = coordinate(dst, d), half = dims_[d] / 2;
      const bool up = (to > from && to <= from + half) || (from > half && (from + half) % dims_[d] >= to);
      while (coordinate(at, d) != to) {
        if (!limiter.empty()) out.links.push_back(limiter[at]);
        const std::uint64_t there = up ? next(at, d) : previous(at, d);
        out.links.push_back(up ? cables[at * dims_.size() + d].up : cables[there * dims_.size() + d].down);
        at = there;
      }
    }
    if (!limiter.empty()) out.links.push_back(limiter[dst]);
    return true;
  }

  void walk(const Network& /*net*/, Places& places) const override {
    for (std::uint64_t h = 0; h < hosts_; ++h)
      for (std::size_t d = 0; d < dims_.size(); ++d) {
        if (dims_[d] == 1) continue;
        const std::uint64_t there = next(h, d);
        const Halves& cable = cables[h * dims_.size() + d];
        if (limiter.empty()) {
          places.walk(members[h], members[there], {{cable.up}});
          places.walk(members[there], members[h], {{cable.down}});
        } else {  // as a route between neighbours has them
          places.walk(members[h], members[there], {{limiter[h], cable.up, limiter[there]}});
          places.walk(members[there], members[h], {{limiter[there], cable.down, limiter[h]}});
        }
      }
  }

  std::vector<Halves> cables;          // by host and dimension, to the next host
  std::vector<std::uint32_t> limiter;  // by host; empty: none

 private:
  [[nodiscard]] std::uint64_t step_of(std::size_t d) const {
    std::uint64_t step = 1;
    for (std::size_t i = 0; i < d; ++i) step *= dims_[i];
    return step;
  }
  [[nodiscard]] std::uint64_t coordinate(std::uint64_t host, std::size_t d) const {
    return host / step_of(d) % dims_[d];
  }
  std::vector<std::uint32_t> dims_;
  std::uint64_t hosts_;
};

}  // namespace

Result<std::unique_ptr<Zone>> torus_zone(const std::string& parameters, std::uint64_t hosts,
                                         const std::string& name, const ClusterLinks& links,
                                         const std::string& where, Network& net) {
  // One of a single host costs as much as any other, at each host and on each route; of two hosts each, 20 are all hosts that there
  // may be.
  constexpr std::size_t kMostDimensions = 32;
  WEFT_ASSIGN(const std::vector<std::uint32_t> dims, shape(parameters, 0, where));
  if (dims.size() > kMostDimensions)
    return bad_input(where, "dimensions of a torus", fmt::format("{} of them", dims.size()),
                     fmt::format("at most {}", kMostDimensions));
  std::uint64_t wanted = 1;
  for (const std::uint32_t d : dims) wanted = saturating_mul(wanted, d);
  WEFT_TRY(check_hosts(wanted, hosts, where));
  WEFT_TRY(check_shape(hosts, saturating_mul(hosts, dims.size()), where));
  auto zone = std::make_unique<TorusZone>(dims, hosts);
  net.hosts_pass_on = true;
  for (std::uint64_t h = 0; h < hosts; ++h) {
    if (links.limiter > 0) zone->limiter.push_back(add_limiter(net, name, h, links));
    for (std::size_t d = 0; d < dims.size(); ++d)
      zone->cables.push_back(
          add_duplex(net, fmt::format("{}_link_from_{}_to_{}", name, h, zone->next(h, d)), links));
  }
  return std::unique_ptr<Zone>(std::move(zone));
}

}  // namespace weft::topology::simgrid
