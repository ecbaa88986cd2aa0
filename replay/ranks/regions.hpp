// Regions: named stretches of a rank's program, and how long they took over all ranks.
//
// A region ends the innermost open one of its name; an end without a begin, and a begin without an end, count nothing. What is
// within another of its name takes no time beside that.
// Ranks are told apart where somebody asks for it, for as many regions as take kMostSums sums. Complexity: O(open regions
// of the rank) an end; memory: 64 MB for these sums at most.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "replay/results.hpp"
#include "replay/time.hpp"

namespace weft::replay {

class Regions {
 public:
  Regions(std::size_t names, std::size_t ranks, bool by_rank) : totals_(names), open_(ranks) {
    if (by_rank && ranks > 0) by_rank_.resize(ranks * std::min(names, kMostSums / ranks));
  }

  // `computed`: how long the rank has computed so far.
  void begin(std::uint32_t rank, std::uint64_t id, Instant now, Elapsed computed) {
    if (id < totals_.size()) open_[rank].push_back({id, now, computed});
  }
  // Since when it was open; nothing if it was not.
  std::optional<Instant> end(std::uint32_t rank, std::uint64_t id, Instant now, Elapsed computed) {
    auto& open = open_[rank];
    for (std::size_t i = open.size(); i > 0; --i) {
      if (open[i - 1].id != id) continue;
      const Open was = open[i - 1];
      open.erase(open.begin() + static_cast<std::ptrdiff_t>(i - 1));
      ++totals_[id].count;
      const auto outer = open.begin() + static_cast<std::ptrdiff_t>(i - 1);
      if (std::any_of(open.begin(), outer, [id](const Open& o) { return o.id == id; })) return was.since;
      totals_[id].time += now - was.since;
      if (const std::size_t at = id * open_.size() + rank; at < by_rank_.size()) {
        by_rank_[at].time += now - was.since;
        by_rank_[at].computed += computed - was.computed;
      }
      return was.since;
    }
    return std::nullopt;
  }

  // The region that the rank is in, the innermost; nothing: in none.
  [[nodiscard]] std::optional<std::uint64_t> innermost(std::uint32_t rank) const {
    if (open_[rank].empty()) return std::nullopt;
    return open_[rank].back().id;
  }

  // `names` by id.
  [[nodiscard]] std::vector<RegionTimes> totals(const std::vector<std::string>& names) const {
    std::vector<RegionTimes> out;
    for (std::size_t i = 0; i < totals_.size(); ++i) {
      RegionTimes& t = out.emplace_back();
      t.name = names[i];
      t.count = totals_[i].count;
      t.total = totals_[i].time.rounded_sum();
      t.by_rank = (i + 1) * open_.size() <= by_rank_.size();
      if (!t.by_rank) continue;
      Elapsed computed;
      for (std::size_t r = 0; r < open_.size(); ++r) {
        const Sum& s = by_rank_[i * open_.size() + r];
        t.longest = std::max(t.longest, s.time.rounded());
        t.most_computed = std::max(t.most_computed, s.computed.rounded());
        computed += s.computed;
      }
      t.computed = computed.rounded_sum();
    }
    return out;
  }

 private:
  struct Total {
    std::uint64_t count = 0;
    Elapsed time;
  };
  struct Open {
    std::uint64_t id = 0;
    Instant since;
    Elapsed computed;
  };
  struct Sum {
    Elapsed time, computed;
  };
  static constexpr std::size_t kMostSums = std::size_t{1} << 21;
  std::vector<Total> totals_;            // by id
  std::vector<std::vector<Open>> open_;  // by rank; innermost last
  std::vector<Sum> by_rank_;             // by id, then rank
};

}  // namespace weft::replay
