// The words that a setting may have ("minimal", "valiant", ...) and the enumeration that they stand for. A setting is
// resolved once, when a fabric is built (Params::choice); what routes asks the enumeration.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace weft::topology {

template <class E>
struct Word {
  std::string_view text;
  E value;
};

// The first word that stands for `value`: its name where there are others. Precondition: there is one.
template <class E, std::size_t N>
[[nodiscard]] constexpr std::string_view text_of(const std::array<Word<E>, N>& words, E value) {
  std::size_t i = 0;
  while (i + 1 < N && words[i].value != value) ++i;
  return words[i].text;
}

}  // namespace weft::topology
