// What comes next in a replay with events: something of the agenda, or the end of a flow.
//
// Everything of an instant comes before the network shares its links anew, once; the new shares may end flows at this
// very instant. What is due at one instant comes in the order in which it was posted (sequence numbers, which events and
// ends of flows share); flows that start at it come into the network when nothing else is due (FlowStarts). When nothing of
// it is left, who waited for that goes on (Agenda::post_last, ask_for_end), at this instant still: so what depends on all
// that comes at an instant does not depend on the order in which it comes.
#pragma once

#include <cstdint>

#include "network/network.hpp"
#include "replay/agenda.hpp"
#include "replay/audits.hpp"
#include "replay/messages/flow_starts.hpp"
#include "replay/time.hpp"

namespace weft::replay {

enum class Next : std::uint8_t {
  kEvent,        // agenda.take()
  kFlowEnd,      // network.finish_top()
  kFlowStarts,   // starts.order(), and each that starts.take() gives
  kInstantOver,  // all else of this instant has happened, and somebody waits for that
  kNothing,      // all is over
  kTooLate       // later than a clock can tell
};

// ReplayOptions::on_progress is called every so many events; where only flows have events, every so many operations and rounds of
// collectives. A round may have a message to every rank.
inline constexpr std::uint64_t kReportEvery = 1024;
inline constexpr std::uint64_t kNoReport = ~std::uint64_t{0};  // so many never come

// More is due at this instant, whatever it is.
[[nodiscard]] inline bool due_now(const Agenda& agenda, const network::Network& network) {
  return agenda.next_time() == agenda.now() || network.next_time() == agenda.now();
}

// Moves the agenda's clock to what comes next. looks(): before the queues are looked at. `audit`: told of the clock, or null.
template <class Looks>
[[nodiscard]] inline Next next_of(Agenda& agenda, network::Network& network, FlowStarts& starts,
                                  ClockAudit* audit, Looks looks) {
  looks();
  while (true) {
    const Instant event = agenda.next_time(), completion = network.next_time();
    const bool flow_first = completion < event;
    const Instant next = flow_first ? completion : event;
    if (network.dirty() && next != agenda.now()) {
      if (starts.any()) return Next::kFlowStarts;
      network.settle(agenda.now(), agenda.sequence());
      continue;
    }
    if (agenda.end_is_awaited()) [[unlikely]]
      if (next != agenda.now()) return Next::kInstantOver;
    if (next.past_the_end()) [[unlikely]]
      return next == Instant::never() ? Next::kNothing : Next::kTooLate;
    if (audit != nullptr && next != agenda.now()) audit->moved(agenda.now(), next);
    agenda.move_to(next);
    if (audit != nullptr) audit->happened(next, agenda.now());
    if (flow_first) return Next::kFlowEnd;
    const bool flow = completion == event && network.next_completion().sequence < agenda.top().sequence;
    return flow ? Next::kFlowEnd : Next::kEvent;
  }
}

}  // namespace weft::replay
