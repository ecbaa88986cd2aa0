// Every flag that a verb's help page names is tried: with it the outputs differ from those without it, or it is
// refused.
// A flag that is accepted and does nothing fails here, and so does a new one that this table does not know.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>

#include "tests/cli/run_weft.hpp"

namespace weft::testing::flags_test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// A way to see a flag act. Without `base`: on top of the verb's own line.
struct Try {
  std::string flag;
  std::string base = {};
};

struct Verb {
  std::string words;  // "generate ring"
  std::string base;   // what else it needs
  std::map<std::string, Try> tries;
  // Flags that every verb takes although they decide nothing here, so that a script can give them to any verb.
  std::set<std::string> decide_nothing = {"--threads", "--progress"};
  bool json = true;
};

const std::string kOn = " --on torus:dims=4x4,bw=1GB/s,lat=1us ";

// Of the verbs that replay; `line` is the verb's line without the platform.
std::map<std::string, Try> with_replay(const std::string& line, std::map<std::string, Try> own) {
  const std::map<std::string, Try> flags = {
      {"--on", {"--on crossbar:n=8,bw=3GB/s,lat=1us", line}},
      {"--set", {"--set bw=2GB/s"}},
      {"--fail", {"--fail 1"}},
      {"--map", {"--map cyclic,hosts=random"}},
      {"--raw", {"--raw=rendezvous"}},
      {"--raw-switch", {"--raw-switch 1KiB"}},
      {"--header", {"--header 1KiB"}},
      {"--weights", {"--weights rtt", "all" + line.substr(1) + " --on torus:dims=4x4,bw=100MB/s,lat=100us"}},
      {"--model", {"--model contention-free"}},
      {"--accuracy", {"--accuracy 1e-4"}},
      {"--compute-scale", {"--compute-scale 3"}},
      {"--collective", {"--collective allreduce=ring"}},
      {"--collectives", {"--collectives openmpi4"}},
      {"--recorded-matches", {"--recorded-matches"}},
      {"--from", {"--from ti"}},
      {"--journal", {"--journal kept"}},
      {"--shard", {"--shard 1/2 --journal kept"}},
      {"--spread", {"--spread --journal kept"}},
      {"--seed", {"--seed 3 --map random", line + kOn + "--map random"}},
      {"--critical-path", {"--critical-path"}},
  };
  own.insert(flags.begin(), flags.end());
  return own;
}

