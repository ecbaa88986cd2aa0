// What a user is told who does not know a verb, a flag or a name, and that the examples of the help pages work.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "tests/cli/run_weft.hpp"
#include "tests/support/checkout.hpp"

namespace weft::testing::help_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::vector<std::string> verbs_of(const Workspace& w) {
  std::istringstream in(w.weft("--help").out);
  std::vector<std::string> out;
  bool listing = false;
  for (std::string line; std::getline(in, line);) {
    if (line == "Subcommands:") listing = true;
    if (listing && line.empty()) listing = false;
    if (listing && line.starts_with("  ") && line[2] != ' ')
      out.push_back(line.substr(2, line.find(' ', 2) - 2));
  }
  return out;
}

TEST(Help, WeftAloneAndHelpShowVerbsAndExamples) {
  const Workspace w;
  const Outcome alone = w.weft("");
  EXPECT_EQ(alone.exit_code, 2) << "no verb is no success";
  EXPECT_THAT(alone.out, HasSubstr("Examples:\n  weft record -o T.weft"));
  EXPECT_THAT(alone.out, HasSubstr("replay"));
  const Outcome help = w.weft("help");
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_EQ(help.out, alone.out);
  EXPECT_EQ(w.weft("--help").out, alone.out);
  const auto verbs = verbs_of(w);
  EXPECT_GE(verbs.size(), 17u);
  for (const std::string& verb : verbs) {
    if (verb == "help") continue;
    const Outcome page = w.weft("help " + verb);
    EXPECT_EQ(page.exit_code, 0) << verb;
    EXPECT_EQ(page.out, w.weft(verb + " --help").out) << verb;
    EXPECT_THAT(page.out, HasSubstr("\nExamples:\n  weft " + verb)) << verb;
    std::istringstream lines(page.out);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 130u) << verb << ": " << line;
  }
  EXPECT_EQ(w.weft("help predict hpl").out, w.weft("predict hpl --help").out);
  EXPECT_EQ(w.weft("help generate ring").out, w.weft("generate ring --help").out);
  EXPECT_EQ(w.weft("help repaly").exit_code, 2);
  const auto refused = [&](const std::string& line, const std::string& told) {
    const Outcome o = w.weft(line);
    EXPECT_EQ(o.exit_code, 2) << line;
    EXPECT_THAT(o.err, HasSubstr(told)) << line;
  };
  refused("help replay extra",
          "weft help does not take this word; got \"extra\"; expected no word behind replay");
  refused("help generate rng", "weft help does not take this word; got \"rng\"; expected one of");
  refused("help generate rng", "did you mean ring?");
  refused("help predict hpl dahu", "got \"dahu\"; expected no word behind hpl");
}

TEST(Help, TheListOfPlatformsHasAnExampleOfEveryFamily) {
  const Workspace w;
  std::istringstream list(w.weft("platform list").out);
  std::size_t examples = 0;
  for (std::string line; std::getline(list, line);) {
    const auto at = line.find(", such as ");
    if (at == std::string::npos) continue;
    ++examples;
    const std::string family = line.substr(0, line.find(':')), example = line.substr(at + 10);
    EXPECT_THAT(example, StartsWith(family + ":"));
    if (example.find(":path=") != std::string::npos) continue;
    EXPECT_EQ(w.weft("platform show '" + example + "'").exit_code, 0) << example;
  }
  EXPECT_GE(examples, 21u);
}

TEST(Help, EveryFlagSaysItsDefaultOrThatItIsRequired) {
  const Workspace w;
  for (const std::string verb : {"record", "generate hpl", "generate ring", "generate random", "import",
                                 "export", "info", "check", "replay", "compare", "sweep", "flows",
                                 "predict hpl", "tune hpl", "fit", "search", "platform", "route", "report"}) {
    std::istringstream in(w.weft(verb + " --help").out);
    std::string flag;  // with all its lines
    const auto look = [&] {
      if (flag.starts_with("  -") && !flag.starts_with("  -h") &&
          flag.find("REQUIRED") == std::string::npos) {
        const std::string name = flag.substr(0, 34);
        // Files are written or read where named; lists of changes are empty.
        const bool has_value = name.find_first_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ|") != std::string::npos &&
                               name.find("FILE") == std::string::npos &&
                               name.find(" ...") == std::string::npos &&
                               name.find("DIR") == std::string::npos;
        if (has_value) {
          EXPECT_THAT(flag, HasSubstr("[")) << verb << flag;
        }
      }
      flag.clear();
    };
    for (std::string line; std::getline(in, line);) {
      if (!line.starts_with("      ")) look();
      flag += line + "\n";
    }
    look();
  }
}

