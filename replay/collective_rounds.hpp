// CollectiveRounds: one collective on one rank, as rounds of messages: which is posted next, and what it costs the processor.
//
// The n-th collective of a rank on a communicator has tag n (mod 2^31), on a context of its own (Target::kActivity): collectives
// on one communicator meet in the order in which each rank calls them, and never a message of the program. When a round is
// posted and when it is over is the business of whoever replays: CollectiveRuns by events, DirectReplay by the clock of
// the rank. Complexity: O(1) a message; no allocation once the schedule has had its greatest length, up to kKept messages. Of a long
// schedule there are the rounds up to kWindow messages at a time; a round that is longer is let go when it was posted, as all ranks
// wait at once for the ends of theirs.
#pragma once

#include <cstdint>
#include <vector>

#include "core/result.hpp"
#include "replay/collective_calls.hpp"
#include "replay/collectives/choices.hpp"
#include "replay/collectives/schedule.hpp"
#include "replay/communicators.hpp"
#include "replay/message_cost.hpp"
#include "replay/messages/message.hpp"
#include "replay/time.hpp"

namespace weft::replay {

class CollectiveRounds {
 public:
  // What rounds are made with and from; all outlive it.
  struct Rules {
    const Communicators& comms;
    CollectiveChoices& choices;
    const MessageCost& cost;
  };

  CollectiveRounds() = default;
  CollectiveRounds(const CollectiveRounds&) = delete;  // call_ points into counts_
  CollectiveRounds& operator=(const CollectiveRounds&) = delete;

  // World rank r calls `op` on `comm`, with `list` its list. `calls`: how many it has made so far, by communicator. Returns the
  // call, for who wants to know, without its lists. Error: kBadInput as call_of(), without a position; kNotSupported.
  [[nodiscard]] Result<CollectiveCall> begin(const Rules& rules, std::uint32_t r, const traces::Op& op,
                                             std::uint32_t comm, std::span<const std::int64_t> list,
                                             std::vector<std::uint32_t>& calls);

  // All rounds were posted.
  [[nodiscard]] bool over() const { return next_ == schedule_.messages.size() && !schedule_.more(); }
  // Makes the next round the one that is posted. REQUIRES: !over(); the round before is over.
  void open(const Rules& rules);
  // post_one(message) for each message of the round in order, of the wanted sort. Stops where it returns false.
  struct RoundMessage {
    bool send = false;
    SendForm form = SendForm::kAsAny;
    std::uint32_t peer = 0;  // world rank
    std::uint32_t context = 0;
    std::int32_t tag = 0;
    std::int64_t bytes = 0;
  };
  template <class PostOne>
  void post(const Rules& rules, bool receives, bool sends, PostOne post_one) {
    post(rules, receives, sends, post_one, [](bool, std::uint32_t, std::uint32_t) {});
  }
  // The same, and soon(send, peer, context) some messages before, for hints to the processor.
  template <class PostOne, class Soon>
  void post(const Rules& rules, bool receives, bool sends, PostOne post_one, Soon soon) {
    const std::uint32_t context = comm_ | Target::kActivity;
    const std::vector<std::int32_t>& members = rules.comms.members(comm_);
    const auto peer_of = [&](const ScheduleMessage& s) {
      return static_cast<std::uint32_t>(members[s.peer]);
    };
    for (std::uint32_t i = next_; i < round_end_; ++i) {
      if (i + kSoon < round_end_) {
        const ScheduleMessage& later = schedule_.messages[i + kSoon];
        soon(later.send, peer_of(later), context);
      }
      const ScheduleMessage& s = schedule_.messages[i];
      if (!(s.send ? sends : receives)) continue;
      const std::uint32_t peer = peer_of(s);
      if (!s.send && rules.cost.has_cpu_costs()) receive_cost_ += rules.cost.recv(s.bytes);
      if (!post_one(RoundMessage{s.send, form_of(s), peer, context, tag_, s.bytes})) return;
    }
  }
  // The round was posted; its end is waited for.
  void posted() {
    next_ = round_end_;
    if (next_ < kKept || next_ < schedule_.messages.size()) return;
    schedule_.messages = std::vector<ScheduleMessage>();
    next_ = round_end_ = 0;
  }
  // Processor time of the sends of the round that is open, and of the receives of it that were posted.
  [[nodiscard]] Elapsed send_cost() const { return send_cost_; }
  [[nodiscard]] Elapsed receive_cost() const { return receive_cost_; }

  [[nodiscard]] std::uint32_t me() const { return me_; }  // rank in the communicator

 private:
  static constexpr std::uint32_t kWindow = 16, kKept = 64;
  static constexpr std::uint32_t kSoon = 8;  // messages
  [[nodiscard]] static SendForm form_of(const ScheduleMessage& s) {
    if (s.expected) return SendForm::kExpected;
    return s.paced ? SendForm::kPaced : SendForm::kAsAny;
  }

  std::uint32_t comm_ = 0;
  std::int32_t tag_ = 0;
  std::uint32_t me_ = 0;
  std::uint32_t next_ = 0, round_end_ = 0;  // first message of the round that is posted, end of it
  Elapsed send_cost_, receive_cost_;
  RankSchedule schedule_;
  // Whose rounds follow those of the schedule; its lists are in `counts_`. Only while schedule_.more().
  CollectiveCall call_;
  std::vector<std::int64_t> counts_;
};

}  // namespace weft::replay
