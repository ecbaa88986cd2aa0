// The layouts of calls.def as data: what the arguments of a DUMPI record are, in the order of the file.
//
// Everything is made at compile time; a field that does not exist does not compile (field<"dest">(kSend)).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weft::traces::dumpi {

// Numbers of the functions in a file. kUnknown: none.
enum Call : std::uint16_t {
#define WEFT_DUMPI_CALL(number, name, cls, layout) k##name = number,
#include "traces/formats/dumpi/calls.def"
#undef WEFT_DUMPI_CALL
};
inline constexpr std::uint16_t kEndOfStream = 293;
inline constexpr std::size_t kCallNumbers = 293;  // all of Call are below
// Functions of the footer's counters: 290, and one for none.
inline constexpr std::size_t kFooterCounters = 291;

enum class CallClass : std::uint8_t { none, op, define, local, rma, io, dynamic };

inline constexpr std::size_t kMaxFields = 12;

struct Field {
  char type = 0;           // a letter of calls.def
  bool root_only = false;  // there only where the rank (first field that names it) is the root
};

struct Layout {
  std::string_view name;  // without MPI_; empty: no function has this number
  CallClass cls = CallClass::none;
  std::string_view text;
  std::uint8_t fields = 0;
  std::uint8_t rank_field = 0;  // of a layout with root_only fields
  std::uint8_t root_field = 0;
  std::array<Field, kMaxFields> field{};
};

namespace detail {

// Calls f(type, is root-only, name) for each field of a layout's text.
template <class F>
constexpr void for_each_field(std::string_view text, F&& f) {
  while (!text.empty()) {
    const std::size_t end = text.find(' ') == std::string_view::npos ? text.size() : text.find(' ');
    const std::string_view one = text.substr(0, end);
    const bool root_only = one[1] == '?';
    f(one[0], root_only, one.substr(root_only ? 3 : 2));
    text.remove_prefix(end == text.size() ? end : end + 1);
  }
}

constexpr Layout make_layout(std::string_view name, CallClass cls, std::string_view text) {
  Layout l{.name = name, .cls = cls, .text = text};
  for_each_field(text, [&l](char type, bool root_only, std::string_view field) {
    if (field == "commrank" || field == "oldcommrank") l.rank_field = l.fields;
    if (field == "root") l.root_field = l.fields;
    l.field[l.fields++] = {type, root_only};
  });
  return l;
}

constexpr std::array<Layout, kCallNumbers> make_layouts() {
  std::array<Layout, kCallNumbers> all{};
#define WEFT_DUMPI_CALL(number, name, cls, text) all[number] = make_layout(#name, CallClass::cls, text);
#include "traces/formats/dumpi/calls.def"
#undef WEFT_DUMPI_CALL
  return all;
}

template <std::size_t N>
struct FieldName {
  char text[N]{};
  consteval FieldName(const char (&s)[N]) {  // NOLINT(google-explicit-constructor)
    for (std::size_t i = 0; i < N; ++i) text[i] = s[i];
  }
  [[nodiscard]] constexpr std::string_view view() const { return {text, N - 1}; }
};

}  // namespace detail

inline constexpr std::array<Layout, kCallNumbers> kLayouts = detail::make_layouts();

// Position of a call's field, or kMaxFields.
[[nodiscard]] constexpr std::size_t find_field(std::uint16_t call, std::string_view name) {
  std::size_t at = 0, found = kMaxFields;
  detail::for_each_field(kLayouts[call].text, [&](char, bool, std::string_view field) {
    if (field == name && found == kMaxFields) found = at;
    ++at;
  });
  return found;
}

// The same where the call is known: field<kSend, "dest">.
template <Call call, detail::FieldName name>
inline constexpr std::size_t field = [] {
  constexpr std::size_t at = find_field(call, name.view());
  static_assert(at < kMaxFields, "the call has no such field");
  return at;
}();

}  // namespace weft::traces::dumpi
