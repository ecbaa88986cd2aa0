// The rules of the house as functions from text to violations, so that each can be shown a violation on
// purpose.
//
// A violation is one line, "PATH:LINE: what". All functions are pure; the test walks the files. O(text).
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace weft::house {

using Violations = std::vector<std::string>;

// Which folder may include which (itself is always allowed). tests, bench and cli are not restricted here.
[[nodiscard]] const std::map<std::string, std::set<std::string>>& allowed_includes();

// The module that a path belongs to ("topology/routing/x.cpp" -> "topology"); empty if it is none of ours.
[[nodiscard]] std::string module_of(std::string_view path);

// Includes with quotes: start at a folder of the root, and only at one that the table allows.
[[nodiscard]] Violations check_includes(std::string_view path, std::string_view text);

// weft_module(name ... DEPENDS a b ...) and target_link_libraries(weft_name ... weft::a ...) against the same
// table.
[[nodiscard]] Violations check_link_rules(std::string_view path, std::string_view cmake);

// No path of somebody's machine in anything that is published.
[[nodiscard]] Violations check_machine_paths(std::string_view path, std::string_view text);

// At most `limit` lines, unless one of the first ten says "Long file:" and why.
[[nodiscard]] Violations check_length(std::string_view path, std::string_view text, std::size_t limit = 600);

// Absences that results depend on: no wall clock, no library random numbers, no unordered iteration source,
// no process end in library modules; #pragma once in headers.
[[nodiscard]] Violations check_absences(std::string_view path, std::string_view text);

}  // namespace weft::house
