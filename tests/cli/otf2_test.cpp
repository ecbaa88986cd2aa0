// OTF2 archives as a user has them: a folder, given to any verb.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <tuple>

#include "tests/cli/run_weft.hpp"
#include "tests/support/checkout.hpp"
#include "tests/support/needs.hpp"

namespace weft::testing::otf2_test {
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
  WEFT_NEEDS(built_with_otf2(w), "built without OTF2");
  WEFT_NEEDS(std::filesystem::exists(recorded("otf2_sstmacro")), "no ../shared/traces");
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

// What otf2-print says of an archive, one event: what, location, time (picoseconds), the rest of the line.
struct PrintedEvent {
  std::string what;
  int location = 0;
  std::int64_t time = 0;
  std::string rest;
};
std::vector<PrintedEvent> printed(const std::string& dir) {
  std::vector<PrintedEvent> out;
  std::FILE* f = ::popen(("otf2-print '" + dir + "/traces.otf2' 2>&1").c_str(), "r");
  char line[4096];
  while (f != nullptr && std::fgets(line, sizeof line, f) != nullptr) {
    std::istringstream s(line);
    PrintedEvent e;
    EXPECT_EQ(std::string(line).find("warning"), std::string::npos) << line;
    if (!(s >> e.what >> e.location >> e.time)) continue;
    --e.time;  // the clock is at 1 where time begins
    std::getline(s, e.rest);
    out.push_back(e);
  }
  EXPECT_TRUE(f != nullptr && ::pclose(f) == 0);
  return out;
}
bool have_otf2_print() { return std::system("otf2-print --version >/dev/null 2>&1") == 0; }
std::int64_t number(const std::string& text, const std::string& key, char before = 0) {
  std::size_t at = text.find(key) + key.size();
  if (before != 0) at = text.find(before, at) + 1;
  return std::strtoll(text.c_str() + at, nullptr, 10);
}

// Two links of 1 us, 1000 B at 1 GB/s, by hand: sent at 10 us, received at 13 us.
TEST(Otf2Cli, AReplayIsExportedAtTheTimesOfTheReplay) {
  const Workspace w;
  WEFT_NEEDS(built_with_otf2(w), "built without OTF2");
  WEFT_NEEDS(have_otf2_print(), "no otf2-print (package otf2-tools): THE TIMES ARE NOT COMPARED");
  w.write("a.txt", "0 init\n0 sleep 1e-5\n0 send 1 5 1000 6\n0 sleep 2e-6\n0 barrier\n0 finalize\n");
  w.write("b.txt", "1 init\n1 recv 0 5 1000 6\n1 barrier\n1 finalize\n");
  const std::string on = " --on crossbar:n=2,bw=8Gbps,lat=1us --raw=eager";
  const Outcome o = w.weft("replay a.txt b.txt" + on + " --export otf2:out");
  ASSERT_EQ(o.exit_code, 0) << o.err;
  std::map<std::pair<std::string, int>, std::int64_t> at;
  for (const PrintedEvent& e : printed(w.path() + "/out")) at[{e.what, e.location}] = e.time;
  EXPECT_EQ((at[{"MPI_SEND", 0}]), 10'000'000);
  EXPECT_EQ((at[{"MPI_RECV", 1}]), 13'000'000);
  // What is not an archive of a replay stays as it was.
  EXPECT_EQ(w.weft("replay a.txt b.txt" + on + " --export otf2:out").exit_code, 2);
  EXPECT_EQ(w.weft("replay a.txt b.txt" + on + " --export pajeng:p").exit_code, 2);
  EXPECT_EQ(w.weft("replay a.txt b.txt" + on + " --export otf2").exit_code, 2);
  EXPECT_EQ(w.weft("replay a.txt b.txt" + on + " --export otf3:x").exit_code, 2);
}

TEST(Otf2Cli, AReplayOfHplIsExportedWhole) {
  const Workspace w;
  WEFT_NEEDS(built_with_otf2(w), "built without OTF2");
  WEFT_NEEDS(have_otf2_print(), "no otf2-print (package otf2-tools): THE ARCHIVE IS NOT READ BY IT");
  const std::string sample = support::source_dir() + "/traces/samples/hpl_4x4_2000_64.weft";
  const auto plain = json_of(w, "replay " + sample + " --on fat-tree-16");
  const auto j = json_of(w, "replay " + sample + " --on fat-tree-16 --export otf2:out");
  EXPECT_EQ(j["fingerprint"], plain["fingerprint"]);
  // Every message: received after it was sent, with the same size; the last event is the end of the replay.
  using Way = std::tuple<int, int, std::int64_t, std::int64_t>;  // source, destination, communicator, tag
  std::map<Way, std::vector<std::pair<std::int64_t, std::int64_t>>> sent, received;
  std::int64_t last = 0;
  for (const PrintedEvent& e : printed(w.path() + "/out")) {
    last = std::max(last, e.time);
    const bool out = e.what == "MPI_SEND" || e.what == "MPI_ISEND";
    if (!out && e.what != "MPI_RECV" && e.what != "MPI_IRECV") continue;
    const auto peer = static_cast<int>(number(e.rest, out ? "Receiver: " : "Sender: ", '<'));
    const Way way{out ? e.location : peer, out ? peer : e.location, number(e.rest, "Communicator: ", '<'),
                  number(e.rest, "Tag: ")};
    (out ? sent : received)[way].emplace_back(e.time, number(e.rest, "Length: "));
  }
  EXPECT_EQ(static_cast<double>(last) * 1e-12, j["makespan_s"].get<double>());
  std::size_t messages = 0;
  ASSERT_EQ(sent.size(), received.size());
  for (const auto& [way, s] : sent) {
    const auto& r = received.at(way);
    ASSERT_EQ(s.size(), r.size());
    for (std::size_t i = 0; i < s.size(); ++i, ++messages) {
      EXPECT_LT(s[i].first, r[i].first);
      EXPECT_EQ(s[i].second, r[i].second);
    }
  }
  EXPECT_EQ(messages, 18'854u);
  // Read back, it is a correct program that takes as long on the same platform, but for polls that are no more.
  EXPECT_EQ(json_of(w, "check out")["ok"], true);
  const auto again = json_of(w, "replay out --on fat-tree-16");
  EXPECT_NEAR(again["makespan_s"].get<double>(), plain["makespan_s"].get<double>(),
              0.02 * plain["makespan_s"].get<double>());
}

// Patterns with sendrecv, requests and collectives: what was replayed comes back as it was.
TEST(Otf2Cli, ReplayedPatternsComeBack) {
  const Workspace w;
  WEFT_NEEDS(built_with_otf2(w), "built without OTF2");
  for (const std::string kind : {"ring", "halo", "stencil", "alltoall", "random"}) {
    SCOPED_TRACE(kind);
    const std::string size = kind == "halo" || kind == "stencil" ? " --dims 2x4" : " --ranks 8";
    ASSERT_EQ(w.weft("generate " + kind + size + " -o " + kind + ".weft").exit_code, 0);
    ASSERT_EQ(w.weft("replay " + kind + ".weft --on torus:dims=4x2 --export otf2:" + kind).exit_code, 0);
    EXPECT_EQ(json_of(w, "check " + kind)["ok"], true);
    // But for computation, which is rounded into stretches, and the fields that a wait of several does not have.
    const auto lines = [&](const std::string& trace) {
      std::istringstream text(w.weft("export " + trace + " --to text -o - --quiet").out);
      std::string out;
      for (std::string line; std::getline(text, line);)
        if (line.find(" compute ") == std::string::npos) out += line + "\n";
      return out;
    };
    EXPECT_EQ(lines(kind), lines(kind + ".weft"));
  }
}

TEST(Otf2Cli, AReplaysArchiveIsToldToHaveNoPolls) {
  const Workspace w;
  WEFT_NEEDS(built_with_otf2(w), "built without OTF2");
  ASSERT_EQ(w.weft("generate hpl --n 300 --nb 64 --p 2 --q 2 -o h.weft").exit_code, 0);
  const auto warnings = json_of(w, "replay h.weft --on dahu --export otf2:out")["warnings"];
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_THAT(warnings[0].get<std::string>(), HasSubstr("are regions only: an archive does not say which"));
}

}  // namespace
}  // namespace weft::testing::otf2_test
