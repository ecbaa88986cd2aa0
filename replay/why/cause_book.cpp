#include "replay/why/cause_book.hpp"

#include <algorithm>

namespace weft::replay {

// The message's life is walked from its end backwards until `from` is reached; every instant of the wait falls into one
// piece of it.
void CauseBook::explain(Account& account, const Message& m, bool sender, Instant from, Instant to) const {
  // What of the wait is after `since`. True: that is all that was left of it.
  const auto back_to = [&](Instant since, Cause c) {
    if (since >= to) return false;
    const bool all = since <= from;
    const Instant begin = all ? from : since;
    account[static_cast<std::size_t>(c)] += to - begin;
    to = begin;
    return all;
  };
  if (from >= to) return;
  if ((m.state & kArrived) != 0 && back_to(m.started, Cause::kInOrder))
    return;  // `started`: when the data had come
  if ((m.state & kStarted) != 0) {
    // When it would have ended alone.
    if (m.flow.valid() && back_to(m.flow_start + m.ideal, Cause::kContention)) return;
    if (back_to(m.flow_start, Cause::kTransfer)) return;
    if (back_to(m.left, Cause::kLatency)) return;
  }
  if (m.protocol == Protocol::kExpected) {
    if (back_to(m.posted, Cause::kHandshake)) return;
  } else if (m.protocol != Protocol::kEager) {
    if ((m.state & kStarted) != 0) {
      if (back_to(m.matched, Cause::kHandshake)) return;
      // Its receiver waits for the turn from when the message is there, its sender from when both are.
      if (sender && back_to(m.matched + (kNoTime - m.waited_for_turn()), Cause::kInOrder)) return;
      if (back_to(known_at_once_ ? m.posted : m.visible, sender ? Cause::kLateReceiver : Cause::kInOrder))
        return;
    }
    if (back_to(m.posted, Cause::kHandshake)) return;
  }
  if (m.paid.any() && !sender) [[unlikely]]
    return explain_call(account, m, from, to);
  account[static_cast<std::size_t>(sender ? Cause::kLateReceiver : Cause::kLateSender)] += to - from;
}

// What the receiver waited for before the send was posted. Apart, so that explain() is short where sends cost nothing.
[[gnu::noinline]] void CauseBook::explain_call(Account& account, const Message& m, Instant from, Instant to) {
  const Instant called = std::clamp(m.called(), from, to);
  account[static_cast<std::size_t>(Cause::kSendOverhead)] += to - called;
  account[static_cast<std::size_t>(Cause::kLateSender)] += called - from;
}

void CauseBook::waited_for_series(std::uint32_t rank, const std::array<double, kCauseCount>& seconds,
                                  Elapsed total) {
  Account part{};
  const auto largest =
      static_cast<std::size_t>(std::max_element(seconds.begin(), seconds.end()) - seconds.begin());
  for (std::size_t c = 0; c < kCauseCount; ++c) {
    if (c == largest) continue;
    const Elapsed d = Elapsed::of_seconds(std::max(0.0, seconds[c]));
    part[c] += d;
    total = total - d;
  }
  part[largest] += total;
  add_collective(rank, part);
}

void CauseBook::round(RankTimes& t, std::uint32_t rank, Elapsed computed, bool finished) const {
  Elapsed sum = computed;
  Duration before = sum.rounded();
  for (std::size_t c = 0; c + 1 < kCauseCount; ++c) {
    sum += accounts_[rank].causes[c];
    t.causes[c] = sum.rounded() - before;
    before = sum.rounded();
  }
  const Duration all = t.compute + t.send + t.recv + t.wait + t.collective;
  t.causes[kCauseCount - 1] = finished ? Duration(0) : all - before;
}

Elapsed CauseBook::sum(Cause c) const {
  Elapsed all;
  for (const Row& a : accounts_) all += a.causes[static_cast<std::size_t>(c)];
  return all;
}

}  // namespace weft::replay
