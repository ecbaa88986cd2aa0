// Who sends how much to whom, and what links carry when: the communication matrix and the heat map.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

#include "core/units.hpp"
#include "replay/engine.hpp"
#include "report/timeline/link_load.hpp"
#include "topology/fabric.hpp"

namespace weft::report {

struct TrafficSection {
  // Bytes from block i of `per_block` ranks to block j at [i * blocks + j].
  std::uint32_t blocks = 0, per_block = 1;
  std::vector<float> bytes;
  LinkLoad load;
};

class TrafficCollector {
 public:
  static constexpr std::uint32_t kBlocks = 512;  // side of the matrix at most

  // `fabric` and `placement` outlive it. `options`: as in LinkLoadCollector.
  TrafficCollector(std::uint32_t ranks, const topology::Fabric& fabric, const std::vector<HostId>& placement,
                   const replay::ReplayOptions& options);
  void add(const replay::MessageSeen& m);
  void add(const replay::CopySeen& c) { load_.add(c); }  // from no rank to another
  [[nodiscard]] TrafficSection finish(Duration makespan);

 private:
  std::uint32_t per_block_, blocks_;
  std::vector<double> matrix_;
  LinkLoadCollector load_;
};

[[nodiscard]] nlohmann::ordered_json to_json(const TrafficSection& t, const topology::Fabric& fabric);

}  // namespace weft::report
