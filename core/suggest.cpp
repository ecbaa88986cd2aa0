#include "core/suggest.hpp"

#include <algorithm>
#include <numeric>

namespace weft {
namespace {

// What somebody typed may be a whole file by mistake; no name of ours is that long.
constexpr std::size_t kMaxLetters = 100;

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  std::iota(last.begin(), last.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0u : 1u)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

std::string_view nearest(std::string_view word, const std::vector<std::string_view>& known) {
  if (word.empty() || word.size() > kMaxLetters) return {};
  const std::string typed = lower(word);
  std::string_view best, beginning;
  std::size_t least = kMaxLetters, begin_alike = 0;
  for (const std::string_view name : known) {
    const std::string other = lower(name);
    const std::size_t d = edit_distance(typed, other);
    if (d < least && 3 * d <= std::max(typed.size(), other.size())) {
      least = d;
      best = name;
    }
    if (typed.size() >= 3 && other.starts_with(typed)) {
      ++begin_alike;
      beginning = name;
    }
  }
  return best.empty() && begin_alike == 1 ? beginning : best;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string_view>& known) {
  const std::string_view name = nearest(word, known);
  return name.empty() ? std::string() : "; did you mean " + std::string(name) + "?";
}

}  // namespace weft
