// Probes: what a probe sees (docs/model.md, "Probes as conditional steps").
//
// An eager message can be seen when its data have come, any other when its envelope is there, and only if no earlier
// one of its own source that the probe accepts stands before it. A rank that waits in a probe is poked whenever
// something of this may have changed. Complexity: that of Matcher::peek().
#pragma once

#include <cstdint>

#include "replay/agenda.hpp"
#include "replay/messages/matcher.hpp"
#include "replay/messages/message.hpp"
#include "replay/messages/message_steps.hpp"
#include "replay/ranks/poll_view.hpp"
#include "replay/ranks/ranks.hpp"
#include "replay/why/cause_book.hpp"
#include "replay/why/hindsight.hpp"

namespace weft::replay {

class Probes final : public PollView {
 public:
  // All outlive it.
  Probes(Pool<Message>& messages, Matcher& matcher, Ranks& ranks, CauseBook& causes, Hindsight& hindsight,
         Agenda& agenda)
      : messages_(messages),
        matcher_(matcher),
        ranks_(ranks),
        causes_(causes),
        hindsight_(hindsight),
        agenda_(agenda) {}

  [[nodiscard]] bool hits(std::uint32_t r, const traces::Op& op) override {
    const std::uint32_t i = find(r, op);
    return i != kNone && visible(messages_[i]);
  }
  [[nodiscard]] bool finds_before(std::uint32_t r, const traces::Op& op, Instant began) override {
    const std::uint32_t i = find(r, op);
    return i != kNone && way_began(messages_[i]) < began;
  }
  // The same for a poll of the program itself. A rank that polls after it computed is in a phase in which all compute and
  // nobody waits in a call for this message: what it finds travels while the cores beside it compute (Found::kAtPoll).
  [[nodiscard]] bool poll_hits(std::uint32_t r, const traces::Op& op) {
    const std::uint32_t i = find(r, op);
    if (i == kNone || !visible(messages_[i])) return false;
    if (ranks_[r].computed) messages_[i].state |= kFoundAtPoll;
    return true;
  }
  // A message may have become visible to rank r: if it waits in a probe, it goes on or looks again when one will be.
  void poke(std::uint32_t r);

 private:
  [[nodiscard]] bool visible(const Message& m) const {
    return m.protocol == Protocol::kEager ? (m.state & kArrived) != 0 : m.visible <= agenda_.now();
  }
  [[nodiscard]] std::uint32_t find(std::uint32_t r, const traces::Op& op) {
    return matcher_.peek(r, op.comm.index(), op.peer, op.tag, [&](const Message& m) { return visible(m); });
  }

  Pool<Message>& messages_;
  Matcher& matcher_;
  Ranks& ranks_;
  CauseBook& causes_;
  Hindsight& hindsight_;
  Agenda& agenda_;
};

}  // namespace weft::replay
