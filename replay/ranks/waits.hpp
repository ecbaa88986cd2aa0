// Waits: what ends the wait of a rank, and what it waited for.
//
// Whoever a send, a receive or a collective belongs to is named by a Target: the rank itself, in a blocking call, or
// one of its requests. The last completion that a blocked rank waits for makes it ready, and the time since it was
// blocked is booked by that one's causes. Complexity: O(1).
#pragma once

#include <cstdint>

#include "replay/agenda.hpp"
#include "replay/messages/message.hpp"
#include "replay/ranks/ranks.hpp"
#include "replay/why/cause_book.hpp"
#include "replay/why/hindsight.hpp"

namespace weft::replay {

class Waits {
 public:
  // All outlive it.
  Waits(Ranks& ranks, CauseBook& causes, Hindsight& hindsight, const Agenda& agenda)
      : ranks_(ranks), causes_(causes), hindsight_(hindsight), agenda_(agenda) {}

  // A side of a message is over: that of `rank`, who is its sender or its receiver. `m`: null if nobody can have
  // waited.
  void message_over(std::uint32_t rank, Target t, std::int64_t bytes, const Message* m, bool sender) {
    if (t.value == Target::kBlocking && !sender) ranks_[rank].received = bytes;
    if (!ends(rank, t, bytes)) return;
    if (m != nullptr) {
      causes_.waited(rank, *m, sender, ranks_[rank].blocked_since, agenda_.now());
      hindsight_.woken(rank, *m, sender);
    }
    ranks_.make_ready(rank);
  }
  // A kernel that `rank` launched is over; its accelerator has worked without a break `since` there (critical_path.hpp).
  void kernel_over(std::uint32_t rank, Target t, std::uint32_t since) {
    if (!ends(rank, t, 0)) return;
    hindsight_.woken_by_kernel(rank, since);
    ranks_.make_ready(rank);
  }
  // Collective `run` of `rank` is over. `causes`: of what the rank waited for it since `window`, unless the call was
  // blocking: then they are in the book already.
  void collective_over(std::uint32_t rank, std::uint32_t run, Target t, Instant window,
                       const CauseBook::Account& causes) {
    hindsight_.run_over(run, rank, t);
    if (!ends(rank, t, 0)) return;
    if (t.value != Target::kBlocking && window == ranks_[rank].blocked_since)
      causes_.add_collective(rank, causes);
    hindsight_.woken_by_run(rank, run);
    ranks_.make_ready(rank);
  }
  // Rank r waits in a wait or test for request `t`, or in a blocking call.
  [[nodiscard]] bool is_awaited(std::uint32_t r, Target t) const {
    return t.value == Target::kBlocking || ranks_[r].requests.is_awaited(t.value);
  }

 private:
  // True: the rank waited for this and nothing else.
  bool ends(std::uint32_t rank, Target t, std::int64_t bytes) {
    if (t.value == Target::kNobody) return false;
    Rank& k = ranks_[rank];
    if (t.value != Target::kBlocking && !k.requests.complete(t.value, bytes)) return false;
    return --k.pending == 0 && k.state == RankState::kBlocked;
  }

  Ranks& ranks_;
  CauseBook& causes_;
  Hindsight& hindsight_;
  const Agenda& agenda_;
};

}  // namespace weft::replay
