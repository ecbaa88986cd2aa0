// What collective actions become. Their sizes go to the operation, counts for each rank to list_, in bytes.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "traces/formats/ti/parser.hpp"
#include "traces/op_rules.hpp"

namespace weft::traces::ti {

// Appends one count for each rank to list_, to be scaled later.
bool Parser::counts(TiFields& l, const char* field) {
  for (std::uint32_t i = 0; i < context_.ranks; ++i) {
    std::int64_t v = 0;
    if (!l.count(field, v)) return false;
    list_.push_back(v);
  }
  return true;
}

// The counts from `first` on, of every rank one, in bytes, and their sum.
bool Parser::scale(TiFields& l, const char* at, std::size_t first, int type_bytes, std::int64_t& sum) {
  sum = 0;
  for (std::size_t i = first; i < first + context_.ranks; ++i) {
    if (!l.size("count", at, list_[i], type_bytes, list_[i])) return false;
    if (__builtin_add_overflow(sum, list_[i], &sum))
      return l.fail(at, "the sum of the counts is too large", l.peek(), "less than 9.2e18 bytes");
  }
  return true;
}

// The line is over: the operation with list_, then the work of its reduction.
bool Parser::close_collective(RankState& s, TiFields& l, const char* at, Op op, double work) {
  if (!l.nothing_more()) return false;
  if (list_.size() > kMaxListValues)
    return l.fail(at, "the action has too many counts", std::to_string(list_.size()),
                  fmt::format("at most {}", kMaxListValues));
  if (!list_.empty()) op.extra = s.block.add_list(list_);
  push(s, op);
  push_flops(s, work);
  return true;
}

bool Parser::barrier(RankState& s, TiFields& l, OpKind kind) {
  const char* at = open_collective(l);
  return close_collective(s, l, at, Op{.kind = kind, .peer = kAnySource});
}

bool Parser::bcast(RankState& s, TiFields& l, OpKind kind) {
  const char* at = open_collective(l);
  Op op{.kind = kind, .peer = kAnySource};
  std::int64_t n = 0;
  int bytes = 0;
  return l.count("count", n) && l.root_field(op.peer) && l.type(s.default_bytes, bytes) &&
         l.size("count", at, n, bytes, op.amount) && close_collective(s, l, at, op);
}

bool Parser::reduction(RankState& s, TiFields& l, OpKind kind) {
  const char* at = open_collective(l);
  Op op{.kind = kind, .peer = kAnySource};
  std::int64_t n = 0;
  int bytes = 0;
  double work = 0;
  if (!l.count("count", n) || !l.flops(work)) return false;
  if (is_rooted(kind) && !l.root_field(op.peer)) return false;
  return l.type(s.default_bytes, bytes) && l.size("count", at, n, bytes, op.amount) &&
         close_collective(s, l, at, op, work);
}

// MPI wants both sizes of an exchange equal; which of them is taken must not be a secret.
void Parser::uneven(TiFields& l, const char* at, std::int64_t sent, std::int64_t received,
                    std::int64_t taken) {
  if (uneven_++ == 0)
    first_uneven_ = fmt::format("{}: {} bytes to send, {} to receive, of which {} are taken", l.position(at),
                                sent, received, taken);
}

bool Parser::exchange(RankState& s, TiFields& l, OpKind kind) {
  const char* at = open_collective(l);
  Op op{.kind = kind, .peer = kAnySource};
  std::int64_t n = 0, rn = 0, sent = 0, received = 0;
  int bytes = 0, rbytes = 0;
  if (!l.count("send count", n)) return false;
  l.skip_blanks();
  const char* at_receive = l.here();
  if (!l.count("receive count", rn)) return false;
  if (is_rooted(kind) && !l.root_field(op.peer)) return false;
  if (!l.type(s.default_bytes, bytes) || !l.type(s.default_bytes, rbytes)) return false;
  // Of a rooted one a rank has one size that means something, what it has with the root, and the root two. Its own part
  // may be in place (SMPI then writes 0 to send in a gather); what it has with the others counts in any case.
  const bool root = is_rooted(kind) && static_cast<std::uint32_t>(op.peer) == rank_;
  const bool both = root || !is_rooted(kind);
  bool receive = (kind == OpKind::scatter) != root && is_rooted(kind);
  const bool sizes_known = bytes > 0 && rbytes > 0;  // datatype -1 has lost its own
  if (both && !sizes_known) receive = rbytes > 0;
  if ((both || !receive) && !l.size("count", at, n, bytes, sent)) return false;
  if ((both || receive) && !l.size("count", at_receive, rn, rbytes, received)) return false;
  op.amount = receive ? received : sent;
  const bool in_place = root && (receive ? n : rn) == 0;
  if (both && sizes_known && sent != received && !in_place) uneven(l, at, sent, received, op.amount);
  return close_collective(s, l, at, op);
}

bool Parser::alltoallv(RankState& s, TiFields& l, OpKind kind) {
  const char* at = open_collective(l);
  Op op{.kind = kind, .peer = kAnySource};
  const std::size_t world = context_.ranks;
  std::int64_t ignored = 0;
  int bytes = 0, rbytes = 0;
  list_.push_back(static_cast<std::int64_t>(world));
  return l.count("send buffer size", ignored) && counts(l, "send count") &&
         l.count("receive buffer size", ignored) && counts(l, "receive count") &&
         l.type(s.default_bytes, bytes) && l.type(s.default_bytes, rbytes) &&
         scale(l, at, 1, bytes, op.amount) && scale(l, at, 1 + world, rbytes, ignored) &&
         close_collective(s, l, at, op);
}

bool Parser::allgatherv(RankState& s, TiFields& l, OpKind kind) {
  const char* at = open_collective(l);
  Op op{.kind = kind, .peer = kAnySource};
  const std::size_t world = context_.ranks;
  std::int64_t n = 0, ignored = 0;
  if (!l.count("send count", n) || !counts(l, "receive count")) return false;
  // Optional: [sdt rdt], [sdt rdt displacements] or [displacements], told apart by their number.
  const std::size_t left = l.tokens_left();
  int bytes = s.default_bytes, rbytes = s.default_bytes;
  const bool types = left == 2 || left == 2 + world;
  if (left != 0 && left != 2 && left != world && left != 2 + world) {
    l.skip_blanks();
    return l.fail(l.here(), "wrong number of fields after the receive counts", l.peek(),
                  fmt::format("0, 2, {} or {} fields", world, world + 2));
  }
  if (types && (!l.type(s.default_bytes, bytes) || !l.type(s.default_bytes, rbytes))) return false;
  for (std::int64_t d = 0; !l.at_end();)
    if (!l.whole("displacement", d)) return false;
  return l.size("count", at, n, bytes, op.amount) && scale(l, at, 0, rbytes, ignored) &&
         close_collective(s, l, at, op);
}

// Of gatherv and scatterv.
bool Parser::gatherv(RankState& s, TiFields& l, OpKind kind) {
  const char* at = open_collective(l);
  Op op{.kind = kind, .peer = kAnySource};
  const bool gather = kind == OpKind::gatherv;
  std::int64_t n = 0, ignored = 0;
  int bytes = 0, rbytes = 0;
  if (gather && (!l.count("send count", n) || !counts(l, "receive count"))) return false;
  if (!gather && (!counts(l, "send count") || !l.count("receive count", n))) return false;
  if (!l.root_field(op.peer) || !l.type(s.default_bytes, bytes) || !l.type(s.default_bytes, rbytes))
    return false;
  const int own = gather ? bytes : rbytes;
  const int each = gather ? rbytes : bytes;
  if (!l.size("count", at, n, own, op.amount) || !scale(l, at, 0, each, ignored)) return false;
  // The root's own part may be in place: SMPI writes 0 then.
  if (static_cast<std::uint32_t>(op.peer) == rank_ && n == 0) op.amount = list_[rank_];
  if (static_cast<std::uint32_t>(op.peer) != rank_) list_.clear();  // only the root's counts mean anything
  return close_collective(s, l, at, op);
}

// Of MPI_Reduce_scatter_block SMPI 3.32 writes as many zeros as a rank receives elements, then the datatype. SimGrid reads a
// zero for each rank and passes over what is left.
bool Parser::pass_over_zeros(TiFields& l, double work) {
  if (l.at_end() || work != 0 || std::ranges::count(list_, 0) != std::ssize(list_)) return true;
  ++lost_sizes_;
  for (std::int64_t rest = 0; !l.at_end();)
    if (!l.whole("count", rest)) return false;
  return true;
}

bool Parser::reduce_scatter(RankState& s, TiFields& l, OpKind kind) {
  const char* at = open_collective(l);
  Op op{.kind = kind, .peer = kAnySource};
  int bytes = 0;
  double work = 0;
  return counts(l, "receive count") && l.flops(work) && l.type(s.default_bytes, bytes) &&
         pass_over_zeros(l, work) && scale(l, at, 0, bytes, op.amount) &&
         close_collective(s, l, at, op, work);
}

}  // namespace weft::traces::ti
