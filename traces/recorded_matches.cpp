#include "traces/recorded_matches.hpp"

namespace weft::traces {
namespace {

// Where source and tag of the match stand in the list of `op`, or a list without them.
std::span<const std::int64_t> match_of(const Op& op, const OpBlock& block) {
  const auto list = block.list(op);
  switch (op.kind) {
    case OpKind::recv:
    case OpKind::irecv:
    case OpKind::probe:
    case OpKind::mprobe:
      return list.size() == 3 ? list : std::span<const std::int64_t>();
    case OpKind::iprobe:
    case OpKind::improbe:  // {0, body, source, tag, bytes}
      return (op.flags & kHit) != 0 && list.size() == 5 ? list.subspan(2) : std::span<const std::int64_t>();
    default:
      return {};
  }
}

}  // namespace

Result<bool> RecordedMatches::next_block(RankId rank, OpBlock& out) {
  WEFT_ASSIGN(const bool more, trace_.next_block(rank, out));
  if (!more) return false;
  for (Op& op : out.ops) {
    if (op.extra == kNoList || (op.peer != kAnySource && op.tag != kAnyTag)) continue;
    const auto match = match_of(op, out);
    if (match.empty() || match[0] < 0) continue;
    if (op.peer == kAnySource) op.peer = static_cast<std::int32_t>(match[0]);
    if (op.tag == kAnyTag) op.tag = static_cast<std::int32_t>(match[1]);
    ++changed_;
  }
  return true;
}

}  // namespace weft::traces
