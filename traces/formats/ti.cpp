// Long file: the grammar of one format, one reader per action.
#include "traces/formats/ti.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>

#include "traces/formats/request_table.hpp"
#include "traces/formats/ti_input.hpp"
#include "traces/memory_trace.hpp"
#include "traces/weft_format.hpp"

namespace weft::traces {
namespace {

// X(enumerator, spelling in the text).
#define WEFT_TI_ACTIONS(X)                                                                                 \
  X(kInit, "init")                                                                                         \
  X(kFinalize, "finalize")                                                                                 \
  X(kCommSize, "comm_size") X(kCommSplit, "comm_split") X(kCommDup, "comm_dup") X(kLocation, "location")   \
      X(kCompute, "compute") X(kSleep, "sleep") X(kSend, "send") X(kIsend, "isend") X(kSsend, "Ssend")     \
          X(kSsendLower, "ssend") X(kIssend, "ISsend") X(kIssendLower, "issend") X(kRecv, "recv")          \
              X(kIrecv, "irecv") X(kSendRecv, "sendRecv") X(kWait, "wait") X(kTest, "test")                \
                  X(kWaitall, "waitall") X(kBarrier, "barrier") X(kBcast, "bcast") X(kReduce, "reduce")    \
                      X(kAllreduce, "allreduce") X(kAlltoall, "alltoall") X(kAlltoallv, "alltoallv")       \
                          X(kGather, "gather") X(kScatter, "scatter") X(kAllgather, "allgather")           \
                              X(kAllgatherv, "allgatherv") X(kGatherv, "gatherv") X(kScatterv, "scatterv") \
                                  X(kReduceScatter, "reducescatter") X(kScan, "scan") X(kExscan, "exscan")

enum class Action : std::uint8_t {
#define WEFT_X(id, text) id,
  WEFT_TI_ACTIONS(WEFT_X)
#undef WEFT_X
};
constexpr std::string_view kActionNames[] = {
#define WEFT_X(id, text) text,
    WEFT_TI_ACTIONS(WEFT_X)
#undef WEFT_X
};

std::string known_actions() {
  std::string all = "one of";
  for (const std::string_view a : kActionNames) all += fmt::format(" {}", a);
  return all;
}

// Bytes of SimGrid's datatype ids (src/smpi/mpi/smpi_datatype.cpp); -1 = no such id. Id -1 (null) has 0
// bytes.
constexpr int kNoType = -1;
constexpr std::array<int, 58> kTypeBytes = {
    8, 4, 1, 2, 8, 4, 1, 8, 1, 1,    // double int char short long
                                     // float byte longlong schar
                                     // uchar
    2, 4, 8, 8, 16, 4, 1, 1, 2, 4,   // ushort uint ulong ulonglong
                                     // ldouble wchar bool int8 int16
                                     // int32
    8, 1, 2, 4, 8, 8, 16, 32, 8, 8,  // int64 uint8..64 complex8
                                     // complex16 complex32 aint
                                     // offset
    8, 16, 16, 8, 8, 8, 16, 16,      // float_int long_int double_int
                                     // short_int 2int 2float 2double 2long
    4, 4, 8, 16, 8, 16, 32, 1, 2, 4, 8,
    16,  // Fortran real, real4..16, complex8..32, integer1..16
    kNoType, kNoType, kNoType, kNoType, kNoType, kNoType, kNoType, 1};  // 57 packed
static_assert(kTypeBytes.size() == 58);
constexpr std::int64_t kByteType = 6;
constexpr std::int64_t kDoubleType = 0;

// SimGrid's wildcard values (include/smpi/smpi.h), which a recorded trace may hold.
constexpr std::int64_t kSmpiAnySource = -555;
constexpr std::int64_t kSmpiProcNull = -666;
constexpr std::int64_t kSmpiAnyTag = -444;

constexpr double kMaxBytes = 4.6e18;  // sums of two stay below 2^63

inline bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

// One rank's state while its lines come in.
struct RankState {
  OpBlock block;
  std::vector<std::uint32_t> lines;
  RequestTable requests;
  int default_bytes = 1;  // BYTE until an init says otherwise
  std::uint32_t source = 0;
  std::uint32_t any_requests = 0;  // outstanding receives with a wildcard
};

class Parser {
 public:
  Parser(const TiInput& input, std::uint32_t ranks, MemoryTrace& out)
      : input_(input), out_(out), ranks_(ranks), block_ops_(block_ops_for(ranks)), states_(ranks) {
    for (const auto& p : input.parts()) (void)out.add_source(p.name);
  }