TEST(Help, ASlipIsAnsweredWithWhatWasMeant) {
  const Workspace w;
  w.write("t.txt", "0 init\n0 finalize\n");
  for (const auto& [line, meant] : std::vector<std::pair<std::string, std::string>>{
           {"repaly t.txt", "did you mean replay?"},
           {"generate rnig", "did you mean ring?"},
           {"replay t.txt --on crossbar-16 --thraeds 2", "did you mean --threads?"},
           {"replay t.txt --on crossbar-16 --jsn=x", "did you mean --json?"},
           {"predict hpl --on crossbar-16 --bcats 1rg", "did you mean --bcast?"},
           {"replay t.txt --on torus16", "did you mean torus-16?"},
           {"replay t.txt --on tors:dims=4", "did you mean torus?"},
           {"replay t.txt --on torus:dim=4x4", "did you mean dims?"},
           {"replay t.txt --on torus:dims=4x4 --set bandwith=1GB/s", "error"},
           {"replay t.txt --on crossbar-16 --weights rt", "did you mean rtt?"},
           {"search halo --grid 2x2 --on cs-storm --mode barier", "did you mean barrier?"},
           {"platform shwo torus-16", "did you mean show?"}}) {
    const Outcome o = w.weft(line);
    EXPECT_THAT(o.exit_code, ::testing::AnyOf(2, 3)) << line;
    EXPECT_THAT(o.err, HasSubstr(meant)) << line;
    EXPECT_THAT(o.err, HasSubstr("error: ")) << line;
    EXPECT_EQ(o.out, "") << line;
  }
  EXPECT_THAT(w.weft("banana").err, Not(HasSubstr("did you mean")));
  EXPECT_THAT(w.weft("replay t.txt --on crossbar-16 --banana").err, HasSubstr("has no flag --banana"));
}

TEST(Help, AGraphFileIsAPlatformByItsName) {
  const Workspace w;
  ASSERT_EQ(w.weft("platform export torus-16 -o t.dot").exit_code, 0);
  ASSERT_EQ(w.weft("platform export torus-16 --to graphml -o t.graphml").exit_code, 0);
  for (const char* name : {"t.dot", "./t.graphml"}) {
    const Outcome o = w.weft(std::string("platform show ") + name + " --csv - --set bw=1GB/s");
    EXPECT_EQ(o.exit_code, 0) << o.err;
    EXPECT_THAT(o.out, HasSubstr(",16,16,48,")) << "16 hosts, 16 switches, 48 cables";
  }
  EXPECT_THAT(w.weft("platform show none.dot").err, HasSubstr("none.dot"));
}

TEST(Help, TheExamplesWork) {
  const Workspace w;
  ASSERT_EQ(w.weft("generate alltoall --ranks 16 --iterations 1 -o T.weft").exit_code, 0);
  ASSERT_EQ(w.weft("export T.weft --to ti -o ti.txt").exit_code, 0);
  ASSERT_EQ(
      w.weft("tune hpl --on crossbar-16 --n 400 --nb 50 --p 4 --q 4 --evaluations 8 -o HPL.dat").exit_code,
      0);
  w.write("FLOWS.csv", "src,dst,bytes,start\n0,1,1MiB,0\n");
  w.write("TIMES.csv", "m,n,k,seconds\n64,64,64,1e-5\n128,128,128,8e-5\n256,256,256,6.4e-4\n");
  w.write("PINGPONG.csv", "size,duration\n8,1e-6\n1024,2e-6\n65536,1e-5\n1048576,1e-4\n");
  std::ifstream def(support::source_dir() + "/cli/verbs/examples.def");
  int ran = 0;
  for (std::string line; std::getline(def, line);) {
    if (!line.starts_with("WEFT_EXAMPLE(")) continue;
    const auto first = line.find("\", \"") + 4;
    std::string command = line.substr(first, line.find('"', first) - first);
    ASSERT_THAT(command, StartsWith("weft "));
    if (command.starts_with("weft record")) continue;  // needs an MPI; tests/recorder has it
    const std::string shell = "cd '" + w.path() + "' && PATH=" + support::binary_dir() + "/cli:$PATH; " +
                              command + " >out.txt 2>err.txt";
    EXPECT_EQ(WEXITSTATUS(std::system(shell.c_str())), 0) << command << "\n" << w.read("err.txt");
    ++ran;
  }
  EXPECT_GT(ran, 25);
}

}  // namespace
}  // namespace weft::testing::help_test
