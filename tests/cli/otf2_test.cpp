// OTF2 archives as a user has them: a folder, given to any verb.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/cli/run_weft.hpp"
#include "tests/support/checkout.hpp"

namespace weft::testing {
namespace {

using nlohmann::ordered_json;
using ::testing::HasSubstr;

std::string recorded(const std::string& name) { return support::shared_dir() + "/traces/" + name; }

ordered_json json_of(const Workspace& w, const std::string& line, int exit_code = 0) {
  const Outcome o = w.weft(line + " --json - --quiet");
  EXPECT_EQ(o.exit_code, exit_code) << line << "\n" << o.err;
  return o.out.empty() ? ordered_json{} : ordered_json::parse(o.out);
}

bool built_with_otf2(const Workspace& w) {
  return w.weft("info x.otf2 --from otf2").err.find("built without") == std::string::npos &&
         w.weft("info x.otf2").err.find("built without") == std::string::npos;
}

// Recorded archives on two platforms: what is replayed is what was recorded, and an import is the same program.
TEST(Otf2Cli, RecordedArchivesAreReplayedOnTwoPlatforms) {
  const Workspace w;
  if (!built_with_otf2(w)) GTEST_SKIP() << "built without OTF2";
  if (!std::filesystem::exists(recorded("otf2_sstmacro"))) GTEST_SKIP() << "no ../shared/traces";
  struct Archive {
    const char* name;
    int ranks, messages, check;
    std::uint64_t bytes;
  };
  int n = 0;
  for (const Archive& a : {Archive{"otf2_pipit/ping-pong-otf2", 2, 16, 0, 8'355'840},
                           Archive{"otf2_pipit/ping-pong-otf2-papi/traces.otf2", 2, 16, 0, 8'355'840},
                           Archive{"otf2_sstmacro", 10, 1440, 1, 23'592'600}}) {
    const std::string path = recorded(a.name), copy = "t" + std::to_string(n++) + ".weft";
    EXPECT_EQ(w.weft("import " + path + " -o " + copy).exit_code, 0);
    for (const std::string on : {" --on fat-tree-16", " --on torus:dims=4x4"}) {
      const auto j = json_of(w, "replay " + path + on);
      EXPECT_EQ(j["trace"]["ranks"], a.ranks);
      EXPECT_EQ(j["trace"]["messages"], a.messages);
      EXPECT_EQ(j["trace"]["bytes"], a.bytes);
      EXPECT_GT(j["makespan_s"].get<double>(), 0);
      EXPECT_EQ(j["fingerprint"], json_of(w, "replay " + copy + on)["fingerprint"]);
    }
    EXPECT_EQ(json_of(w, "check " + path, a.check)["ok"], a.check == 0);
    EXPECT_EQ(w.weft("export " + path + " --to text -o -").out,
              w.weft("export " + copy + " --to text -o -").out);
  }
  // What is lost is told.
  const Outcome o = w.weft("import " + recorded("otf2_sstmacro") + " -o again.weft");
  EXPECT_THAT(
      o.out, HasSubstr("1,080 calls of collectives without a record (MPI_Iallgather 360, MPI_Iallreduce 360, "
                       "MPI_Ialltoall 360)"));
  EXPECT_THAT(o.out, HasSubstr("(MPI_Comm_free 20, MPI_Comm_split 20)"));
}

}  // namespace
}  // namespace weft::testing
