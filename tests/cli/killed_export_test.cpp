// Exports that are killed, or for which there is no room: no file of theirs under its name, and nothing is left once the same export
// ran again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/cli/run_weft.hpp"
#include "tests/support/checkout.hpp"
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
  for (const double seconds : {0.01, 0.03, 0.06, 0.1, 0.15, 0.2}) {
    const Outcome o = w.interrupted_weft(command, seconds, "KILL");
    // On a fast machine it was over, or in its last instants, in which the names are given.
    if (o.exit_code == 0 || !finished(w).empty()) break;
    ++killed;
  }
  EXPECT_GE(killed, 1) << "it ends before it can be killed";
  EXPECT_THAT(finished(w), ::testing::IsSubsetOf(finished(undisturbed)));
  // Also where all names were given: one killed in its very last instant leaves its temporary folder.
  if (w.list() != undisturbed.list()) {
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
                                                  "--export paraver:out --quiet"},
                                           Export{"perfetto",
                                                  "replay t.weft --on crossbar:n=48,bw=10Gbps,lat=1us "
                                                  "--export perfetto:out --quiet"}),
                         [](const auto& e) { return std::string(e.param.name); });

// Of a long replay what is too much for memory finds no room already; of a short one the output.
TEST(FullExport, LeavesTheOldFilesAndSaysSo) {
  const Workspace w;
  for (const char* const rounds : {"100", "5000"})
    ASSERT_EQ(w.weft(std::string("generate ring --ranks 48 --bytes 8KiB --iterations ") + rounds + " -o t" +
                     rounds + ".weft --quiet")
                  .exit_code,
              0);
  for (const char* const file : {"x.prv", "x.pcf", "x.row", "x.network.prv", "x.pb"}) w.write(file, "old");
  const auto names = w.list();
  for (const char* const rounds : {"100", "5000"})
    for (const char* const format : {"perfetto:x.pb", "paraver:x"}) {
      SCOPED_TRACE(std::string(rounds) + " rounds to " + format);
      // Files of at most 128 blocks: write() fails as on a full disk.
      const std::string shell = "cd '" + w.path() + "' && (ulimit -f 128; " + support::binary_dir() +
                                "/cli/weft replay t" + rounds +
                                ".weft --on crossbar:n=48,bw=10Gbps,lat=1us --export " + format +
                                " --quiet >/dev/null 2>'" + w.path() + ".err')";
      EXPECT_EQ(WEXITSTATUS(std::system(shell.c_str())), 3);
      const std::string error = support::slurp(w.path() + ".err");
      ::unlink((w.path() + ".err").c_str());
      EXPECT_THAT(error, ::testing::HasSubstr("File too large"));
      if (std::string(rounds) == "5000") {
        EXPECT_THAT(error, ::testing::HasSubstr(".: error: cannot write a temporary file"));
      }
      EXPECT_EQ(w.list(), names);
      for (const char* const file : {"x.prv", "x.pcf", "x.row", "x.network.prv", "x.pb"})
        EXPECT_EQ(w.read(file), "old");
    }
}

}  // namespace
}  // namespace weft::testing::killed_export_test
