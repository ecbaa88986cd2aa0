// LinkLoads: how long each link was in use and by how many flows at once, where flows do not slow each other.
//
// Flows are entered in any order of time. What lies before the instant that nothing more can start before is added up, the rest
// is kept. Complexity: O(log kKept) a link, memory: kKept changes a link, more only where so many are after that instant. Flows that
// begin together, or end together, are one change: those of an all-to-all that is posted at once mostly do.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <vector>

#include "core/id.hpp"
#include "replay/time.hpp"

namespace weft::replay {

class LinkLoads {
 public:
  explicit LinkLoads(std::size_t links) : rows_(links) {}

  void enter(std::span<const LinkId> route, Instant from, Instant to) {
    for (const LinkId l : route) {
      Row& row = rows_[l.index()];
      if (row.changes.size() >= row.full) add_up(row);
      if (row.changes.empty()) row.changes.reserve(kKept);
      row.changes.push_back(Change(from, true));
      row.changes.push_back(Change(to, false));
    }
  }
  // Nothing that is entered from now on starts before `t`.
  void forget_before(Instant t) { past_ = t; }

  // f(link, time in use, most flows at once) for each link that was used. Nothing is entered afterwards.
  template <class F>
  void finish(F f) {
    past_ = Instant::never();
    for (std::size_t l = 0; l < rows_.size(); ++l) {
      add_up(rows_[l]);
      if (rows_[l].peak > 0) f(LinkId(static_cast<std::uint32_t>(l)), rows_[l].busy, rows_[l].peak);
    }
  }

 private:
  static constexpr std::size_t kKept = 16;
  // Flows that begin, or end, at one instant: in one word, twice the instant in ticks, and 1 where they begin, before their number. Of
  // what happens at one instant ends come first.
  class Change {
   public:
    Change(Instant at, bool begins)
        : word_(((2 * at.no_later_than_last().since_start().ticks() + (begins ? 1 : 0)) << kCountBits) | 1) {}
    [[nodiscard]] Instant at() const { return Instant() + Elapsed::of_ticks(word_ >> (kCountBits + 1)); }
    [[nodiscard]] bool begins() const { return ((word_ >> kCountBits) & 1) != 0; }
    [[nodiscard]] std::uint32_t flows() const {
      return static_cast<std::uint32_t>(word_) & ((1u << kCountBits) - 1);
    }
    // REQUIRES: together with `o`, and fewer than 2^kCountBits flows.
    void join(Change o) { word_ += o.flows(); }
    [[nodiscard]] bool together(Change o) const { return word_ >> kCountBits == o.word_ >> kCountBits; }
    friend bool operator<(Change a, Change b) { return a.word_ < b.word_; }

   private:
    static constexpr int kCountBits = 31;  // instants have 95, and one says whether they begin
    network::Ticks word_;
  };
  struct Row {
    std::vector<Change> changes;  // not added up yet
    std::size_t full = kKept;     // changes that are enough to add up
    Elapsed busy;
    Instant since;  // while flows > 0
    std::uint32_t flows = 0, peak = 0;
  };
  void add_up(Row& row) const {
    auto& changes = row.changes;
    std::sort(changes.begin(), changes.end());
    auto c = changes.begin();
    for (; c != changes.end() && c->at() < past_; ++c) {
      if (c->begins()) {
        if (row.flows == 0) row.since = c->at();
        row.flows += c->flows();
        row.peak = std::max(row.peak, row.flows);
      } else if ((row.flows -= c->flows()) == 0) {
        row.busy += c->at() - row.since;
      }
    }
    auto kept = changes.begin();
    for (; c != changes.end(); ++c)
      if (kept != changes.begin() && std::prev(kept)->together(*c))
        std::prev(kept)->join(*c);
      else
        *kept++ = *c;
    changes.erase(kept, changes.end());
    row.full = std::max(kKept, 2 * changes.size());
  }

  std::vector<Row> rows_;  // by link
  Instant past_;
};

}  // namespace weft::replay