  Result<void> feed(std::size_t part, std::string_view text, bool last);
  void finish();

 private:
  struct Line {
    const char* begin;
    const char* at;
    const char* end;
  };
  Result<void> lines(std::string_view text);
  bool line(const char* begin, const char* end);
  bool parse_action(RankState& s, Line& l, Action a);
  bool collective(RankState& s, Line& l, Action a);

  // Token reading. All return false after fail().
  bool fail(const Line& l, const char* column, std::string what, std::string_view got, std::string expected);
  static void skip_blanks(Line& l) {
    while (l.at < l.end && is_blank(*l.at)) ++l.at;
  }
  [[nodiscard]] static bool at_end(Line& l) {
    skip_blanks(l);
    return l.at == l.end;
  }
  static std::string_view peek(Line& l) {
    skip_blanks(l);
    const char* e = l.at;
    while (e < l.end && !is_blank(*e)) ++e;
    return {l.at, static_cast<std::size_t>(e - l.at)};
  }
  [[nodiscard]] static std::size_t tokens_left(Line l) {
    std::size_t n = 0;
    for (; !at_end(l); ++n) l.at += peek(l).size();
    return n;
  }
  bool number(Line& l, const char* field, double& out);
  bool whole(Line& l, const char* field, std::int64_t& out);
  bool count(Line& l, const char* field, std::int64_t& out);
  bool rank_field(Line& l, const char* field, bool receive, std::int32_t& out);
  bool root_field(Line& l, std::int32_t& out);
  bool tag_field(Line& l, bool receive, std::int32_t& out);
  bool type(Line& l, const RankState& s, int& bytes);
  bool size(Line& l, const char* field, const char* at, std::int64_t n, int type_bytes, std::int64_t& out);
  bool flops(Line& l, double& out);
  bool nothing_more(Line& l);

  void push(RankState& s, const Op& op) {
    s.block.ops.push_back(op);
    s.lines.push_back(line_);
    if (s.block.ops.size() >= block_ops_) flush(s);
  }
  void flush(RankState& s) {
    if (s.block.ops.empty()) return;
    out_.append(s.block, s.source, s.lines);
    s.block.clear();
    s.lines.clear();
  }
  void push_flops(RankState& s, double f) {
    if (f > 0) push(s, Op{.kind = OpKind::compute_flops, .amount = std::bit_cast<std::int64_t>(f)});
  }
  void push_wait(RankState& s, std::int64_t src, std::int64_t dst, std::int64_t tag);

