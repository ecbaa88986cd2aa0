// Probes: what a probe sees (docs/model.md, "Probes as conditional steps").
//
// An eager message can be seen when its data have come, any other when its envelope is there, and only if no earlier
// one of its own source that the probe accepts stands before it. A rank that waits in a probe is poked whenever
// something of this may have changed; what a poll finds of what comes at its very instant: poll_rule.hpp.
// Complexity: that of Matcher::peek().
#pragma once

#include <cstdint>

#include "network/network.hpp"
#include "replay/agenda.hpp"
#include "replay/messages/matcher.hpp"
#include "replay/messages/message.hpp"
#include "replay/messages/poll_rule.hpp"
#include "replay/ranks/poll_view.hpp"
#include "replay/ranks/ranks.hpp"
#include "replay/why/cause_book.hpp"
#include "replay/why/hindsight.hpp"

namespace weft::replay {

class Probes final : public PollView {
 public:
  // All outlive it.
  Probes(Pool<Message>& messages, Matcher& matcher, Ranks& ranks, CauseBook& causes, Hindsight& hindsight,
         const network::Network& network, Agenda& agenda)
      : messages_(messages),
        matcher_(matcher),
        ranks_(ranks),
        causes_(causes),
        hindsight_(hindsight),
        network_(network),
        agenda_(agenda) {}

  [[nodiscard]] bool hits(std::uint32_t r, const traces::Op& op) override { return find(r, op) != kNone; }
  [[nodiscard]] bool finds(std::uint32_t r, const traces::Op& op, Instant since) override {
    return find_now(r, op, since) != kNone;
  }
  [[nodiscard]] bool may_come(std::uint32_t r, const traces::Op& op) override {
    if (op.peer < 0 || !(network_.dirty() || ranks_.any_ready())) return false;
    const std::uint32_t i = matcher_.peek(r, op.comm.index(), op.peer, op.tag);
    return i != kNone && seen_from(messages_[i]) == Instant::never();
  }
  // For a poll of the program itself. A rank that polls after it computed is in a phase in which all compute and
  // nobody waits in a call for this message: what it finds travels while the cores beside it compute (Found::kAtPoll).
  [[nodiscard]] bool poll_finds(std::uint32_t r, const traces::Op& op) {
    return note_found(r, find_now(r, op, ranks_[r].since));
  }
  // For a probe, which waits until it finds a message.
  [[nodiscard]] bool probe_finds(std::uint32_t r, const traces::Op& op) { return note_found(r, find(r, op)); }
  // A message may have become visible to rank r: if it waits in a probe, it goes on or looks again when one will be.
  void poke(std::uint32_t r);

 private:
  [[nodiscard]] bool visible(const Message& m) const { return seen_from(m) <= agenda_.now(); }
  // The message that probe `op` of rank r sees now.
  [[nodiscard]] std::uint32_t find(std::uint32_t r, const traces::Op& op) {
    return matcher_.peek_if(r, op.comm.index(), op.peer, op.tag,
                            [&](const Message& m) { return visible(m); });
  }
  // The same of a poll.
  [[nodiscard]] std::uint32_t find_now(std::uint32_t r, const traces::Op& op, Instant since) {
    return matcher_.peek_if(r, op.comm.index(), op.peer, op.tag, [&](const Message& m) {
      return poll_sees(m, seen_from(m), agenda_.now(), since);
    });
  }
  [[nodiscard]] bool note_found(std::uint32_t r, std::uint32_t i) {
    if (i != kNone && ranks_[r].computed) messages_[i].state |= kFoundAtPoll;
    return i != kNone;
  }

  Pool<Message>& messages_;
  Matcher& matcher_;
  Ranks& ranks_;
  CauseBook& causes_;
  Hindsight& hindsight_;
  const network::Network& network_;
  Agenda& agenda_;
};

}  // namespace weft::replay
