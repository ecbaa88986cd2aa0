// Where outputs go: what is written whole, straight, refused or taken away again. The devices are copies in the
// workspace, so that no test can harm those of the machine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "report/timeline/replay_export.hpp"
#include "tests/cli/run_weft.hpp"
#include "tests/support/checkout.hpp"
#include "tests/support/needs.hpp"
#include "traces/formats.hpp"

namespace weft::testing::output_test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::StartsWith;

constexpr const char* kFlows = "src,dst,bytes,start\n0,1,1MiB,0\n1,2,1MiB,1us\n";
constexpr const char* kTimes =
    "m,n,k,seconds\n64,64,64,1e-5\n128,128,128,8e-5\n256,256,256,6.4e-4\n512,512,512,5.1e-3\n";

class OutputTest : public ::testing::Test {
 protected:
  OutputTest() {
    EXPECT_EQ(w.weft("generate ring --ranks 4 --iterations 2 -o t.weft --quiet").exit_code, 0);
    w.write("f.csv", kFlows);
    w.write("k.csv", kTimes);
  }
  // Runs a shell line with `weft` on the PATH, in the workspace; its exit code as a shell says it.
  [[nodiscard]] int shell(const std::string& line) const {
    const std::string command =
        "cd '" + w.path() + "' && PATH=" + support::binary_dir() + "/cli:$PATH; " + line;
    const int status = std::system(command.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  [[nodiscard]] std::string at(const std::string& name) const { return w.path() + "/" + name; }
  [[nodiscard]] mode_t mode(const std::string& name) const {
    struct stat st {};
    EXPECT_EQ(::lstat(at(name).c_str(), &st), 0) << name;
    return st.st_mode;
  }
  Workspace w;
};

// One line of every verb that prints.
const std::vector<std::string> kLines = {
    "generate ring --ranks 4 -o g.weft",
    "import t.weft -o i.weft",
    "export t.weft --to text -o e.txt",
    "info t.weft",
    "check t.weft",
    "replay t.weft --on torus-16",
    "compare t.weft --on torus-16 --on crossbar-16",
    "sweep t.weft --on torus-16 --set bw=1GB/s,2GB/s",
    "flows f.csv --on torus-16",
    "predict hpl --on crossbar-16 --n 400 --nb 100 --p 2 --q 2",
    "tune hpl --on crossbar-16 --n 400 --nb 100 --p 2 --q 2 --evaluations 8 -o HPL.dat",
    "fit dgemm k.csv",
    "search halo --grid 2x2 --on cs-storm",
    "platform show torus-16",
    "platform list",
    "platform check torus-16",
    "route 0 5 --on torus-16",
};

TEST_F(OutputTest, AFullStandardOutputIsAnErrorOfEveryVerb) {
  for (const std::string& line : kLines) {
    EXPECT_EQ(shell("weft " + line + " >/dev/full 2>err.txt"), 3) << line;
    EXPECT_EQ(w.read("err.txt"), "stdout: error: cannot write: No space left on device\n") << line;
  }
  for (const char* line :
       {"--help", "replay --help", "--version", "info t.weft --json -", "info t.weft --csv -",
        "export t.weft --to text -o -", "export t.weft --to csv -o -", "export t.weft --to weft -o -",
        "generate ring --ranks 2 -o -", "platform export torus-16", "fit dgemm k.csv -o -"}) {
    EXPECT_EQ(shell(std::string("weft ") + line + " >/dev/full 2>err.txt"), 3) << line;
    EXPECT_THAT(w.read("err.txt"), StartsWith("stdout: error: cannot write")) << line;
  }
  EXPECT_EQ(shell("weft info t.weft >&- 2>err.txt"), 3) << "closed";
  EXPECT_EQ(shell("weft replay t.weft --on torus-16 --json j.json >&- 2>err.txt"), 3);
  EXPECT_EQ(json::parse(w.read("j.json"))["schema"], "weft.replay/1") << "no text strays into it";
}

TEST_F(OutputTest, EveryVerbWritesJsonAndCsvAndSaysCommandVersionAndWarnings) {
  for (const std::string& line : kLines) {
    ASSERT_EQ(w.weft(line + " --json j.json --csv c.csv --threads 2").exit_code, 0) << line;
    const json j = json::parse(w.read("j.json"));
    EXPECT_EQ(j["command"], "weft " + line.substr(0, line.find(" -o HPL.dat")))
        << "without what decides nothing";
    EXPECT_TRUE(j["version"].is_string()) << line;
    EXPECT_TRUE(j.contains("warnings")) << line;
    EXPECT_THAT(j["schema"].get<std::string>(), StartsWith("weft.")) << line;
    EXPECT_THAT(w.read("c.csv"), HasSubstr(",")) << line;
    EXPECT_EQ(w.weft(line + " --quiet --json - --csv c2.csv").exit_code, 0) << line;
    EXPECT_EQ(w.read("c2.csv"), w.read("c.csv")) << line;
    fs::remove(at("j.json"));
    fs::remove(at("c.csv"));
  }
}

// Nor what says only what is in one.
TEST_F(OutputTest, NoCommandTellsOutputsBesideTheTraceThatAVerbIsThereToWrite) {
  const std::pair<const char*, const char*> lines[] = {
      {"fit dgemm k.csv", " -o f.txt"},
      {"report t.weft --on torus-16", " -op.html"},
      {"replay t.weft --on torus-16", " --export perfetto:p.pf --ranks 0 --export=paraver:p --from-time 0"},
      {"generate ring --ranks 4 --output g.weft", ""}};
  for (const auto& [line, outputs] : lines) {
    const Outcome o = w.weft(std::string(line) + outputs + " --quiet --json j.json");
    ASSERT_EQ(o.exit_code, 0) << line << o.err;
    EXPECT_EQ(json::parse(w.read("j.json"))["command"], "weft " + std::string(line));
  }
}

TEST_F(OutputTest, AnOutputThatCannotBeWrittenIsToldBeforeAnythingRuns) {
  for (const std::string& line : kLines)
    for (const char* flag : {" --json none/x", " --csv none/x", " --json ."}) {
      const Outcome o = w.weft(line + flag);
      EXPECT_EQ(o.exit_code, 3) << line << flag;
      EXPECT_THAT(o.err, HasSubstr("error: cannot write: ")) << line << flag;
      EXPECT_EQ(o.out, "") << line << flag << " did its work first";
    }
  EXPECT_EQ(w.weft("search halo --grid 2x2 --on cs-storm --svg none/x").out, "");
  EXPECT_THAT(w.list(), ElementsAre("f.csv", "k.csv", "t.weft")) << "nothing else was made";
}

// What is not there is neither mixed nor too large to be looked for, and CSV has the digits of JSON.
TEST_F(OutputTest, APlatformSaysWhatItLacksAndItsCsvIsExact) {
  const Outcome one = w.weft("platform show crossbar:n=1");
  EXPECT_THAT(one.out, HasSubstr("bisection: none (one host has no halves)\n"));
  const Outcome cut = w.weft("platform show fat-tree-16 --fail 100%");
  EXPECT_THAT(cut.out, HasSubstr("up1         0          -        -\n"));
  EXPECT_THAT(cut.out, ::testing::Not(HasSubstr("mixed")));
  EXPECT_THAT(w.weft("route 0 1 --on crossbar:n=2,lat=9e6s").out, HasSubstr("2 links, 18000000 s,"));
  const Outcome mixed = w.weft("platform show torus-16 --json p.json --csv p.csv");
  ASSERT_EQ(mixed.exit_code, 0) << mixed.err;
  EXPECT_THAT(w.read("p.csv"), HasSubstr("," + json::parse(w.read("p.json"))["mean_hops"].dump() + ","));
}

TEST_F(OutputTest, AnExportedPlatformSaysWhatItLacks) {
  EXPECT_EQ(w.weft("platform export torus-16 -o t.dot").err, "");
  EXPECT_EQ(
      w.weft("platform export dahu --to graphml -o d.graphml").err,
      "note: the export has links; left out: 32 ranks a host, costs of kernels, costs of messages by size, "
      "sockets, shares of ports, speed of hosts, MPI parameters\n");
  EXPECT_EQ(w.weft("platform export cs-storm --to routes -o c.txt").err,
            "note: the export has links and routes; left out: arbitration of PCIe trees, speed of hosts, MPI "
            "parameters\n");
}

// Links that both directions share, or of which nobody says what they join, are no cables to draw.
TEST_F(OutputTest, OnlyCablesAreDrawn) {
  const std::string simgrid = support::oracle_dir() + "/simgrid_platforms/";
  for (const auto& [file, what] : {std::pair("shared_cluster.xml", "a drawing of bus_link_0, which both"),
                                   std::pair("limited_torus.xml", "a drawing of links whose ends are not")}) {
    const Outcome refused = w.weft("platform export " + simgrid + file + " -o n.dot");
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_THAT(refused.err, HasSubstr(what));
    EXPECT_EQ(w.weft("platform export " + simgrid + file + " --to routes -o n.routes").exit_code, 0);
    const Outcome again = w.weft("platform check routes:path=n.routes");
    EXPECT_EQ(again.exit_code, 0) << again.err;
  }
  EXPECT_THAT(w.weft("platform show " + simgrid + "limited_torus.xml").out,
              HasSubstr("12 hosts, 36 links of which the file does not say what they join; simgrid with"));
  EXPECT_EQ(w.weft("platform export " + simgrid + "dragonfly.xml -o d.dot").exit_code, 0);
  w.write("spare.xml",
          "<platform version=\"4.1\"><zone id=\"z\" routing=\"Full\"><host id=\"a\" speed=\"1Gf\"/>"
          "<host id=\"b\" speed=\"1Gf\"/><link id=\"l\" bandwidth=\"1Gbps\" sharing_policy=\"SPLITDUPLEX\"/>"
          "<link id=\"spare\" bandwidth=\"1Gbps\"/><route src=\"a\" dst=\"b\"><link_ctn id=\"l\" "
          "direction=\"UP\"/></route></zone></platform>");
  EXPECT_EQ(w.weft("platform export spare.xml -o s.dot").exit_code, 0) << "a link that no route takes";
}

// Of hosts that are not alike, from the slowest to the fastest.
TEST_F(OutputTest, APlatformShowsHowFastItsHostsAre) {
  const auto line = [&](std::initializer_list<std::string_view> speeds) {
    std::string hosts;
    for (const std::string_view speed : speeds)
      hosts += "<host id=\"h" + std::to_string(hosts.size()) + "\" speed=\"" + std::string(speed) + "\"/>";
    w.write("speeds.xml",
            "<platform version=\"4.1\"><zone id=\"z\" routing=\"Full\">" + hosts + "</zone></platform>");
    const std::string out = w.weft("platform show speeds.xml").out;
    const std::size_t at = out.find("host: ");
    return at == std::string::npos ? out : out.substr(at, out.find('\n', at) - at);
  };
  EXPECT_EQ(line({"98.095Mf", "48.492Mf", "137.333Mf"}), "host: 48.5 to 137 Mflop/s, 1 rank");
  EXPECT_EQ(line({"98.1Mf", "2Gf"}), "host: 98.1 Mflop/s to 2 Gflop/s, 1 rank");
  EXPECT_EQ(line({"98.1Mf", "98.1Mf"}), "host: 98.1 Mflop/s, 1 rank");
}

// The old file would be whole until the new one replaced it, but then it is gone.
// Tables showed such names as escapes, sentences as they were.
TEST_F(OutputTest, NamesDoNotSteerTheTerminal) {
  w.write("x.routes", "L 0 a\x1b[31m 1e9 1e-6\nL 1 b\x1b]0;title\x07 2e9 2e-6\nR 0 1 0 1\nR 1 0 1\n");
  w.write("t.txt", "0 init\n1 init\n0 send 1 0 1e6 6\n1 recv 0 0 1e6 6\n0 finalize\n1 finalize\n");
  for (const std::string command :
       {"compare t.txt --on routes:path=x.routes --on crossbar:n=2", "replay t.txt --on routes:path=x.routes",
        "route 0 1 --on routes:path=x.routes"}) {
    const Outcome o = w.weft(command);
    EXPECT_EQ(o.exit_code, 0) << o.err;
    EXPECT_THAT(o.out, HasSubstr("\\x1b[31m")) << command;
    EXPECT_EQ(o.out.find('\x1b'), std::string::npos) << command << "\n" << o.out;
  }
}

TEST_F(OutputTest, AnInputIsNoOutput) {
  w.write("p.textproto", "topology { family: \"crossbar\" set: \"n=4\" }\n");
  w.write("net.dot", "graph { a [kind=host]; b [kind=host]; a -- b; }\n");
  fs::create_symlink("t.weft", at("link"));
  fs::create_hard_link(at("f.csv"), at("hard.csv"));
  const std::string before = w.read("t.weft");
  for (const auto& [line, told] :
       {std::pair("replay t.weft --on torus-16 --json t.weft",
                  "--json would replace an input, TRACE; got \"t.weft\""),
        {"replay ./t.weft --on torus-16 --csv link", "--csv would replace an input, TRACE"},
        {"replay t.weft --on p.textproto --json p.textproto", "--json would replace an input, --on"},
        {"replay t.weft --on me=p.textproto --json p.textproto",
         "got \"p.textproto\"; expected another file"},
        {"replay t.weft --on file:path=net.dot,bw=1GB/s --report net.dot",
         "--report would replace an input, --on"},
        {"replay t.weft --on torus-16 --export perfetto:t.weft", "--export perfetto would replace an input"},
        {"flows hard.csv --on torus-16 --csv f.csv", "--csv would replace an input"},
        {"import t.weft -o t.weft", "--output would replace an input"},
        {"fit dgemm k.csv -o k.csv", "--output would replace an input"}}) {
    const Outcome o = w.weft(line);
    EXPECT_EQ(o.exit_code, 2) << line << o.err;
    EXPECT_THAT(o.err, HasSubstr(told)) << line;
  }
  EXPECT_EQ(w.read("t.weft"), before);
  EXPECT_EQ(w.read("f.csv"), kFlows);
  // An old output is none, nor is a device.
  for (int twice = 0; twice < 2; ++twice)
    EXPECT_EQ(w.weft("replay t.weft --on torus-16 --json old.json --csv /dev/null").exit_code, 0);
}

TEST_F(OutputTest, TwoOutputsInOneFileAreRefused) {
  fs::create_symlink("x", at("link"));
  for (const char* flags : {"--json x --csv x", "--json x --csv ./x", "--json - --csv -",
                            "--json x --csv link", "--json /dev/stdout --csv -"}) {
    const Outcome o = w.weft(std::string("replay t.weft --on torus-16 ") + flags);
    EXPECT_EQ(o.exit_code, 2) << flags;
    EXPECT_THAT(o.err, HasSubstr("error: --json and --csv name one file")) << flags;
  }
  EXPECT_EQ(w.weft("export t.weft --to text -o x --json x").exit_code, 2);
  // Exports of a replay are outputs like any other, however many files each of them is.
  const std::string replay = "replay t.weft --on crossbar:n=8,bw=1GB/s,lat=1us --export ";
  for (const std::string twice :
       {"perfetto:x --json x", "paraver:x --csv x.row", "otf2:x --export perfetto:x"}) {
    const auto o = w.weft(replay + twice);
    EXPECT_EQ(o.exit_code, 2) << twice;
    EXPECT_THAT(o.err, HasSubstr("name one file")) << twice;
  }
  // Several files are no standard output.
  const auto several = w.weft(replay + "paraver:-");
  EXPECT_EQ(several.exit_code, 2);
  EXPECT_THAT(several.err,
              HasSubstr("what Paraver reads are several files; got \"-\"; expected paraver:NAME"));
  for (const std::string& file : w.list()) EXPECT_FALSE(file.starts_with("-")) << file;
  EXPECT_THAT(w.weft(replay + "paravr:x").err,
              HasSubstr("unknown format \"paravr\"; expected one of " +
                        traces::known_names(report::replay_exports()) + "; did you mean paraver?"));
  EXPECT_THAT(w.weft("export t.weft --to perfetto -o x").err,
              HasSubstr("expected weft replay t.weft --on PLATFORM --export perfetto:x"));
  EXPECT_EQ(w.weft("generate ring --ranks 2 -o x --csv x").exit_code, 2);
  EXPECT_EQ(w.weft("search halo --grid 2x2 --on cs-storm --svg x --histogram x").exit_code, 2);
  EXPECT_EQ(w.weft("fit dgemm k.csv -o - --json -").exit_code, 2);
  EXPECT_FALSE(fs::exists(at("x")));
}

TEST_F(OutputTest, AReplayGoesToSeveralViewersAtOnce) {
  for (const char* folder : {"alone", "together"}) fs::create_directory(at(folder));
  const std::string replay = "replay t.weft --on torus-16";
  std::string all = replay;
  for (const traces::FormatName& f : report::replay_exports()) {
    const std::string name(f.name);
    const Outcome alone = w.weft(replay + " --export " + name + ":alone/" + name);
    if (alone.exit_code == 0) {
      all += " --export " + name + ":together/" + name;
    } else {
      EXPECT_THAT(alone.err, HasSubstr("built without")) << name;
    }
  }
  ASSERT_EQ(w.weft(all).exit_code, 0) << all;
  std::vector<std::string> alone, together;
  for (const std::string& file : w.list()) {
    if (file.starts_with("alone/")) alone.push_back(file.substr(6));
    if (file.starts_with("together/")) together.push_back(file.substr(9));
  }
  EXPECT_THAT(together,
              IsSupersetOf({"perfetto", "paraver.prv", "paraver.pcf", "paraver.row", "paraver.network.prv",
                            "paraver.network.pcf", "paraver.network.row", "goal"}));
  ASSERT_EQ(together, alone);
  for (const std::string& file : alone) {
    if (fs::is_directory(at("alone/" + file))) continue;
    EXPECT_FALSE(w.read("alone/" + file).empty()) << file;
    EXPECT_TRUE(w.read("together/" + file) == w.read("alone/" + file)) << file;
  }
}

TEST_F(OutputTest, LinksAndPermissionsOfOldOutputsStay) {
  w.write("real.json", "old");
  ASSERT_EQ(::chmod(at("real.json").c_str(), 0600), 0);
  fs::create_symlink("real.json", at("link.json"));
  ASSERT_EQ(w.weft("replay t.weft --on torus-16 --json link.json").exit_code, 0);
  EXPECT_TRUE(S_ISLNK(mode("link.json")));
  EXPECT_EQ(mode("real.json") & 07777, 0600u);
  EXPECT_EQ(json::parse(w.read("real.json"))["schema"], "weft.replay/1");
  ASSERT_EQ(w.weft("generate ring --ranks 2 -o real.json").exit_code, 0);
  EXPECT_EQ(mode("real.json") & 07777, 0600u);
}

TEST_F(OutputTest, FifosAndDevicesAreWrittenStraight) {
  EXPECT_EQ(shell("mkfifo p; cat p >got & weft info t.weft --json p >out.txt; e=$?; wait; exit $e"), 0);
  EXPECT_TRUE(S_ISFIFO(mode("p")));
  EXPECT_EQ(json::parse(w.read("got"))["schema"], "weft.info/1");
  EXPECT_EQ(
      shell(
          "cat p >got.weft & weft generate ring --ranks 4 --iterations 2 -o p >out.txt; e=$?; wait; exit $e"),
      0);
  EXPECT_EQ(w.read("got.weft"), w.read("t.weft")) << "a trace needs no file to seek in";
  EXPECT_EQ(shell("weft generate ring --ranks 4 --iterations 2 -o - >got2.weft"), 0);
  EXPECT_EQ(w.read("got2.weft"), w.read("t.weft"));
  EXPECT_EQ(shell("weft info t.weft --json /dev/stdout >j.json"), 0);
  EXPECT_EQ(json::parse(w.read("j.json"))["schema"], "weft.info/1") << "the same as -";
  if (::mknod(at("null").c_str(), S_IFCHR | 0666, makedev(1, 3)) != 0 ||
      ::mknod(at("full").c_str(), S_IFCHR | 0666, makedev(1, 7)) != 0 || shell(": >null") != 0)
    GTEST_SKIP() << "this user may not make devices";
  EXPECT_EQ(w.weft("info t.weft --json null --csv full").exit_code, 3);
  EXPECT_EQ(w.weft("info t.weft --json null").exit_code, 0);
  EXPECT_EQ(w.weft("generate ring --ranks 4 -o full").exit_code, 3);
  EXPECT_TRUE(S_ISCHR(mode("null")) && S_ISCHR(mode("full")));
}

TEST_F(OutputTest, AnInterruptLeavesNothingBehindAndEndsAsASignalDoes) {
  const auto before = w.list();
  // Some 10^8 operations: longer than anybody waits here.
  const std::string endless = "weft generate ring --ranks 64 --iterations 1000000 -o t2.weft >/dev/null";
  EXPECT_EQ(shell("timeout --preserve-status -s TERM 0.5 " + endless), 143);
  EXPECT_EQ(shell("timeout --preserve-status -s INT 0.5 " + endless), 130);
  EXPECT_EQ(w.list(), before);
}

TEST_F(OutputTest, AnInterruptedArchiveLeavesNothingBehind) {
  WEFT_NEEDS(w.weft("export t.weft --to otf2 -o whole").exit_code == 0, "built without OTF2");
  ASSERT_EQ(shell("weft generate ring --ranks 32 --iterations 200000 -o large.weft >/dev/null"), 0);
  const auto before = w.list();
  EXPECT_EQ(shell("timeout --preserve-status -s TERM 0.7 weft export large.weft --to otf2 -o a >/dev/null"),
            143);
  EXPECT_EQ(shell("timeout --preserve-status -s INT 0.7 weft export large.weft --to otf2 -o a >/dev/null"),
            130);
  EXPECT_EQ(w.list(), before);
}

TEST_F(OutputTest, AnExportOfManyFilesShowsAllOfThemOrNone) {
  ASSERT_EQ(shell("weft generate ring --ranks 32 --iterations 200000 -o large.weft >/dev/null"), 0);
  ASSERT_EQ(shell("weft export t.weft --to ti -o old.txt >/dev/null"), 0);
  const auto before = w.list();
  const std::string old_rank = w.read("old.txt_files/rank-0.txt");
  EXPECT_EQ(
      shell("timeout --preserve-status -s TERM 0.4 weft export large.weft --to ti -o ti.txt >/dev/null"),
      143);
  EXPECT_EQ(
      shell("timeout --preserve-status -s INT 0.4 weft export large.weft --to ti -o old.txt >/dev/null"),
      130);
  EXPECT_EQ(w.list(), before);
  EXPECT_EQ(w.read("old.txt_files/rank-0.txt"), old_rank) << "an older export is whole";
  ASSERT_EQ(shell("weft export t.weft --to ti -o ti.txt >/dev/null"), 0);
  EXPECT_THAT(w.list(), Contains("ti.txt_files/rank-3.txt"));
  EXPECT_EQ(w.weft("export t.weft --to ti -o -").exit_code, 2);
}

TEST_F(OutputTest, ACountIsDigitsWithinItsRange) {
  const std::vector<std::pair<std::string, std::string>> flags = {
      {"replay t.weft --on torus-16", "--seed"},
      {"replay t.weft --on torus-16", "--threads"},
      {"search halo --grid 2x2 --on cs-storm", "--evaluations"},
      {"search halo --grid 2x2 --on cs-storm", "--nodes"},
      {"sweep t.weft --on torus-16 --set bw=1GB/s,2GB/s", "--bisect"},
      {"fit network k.csv", "--segments"},
      {"generate hpl --n 100 --nb 10 -o x.weft", "--matrix-seed"}};
  for (const auto& [line, flag] : flags)
    for (const char* bad : {"-1", "1e3", "0x10", "1.5", "+1", "' 1'", "1x", "18446744073709551616"}) {
      const Outcome o = w.weft(line + " " + flag + "=" + bad);
      EXPECT_EQ(o.exit_code, 2) << line << " " << flag << "=" << bad;
      EXPECT_THAT(o.err, HasSubstr(flag + ": not a count")) << line << " " << flag << "=" << bad;
    }
  EXPECT_EQ(w.weft("replay t.weft --on torus-16 --threads 010 --seed 18446744073709551615").exit_code, 0);
}

}  // namespace
}  // namespace weft::testing::output_test

