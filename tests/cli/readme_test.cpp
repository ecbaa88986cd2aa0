// What README.md shows is what Weft says: every block that begins with "$ weft" is run, and its lines stand in the output in
// that order, one after the other but where the block has "...".
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/cli/run_weft.hpp"
#include "tests/support/checkout.hpp"

namespace weft::testing::readme_test {
namespace {

struct Shown {
  std::string command;
  std::vector<std::string> lines;
};

std::vector<Shown> shown_in_readme() {
  std::ifstream in(support::source_dir() + "/README.md");
  std::vector<Shown> out;
  bool block = false, ours = false;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("```")) {
      block = !block;
      ours = false;
    } else if (block && line.starts_with("$ weft ")) {
      out.push_back({line.substr(7), {}});
      ours = true;
    } else if (ours) {
      out.back().lines.push_back(line);
    }
  }
  return out;
}

TEST(Readme, ShowsWhatItsCommandsPrint) {
  const Workspace w;
  std::filesystem::create_directory_symlink(support::source_dir() + "/traces", w.path() + "/traces");
  const auto all = shown_in_readme();
  EXPECT_GE(all.size(), 5u);
  for (const Shown& s : all) {
    SCOPED_TRACE("weft " + s.command);
    const Outcome o = w.weft(s.command);
    EXPECT_EQ(o.exit_code, 0) << o.err;
    std::vector<std::string> said;
    std::istringstream in(o.out);
    for (std::string line; std::getline(in, line);) said.push_back(line);
    std::size_t at = 0;
    bool gap = false;
    for (const std::string& line : s.lines) {
      if (line == "...") {
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
}

}  // namespace
}  // namespace weft::testing::readme_test