  const TiInput& input_;
  MemoryTrace& out_;
  std::uint32_t ranks_;
  std::size_t block_ops_;
  std::vector<std::unique_ptr<RankState>> states_;
  std::size_t part_ = ~std::size_t{0};
  std::uint32_t line_ = 0;
  std::uint32_t rank_ = 0;
  std::string carry_;
  std::vector<std::int64_t> list_;
  std::optional<Error> error_;
  std::uint64_t completed_waits_ = 0;
  std::uint64_t tests_ = 0;
  std::uint64_t comm_actions_ = 0;
  std::uint64_t null_types_ = 0;
};

bool Parser::fail(const Line& l, const char* column, std::string what, std::string_view got,
                  std::string expected) {
  constexpr std::size_t kShown = 80;
  const std::string text(got.substr(0, kShown));
  error_ = bad_input(fmt::format("{}:{}:{}", input_.parts()[part_].name, line_, column - l.begin + 1),
                     std::move(what), got.empty() ? "end of line" : text, std::move(expected));
  return false;
}

constexpr double kTens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                            1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

// Short decimal numbers exactly (mantissa < 2^53 and a power of ten <= 10^22 are doubles; one rounding), the
// rest by from_chars. Returns where the number ends, null if there is none.
const char* parse_number(const char* p, const char* e, double& out) {
  const char* start = p;
  const bool negative = p < e && *p == '-';
  if (negative) ++p;
  std::uint64_t mantissa = 0;
  int digits = 0;
  int scale = 0;
  const char* first = p;
  for (; p < e && static_cast<unsigned char>(*p - '0') < 10; ++p, ++digits)
    mantissa = mantissa * 10 + static_cast<unsigned>(*p - '0');
  if (p < e && *p == '.') {
    const char* dot = ++p;
    for (; p < e && static_cast<unsigned char>(*p - '0') < 10; ++p, ++digits)
      mantissa = mantissa * 10 + static_cast<unsigned>(*p - '0');
    scale = -static_cast<int>(p - dot);
  }
  if (digits > 0 && digits <= 15) {
    if (p < e && (*p == 'e' || *p == 'E')) {
      const char* q = p + 1;
      const bool minus = q < e && *q == '-';
      if (q < e && (*q == '+' || *q == '-')) ++q;
      int exponent = 0;
      const char* exponent_begin = q;
      for (; q < e && q - exponent_begin < 4 && static_cast<unsigned char>(*q - '0') < 10; ++q)
        exponent = exponent * 10 + (*q - '0');
      if (q > exponent_begin) {
        scale += minus ? -exponent : exponent;
        p = q;
      }
    }
    if (scale >= -22 && scale <= 22) {
      const auto m = static_cast<double>(mantissa);
      const double v = scale < 0 ? m / kTens[-scale] : m * kTens[scale];
      out = negative ? -v : v;
      return p;
    }
  }
  if (first == e || !(static_cast<unsigned char>(*first - '0') < 10 || *first == '.')) return nullptr;
  const auto r = std::from_chars(start, e, out);
  if (r.ec == std::errc::result_out_of_range) {
    out = std::numeric_limits<double>::infinity();
    return r.ptr;
  }
  return r.ec == std::errc() ? r.ptr : nullptr;
}

bool Parser::number(Line& l, const char* field, double& out) {
  skip_blanks(l);
  if (l.at == l.end) return fail(l, l.at, fmt::format("missing {}", field), {}, "a number");
  const char* p = parse_number(l.at, l.end, out);
  if (p == nullptr || (p < l.end && !is_blank(*p)))
    return fail(l, l.at, fmt::format("{} is not a number", field), peek(l), "a number");
  if (!std::isfinite(out))
    return fail(l, l.at, fmt::format("{} is too large", field), peek(l), "a finite number");
  l.at = p;
  return true;
}

bool Parser::whole(Line& l, const char* field, std::int64_t& out) {
  skip_blanks(l);
  // Fast path: a plain decimal integer.
  const char* p = l.at;
  std::uint64_t v = 0;
  while (p < l.end && static_cast<unsigned char>(*p - '0') < 10)
    v = v * 10 + static_cast<unsigned>(*p++ - '0');
  if (p > l.at && p - l.at <= 18 && (p == l.end || is_blank(*p))) {
    out = static_cast<std::int64_t>(v);
    l.at = p;
    return true;
  }
  const char* at = l.at;
  double d = 0;
  if (!number(l, field, d)) return false;
  if (!(std::fabs(d) < kMaxBytes)) {
    l.at = at;
    return fail(l, at, fmt::format("{} is too large", field), peek(l), "less than 4.6e18");
  }
  out = static_cast<std::int64_t>(d);  // SimGrid truncates, too
  return true;
}

bool Parser::count(Line& l, const char* field, std::int64_t& out) {
  skip_blanks(l);
  const char* at = l.at;
  if (!whole(l, field, out)) return false;
  if (out < 0 || *at == '-') {
    l.at = at;
    return fail(l, at, fmt::format("{} is negative", field), peek(l), "a number >= 0");
  }
  return true;
}

bool Parser::rank_field(Line& l, const char* field, bool receive, std::int32_t& out) {
  skip_blanks(l);
  const char* at = l.at;
  std::int64_t v = 0;
  if (!whole(l, field, v)) return false;
  if (v == kSmpiProcNull) {
    out = kProcNull;
    return true;
  }
  if (receive && v == kSmpiAnySource) {
    out = kAnySource;
    return true;
  }
  if (v < 0 || v >= ranks_) {
    l.at = at;
    return fail(l, at, fmt::format("{} is not a rank of this trace", field), peek(l),
                fmt::format("0 to {}", ranks_ - 1));
  }
  out = static_cast<std::int32_t>(v);
  return true;
}

bool Parser::root_field(Line& l, std::int32_t& out) {
  out = 0;
  if (at_end(l)) return true;
  const char* at = l.at;
  if (!rank_field(l, "root", false, out)) return false;
  if (out >= 0) return true;
  l.at = at;
  return fail(l, at, "root is not a rank of this trace", peek(l), fmt::format("0 to {}", ranks_ - 1));
}

bool Parser::tag_field(Line& l, bool receive, std::int32_t& out) {
  skip_blanks(l);
  const char* at = l.at;
  std::int64_t v = 0;
  if (!whole(l, "tag", v)) return false;
  if (receive && v == kSmpiAnyTag) {
    out = kAnyTag;
    return true;
  }
  if (v < 0 || v > INT32_MAX) {
    l.at = at;
    return fail(l, at, "tag is out of range", peek(l), "0 to 2147483647");
  }
  out = static_cast<std::int32_t>(v);
  return true;
}

bool Parser::type(Line& l, const RankState& s, int& bytes) {
  bytes = s.default_bytes;
  if (at_end(l)) return true;
  const char* at = l.at;
  std::int64_t id = 0;
  if (!whole(l, "datatype", id)) return false;
  if (id == -1) {
    ++null_types_;
    bytes = 0;
    return true;
  }
  if (id < 0 || id >= static_cast<std::int64_t>(kTypeBytes.size()) ||
      kTypeBytes[static_cast<std::size_t>(id)] == kNoType) {
    l.at = at;
    return fail(l, at, "unknown datatype id", peek(l), "a SimGrid datatype id: -1 to 49, or 57");
  }
  bytes = kTypeBytes[static_cast<std::size_t>(id)];
  return true;
}

bool Parser::size(Line& l, const char* field, const char* at, std::int64_t n, int type_bytes,
                  std::int64_t& out) {
  if (__builtin_mul_overflow(n, static_cast<std::int64_t>(type_bytes), &out) ||
      static_cast<double>(out) >= kMaxBytes) {
    l.at = at;
    return fail(l, at, fmt::format("{} is too large", field), peek(l), "less than 4.6e18 bytes");
  }
  return true;
}

bool Parser::flops(Line& l, double& out) {
  skip_blanks(l);
  const char* at = l.at;
  if (!number(l, "flops", out)) return false;
  if (out < 0 || *at == '-') {
    l.at = at;
    return fail(l, at, "flops are negative", peek(l), "a number >= 0");
  }
  return true;
}

bool Parser::nothing_more(Line& l) {
  return at_end(l) || fail(l, l.at, "the action has too many fields", peek(l), "end of line");
}

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

bool Parser::parse_action(RankState& s, Line& l, Action a) {
  switch (a) {
    case Action::kInit:
      s.default_bytes = kTypeBytes[static_cast<std::size_t>(at_end(l) ? kByteType : kDoubleType)];
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
    case Action::kCompute: {
      double f = 0;
      if (!flops(l, f)) return false;
      push(s, Op{.kind = OpKind::compute_flops, .amount = std::bit_cast<std::int64_t>(f + 0.0)});
      return nothing_more(l);
    }
    case Action::kSleep: {
      skip_blanks(l);
      const char* at = l.at;
      double seconds = 0;
      if (!number(l, "seconds", seconds)) return false;
      if (seconds < 0 || seconds > 9e6) {
        l.at = at;
        return fail(l, at, "seconds are out of range", peek(l), "0 to 9e6");
      }
      push(s, Op{.kind = OpKind::sleep, .amount = from_seconds(seconds).count()});
      return nothing_more(l);
    }
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
      if (!rank_field(l, receive ? "source" : "destination", receive, op.peer)) return false;
      if (!tag_field(l, receive, op.tag)) return false;
      skip_blanks(l);
      const char* at = l.at;
      std::int64_t n = 0;
      if (!whole(l, "count", n)) return false;
      if (n < 0 && receive) {
        fail(l, at, "a receive of unknown size (count < 0) is not supported",
             std::string_view(at, static_cast<std::size_t>(l.at - at)), "a count >= 0");
        error_->code = ErrorCode::kNotSupported;
        return false;
      }
      if (n < 0) {
        l.at = at;
        return fail(l, at, "count is negative", peek(l), "a number >= 0");
      }
      int bytes = 0;
      if (!type(l, s, bytes) || !size(l, "message", at, n, bytes, op.amount)) return false;
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
        if (s.requests.size() >= kMaxRequestSlots)
          return fail(l, l.begin, "too many outstanding requests", {}, "waits");
        op.request = s.requests.add(key, receive, op.amount);
        if (receive && (op.peer == kAnySource || op.tag == kAnyTag)) ++s.any_requests;
      }
      push(s, op);
      return nothing_more(l);
    }
    case Action::kSendRecv: {
      std::int64_t sn = 0;
      std::int64_t rn = 0;
      Op send{.kind = OpKind::sendrecv};
      Op recv{.kind = OpKind::recv, .flags = kPairedRecv};
      int sb = 0;
      int rb = 0;
      skip_blanks(l);
      const char* at_s = l.at;
      if (!count(l, "send count", sn) || !rank_field(l, "destination", false, send.peer)) return false;
      skip_blanks(l);
      const char* at_r = l.at;
      if (!count(l, "receive count", rn) || !rank_field(l, "source", true, recv.peer)) return false;
      if (!type(l, s, sb) || !type(l, s, rb)) return false;
      if (!size(l, "message", at_s, sn, sb, send.amount) || !size(l, "message", at_r, rn, rb, recv.amount))
        return false;
      if (s.block.ops.size() + 2 > block_ops_) flush(s);  // a pair stays in one block
      push(s, send);
      push(s, recv);
      return nothing_more(l);
    }
    case Action::kWait:
    case Action::kTest: {
      std::int32_t src = 0;
      std::int32_t dst = 0;
      std::int32_t tag = 0;
      if (!rank_field(l, "source", true, src) || !rank_field(l, "destination", false, dst) ||
          !tag_field(l, true, tag))
        return false;
      if (!nothing_more(l)) return false;
      if (a == Action::kWait)
        push_wait(s, src, dst, tag);
      else
        ++tests_;
      return true;
    }
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

bool Parser::collective(RankState& s, Line& l, Action a) {
  Op op{.peer = kAnySource};
  std::int64_t n = 0;
  int bytes = 0;
  double work = 0;
  skip_blanks(l);
  const char* at = l.at;
  const std::size_t world = ranks_;
  // Reads `world` counts into list_, scaled later.
  const auto counts = [&](const char* field) {
    for (std::size_t i = 0; i < world; ++i) {
      std::int64_t v = 0;
      if (!count(l, field, v)) return false;
      list_.push_back(v);
    }
    return true;
  };
  const auto scale = [&](std::size_t begin, std::size_t end, int type_bytes, std::int64_t& sum) {
    sum = 0;
    for (std::size_t i = begin; i < end; ++i) {
      if (!size(l, "count", at, list_[i], type_bytes, list_[i])) return false;
      if (__builtin_add_overflow(sum, list_[i], &sum))
        return fail(l, at, "the sum of the counts is too large", peek(l), "less than 9.2e18 bytes");
    }
    return true;
  };
  list_.clear();
  switch (a) {
    case Action::kBarrier:
      op.kind = OpKind::barrier;
      break;
    case Action::kBcast:
      op.kind = OpKind::bcast;
      if (!count(l, "count", n) || !root_field(l, op.peer) || !type(l, s, bytes) ||
          !size(l, "count", at, n, bytes, op.amount))
        return false;
      break;
    case Action::kReduce:
      op.kind = OpKind::reduce;
      if (!count(l, "count", n) || !flops(l, work) || !root_field(l, op.peer) || !type(l, s, bytes) ||
          !size(l, "count", at, n, bytes, op.amount))
        return false;
      break;
    case Action::kAllreduce:
    case Action::kScan:
    case Action::kExscan:
      op.kind = a == Action::kAllreduce ? OpKind::allreduce
                : a == Action::kScan    ? OpKind::scan
                                        : OpKind::exscan;
      if (!count(l, "count", n) || !flops(l, work) || !type(l, s, bytes) ||
          !size(l, "count", at, n, bytes, op.amount))
        return false;
      break;
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
      if (!count(l, "send count", n) || !count(l, "receive count", rn)) return false;
      if (is_rooted(op.kind) && !root_field(l, op.peer)) return false;
      if (!type(l, s, bytes) || !type(l, s, rbytes)) return false;
      // A scatter's size is what a rank gets, the others' what a rank gives.
      const bool receive = a == Action::kScatter;
      if (!size(l, "count", at, receive ? rn : n, receive ? rbytes : bytes, op.amount)) return false;
      break;
    }
    case Action::kAlltoallv: {
      op.kind = OpKind::alltoallv;
      int rbytes = 0;
      std::int64_t ignored = 0;
      list_.push_back(static_cast<std::int64_t>(world));
      if (!count(l, "send buffer size", n) || !counts("send count") || !count(l, "receive buffer size", n) ||
          !counts("receive count"))
        return false;
      if (!type(l, s, bytes) || !type(l, s, rbytes)) return false;
      if (!scale(1, 1 + world, bytes, op.amount) || !scale(1 + world, 1 + 2 * world, rbytes, ignored))
        return false;
      break;
    }
    case Action::kAllgatherv: {
      op.kind = OpKind::allgatherv;
      int rbytes = 0;
      std::int64_t ignored = 0;
      if (!count(l, "send count", n) || !counts("receive count")) return false;
      // Optional: [sdt rdt], [sdt rdt displacements] or [displacements], told apart by their number.
      const std::size_t left = tokens_left(l);
      bytes = rbytes = s.default_bytes;
      const bool types = left == 2 || left == 2 + world;
      if (left != 0 && left != 2 && left != world && left != 2 + world) {
        skip_blanks(l);
        return fail(l, l.at, "wrong number of fields after the receive counts", peek(l),
                    fmt::format("0, 2, {} or {} fields", world, world + 2));
      }
      if (types && (!type(l, s, bytes) || !type(l, s, rbytes))) return false;
      for (std::int64_t d = 0; !at_end(l);)
        if (!whole(l, "displacement", d)) return false;
      if (!size(l, "count", at, n, bytes, op.amount) || !scale(0, world, rbytes, ignored)) return false;
      break;
    }
    case Action::kGatherv:
    case Action::kScatterv: {
      const bool gather = a == Action::kGatherv;
      op.kind = gather ? OpKind::gatherv : OpKind::scatterv;
      int rbytes = 0;
      std::int64_t ignored = 0;
      if (gather && (!count(l, "send count", n) || !counts("receive count"))) return false;
      if (!gather && (!counts("send count") || !count(l, "receive count", n))) return false;
      if (!root_field(l, op.peer) || !type(l, s, bytes) || !type(l, s, rbytes)) return false;
      const int own = gather ? bytes : rbytes;
      const int each = gather ? rbytes : bytes;
      if (!size(l, "count", at, n, own, op.amount) || !scale(0, world, each, ignored)) return false;
      if (static_cast<std::uint32_t>(op.peer) != rank_)
        list_.clear();  // only the root's counts mean anything
      break;
    }
    case Action::kReduceScatter:
      op.kind = OpKind::reduce_scatter;
      if (!counts("receive count") || !flops(l, work) || !type(l, s, bytes) ||
          !scale(0, world, bytes, op.amount))
        return false;
      break;
    default:
      WEFT_CHECK(false, "an action without a parser");
  }
  if (!nothing_more(l)) return false;
  if (!list_.empty()) op.extra = s.block.add_list(list_);
  push(s, op);
  push_flops(s, work);
  return true;
}

// The action that a token names. A switch on length and first letter leaves one or two comparisons.
std::optional<Action> find_action(std::string_view t) {
  const auto is = [&](Action a) { return t == kActionNames[static_cast<std::size_t>(a)]; };
  // The actions of a point-to-point program first; the rest by search.
  switch (t.size()) {
    case 4:
      if (is(Action::kWait)) return Action::kWait;
      if (is(Action::kSend)) return Action::kSend;
      if (is(Action::kRecv)) return Action::kRecv;
      break;
    case 5:
      if (is(Action::kIrecv)) return Action::kIrecv;
      if (is(Action::kIsend)) return Action::kIsend;
      break;
    case 7:
      if (is(Action::kCompute)) return Action::kCompute;
      break;
    default:
      break;
  }
  for (std::size_t i = 0; i < std::size(kActionNames); ++i)
    if (t == kActionNames[i]) return static_cast<Action>(i);
  return std::nullopt;
}

bool Parser::line(const char* begin, const char* end) {
  Line l{begin, begin, end};
  skip_blanks(l);
  if (l.at == l.end || *l.at == '#') return true;
  const char* at = l.at;
  std::int64_t rank = 0;
  if (!whole(l, "rank", rank)) return false;
  if (rank < 0 || rank >= static_cast<std::int64_t>(ranks_)) {
    l.at = at;
    return fail(l, at, "rank is out of range", peek(l), fmt::format("0 to {}", ranks_ - 1));
  }
  if (!input_.shared() && rank != static_cast<std::int64_t>(part_)) {
    l.at = at;
    return fail(l, at, "a line of another rank in a rank's own file", peek(l), std::to_string(part_));
  }
  rank_ = static_cast<std::uint32_t>(rank);
  const std::string_view name = peek(l);
  if (name.empty()) return fail(l, l.at, "missing action", {}, known_actions());
  const auto action = find_action(name);
  if (!action) return fail(l, l.at, "unknown action", name, known_actions());
  l.at += name.size();
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
  while (p < end) {
    const auto* eol = static_cast<const char*>(std::memchr(p, '\n', static_cast<std::size_t>(end - p)));
    const char* stop = eol == nullptr ? end : eol;
    if (line_ == UINT32_MAX)
      return bad_input(input_.parts()[part_].name, "the file has too many lines", {},
                       "fewer than 2^32 lines");
    ++line_;
    if (!line(p, stop)) return *error_;
    p = stop + 1;
  }
  return {};
}

Result<void> Parser::feed(std::size_t part, std::string_view text, bool last) {
  constexpr std::size_t kMaxLine = 64u << 20;
  if (part != part_) {
    part_ = part;
    line_ = 0;
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
        return bad_input(fmt::format("{}:{}", input_.parts()[part].name, line_ + 1), "the line is too long",
                         {}, "at most 64 MiB");
      carry_.append(text);
      return {};
    }
    carry_.append(text.substr(0, eol));
    const std::string one = std::move(carry_);
    carry_.clear();
    ++line_;
    if (!line(one.data(), one.data() + one.size())) return *error_;
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
      null_types_,
      "messages or collectives have datatype -1 (a derived type): their size is lost and counts as 0 bytes.");
  for (const auto& f : input_.ignored()) out_.add_note(fmt::format("{} was ignored: not a rank's file.", f));
}

