// Exports of several files that are killed: no file of theirs under its name, and nothing is left once the same export ran again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/cli/run_weft.hpp"
#include "tests/support/needs.hpp"

namespace weft::testing::killed_export_test {
namespace {

struct Export {
  const char* name;
  const char* command;
};

// What stands under a name that is no temporary one: files, but not the folder that is made for them.
std::vector<std::string> finished(const Workspace& w) {
  std::vector<std::string> names = w.list();
  std::erase_if(names, [](const std::string& n) {
    return n.find(".weft-") != std::string::npos || n == "t.weft" || n == "out_files";
  });
  return names;
}

void PrintTo(const Export& e, std::ostream* os) { *os << e.name; }

class KilledExport : public ::testing::TestWithParam<Export> {};

TEST_P(KilledExport, LeavesNoFileOfItsOwnAndGoesWithTheNextOne) {
  const Workspace w;
  ASSERT_EQ(w.weft("generate ring --ranks 48 --bytes 8KiB --iterations 6000 -o t.weft --quiet").exit_code, 0);
  const std::string command = GetParam().command;
  const Workspace undisturbed;
  undisturbed.write("t.weft", w.read("t.weft"));
  const Outcome whole = undisturbed.weft(command);
  WEFT_NEEDS(whole.exit_code != 2, whole.err);  // built without OTF2
  ASSERT_EQ(whole.exit_code, 0) << whole.err;
  int killed = 0;
  for (const double seconds : {0.03, 0.06, 0.1, 0.15, 0.2}) {
    const Outcome o = w.interrupted_weft(command, seconds, "KILL");
    // On a fast machine it was over, or in its last instants, in which the names are given.
    if (o.exit_code == 0 || !finished(w).empty()) break;
    ++killed;
  }
  EXPECT_GE(killed, 1) << "it ends before it can be killed";
  EXPECT_THAT(finished(w), ::testing::IsSubsetOf(finished(undisturbed)));
  if (finished(w) != finished(undisturbed)) {
    ASSERT_EQ(w.weft(command).exit_code, 0);
  }
  EXPECT_EQ(w.list(), undisturbed.list());
}

INSTANTIATE_TEST_SUITE_P(Formats, KilledExport,
                         ::testing::Values(Export{"ti", "export t.weft --to ti -o out --quiet"},
                                           Export{"otf2",
                                                  "replay t.weft --on crossbar:n=48,bw=10Gbps,lat=1us "
                                                  "--export otf2:out --quiet"},
                                           Export{"paraver",
                                                  "replay t.weft --on crossbar:n=48,bw=10Gbps,lat=1us "
                                                  "--export paraver:out --quiet"}),
                         [](const auto& e) { return std::string(e.param.name); });

}  // namespace
}  // namespace weft::testing::killed_export_test
