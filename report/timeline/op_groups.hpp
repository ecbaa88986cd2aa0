// What pictures say of kinds of operations, in one place for the page and the viewers.
#pragma once

#include <cstdint>

#include "traces/accelerator.hpp"
#include "traces/op.hpp"
#include "traces/op_rules.hpp"

namespace weft::report {

// Of DeviceSeen, and of AcceleratorWaits (span_ops.hpp).
using traces::kAcceleratorWait;
using traces::kLaneNames;
using traces::kLanes;

// Whose processor time is that of a send: replay books starts of persistent requests so, too (RankTimes::send).
[[nodiscard]] constexpr bool counts_as_send(traces::OpKind k) {
  return traces::is_send(k) || k == traces::OpKind::start || k == traces::OpKind::startall;
}

// Whether Op::amount is bytes: of sends, receives, what completes one of them, and collectives that carry something. Elsewhere it
// is a count, an id or a time.
[[nodiscard]] constexpr bool has_bytes(traces::OpKind k) {
  using traces::OpKind;
  if (traces::is_collective(k)) return traces::blocking_form(k) != OpKind::barrier;
  return traces::is_send(k) || traces::is_send_init(k) || traces::is_receive(k) || k == OpKind::recv_init ||
         k == OpKind::wait || k == OpKind::test;
}

// Whether Op::peer is another rank: of sends, receives and what they matched, probes, roots of collectives. Elsewhere it is nothing.
[[nodiscard]] inline bool has_peer(traces::OpKind k) {
  using traces::OpKind;
  return traces::is_send(k) || traces::is_send_init(k) || traces::is_receive(k) || k == OpKind::recv_init ||
         k == OpKind::wait || k == OpKind::test || (k >= OpKind::probe && k <= OpKind::improbe) ||
         traces::is_rooted(k) || k == OpKind::exchange_series;
}

}  // namespace weft::report