// The number of ranks of a shared file: the largest rank that begins a line, plus one.
Result<std::uint32_t> ranks_of_shared(const TiInput& input) {
  std::uint64_t most = 0;
  bool any = false;
  bool at_start = true;  // of a line, blanks included
  std::uint64_t value = 0;
  bool digits = false;
  const auto end_number = [&] {
    if (digits) {
      most = std::max(most, value);
      any = true;
    }
    digits = false;
    at_start = false;
  };
  WEFT_TRY(input.read([&](std::size_t, std::string_view text, bool) -> Result<void> {
    for (const char c : text) {
      if (c == '\n') {
        end_number();
        at_start = true;
        value = 0;
      } else if (at_start) {
        if (static_cast<unsigned char>(c - '0') < 10) {
          digits = true;
          value = std::min<std::uint64_t>(value * 10 + static_cast<unsigned>(c - '0'), 1u << 31);
        } else if (!is_blank(c) || digits) {
          end_number();
        }
      }
    }
    return {};
  }));
  end_number();
  if (!any)
    return bad_input(input.parts()[0].name, "the trace holds no action", {}, "lines \"RANK ACTION ...\"");
  return static_cast<std::uint32_t>(most + 1);
}

}  // namespace

std::vector<RequestTable::Request> RequestTable::take_all() {
  std::vector<Request> all = std::move(list_);
  list_.clear();
  for (auto& [key, queue] : queues_) all.insert(all.end(), queue.begin(), queue.end());
  queues_.clear();
  std::ranges::sort(all, {}, &Request::order);
  for (const Request& r : all) release(r.slot);
  return all;
}

