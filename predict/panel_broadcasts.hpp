// PanelBroadcasts: how long HPL's panels are on their way, from the first send of a panel in a process row to its last
// arrival there, summed over rows and panels.
//
// Messages of netlib's broadcasts have a tag for each panel, which repeats after kTagRange of them. Those of programs for
// accelerators have the sender's column as tag, whatever the panel: there a message belongs to the panel in whose broadcast
// its sender was when it sent, and the broadcasts of a rank are counted by their regions.
//
// A row has less than Q + look-ahead panels under way: each process column owns one of Q in a row, and factors it when it
// has got those before. As many are kept; tags tell them apart where that is less than kTagRange / 2.
// Memory: as many times a rank (of accelerators; no more than it has broadcasts), and a row.
#pragma once

#include <algorithm>
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
  explicit PanelBroadcasts(const hpl_gen::HplConfig& config)
      : grid_(hpl_gen::grid_of(config)),
        kept_(static_cast<std::size_t>(config.q + config.look_ahead()) + kMore),
        newest_(static_cast<std::size_t>(config.p), -1),
        open_(static_cast<std::size_t>(config.p) * kept_) {
    if (hpl_gen::on_accelerators(config.program)) ranks_.resize(static_cast<std::size_t>(config.ranks()));
  }

  // The end of a broadcast region.
  void region(RankId rank, SimTime end) {
    if (ranks_.empty()) return;
    Rank& r = ranks_[rank.index()];
    if (r.ends.size() < kept_)
      r.ends.push_back(end);
    else
      r.ends[r.done % kept_] = end;
    ++r.done;
  }
  // A message of a program that is no collective's.
  void message(const replay::MessageSeen& m) {
    const CommId first = grid_.row_comm(0);
    if (m.comm < first || m.comm > grid_.row_comm(grid_.p - 1)) return;
    const std::size_t row = m.comm.index() - first.index();
    const std::int64_t panel = panel_of(m, row);
    if (panel < 0) return;
    Open& o = open_[row * kept_ + static_cast<std::size_t>(panel) % kept_];
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
  static constexpr std::size_t kMore = 2;  // one that is being factored, one that the last message closes
  struct Open {
    std::int64_t panel = -1;
    SimTime from{}, to{};
  };
  struct Rank {
    std::uint64_t done = 0;     // broadcasts
    std::vector<SimTime> ends;  // of the last kept_ ones, by number
  };

  // A number that tells panels of a row apart which are under way together; -1: no message of a broadcast.
  [[nodiscard]] std::int64_t panel_of(const replay::MessageSeen& m, std::size_t row) {
    if (ranks_.empty()) {
      if (m.tag < hpl_gen::kTagPanel || m.tag >= hpl_gen::kTagPanel + hpl_gen::kTagRange) return -1;
      // The panel of that tag that is not further back than may be under way, or else the next one.
      std::int64_t& newest = newest_[row];
      const std::int64_t tag = m.tag - hpl_gen::kTagPanel;
      if (newest < 0) return newest = tag + hpl_gen::kTagRange;
      const std::int64_t after =
          (tag - newest % hpl_gen::kTagRange + hpl_gen::kTagRange) % hpl_gen::kTagRange;
      const std::int64_t back = hpl_gen::kTagRange - after;
      if (back < std::min<std::int64_t>(static_cast<std::int64_t>(kept_), hpl_gen::kTagRange / 2))
        return newest - back;
      return newest += after;
    }
    if (m.tag >= grid_.q) return -1;
    const Rank& r = ranks_[m.src.index()];
    std::uint64_t n = r.done;
    for (std::size_t back = 0; back < r.ends.size() && r.ends[(n - 1) % kept_] >= m.posted; ++back) --n;
    return static_cast<std::int64_t>(n);
  }
  void close(const Open& o) {
    if (o.panel >= 0) took_ += replay::Elapsed(o.to - o.from);
  }

  hpl_gen::ProcessGrid grid_;
  std::size_t kept_;
  std::vector<Rank> ranks_;           // empty: tags tell
  std::vector<std::int64_t> newest_;  // by row: the panel, counted on beyond tags
  std::vector<Open> open_;
  replay::Elapsed took_;
};

}  // namespace weft::predict
