// GOAL schedules in program order: against an execution of the schedule itself, with all its freedom, for random schedules and
// random times of messages.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "tests/traces/trace_testing.hpp"
#include "traces/formats/goal/file_order.hpp"
#include "traces/formats/goal/order.hpp"

namespace weft::traces::goal_order_test {
namespace {

using namespace testing;
using goal::Dependency;
using goal::Kind;
using goal::Operation;
using goal::Schedule;

constexpr std::int64_t kNever = -1;

struct Times {
  std::vector<std::int64_t> start, end;  // by operation of the schedule
};

// What the schedule says, and no more: an operation starts once what it requires is over and its cpu is free. Calls take
// no time, a message is over `delay` after its call, a computation holds its cpu.
Times execute(const Schedule& s, const std::vector<std::int64_t>& delay) {
  const std::size_t n = s.ops.size();
  Times t{std::vector<std::int64_t>(n, kNever), std::vector<std::int64_t>(n, kNever)};
  std::map<int, std::int64_t> free_at;
  for (std::int64_t now = 0;;) {
    const auto may = [&](std::uint32_t v, bool computes) {
      const bool takes_time = s.ops[v].kind == Kind::kCalc && s.ops[v].size > 0;
      if (t.start[v] != kNever || takes_time != computes || free_at[s.ops[v].cpu] > now) return false;
      return std::ranges::all_of(s.dependencies, [&](const Dependency& d) {
        const std::uint32_t e = d.earlier & ~Dependency::kAtStart;
        const std::int64_t at = (d.earlier & Dependency::kAtStart) != 0 ? t.start[e] : t.end[e];
        return d.later != v || (at != kNever && at <= now);
      });
    };
    bool went = false;
    for (const bool computes : {false, true})
      for (std::uint32_t v = 0; v < n && !(computes && went); ++v) {
        if (!may(v, computes)) continue;
        t.start[v] = now;
        t.end[v] = now + (computes ? static_cast<std::int64_t>(s.ops[v].size) * 1000 : delay[v]);
        if (computes) free_at[s.ops[v].cpu] = t.end[v];
        went = true;
      }
    if (went) continue;
    std::int64_t next = INT64_MAX;
    for (const std::int64_t e : t.end)
      if (e > now) next = std::min(next, e);
    if (next == INT64_MAX) return t;
    now = next;
  }
}

// The program that was made of it. Operations of the schedule are found by their lines.
Times execute(const std::vector<PlainOp>& program, const std::vector<std::uint32_t>& lines, std::size_t n,
              const std::vector<std::int64_t>& delay) {
  Times t{std::vector<std::int64_t>(n, kNever), std::vector<std::int64_t>(n, kNever)};
  std::map<std::int64_t, std::int64_t> over;  // by slot
  std::int64_t now = 0;
  for (std::size_t i = 0; i < program.size(); ++i) {
    const Op& op = program[i].op;
    const std::uint32_t v = lines[i];
    const bool waits = op.kind == OpKind::wait || op.kind == OpKind::waitall;
    if (!waits) {
      EXPECT_EQ(t.start[v], kNever) << "an operation stands twice";
      t.start[v] = now;
      t.end[v] = now + (op.kind == OpKind::compute_time ? op.amount : delay[v]);
    }
    if (op.kind == OpKind::isend || op.kind == OpKind::irecv)
      over[op.request] = t.end[v];
    else if (op.kind == OpKind::wait)
      now = std::max(now, over.at(op.request));
    else if (op.kind == OpKind::waitall)
      for (const std::int64_t slot : program[i].list) now = std::max(now, over.at(slot));
    else
      now = t.end[v];
  }
  return t;
}

Schedule random_schedule(Rng& rng, std::size_t n, unsigned cpus) {
  Schedule s;
  std::vector<std::uint32_t> order(n);
  for (std::uint32_t v = 0; v < n; ++v) {
    order[v] = v;
    std::swap(order[v], order[rng.below(v + 1)]);
    Operation op{.size = rng.below(4), .line = v, .kind = static_cast<Kind>(1 + rng.below(3))};
    op.cpu = static_cast<std::uint8_t>(rng.below(cpus));
    s.ops.push_back(op);
  }
  const std::uint64_t dense = 1 + rng.below(6);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t k = 0; k < i; ++k)
      if (rng.below(8) < dense)
        s.dependencies.push_back({order[i], order[k] | (rng.below(3) == 0 ? Dependency::kAtStart : 0)});
  return s;
}

TEST(GoalOrder, AProgramStartsEveryOperationWhenItsScheduleDoes) {
  Rng rng(seed_or(14));
  std::map<std::string, int> seen;
  for (int round = 0; round < 6000; ++round) {
    SCOPED_TRACE(fmt::format("round {} of seed {}", round, seed_or(14)));
    const std::size_t n = 1 + rng.below(9);
    const Schedule s = random_schedule(rng, n, 1 + static_cast<unsigned>(rng.below(2)));
    TraceHeader header;
    header.ranks = 1;
    MemoryTrace trace(header);
    (void)trace.add_source("F");
    Schedule copy = s;
    goal::Program program(trace, RankId(0), 0);
    const auto open = goal::put_in_order(
        copy, [](const Operation& op) { return std::to_string(op.line); }, program);
    if (!open) {
      EXPECT_EQ(open.error().code, ErrorCode::kNotSupported) << open.error().message();
      ++seen["refused"];
      continue;
    }
    const auto ops = read_rank(trace, 0);
    ASSERT_TRUE(ops);
    std::vector<std::uint32_t> lines;
    for (std::size_t i = 0; i < ops->size(); ++i)
      lines.push_back(static_cast<std::uint32_t>(std::stoul(trace.position(RankId(0), i).substr(2))));
    ++seen[open->places == 0 ? "exact" : "open"];
    for (int times = 0; times < 8; ++times) {
      std::vector<std::int64_t> delay(n);
      for (std::size_t v = 0; v < n; ++v)
        delay[v] = s.ops[v].kind == Kind::kCalc ? 0 : 1 + static_cast<std::int64_t>(rng.below(5000));
      const Times want = execute(s, delay);
      Times got = execute(*ops, lines, n, delay);
      for (std::size_t v = 0; v < n; ++v) {
        ASSERT_NE(want.start[v], kNever);
        // Computations of no time leave no operation.
        const bool none = s.ops[v].kind == Kind::kCalc && s.ops[v].size == 0;
        ASSERT_EQ(got.start[v] == kNever, none);
        if (none) got.start[v] = got.end[v] = want.start[v];
      }
      if (open->places == 0) {
        EXPECT_EQ(got.start, want.start);
      } else {
        for (const Dependency& d : s.dependencies) {
          const std::uint32_t e = d.earlier & ~Dependency::kAtStart;
          if (s.ops[e].kind == Kind::kCalc || s.ops[d.later].kind == Kind::kCalc) continue;
          EXPECT_GE(got.start[d.later], (d.earlier & Dependency::kAtStart) != 0 ? got.start[e] : got.end[e]);
        }
      }
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(seen["exact"], 1500);
  EXPECT_GT(seen["open"], 500);
  EXPECT_GT(seen["refused"], 500);
}

struct Written {
  bool one = false;  // the schedule has one order, which is:
  std::vector<PlainOp> ops;
  std::vector<std::string> lines;
};

template <class Put>
Written written(const Put& put) {
  TraceHeader header;
  header.ranks = 1;
  MemoryTrace trace(header);
  (void)trace.add_source("F");
  goal::Program program(trace, RankId(0), 0);
  program.hold_back();
  Written w;
  w.one = put(program);
  if (!w.one) return w;
  program.hand_over();
  w.ops = *read_rank(trace, 0);
  for (std::size_t i = 0; i < w.ops.size(); ++i) w.lines.push_back(trace.position(RankId(0), i));
  return w;
}

// As a program before it was a schedule, and then changed at a place or two: each operation after the start or the end of some of the last ones.
Schedule random_chain(Rng& rng, std::size_t n) {
  Schedule s;
  const bool computes = rng.below(2) == 0;
  for (std::uint32_t v = 0; v < n; ++v) {
    Operation op{.size = rng.below(3), .line = v, .kind = static_cast<Kind>(1 + rng.below(computes ? 3 : 2))};
    s.ops.push_back(op);
    const std::uint32_t back = std::min<std::uint32_t>(v, 1 + static_cast<std::uint32_t>(rng.below(3)));
    for (std::uint32_t e = v - back; e < v; ++e)
      if (rng.below(8) != 0)
        s.dependencies.push_back({v, e | (rng.below(3) == 0 ? Dependency::kAtStart : 0)});
  }
  return s;
}

TEST(GoalOrder, WhatTheFileHasInOrderIsInTheOneOrder) {
  Rng rng(seed_or(15));
  std::map<std::string, int> seen;
  const goal::Place place = [](const Operation& op) { return std::to_string(op.line); };
  for (int round = 0; round < 60000; ++round) {
    SCOPED_TRACE(fmt::format("round {} of seed {}", round, seed_or(15)));
    const std::size_t n = 1 + rng.below(round % 8 == 0 ? 25 : 8);
    Schedule s = round % 4 == 0 ? random_schedule(rng, n, 1) : random_chain(rng, n);
    goal::drop_doubles(s.dependencies);
    const Written straight = written([&](goal::Program& out) { return goal::put_in_file_order(s, out); });
    const Written reference = written([&](goal::Program& out) {
      Schedule copy = s;
      const goal::Graph graph(copy);
      const auto one = goal::put_in_its_order(s.ops, graph, place, out);
      EXPECT_TRUE(one);
      return one && *one;
    });
    ++seen[straight.one ? "straight" : reference.one ? "by queues" : "open"];
    if (!straight.one) continue;
    ASSERT_TRUE(reference.one);
    ASSERT_EQ(straight.ops, reference.ops);
    ASSERT_EQ(straight.lines, reference.lines);
  }
  EXPECT_GT(seen["straight"], 10000);
  EXPECT_GT(seen["by queues"], 1000);
  EXPECT_GT(seen["open"], 5000);
}

// Where what a rank does in one line would be another order than tasks have, on some network: each of them a place where operations that
// became ready at different instants compete.
TEST(GoalOrder, WhatBecomesReadyAtAnotherInstantHasNoOneOrder) {
  constexpr auto kSend = Kind::kSend, kRecv = Kind::kRecv, kCalc = Kind::kCalc;
  constexpr std::uint32_t kStart = Dependency::kAtStart;
  struct Case {
    const char* what;
    std::vector<std::pair<Kind, std::uint64_t>> ops;
    std::vector<Dependency> dependencies;
    bool one = false;
  };
  const std::vector<Case> cases{
      {"a send after others' starts, beside a computation; a later one of them was ready before it",
       {{kSend, 8}, {kSend, 8}, {kSend, 8}, {kSend, 8}, {kCalc, 9}},
       {{2, 0 | kStart}, {2, 1 | kStart}, {3, 0 | kStart}, {4, 0 | kStart}}},
      {"a send through a computation of no time",
       {{kSend, 8}, {kCalc, 0}, {kSend, 8}, {kCalc, 9}},
       {{1, 0 | kStart}, {2, 1}}},
      {"a receive that lacks a send, while others are sent", {{kSend, 8}, {kSend, 8}, {kRecv, 8}}, {{2, 0}}},
      {"the same where the file has it before the others", {{kSend, 8}, {kRecv, 8}, {kSend, 8}}, {{1, 0}}},
      {"a computation since the start of another one, a send since its end",
       {{kCalc, 7}, {kCalc, 9}, {kSend, 8}},
       {{1, 0 | kStart}, {2, 0}}},
      {"sends since the start of a computation, and since its end",
       {{kCalc, 7}, {kSend, 8}, {kSend, 8}},
       {{1, 0 | kStart}, {2, 0}}},
      {"all of them before they compute", {{kSend, 8}, {kSend, 8}, {kCalc, 9}}, {}, true},
      {"what lacks a send that nothing follows",
       {{kSend, 8}, {kSend, 8}, {kRecv, 8}},
       {{2, 0}, {2, 1}},
       true},
      {"a chain",
       {{kRecv, 8}, {kSend, 8}, {kCalc, 9}, {kSend, 8}},
       {{1, 0 | kStart}, {2, 0}, {2, 1 | kStart}, {3, 1}, {3, 2}},
       true},
  };
  const goal::Place place = [](const Operation& op) { return std::to_string(op.line); };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.what);
    Schedule s;
    for (const auto& [kind, size] : c.ops)
      s.ops.push_back({.size = size, .line = static_cast<std::uint32_t>(s.ops.size()), .kind = kind});
    s.dependencies = c.dependencies;
    goal::drop_doubles(s.dependencies);
    const Written straight = written([&](goal::Program& out) { return goal::put_in_file_order(s, out); });
    const goal::Graph graph(s);
    const Written by_queues = written([&](goal::Program& out) {
      const auto one = goal::put_in_its_order(s.ops, graph, place, out);
      return one && *one;
    });
    EXPECT_EQ(straight.one, c.one);
    EXPECT_EQ(by_queues.one, c.one);
  }
}

}  // namespace
}  // namespace weft::traces::goal_order_test
