#include "cli/flags/values.hpp"

#include <fmt/format.h>

#include <charconv>
#include <string>

#include "cli/tell.hpp"
#include "core/suggest.hpp"

namespace weft::cli {

CLI::Validator count(std::uint64_t least, std::uint64_t most) {
  const std::string range = most == kNoMost || most == kMaxSigned
                                ? fmt::format("a whole number, {} or more", least)
                                : fmt::format("a whole number from {} to {}", least, most);
  CLI::Validator v(
      [least, most, range](std::string& text) -> std::string {
        std::uint64_t value = 0;
        const char* end = text.data() + text.size();
        // from_chars takes no sign into an unsigned number, no blank and no prefix.
        const auto [at, code] = std::from_chars(text.data(), end, value);
        if (text.empty() || code != std::errc{} || at != end || value < least || value > most)
          return fmt::format("not a count within its range; got \"{}\"; expected {}", text, range);
        text = std::to_string(value);
        return {};
      },
      "", "count");
  return v;
}

CLI::Validator word(std::vector<std::string> known) {
  return CLI::Validator(
      [known = std::move(known)](std::string& text) -> std::string {
        for (const std::string& w : known)
          if (w == text) return {};
        return fmt::format("unknown word; got \"{}\"; expected {}", text, one_of(text, known));
      },
      "", "word");
}

CLI::Validator renamed(std::string before, std::string now) {
  return CLI::Validator(
      [before = std::move(before), now = std::move(now)](std::string& text) -> std::string {
        if (text != before) return {};
        tell("note: \"{}\" is called \"{}\"\n", before, now);
        text = now;
        return {};
      },
      "", "renamed");
}

}  // namespace weft::cli
