// The layouts of calls.def as data: what the arguments of a line are, in their order.
//
// Everything is made at compile time; an argument that a call has not does not compile (arg_of<kSend, "dest">).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weft::traces::allprof {

enum Call : std::uint8_t {
#define WEFT_ALLPROF_CALL(name, cls, layout) k##name,
#include "traces/formats/liballprof/calls.def"
#undef WEFT_ALLPROF_CALL
  kOtherCall  // one without a row
};

enum class CallClass : std::uint8_t { op, local, rma, io, dynamic, sizes, unknown };

inline constexpr std::size_t kMaxArgs = 12;

struct Layout {
  std::string_view name;  // without MPI_
  CallClass cls = CallClass::unknown;
  std::string_view text;
  std::uint8_t args = 0;
  std::uint8_t lists = 0;  // arguments that have counts
  std::array<char, kMaxArgs> type{};
};

namespace detail {

// Calls f(type, name) for each argument of a layout's text.
template <class F>
constexpr void for_each_arg(std::string_view text, F&& f) {
  while (!text.empty()) {
    const std::size_t end = text.find(' ') == std::string_view::npos ? text.size() : text.find(' ');
    f(text[0], text.substr(2, end - 2));
    text.remove_prefix(end == text.size() ? end : end + 1);
  }
}

constexpr Layout make_layout(std::string_view name, CallClass cls, std::string_view text) {
  Layout l{.name = name, .cls = cls, .text = text};
  for_each_arg(text, [&l](char type, std::string_view) {
    if (type == 'C') ++l.lists;
    l.type[l.args++] = type;
  });
  return l;
}

template <std::size_t N>
struct ArgName {
  char text[N]{};
  consteval ArgName(const char (&s)[N]) {  // NOLINT(google-explicit-constructor)
    for (std::size_t i = 0; i < N; ++i) text[i] = s[i];
  }
  [[nodiscard]] constexpr std::string_view view() const { return {text, N - 1}; }
};

}  // namespace detail

inline constexpr Layout kLayouts[] = {
#define WEFT_ALLPROF_CALL(name, cls, text) detail::make_layout(#name, CallClass::cls, text),
#include "traces/formats/liballprof/calls.def"
#undef WEFT_ALLPROF_CALL
};

// Position of a call's argument, or kMaxArgs.
[[nodiscard]] constexpr std::size_t find_arg(Call call, std::string_view name) {
  std::size_t at = 0, found = kMaxArgs;
  detail::for_each_arg(kLayouts[call].text, [&](char, std::string_view arg) {
    if (arg == name && found == kMaxArgs) found = at;
    ++at;
  });
  return found;
}

// The same where the call is known.
template <Call call, detail::ArgName name>
inline constexpr std::size_t arg_of = [] {
  constexpr std::size_t at = find_arg(call, name.view());
  static_assert(at < kMaxArgs, "the call has no such argument");
  return at;
}();

// The call of that name (without MPI_), and its class; kOtherCall: one without a row.
[[nodiscard]] Call find_call(std::string_view name);
[[nodiscard]] CallClass class_of(Call call, std::string_view name);

}  // namespace weft::traces::allprof
