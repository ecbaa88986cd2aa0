#include "traces/info.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/byte_sum.hpp"
#include "traces/op_rules.hpp"
#include "traces/send_counter.hpp"

namespace weft::traces {

void OpSums::add(const Op& op) {
  Kind& kind = kinds[static_cast<std::size_t>(op.kind)];
  ++kind.count;
  const AmountUnit unit = rules_of(op.kind).amount;
  if (unit == AmountUnit::kBytes) kind.bytes = add_bytes(kind.bytes, static_cast<std::uint64_t>(op.amount));
  if (unit == AmountUnit::kFlops) flops += op.flops();
}

Result<void> OpSums::can_be_told() const {
  for (std::size_t k = 0; k < kinds.size(); ++k)
    if (kinds[k].bytes == kTooManyBytes)
      return bad_input({}, kBytesPastTheEnd, std::string(op_name(static_cast<OpKind>(k))));
  if (!std::isfinite(flops)) return bad_input({}, "more flops in all than a number holds", "computation");
  return {};
}

Result<void> can_be_told(const TraceTotals& totals) {
  if (totals.bytes == kTooManyBytes) return bad_input({}, kBytesPastTheEnd, "messages");
  return {};
}

Result<TraceInfo> scan_trace(TraceReader& trace) {
  TraceInfo info;
  info.communicators.resize(trace.communicators().size());
  info.region_counts.resize(trace.regions().size());
  info.least_ops = UINT64_MAX;
  SendCounter counter;
  OpBlock block;
  trace.rewind();
  for (std::uint32_t r = 0; r < trace.header().ranks; ++r) {
    std::uint64_t ops = 0;
    while (true) {
      WEFT_ASSIGN(const bool more, trace.next_block(RankId(r), block));
      if (!more) break;
      ops += block.ops.size();
      for (const Op& op : block.ops) {
        counter.add(RankId(r), op, block.list(op), [&](const SendCounter::Sent& sent) {
          auto& comm = info.communicators[sent.comm.index()];
          ++comm.messages;
          comm.bytes = add_bytes(comm.bytes, static_cast<std::uint64_t>(sent.bytes));
          auto& size =
              info.sizes[static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(sent.bytes)))];
          ++size.count;
          size.bytes = add_bytes(size.bytes, static_cast<std::uint64_t>(sent.bytes));
        });
        info.add(op);
        if (op.kind == OpKind::compute_time || op.kind == OpKind::task_compute)
          info.compute += Duration(op.amount);
        if (is_collective(op.kind)) {
          ++info.communicators[op.comm.index()].collectives;
        } else if (op.kind == OpKind::region_begin) {
          ++info.region_counts[static_cast<std::size_t>(op.amount)];
        } else if (op.kind == OpKind::iprobe || op.kind == OpKind::improbe) {
          ++((op.flags & kHit) != 0 ? info.polls_hit : info.polls_missed);
        }
      }
    }
    info.least_ops = std::min(info.least_ops, ops);
    info.most_ops = std::max(info.most_ops, ops);
  }
  info.totals = counter.totals();
  WEFT_TRY(info.can_be_told());
  WEFT_TRY(can_be_told(info.totals));
  return info;
}

}  // namespace weft::traces
