// WireScanner: the fields of a serialized protobuf message, one after the other, without building the message.
//
// A parser makes an object of every sub-message and string, a hundred bytes for the two that an empty one takes: with
// it, what a message costs is known, and refused, before it is built. Allocates nothing. O(fields); skips are O(1).
#pragma once

#include <cstdint>
#include <string_view>

namespace weft::traces {

class WireScanner {
 public:
  explicit WireScanner(std::string_view message) : rest_(message) {}

  // Goes to the next field. False at the end of the message and where it is malformed; ok() tells which.
  [[nodiscard]] bool next();
  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] std::uint32_t field() const { return field_; }
  // The value of a varint or of a fixed-width field; 0 of others.
  [[nodiscard]] std::uint64_t number() const { return number_; }
  // The content of a string, a sub-message or a packed column; empty of others.
  [[nodiscard]] std::string_view bytes() const { return bytes_; }
  [[nodiscard]] bool has_bytes() const { return has_bytes_; }
  // How many values the field adds to a repeated field of varints: one, or those of a packed column. O(column).
  [[nodiscard]] std::uint64_t varints() const;

 private:
  [[nodiscard]] bool varint(std::uint64_t& out);
  [[nodiscard]] bool take(std::uint64_t n);

  std::string_view rest_, bytes_;
  std::uint32_t field_ = 0;
  std::uint64_t number_ = 0;
  bool has_bytes_ = false;
  bool ok_ = true;
};

}  // namespace weft::traces
