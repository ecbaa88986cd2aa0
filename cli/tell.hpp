// What a verb tells people besides its result, on standard error. Nobody may read that: what cannot be written is no error of the verb.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <utility>

namespace weft::cli {

inline void tell(const std::string& text) { std::fputs(text.c_str(), stderr); }

template <class... T>
void tell(fmt::format_string<T...> format, T&&... values) {
  tell(fmt::format(format, std::forward<T>(values)...));
}

}  // namespace weft::cli
