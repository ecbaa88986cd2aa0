#include "core/printable.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace weft {
namespace {

// Bytes of the printable UTF-8 character that `s` begins with; 0 = none: a control character, or no UTF-8.
std::size_t character(std::string_view s) {
  const auto byte = [s](std::size_t i) { return static_cast<unsigned char>(s[i]); };
  const unsigned char c = byte(0);
  if (c < 0x80) return c >= 0x20 && c != 0x7f ? 1 : 0;
  const std::size_t n = c >= 0xc2 && c < 0xe0 ? 2 : c >= 0xe0 && c < 0xf0 ? 3 : c >= 0xf0 && c < 0xf5 ? 4 : 0;
  if (n == 0 || s.size() < n) return 0;
  for (std::size_t i = 1; i < n; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  if (c == 0xc2 && byte(1) < 0xa0) return 0;                                     // C1
  if ((c == 0xe0 && byte(1) < 0xa0) || (c == 0xf0 && byte(1) < 0x90)) return 0;  // overlong
  if ((c == 0xed && byte(1) >= 0xa0) || (c == 0xf4 && byte(1) >= 0x90))
    return 0;  // surrogates, beyond Unicode
  return n;
}

}  // namespace

std::string printable(std::string_view text, std::size_t limit) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t n = character(text.substr(i));
    if (i + (n == 0 ? 1 : n) > limit) return out + fmt::format("... ({} bytes)", text.size());
    if (n > 0) {
      out += text.substr(i, n);
      i += n;
      continue;
    }
    switch (const char c = text[i++]) {
      case '\n':
        out += "\\n";
        break;
      case '\t':
        out += "\\t";
        break;
      case '\r':
        out += "\\r";
        break;
      default:
        out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

std::string printable_lines(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    out += printable(text.substr(begin, end - begin));
    if (end < text.size()) out += '\n';
    begin = end + 1;
  }
  return out;
}

}  // namespace weft
