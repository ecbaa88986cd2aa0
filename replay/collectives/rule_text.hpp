// Files of rules as text: words with their positions, and JSON whose keys keep their order and their positions (MPICH
// reads its keys in the order of the file). Internal to replay/collectives.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.hpp"

namespace weft::replay::collectives {

// A place in a file: line and column count from 1.
struct Place {
  std::uint32_t line = 1;
  std::uint32_t column = 1;
  // Past that character.
  void step(char c) {
    column = c == '\n' ? 1 : column + 1;
    line += c == '\n' ? 1 : 0;
  }
};
[[nodiscard]] std::string where(const std::string& file, Place at);

struct Json {
  enum class Kind : std::uint8_t { kObject, kArray, kString, kInteger, kOther };
  struct Member;
  Kind kind = Kind::kOther;
  Place at;
  std::string text;          // of a string; of others as written
  std::int64_t integer = 0;  // of an integer
  std::vector<Member> members;
  std::vector<Json> items;
};
struct Json::Member {
  std::string key;
  Place at;
  Json value;
};

// At most 64 levels deep. Errors: kBadInput at line and column; a key twice in one object.
[[nodiscard]] Result<Json> parse_json(const std::string& file, std::string_view text);

// "what; got got; expected expected" at a place.
[[nodiscard]] Error bad_rules(const std::string& file, Place at, std::string what, std::string got,
                              std::string expected);
[[nodiscard]] Error rules_not_supported(const std::string& file, Place at, std::string what);

}  // namespace weft::replay::collectives