// What people read of the smallest inputs that there are: one of a thing is one thing, and nothing is told of what is not there.
namespace weft::testing::wording_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string said(const Workspace& w, const std::string& command) {
  const Outcome o = w.weft(command);
  EXPECT_EQ(o.exit_code, 0) << command << "\n" << o.err;
  return o.out;
}

TEST(Wording, OfATraceOfOneRank) {
  const Workspace w;
  w.write("t.txt", "0 init\n0 compute 2.5e13\n0 finalize\n");
  const std::string text = said(w, "info t.txt");
  EXPECT_THAT(text, StartsWith("t.txt: 1 rank, 3 operations (3 a rank), 0 messages, 0 B\n"));
  EXPECT_THAT(text, HasSubstr("work       25 Tflop\n"));
  w.write("u.txt", "0 init\n1 init\n0 send 1 0 1\n1 recv 0 0 1\n1 compute 7\n0 finalize\n1 finalize\n");
  const std::string two = said(w, "info u.txt");
  EXPECT_THAT(two, HasSubstr("(3 to 4 a rank)"));
  EXPECT_THAT(two, HasSubstr("work       7 flop\n"));
  EXPECT_THAT(two, HasSubstr("\n         1 B         1    1 B           100 %\n")) << "no range of one size";
  w.write("d.txt", "0 init\n0 recv 0 7 1000\n0 finalize\n");
  const Outcome stuck = w.weft("replay d.txt --on crossbar:n=1");
  EXPECT_EQ(stuck.exit_code, 1) << stuck.err;
  EXPECT_THAT(stuck.out, StartsWith("d.txt: 1 rank on crossbar:n=1 deadlocks after 0 s\n"));
  EXPECT_THAT(stuck.out, HasSubstr("1 rank waits forever; this one waits for itself:\n  rank 0 in recv "));
}

