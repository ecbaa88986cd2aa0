// Communicators: who is which rank of which communicator. Ranks of MPI_COMM_WORLD are called world ranks.
//
// Complexity: rank_in() is O(1) where the members are 0, 1, 2..., else O(log members); the table is built once, in
// O(members log members) each.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "traces/trace.hpp"

namespace weft::replay {

class Communicators {
 public:
  // `comms` outlives it.
  explicit Communicators(const std::vector<traces::Communicator>& comms);

  [[nodiscard]] std::size_t count() const { return comms_.size(); }
  [[nodiscard]] const std::string& name(std::uint32_t comm) const { return comms_[comm].name; }
  // World ranks, by rank.
  [[nodiscard]] const std::vector<std::int32_t>& members(std::uint32_t comm) const {
    return comms_[comm].members;
  }
  // Rank of world rank `world` in communicator `comm`, or -1.
  [[nodiscard]] std::int64_t rank_in(std::uint32_t comm, std::uint32_t world) const;

 private:
  struct Row {
    bool identity = false;                                          // members are 0..p-1
    std::vector<std::pair<std::uint32_t, std::uint32_t>> by_world;  // (world rank, rank), sorted
  };

  const std::vector<traces::Communicator>& comms_;
  std::vector<Row> rows_;
};

}  // namespace weft::replay
