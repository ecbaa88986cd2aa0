// What to answer to a name that does not exist: the known ones, and the one that was probably meant.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

// Fewest insertions, deletions, substitutions and swaps of neighbours that make `b` of `a`, no part edited twice
// (optimal string alignment). O(|a| |b|).
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b);

// The known name that `word` is a slip of: at most one edit for every three letters of the longer of both, or the only
// one that begins with it. The nearest, the first of equals; empty where none is near. Letter case counts for nothing.
[[nodiscard]] std::string_view nearest(std::string_view word, const std::vector<std::string_view>& known);

// "; did you mean x?" or nothing: the end of an error's `expected`.
[[nodiscard]] std::string did_you_mean(std::string_view word, const std::vector<std::string_view>& known);

// "one of a, b, c; did you mean b?"
template <class Names>
[[nodiscard]] std::string one_of(std::string_view word, const Names& names) {
  const std::vector<std::string_view> known(names.begin(), names.end());
  std::string text = "one of ";
  for (std::size_t i = 0; i < known.size(); ++i) text.append(i == 0 ? "" : ", ").append(known[i]);
  return text + did_you_mean(word, known);
}

}  // namespace weft