TEST(Wording, OfSeveralJobsNamesEach) {
  const Workspace w;
  w.write("t.txt", "0 init\n0 compute 1e9\n0 finalize\n");
  EXPECT_THAT(said(w, "replay ./t.txt --with ./t.txt --with ./t.txt --on crossbar:n=3"),
              StartsWith("./t.txt + ./t.txt + ./t.txt: 3 ranks take "));
}

TEST(Wording, OfAPlatformOfOneHostOrOneSwitch) {
  const Workspace w;
  const std::string one = said(w, "platform show crossbar:n=1");
  EXPECT_THAT(one, HasSubstr("1 host, 1 switch, 1 cable; crossbar"));
  EXPECT_THAT(one, HasSubstr("hops between hosts: none (one host)\n"));
  EXPECT_THAT(one, Not(HasSubstr("unknown")));
  EXPECT_THAT(said(w, "platform show crossbar:n=2"),
              HasSubstr("hops between hosts: mean 2.0000, diameter 2; all on one switch\n"));
  EXPECT_THAT(said(w, "platform show torus:dims=4x4x4"),
              HasSubstr("mean 5.0476, diameter 8; between switches with hosts: mean 3.0476, diameter 6\n"));
  EXPECT_THAT(said(w, "platform check crossbar:n=2"), HasSubstr("; links per host 1, per switch 2\n"));
  EXPECT_THAT(said(w, "platform check xgft:h=2,m=2x2,w=1x3"), HasSubstr("per switch 2 to 5\n"));
}

