// Regions: named stretches of a rank's program, and how long they took over all ranks.
//
// A region ends the innermost open one of its name; an end without a begin, and a begin without an end, count nothing.
// Complexity: O(open regions of the rank) an end.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "replay/results.hpp"
#include "replay/time.hpp"

namespace weft::replay {

class Regions {
 public:
  Regions(std::size_t names, std::size_t ranks) : totals_(names), open_(ranks) {}

  void begin(std::uint32_t rank, std::uint64_t id, Instant now) {
    if (id < totals_.size()) open_[rank].emplace_back(id, now);
  }
  // Since when it was open; nothing if it was not.
  std::optional<Instant> end(std::uint32_t rank, std::uint64_t id, Instant now) {
    auto& open = open_[rank];
    for (std::size_t i = open.size(); i > 0; --i) {
      if (open[i - 1].first != id) continue;
      const Instant since = open[i - 1].second;
      open.erase(open.begin() + static_cast<std::ptrdiff_t>(i - 1));
      ++totals_[id].count;
      totals_[id].time += now - since;
      return since;
    }
    return std::nullopt;
  }

  // The region that the rank is in, the innermost; nothing: in none.
  [[nodiscard]] std::optional<std::uint64_t> innermost(std::uint32_t rank) const {
    if (open_[rank].empty()) return std::nullopt;
    return open_[rank].back().first;
  }

  // `names` by id.
  [[nodiscard]] std::vector<RegionTimes> totals(const std::vector<std::string>& names) const {
    std::vector<RegionTimes> out;
    for (std::size_t i = 0; i < totals_.size(); ++i)
      out.push_back({names[i], totals_[i].count, totals_[i].time.rounded()});
    return out;
  }

 private:
  struct Total {
    std::uint64_t count = 0;
    Elapsed time;
  };
  std::vector<Total> totals_;                                         // by id
  std::vector<std::vector<std::pair<std::uint64_t, Instant>>> open_;  // by rank; innermost last
};

}  // namespace weft::replay
