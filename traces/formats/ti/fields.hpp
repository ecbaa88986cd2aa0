// The fields of one line of TI text: numbers, ranks, tags, sizes, each checked against what it may be. A
// reader that returns false has left the error, with its column, in the context.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "core/result.hpp"
#include "traces/formats/ti/actions.hpp"

namespace weft::traces::ti {

inline constexpr double kMaxBytes = 4.6e18;      // a size is less: sums of two stay below 2^63
inline constexpr double kMaxSleepSeconds = 9e6;  // 104 days: less than a time holds

[[nodiscard]] inline bool is_blank(char c) { return c == ' ' || c == '\t'; }

class TiFields {
 public:
  // What the lines of a file share.
  struct Context {
    const std::string* file = nullptr;
    std::uint32_t line = 0;
    std::uint32_t ranks = 0;
    const char* readable = nullptr;       // memory may be read up to here, whatever line it holds
    std::uint64_t null_types = 0;         // sizes lost to datatype -1
    std::uint64_t undefined_sources = 0;  // kSmpiUndefined, taken for any source
    std::optional<Error> error;
  };
  TiFields(Context& context, const char* begin, const char* end)
      : context_(context), begin_(begin), at_(begin), end_(end) {}

  [[nodiscard]] const char* begin() const { return begin_; }
  // Where the next field begins, once blanks are skipped.
  [[nodiscard]] const char* here() const { return at_; }
  void seek(const char* at) { at_ = at; }
  [[gnu::always_inline]] void skip_blanks() {
    while (at_ < end_ && is_blank(*at_)) ++at_;
  }
  [[nodiscard]] bool at_end() {
    skip_blanks();
    return at_ == end_;
  }
  // The next token, not consumed.
  [[nodiscard, gnu::always_inline]] std::string_view peek() {
    skip_blanks();
    const char* e = at_;
    while (e < end_ && !is_blank(*e)) ++e;
    return {at_, static_cast<std::size_t>(e - at_)};
  }
  [[nodiscard]] std::size_t tokens_left() const {
    TiFields l = *this;
    std::size_t n = 0;
    for (; !l.at_end(); ++n) l.at_ += l.peek().size();
    return n;
  }

  // FILE:LINE:COLUMN of a place in the line.
  [[nodiscard]] std::string position(const char* column) const;
  // Always false. `column` points into the line.
  bool fail(const char* column, std::string what, std::string_view got, std::string expected);

  bool number(const char* field, double& out);
  // A number without its fraction, as SimGrid takes it. Inlined by force: left to the compiler it depends on what else the
  // file holds, and a call for each field costs 3 % of a replay from text.
  [[gnu::always_inline]] bool whole(const char* field, std::int64_t& out) {
    skip_blanks();
    // The common case, a plain integer of up to 7 digits, without a branch for each digit.
    if (context_.readable - at_ >= 8) {
      std::uint64_t x = 0;
      std::memcpy(&x, at_, 8);
      x ^= 0x3030303030303030U;  // digits become 0 to 9
      const std::uint64_t other =
          ((x + 0x7676767676767676U) | x) & 0x8080808080808080U;  // right up to its lowest bit
      const int bits = other == 0 ? 64 : std::countr_zero(other) & ~7;
      const char* p = at_ + bits / 8;
      if (bits > 0 && bits < 64 && (p == end_ || is_blank(*p))) {
        x <<= 64 - bits;        // leading zeros
        x = x * 10 + (x >> 8);  // pairs of digits, then all four pairs at once
        constexpr std::uint64_t kEven = 0x000000ff000000ffU;
        x = ((x & kEven) * (100 + (std::uint64_t{1000000} << 32)) +
             ((x >> 16) & kEven) * (1 + (std::uint64_t{10000} << 32))) >>
            32;
        out = static_cast<std::int64_t>(x);
        at_ = p;
        return true;
      }
    }
    const char* p = at_;
    std::uint64_t v = 0;
    while (p < end_ && static_cast<unsigned char>(*p - '0') < 10)
      v = v * 10 + static_cast<unsigned>(*p++ - '0');
    if (p > at_ && p - at_ <= 18 && (p == end_ || is_blank(*p))) {
      out = static_cast<std::int64_t>(v);
      at_ = p;
      return true;
    }
    return whole_slowly(field, out);
  }
  // A number that is digits and nothing else: what counts things may have an exponent or a fraction, what names one
  // may not.
  [[gnu::always_inline]] bool digits(const char* field, std::int64_t& out) {
    skip_blanks();
    const char* p = at_;
    std::uint64_t v = 0;
    while (p < end_ && static_cast<unsigned char>(*p - '0') < 10)
      v = v * 10 + static_cast<unsigned>(*p++ - '0');
    if (p == at_ || p - at_ > 18 || (p < end_ && !is_blank(*p))) return other_than_digits(field);
    out = static_cast<std::int64_t>(v);
    at_ = p;
    return true;
  }
  bool count(const char* field, std::int64_t& out);
  // A rank of the trace, no process, or (receives) any source.
  [[gnu::always_inline]] bool rank_field(const char* field, bool receive, std::int32_t& out) {
    skip_blanks();
    const char* at = at_;
    std::int64_t v = 0;
    if (!whole(field, v)) return false;
    out = static_cast<std::int32_t>(v);
    return (v >= 0 && v < context_.ranks) || special_rank(field, receive, at, v, out);
  }
  bool root_field(std::int32_t& out);
  [[gnu::always_inline]] bool tag_field(bool receive, std::int32_t& out) {
    skip_blanks();
    const char* at = at_;
    std::int64_t v = 0;
    if (!whole("tag", v)) return false;
    out = static_cast<std::int32_t>(v);
    return (v >= 0 && v <= INT32_MAX) || special_tag(receive, at, v, out);
  }
  // Bytes of the datatype named next, or `default_bytes` at the end of the line.
  [[gnu::always_inline]] bool type(int default_bytes, int& bytes) {
    bytes = default_bytes;
    if (at_end()) return true;
    const char* at = at_;
    std::int64_t id = 0;
    if (!whole("datatype", id)) return false;
    if (id < 0 || id >= static_cast<std::int64_t>(kTypeBytes.size())) return special_type(at, id, bytes);
    bytes = kTypeBytes[static_cast<std::size_t>(id)];
    return true;
  }
  // n elements in bytes; `at` is the column of n.
  bool size(const char* field, const char* at, std::int64_t n, int type_bytes, std::int64_t& out) {
    return (!__builtin_mul_overflow(n, static_cast<std::int64_t>(type_bytes), &out) &&
            static_cast<double>(out) < kMaxBytes) ||
           too_large(field, at);
  }
  bool flops(double& out);
  bool nothing_more() { return at_end() || too_many(); }

 private:
  bool special_rank(const char* field, bool receive, const char* at, std::int64_t v, std::int32_t& out);
  bool special_tag(bool receive, const char* at, std::int64_t v, std::int32_t& out);
  bool special_type(const char* at, std::int64_t id, int& bytes);
  bool too_large(const char* field, const char* at);
  bool too_many();
  bool whole_slowly(const char* field, std::int64_t& out);
  bool other_than_digits(const char* field);
  Context& context_;
  const char* begin_;
  const char* at_;
  const char* end_;
};

}  // namespace weft::traces::ti