TEST(Wording, OfLimits) {
  const Workspace w;
  w.write("t.txt", "0 init\n0 finalize\n");
  EXPECT_THAT(said(w, "replay t.txt --on crossbar:n=1"), HasSubstr("protocol: eager up to 65,536 B, "));
  EXPECT_THAT(said(w, "replay t.txt --on crossbar:n=1 --set mpi.eager_limit=1TB"),
              HasSubstr("protocol: eager up to 1 TB, "));
  EXPECT_THAT(said(w, "replay t.txt --on crossbar:n=1 --raw-switch 64KiB"),
              HasSubstr("detached below 65,536 B, rendezvous"));
}

TEST(Wording, OfASearchWithOneSchedule) {
  const Workspace w;
  const std::string text = said(w, "search halo --grid 2x1 --on cs-storm");
  EXPECT_THAT(text, HasSubstr("2 ranks, 2 messages, 1 schedule, async"));
  EXPECT_THAT(text, HasSubstr("carries 1 message;"));
  EXPECT_THAT(text, HasSubstr("\nthe only schedule: best 1 T (1)"));
  EXPECT_THAT(text, HasSubstr("; 1 distinct time\n"));
  EXPECT_THAT(said(w, "search halo --grid 2x2 --on crossbar:n=4,bw=1GB/s,lat=0s --place search"),
              HasSubstr("placements: 24 in 1 class ("));
}

}  // namespace
}  // namespace weft::testing::wording_test
