// What README.md and docs/*.md show is what Weft says. Every block that begins with "$ weft" is run, and its lines stand in the
// output in that order, one after the other but where the block has "..."; "$ cat FILE" shows a file that it reads. Commands
// without output are held against the help pages: the verb is there, and every flag.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <sstream>

#include "tests/cli/run_weft.hpp"
#include "tests/support/checkout.hpp"
#include "tests/support/needs.hpp"

namespace weft::testing::docs_test {
namespace {

namespace fs = std::filesystem;

struct Shown {
  std::string command;
  std::vector<std::string> lines;
};

// The lines of a page's code: between fences, or indented by four. "" between two blocks.
std::vector<std::string> code_of(const fs::path& page) {
  std::ifstream in(page);
  std::vector<std::string> out;
  bool fenced = false;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("```")) {
      fenced = !fenced;
      out.emplace_back("```");
    } else if (fenced) {
      out.push_back(line);
    } else if (line.starts_with("    ")) {
      out.push_back(line.substr(4));
    } else {
      out.emplace_back(line.empty() ? "" : "```");
    }
  }
  return out;
}

std::vector<Shown> shown_on(const fs::path& page) {
  std::vector<Shown> out;
  bool ours = false;
  for (const std::string& line : code_of(page)) {
    if (line == "```") {
      ours = false;
    } else if (line.starts_with("$ ")) {
      out.push_back({line.substr(2), {}});
      ours = true;
    } else if (ours) {
      out.back().lines.push_back(line);
    }
  }
  for (Shown& s : out)
    while (!s.lines.empty() && s.lines.back().empty()) s.lines.pop_back();
  return out;
}

std::vector<fs::path> pages() {
  std::vector<fs::path> out{support::source_dir() + "/README.md"};
  for (const auto& e : fs::directory_iterator(support::source_dir() + "/docs"))
    if (e.path().extension() == ".md") out.push_back(e.path());
  std::ranges::sort(out);
  return out;
}

void expect_shown(const std::string& out, const std::vector<std::string>& shown) {
  std::vector<std::string> said;
  std::istringstream in(out);
  for (std::string line; std::getline(in, line);) said.push_back(line);
  std::size_t at = 0;
  bool gap = false;
  for (const std::string& line : shown) {
    if (line.find_first_not_of(" .") == std::string::npos && line.find("...") != std::string::npos) {
      gap = true;
      continue;
    }
    while (gap && at < said.size() && said[at] != line) ++at;
    ASSERT_LT(at, said.size()) << "is not printed: " << line;
    ASSERT_EQ(said[at], line);
    ++at;
    gap = false;
  }
}

// What the commands read: the samples of the checkout, Dahu's measurements.
void fill(const Workspace& w) {
  fs::create_directory_symlink(support::source_dir() + "/traces", w.path() + "/traces");
  for (const auto& e : fs::directory_iterator(support::shared_dir() + "/data/dahu"))
    fs::create_symlink(e.path(), fs::path(w.path()) / e.path().filename());
}

TEST(Docs, ShowWhatTheirCommandsPrint) {
  WEFT_NEEDS(fs::exists(support::shared_dir() + "/data/dahu"), support::shared_dir() + "/data/dahu");
  std::size_t run = 0;
  for (const fs::path& page : pages()) {
    const Workspace w;
    fill(w);
    for (const Shown& s : shown_on(page)) {
      SCOPED_TRACE(page.filename().string() + ": " + s.command);
      if (s.command.starts_with("cat ")) {
        std::string text;
        for (const std::string& line : s.lines) text += line + "\n";
        w.write(s.command.substr(4), text);
      } else if (s.command.starts_with("weft ")) {
        const Outcome o = w.weft(s.command.substr(5));
        EXPECT_EQ(o.exit_code, 0) << o.err;
        expect_shown(o.out, s.lines);
        ++run;
      }
    }
  }
  EXPECT_GE(run, 14u);
}

class Help {
 public:
  // The names on the page of `verb`; none: there is no such verb.
  const std::optional<std::set<std::string>>& names(const std::string& verb) {
    const auto [it, fresh] = pages_.try_emplace(verb);
    if (!fresh) return it->second;
    const Outcome o = w_.weft(verb + " --help");
    if (o.exit_code != 0) return it->second;
    std::set<std::string>& names = it->second.emplace();
    const std::regex flag("(^|[ ,])(--?[A-Za-z][A-Za-z-]*)");
    for (std::sregex_iterator i(o.out.begin(), o.out.end(), flag), end; i != end; ++i) names.insert((*i)[2]);
    return it->second;
  }

 private:
  Workspace w_;
  std::map<std::string, std::optional<std::set<std::string>>> pages_;
};

// "weft replay T.weft --on P && weft check T.weft   # why" -> two commands.
std::vector<std::string> commands_in(std::string line) {
  if (const auto comment = line.find(" #"); comment != std::string::npos) line.resize(comment);
  if (line.starts_with("$ ")) line.erase(0, 2);
  std::vector<std::string> out;
  for (std::size_t from = 0; from <= line.size();) {
    const std::size_t to = std::min(line.find(" && ", from), line.size());
    const std::string part = line.substr(from, to - from);
    if (part.starts_with("weft ")) out.push_back(part.substr(5));
    from = to + 4;
  }
  return out;
}

TEST(Docs, NameVerbsAndFlagsThatAreThere) {
  Help help;
  std::size_t flags = 0;
  for (const fs::path& page : pages()) {
    const std::vector<std::string> code = code_of(page);
    for (std::size_t i = 0; i < code.size(); ++i) {
      std::string line = code[i];
      while (line.ends_with("\\") && i + 1 < code.size()) line = line.substr(0, line.size() - 1) + code[++i];
      for (const std::string& command : commands_in(line)) {
        SCOPED_TRACE(page.filename().string() + ": weft " + command);
        std::istringstream words(command.substr(0, command.find(" -- ")));
        std::string verb;
        words >> verb;
        if (verb.starts_with("-")) continue;
        ASSERT_TRUE(help.names(verb).has_value()) << "no such verb";
        std::set<std::string> known = *help.names(verb);
        bool first = true;  // it may be a kind, which has flags of its own
        for (std::string word; words >> word; first = false) {
          if (!word.starts_with("-") && first) {
            if (const auto& kind = help.names(verb + " " + word)) known.insert(kind->begin(), kind->end());
          }
          if (!word.starts_with("-") || word == "-") continue;
          EXPECT_TRUE(known.contains(word.substr(0, word.find('=')))) << word;
          ++flags;
        }
      }
    }
  }
  EXPECT_GE(flags, 80u);
}

}  // namespace
}  // namespace weft::testing::docs_test
