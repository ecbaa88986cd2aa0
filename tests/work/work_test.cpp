// The work of each scenario is what counts.txt says, exactly: an algorithm that visits more links, solves more often or needs more
// events than it did fails here, without a clock. A change that is meant shows its new lines, which are then committed.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "tests/support/checkout.hpp"
#include "tests/work/scenarios.hpp"

namespace weft::work {
namespace {

// A line: the name, then count=value.
std::map<std::string, std::string> expected() {
  std::map<std::string, std::string> out;
  std::ifstream in(support::source_dir() + "/tests/work/counts.txt");
  for (std::string line; std::getline(in, line);)
    if (!line.empty() && line[0] != '#') out[line.substr(0, line.find(' '))] = line;
  return out;
}

class Work : public ::testing::TestWithParam<Scenario> {};

TEST_P(Work, IsWhatItWas) {
  const Scenario& s = GetParam();
  std::string line = s.name;
  for (const auto& [name, value] : s.run()) {
    line += fmt::format(" {}={}", name, value);
  }
  EXPECT_EQ(line, expected()[s.name])
      << "if this is meant, the first of the two is the new line of tests/work/counts.txt";
}

INSTANTIATE_TEST_SUITE_P(Scenario, Work, ::testing::ValuesIn(scenarios().begin(), scenarios().end()),
                         [](const auto& p) {
                           std::string name = p.param.name;
                           std::erase(name, '-');
                           return name;
                         });

TEST(WorkCounts, EveryLineBelongsToAScenario) {
  auto lines = expected();
  for (const Scenario& s : scenarios()) EXPECT_EQ(lines.erase(s.name), 1u) << s.name;
  for (const auto& [name, line] : lines) ADD_FAILURE() << "no scenario " << name;
}

}  // namespace
}  // namespace weft::work
