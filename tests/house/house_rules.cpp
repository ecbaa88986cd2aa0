#include "tests/house/house_rules.hpp"

#include <algorithm>
#include <array>
#include <sstream>
#include <utility>

#include "tests/support/checkout.hpp"
#include "tests/support/files.hpp"

namespace weft::house {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

std::string at(std::string_view path, std::size_t line, const std::string& what) {
  return std::string(path) + ":" + std::to_string(line) + ": " + what;
}

bool is_header(std::string_view path) { return path.ends_with(".hpp"); }
bool is_source(std::string_view path) { return path.ends_with(".cpp") || path.ends_with(".c"); }

template <class F>
void for_each_line(std::string_view text, F&& f) {
  std::size_t line = 0;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    f(++line, text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

std::vector<std::string> words(std::string_view s) {
  std::istringstream in{std::string(s)};
  std::vector<std::string> out;
  for (std::string w; in >> w;) out.push_back(w);
  return out;
}

// The part of a line before a // comment. Good enough for our own code: no string of ours holds "//" and a
// forbidden word.
std::string_view code_of(std::string_view line) { return line.substr(0, line.find("//")); }

bool has_word(std::string_view line, std::string_view word) {
  const auto is_name = [](char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  for (std::size_t p = line.find(word); p != std::string_view::npos; p = line.find(word, p + 1)) {
    const bool left = p == 0 || !is_name(line[p - 1]);
    const bool right = p + word.size() >= line.size() || !is_name(line[p + word.size()]);
    if (left && right) return true;
  }
  return false;
}

}  // namespace

IncludeTable parse_include_table(std::string_view architecture) {
  IncludeTable table;
  const auto section = architecture.find("\n## Who may include whom\n");
  if (section == std::string_view::npos) return table;
  const auto open = architecture.find("\n```\n", section);
  if (open == std::string_view::npos) return table;
  const auto begin = open + 5;
  for_each_line(architecture.substr(begin, architecture.find("\n```", begin) - begin + 1),
                [&](std::size_t, std::string_view line) {
                  const auto arrow = line.find("->");
                  if (arrow == std::string_view::npos) return;
                  const auto folder = words(line.substr(0, arrow));
                  if (folder.size() != 1) return;
                  auto& may = table[folder.front()];
                  for (std::string to : words(line.substr(arrow + 2))) {
                    if (to.ends_with(',')) to.pop_back();
                    may.insert(std::move(to));
                  }
                });
  return table;
}

const IncludeTable& allowed_includes() {
  static const IncludeTable table =
      parse_include_table(support::slurp(support::source_dir() + "/ARCHITECTURE.md"));
  return table;
}

std::string module_of(std::string_view path) {
  const auto slash = path.find('/');
  if (slash == std::string_view::npos) return {};
  std::string folder(path.substr(0, slash));
  return allowed_includes().contains(folder) ? folder : std::string{};
}

Violations check_includes(std::string_view path, std::string_view text) {
  Violations out;
  const std::string from = module_of(path);
  if (from.empty()) return out;
  const auto& allowed = allowed_includes().at(from);
  for_each_line(text, [&](std::size_t n, std::string_view line) {
    std::size_t p = 0;
    while (p < line.size() && is_space(line[p])) ++p;
    if (p >= line.size() || line[p] != '#') return;
    ++p;
    while (p < line.size() && is_space(line[p])) ++p;
    if (!line.substr(p).starts_with("include")) return;
    const auto open = line.find('"', p);
    if (open == std::string_view::npos) return;  // <...>: not ours
    const auto close = line.find('"', open + 1);
    const std::string target(line.substr(open + 1, close - open - 1));
    const std::string to = module_of(target);
    // Generated from a .proto into the build folder of the same module.
    if (target.ends_with(".pb.h") && target.find('/') == std::string::npos) return;
    if (to.empty()) {
      out.push_back(at(path, n, "include of \"" + target + "\" does not start at a folder of the root"));
    } else if (to != from && !allowed.contains(to)) {
      out.push_back(at(path, n, from + " may not include " + to + " (\"" + target + "\")"));
    }
  });
  return out;
}

Violations check_link_rules(std::string_view path, std::string_view cmake) {
  Violations out;
  const auto check = [&](std::size_t line, const std::string& from, const std::string& to) {
    const auto row = allowed_includes().find(from);
    if (row == allowed_includes().end() || !allowed_includes().contains(to)) return;
    if (to != from && !row->second.contains(to))
      out.push_back(at(path, line, "target " + from + " may not link " + to));
  };
  const std::string folder = module_of(path);
  for (const std::string_view command : {"weft_module(", "target_link_libraries("}) {
    for (std::size_t p = cmake.find(command); p != std::string_view::npos; p = cmake.find(command, p + 1)) {
      const std::size_t line = 1 + static_cast<std::size_t>(std::count(
                                       cmake.begin(), cmake.begin() + static_cast<std::ptrdiff_t>(p), '\n'));
      const auto close = std::min(cmake.find(')', p), cmake.size());
      const auto args = words(cmake.substr(p + command.size(), close - p - command.size()));
      if (args.empty()) continue;
      bool depends = command.front() == 't';  // target_link_libraries: every argument
      std::string from = args[0];
      if (from.starts_with("weft_")) from.erase(0, 5);
      // A target inside a module's folder (replay/collectives) obeys that module's row.
      if (!allowed_includes().contains(from) && !folder.empty()) from = folder;
      for (std::size_t i = 1; i < args.size(); ++i) {
        if (args[i] == "DEPENDS")
          depends = true;
        else if (args[i] == "SOURCES" || args[i] == "LIBRARIES")
          depends = false;
        else if (args[i].starts_with("weft::"))
          check(line, from, args[i].substr(6));
        else if (depends && args[i].starts_with("weft_"))
          check(line, from, args[i].substr(5));
        else if (depends)
          check(line, from, args[i]);
      }
    }
  }
  return out;
}

Violations check_machine_paths(std::string_view path, std::string_view text) {
  // Spelled in two halves, so that this file passes its own test.
  static const std::array<std::string, 4> roots = {
      "/wo"
      "rk/",
      "/tm"
      "p/",
      "/ho"
      "me/",
      "/ro"
      "ot/"};
  Violations out;
  for_each_line(text, [&](std::size_t n, std::string_view line) {
    for (const auto& root : roots) {
      for (std::size_t p = line.find(root); p != std::string_view::npos; p = line.find(root, p + 1)) {
        // Only where a path starts: "a/work/b" is a relative path of ours.
        const char before = p == 0 ? ' ' : line[p - 1];
        const bool inside = before == '.' || before == '_' || before == '-' || before == '}' ||
                            before == '/' || (before >= '0' && before <= '9') ||
                            (before >= 'a' && before <= 'z') || (before >= 'A' && before <= 'Z');
        if (!inside) out.push_back(at(path, n, "machine path " + root));
      }
    }
  });
  return out;
}

Violations check_length(std::string_view path, std::string_view text, std::size_t limit) {
  std::size_t lines = 0;
  bool reason = false;
  for_each_line(text, [&](std::size_t n, std::string_view line) {
    lines = n;
    if (n <= 10 && line.find("Long file:") != std::string_view::npos) reason = true;
  });
  if (lines <= limit || reason) return {};
  return {at(path, lines,
             std::to_string(lines) + " lines; at most " + std::to_string(limit) +
                 ", or say \"Long file: why\" in the first ten")};
}

Violations check_absences(std::string_view path, std::string_view text) {
  struct Rule {
    std::string word;
    std::string why;
    std::set<std::string> except;  // modules or files where it is allowed
  };
  static const std::vector<Rule> rules = {
      {"steady_clock", "reads the wall clock", {"cli", "core/progress.cpp", "core/progress.hpp"}},
      {"system_clock", "reads the wall clock", {"cli"}},
      {"high_resolution_clock", "reads the wall clock", {"cli"}},
      {"random_device", "unseeded random numbers", {}},
      {"mt19937", "library random numbers: core/rng.hpp is ours", {}},
      {"uniform_int_distribution", "library distributions differ between compilers", {}},
      {"uniform_real_distribution", "library distributions differ between compilers", {}},
      {"srand", "library random numbers", {}},
      {"abort", "ends the process on its own: WEFT_CHECK or a Result", {"core/result.cpp"}},
      {"fmt::print", "throws where the stream takes nothing: cli/tell.hpp, core/files/atomic_file.hpp", {}},
      {"TODO", "an unfinished thought", {}},
      {"FIXME", "an unfinished thought", {}},
  };
  Violations out;
  const std::string module = module_of(path);
  if (module.empty() || !(is_header(path) || is_source(path))) return out;
  // The recorder lives inside somebody else's process: it measures real time on purpose.
  const bool recorder = path.starts_with("traces/recorder/");
  for_each_line(text, [&](std::size_t n, std::string_view line) {
    for (const auto& rule : rules) {
      if (rule.except.contains(module) || rule.except.contains(std::string(path))) continue;
      if (recorder && rule.word != "TODO" && rule.word != "FIXME") continue;
      const bool comment_counts = rule.word == "TODO" || rule.word == "FIXME";
      if (has_word(comment_counts ? line : code_of(line), rule.word))
        out.push_back(at(path, n, rule.word + ": " + rule.why));
    }
  });
  if (is_header(path) && text.find("#pragma once") == std::string_view::npos)
    out.push_back(at(path, 1, "no #pragma once"));
  return out;
}

Violations check_map(std::string_view architecture, const std::set<std::string>& folders) {
  std::set<std::string> named;
  Violations out;
  for_each_line(architecture, [&](std::size_t n, std::string_view line) {
    for (std::size_t p = line.find('`'); p != std::string_view::npos;) {
      const std::size_t end = line.find('`', p + 1);
      if (end == std::string_view::npos) break;
      const std::string_view word = line.substr(p + 1, end - p - 1);
      if (word.size() > 1 && word.ends_with('/') && word.find(' ') == std::string_view::npos) {
        const std::string folder(word.substr(0, word.size() - 1));
        if (!folders.contains(folder))
          out.push_back(at("ARCHITECTURE.md", n, "no folder " + folder + "/ with code"));
        named.insert(folder);
      }
      p = line.find('`', end + 1);
    }
  });
  for (const std::string& f : folders)
    if (!named.contains(f)) out.push_back(at("ARCHITECTURE.md", 1, "does not name the folder " + f + "/"));
  return out;
}

std::set<std::string> headings_of(std::string_view markdown) {
  std::set<std::string> out;
  const auto add = [&](std::string_view name) {
    const std::size_t digits = std::min(name.find_first_not_of("0123456789"), name.size());
    if (digits > 0 && name.substr(digits).starts_with(". ")) name.remove_prefix(digits + 2);
    if (name.ends_with('.')) name.remove_suffix(1);
    if (!name.empty()) out.emplace(name);
  };
  for_each_line(markdown, [&](std::size_t, std::string_view line) {
    const std::size_t hashes = std::min(line.find_first_not_of('#'), line.size());
    if (hashes > 0 && line.substr(hashes).starts_with(' ')) add(line.substr(hashes + 1));
    for (std::size_t from = line.find("**"); from != std::string_view::npos;) {
      const std::size_t to = line.find("**", from + 2);
      if (to == std::string_view::npos) break;
      add(line.substr(from + 2, to - from - 2));
      from = line.find("**", to + 2);
    }
  });
  return out;
}

Violations check_headings(std::string_view path, std::string_view text,
                          const std::map<std::string, std::set<std::string>>& headings) {
  // Lines of a comment as one: the line end and the mark of the next become spaces.
  std::string flat(text);
  for (std::size_t p = flat.find('\n'); p != std::string::npos; p = flat.find('\n', p + 1)) {
    const std::size_t next = flat.find_first_not_of(" \t", p + 1);
    flat[p] = ' ';
    if (next == std::string::npos) continue;
    const std::size_t mark = flat.compare(next, 2, "//") == 0 ? 2 : flat[next] == '#' ? 1 : 0;
    flat.replace(next, mark, mark, ' ');
  }
  const auto is_name = [](char c) {
    return c == '_' || c == '-' || c == '.' || c == '/' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
           (c >= 'A' && c <= 'Z');
  };
  Violations out;
  const std::string folder(path.substr(0, path.rfind('/') + 1));
  for (std::size_t p = flat.find(".md"); p != std::string::npos; p = flat.find(".md", p + 1)) {
    const std::size_t comma = flat.find_first_not_of("`)", p + 3);
    if (comma == std::string::npos || flat[comma] != ',') continue;
    const std::size_t quote = flat.find_first_not_of(' ', comma + 1);
    if (quote == std::string::npos || quote == comma + 1 || flat[quote] != '"') continue;
    const std::size_t end = flat.find('"', quote + 1);
    if (end == std::string::npos) break;
    std::size_t begin = p;
    while (begin > 0 && is_name(flat[begin - 1])) --begin;
    const std::string page = flat.substr(begin, p + 3 - begin);
    std::string heading;  // a line end and what begins the next one are one space
    for (std::size_t i = quote + 1; i < end; ++i)
      if (flat[i] != ' ' || heading.empty() || heading.back() != ' ') heading.push_back(flat[i]);
    const bool there = std::ranges::any_of(std::vector<std::string>{page, "docs/" + page, folder + page},
                                           [&](const std::string& known) {
                                             const auto it = headings.find(known);
                                             return it != headings.end() && it->second.contains(heading);
                                           });
    const auto line = static_cast<std::size_t>(
        std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(p), '\n'));
    if (!there) out.push_back(at(path, line + 1, page + " has no \"" + heading + "\""));
  }
  return out;
}

Violations check_leftovers(const std::vector<std::string>& files) {
  Violations out;
  for (const std::string& path : files) {
    const std::string name = path.substr(path.find_last_of('/') + 1);
    for (const char* end : {".log", ".orig", ".rej", ".swp", ".tmp", ".bak", "~"})
      if (name.ends_with(end)) out.push_back(path + ": left behind by a program (*" + end + ")");
    if (name == "core") out.push_back(path + ": a core dump");
  }
  return out;
}

Violations check_rooms(const std::vector<std::string>& files, std::size_t limit) {
  std::map<std::string, std::size_t> count;
  for (const std::string& f : files) ++count[f.substr(0, f.rfind('/'))];
  Violations out;
  for (const auto& [folder, n] : count)
    if (n > limit)
      out.push_back(
          at(folder, 1, std::to_string(n) + " files side by side; at most " + std::to_string(limit)));
  return out;
}

}  // namespace weft::house
