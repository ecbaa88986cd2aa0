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

[[nodiscard]] constexpr std::string_view text_of(std::string_view word) { return word; }
template <class E>
[[nodiscard]] constexpr std::string_view text_of(const Word<E>& word) {
  return word.text;
}

// "minimal, valiant, ugal-u": all of them, in their order. `kWords`: an array of words or of their texts.
template <const auto& kWords>
inline constexpr std::size_t kTextsSize = [] {
  std::size_t n = 0;
  for (const auto& w : kWords) n += (n > 0 ? 2 : 0) + text_of(w).size();
  return n;
}();
template <const auto& kWords>
inline constexpr std::array<char, kTextsSize<kWords>> kTextsArray = [] {
  std::array<char, kTextsSize<kWords>> text{};
  std::size_t at = 0;
  const auto put = [&](std::string_view part) {
    for (const char c : part) text[at++] = c;
  };
  for (const auto& w : kWords) {
    if (at > 0) put(", ");
    put(text_of(w));
  }
  return text;
}();
template <const auto& kWords>
inline constexpr std::string_view kTexts{kTextsArray<kWords>.data(), kTextsArray<kWords>.size()};

}  // namespace weft::topology
