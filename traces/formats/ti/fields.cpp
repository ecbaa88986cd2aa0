#include "traces/formats/ti/fields.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>

#include "traces/formats/ti/actions.hpp"
#include "traces/op.hpp"

namespace weft::traces::ti {

std::string TiFields::position(const char* column) const {
  return fmt::format("{}:{}:{}", *context_.file, context_.line, column - begin_ + 1);
}

bool TiFields::fail(const char* column, std::string what, std::string_view got, std::string expected) {
  constexpr std::size_t kShown = 80;
  const std::string text(got.substr(0, kShown));
  context_.error =
      bad_input(position(column), std::move(what), got.empty() ? "end of line" : text, std::move(expected));
  return false;
}

namespace {

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

}  // namespace

bool TiFields::number(const char* field, double& out) {
  skip_blanks();
  if (at_ == end_) return fail(at_, fmt::format("missing {}", field), {}, "a number");
  const char* p = parse_number(at_, end_, out);
  if (p == nullptr || (p < end_ && !is_blank(*p)))
    return fail(at_, fmt::format("{} is not a number", field), peek(), "a number");
  if (!std::isfinite(out)) return fail(at_, fmt::format("{} is too large", field), peek(), "a finite number");
  at_ = p;
  return true;
}

bool TiFields::whole_slowly(const char* field, std::int64_t& out) {
  const char* at = at_;
  double d = 0;
  if (!number(field, d)) return false;
  if (!(std::fabs(d) < kMaxBytes)) {
    at_ = at;
    return fail(at, fmt::format("{} is too large", field), peek(), "less than 4.6e18");
  }
  out = static_cast<std::int64_t>(d);  // SimGrid truncates, too
  return true;
}

bool TiFields::other_than_digits(const char* field) {
  const char* at = at_;
  double d = 0;
  if (!number(field, d)) return false;
  at_ = at;
  return fail(at, fmt::format("{} is not a whole number", field), peek(),
              fmt::format("0 to {}", context_.ranks - 1));
}

bool TiFields::count(const char* field, std::int64_t& out) {
  skip_blanks();
  const char* at = at_;
  if (!whole(field, out)) return false;
  if (out < 0 || *at == '-') {
    at_ = at;
    return fail(at, fmt::format("{} is negative", field), peek(), "a number >= 0");
  }
  return true;
}

bool TiFields::special_rank(const char* field, bool receive, const char* at, std::int64_t v,
                            std::int32_t& out) {
  if (v == kSmpiProcNull) {
    out = kProcNull;
    return true;
  }
  if (receive && v == kSmpiAnySource) {
    out = kAnySource;
    return true;
  }
  if (v == kSmpiUndefined) {
    // Blocking receives from no process leave no line (smpi_pmpi_request.cpp); whether an irecv is one nobody can tell.
    out = receive ? kAnySource : kProcNull;
    context_.undefined_sources += receive ? 1 : 0;
    return true;
  }
  at_ = at;
  return fail(at, fmt::format("{} is not a rank of this trace", field), peek(),
              fmt::format("0 to {}", context_.ranks - 1));
}

bool TiFields::special_tag(bool receive, const char* at, std::int64_t v, std::int32_t& out) {
  if (receive && v == kSmpiAnyTag) {
    out = kAnyTag;
    return true;
  }
  at_ = at;
  return fail(at, "tag is out of range", peek(), "0 to 2147483647");
}

bool TiFields::special_type(const char* at, std::int64_t id, int& bytes) {
  if (id == -1) {
    ++context_.null_types;
    bytes = 0;
    return true;
  }
  at_ = at;
  return fail(at, "unknown datatype id", peek(), "a SimGrid datatype id: -1 to 59");
}

bool TiFields::too_large(const char* field, const char* at) {
  at_ = at;
  return fail(at, fmt::format("{} is too large", field), peek(), "less than 4.6e18 bytes");
}

bool TiFields::root_field(std::int32_t& out) {
  out = 0;
  if (at_end()) return true;
  const char* at = at_;
  if (!rank_field("root", false, out)) return false;
  if (out >= 0) return true;
  at_ = at;
  return fail(at, "root is not a rank of this trace", peek(), fmt::format("0 to {}", context_.ranks - 1));
}

bool TiFields::flops(double& out) {
  skip_blanks();
  const char* at = at_;
  if (!number("flops", out)) return false;
  if (out < 0 || *at == '-') {
    at_ = at;
    return fail(at, "flops are negative", peek(), "a number >= 0");
  }
  return true;
}

bool TiFields::too_many() { return fail(at_, "the action has too many fields", peek(), "end of line"); }

}  // namespace weft::traces::ti
