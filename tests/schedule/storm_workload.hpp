// The node of the PCIe paper as a workload, straight from a tree: B = 1 byte/s and messages of 1 byte, so that
// times come out in units of T_ref = message / B.
#pragma once

#include <memory>

#include "schedule/workload.hpp"
#include "tests/congestion/pcie_testing.hpp"

namespace weft::testing {

class TreeOracle final : public schedule::RateOracle {
 public:
  TreeOracle(congestion::PcieTree tree, const schedule::Exchange& exchange, std::vector<std::uint32_t> gpu)
      : tree_(std::move(tree)), exchange_(exchange), gpu_(std::move(gpu)), arbiter_(tree_) {
    for (const auto& m : exchange_.messages) (void)arbiter_.add(gpu_[m.src], gpu_[m.dst]);
  }
  void rates(std::span<const std::uint32_t> active, std::span<double> rates) override {
    const auto rho = arbiter_.solve(active);
    std::copy(rho.begin(), rho.end(), rates.begin());
  }
  [[nodiscard]] std::unique_ptr<schedule::RateOracle> clone() const override {
    return std::make_unique<TreeOracle>(tree_, exchange_, gpu_);
  }

 private:
  congestion::PcieTree tree_;
  schedule::Exchange exchange_;
  std::vector<std::uint32_t> gpu_;
  congestion::PcieArbiter arbiter_;
};

struct StormWorkload {
  schedule::Workload workload;
  std::unique_ptr<TreeOracle> oracle;

  StormWorkload(const schedule::Exchange& exchange, int sockets, Fraction tau,
                std::vector<std::uint32_t> gpu = {}) {
    const ReferenceTree t = storm(sockets, tau);
    if (gpu.empty()) {
      for (std::uint32_t r = 0; r < exchange.ranks; ++r) gpu.push_back(r);
    }
    workload.exchange = exchange;
    workload.route_start.push_back(0);
    const auto nodes = static_cast<std::uint32_t>(t.parent.size());
    workload.capacity.assign(2 * nodes, 1);
    for (std::uint32_t l = 0; l < 2 * nodes; ++l) {
      int depth = 0;
      for (int v = static_cast<int>(l / 2); t.parent[v] >= 0; v = t.parent[v]) ++depth;
      workload.color.push_back(2 * depth + l % 2);
      workload.link.emplace_back(l);
    }
    for (const auto& m : exchange.messages) {
      std::vector<std::uint32_t> up;
      std::vector<std::uint32_t> down;
      int a = static_cast<int>(gpu[m.src]);
      int b = static_cast<int>(gpu[m.dst]);
      const auto depth = [&](int v) {
        int d = 0;
        for (; t.parent[v] >= 0; v = t.parent[v]) ++d;
        return d;
      };
      while (a != b) {
        if (depth(a) >= depth(b)) {
          up.push_back(congestion::pcie_up(a));
          a = t.parent[a];
        } else {
          down.insert(down.begin(), congestion::pcie_down(b));
          b = t.parent[b];
        }
      }
      workload.route.insert(workload.route.end(), up.begin(), up.end());
      workload.route.insert(workload.route.end(), down.begin(), down.end());
      workload.route_start.push_back(static_cast<std::uint32_t>(workload.route.size()));
    }
    schedule::set_lanes(workload, true);
    oracle = std::make_unique<TreeOracle>(arbiter_tree(t), exchange, gpu);
  }
};

inline schedule::Exchange unit_grid(std::uint32_t x, std::uint32_t y, std::uint32_t z = 1,
                                    bool periodic = false) {
  schedule::Grid grid;
  grid.size = {x, y, z};
  grid.dimensions = z > 1 ? 3 : y > 1 ? 2 : 1;
  grid.periodic = periodic;
  grid.face = {Bytes(1), Bytes(1), Bytes(1)};
  grid.edge = Bytes(1);
  grid.corner = Bytes(1);
  return schedule::halo_exchange(grid);
}

}  // namespace weft::testing
