#include "traces/weft/wire.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "core/wide.hpp"

namespace weft::traces {

bool WireScanner::long_varint(std::uint64_t& out) {
  out = 0;
  for (unsigned shift = 0; shift < 70 && !rest_.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(rest_.front());
    rest_.remove_prefix(1);
    if (shift < 64) out |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

bool WireScanner::take(std::uint64_t n) {
  if (n > rest_.size()) return false;
  value_ = rest_.substr(0, n);
  rest_.remove_prefix(n);
  return true;
}

bool WireScanner::next() {
  if (!ok_ || rest_.empty()) return false;
  value_ = {};
  number_ = 0;
  std::uint64_t tag = 0;
  ok_ = varint(tag) && tag >> 3 != 0 && tag >> 32 == 0;
  if (!ok_) return false;
  field_ = static_cast<std::uint32_t>(tag >> 3);
  type_ = static_cast<WireType>(tag & 7);
  switch (type_) {
    case WireType::kVarint: {
      const std::string_view from = rest_;
      ok_ = varint(number_);
      value_ = from.substr(0, from.size() - rest_.size());
      break;
    }
    case WireType::kFixed64:
    case WireType::kFixed32:
      ok_ = take(type_ == WireType::kFixed64 ? 8 : 4);
      for (std::size_t i = 0; i < value_.size(); ++i)
        number_ |= static_cast<std::uint64_t>(static_cast<unsigned char>(value_[i])) << (8 * i);
      break;
    case WireType::kBytes: {
      std::uint64_t n = 0;
      ok_ = varint(n) && take(n);
      break;
    }
    default:
      ok_ = false;  // groups: trace.proto has none
  }
  return ok_;
}

std::uint64_t WireScanner::varints() const { return type_ == WireType::kBytes ? count_varints(value_) : 1; }

std::size_t count_varints(std::string_view column) {
  return static_cast<std::size_t>(
      std::ranges::count_if(column, [](char c) { return static_cast<unsigned char>(c) < 0x80; }));
}

namespace {

constexpr std::uint64_t kEnds = 0x8080808080808080;  // clear in the last byte of a varint
constexpr std::uint64_t kEndsOfPairs = 0x0080008000800080;

std::uint64_t eight_bytes(const char* at) {
  std::uint64_t x = 0;
  std::memcpy(&x, at, sizeof x);
  return x;
}

// One varint, byte by byte. Null where it does not end.
const char* careful(const char* at, const char* end, std::uint64_t& out) {
  out = 0;
  for (unsigned shift = 0; shift < 70 && at != end; shift += 7) {
    const auto byte = static_cast<unsigned char>(*at++);
    if (shift < 64) out |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return at;
  }
  return nullptr;
}

// Sixteen values of one byte and eight of two at a time where they stand so, as most columns have their values, in loops
// that compilers turn into vector instructions; else one after the other from eight bytes loaded at once.
template <class T, T (*kValue)(std::uint64_t), class Short, Short (*kShort)(std::uint64_t)>
[[gnu::always_inline]] inline Unpacked unpack(std::string_view column, T* to, std::size_t n) {
  if (!column.empty() && static_cast<unsigned char>(column.back()) >= 0x80) return Unpacked::kMalformed;
  const char* at = column.data();
  const char* const end = at + column.size();
  T* const last = to + n;
  std::uint64_t five_bytes = 0, five = 0;  // the last value of five bytes, as it was written and as it is
  while (last - to >= 16 && end - at >= 16) {
    const std::uint64_t a = eight_bytes(at) & kEnds, b = eight_bytes(at + 8) & kEnds;
    if ((a | b) == 0) {
      std::array<std::uint8_t, 16> in;
      std::memcpy(in.data(), at, sizeof in);
      for (std::size_t i = 0; i < 16; ++i) to[i] = kShort(in[i]);
      to += 16;
      at += 16;
    } else if (a == kEndsOfPairs && b == kEndsOfPairs) {
      std::array<std::uint16_t, 8> in;
      std::memcpy(in.data(), at, sizeof in);
      for (std::size_t i = 0; i < 8; ++i) to[i] = kShort((in[i] & 0x7fu) | (in[i] >> 1 & 0x3f80u));
      to += 8;
      at += 16;
    } else {
      for (int i = 0; i < 8 && end - at >= 8; ++i) {
        const std::uint64_t x = eight_bytes(at);
        std::uint64_t v = x & 0x7f;
        if ((x & 0x80) == 0) {
          ++at;
        } else if ((x & 0x8000) == 0) {
          v |= x >> 1 & 0x3f80;
          at += 2;
        } else if ((x & 0x800000) == 0) {
          v |= (x >> 1 & 0x3f80) | (x >> 2 & 0x1fc000);
          at += 3;
        } else if ((x & 0x80000000) == 0) {
          v |= (x >> 1 & 0x3f80) | (x >> 2 & 0x1fc000) | (x >> 3 & 0xfe00000);
          at += 4;
        } else if ((x & 0x8000000000) ==
                   0) {  // tags of collectives that were expanded, many in a row the same
          if ((x & 0xffffffffff) != five_bytes) {
            five_bytes = x & 0xffffffffff;
            five =
                v | (x >> 1 & 0x3f80) | (x >> 2 & 0x1fc000) | (x >> 3 & 0xfe00000) | (x >> 4 & 0x7f0000000);
          }
          v = five;
          at += 5;
        } else {
          at = careful(at, end, v);
          if (at == nullptr) return Unpacked::kMalformed;
        }
        *to++ = kValue(v);
      }
    }
  }
  while (to != last && at != end) {
    std::uint64_t v = 0;
    at = careful(at, end, v);
    if (at == nullptr) return Unpacked::kMalformed;
    *to++ = kValue(v);
  }
  return to == last && at == end ? Unpacked::kAll : Unpacked::kOtherCount;
}

constexpr std::uint32_t uint32_of(std::uint64_t v) { return static_cast<std::uint32_t>(v); }

}  // namespace

Unpacked unpack_sint32(std::string_view column, std::int32_t* to, std::size_t n) {
  return unpack<std::int32_t, sint32_of, std::int32_t, sint32_of>(column, to, n);
}
WEFT_WIDE Unpacked unpack_sint64(std::string_view column, std::int64_t* to, std::size_t n) {
  return unpack<std::int64_t, sint64_of, std::int32_t, sint32_of>(column, to, n);
}
Unpacked unpack_uint32(std::string_view column, std::uint32_t* to, std::size_t n) {
  return unpack<std::uint32_t, uint32_of, std::uint32_t, uint32_of>(column, to, n);
}

}  // namespace weft::traces
