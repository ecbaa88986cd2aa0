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

std::vector<std::string> cells_of(const std::string& row) {
  std::vector<std::string> out;
  std::istringstream in(row);
  for (std::string cell; std::getline(in, cell, '|');) {
    const std::size_t from = cell.find_first_not_of(' ');
    out.push_back(from == std::string::npos ? "" : cell.substr(from, cell.find_last_not_of(' ') + 1 - from));
  }
  if (!out.empty()) out.erase(out.begin());  // before the first bar
  return out;
}

double number_at_start(std::string text) {
  std::erase(text, ',');
  return std::stod(text);
}

// "517.38 s to 512.31 s: +1.0 %": the short cut's time, the long way's, and the difference as the page shows it.
struct Pair {
  double quick = 0, whole = 0;
  std::string difference;
};

std::vector<Pair> pairs_in(const std::string& row) {
  std::vector<Pair> out;
  const std::regex pair(R"(([0-9.]+) s to ([0-9.]+) s: ([-+]?[0-9.]+) %)");
  for (std::sregex_iterator i(row.begin(), row.end(), pair), end; i != end; ++i)
    out.push_back({std::stod((*i)[1]), std::stod((*i)[2]), (*i)[3]});
  return out;
}

TEST(Docs, TimesOfHplSamplesAreThoseOfItsCells) {
  std::ifstream in(support::source_dir() + "/docs/validation-hpl.md");
  const double n = 250'000, flops = 2.0 / 3 * n * n * n + 1.5 * n * n;
  std::vector<Pair> noise, rings;
  std::map<std::string, double> gflops;  // of cells that the rows of samples are about
  std::size_t pairs = 0;
  for (std::string line; std::getline(in, line);) {
    SCOPED_TRACE(line);
    for (const Pair& p : pairs_in(line)) {
      EXPECT_NEAR(100 * (p.quick / p.whole - 1), std::stod(p.difference), 0.05001);
      ++pairs;
    }
    if (line.starts_with("| the same with noise, seed 1 |")) noise = pairs_in(line);
    if (line.find("NB 256, DEPTH 1, long swap, noise, seed 1: 1ring; 2ring") != std::string::npos)
      rings = pairs_in(line);
    const bool long_256 = line.starts_with("| long | 256 | 1 |");
    if (!long_256 && !line.starts_with("| bin-exch | 128 | 1 |")) continue;
    const std::vector<std::string> cells = cells_of(line);  // SWAP, NB, DEPTH, 1rg, 1rM, 2rg, ...
    ASSERT_GE(cells.size(), 6u);
    if (long_256) gflops["long 1rg"] = number_at_start(cells[3]);
    gflops[long_256 ? "long 2rg" : "bin-exch 2rg"] = number_at_start(cells[5]);
  }
  EXPECT_GE(pairs, 6u);
  ASSERT_EQ(noise.size(), 1u);
  ASSERT_EQ(rings.size(), 2u);
  EXPECT_NEAR(flops / noise[0].quick / 1e9, gflops["bin-exch 2rg"], 1);
  EXPECT_NEAR(flops / rings[0].quick / 1e9, gflops["long 1rg"], 1);
  EXPECT_NEAR(flops / rings[1].quick / 1e9, gflops["long 2rg"], 1);
}

}  // namespace
}  // namespace weft::testing::docs_test
