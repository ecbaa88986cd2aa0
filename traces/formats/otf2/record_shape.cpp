#include "traces/formats/otf2/record_shape.hpp"

#include <array>
#include <cstring>

namespace weft::traces::otf2 {
namespace {

using Layouts = std::array<std::string_view, 256>;

constexpr Layouts kEvents = [] {
  Layouts l{};
#define WEFT_OTF2_EVENT(name, number, fields) l[number] = fields;
#define WEFT_OTF2_GLOBAL(name, number, fields)
#define WEFT_OTF2_LOCAL(name, number, fields)
#include "traces/formats/otf2/records.def"
#undef WEFT_OTF2_EVENT
#undef WEFT_OTF2_GLOBAL
#undef WEFT_OTF2_LOCAL
  l[6] = "N4A";  // attributes of the event that follows
  return l;
}();

constexpr Layouts kGlobal = [] {
  Layouts l{};
#define WEFT_OTF2_EVENT(name, number, fields)
#define WEFT_OTF2_GLOBAL(name, number, fields) l[number] = fields;
#define WEFT_OTF2_LOCAL(name, number, fields)
#include "traces/formats/otf2/records.def"
#undef WEFT_OTF2_EVENT
#undef WEFT_OTF2_GLOBAL
#undef WEFT_OTF2_LOCAL
  return l;
}();

constexpr Layouts kLocal = [] {
  Layouts l{};
#define WEFT_OTF2_EVENT(name, number, fields)
#define WEFT_OTF2_GLOBAL(name, number, fields)
#define WEFT_OTF2_LOCAL(name, number, fields) l[number] = fields;
#include "traces/formats/otf2/records.def"
#undef WEFT_OTF2_EVENT
#undef WEFT_OTF2_GLOBAL
#undef WEFT_OTF2_LOCAL
  return l;
}();

struct Fields {
  std::span<const std::uint8_t> rest;
  bool little_endian;

  bool skip(std::size_t n) {
    if (n > rest.size()) return false;
    rest = rest.subspan(n);
    return true;
  }
  // A number of at most `most` bytes after its size.
  bool number(std::size_t most, std::uint64_t& value) {
    if (rest.empty()) return false;
    const std::size_t size = rest[0] == 0xff ? 0 : rest[0];
    value = rest[0] == 0xff ? UINT64_MAX : 0;
    if (size > most || size + 1 > rest.size()) return false;
    for (std::size_t i = 0; i < size; ++i)
      value |= std::uint64_t{rest[1 + i]} << (8 * (little_endian ? i : size - 1 - i));
    return skip(size + 1);
  }
  // A type and a value of it.
  bool typed() {
    if (rest.empty()) return false;
    const std::uint8_t type = rest[0];
    rest = rest.subspan(1);
    std::uint64_t v = 0;
    switch (type) {
      case 0:
        return true;
      case 1:
      case 5:
        return skip(1);
      case 2:
      case 6:
        return skip(2);
      case 9:
        return skip(4);
      case 10:
        return skip(8);
      default:
        return number(8, v);
    }
  }
  // A map of numbers: how many, dense (0) or in pairs.
  bool map() {
    std::uint64_t n = 0, v = 0;
    if (!number(8, n) || rest.empty()) return false;
    const std::uint64_t each = rest[0] == 0 ? 1 : 2;
    rest = rest.subspan(1);
    if (n > rest.size() / each) return false;
    for (std::uint64_t i = 0; i < n * each; ++i)
      if (!number(8, v)) return false;
    return true;
  }
  bool fit(std::string_view layout) {
    std::uint64_t v = 0;
    for (std::size_t i = 0; i < layout.size(); ++i) {
      bool ok = true;
      switch (layout[i]) {
        case 'b':
          ok = skip(1);
          break;
        case '4':
          ok = number(4, v);
          break;
        case '8':
          ok = number(8, v);
          break;
        case 'f':
          ok = skip(8);
          break;
        case 's': {
          const void* end = rest.empty() ? nullptr : std::memchr(rest.data(), 0, rest.size());
          ok = end != nullptr &&
               skip(static_cast<std::size_t>(static_cast<const std::uint8_t*>(end) - rest.data()) + 1);
          break;
        }
        case 'A':
          ok = typed();
          break;
        case 'm':
          ok = map();
          break;
        default: {  // n, N
          std::uint64_t n = 0;
          if (layout[i] == 'n') {
            if (rest.empty()) return false;
            n = rest[0];
            rest = rest.subspan(1);
          } else if (!number(4, n)) {
            return false;
          }
          const std::size_t end = layout.find('.', i);
          const std::string_view item =
              layout.substr(i + 1, end == std::string_view::npos ? end : end - i - 1);
          // Every item has a byte at least: a count that is too large ends with the bytes.
          for (std::uint64_t k = 0; k < n; ++k)
            if (!fit(item)) return false;
          if (end == std::string_view::npos) return true;
          i = end;
          continue;
        }
      }
      if (!ok) return false;
    }
    return true;
  }
};

}  // namespace

std::string_view event_layout(std::uint8_t record) { return kEvents[record]; }
bool known_event(std::uint8_t record) { return kEvents[record].data() != nullptr; }
std::string_view definition_layout(std::uint8_t record, bool global) {
  return global ? kGlobal[record] : kLocal[record];
}

bool fields_fit(std::span<const std::uint8_t> fields, std::string_view layout, bool little_endian) {
  return Fields{fields, little_endian}.fit(layout);
}

}  // namespace weft::traces::otf2
