// PanelBroadcasts: how long HPL's panels are on their way, from the first send of a panel in a process row to its last
// arrival there, summed over rows and panels.
//
// Messages of netlib's broadcasts have a tag for each panel. Those of programs for accelerators have the sender's column as
// tag, whatever the panel: there a message belongs to the panel in whose broadcast its sender was when it sent, and the
// broadcasts of a rank are counted by their regions. A row has less than kOpen of them under way.
// Memory: kOpen times a rank, and as many open broadcasts a row.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "hpl_gen/grid.hpp"
#include "hpl_gen/hpl_dat.hpp"
#include "hpl_gen/steps/op_sink.hpp"
#include "replay/engine.hpp"
#include "replay/time.hpp"

namespace weft::predict {

class PanelBroadcasts {
 public:
  explicit PanelBroadcasts(const hpl_gen::HplConfig& config) : grid_(hpl_gen::grid_of(config)) {
    if (hpl_gen::on_accelerators(config.program)) ranks_.resize(static_cast<std::size_t>(config.ranks()));
  }

  // The end of a broadcast region.
  void region(RankId rank, SimTime end) {
    if (ranks_.empty()) return;
    Rank& r = ranks_[rank.index()];
    r.ends[r.done++ % kOpen] = end;
  }
  // A message of a program that is no collective's.
  void message(const replay::MessageSeen& m) {
    const std::int64_t panel = panel_of(m);
    if (panel < 0) return;
    const std::size_t slot = m.comm.index() * kOpen + static_cast<std::size_t>(panel) % kOpen;
    if (slot >= open_.size()) open_.resize(slot + 1);
    Open& o = open_[slot];
    if (o.panel != panel) {
      close(o);
      o = {panel, m.posted, m.arrived};
    }
    o.from = std::min(o.from, m.posted);
    o.to = std::max(o.to, m.arrived);
  }
  // Of all; once nothing more comes.
  [[nodiscard]] replay::Elapsed take() {
    for (Open& o : open_) close(std::exchange(o, {}));
    return took_;
  }

 private:
  static constexpr std::size_t kOpen = 8;
  struct Open {
    std::int64_t panel = -1;
    SimTime from{}, to{};
  };
  struct Rank {
    std::uint64_t done = 0;             // broadcasts
    std::array<SimTime, kOpen> ends{};  // of the last ones, by number
  };

  // A number that tells panels of a row apart which are under way together; -1: no message of a broadcast.
  [[nodiscard]] std::int64_t panel_of(const replay::MessageSeen& m) const {
    if (ranks_.empty())
      return m.tag >= hpl_gen::kTagPanel && m.tag < hpl_gen::kTagPanel + hpl_gen::kTagRange ? m.tag : -1;
    const CommId first = grid_.row_comm(0);
    if (m.comm < first || m.comm > grid_.row_comm(grid_.p - 1) || m.tag >= grid_.q) return -1;
    const Rank& r = ranks_[m.src.index()];
    std::uint64_t n = r.done;
    for (std::size_t back = 0; back < kOpen && n > 0 && r.ends[(n - 1) % kOpen] >= m.posted; ++back) --n;
    return static_cast<std::int64_t>(n);
  }
  void close(const Open& o) {
    if (o.panel >= 0) took_ += replay::Elapsed(o.to - o.from);
  }

  hpl_gen::ProcessGrid grid_;
  std::vector<Rank> ranks_;  // empty: tags tell
  std::vector<Open> open_;
  replay::Elapsed took_;
};

}  // namespace weft::predict
