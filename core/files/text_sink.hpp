// Text that is too large to be held: handed on piece by piece.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "core/append_text.hpp"

namespace weft {

// Where such a text goes.
using TextSink = std::function<void(std::string_view)>;

// Formatted text on its way to a sink, in pieces of 64 KiB. The end is handed on by flush() alone.
class TextPieces {
 public:
  // `out` outlives it.
  explicit TextPieces(const TextSink& out) : out_(out) {}
  template <typename... T>
  void add(fmt::format_string<T...> format, T&&... values) {
    append(text_, format, std::forward<T>(values)...);
    if (text_.size() >= kPiece) flush();
  }
  void flush() {
    out_(text_);
    text_.clear();
  }

 private:
  static constexpr std::size_t kPiece = std::size_t{1} << 16;
  const TextSink& out_;
  std::string text_;
};

}  // namespace weft
