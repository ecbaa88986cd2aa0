// Formatted text at the end of a string. fmt::format_to with an inserter of strings would compile all of the library's
// formatting into every file that calls it: two to three seconds each.
#pragma once

#include <fmt/core.h>

#include <string>

namespace weft {

// `out` grows by what `format` says of `values`, as fmt::vformat writes it.
void append_formatted(std::string& out, fmt::string_view format, fmt::format_args values);

template <typename... T>
void append(std::string& out, fmt::format_string<T...> format, T&&... values) {
  append_formatted(out, format, fmt::make_format_args(values...));
}

}  // namespace weft