const std::vector<Verb>& verbs() {
  static const std::vector<Verb> all = {
      {"info", "t.weft", {{"--salvage", {"--salvage", "cut.weft"}}}, {"--threads", "--progress", "--seed"}},
      {"check",
       "t.weft",
       {{"--salvage", {"--salvage", "cut.weft"}}, {"--synchronous", {"--synchronous", "head_on.txt"}}},
       {"--threads", "--progress", "--seed"}},
      {"import",
       "ti.txt -o o.weft",
       {{"--output", {"-o p.weft", "ti.txt"}},
        {"--from", {"--from weft"}},
        {"--one-order", {"--one-order", "open.goal -o o.weft"}}},
       {"--threads", "--progress", "--seed"}},
      {"export",
       "t.weft --to text -o o.txt",
       {{"--to", {"--to csv", "t.weft -o o.txt"}},
        {"--output", {"-o p.txt", "t.weft --to text"}},
        {"--collective", {"--collective allreduce=ring", "t.weft --to goal -o o.txt"}},
        {"--collectives", {"--collectives openmpi4", "t.weft --to goal -o o.txt"}},
        {"--recorded-matches", {"--recorded-matches", "t.weft --to goal -o o.txt"}},
        {"--salvage", {"--salvage", "cut.weft --to text -o o.txt"}}},
       {"--threads", "--progress", "--seed"}},
      {"generate ring",
       "--ranks 4 -o o.weft",
       {{"--ranks", {"--ranks 5", "-o o.weft"}},
        {"--stride", {"--stride 2"}},
        {"--bytes", {"--bytes 1KiB"}},
        {"--iterations", {"--iterations 3"}},
        {"--compute", {"--compute 1us"}},
        {"--flops", {"--flops 1e6"}},
        {"--output", {"-o p.weft", "--ranks 4"}}},
       {"--threads", "--progress", "--seed"}},
      {"flows",
       "f.csv" + kOn,
       {{"--on", {"--on crossbar:n=8,bw=3GB/s,lat=1us", "f.csv"}},
        {"--set", {"--set bw=2GB/s"}},
        {"--routing",
         {"--routing minimal", "f.csv --on dragonfly:p=2,a=4,h=2,bw=1GB/s,lat=1us --routing valiant"}},
        {"--fail", {"--fail 1"}},
        {"--model", {"--model contention-free"}},
        {"--accuracy", {"--accuracy 1e-4"}},
        {"--weights", {"--weights rtt"}},
        {"--header", {"--header 1KiB"}},
        {"--no-phases", {"--no-phases"}},
        {"--seed", {"--seed 3 --fail 20%", "f.csv --fail 20%" + kOn}}}},
      {"route",
       "0 5" + kOn,
       {{"--on", {"--on crossbar:n=8,bw=3GB/s,lat=1us", "0 5"}},
        {"--set", {"--set bw=2GB/s"}},
        {"--routing", {"--routing valiant", "0 5 --on dragonfly:p=2,a=4,h=2,bw=1GB/s,lat=1us"}},
        {"--fail", {"--fail 'link=(0,0)->(1,0)'", "0 10" + kOn}},
        {"--seed", {"--seed 3 --fail 40%", "0 10 --fail 40%" + kOn}}}},
      {"platform show",
       "torus-16",
       {{"--set", {"--set bw=2GB/s"}},
        {"--routing", {"--routing valiant", "dragonfly-18"}},
        {"--fail", {"--fail 3"}},
        {"--to", {"--to dot"}},
        {"--output", {"-o x"}},
        {"--seed", {"--seed 3 --fail 20%", "torus-16 --fail 20%"}}}},
      {"platform list",
       "",
       {{"--set", {"--set bw=2GB/s"}},
        {"--routing", {"--routing valiant"}},
        {"--fail", {"--fail 3"}},
        {"--to", {"--to dot"}},
        {"--output", {"-o x"}}},
       {"--threads", "--progress", "--seed"}},
      {"platform check",
       "torus-16",
       {{"--set", {"--set dims=4x3"}},
        {"--routing", {"--routing none", "dragonfly-18"}},
        {"--fail", {"--fail 20"}},
        {"--to", {"--to dot"}},
        {"--output", {"-o x"}}},
       {"--threads", "--progress", "--seed"}},
      {"platform export",
       "torus-16 -o o.dot",
       {{"--set", {"--set dims=4x3"}},
        {"--routing", {"--routing valiant", "dragonfly-18 --to routes -o o.dot"}},
        {"--fail", {"--fail 3"}},
        {"--to", {"--to graphml"}},
        {"--output", {"-o p.dot", "torus-16"}},
        {"--json", {"--json j"}},
        {"--csv", {"--csv c"}},
        {"--seed", {"--seed 3 --fail 20%", "torus-16 --fail 20% -o o.dot"}}},
       {"--threads", "--progress", "--quiet"},
       false},
      {"fit",
       "dgemm k.csv",
       {{"--output", {"-o o.textproto"}},
        {"--cluster", {"--cluster b", "dgemm kc.csv"}},
        {"--kernel", {"--kernel dtrsm"}},
        {"--model", {"--model rate"}},
        {"--from-date", {"--from-date 2020-01-02", "dgemm kd.csv"}},
        {"--to-date", {"--to-date 2020-01-02", "dgemm kd.csv"}},
        {"--mean", {"--mean", "dgemm kr.csv"}},
        {"--for-k", {"--for-k 128", "dgemm kp.csv"}},
        {"--loaded", {"--loaded pp.csv", "network n.csv"}},
        {"--poll-interval", {"--poll-interval 1ns", "network n.csv --loaded pp.csv"}},
        {"--latency", {"--latency 1us", "network n.csv"}},
        {"--bandwidth", {"--bandwidth 5GB/s", "network n.csv"}},
        {"--eager-limit", {"--eager-limit 4KiB", "network n.csv"}},
        {"--breaks", {"--breaks 1KiB,64KiB", "network pp.csv"}},
        {"--segments", {"--segments 1", "network n.csv"}}},
       {"--threads", "--progress", "--seed"}},
      {"replay", "t.weft" + kOn,
       with_replay(
           "t.weft",
           {{"--with", {"--with t.weft"}},
            {"--with-map", {"--with-map cyclic,hosts=random --with t.weft", "t.weft --with t.weft" + kOn}},
            {"--routing", {"--routing valiant", "t.weft --on dragonfly:p=1,a=4,h=1,bw=1GB/s,lat=1us"}},
            {"--noise", {"--noise", "long.weft --on dahu"}},
            {"--all-links", {"--all-links"}},
            {"--rank-links", {"--rank-links waited", "long.weft --on torus-16"}},
            {"--export", {"--export otf2:o"}},
            {"--ranks", {"--ranks 0", "t.weft --export perfetto:o" + kOn}},
            {"--from-time", {"--from-time 1s", "t.weft --export perfetto:o" + kOn}},
            {"--to-time", {"--to-time 1ps", "t.weft --export paraver:o" + kOn}},
            {"--explain", {"--explain"}},
            {"--sensitivity", {"--sensitivity"}},
            {"--wait-states", {"--wait-states"}},
            {"--verify", {"--verify"}},
            {"--per-rank", {"--per-rank", "many.weft --on crossbar:n=5000,bw=1GB/s,lat=1us"}}})},
      {"compare", "t.weft" + kOn,
       with_replay("t.weft", {{"--routing",
                               {"--routing valiant", "t.weft --on dragonfly:p=1,a=4,h=1,bw=1GB/s,lat=1us"}},
                              {"--sensitivity", {"--sensitivity", "t.weft --report p.html" + kOn}},
                              {"--verify", {"--verify"}},
                              {"--noise", {"--noise", "long.weft --on dahu"}}})},
      {"sweep", "t.weft --set lat=1us,2us" + kOn,
       with_replay(
           "t.weft --set lat=1us,2us",
           {{"--noise", {"--noise", "long.weft --on dahu --set lat=1us,2us"}},
            {"--verify", {"--verify"}},
            {"--bisect",
             {"--bisect 3",
              "t.weft --set bw=100MB/s,10GB/s --on torus:dims=4x4,lat=1us --on crossbar:n=16,lat=60us"}},
            {"--seed", {"--seed 3", "t.weft --set lat=1us,2us --map random" + kOn}}})},
      {"search",
       "halo --grid 2x2 --on cs-storm",
       {{"--grid", {"--grid 3x2", "halo --on cs-storm"}},
        {"--journal", {"--journal kept"}},
        {"--shard", {"--shard 1/2 --journal kept"}},
        {"--spread", {"--spread --journal kept"}},
        {"--pattern", {"--pattern pattern.csv", "halo --on cs-storm"}},
        {"--periodic", {"--periodic", "halo --grid 3x2 --on cs-storm"}},
        {"--diagonals", {"--diagonals"}},
        {"--bytes", {"--bytes 1MiB"}},
        {"--edge-bytes", {"--edge-bytes 1MiB"}},
        {"--corner-bytes", {"--corner-bytes 1MiB"}},
        {"--on", {"--on crossbar:n=8,bw=1GB/s,lat=0", "halo --grid 2x2"}},
        {"--set", {"--set tau=1/10", "halo --grid 4x2 --on cs-storm"}},
        {"--routing", {"--routing direct", "halo --grid 2x2 --on torus-16"}},
        {"--fail", {"--fail 1", "halo --grid 4x4 --on torus-16"}},
        {"--mode", {"--mode barrier", "halo --grid 4x2 --on cs-storm"}},
        {"--model", {"--model max-min", "halo --grid 4x2 --on cs-storm"}},
        {"--map", {"--map random", "halo --grid 4x2 --on cs-storm"}},
        {"--place", {"--place search"}},
        {"--evaluations", {"--evaluations 20", "halo --grid 4x3 --on cs-storm-16"}},
        {"--nodes", {"--nodes 5"}},  // a limit, which is met where the bounds leave a gap (tests/schedule)
        {"--exhaustive", {"--exhaustive", "halo --grid 2x2x2 --periodic --on crossbar:n=8,bw=1GB/s,lat=0"}},
        {"--svg", {"--svg o.svg"}},
        {"--histogram", {"--histogram h.csv"}},
        {"--seed", {"--seed 3 --map random", "halo --grid 4x2 --on cs-storm --map random"}}},
       {"--threads", "--progress"}},
  };
  return all;
}

