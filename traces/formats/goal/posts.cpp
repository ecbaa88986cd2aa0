#include "traces/formats/goal/posts.hpp"

#include <algorithm>

namespace weft::traces::goal {
namespace {

constexpr std::size_t kListAtOnce = 1u << 16;  // requests of one waitall

}  // namespace

Op Posts::message(std::uint32_t v, bool blocking) const {
  const Operation& o = ops_[v];
  Op op{.kind = o.kind == Kind::kSend ? (blocking ? OpKind::send : OpKind::isend)
                                      : (blocking ? OpKind::recv : OpKind::irecv),
        .peer = o.peer == kAny ? kAnySource : static_cast<std::int32_t>(o.peer),
        .tag = o.tag == kAny ? kAnyTag : static_cast<std::int32_t>(o.tag),
        .amount = static_cast<std::int64_t>(o.size)};
  if (!blocking) op.request = slots_[v];
  return op;
}

void Posts::wait(std::vector<std::uint32_t>& posted, std::uint32_t line) {
  if (posted.size() == 1 && posted[0] == held_) {
    out_.add(message(held_, true), ops_[held_].line);
    held_ = kNone;
  } else {
    write_held();
    if (!std::ranges::is_sorted(posted)) std::ranges::sort(posted);
    if (posted.size() == 1) {
      Op op{.kind = OpKind::wait, .peer = kAnySource, .tag = kAnyTag, .request = slots_[posted[0]]};
      if (ops_[posted[0]].kind == Kind::kRecv) {
        const Op received = message(posted[0], false);
        op.peer = received.peer;
        op.tag = received.tag;
        op.amount = received.amount;
      }
      out_.add(op, line);
    }
    for (std::size_t at = 0; posted.size() > 1 && at < posted.size(); at += kListAtOnce) {
      list_.clear();
      for (std::size_t i = at; i < std::min(at + kListAtOnce, posted.size()); ++i)
        list_.push_back(slots_[posted[i]]);
      out_.add({.kind = OpKind::waitall}, list_, line);
    }
  }
  for (const std::uint32_t v : posted) free_.give(slots_[v]);
}

}  // namespace weft::traces::goal
