// The house keeps its rules: dependency table, link rules, no machine paths, file length, absences. Each rule
// is also shown a violation, so that a rule that has gone blind fails.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <map>
#include <set>
#include <string>

#include "tests/house/house_rules.hpp"
#include "tests/support/checkout.hpp"
#include "tests/support/files.hpp"

namespace weft::house {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const std::string kRoot = support::source_dir();

std::string read(const std::string& path) { return support::slurp(kRoot + "/" + path); }

// Files under version control plus new ones that are not ignored; where there is no git, every file outside
// build folders.
const std::vector<std::string>& files() {
  static const std::vector<std::string> list = [] {
    std::vector<std::string> out;
    const std::string command = "git -c safe.directory='*' -C '" + kRoot +
                                "' ls-files --cached --others --exclude-standard 2>/dev/null";
    if (std::FILE* pipe = popen(command.c_str(), "r")) {
      std::string line;
      for (int c = 0; (c = std::fgetc(pipe)) != EOF;) {
        if (c != '\n') {
          line.push_back(static_cast<char>(c));
          continue;
        }
        if (fs::is_regular_file(kRoot + "/" + line)) out.push_back(line);
        line.clear();
      }
      pclose(pipe);
    }
    if (out.empty()) {
      for (auto it = fs::recursive_directory_iterator(kRoot); it != fs::recursive_directory_iterator();
           ++it) {
        const std::string name = it->path().filename().string();
        if (it->is_directory() && (name.starts_with("build") || name == ".git")) {
          it.disable_recursion_pending();
        } else if (it->is_regular_file()) {
          out.push_back(fs::relative(it->path(), kRoot).string());
        }
      }
    }
    std::sort(out.begin(), out.end());
    return out;
  }();
  return list;
}

bool is_code(const std::string& path) {
  return path.ends_with(".cpp") || path.ends_with(".hpp") || path.ends_with(".c");
}

std::string joined(const Violations& v) {
  std::string out;
  for (const auto& line : v) out += "  " + line + "\n";
  return out;
}

template <class Rule, class Filter>
Violations over_files(Rule rule, Filter filter) {
  Violations all;
  for (const auto& path : files()) {
    if (!filter(path)) continue;
    const Violations v = rule(path, read(path));
    all.insert(all.end(), v.begin(), v.end());
  }
  return all;
}

TEST(House, FilesAreFound) {
  EXPECT_GT(files().size(), 50u);
  EXPECT_THAT(files(), ::testing::Contains("core/result.hpp"));
}

TEST(House, IncludesFollowTheDependencyTable) {
  const auto v = over_files([](const auto& p, const auto& t) { return check_includes(p, t); }, is_code);
  EXPECT_THAT(v, IsEmpty()) << joined(v);
}

TEST(House, AnInjectedIncludeAgainstTheTableIsFound) {
  EXPECT_THAT(
      check_includes("congestion/max_min.cpp", "#include <vector>\n  #  include \"topology/fabric.hpp\"\n"),
      ::testing::ElementsAre(HasSubstr("congestion/max_min.cpp:2: congestion may not include topology")));
  EXPECT_THAT(check_includes("core/units.hpp", "#include \"traces/op.hpp\"\n"), SizeIs(1));
  EXPECT_THAT(check_includes("report/html.cpp", "#include \"congestion/max_min.hpp\"\n"), SizeIs(1));
  EXPECT_THAT(check_includes("traces/reader.cpp", "#include \"reader.hpp\"\n"), SizeIs(1));
  EXPECT_THAT(check_includes("replay/engine.cpp", "#include \"traces/op.hpp\"\n#include \"core/id.hpp\"\n"),
              IsEmpty());
  EXPECT_THAT(check_includes("tests/replay/x_test.cpp", "#include \"cli/verb.hpp\"\n"), IsEmpty());
}

TEST(House, TheTableIsReadFromThePage) {
  const auto table = parse_include_table(
      "# A\n```\nx -> y\n```\n\n## Who may include whom\n\nwords\n\n```\ncore ->\na -> b, core\nb  -> "
      "core\n```\nc -> d\n");
  EXPECT_EQ(table, (IncludeTable{{"a", {"b", "core"}}, {"b", {"core"}}, {"core", {}}}));
  EXPECT_TRUE(parse_include_table("# nothing\n").empty());
  EXPECT_GE(allowed_includes().size(), 11u);
  EXPECT_EQ(allowed_includes().at("congestion"), std::set<std::string>{"core"});
}

TEST(House, ThePageNamesEveryFolderWithCode) {
  std::set<std::string> folders;
  for (const auto& path : files())
    if (is_code(path) || path.ends_with(".proto"))
      if (const auto slash = path.rfind('/'); slash != std::string::npos && !path.starts_with("tests/"))
        folders.insert(path.substr(0, slash));
  // Folders that the page describes though they hold no C++.
  for (const char* other : {"tests", "docs", "platforms", "schemas", "python", "packages", "scripts",
                            "examples", "traces", "traces/samples"})
    folders.insert(other);
  for (const auto& path : files())
    if (path.starts_with("tests/") && path.find('/', 6) != std::string::npos) {
      const std::string folder = path.substr(0, path.find('/', 6));
      if (read("ARCHITECTURE.md").find("`" + folder + "/`") != std::string::npos) folders.insert(folder);
    }
  const auto v = check_map(read("ARCHITECTURE.md"), folders);
  EXPECT_THAT(v, IsEmpty()) << joined(v);
}

TEST(House, AnInjectedFolderThatNobodyNamedIsFound) {
  EXPECT_THAT(check_map("`a/` and `b/c/`, `not this`\n", {"a", "b/c", "d"}),
              ::testing::ElementsAre(HasSubstr("does not name the folder d/")));
  EXPECT_THAT(check_map("`a/`\n", {}), ::testing::ElementsAre(HasSubstr("ARCHITECTURE.md:1: no folder a/")));
}

TEST(House, NoRoomIsCrowded) {
  std::vector<std::string> code;
  for (const auto& path : files())
    if (is_code(path) && path.find('/') != std::string::npos) code.push_back(path);
  const auto v = check_rooms(code);
  EXPECT_THAT(v, IsEmpty()) << joined(v);
}

TEST(House, AnInjectedCrowdIsFound) {
  EXPECT_THAT(check_rooms({"a/1.cpp", "a/2.cpp", "a/b/3.cpp"}, 1),
              ::testing::ElementsAre(HasSubstr("a:1: 2 files")));
  EXPECT_THAT(check_rooms({"a/1.cpp", "a/b/3.cpp"}, 1), IsEmpty());
}

TEST(House, EveryAllowedArrowPointsDownInOneOrder) {
  // The table itself has no cycle: repeatedly remove modules all of whose targets are gone.
  auto left = allowed_includes();
  bool moved = true;
  while (moved) {
    moved = false;
    for (auto it = left.begin(); it != left.end();) {
      const bool sink =
          std::none_of(it->second.begin(), it->second.end(), [&](const auto& d) { return left.contains(d); });
      if (sink) {
        it = left.erase(it);
        moved = true;
        break;
      }
      ++it;
    }
  }
  EXPECT_TRUE(left.empty());
}

TEST(House, TargetsLinkOnlyWhatTheTableAllows) {
  const auto v = over_files([](const auto& p, const auto& t) { return check_link_rules(p, t); },
                            [](const auto& p) { return p.ends_with("CMakeLists.txt"); });
  EXPECT_THAT(v, IsEmpty()) << joined(v);
}

TEST(House, AnInjectedLinkAgainstTheTableIsFound) {
  EXPECT_THAT(check_link_rules("topology/CMakeLists.txt",
                               "weft_module(topology\n SOURCES a.cpp\n DEPENDS core replay)\n"),
              ::testing::ElementsAre(HasSubstr("topology may not link replay")));
  EXPECT_THAT(check_link_rules("x", "target_link_libraries(weft_congestion PUBLIC weft::traces)"), SizeIs(1));
  EXPECT_THAT(check_link_rules("replay/collectives/CMakeLists.txt",
                               "target_link_libraries(weft_collectives PUBLIC weft::report weft_flags)"),
              SizeIs(1));
  EXPECT_THAT(check_link_rules("replay/CMakeLists.txt",
                               "weft_module(replay SOURCES e.cpp DEPENDS core traces LIBRARIES fmt::fmt)"),
              IsEmpty());
}

TEST(House, NoFileNamesAPathOfSomebodysMachine) {
  const auto v = over_files([](const auto& p, const auto& t) { return check_machine_paths(p, t); },
                            [](const auto&) { return true; });
  EXPECT_THAT(v, IsEmpty()) << joined(v);
}

TEST(House, AnInjectedMachinePathIsFound) {
  const std::string home = std::string("/ho") + "me/";
  EXPECT_THAT(check_machine_paths("a.md", "see " + home + "me/x\n"), SizeIs(1));
  EXPECT_THAT(check_machine_paths("a.md", home + "me\n" + home + "you\n"), SizeIs(2));
  EXPECT_THAT(check_machine_paths("a.md", "docs" + home + "page\n"), IsEmpty());
}

TEST(House, HeadingsThatAreNamedAreThere) {
  std::map<std::string, std::set<std::string>> headings;
  for (const std::string& path : files())
    if (path.ends_with(".md")) headings[path] = headings_of(read(path));
  EXPECT_GT(headings.size(), 20u);
  const auto v = over_files([&](const auto& p, const auto& t) { return check_headings(p, t, headings); },
                            [](const std::string& p) {
                              return is_code(p) || p.ends_with(".md") || p.ends_with(".py") ||
                                     p.ends_with(".sh") || p.ends_with(".textproto");
                            });
  EXPECT_THAT(v, IsEmpty()) << joined(v);
}

TEST(House, AnInjectedHeadingThatIsNotThereIsFound) {
  const std::map<std::string, std::set<std::string>> headings = {
      {"docs/m.md", headings_of("# The model\n## 2. Time and rounding\ntext **Power.** more\n")}};
  for (const char* there :
       {"(docs/m.md, \"Power\")", "[m.md](m.md), \"Time and rounding\"", "`docs/m.md`, \"The model\"",
        "// see docs/m.md, \"Time\n  // and rounding\"", "# docs/m.md,\n# \"Power\"", "m.md says \"Other\""})
    EXPECT_THAT(check_headings("docs/a.md", there, headings), IsEmpty()) << there;
  EXPECT_THAT(check_headings("core/a.hpp", "int a;\n// docs/m.md, \"Rounding\"\n", headings),
              ::testing::ElementsAre(HasSubstr("core/a.hpp:2: docs/m.md has no \"Rounding\"")));
  EXPECT_THAT(check_headings("a.md", "docs/n.md, \"Power\"", headings), SizeIs(1));
}

TEST(House, NothingIsLeftBehind) {
  const auto v = check_leftovers(files());
  EXPECT_THAT(v, IsEmpty()) << joined(v);
}

TEST(House, AnInjectedLeftoverIsFound) {
  EXPECT_THAT(check_leftovers({"README.md.log", "core", "a/b.cpp.orig", "a/b.cpp~"}), SizeIs(4));
  EXPECT_THAT(check_leftovers({"README.md", "core/id.hpp", "docs/logs.md"}), IsEmpty());
}

TEST(House, NoFileIsLongWithoutAReason) {
  const auto v = over_files([](const auto& p, const auto& t) { return check_length(p, t); }, is_code);
  EXPECT_THAT(v, IsEmpty()) << joined(v);
}

TEST(House, AnInjectedLongFileIsFound) {
  std::string text;
  for (int i = 0; i < 601; ++i) text += "int x;\n";
  EXPECT_THAT(check_length("a.cpp", text), SizeIs(1));
  EXPECT_THAT(check_length("a.cpp", "// Long file: one table.\n" + text), IsEmpty());
}

TEST(House, ResultsDependOnNoClockAndNoLibraryRandomness) {
  const auto v = over_files([](const auto& p, const auto& t) { return check_absences(p, t); }, is_code);
  EXPECT_THAT(v, IsEmpty()) << joined(v);
}

TEST(House, AnInjectedClockIsFound) {
  EXPECT_THAT(check_absences("replay/engine.cpp", "auto t = std::chrono::steady_clock::now();\n"), SizeIs(1));
  EXPECT_THAT(check_absences("cli/verbs/replay.cpp", "auto t = std::chrono::steady_clock::now();\n"),
              IsEmpty());
  EXPECT_THAT(check_absences("topology/a.hpp", "#pragma once\nstd::mt19937 g;\n"), SizeIs(1));
  EXPECT_THAT(check_absences("topology/a.hpp", "int a;\n"), SizeIs(1));
  EXPECT_THAT(check_absences("replay/a.cpp", "// never steady_clock\n"), IsEmpty());
  EXPECT_THAT(check_absences("cli/a.cpp", "fmt::print(stderr, text);\n"), SizeIs(1));
}

}  // namespace
}  // namespace weft::house