// The long names on a help page.
std::set<std::string> flags_of(const Workspace& w, const std::string& verb) {
  const Outcome o = w.weft(verb + " --help");
  EXPECT_EQ(o.exit_code, 0) << verb;
  std::set<std::string> out;
  const std::regex line("^  (?:-\\w,)?(--[a-z0-9-]+).*");
  std::istringstream in(o.out);
  for (std::string text; std::getline(in, text);)
    if (std::smatch m; std::regex_match(text, m, line)) out.insert(m[1]);
  out.erase("--help");
  return out;
}

class FlagsTest : public ::testing::TestWithParam<Verb> {
 protected:
  FlagsTest() {
    EXPECT_EQ(w.weft("generate stencil --dims 2x2 --iterations 2 --compute 1ms -o t.weft --quiet").exit_code,
              0);
    EXPECT_EQ(w.weft("generate random --ranks 16 -o all.weft --quiet").exit_code, 0);
    EXPECT_EQ(w.weft("export t.weft --to ti -o ti.txt --quiet").exit_code, 0);
    EXPECT_EQ(w.weft("generate hpl --n 200 --nb 20 --p 2 --q 2 -o long.weft --quiet").exit_code, 0);
    const std::string whole = w.read("long.weft");
    w.write("cut.weft", whole.substr(0, whole.size() - whole.size() / 3));
    // What is next after two receives depends on which message is there first.
    w.write("open.goal",
            "num_ranks 2\nrank 0 {\nl1: recv 1b from 1 tag 1\nl2: recv 1b from 1 tag 2\nl3: send 1b to 1\n"
            "l3 requires l1\nl4: send 2b to 1\nl4 requires l2\n}\nrank 1 {\nl1: send 1b to 0 tag 1\n"
            "l2: send 1b to 0 tag 2\nl3: recv 1b from 0\nl4: recv 2b from 0\n}\n");
    w.write("head_on.txt",
            "0 init\n0 send 1 0 4 6\n0 recv 1 0 4 6\n0 finalize\n"
            "1 init\n1 send 0 0 4 6\n1 recv 0 0 4 6\n1 finalize\n");
    w.write("f.csv", "src,dst,bytes,start\n0,5,1MiB,0\n1,5,1MiB,1us\n2,5,2MiB,0\n0,10,1MiB,0\n3,5,1MiB,0\n");
    std::string k = "m,n,k,seconds\n", kc = "cluster,m,n,k,seconds\n", kd = "start_time,m,n,k,seconds\n",
                kp = "m,n,k,seconds\n", n = "size,duration\n";
    for (int i = 4; i <= 10; ++i) {
      const double s = 1 << i, t = 2e-10 * s * s * s + 1e-6 * i;
      k += fmt_row({s, s, 2 * s, 2 * t});
      kp += fmt_row({s, s, 128, 1e-6 + 1e-10 * s * s * 128}) + fmt_row({s, s, 64, 1e-6 + 2e-10 * s * s * 64});
      kc += (i % 2 ? "a," : "b,") + fmt_row({s, s, s, t});
      kd += std::to_string(1577836800 + i * 20000) + "," + fmt_row({s, s, s, t * (1 + 0.01 * i)});
      n += fmt_row({s, 1e-6 + s * 1e-10}) + fmt_row({s * 1024, 5e-6 + s * 1024 * 2e-10});
    }
    w.write("k.csv", k);
    w.write("kp.csv", kp);
    w.write("kc.csv", kc);
    w.write("kd.csv", kd);
    w.write("kr.csv",
            "node,cpu,intercept,mnk\n1,0,1e-6,1e-10\n1,0,2e-6,2e-10\n1,0,9e-6,9e-10\n2,0,1e-6,1e-10\n");
    w.write("n.csv", n);
    std::string pp = "experiment,msg_size,duration\n";
    for (const char* what : {"pingpong", "recv", "isend"})
      for (int i = 0; i < 24; ++i)
        pp += std::string(what) + "," +
              fmt_row(
                  {double(1 << i), (*what == 'p' ? 4e-6 : 1e-7) + (1 << i) * (*what == 'p' ? 2e-10 : 1e-11)});
    w.write("pp.csv", pp);
    w.write("pattern.csv", "src,dst,bytes\n0,1,1MiB\n1,2,1MiB\n2,0,2MiB\n");
    if (GetParam().words == "replay") {
      EXPECT_EQ(w.weft("generate ring --ranks 4200 --iterations 1 -o many.weft --quiet").exit_code, 0);
    }
    for (const auto& name : w.list()) ours.insert(name);
  }
  static std::string fmt_row(std::initializer_list<double> values) {
    std::ostringstream out;
    out.precision(15);
    const char* comma = "";
    for (const double v : values) {
      out << comma << v;
      comma = ",";
    }
    return out.str() + "\n";
  }
  // All that a run leaves, without what may differ from run to run.
  struct Seen {
    int exit_code = 0;
    std::string text;
    std::string all;
  };
  Seen run(const std::string& line, bool with_json) const {
    const Outcome o = w.weft(line + (with_json ? " --json out.json --csv out.csv" : ""));
    Seen s{o.exit_code, o.out, std::to_string(o.exit_code) + o.err};
    for (const auto& name : w.list()) {
      if (ours.contains(name)) continue;
      if (!fs::is_regular_file(w.path() + "/" + name)) {
        s.all += "\n" + name + "/";
        continue;
      }
      std::string content = w.read(name);
      if (name == "out.json" && !content.empty()) {
        json j = json::parse(content);
        j.erase("engine");
        j.erase("command");
        j.erase("wall_s");
        content = j.dump();
      }
      s.all += "\n" + name + "\n" + content;
    }
    for (const auto& name : w.list())
      if (!ours.contains(name)) fs::remove_all(w.path() + "/" + name);
    return s;
  }
  Workspace w;
  std::set<std::string> ours;
};

