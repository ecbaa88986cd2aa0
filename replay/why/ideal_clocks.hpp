// IdealClocks: when everything would be on an ideal network, carried along with a replay on a real one.
//
// On an ideal network messages take no time, and neither do the calls that send and receive them (Dimemas calls it that).
// As long as no rank does anything that depends on when a message comes, both networks see the same operations and the
// same matches (MPI promises it), so the ideal instants follow from each other as the real ones do:
//
//   computation   clock of the rank += its time
//   message       over, for both sides, at the later one of its send and, unless it is eager, its receive
//   wait          clock of the rank = the latest of it and what is waited for; the round of a collective likewise
//
// With a receive from any source, a probe that decides what is run, a cancelled receive, a series of exchanges, a copy over
// links or a launched kernel the replay has to be made again (ReplayOptions::ideal_network): gives_up() says so.
// Invariants:
//  1. A rank's clock stands still within a call: what it waited for is known when the call is over (op_over, collected).
//     What a round of a collective waited for, when the next one begins.
//  2. Whatever ends a request says when it ended: no row of a slot is of an earlier request.
//  3. Computation is in the accounts of the rank (Rank::spent): `clock` holds since `computed` of it.
// Complexity: O(1) a message and a wait; memory 16 B a message, receive and request. Switched off, a test of one flag each.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "replay/messages/message.hpp"
#include "replay/ranks/ranks.hpp"
#include "replay/ranks/regions.hpp"
#include "replay/results.hpp"
#include "replay/time.hpp"

namespace weft::replay {

class IdealClocks {
 public:
  // `ranks` outlives it. `on`: otherwise it does nothing. `regions`: how many names of regions there are. `gives_up`: called
  // when it does, once; may be empty.
  IdealClocks(bool on, const Ranks& ranks, std::size_t regions, std::function<void()> gives_up)
      : on_(on),
        ranks_(ranks),
        gives_up_(std::move(gives_up)),
        clocks_(on ? ranks.count() : 0),
        regions_(on ? regions : 0, on ? ranks.count() : 0, on) {}

  [[nodiscard]] bool on() const { return on_; }
  // What a rank does from here on depends on when messages come.
  void give_up() {
    if (!on_) return;
    on_ = false;
    if (gives_up_) gives_up_();
  }

  // ---- Messages and receives, by their rows. Row `message` is sent now, row `receive` is posted now, by the rank or the
  // run that `target` names; they belong together.
  void sent(std::uint32_t message, std::uint32_t rank, Target target) {
    if (on_) at(messages_, message) = actor(rank, target);
  }
  void posted(std::uint32_t receive, std::uint32_t rank, Target target) {
    if (on_) at(receives_, receive) = actor(rank, target);
  }
  // Of a message whose data do not leave before: it is over when both are there. Any other is over when it is sent, whenever its
  // sender is told that (SendForm).
  void met(std::uint32_t message, std::uint32_t receive) {
    if (on_) messages_[message] = std::max(messages_[message], receives_[receive]);
  }
  // The send or the receive of `message` is over, whose end `target` is told.
  void side_over(std::uint32_t message, std::uint32_t rank, Target target) {
    if (on_) tell(rank, target, messages_[message]);
  }

  // ---- Ranks. A request is over at once, without a message; those of `slots` are no longer waited for; an operation is over.
  void no_message(std::uint32_t rank, std::uint32_t slot) {
    if (on_) at(clocks_[rank].slots, slot) = Instant();
  }
  template <class Slots>
  void collected(std::uint32_t rank, const Slots& slots) {
    if (!on_) return;
    Clock& c = clocks_[rank];
    for (const std::int64_t v : slots)
      if (static_cast<std::uint64_t>(v) < c.slots.size())
        c.waited_for = std::max(c.waited_for, c.slots[static_cast<std::size_t>(v)]);
  }
  void op_over(std::uint32_t rank) {
    if (!on_) return;
    Clock& c = clocks_[rank];
    if (c.waited_for == Instant()) return;
    const Elapsed computed = spent(rank);
    c.clock = std::max(c.clock + (computed - c.computed), c.waited_for);
    c.computed = computed;
    c.waited_for = Instant();
  }
  void region_begins(std::uint32_t rank, std::uint64_t id) {
    if (on_) regions_.begin(rank, id, now(rank), spent(rank));
  }
  void region_ends(std::uint32_t rank, std::uint64_t id) {
    if (on_) regions_.end(rank, id, now(rank), spent(rank));
  }

  // ---- Collectives in progress: `run` of `rank` begins; all of a round is over; all rounds are, which `target` is told.
  void run_begins(std::uint32_t run, std::uint32_t rank) {
    if (on_) at(runs_, run) = {now(rank), Instant()};
  }
  void round_over(std::uint32_t run) {
    if (on_) runs_[run].clock = std::max(runs_[run].clock, runs_[run].waited_for);
  }
  void run_over(std::uint32_t run, std::uint32_t rank, Target target) {
    if (on_) tell(rank, target, runs_[run].clock);
  }

  // REQUIRES: on(), all ranks have finished. `names` of the regions by id.
  [[nodiscard]] IdealResult result(const std::vector<std::string>& names) const {
    IdealResult out;
    out.known = true;
    Instant last;
    for (std::uint32_t r = 0; r < ranks_.count(); ++r) last = std::max(last, now(r));
    out.makespan = last.rounded().time_since_epoch();
    for (const RegionTimes& t : regions_.totals(names)) out.regions.push_back(t.longest);
    return out;
  }

 private:
  struct Clock {
    Instant clock;
    Elapsed computed;            // Rank::spent then
    Instant waited_for;          // by the operation that the rank is in
    std::vector<Instant> slots;  // of requests: when they are over
  };
  struct RunClock {
    Instant clock;
    Instant waited_for;  // by its round
  };

  template <class Row>
  [[nodiscard]] static Row& at(std::vector<Row>& rows, std::uint32_t i) {
    if (i >= rows.size()) rows.resize(i + std::size_t{1});
    return rows[i];
  }
  [[nodiscard]] Elapsed spent(std::uint32_t rank) const { return ranks_[rank].total(Part::kCompute); }
  [[nodiscard]] Instant now(std::uint32_t rank) const {
    return clocks_[rank].clock + (spent(rank) - clocks_[rank].computed);
  }
  [[nodiscard]] Instant actor(std::uint32_t rank, Target t) const {
    return t.is_activity() ? runs_[t.activity()].clock : now(rank);
  }
  void tell(std::uint32_t rank, Target t, Instant end) {
    if (t.value == Target::kNobody) return;
    if (t.is_activity()) {
      Instant& waited = runs_[t.activity()].waited_for;
      waited = std::max(waited, end);
    } else if (t.value == Target::kBlocking) {
      clocks_[rank].waited_for = std::max(clocks_[rank].waited_for, end);
    } else {
      at(clocks_[rank].slots, t.value) = end;
    }
  }

  bool on_;
  const Ranks& ranks_;
  std::function<void()> gives_up_;
  std::vector<Clock> clocks_;  // by rank
  std::vector<RunClock> runs_;
  std::vector<Instant> messages_;  // by row: sent; from the match on, over
  std::vector<Instant> receives_;  // by row: posted
  Regions regions_;
};

}  // namespace weft::replay
