// Who sends how much to whom, and what links carry when: the communication matrix and the heat map.
//
// From messages alone: a message's bytes are spread evenly over the time between the instant at which its data leave and that
// at which all have come, over every link of its route. So the bytes of a link over all time are those that the replay
// counts (network::LinkUse), and how they lie within a message's own time is not known. Where the routing chooses per
// message there is no heat map. Messages of exchange series are told to nobody (ReplayOptions::on_message).
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/units.hpp"
#include "replay/engine.hpp"
#include "topology/platform/platform.hpp"

namespace weft::report {

struct TrafficSection {
  // Bytes from block i of `per_block` ranks to block j at [i * blocks + j].
  std::uint32_t blocks = 0, per_block = 1;
  std::vector<float> bytes;
  // Share of the bandwidth that links use, 0..255, `bins` times a link, over 0 to `bins` * bin; empty with the reason in
  // `no_heat`.
  std::vector<LinkId> links;  // those that carried most, most first
  std::uint32_t bins = 0;
  Duration bin{0};
  std::vector<std::uint8_t> heat;
  std::string no_heat;
  std::vector<std::uint64_t> link_bytes;  // by LinkId, of what is drawn; for tests
};

class TrafficCollector {
 public:
  static constexpr std::uint32_t kBlocks = 512;  // side of the matrix at most
  static constexpr std::uint32_t kBins = 512;    // in time at most
  static constexpr std::uint32_t kLinksShown = 64;
  static constexpr std::size_t kLinksKept = 16'384;  // with a row of bins each: 32 MB

  // All outlive it.
  TrafficCollector(std::uint32_t ranks, const topology::Fabric& fabric, const std::vector<HostId>& placement,
                   Bytes header);
  void add(const replay::MessageSeen& m);
  [[nodiscard]] TrafficSection finish(Duration makespan) const;

 private:
  const std::vector<LinkId>& route(RankId src, RankId dst);
  void widen();

  const topology::Fabric& fabric_;
  const std::vector<HostId>& placement_;
  double header_;
  std::uint32_t per_block_, blocks_;
  std::vector<double> matrix_;
  std::unordered_map<std::uint64_t, std::vector<LinkId>> routes_;  // by hosts, src << 32 | dst
  std::vector<std::uint32_t> row_of_;                              // by LinkId; kNone: not used yet
  std::vector<std::vector<float>> rows_;
  std::vector<double> carried_;  // by LinkId
  Duration bin_{1};
  std::string no_heat_;
};

[[nodiscard]] nlohmann::ordered_json to_json(const TrafficSection& t, const topology::Fabric& fabric);

}  // namespace weft::report
