#include "traces/formats/ti/parser.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "core/files/input_file.hpp"
#include "core/source_pos.hpp"
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

bool Parser::parse_action(RankState& s, TiFields& l, Action a) {
  switch (a) {
    // 0 init [1]: with a field, counts without a datatype are doubles
    case Action::kInit:
      s.default_bytes = kTypeBytes[static_cast<std::size_t>(l.at_end() ? kByteType : kDoubleType)];
      push(s, Op{.kind = OpKind::init});
      return true;
    case Action::kFinalize:
      push(s, Op{.kind = OpKind::finalize});
      return true;
    case Action::kCommSize:
    case Action::kCommSplit:
    case Action::kCommDup:
      ++comm_actions_;
      return true;
    case Action::kLocation:
      return true;
    // 0 compute 1.5e9: flops
    case Action::kCompute: {
      double f = 0;
      if (!l.flops(f)) return false;
      push(s, Op{.kind = OpKind::compute_flops, .amount = std::bit_cast<std::int64_t>(f + 0.0)});
      return l.nothing_more();
    }
    // 0 sleep 0.5: seconds
    case Action::kSleep: {
      l.skip_blanks();
      const char* at = l.here();
      double seconds = 0;
      if (!l.number("seconds", seconds)) return false;
      if (seconds < 0 || seconds > 9e6) {
        l.seek(at);
        return l.fail(at, "seconds are out of range", l.peek(), "0 to 9e6");
      }
      push(s, Op{.kind = OpKind::sleep, .amount = from_seconds(seconds).count()});
      return l.nothing_more();
    }
    // 0 send 1 5 800 [0]: destination, tag, count, datatype id
    // 1 recv 0 5 800 [0]: source or -555 (any), tag or -444 (any), count, datatype id
    case Action::kSend:
    case Action::kIsend:
    case Action::kSsend:
    case Action::kSsendLower:
    case Action::kIssend:
    case Action::kIssendLower:
    case Action::kRecv:
    case Action::kIrecv: {
      const bool receive = a == Action::kRecv || a == Action::kIrecv;
      Op op;
      if (!l.rank_field(receive ? "source" : "destination", receive, op.peer)) return false;
      if (!l.tag_field(receive, op.tag)) return false;
      l.skip_blanks();
      const char* at = l.here();
      std::int64_t n = 0;
      if (!l.whole("count", n)) return false;
      if (n < 0 && receive) {
        l.fail(at, "a receive of unknown size (count < 0) is not supported",
               std::string_view(at, static_cast<std::size_t>(l.here() - at)), "a count >= 0");
        context_.error->code = ErrorCode::kNotSupported;
        return false;
      }
      if (n < 0) {
        l.seek(at);
        return l.fail(at, "count is negative", l.peek(), "a number >= 0");
      }
      int bytes = 0;
      if (!l.type(s.default_bytes, bytes) || !l.size("message", at, n, bytes, op.amount)) return false;
      switch (a) {
        case Action::kSend:
          op.kind = OpKind::send;
          break;
        case Action::kIsend:
          op.kind = OpKind::isend;
          break;
        case Action::kSsend:
        case Action::kSsendLower:
          op.kind = OpKind::ssend;
          break;
        case Action::kIssend:
        case Action::kIssendLower:
          op.kind = OpKind::issend;
          break;
        case Action::kRecv:
          op.kind = OpKind::recv;
          break;
        default:
          op.kind = OpKind::irecv;
          break;
      }
      if (op.kind == OpKind::irecv || is_nonblocking_send(op.kind)) {
        const auto me = static_cast<std::int32_t>(rank_);
        const RequestTable::Key key =
            receive ? RequestTable::Key{op.peer, me, op.tag} : RequestTable::Key{me, op.peer, op.tag};
        if (s.requests.size() >= kMaxListValues)
          return l.fail(l.begin(), "too many outstanding requests", std::to_string(s.requests.size()),
                        fmt::format("fewer than {}", kMaxListValues));
        op.request = s.requests.add(key, receive, op.amount);
        if (receive && (op.peer == kAnySource || op.tag == kAnyTag)) ++s.any_requests;
      }
      push(s, op);
      return l.nothing_more();
    }
    // 0 sendRecv 3 1 4 2 [0 0]: count to send, destination, count to receive, source, datatype ids of both
    case Action::kSendRecv: {
      std::int64_t sn = 0;
      std::int64_t rn = 0;
      Op send{.kind = OpKind::sendrecv};
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
    // 0 wait 1 0 6: source, destination, tag of the message that the request is about (0 receives it from 1)
    case Action::kWait:
    case Action::kTest: {
      std::int32_t src = 0;
      std::int32_t dst = 0;
      std::int32_t tag = 0;
      if (!l.rank_field("source", true, src) || !l.rank_field("destination", false, dst) ||
          !l.tag_field(true, tag))
        return false;
      if (!l.nothing_more()) return false;
      if (a == Action::kWait)
        push_wait(s, src, dst, tag);
      else
        ++tests_;
      return true;
    }
    // 0 waitall [2]: all outstanding requests of the rank, however many it says
    case Action::kWaitall: {
      list_.clear();
      for (const auto& r : s.requests.take_all()) list_.push_back(r.slot);
      s.any_requests = 0;
      if (list_.empty()) return true;
      Op op{.kind = OpKind::waitall};
      op.extra = s.block.add_list(list_);
      push(s, op);
      return true;
    }
    default:
      return collective(s, l, a);
  }
}

bool Parser::collective(RankState& s, TiFields& l, Action a) {
  Op op{.peer = kAnySource};
  std::int64_t n = 0;
  int bytes = 0;
  double work = 0;
  l.skip_blanks();
  const char* at = l.here();
  const std::size_t world = context_.ranks;
  // Reads `world` counts into list_, scaled later.
  const auto counts = [&](const char* field) {
    for (std::size_t i = 0; i < world; ++i) {
      std::int64_t v = 0;
      if (!l.count(field, v)) return false;
      list_.push_back(v);
    }
    return true;
  };
  const auto scale = [&](std::size_t begin, std::size_t end, int type_bytes, std::int64_t& sum) {
    sum = 0;
    for (std::size_t i = begin; i < end; ++i) {
      if (!l.size("count", at, list_[i], type_bytes, list_[i])) return false;
      if (__builtin_add_overflow(sum, list_[i], &sum))
        return l.fail(at, "the sum of the counts is too large", l.peek(), "less than 9.2e18 bytes");
    }
    return true;
  };
  list_.clear();
  switch (a) {
    // 0 barrier
    case Action::kBarrier:
      op.kind = OpKind::barrier;
      break;
    // 0 bcast 3 1 [6]: count, root, datatype id
    case Action::kBcast:
      op.kind = OpKind::bcast;
      if (!l.count("count", n) || !l.root_field(op.peer) || !l.type(s.default_bytes, bytes) ||
          !l.size("count", at, n, bytes, op.amount))
        return false;
      break;
    // 0 reduce 3 5e2 1 [6]: count, flops, root, datatype id
    case Action::kReduce:
      op.kind = OpKind::reduce;
      if (!l.count("count", n) || !l.flops(work) || !l.root_field(op.peer) ||
          !l.type(s.default_bytes, bytes) || !l.size("count", at, n, bytes, op.amount))
        return false;
      break;
    // 0 allreduce 4 1e3 [6]: count, flops, datatype id
    case Action::kAllreduce:
    case Action::kScan:
    case Action::kExscan:
      op.kind = a == Action::kAllreduce ? OpKind::allreduce
                : a == Action::kScan    ? OpKind::scan
                                        : OpKind::exscan;
      if (!l.count("count", n) || !l.flops(work) || !l.type(s.default_bytes, bytes) ||
          !l.size("count", at, n, bytes, op.amount))
        return false;
      break;
    // 0 alltoall 4 4 [6 6]: count to each rank, count from each, datatype ids; gather and scatter: 0 gather 4 4 1 [6 6]
    // with the root after the counts
    case Action::kAlltoall:
    case Action::kAllgather:
    case Action::kGather:
    case Action::kScatter: {
      op.kind = a == Action::kAlltoall    ? OpKind::alltoall
                : a == Action::kAllgather ? OpKind::allgather
                : a == Action::kGather    ? OpKind::gather
                                          : OpKind::scatter;
      std::int64_t rn = 0;
      int rbytes = 0;
      if (!l.count("send count", n) || !l.count("receive count", rn)) return false;
      if (is_rooted(op.kind) && !l.root_field(op.peer)) return false;
      if (!l.type(s.default_bytes, bytes) || !l.type(s.default_bytes, rbytes)) return false;
      // A scatter's size is what a rank gets, the others' what a rank gives.
      const bool receive = a == Action::kScatter;
      if (!l.size("count", at, receive ? rn : n, receive ? rbytes : bytes, op.amount)) return false;
      break;
    }
    // 0 alltoallv 3 1 2 4 1 3 [6 6], of two ranks: size of the send buffer, count to each rank, size of the receive
    // buffer, count from each rank, datatype ids
    case Action::kAlltoallv: {
      op.kind = OpKind::alltoallv;
      int rbytes = 0;
      std::int64_t ignored = 0;
      list_.push_back(static_cast<std::int64_t>(world));
      if (!l.count("send buffer size", n) || !counts("send count") || !l.count("receive buffer size", n) ||
          !counts("receive count"))
        return false;
      if (!l.type(s.default_bytes, bytes) || !l.type(s.default_bytes, rbytes)) return false;
      if (!scale(1, 1 + world, bytes, op.amount) || !scale(1 + world, 1 + 2 * world, rbytes, ignored))
        return false;
      break;
    }
    // 0 allgatherv 3 3 5 [6 6] [0 3], of two ranks: count to send, count from each rank, datatype ids, displacements
    case Action::kAllgatherv: {
      op.kind = OpKind::allgatherv;
      int rbytes = 0;
      std::int64_t ignored = 0;
      if (!l.count("send count", n) || !counts("receive count")) return false;
      // Optional: [sdt rdt], [sdt rdt displacements] or [displacements], told apart by their number.
      const std::size_t left = l.tokens_left();
      bytes = rbytes = s.default_bytes;
      const bool types = left == 2 || left == 2 + world;
      if (left != 0 && left != 2 && left != world && left != 2 + world) {
        l.skip_blanks();
        return l.fail(l.here(), "wrong number of fields after the receive counts", l.peek(),
                      fmt::format("0, 2, {} or {} fields", world, world + 2));
      }
      if (types && (!l.type(s.default_bytes, bytes) || !l.type(s.default_bytes, rbytes))) return false;
      for (std::int64_t d = 0; !l.at_end();)
        if (!l.whole("displacement", d)) return false;
      if (!l.size("count", at, n, bytes, op.amount) || !scale(0, world, rbytes, ignored)) return false;
      break;
    }
    // 0 gatherv 3 3 5 0 [6 6], of two ranks: count to send, count from each rank, root, datatype ids
    // 0 scatterv 3 5 3 0 [6 6]: count to each rank, count to receive, root, datatype ids
    case Action::kGatherv:
    case Action::kScatterv: {
      const bool gather = a == Action::kGatherv;
      op.kind = gather ? OpKind::gatherv : OpKind::scatterv;
      int rbytes = 0;
      std::int64_t ignored = 0;
      if (gather && (!l.count("send count", n) || !counts("receive count"))) return false;
      if (!gather && (!counts("send count") || !l.count("receive count", n))) return false;
      if (!l.root_field(op.peer) || !l.type(s.default_bytes, bytes) || !l.type(s.default_bytes, rbytes))
        return false;
      const int own = gather ? bytes : rbytes;
      const int each = gather ? rbytes : bytes;
      if (!l.size("count", at, n, own, op.amount) || !scale(0, world, each, ignored)) return false;
      if (static_cast<std::uint32_t>(op.peer) != rank_)
        list_.clear();  // only the root's counts mean anything
      break;
    }
    // 0 reducescatter 3 5 7e1 [6], of two ranks: count for each rank, flops, datatype id
    case Action::kReduceScatter:
      op.kind = OpKind::reduce_scatter;
      if (!counts("receive count") || !l.flops(work) || !l.type(s.default_bytes, bytes) ||
          !scale(0, world, bytes, op.amount))
        return false;
      break;
    default:
      WEFT_CHECK(false, "an action without a parser");
  }
  if (!l.nothing_more()) return false;
  if (list_.size() > kMaxListValues)
    return l.fail(at, "the action has too many counts", std::to_string(list_.size()),
                  fmt::format("at most {}", kMaxListValues));
  if (!list_.empty()) op.extra = s.block.add_list(list_);
  push(s, op);
  push_flops(s, work);
  return true;
}

bool Parser::line(const char* begin, const char* end) {
  TiFields l(context_, begin, end);
  l.skip_blanks();
  if (l.at_end() || *l.here() == '#') return true;
  const char* at = l.here();
  std::int64_t rank = 0;
  if (!l.whole("rank", rank)) return false;
  if (rank < 0 || rank >= static_cast<std::int64_t>(context_.ranks)) {
    l.seek(at);
    return l.fail(at, "rank is out of range", l.peek(), fmt::format("0 to {}", context_.ranks - 1));
  }
  if (!input_.shared() && rank != static_cast<std::int64_t>(part_)) {
    l.seek(at);
    return l.fail(at, "a line of another rank in a rank's own file", l.peek(), std::to_string(part_));
  }
  rank_ = static_cast<std::uint32_t>(rank);
  const std::string_view name = l.peek();
  if (name.empty()) return l.fail(l.here(), "missing action", {}, known_actions());
  const auto action = find_action(name);
  if (!action) return l.fail(l.here(), "unknown action", name, known_actions());
  l.seek(l.here() + name.size());
  auto& state = states_[rank_];
  if (!state) {
    state = std::make_unique<RankState>();
    state->block.rank = RankId(rank_);
    state->source = static_cast<std::uint32_t>(part_);
  }
  return parse_action(*state, l, *action);
}

Result<void> Parser::lines(std::string_view text) {
  const char* p = text.data();
  const char* end = p + text.size();
  context_.readable = end;
  if (const std::size_t at = stray_return(text); at != std::string_view::npos) {
    const std::string_view before = text.substr(0, at);
    const std::size_t line = before.rfind('\n');  // npos + 1 = 0
    const auto number = context_.line + 1 + static_cast<std::uint32_t>(std::ranges::count(before, '\n'));
    return bad_input(SourcePos{*context_.file, number, static_cast<std::uint32_t>(at - line)}.text(),
                     "a carriage return inside a line", {}, "lines that end in LF or in CR LF");
  }
  while (p < end) {
    const auto* eol = static_cast<const char*>(std::memchr(p, '\n', static_cast<std::size_t>(end - p)));
    const char* stop = eol == nullptr ? end : eol;
    if (context_.line == UINT32_MAX)
      return bad_input(input_.parts()[part_].name, "the file has too many lines", {},
                       "fewer than 2^32 lines");
    ++context_.line;
    const char* last = stop;
    while (last > p && last[-1] == '\r') --last;
    if (!line(p, last)) return *context_.error;
    p = stop + 1;
  }
  return {};
}

Result<void> Parser::feed(std::size_t part, std::string_view text, bool last) {
  constexpr std::size_t kMaxLine = 16u << 20;
  if (part != part_) {
    part_ = part;
    context_.line = 0;
    context_.file = &input_.parts()[part].name;
    carry_.clear();
  }
  if (last) {
    // A last line without a newline counts (SimGrid drops it).
    const std::string rest = std::move(carry_);
    carry_.clear();
    WEFT_TRY(lines(rest));
    if (!input_.shared() && part < states_.size() && states_[part]) {
      flush(*states_[part]);
      states_[part].reset();
    }
    return {};
  }
  if (!carry_.empty()) {
    const std::size_t eol = text.find('\n');
    if (eol == std::string_view::npos) {
      if (carry_.size() + text.size() > kMaxLine)
        return bad_input(fmt::format("{}:{}", input_.parts()[part].name, context_.line + 1),
                         "the line is too long", {}, "at most 16 MiB");
      carry_.append(text);
      return {};
    }
    carry_.append(text.substr(0, eol));
    const std::string one = std::move(carry_);
    carry_.clear();
    WEFT_TRY(lines(one));
    text.remove_prefix(eol + 1);
  }
  const std::size_t end = text.rfind('\n');
  if (end == std::string_view::npos) {
    carry_.append(text);
    return {};
  }
  WEFT_TRY(lines(text.substr(0, end + 1)));
  carry_.append(text.substr(end + 1));
  return {};
}

void Parser::finish() {
  for (auto& s : states_)
    if (s) flush(*s);
  const auto note = [&](std::uint64_t n, const char* what) {
    if (n > 0) out_.add_note(fmt::format("{} {}", n, what));
  };
  note(completed_waits_, "waits named no outstanding request and were dropped as completed before.");
  note(tests_, "tests were dropped: the text does not say whether they succeeded.");
  note(comm_actions_,
       "communicator actions were dropped: the text does not say who belongs to which communicator.");
  note(
      context_.null_types,
      "messages or collectives have datatype -1 (a derived type): their size is lost and counts as 0 bytes.");
  for (const auto& f : input_.ignored()) out_.add_note(fmt::format("{} was ignored: not a rank's file.", f));
}

}  // namespace weft::traces::ti
