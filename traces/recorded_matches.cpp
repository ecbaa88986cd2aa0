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

Result<bool> RecordedMatches::next_block(RankId rank, OpBlock& out) {
  WEFT_ASSIGN(const bool more, trace_.next_block(rank, out));
  if (!more) return false;
  for (Op& op : out.ops) {
    if (op.extra == kNoList || (op.peer != kAnySource && op.tag != kAnyTag)) continue;
    const auto list = out.list(op);
    const auto at = match_place(op, list.size());
    if (!at || list[*at] < 0) continue;
    if (op.peer == kAnySource) op.peer = static_cast<std::int32_t>(list[*at]);
    if (op.tag == kAnyTag) op.tag = static_cast<std::int32_t>(list[*at + 1]);
    ++changed_;
  }
  return true;
}

}  // namespace weft::traces
