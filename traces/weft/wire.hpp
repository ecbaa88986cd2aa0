// Serialized protobuf messages without building them: their fields one after the other (WireScanner), and the values of
// packed columns in bulk.
//
// A parser makes an object of every sub-message and string, a hundred bytes for the two that an empty one takes: with
// a scanner, what a message costs is known, and refused, before it is built. Nothing here allocates.
#pragma once

#include <cstdint>
#include <string_view>

namespace weft::traces {

// How a field stands on the wire.
enum class WireType : std::uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

// O(fields); skips are O(1).

class WireScanner {
 public:
  explicit WireScanner(std::string_view message) : rest_(message) {}

  // Goes to the next field. False at the end of the message and where it is malformed; ok() tells which.
  [[nodiscard]] bool next();
  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] std::uint32_t field() const { return field_; }
  [[nodiscard]] WireType type() const { return type_; }
  // The value of a varint or of a fixed-width field; 0 of others.
  [[nodiscard]] std::uint64_t number() const { return number_; }
  // The content of a string, a sub-message or a packed column; empty of others.
  [[nodiscard]] std::string_view bytes() const {
    return type_ == WireType::kBytes ? value_ : std::string_view();
  }
  // The value as it stands on the wire: bytes(), or those of a varint or of a fixed-width field.
  [[nodiscard]] std::string_view value() const { return value_; }
  // How many values the field adds to a repeated field of varints: one, or those of a packed column. O(column).
  [[nodiscard]] std::uint64_t varints() const;

 private:
  [[nodiscard]] bool varint(std::uint64_t& out) {  // most are of one byte
    if (rest_.empty() || static_cast<unsigned char>(rest_.front()) >= 0x80) return long_varint(out);
    out = static_cast<unsigned char>(rest_.front());
    rest_.remove_prefix(1);
    return true;
  }
  [[nodiscard]] bool long_varint(std::uint64_t& out);
  [[nodiscard]] bool take(std::uint64_t n);

  std::string_view rest_, value_;
  std::uint32_t field_ = 0;
  std::uint64_t number_ = 0;
  WireType type_ = WireType::kVarint;
  bool ok_ = true;
};

// The values of a packed column of varints, into `to`, which has room for n. kOtherCount: there are more or fewer of them;
// kMalformed: one has no end, or more than ten bytes. What was written to `to` then has no meaning. O(bytes).
enum class Unpacked : std::uint8_t { kAll, kOtherCount, kMalformed };
[[nodiscard]] Unpacked unpack_sint32(std::string_view column, std::int32_t* to, std::size_t n);
[[nodiscard]] Unpacked unpack_sint64(std::string_view column, std::int64_t* to, std::size_t n);
[[nodiscard]] Unpacked unpack_uint32(std::string_view column, std::uint32_t* to, std::size_t n);
// How many a packed column has. O(bytes).
[[nodiscard]] std::size_t count_varints(std::string_view column);

// What a varint of type sint32 or sint64 stands for.
[[nodiscard]] constexpr std::int32_t sint32_of(std::uint64_t v) {
  const auto u = static_cast<std::uint32_t>(v);
  return static_cast<std::int32_t>(u >> 1 ^ (0 - (u & 1)));
}
[[nodiscard]] constexpr std::int64_t sint64_of(std::uint64_t v) {
  return static_cast<std::int64_t>(v >> 1 ^ (0 - (v & 1)));
}

// The other way: the varint that stands for a value, and a varint's bytes, at most ten; the byte after them.
inline constexpr std::size_t kMostVarintBytes = 10;
[[nodiscard]] constexpr std::uint64_t zigzag(std::int64_t v) {
  return static_cast<std::uint64_t>(v) << 1 ^ static_cast<std::uint64_t>(v >> 63);
}
[[nodiscard]] inline char* put_varint(char* at, std::uint64_t v) {
  for (; v >= 0x80; v >>= 7) *at++ = static_cast<char>(v | 0x80);
  *at++ = static_cast<char>(v);
  return at;
}

}  // namespace weft::traces
