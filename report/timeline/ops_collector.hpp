// Every operation of a replay, for formats that show them all: when it was, in which order, what receives took, and what accelerators did.
//
// Memory: 16 bytes an operation; with matches 32 more for each receive, 24 for each launch.
#pragma once

#include "replay/engine.hpp"
#include "traces/formats/otf2/write/replayed.hpp"

namespace weft::report {

class OpsCollector {
 public:
  // Adds to the callbacks of `options`; this must outlive the replay. `matches`: what receives took and accelerators did, too.
  void attach(replay::ReplayOptions& options, bool matches);
  [[nodiscard]] const traces::ReplayedOps& ops() const { return ops_; }

 private:
  [[nodiscard]] traces::ReplayedRank& of(RankId rank) {
    if (ops_.size() <= rank.index()) ops_.resize(rank.index() + std::size_t{1});
    return ops_[rank.index()];
  }
  traces::ReplayedOps ops_;
};

}  // namespace weft::report
