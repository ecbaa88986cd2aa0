// HPL's panels in a replayed trace: when each was done, where ranks spent its time, and what look-ahead hid of its broadcast.
//
// From regions alone (docs/hpl.md): "panel K", or the K-th "panel" of a rank, and within it "pfact", "bcast", "swap", "update".
// A rank with time in pfact owns the panel. The panel is ready when the last of its owners has factored it, and has come to a
// rank when that one's "bcast" ends. Of the time that it takes to factor a panel (the slowest owner) and to bring it to a rank,
// what the rank does not spend in "bcast" goes on behind its other work: that is what look-ahead is for.
// Memory: 56 B a rank and 80 B a panel.
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "core/id.hpp"
#include "core/units.hpp"
#include "traces/trace.hpp"

namespace weft::report {

inline constexpr std::array<std::string_view, 4> kPanelPhases{"pfact", "bcast", "swap", "update"};

// A column an entry: `per_point` panels each, the last may have fewer.
struct PanelSection {
  std::uint32_t panels = 0, per_point = 1;
  std::vector<double> end_s;                                     // of the last rank
  std::array<std::vector<double>, kPanelPhases.size()> phase_s;  // mean over the ranks
  std::vector<double> factor_s;                                  // pfact of the rank that took longest
  // From ready to arrived, and in "bcast"; means over the ranks that do not own it.
  std::vector<double> bcast_took_s, bcast_waited_s;
  std::string none;  // instead of all that: why a trace with panels has no curve
};

class PanelCollector {
 public:
  static constexpr std::uint32_t kPoints = 512;
  explicit PanelCollector(const traces::TraceReader& trace);
  // A region that ended; in the order of their ends on each rank.
  void add(RankId rank, RegionId region, SimTime begin, SimTime end);
  // No panels: none of its columns has anything.
  [[nodiscard]] PanelSection finish() const;

 private:
  struct Panel {
    std::array<Duration, kPanelPhases.size()> phase{};
    Duration longest_factor{0};
    TimeSum arrived, waited;  // summed over receivers
    SimTime ready{}, end{};
    std::uint32_t ranks = 0, receivers = 0;
  };
  struct Rank {
    std::array<Duration, kPanelPhases.size()> phase{};  // since its last panel ended
    SimTime arrived{}, factored{};
    std::uint32_t panels = 0;
  };
  static constexpr std::int64_t kNothing = -1, kNextPanel = -2, kFirstPhase = -10;

  std::vector<std::int64_t>
      meaning_;  // by region: panel's number, or one of the above; phases from kFirstPhase down
  std::vector<Rank> ranks_;
  std::vector<Panel> panels_;
};

[[nodiscard]] nlohmann::ordered_json to_json(const PanelSection& p);

}  // namespace weft::report
