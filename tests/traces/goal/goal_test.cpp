// LogGOPSim's GOAL, text and binary: every statement becomes the right operation, every wrong line an exact message.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "tests/traces/address_limit.hpp"
#include "tests/traces/trace_testing.hpp"
#include "traces/check/check.hpp"
#include "traces/formats/goal/binary.hpp"
#include "traces/info.hpp"
#include "traces/memory_trace.hpp"

namespace weft::traces::goal_test {
namespace {

using namespace testing;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// "irecv 1/7 8b #0, wait #0": kind, peer/tag, bytes, request; list of a task in brackets.
std::vector<std::string> program(const TempDir& dir, const std::string& text, bool one_order = false) {
  auto t = open_trace_with({dir.write("t.goal", text)}, {.from = {}, .one_order = one_order});
  if (!t) return {t.error().message()};
  const auto ops = read_rank(**t, 0);
  EXPECT_TRUE(ops);
  std::vector<std::string> out;
  for (const PlainOp& p : *ops) {
    std::string s(op_name(p.op.kind));
    if (p.op.kind == OpKind::compute_time || p.op.kind == OpKind::task_compute)
      s += fmt::format(" {}ps", p.op.amount);
    if (is_send(p.op.kind) || is_receive(p.op.kind))
      s += fmt::format(" {}/{} {}b", p.op.peer, p.op.tag, p.op.amount);
    if (p.op.request != kNoRequest) s += fmt::format(" #{}", p.op.request);
    if (is_task(p.op.kind))
      s += fmt::format(" [{}]", fmt::join(p.list, " "));
    else
      for (const std::int64_t slot : p.list) s += fmt::format(" #{}", slot);
    out.push_back(s);
  }
  return out;
}
std::vector<std::string> of_rank_0(const TempDir& dir, const std::string& statements,
                                   bool one_order = false) {
  return program(dir, "num_ranks 2\nrank 0 {\n" + statements + "}\nrank 1 {\n}\n", one_order);
}

TEST(Goal, StatementsBecomeOperationsInTheOrderOfTheirDependencies) {
  const TempDir dir;
  EXPECT_THAT(
      of_rank_0(dir,
                "l1: send 4b to 1 tag 1\nl2: calc 1000\nl1 requires l2\nl3: calc 2000\nl3 requires l1\n"),
      ElementsAre("compute 1000000ps", "send 1/1 4b", "compute 2000000ps"));
  EXPECT_THAT(
      of_rank_0(dir, "a: recv 8b from 1 tag 2 cpu 0 nic 3\nb:send 9b to 1\nb requires a\ncalc 5\n", true),
      ElementsAre("irecv 1/2 8b #0", "compute 5000ps", "wait #0", "send 1/0 9b"));
  EXPECT_THAT(
      of_rank_0(dir,
                "l1: recv 1b from -1 tag -1\nl2: calc 7\nl2 irequires l1\nl3: calc 8\nl3 requires l1\n"
                "l3 requires l2\n"),
      ElementsAre("irecv -1/-1 1b #0", "compute 7000ps", "wait #0", "compute 8000ps"));
  EXPECT_THAT(
      of_rank_0(dir, "l1: send 1b to 1\nl2: recv 2b from 1\nl3: calc 3\nl3 requires l1\nl3 requires l2\n"),
      ElementsAre("irecv 1/0 2b #0", "isend 1/0 1b #1", "waitall #1 #0", "compute 3000ps"));
  // A request is waited for before its number is used again; the end waits for all that nobody asked for.
  EXPECT_THAT(
      of_rank_0(dir, "x: send 1b to 1\ny: send 2b to 1\ny requires x\nz: send 3b to 1\nz irequires y\n"),
      ElementsAre("send 1/0 1b", "isend 1/0 2b #0", "isend 1/0 3b #1", "waitall #0 #1"));
  // Computations of no time only order others.
  EXPECT_THAT(of_rank_0(dir, "l1: calc 0\nl2: calc 4\nl2 requires l1\nl1 requires l3x\n"),
              ElementsAre(HasSubstr("no such label")));
  EXPECT_THAT(of_rank_0(dir, "l2: calc 4\nl1: calc 0\nl2 requires l1\n"), ElementsAre("compute 4000ps"));
}

TEST(Goal, BlanksCommentsAndLineEndsSayNothing) {
  const TempDir dir;
  const std::string text =
      "\xef\xbb\xbf// a comment\r\n/* rank 0 {\n*/ num_ranks 1 rank 0 { // more\r\n\t l1 :\tsend 4 b to 0 "
      "tag 3\r\n"
      "/* a */ /* b */ l2: recv 4b from 0 tag 3 /* c\n d */\nl2 irequires l1// e\n\n} // the end";
  EXPECT_THAT(program(dir, text), ElementsAre("isend 0/3 4b #0", "irecv 0/3 4b #1", "waitall #0 #1"));
  EXPECT_THAT(program(dir, "num_ranks 2\nrank 1 {\ncalc 1\n}\nrank 0 {\ncalc 2\n}"),
              ElementsAre("compute 2000ps"));
  // However long they are.
  const std::string schedule = "num_ranks 1\nrank 0 {\ncalc 2\n}";
  EXPECT_THAT(
      program(dir, "/*" + std::string(9000, '\n') + "*/ // " + std::string(9000, 'x') + "\n" + schedule),
      ElementsAre("compute 2000ps"));
}

TEST(Goal, PositionsAreLines) {
  const TempDir dir;
  const std::string path =
      dir.write("t.goal", "num_ranks 1\nrank 0 {\n\ncalc 1\nl1: calc 2\n\n\ncalc 3\n}\n");
  auto t = open_trace({path});
  ASSERT_TRUE(t);
  for (const auto& [index, line] : {std::pair(0, 4), std::pair(1, 5), std::pair(2, 8)})
    EXPECT_EQ((*t)->position(RankId(0), static_cast<std::uint64_t>(index)), fmt::format("{}:{}", path, line));
}

// Two receives, each with what it lets go: which is first nobody knows.
constexpr const char* kOpen =
    "num_ranks 2\nrank 0 {\nl1: recv 1b from 1 tag 1\nl2: recv 1b from 1 tag 2\n"
    "l3: send 1b to 1\nl3 requires l1\nl4: send 2b to 1\nl4 requires l2\n}\nrank 1 {\ncalc 3\n}\n";

TEST(Goal, WhatHasNoOneOrderIsAGraphOfTasks) {
  const TempDir dir;
  EXPECT_THAT(program(dir, kOpen),
              ElementsAre("task_recv 1/1 1b [0]", "task_recv 1/2 1b [0]", "task_send 1/0 1b [0 2]",
                          "task_send 1/0 2b [0 2]", "task_wait"));
  auto t = open_trace({dir.path("t.goal")});
  ASSERT_TRUE(t);
  EXPECT_TRUE((*t)->header().warnings.empty());
  EXPECT_THAT((*t)->header().notes,
              Contains(HasSubstr("The operations of 1 rank have no one order and are tasks")));
  EXPECT_EQ((*t)->position(RankId(0), 3), dir.path("t.goal") + ":7");
  // So is what a cpu has a choice of: computations that are ready together, and sends that become ready beside one.
  const auto kinds = [&](const char* statements) {
    std::string out;
    for (const std::string& op : of_rank_0(dir, statements)) out += op.substr(0, op.find(' ')) + ' ';
    return out;
  };
  EXPECT_EQ(kinds("calc 5\ncalc 6\n"), "task_compute task_compute task_wait ");
  EXPECT_EQ(kinds("a: calc 5\ns: send 1b to 1\ns requires a\nc: calc 9\n"),
            "task_compute task_send task_compute task_wait ");
  EXPECT_EQ(kinds("c: calc 9\ns: send 1b to 1\nr: send 1b to 1\nr irequires s\n"),
            "task_compute task_send task_send task_wait ");
  EXPECT_EQ(kinds("s: send 1b to 1\nr: send 1b to 1\nr irequires s\nc: calc 9\nc irequires r\n"),
            "isend isend compute waitall ");
  // Those of a rank on several cpus, too: processor time of messages is that of a cpu.
  EXPECT_THAT(
      of_rank_0(dir,
                "a: calc 5 cpu 0\nb: calc 0 cpu 7\nb requires a\nc: calc 6\nc irequires b\nc requires a\n"),
      ElementsAre("task_compute 5000ps [0]", "task_compute 0ps [7 1]", "task_compute 6000ps [0 2 -1]",
                  "task_wait"));
  // What stands behind an operation that requires it comes before it.
  EXPECT_THAT(of_rank_0(dir, "a: calc 5 cpu 1\nb: calc 6\nc: calc 7\na requires c\n"),
              ElementsAre("task_compute 6000ps [0]", "task_compute 7000ps [0]", "task_compute 5000ps [1 1]",
                          "task_wait"));
}

TEST(Goal, AScheduleWithoutOperationsSaysSo) {
  const TempDir dir;
  auto t = open_trace({dir.write("t.goal", "num_ranks 2\nrank 0 {\n}\nrank 1 {\n}\n")});
  ASSERT_TRUE(t);
  EXPECT_EQ((*t)->totals().ops, 0u);
  EXPECT_THAT((*t)->header().warnings, ElementsAre("The schedule holds no operation."));
}

// More than a list of a trace holds: computations of no time stand for parts of it.
TEST(Goal, AnOperationMayRequireMillions) {
  const TempDir dir;
  constexpr int kMany = 1'650'000;
  std::string text = "num_ranks 1\nrank 0 {\n", requires_all;
  for (int i = 0; i < kMany; ++i) {
    fmt::format_to(std::back_inserter(text), "a{}: calc 1 cpu {}\n", i, i % 2);
    fmt::format_to(std::back_inserter(requires_all), "z requires a{}\n", i);
  }
  auto t = open_trace({dir.write("t.goal", text + "z: calc 7\n" + requires_all + "}\n")});
  ASSERT_TRUE(t) << t.error().message();
  const auto ops = read_rank(**t, 0);
  ASSERT_TRUE(ops);
  constexpr int kHubs = (kMany - 1) / (1 << 17);
  ASSERT_EQ(ops->size(), kMany + kHubs + 2u);
  std::vector<bool> required(kMany, false);
  for (std::size_t i = kMany; i + 1 < ops->size(); ++i)
    for (std::size_t k = 1; k < (*ops)[i].list.size(); ++k)
      if (const auto e = static_cast<std::int64_t>(i) - (*ops)[i].list[k]; e < kMany) {
        EXPECT_FALSE(required[static_cast<std::size_t>(e)]);
        required[static_cast<std::size_t>(e)] = true;
      }
  EXPECT_EQ(std::ranges::count(required, true), kMany);
  const PlainOp& z = (*ops)[ops->size() - 2];
  EXPECT_EQ(z.op.amount, 7000);
  EXPECT_EQ(z.list.size(), 1u + (kMany - (kHubs << 17)) + kHubs);
}

TEST(Goal, OneCpuTakesAnOrderAndSaysSo) {
  const TempDir dir;
  auto t = open_trace_with({dir.write("t.goal", kOpen)}, {.from = {}, .one_order = true});
  ASSERT_TRUE(t);
  EXPECT_THAT(
      (*t)->header().warnings,
      ElementsAre(HasSubstr("1 place where the schedule leaves open which operation of a cpu is next (the "
                            "first: ")));
  EXPECT_THAT((*t)->header().warnings[0], HasSubstr("t.goal:5:1)"));
}

TEST(Goal, CpusSideBySideHaveNoOneOrderUnlessDependenciesMakeIt) {
  const TempDir dir;
  EXPECT_THAT(of_rank_0(dir, "calc 5 cpu 0\ncalc 6 cpu 1\n", true),
              ElementsAre(HasSubstr(
                  "t.goal:3:1: error: not supported: operations of one rank that run side by side on "
                  "cpu 0 and on cpu 1 (")));
  EXPECT_THAT(of_rank_0(dir, "a: calc 5 cpu 0\nb: calc 6 cpu 1\nb requires a\n", true),
              ElementsAre("compute 5000ps", "compute 6000ps"));
  // A send of another cpu goes before a computation that nobody makes it wait for; one that waits for a message cannot.
  EXPECT_THAT(of_rank_0(dir, "calc 5 cpu 0\nsend 1b to 1 cpu 1\n", true),
              ElementsAre("isend 1/0 1b #0", "compute 5000ps", "wait #0"));
  EXPECT_THAT(of_rank_0(dir, "calc 5\na: recv 1b from 1 cpu 1\nb: send 1b to 1 cpu 1\nb requires a\n", true),
              ElementsAre(HasSubstr("side by side on cpu 0 and on cpu 1")));
  // ... also one that the start of a computation lets go.
  EXPECT_THAT(of_rank_0(dir, "a: calc 5\nb: send 1b to 1 cpu 1\nb irequires a\n", true),
              ElementsAre("isend 1/0 1b #0", "compute 5000ps", "wait #0"));
  EXPECT_THAT(of_rank_0(dir, "a: calc 5\nb: calc 6 cpu 1\nb irequires a\n", true),
              ElementsAre(HasSubstr("side by side")));
}

TEST(Goal, LabelsAreNumbersOrNames) {
  const TempDir dir;
  std::string text;
  for (const char* label : {"l5", "l99999999999", "l4000", "l05", "L5", "l5_", "x"})
    text += fmt::format("{}: calc 1\n", label);
  for (int i = 6; i < 3000; ++i) text += fmt::format("l{}: calc 1\n", i);
  text += "l4000 requires l99999999999\nl05 requires l4000\nl2999 requires l5\n";
  EXPECT_EQ(of_rank_0(dir, text).size(), 3002u);
  EXPECT_THAT(of_rank_0(dir, text + "l4000: calc 2\n"),
              ElementsAre(HasSubstr("the label is there already; got \"l4000\"")));
  EXPECT_THAT(of_rank_0(dir, text + "l2999: calc 2\n"),
              ElementsAre(HasSubstr("the label is there already; got \"l2999\"")));
  EXPECT_THAT(of_rank_0(dir, text + "l05: calc 2\n"),
              ElementsAre(HasSubstr("the label is there already; got \"l05\"")));
}

// ---- what is wrong

std::string answer(const TempDir& dir, const std::string& bytes) {
  const std::string path = dir.write("t.goal", bytes);
  auto t = open_trace({path}, "goal");
  std::string m = t ? "accepted" : t.error().message();
  for (std::size_t at = 0; (at = m.find(path)) != std::string::npos;) m.replace(at, path.size(), "F");
  return m;
}

TEST(Goal, WhatIsWrongWithATextIsSaidWithItsColumn) {
  const TempDir dir;
  const std::string open = "num_ranks 2\nrank 0 {\n";
  const std::pair<std::string, const char*> cases[] = {
      {"", "F: error: the schedule has no num_ranks; expected num_ranks N"},
      {"// nothing\n", "F: error: the schedule has no num_ranks; expected num_ranks N"},
      {"num_ranks\n",
       "F:1:10: error: the number of ranks is not a number; got \"end of line\"; expected digits"},
      {"num_ranks x\n", "F:1:11: error: the number of ranks is not a number; got \"x\"; expected digits"},
      {"num_ranks 0\n", "F:1:11: error: the schedule has no ranks; got \"0\"; expected 1 or more"},
      {"num_ranks 99999999999999999999\n",
       "F:1:11: error: the number of ranks is too large; got \"99999999999999999999\"; expected at most "
       "16777216"},
      {"num_ranks 16000000\n",
       "F:1:11: error: the file is too short for its number of ranks; got \"16000000\"; expected \"rank R "
       "{\" and \"}\" "
       "for each"},
      {"num_ranks 2\nnum_ranks 2\n",
       "F:2:10: error: num_ranks stands twice; got \"2\"; expected one num_ranks"},
      {"rank 0 {\n}\n",
       "F:1:6: error: a rank stands before num_ranks; got \"0\"; expected num_ranks N first"},
      {"num_ranks 2\nrank 2 {\n}\n", "F:2:6: error: there is no such rank; got \"2\"; expected 0 to 1"},
      {"num_ranks 2\nrank -1 {\n}\n", "F:2:6: error: the rank is not a number; got \"-\"; expected digits"},
      {"num_ranks 2\nrank 0\n{\n}\n",
       "F:2:7: error: a rank's operations stand in braces; got \"end of line\"; expected {"},
      {"num_ranks 2\nrank 0 {\n}\nrank 0 {\n}\n",
       "F:4:6: error: the rank stands twice; got \"0\"; expected each rank once"},
      {"num_ranks 2\nrank 0 {\nrank 1 {\n}\n}\n",
       "F:3:6: error: a rank stands inside rank 0; got \"1\"; expected the \"}\" of the rank that began in "
       "line 2"},
      {"num_ranks 2\nrank 0 {\n}\n", "F:3:2: error: rank 1 is missing; expected \"rank R {\" for 0 to 1"},
      {"num_ranks 1\nrank 0 {\n", "F:2:6: error: rank 0 does not end; expected }"},
      {"num_ranks 1\n  rank  0 {\n\n", "F:2:9: error: rank 0 does not end; expected }"},
      {"num_ranks 1\n}\n", "F:2:1: error: a brace closes nothing; got \"}\"; expected rank R {"},
      {"num_ranks 1\nsend 1b to 0\n",
       "F:2:1: error: an operation stands outside of a rank; got \"send\"; expected num_ranks or rank"},
      {"num_ranks 1\n/* rank 0 {\n", "F:2:1: error: the comment does not end; expected */"},
      {"num_ranks 1 // a\n /**/ /* rank 0 {\n\n}", "F:2:7: error: the comment does not end; expected */"},
      {open + "7: calc 1\n",
       "F:3:1: error: no statement begins like this; got \"7\"; expected send, recv, calc, a label or }"},
      {open + "*/\n",
       "F:3:1: error: no statement begins like this; got \"*/\"; expected send, recv, calc, a label or }"},
      {open + std::string("\0\n", 2),
       "F:3:1: error: no statement begins like this; got \"\\x00\"; expected send, recv, calc, a label or }"},
      {open + "l1\n",
       "F:3:3: error: a label stands alone; got \"end of line\"; expected \":\", \"requires\" or "
       "\"irequires\""},
      {open + "l1 needs l2\n",
       "F:3:4: error: a label stands alone; got \"needs\"; expected \":\", \"requires\" or \"irequires\""},
      {open + "l1: wait 3\n",
       "F:3:5: error: a label stands before an operation; got \"wait\"; expected send, recv or calc"},
      {open + "l1: calc 1\nl1: calc 2\n",
       "F:4:1: error: the label is there already; got \"l1\"; expected each label once in a rank"},
      {open + "l1 requires l2\nl1: calc 1\n",
       "F:3:1: error: rank 0 has no such label above; got \"l1\"; expected the label of an operation above"},
      {open + "l1: calc 1\nl1 requires l2\n",
       "F:4:13: error: rank 0 has no such label above; got \"l2\"; expected the label of an operation above"},
      {open + "l1: calc 1\nl1 requires l1\n",
       "F:4:13: error: an operation requires itself; got \"l1\"; expected another operation"},
      {open + "l1: calc 1\nl1 requires\n",
       "F:4:12: error: a dependency names two labels; got \"end of line\"; expected a label"},
      {open + "l1: calc 1\nl2: calc 1\nl2 requires l1 l1\n",
       "F:5:16: error: a statement ends with its line; got \"l1\"; expected the end of the line"},
      {open + "calc\n", "F:3:5: error: the time is not a number; got \"end of line\"; expected digits"},
      {open + "calc -5\n", "F:3:6: error: the time is not a number; got \"-\"; expected digits"},
      {open + "calc 4611686018427388\n",
       "F:3:6: error: the time is too large; got \"4611686018427388\"; expected at most 4611686018427387"},
      {open + "calc 1 nic 2\n",
       "F:3:8: error: unknown option; got \"nic\"; expected cpu, or the end of the line"},
      {open + "send 1 to 1\n", "F:3:8: error: a size is in bytes; got \"to\"; expected b"},
      {open + "send 1.5b to 1\n", "F:3:7: error: a size is in bytes; got \".\"; expected b"},
      {open + "send 18446744073709551616b to 1\n",
       "F:3:6: error: the size is too large; got \"18446744073709551616b\"; expected at most "
       "4611686018427387904"},
      {open + "send 1b from 1\n", "F:3:9: error: a message has another side; got \"from\"; expected to"},
      {open + "recv 1b to 1\n", "F:3:9: error: a message has another side; got \"to\"; expected from"},
      {open + "send 1b to 2\n", "F:3:12: error: there is no such rank; got \"2\"; expected 0 to 1"},
      {open + "send 1b to -1\n", "F:3:12: error: the rank is not a number; got \"-\"; expected digits"},
      {open + "recv 1b from 4294967295\n",
       "F:3:14: error: there is no such rank; got \"4294967295\"; expected 0 to 1"},
      {open + "send 1b to 1 cpu 256\n",
       "F:3:18: error: the cpu is too large; got \"256\"; expected at most 255"},
      {open + "send 1b to 1 nic 256\n",
       "F:3:18: error: the nic is too large; got \"256\"; expected at most 255"},
      {open + "send 1b to 1 cpu 0 tag 1\n",
       "F:3:20: error: unknown option; got \"tag\"; expected tag, cpu, nic in this order, or the end of the "
       "line"},
      {open + "send 1b to 1 tag 4294967296\n",
       "F:3:18: error: the tag is too large; got \"4294967296\"; expected at most 4294967295"},
      {open + "send 1b to 1 tag 2147483648\n",
       "F:3:18: error: not supported: the tag 2147483648; expected a tag of 0 to 2147483647"},
      {open + "send 1b to 1 tag -1\n",
       "F:3:18: error: not supported: a send of any tag; expected a tag of 0 to 2147483647"},
      {open + "send 1b to 1 }\n",
       "F:3:14: error: unknown option; got \"}\"; expected tag, cpu, nic in this order, or the end of the "
       "line"},
      {open + "l1: calc 1\nl2: calc 1\nl3: calc 1\nl2 requires l1\nl3 requires l2\nl2 irequires l3\n}\nrank "
              "1 {\n}\n",
       "F:4:1: error: the operation requires, along others, itself; expected dependencies without a circle"},
      {open + "/* */ \tl1: calc 1\nl2: calc 2\nl1 requires l2\nl2 irequires l1\n}\n",
       "F:3:8: error: the operation requires, along others, itself; expected dependencies without a circle"},
      // The column of an operation is kept up to 255.
      {open + std::string(254, ' ') + "l1: calc 1\nl2: calc 2\nl1 requires l2\nl2 irequires l1\n}\n",
       "F:3:255: error: the operation requires, along others, itself; expected dependencies without a "
       "circle"},
      {open + std::string(256, ' ') + "l1: calc 1\nl2: calc 2\nl1 requires l2\nl2 irequires l1\n}\n",
       "F:3: error: the operation requires, along others, itself; expected dependencies without a circle"},
      {"num_ranks 1\n" + std::string(3 << 20, 'x'),
       "F:2:1: error: the line is too long; expected at most 1 MiB"},
  };
  EXPECT_GE(std::size(cases), 40u);
  for (const auto& [text, message] : cases) EXPECT_EQ(answer(dir, text), message);
}

// A binary schedule, field by field.
class BinaryWriter {
 public:
  template <class T>
  BinaryWriter& put(T v) {
    const std::size_t at = bytes.size();
    bytes.resize(at + sizeof v);
    std::memcpy(bytes.data() + at, &v, sizeof v);
    return *this;
  }
  template <class T>
  void set(std::size_t at, T v) {
    std::memcpy(bytes.data() + at, &v, sizeof v);
  }
  std::string bytes;
};

// Two ranks: 0 computes and then sends, 1 receives. Byte 46 is the block of rank 0, its nodes at 58 and 97, its appendix
// at 136; byte 140 the block of rank 1.
BinaryWriter two_ranks() {
  BinaryWriter w;
  w.put(std::uint64_t{4223}).put(2u).put(std::uint8_t{0}).put(std::uint8_t{0});
  for (const std::uint64_t offset : {38, 132, 132, 183}) w.put(offset);
  const auto node = [&w](std::uint32_t deps, int kind, std::uint32_t peer, std::uint64_t size,
                         std::uint32_t tag, std::uint32_t later) {
    w.put(deps).put(static_cast<std::uint8_t>(kind)).put(peer).put(size).put(tag).put(std::uint16_t{0});
    w.put(later).put(0u).put(0u).put(later);
  };
  w.put(2u).put(1u).put(0u);
  node(0, 3, 0, 1000, 0, 1);
  node(1, 1, 1, 64, 7, 0);
  w.put(1u);
  w.put(1u).put(1u).put(0u);
  node(0, 2, 0, 64, 7, 0);
  return w;
}

TEST(Goal, ABinaryScheduleIsReadAsItsText) {
  const TempDir dir;
  auto binary = open_trace({dir.write("t.bin", two_ranks().bytes)});
  auto text = open_trace({dir.write("t.goal",
                                    "num_ranks 2\nrank 0 {\na: calc 1000\nb: send 64b to 1 tag 7\nb requires "
                                    "a\n}\nrank 1 {\nrecv 64b from 0 tag 7\n}\n")});
  ASSERT_TRUE(binary) << binary.error().message();
  ASSERT_TRUE(text);
  for (std::uint32_t r = 0; r < 2; ++r) EXPECT_EQ(*read_rank(**binary, r), *read_rank(**text, r));
  EXPECT_THAT((*binary)->position(RankId(0), 1), HasSubstr("t.bin (rank 0, node):1"));
}

TEST(Goal, WhatIsWrongWithABinaryIsSaidWithItsByte) {
  const TempDir dir;
  struct Case {
    std::function<void(BinaryWriter&)> damage;
    const char* message;
  };
  const Case cases[] = {
      {[](auto& w) { w.bytes.resize(13); },
       "F@byte 0x0: error: the file is cut off; got \"13 bytes\"; expected a head of 14 bytes"},
      {[](auto& w) { w.set(0, std::uint64_t{2342}); },
       "F@byte 0x0: error: a simulation has used the schedule up (LogGOPSim --save-mem); got \"2342\"; "
       "expected 4223, as "
       "txt2bin writes it"},
      {[](auto& w) { w.set(8, 0u); },
       "F@byte 0x8: error: the schedule has no ranks; got \"0\"; expected 1 or more"},
      {[](auto& w) { w.set(8, 0xffffffffu); },
       "F@byte 0x8: error: the file is too short for its number of ranks; got \"4294967295\"; expected a "
       "block for each"},
      {[](auto& w) { w.bytes.pop_back(); },
       "F@byte 0x1e (rank 1): error: the block of the rank is not in the file; got \"132 to 183\"; expected "
       "within 38 to 182"},
      {[](auto& w) { w.set(14, std::uint64_t{4}); },
       "F@byte 0xe (rank 0): error: the block of the rank is not in the file; got \"4 to 132\"; expected "
       "within 38 to 183"},
      {[](auto& w) { w.set(14, std::uint64_t{133}); },
       "F@byte 0xe (rank 0): error: the block of the rank is not in the file; got \"133 to 132\"; expected "
       "within 38 to 183"},
      {[](auto& w) { w.set(22, std::uint64_t{183}); },
       "F@byte 0x1e (rank 1): error: the blocks of the ranks overlap; got \"196 bytes\"; expected at most "
       "145"},
      {[](auto& w) { w.set(22, std::uint64_t{42}); },
       "F@byte 0x2e (rank 0): error: the block of the rank is too short; got \"4\"; expected 8 bytes or "
       "more"},
      {[](auto& w) { w.set(46, 3u); },
       "F@byte 0x2e (rank 0): error: the block of the rank is too short for its nodes; got \"3 nodes, 1 "
       "roots\"; expected "
       "what fits into 94 bytes"},
      {[](auto& w) { w.set(50, 3u); },
       "F@byte 0x2e (rank 0): error: the block of the rank is too short for its nodes; got \"2 nodes, 3 "
       "roots\"; expected "
       "what fits into 94 bytes"},
      {[](auto& w) { w.set(22, std::uint64_t{130}); },
       "F@byte 0x88 (rank 0): error: the appendix of the rank is not in whole entries; got \"2 bytes\"; "
       "expected 4 bytes each"},
      {[](auto& w) { w.set(54, 1u); },
       "F@byte 0x36 (rank 0): error: the root depends on others; got \"1\"; expected a node without "
       "dependencies"},
      {[](auto& w) { w.set(58, 1u); },
       "F@byte 0x2e (rank 0): error: the rank has not as many roots as it says; got \"1\"; expected 0"},
      {[](auto& w) { w.set(62, std::uint8_t{4}); },
       "F@byte 0x3a (record 0, rank 0): error: no node has this kind; got \"4\"; expected 1 (send), 2 (recv) "
       "or 3 (calc)"},
      {[](auto& w) { w.set(67, ~std::uint64_t{0}); },
       "F@byte 0x3a (record 0, rank 0): error: the time is too large; got \"18446744073709551615\"; expected "
       "at most "
       "4611686018427387"},
      {[](auto& w) { w.set(79, std::uint8_t{1}); },
       "F@byte 0x3a (record 0, rank 0): error: the cpu is beyond the last one; got \"1\"; expected at most "
       "0"},
      {[](auto& w) { w.set(80, std::uint8_t{1}); },
       "F@byte 0x3a (record 0, rank 0): error: the nic is beyond the last one; got \"1\"; expected at most "
       "0"},
      {[](auto& w) { w.set(85, 1u); },
       "F@byte 0x3a (record 0, rank 0): error: the node's dependencies are beyond the end of its rank; got "
       "\"2\"; expected "
       "at most 1"},
      {[](auto& w) { w.set(81, 0u); },
       "F@byte 0x3a (rank 0): error: the nodes do not name each entry of the appendix once; got \"0\"; "
       "expected 1"},
      {[](auto& w) { w.set(136, 2u); },
       "F@byte 0x3a (record 0, rank 0): error: a dependency names no node; got \"2\"; expected 0 to 1"},
      {[](auto& w) { w.set(136, 0u); },
       "F@byte 0x3a (record 0, rank 0): error: an operation requires itself; got \"0\"; expected another "
       "operation"},
      {[](auto& w) { w.set(97, 2u); },
       "F@byte 0x61 (record 1, rank 0): error: the node has fewer dependencies than it says; got \"2\"; "
       "expected 1"},
      {[](auto& w) { w.set(102, 2u); },
       "F@byte 0x61 (record 1, rank 0): error: there is no such rank; got \"2\"; expected 0 to 1"},
      {[](auto& w) { w.set(102, 0xffffffffu); },
       "F@byte 0x61 (record 1, rank 0): error: there is no such rank; got \"4294967295\"; expected 0 to 1"},
      {[](auto& w) { w.set(106, std::uint64_t{1} << 63); },
       "F@byte 0x61 (record 1, rank 0): error: the size is too large; got \"9223372036854775808\"; expected "
       "at most "
       "4611686018427387904"},
      {[](auto& w) { w.set(114, 0x80000000u); },
       "F@byte 0x61 (record 1, rank 0): error: not supported: the tag 2147483648; expected a tag of 0 to "
       "2147483647"},
      {[](auto& w) { w.set(114, 0xffffffffu); },
       "F@byte 0x61 (record 1, rank 0): error: not supported: a send of any tag; expected a tag of 0 to "
       "2147483647"},
  };
  ASSERT_EQ(answer(dir, two_ranks().bytes), "accepted");
  for (const Case& c : cases) {
    BinaryWriter w = two_ranks();
    c.damage(w);
    EXPECT_EQ(answer(dir, w.bytes), c.message);
  }
}

TEST(Goal, NothingThatIsCutOffOrChangedIsMoreThanAnError) {
  const TempDir dir;
  Rng rng(seed_or(7));
  const std::string text =
      "num_ranks 2\nrank 0 {\nl1: send 4b to 1 tag 1\nl2: calc 10 cpu 1\nl2 irequires l1\n}\nrank 1 {\nrecv "
      "4b from 0 tag 1\n}";
  for (const std::string& whole : {two_ranks().bytes, text}) {
    for (std::size_t n = 0; n < whole.size(); ++n)
      EXPECT_NE(answer(dir, whole.substr(0, n)), "accepted") << n;
    for (int i = 0; i < 1000; ++i) {
      std::string damaged = whole;
      for (std::uint64_t k = 1 + rng.below(3); k > 0; --k)
        damaged[rng.below(damaged.size())] = static_cast<char>(rng.below(256));
      EXPECT_FALSE(answer(dir, damaged).empty());
    }
  }
}

TEST(Goal, ALargeScheduleIsReadARankAtATime) {
  WEFT_NEEDS_ADDRESS_LIMIT();
  const TempDir dir;
  constexpr std::uint32_t kRanks = 48, kSteps = 50'000;
  // What MemoryTrace holds as it is, and 16 MiB for all else.
  constexpr std::size_t kEnough = MemoryTrace::kPlainBytes + (16u << 20);
  static_assert(std::uint64_t{kRanks} * kSteps * sizeof(Op) > MemoryTrace::kPlainBytes);
  const std::string path = dir.write("t.goal", fmt::format("num_ranks {}\n", kRanks));
  for (std::uint32_t r = 0; r < kRanks; ++r) {
    std::string text = fmt::format("rank {} {{\nl0: calc 1\n", r);
    for (std::uint32_t i = 1; i < kSteps; ++i)
      text += fmt::format("l{}: send {}b to {} tag {}\nl{} requires l{}\n", i, 8 * (i % 100),
                          (r + 1) % kRanks, i % 10, i, i - 1);
    std::ofstream(path, std::ios::app) << text << "}\n";
  }
  const std::size_t bytes = std::filesystem::file_size(path);
  EXPECT_GT(bytes, kEnough);
  const auto read = [&path] {
    auto t = open_trace({path});
    return t && (*t)->totals().ops == kRanks * kSteps;
  };
  EXPECT_TRUE(within(kEnough, read));
  EXPECT_FALSE(within(kEnough, [&] { return slurp(path).size() == bytes; })) << "the limit does not limit";
}

TEST(Goal, SeveralFilesAreNoSchedule) {
  const auto t = open_trace({"a.goal", "b.goal"}, "goal");
  ASSERT_FALSE(t);
  EXPECT_EQ(t.error().code, ErrorCode::kUsage);
}

}  // namespace
}  // namespace weft::traces::goal_test