bool sniff_ti(const std::string& path, std::string_view first) {
  std::error_code ec;
  if (std::filesystem::is_directory(path, ec)) return true;
  if (looks_compressed_or_tar(first) || looks_like_ti_line(first)) return true;
  // An index: its first line names a file.
  std::string_view line = first.substr(0, first.find('\n'));
  while (!line.empty() && is_blank(line.back())) line.remove_suffix(1);
  if (line.empty() || line.find('\0') != std::string_view::npos) return false;
  const auto dir = std::filesystem::path(path).parent_path();
  const std::filesystem::path named{std::string(line)};
  return std::filesystem::is_regular_file(dir / named, ec) || std::filesystem::is_regular_file(named, ec) ||
         std::filesystem::is_regular_file(dir / ".." / named, ec) ||
         std::filesystem::is_regular_file(dir / named.filename(), ec);
}

Result<std::unique_ptr<TraceReader>> open_ti(const std::vector<std::string>& paths) {
  WEFT_ASSIGN(const TiInput input, TiInput::open(paths));
  TraceHeader header;
  header.recorder = "simgrid-ti";
  if (input.shared()) {
    WEFT_ASSIGN(header.ranks, ranks_of_shared(input));
  } else {
    header.ranks = static_cast<std::uint32_t>(input.parts().size());
  }
  if (header.ranks > format::kMaxRanks)
    return bad_input(input.parts()[0].name, "the trace has too many ranks", std::to_string(header.ranks),
                     fmt::format("at most {}", format::kMaxRanks));
  auto trace = std::make_unique<MemoryTrace>(std::move(header));
  Parser parser(input, trace->header().ranks, *trace);
  WEFT_TRY(input.read(
      [&](std::size_t part, std::string_view text, bool last) { return parser.feed(part, text, last); }));
  parser.finish();
  if (trace->totals().ops == 0)
    return bad_input(paths[0], "the trace holds no action", {}, "lines \"RANK ACTION ...\"");
  return std::unique_ptr<TraceReader>(std::move(trace));
}

}  // namespace weft::traces