TEST_P(FlagsTest, EveryAcceptedFlagActsOrIsRefused) {
  const Verb& v = GetParam();
  const std::string page = v.words.substr(0, v.words.find(' ')) == "platform" ? "platform" : v.words;
  for (const std::string& flag : flags_of(w, page)) {
    if (v.decide_nothing.contains(flag)) continue;
    const auto found = v.tries.find(flag);
    const bool machine = flag == "--json" || flag == "--csv" || flag == "--report";
    if (found == v.tries.end() && (machine || flag == "--quiet")) {
      const Outcome o = w.weft(v.words + " " + v.base + " " + flag + (machine ? " made" : ""));
      EXPECT_EQ(o.exit_code, 0) << v.words << " " << flag << "\n" << o.err;
      if (machine)
        EXPECT_GT(w.read("made").size(), 5u) << v.words << " " << flag << " wrote nothing";
      else
        EXPECT_EQ(o.out, "") << v.words;
      for (const auto& name : w.list())
        if (!ours.contains(name)) fs::remove_all(w.path() + "/" + name);
      continue;
    }
    ASSERT_NE(found, v.tries.end()) << v.words << " " << flag << ": say here how one sees it act";
    const std::string base = v.words + " " + (found->second.base.empty() ? v.base : found->second.base);
    const Seen without = run(base, v.json);
    const Seen with = run(base + " " + found->second.flag, v.json);
    if (with.exit_code == 2) continue;
    EXPECT_TRUE(with.all != without.all) << base << " " << found->second.flag << " changed nothing";
  }
}

