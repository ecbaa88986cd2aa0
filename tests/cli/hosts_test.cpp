// Processes that mpirun starts on three hosts of a network (network_hosts.sh) divide a study: the bytes are those of one
// process, no point is run twice, and a process that is killed leaves its points to the others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <string>

#include "tests/cli/study.hpp"
#include "tests/support/needs.hpp"

namespace weft::testing::hosts_test {
namespace {

struct Launcher {
  const char* name;
  const char* command;
  const char* rank;   // variable of a process
  const char* go_on;  // that a process that dies does not end the others
  int dead;           // exit code then, or 0
};

constexpr Launcher kLaunchers[] = {
    {"openmpi",
     "mpirun.openmpi --mca plm_rsh_agent $WEFT_LAUNCH_AGENT --mca oob_tcp_if_include hub,eth0 "
     "--host node1:2,node2:2,node3:2 -n 6",
     "OMPI_COMM_WORLD_RANK", "--mca orte_abort_on_non_zero_status 0", 0},
    {"mpich",
     "mpirun.mpich -launcher rsh -launcher-exec $WEFT_LAUNCH_AGENT -localhost 10.9.0.254 -hosts "
     "node1,node2,node3 -n 6",
     "PMI_RANK", "-disable-auto-cleanup", 137},
};

void PrintTo(const Launcher& launcher, std::ostream* os) { *os << launcher.name; }

class Hosts : public ::testing::TestWithParam<Launcher> {
 protected:
  void SetUp() override {
    if (std::system("unshare -rnmu --propagation slave ip link add hub type bridge 2>/dev/null") != 0)
      GTEST_SKIP() << "NO NETWORK OF NAMESPACES HERE: unshare -rnmu or ip is refused, hosts are not tested";
    const std::string there = std::string("command -v ") +
                              (GetParam().name == std::string("mpich") ? "mpirun.mpich" : "mpirun.openmpi") +
                              " >/dev/null";
    WEFT_NEEDS(std::system(there.c_str()) == 0, GetParam().name << "'S LAUNCHER IS NOT HERE");
  }
  // Runs `script` by each of six processes on three hosts; false and what they said if that fails.
  [[nodiscard]] static ::testing::AssertionResult on_hosts(const Workspace& w, const std::string& script,
                                                           const std::string& options = "",
                                                           int expected = 0) {
    w.write("each.sh", script);
    const std::string command =
        "cd '" + w.path() +
        "' && OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 timeout 50 unshare -rnmu "
        "--propagation slave sh '" +
        support::source_dir() + "/tests/cli/network_hosts.sh' sh -c '" + GetParam().command + " " + options +
        " sh each.sh' >out 2>err </dev/null";
    const int status = std::system(command.c_str());
    if (WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == expected))
      return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << status << "\n" << w.read("out") << w.read("err");
  }
  static std::string weft(const std::string& command) {
    return support::binary_dir() + "/cli/weft " + command +
           " --journal j --spread --json spread.json --csv spread.csv --quiet >out.$" + GetParam().rank +
           "\n";
  }
};

TEST_P(Hosts, ProcessesOnThemGiveTheBytesOfOneAndRunNothingTwice) {
  for (const std::string& command : {kSweep, std::string(kTuning)}) {
    const Workspace w;
    const Output whole = output_of(w, command + " --quiet");
    ASSERT_TRUE(on_hosts(w, "hostname >on.$" + std::string(GetParam().rank) + "\n" + weft(command)))
        << command;
    EXPECT_EQ((Output{w.read("out.0"), w.read("spread.json"), w.read("spread.csv")}), whole) << command;
    std::map<std::string, int> ranks;  // by host
    for (int i = 0; i < 6; ++i) ++ranks[w.read("on." + std::to_string(i))];
    EXPECT_THAT(ranks, ::testing::ElementsAre(::testing::Pair("node1\n", 2), ::testing::Pair("node2\n", 2),
                                              ::testing::Pair("node3\n", 2)));
    const auto points = lines_of(w, "j");
    EXPECT_GE(points.size(), 12u);
    for (const auto& [point, times] : points) EXPECT_EQ(times, 1) << point;
  }
}

TEST_P(Hosts, OneThatDiesLeavesItsPointsToTheOthers) {
  const Workspace w;
  const Output whole = output_of(w, kSweep + " --quiet");
  const std::string script = "[ $" + std::string(GetParam().rank) +
                             " = 1 ] && killed='timeout -s KILL 0.06'\n$killed " + weft(kSweep);
  ASSERT_TRUE(on_hosts(w, script, GetParam().go_on, GetParam().dead));
  EXPECT_EQ((Output{w.read("out.0"), w.read("spread.json"), w.read("spread.csv")}), whole);
}

INSTANTIATE_TEST_SUITE_P(Launchers, Hosts, ::testing::ValuesIn(kLaunchers),
                         [](const auto& launcher) { return launcher.param.name; });

}  // namespace
}  // namespace weft::testing::hosts_test
