// What actions without a collective become: computations, messages, waits.
#include <fmt/format.h>

#include "traces/formats/ti/parser.hpp"
#include "traces/op_rules.hpp"

namespace weft::traces::ti {

// The text has no request numbers: `wait src dst tag` is the oldest outstanding request with that source, destination
// and tag, as SimGrid looks it up; else one that was posted with a wildcard; else it is over already.
void Parser::push_wait(RankState& s, std::int64_t src, std::int64_t dst, std::int64_t tag) {
  const auto s32 = static_cast<std::int32_t>(src);
  const auto d32 = static_cast<std::int32_t>(dst);
  const auto t32 = static_cast<std::int32_t>(tag);
  auto r = s.requests.take({s32, d32, t32});
  if (!r && s.any_requests > 0) {
    for (const RequestTable::Key& k :
         {RequestTable::Key{kAnySource, d32, t32}, RequestTable::Key{s32, d32, kAnyTag},
          RequestTable::Key{kAnySource, d32, kAnyTag}})
      if ((r = s.requests.take(k))) break;
  }
  if (!r) {
    ++completed_waits_;
    return;
  }
  if (r->key.src < 0 || r->key.tag < 0) --s.any_requests;
  Op op{.kind = OpKind::wait, .peer = kAnySource, .tag = kAnyTag, .request = r->slot};
  if (r->receive) {
    op.peer = s32;
    op.tag = t32;
    op.amount = r->bytes;
  }
  push(s, op);
}

bool Parser::init(RankState& s, TiFields& l, OpKind kind) {
  s.default_bytes = kTypeBytes[static_cast<std::size_t>(l.at_end() ? kByteType : kDoubleType)];
  push(s, Op{.kind = kind});
  return true;
}

// SimGrid's replayer ends a rank so (v3.32, smpi_replay_main() in src/smpi/internals/smpi_replay.cpp): what tests, and calls
// that leave no line, completed in the program is over then at the latest.
void Parser::wait_for_the_rest(RankState& s) {
  left_to_the_end_ += s.requests.size();
  push_waitall(s);
}

bool Parser::finalize(RankState& s, TiFields&, OpKind kind) {
  wait_for_the_rest(s);
  push(s, Op{.kind = kind});
  return true;
}

bool Parser::communicator(RankState&, TiFields&, OpKind) {
  ++comm_actions_;
  return true;
}

bool Parser::location(RankState&, TiFields&, OpKind) { return true; }

bool Parser::compute(RankState& s, TiFields& l, OpKind kind) {
  double f = 0;
  if (!l.flops(f)) return false;
  push(s, Op{.kind = kind, .amount = std::bit_cast<std::int64_t>(f + 0.0)});
  return l.nothing_more();
}

bool Parser::sleep(RankState& s, TiFields& l, OpKind kind) {
  l.skip_blanks();
  const char* at = l.here();
  double seconds = 0;
  if (!l.number("seconds", seconds)) return false;
  if (seconds < 0 || seconds > kMaxSleepSeconds) {
    l.seek(at);
    return l.fail(at, "seconds are out of range", l.peek(), "0 to 9e6");
  }
  push(s, Op{.kind = kind, .amount = from_seconds(seconds).count()});
  return l.nothing_more();
}

// The elements of a message. A recorded receive may say that it did not know them (count < 0).
bool Parser::message_count(TiFields& l, bool receive, std::int64_t& n) {
  const char* at = l.here();
  if (!l.whole("count", n)) return false;
  if (n >= 0) return true;
  if (receive) {
    l.fail(at, "a receive of unknown size (count < 0) is not supported",
           std::string_view(at, static_cast<std::size_t>(l.here() - at)), "a count >= 0");
    context_.error->code = ErrorCode::kNotSupported;
    return false;
  }
  l.seek(at);
  return l.fail(at, "count is negative", l.peek(), "a number >= 0");
}

// Gives the operation, a non-blocking one, a request that a later wait finds.
bool Parser::open_request(RankState& s, TiFields& l, Op& op) {
  const bool receive = op.kind == OpKind::irecv;
  const auto me = static_cast<std::int32_t>(rank_);
  const RequestTable::Key key =
      receive ? RequestTable::Key{op.peer, me, op.tag} : RequestTable::Key{me, op.peer, op.tag};
  if (s.requests.size() >= kMaxListValues)
    return l.fail(l.begin(), "too many outstanding requests", std::to_string(s.requests.size()),
                  fmt::format("fewer than {}", kMaxListValues));
  op.request = s.requests.add(key, receive, op.amount);
  if (receive && (op.peer == kAnySource || op.tag == kAnyTag)) ++s.any_requests;
  return true;
}

bool Parser::message(RankState& s, TiFields& l, OpKind kind) {
  const bool receive = is_receive(kind);
  Op op{.kind = kind};
  const std::uint64_t undefined = context_.undefined_sources;
  if (!l.rank_field(receive ? "source" : "destination", receive, op.peer)) return false;
  if (kind == OpKind::irecv) unsure_sources_ += context_.undefined_sources - undefined;
  if (!l.tag_field(receive, op.tag)) return false;
  l.skip_blanks();
  const char* at = l.here();
  std::int64_t n = 0;
  int bytes = 0;
  if (!message_count(l, receive, n) || !l.type(s.default_bytes, bytes) ||
      !l.size("message", at, n, bytes, op.amount))
    return false;
  if ((kind == OpKind::irecv || is_nonblocking_send(kind)) && !open_request(s, l, op)) return false;
  push(s, op);
  return l.nothing_more();
}

bool Parser::send_recv(RankState& s, TiFields& l, OpKind kind) {
  std::int64_t sn = 0;
  std::int64_t rn = 0;
  Op send{.kind = kind};
  Op recv{.kind = OpKind::recv, .flags = kPairedRecv};
  int sb = 0;
  int rb = 0;
  l.skip_blanks();
  const char* at_s = l.here();
  if (!l.count("send count", sn) || !l.rank_field("destination", false, send.peer)) return false;
  l.skip_blanks();
  const char* at_r = l.here();
  if (!l.count("receive count", rn) || !l.rank_field("source", true, recv.peer)) return false;
  if (!l.type(s.default_bytes, sb) || !l.type(s.default_bytes, rb)) return false;
  if (!l.size("message", at_s, sn, sb, send.amount) || !l.size("message", at_r, rn, rb, recv.amount))
    return false;
  if (s.block.ops.size() + 2 > block_ops_) flush(s);  // a pair stays in one block
  push(s, send);
  push(s, recv);
  return l.nothing_more();
}

bool Parser::wait(RankState& s, TiFields& l, OpKind kind) {
  std::int32_t src = 0;
  std::int32_t dst = 0;
  std::int32_t tag = 0;
  if (!l.rank_field("source", true, src) || !l.rank_field("destination", false, dst) ||
      !l.tag_field(true, tag))
    return false;
  if (!l.nothing_more()) return false;
  if (kind == OpKind::wait)
    push_wait(s, src, dst, tag);
  else
    ++tests_;
  return true;
}

void Parser::push_waitall(RankState& s) {
  list_.clear();
  for (const auto& r : s.requests.take_all()) list_.push_back(r.slot);
  s.any_requests = 0;
  if (list_.empty()) return;
  Op op{.kind = OpKind::waitall};
  op.extra = s.block.add_list(list_);
  push(s, op);
}

bool Parser::waitall(RankState& s, TiFields&, OpKind) {
  push_waitall(s);
  return true;
}

}  // namespace weft::traces::ti
