#include "traces/recorded_matches.hpp"

namespace weft::traces {

std::optional<std::size_t> match_place(const Op& op, std::size_t size) {
  switch (op.kind) {
    case OpKind::recv:
    case OpKind::irecv:
    case OpKind::probe:
    case OpKind::mprobe:
      if (size == 3) return 0;
      return std::nullopt;
    case OpKind::iprobe:
    case OpKind::improbe:  // {0, body, source, tag, bytes}
      if ((op.flags & kHit) != 0 && size == 5) return 2;
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

Envelope asked_or_got(const Op& op, std::span<const std::int64_t> list) {
  Envelope e{op.peer, op.tag};
  const auto at = match_place(op, list.size());
  if (!at || list[*at] < 0) return e;
  if (e.source == kAnySource) e.source = static_cast<std::int32_t>(list[*at]);
  if (e.tag == kAnyTag) e.tag = static_cast<std::int32_t>(list[*at + 1]);
  return e;
}

bool contradicts_itself(const Op& op, std::span<const std::int64_t> list) {
  const auto at = match_place(op, list.size());
  if (!at || list[*at] < 0) return false;
  const Envelope e = asked_or_got(op, list);
  return e.source != list[*at] || e.tag != list[*at + 1];
}

Result<bool> RecordedMatches::next_block(RankId rank, OpBlock& out) {
  WEFT_ASSIGN(const bool more, trace_.next_block(rank, out));
  if (!more) return false;
  for (Op& op : out.ops) {
    if (op.extra == kNoList || (op.peer != kAnySource && op.tag != kAnyTag)) continue;
    const Envelope e = asked_or_got(op, out.list(op));
    if (e.source == op.peer && e.tag == op.tag) continue;
    op.peer = e.source;
    op.tag = e.tag;
    ++changed_;
  }
  return true;
}

}  // namespace weft::traces
