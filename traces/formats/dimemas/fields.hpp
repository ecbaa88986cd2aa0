// The fields of one line of a Dimemas or Paraver trace, between colons: numbers, each checked against what it may be. A reader that returns
// false has left the error, with its place, in error().
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/result.hpp"

namespace weft::traces::dimemas {

// A line of a file, without its end.
struct Line {
  const std::string* file = nullptr;
  std::uint64_t number = 0;  // from 1
  std::string_view text;
};

class Fields {
 public:
  explicit Fields(const Line& line) : line_(line) {}
  // Faults are of the line as a whole, whose text is not at hand.
  [[nodiscard]] static Fields of_whole_line(const Line& line) {
    Fields f(line);
    f.whole_line_ = true;
    return f;
  }

  [[nodiscard]] bool at_end() const { return at_ > line_.text.size(); }
  // How many are left.
  [[nodiscard]] std::size_t left() const;
  // The next one, not consumed.
  [[nodiscard]] std::string_view peek() const;
  void skip() { at_ += peek().size() + 1; }
  // Up to `end`, which is consumed; false if there is none.
  bool text_up_to(char end, const char* what, std::string_view& out);
  bool whole(const char* what, std::int64_t least, std::int64_t most, std::int64_t& out);
  template <class T>
  bool whole(const char* what, std::int64_t least, std::int64_t most, T& out) {
    std::int64_t v = 0;
    if (!whole(what, least, most, v)) return false;
    out = static_cast<T>(v);
    return true;
  }
  // Of 64 bits, with a sign or without: above 2^63 - 1 what is as many bits.
  bool value(const char* what, std::int64_t& out);
  bool seconds(const char* what, std::int64_t& picoseconds);
  bool nothing_more();

  // Always false; the place is that of the next field.
  bool fail(std::string what, std::string expected = {});
  bool refuse(std::string what, std::string expected);
  // Field `index` of the line, from 0.
  bool fail_at(std::size_t index, std::string what, std::string expected = {});
  [[nodiscard]] Error& error() { return *error_; }

 private:
  [[nodiscard]] std::string place() const;
  Line line_;
  bool whole_line_ = false;
  std::size_t at_ = 0;  // where the next field begins; past the end: there is none
  std::optional<Error> error_;
};

}  // namespace weft::traces::dimemas