INSTANTIATE_TEST_SUITE_P(Verbs, FlagsTest, ::testing::ValuesIn(verbs()), [](const auto& one) {
  std::string name;
  for (const char c : one.param.words)
    if (c != ' ') name += c;
  return name;
});

// As a script gives it whose variable is not set: not what is asked for would be done, without a word.
TEST(Flags, AnEmptyValueIsRefused) {
  const Workspace w;
  ASSERT_EQ(w.weft("generate ring --ranks 2 -o t.weft").exit_code, 0);
  for (const std::string line :
       {"replay t.weft --on crossbar-16 --json ''", "report t.weft --on crossbar-16 -o ''",
        "predict hpl --on crossbar-16 --n 100 --nb 10 --dat ''",
        "search halo --grid 2x2 --on cs-storm --svg ''",
        "replay t.weft --on crossbar-16 --model '' --map block",
        "predict hpl --on crossbar-16 --n 100 --nb 10 --p 2 --q 2 --sample=",
        "generate halo --dims 2x2 --periodic= -o u.weft"}) {
    const Outcome o = w.weft(line);
    EXPECT_EQ(o.exit_code, 2) << line;
    EXPECT_THAT(o.err, ::testing::HasSubstr("a flag with an empty value")) << line;
  }
}

TEST(Flags, AFlagBeforeItsVerbIsToldWhereItStands) {
  const Workspace w;
  const Outcome o = w.weft("--json x replay t.weft --on crossbar-16");
  EXPECT_EQ(o.exit_code, 2);
  EXPECT_THAT(o.err,
              ::testing::HasSubstr("a flag before its verb; got \"--json\"; expected weft replay --json"));
  EXPECT_THAT(w.weft("predict --n 100 hpl --on crossbar-16").err,
              ::testing::HasSubstr("expected weft predict hpl --n"));
}

