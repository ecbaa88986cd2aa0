// The rules of the house as functions from text to violations, so that each can be shown a violation on
// purpose.
//
// A violation is one line, "PATH:LINE: what". The test walks the files; the rules read nothing but the table of
// ARCHITECTURE.md. O(text).
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace weft::house {

using Violations = std::vector<std::string>;

// Folder -> the folders that it may include (itself is always allowed). tests and bench have no row: they may include
// anything.
using IncludeTable = std::map<std::string, std::set<std::string>>;

// The first fenced block after the heading "Who may include whom": lines "folder -> folder, folder". Empty if there is
// none.
[[nodiscard]] IncludeTable parse_include_table(std::string_view architecture);

// The table of this checkout's ARCHITECTURE.md.
[[nodiscard]] const IncludeTable& allowed_includes();

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

// Folders (rooms included) that ARCHITECTURE.md names as `folder/` and that are not there, and folders with code that
// it does not name. `folders`: all that hold code, without a slash at the end.
[[nodiscard]] Violations check_map(std::string_view architecture, const std::set<std::string>& folders);

// What a Markdown page can be asked for by name: its headings without their numbers, and what it has in bold.
[[nodiscard]] std::set<std::string> headings_of(std::string_view markdown);

// A page, a comma and a heading in quotes, over the end of a line too, where no such page of `headings` has it. Pages are
// named from the root, from docs/ or from the folder of `path`.
[[nodiscard]] Violations check_headings(std::string_view path, std::string_view text,
                                        const std::map<std::string, std::set<std::string>>& headings);

// Paths of what programs leave behind: logs, rejected patches, copies of editors, core dumps.
[[nodiscard]] Violations check_leftovers(const std::vector<std::string>& files);

// More than `limit` files side by side: a folder of that size is a house of its own. `files`: paths.
[[nodiscard]] Violations check_rooms(const std::vector<std::string>& files, std::size_t limit = 30);

}  // namespace weft::house