TEST(Flags, OfTheRawModesASwitchIsPartOfOne) {
  const Workspace w;
  ASSERT_EQ(w.weft("generate ring --ranks 2 -o t.weft").exit_code, 0);
  const std::string line = "replay t.weft --on crossbar-16 --raw-switch 1KiB ";
  EXPECT_EQ(w.weft(line).exit_code, 0);
  EXPECT_EQ(w.weft(line + "--raw=detached").exit_code, 0);
  for (const std::string mode : {"eager", "rendezvous"}) {
    const Outcome o = w.weft(line + "--raw=" + mode);
    EXPECT_EQ(o.exit_code, 2) << mode;
    EXPECT_THAT(o.err, ::testing::HasSubstr("--raw-switch with --raw=" + mode));
  }
}

// In digits: not the octal ten, not the number before an "x".
TEST(Flags, ACountOfAPredictionIsAsOfAllVerbs) {
  const Workspace w;
  const std::string line = "predict hpl --on crossbar-16 --n 4000 --nb 50 --p 2 --q 2 --json - --quiet ";
  const auto panels = [&](const std::string& sample) {
    const Outcome o = w.weft(line + sample);
    EXPECT_EQ(o.exit_code, 0) << o.err;
    return json::parse(o.out)["panels_simulated"].get<int>();
  };
  EXPECT_EQ(panels("--sample 4 --window 04 --warm-up 01"), panels("--sample 4 --window 4 --warm-up 1"));
  EXPECT_EQ(panels("--sample 010 --window 1 --warm-up 1"), panels("--sample 10 --window 1 --warm-up 1"));
  for (const std::string line_end :
       {"--sample 0x6", "--sample 4 --window 1e1", "--repeat 0x2", "--pieces +1"})
    EXPECT_EQ(w.weft(line + line_end).exit_code, 2) << line_end;
  EXPECT_EQ(w.weft("tune hpl --on crossbar-16 --n 4000 --nb 50 --evaluations 0x10").exit_code, 2);
}

TEST(Flags, ATimeThatIsNoneIsAWrongCommandLine) {
  const Workspace w;
  ASSERT_EQ(w.weft("generate ring --ranks 2 -o t.weft").exit_code, 0);
  for (const std::string time : {"--from-time 5", "--to-time=-1us"}) {
    const Outcome o = w.weft("replay t.weft --on crossbar-16 --export perfetto:p.json " + time);
    EXPECT_EQ(o.exit_code, 2) << time;
    EXPECT_THAT(o.err, ::testing::HasSubstr("error: ")) << time;
  }
}

}  // namespace
}  // namespace weft::testing::flags_test
