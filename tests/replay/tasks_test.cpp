// Programs that are graphs of tasks: each begins when what it is after is over and its cpu is free. Against closed forms, against
// another execution of random graphs, and against LogGOPSim's times.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "core/rng.hpp"
#include "replay/engine.hpp"
#include "tests/replay/why/why_sums.hpp"
#include "tests/support/hosts.hpp"
#include "tests/support/memory_trace.hpp"
#include "tests/support/seed.hpp"

namespace weft::replay::tasks_test {
namespace {

using testing::first_hosts;
using testing::MemoryTrace;
using traces::Op;
using traces::OpKind;

constexpr std::int64_t kUs = 1'000'000;

// 10 bytes an us, 2 us between any two hosts; processor time in ps.
topology::Platform crossbar(std::int64_t send = 0, std::int64_t recv = 0) {
  auto p = topology::load_platform("crossbar:n=8,bw=10MB/s,lat=1us").value();
  p.mpi.send_overhead = Duration(send);
  p.mpi.recv_overhead = Duration(recv);
  p.mpi.eager_limit = Bytes(1'000'000);
  return p;
}

void compute(MemoryTrace& t, std::uint32_t r, std::int64_t ps, const std::vector<std::int64_t>& list) {
  t.add(r, {.kind = OpKind::task_compute, .amount = ps}, list);
}
void message(MemoryTrace& t, OpKind kind, std::uint32_t r, std::int32_t peer, std::int32_t tag,
             std::int64_t bytes, const std::vector<std::int64_t>& list) {
  t.add(r, {.kind = kind, .peer = peer, .tag = tag, .amount = bytes}, list);
}
void wait(MemoryTrace& t) {
  for (std::uint32_t r = 0; r < t.header().ranks; ++r) t.add(r, {.kind = OpKind::task_wait});
}

ReplayResult run(MemoryTrace& t, const topology::Platform& p, ReplayOptions o = {}) {
  auto r = replay(t, p, first_hosts(t.header().ranks), o);
  EXPECT_TRUE(r) << (r ? "" : r.error().message());
  return r ? std::move(*r) : ReplayResult{};
}
std::vector<double> ends_us(const ReplayResult& r) {
  std::vector<double> out;
  for (const auto& rank : r.ranks) out.push_back(static_cast<double>(rank.finish.count()) / 1e6);
  return out;
}

TEST(Tasks, CpusComputeSideBySideAndOneAfterTheOtherOnOne) {
  MemoryTrace t(1);
  compute(t, 0, 3 * kUs, {0});
  compute(t, 0, 5 * kUs, {1});
  compute(t, 0, 4 * kUs, {0});
  compute(t, 0, 1 * kUs, {1, 1});   // after that of cpu 0: at 7
  compute(t, 0, 2 * kUs, {2, -1});  // when that has begun: 7 to 9
  wait(t);
  t.compute(0, Duration(kUs));  // the rank goes on when all is over
  const ReplayResult r = run(t, crossbar());
  EXPECT_EQ(ends_us(r), (std::vector<double>{10}));
  EXPECT_EQ(r.ranks[0].compute.count(), 10 * kUs);
  EXPECT_EQ(r.ranks[0].wait.count(), 0);
}

// A rank that computes on one cpu receives and forwards on another.
TEST(Tasks, MessagesGoOnBesideAComputation) {
  MemoryTrace t(3);
  message(t, OpKind::task_send, 0, 1, 5, 10, {0});
  compute(t, 1, 100 * kUs, {0});
  message(t, OpKind::task_recv, 1, 0, 5, 10, {1});
  message(t, OpKind::task_send, 1, 2, 6, 20, {1, 1});
  message(t, OpKind::task_recv, 2, 1, 6, 20, {0});
  wait(t);
  // 2 us and 1 for the data, then 2 us and 2.
  EXPECT_EQ(ends_us(run(t, crossbar())), (std::vector<double>{0, 100, 7}));
  // Sends of 1 us and receives of 2: 1 + 3 + 2, then 1 + 4 + 2.
  EXPECT_EQ(ends_us(run(t, crossbar(kUs, 2 * kUs))), (std::vector<double>{1, 100, 13}));
}

TEST(Tasks, ACpuServesWhoCameFirst) {
  // What rank 0 waits for comes at 3 us (tag 1) and 4 us (tag 2); its cpu computes until 10, and has another computation to do since
  // 0. Receives of 2 us: those before the computation that is ready at 4.
  MemoryTrace t(2);
  compute(t, 0, 10 * kUs, {0});
  message(t, OpKind::task_recv, 0, 1, 1, 10, {0});
  message(t, OpKind::task_recv, 0, 1, 2, 20, {0});
  compute(t, 0, 5 * kUs, {1, 2});   // 12 to 17, cpu 1: after tag 1
  compute(t, 0, 20 * kUs, {0, 2});  // after tag 2, cpu 0
  message(t, OpKind::task_send, 1, 0, 1, 10, {0});
  message(t, OpKind::task_send, 1, 0, 2, 20, {0});
  wait(t);
  ReplayOptions o;
  o.model = "contention-free";
  // Receives are posted when the cpu is free: at 10, then paid until 12 and 14; 14 + 20.
  EXPECT_EQ(ends_us(run(t, crossbar(0, 2 * kUs), o)), (std::vector<double>{34, 0}));
}

// A send is ready at 5 us on a cpu that computes until 10, and that another computation has waited for since 0.
TEST(Tasks, ASendThatCostsNothingWaitsForItsTurn) {
  MemoryTrace t(2);
  compute(t, 0, 10 * kUs, {0});
  compute(t, 0, 20 * kUs, {0});
  compute(t, 0, 5 * kUs, {1});
  message(t, OpKind::task_send, 0, 1, 1, 10, {0, 1});
  message(t, OpKind::task_recv, 1, 0, 1, 10, {0});
  wait(t);
  EXPECT_EQ(ends_us(run(t, crossbar())), (std::vector<double>{30, 33}));
  EXPECT_EQ(ends_us(run(t, crossbar(kUs))), (std::vector<double>{31, 34}));
}

// Two receives and two sends, of 8 and of 1,000 bytes, that one task lets go on different cpus.
TEST(Tasks, WhatIsPostedAtOneInstantIsPostedInTheOrderOfTheProgram) {
  MemoryTrace t(2);
  for (std::uint32_t r = 0; r < 2; ++r) {
    const OpKind kind = r == 0 ? OpKind::task_recv : OpKind::task_send;
    compute(t, r, (2 - r) * kUs, {2});
    message(t, kind, r, static_cast<std::int32_t>(1 - r), 1, 8, {1, 1});
    message(t, kind, r, static_cast<std::int32_t>(1 - r), 1, 1000, {0, 2});
  }
  wait(t);
  EXPECT_THAT(run(t, crossbar()).warnings, ::testing::IsEmpty());
}

TEST(Tasks, ThePathNamesTasks) {
  MemoryTrace t(1);
  compute(t, 0, kUs, {0});
  compute(t, 0, 3 * kUs, {1});
  compute(t, 0, 2 * kUs, {0, 1});
  wait(t);
  ReplayOptions o;
  o.critical_path = true;
  const ReplayResult r = run(t, crossbar(), o);
  ASSERT_EQ(r.path.segments.size(), 1u);  // stretches of one rank are one
  EXPECT_EQ(r.path.segments[0].op, 1u);
}

TEST(Tasks, TheReceiveIsPostedWhenItsCpuIsFree) {
  MemoryTrace t(2);
  compute(t, 0, 50 * kUs, {0});
  message(t, OpKind::task_recv, 0, 1, 1, 100, {0, -1});
  message(t, OpKind::task_send, 1, 0, 1, 100, {0});
  wait(t);
  auto p = crossbar();
  p.mpi.eager_limit = Bytes(0);
  // Its permission travels for 2 us, the data for 2 and 10.
  EXPECT_EQ(ends_us(run(t, p)), (std::vector<double>{64, 64}));
}

TEST(Tasks, TheRankGoesOnMeanwhile) {
  MemoryTrace t(2);
  message(t, OpKind::task_recv, 0, 1, 1, 10, {0});
  compute(t, 0, 30 * kUs, {3, 1});
  t.compute(0, Duration(7 * kUs));
  t.p2p(0, OpKind::send, 1, 9, 10);
  t.p2p(1, OpKind::recv, 0, 9, 10);
  message(t, OpKind::task_send, 1, 0, 1, 10, {0});
  wait(t);
  // Rank 1: 7 + 3. Then its send: 13, and the computation of rank 0: 43.
  EXPECT_EQ(ends_us(run(t, crossbar())), (std::vector<double>{43, 10}));
}

TEST(Tasks, WhatIsWrongWithAGraphIsSaidWithItsPlace) {
  const auto said = [](MemoryTrace& t, ReplayOptions o = {}) {
    const auto r = replay(t, crossbar(), first_hosts(t.header().ranks), o);
    return r ? "" : r.error().message();
  };
  MemoryTrace far(1);
  compute(far, 0, kUs, {0});
  far.add(0, {.kind = OpKind::task_wait});
  compute(far, 0, kUs, {0, 1});
  EXPECT_THAT(said(far),
              ::testing::HasSubstr("rank 0: task_compute after a task that does not stand before it"));
  MemoryTrace open(1);
  compute(open, 0, kUs, {0});
  EXPECT_THAT(said(open), ::testing::HasSubstr("rank 0: the program ends before this task"));
  wait(open);
  EXPECT_EQ(said(open), "");
}

TEST(Tasks, ThoseThatWaitForEachOtherAreADeadlock) {
  MemoryTrace t(2);
  for (std::uint32_t r = 0; r < 2; ++r) {
    const auto other = static_cast<std::int32_t>(1 - r);
    message(t, OpKind::task_recv, r, other, 1, 10, {0});
    message(t, OpKind::task_send, r, other, 1, 10, {0, 1});
  }
  wait(t);
  const ReplayResult r = run(t, crossbar());
  EXPECT_FALSE(r.finished);
  EXPECT_EQ(r.deadlock.cycle.size(), 2u);
  EXPECT_THAT(r.deadlock.summary(),
              ::testing::HasSubstr("rank 0 in task_wait for its receive from 1 tag 1 on world (operation 2"));
}

// ---- Random graphs

struct Task {
  Op op;
  std::uint32_t rank = 0;
  int cpu = 0;
  std::vector<std::pair<std::size_t, bool>> after;  // task, its end (else its start)
  std::size_t other = 0;                            // of a message: its other side
};

struct Times {
  std::int64_t begin = -1, end = -1;
};

// What the graph says, by trying at every instant what may go on: no queues, no counters.
std::vector<Times> execute(const std::vector<Task>& tasks, std::int64_t send, std::int64_t recv,
                           std::vector<std::int64_t>& finish) {
  std::vector<Times> t(tasks.size());
  enum class Stage { kLacks, kWaits, kPosted, kWaitsToPay, kWorks, kOver };
  std::vector<Stage> stage(tasks.size(), Stage::kLacks);
  std::vector<std::int64_t> since(tasks.size()), until(tasks.size()), arrival(tasks.size(), -1);
  std::map<std::pair<std::uint32_t, int>, std::size_t> busy;
  std::int64_t now = 0;
  const auto cpu = [&](std::size_t v) { return std::pair(tasks[v].rank, tasks[v].cpu); };
  const auto over = [&](std::size_t v) {
    stage[v] = Stage::kOver;
    t[v].end = now;
    finish[tasks[v].rank] = std::max(finish[tasks[v].rank], now);
  };
  const auto leave = [&](std::size_t v) {
    over(v);  // eager
    arrival[tasks[v].other] = now + 2 * kUs + tasks[v].op.amount * kUs / 10;
  };
  // Somebody who takes time has waited for its cpu since before.
  const auto waited_for = [&](std::size_t v) {
    for (std::size_t w = 0; w < tasks.size(); ++w)
      if (cpu(w) == cpu(v) && since[w] < now &&
          (stage[w] == Stage::kWaitsToPay ||
           (stage[w] == Stage::kWaits && tasks[w].op.kind != OpKind::task_recv &&
            (tasks[w].op.kind == OpKind::task_send || tasks[w].op.amount > 0))))
        return true;
    return false;
  };
  for (;;) {
    bool went = true;
    while (went) {
      went = false;
      for (std::size_t v = 0; v < tasks.size(); ++v) {
        const OpKind kind = tasks[v].op.kind;
        if (stage[v] == Stage::kWorks && until[v] == now) {
          busy.erase(cpu(v));
          kind == OpKind::task_send ? leave(v) : over(v);
          went = true;
        }
        if (stage[v] == Stage::kLacks && std::ranges::all_of(tasks[v].after, [&](const auto& a) {
              return (a.second ? t[a.first].end : t[a.first].begin) >= 0;
            })) {
          stage[v] = Stage::kWaits;
          since[v] = now;
          went = true;
        }
        if (stage[v] == Stage::kWaits && !busy.contains(cpu(v)) &&
            (kind == OpKind::task_recv || (kind == OpKind::task_compute && tasks[v].op.amount == 0) ||
             (kind == OpKind::task_send && send == 0 && !waited_for(v)))) {
          t[v].begin = now;
          if (kind == OpKind::task_recv)
            stage[v] = Stage::kPosted;
          else
            kind == OpKind::task_send ? leave(v) : over(v);
          went = true;
        }
        if (stage[v] == Stage::kPosted && arrival[v] >= 0 && arrival[v] <= now) {
          since[v] = now;
          if (recv == 0)
            over(v);
          else
            stage[v] = Stage::kWaitsToPay;
          went = true;
        }
      }
      if (went) continue;
      // One that takes time.
      std::size_t next = tasks.size();
      const auto turn = [&](std::size_t v) {
        const OpKind kind = tasks[v].op.kind;
        return std::tuple(since[v],
                          kind == OpKind::task_recv   ? 1
                          : kind != OpKind::task_send ? 3
                          : send == 0                 ? 0
                                                      : 2,
                          v);
      };
      for (std::size_t v = 0; v < tasks.size(); ++v)
        if ((stage[v] == Stage::kWaits || stage[v] == Stage::kWaitsToPay) && !busy.contains(cpu(v)) &&
            (next == tasks.size() || turn(v) < turn(next)))
          next = v;
      if (next == tasks.size()) break;
      const OpKind kind = tasks[next].op.kind;
      if (t[next].begin < 0) t[next].begin = now;
      stage[next] = Stage::kWorks;
      busy[cpu(next)] = next;
      until[next] = now + (kind == OpKind::task_recv   ? recv
                           : kind == OpKind::task_send ? send
                                                       : tasks[next].op.amount);
      went = true;
    }
    std::int64_t next = INT64_MAX;
    for (std::size_t v = 0; v < tasks.size(); ++v) {
      if (stage[v] == Stage::kWorks) next = std::min(next, until[v]);
      if (stage[v] == Stage::kPosted && arrival[v] > now) next = std::min(next, arrival[v]);
    }
    if (next == INT64_MAX) return t;
    now = next;
  }
}

// `even`: all times are whole microseconds, so that much happens at one instant.
std::vector<Task> random_tasks(Rng& rng, std::uint32_t ranks, std::size_t rounds, bool even) {
  std::vector<Task> tasks;
  std::vector<std::vector<std::size_t>> of(ranks);
  const auto add = [&](std::uint32_t r, Op op) {
    Task task{op, r, static_cast<int>(rng.below(3)), {}, 0};
    for (std::uint64_t i = rng.below(3); i > 0 && !of[r].empty(); --i)
      task.after.emplace_back(of[r][of[r].size() - 1 - rng.below(std::min<std::size_t>(4, of[r].size()))],
                              rng.below(4) != 0);
    of[r].push_back(tasks.size());
    tasks.push_back(std::move(task));
    return tasks.size() - 1;
  };
  // Each message after what its ranks had before: it can be executed in that order.
  for (std::size_t i = 0; i < rounds; ++i) {
    const auto a = static_cast<std::uint32_t>(rng.below(ranks));
    if (rng.below(2) == 0) {
      add(a, {.kind = OpKind::task_compute,
              .amount = rng.below(6) == 0 ? 0
                        : even            ? static_cast<std::int64_t>(rng.below(12)) * kUs
                                          : 1 + static_cast<std::int64_t>(rng.below(20'000'000))});
      continue;
    }
    const auto b = static_cast<std::uint32_t>((a + 1 + rng.below(ranks - 1)) % ranks);
    const auto tag = static_cast<std::int32_t>(i);
    const auto bytes = static_cast<std::int64_t>(even ? 10 * rng.below(8) : rng.below(300));
    const std::size_t s = add(
        a, {.kind = OpKind::task_send, .peer = static_cast<std::int32_t>(b), .tag = tag, .amount = bytes});
    const std::size_t r = add(
        b, {.kind = OpKind::task_recv, .peer = static_cast<std::int32_t>(a), .tag = tag, .amount = bytes});
    tasks[s].other = r;
    tasks[r].other = s;
  }
  return tasks;
}

MemoryTrace as_trace(const std::vector<Task>& tasks, std::uint32_t ranks) {
  MemoryTrace t(ranks);
  std::vector<std::int64_t> number(tasks.size()), count(ranks, 0);
  for (std::size_t v = 0; v < tasks.size(); ++v) {
    number[v] = count[tasks[v].rank]++;
    std::vector<std::int64_t> list = {tasks[v].cpu};
    for (const auto& [e, at_end] : tasks[v].after)
      list.push_back((number[v] - number[e]) * (at_end ? 1 : -1));
    t.add(tasks[v].rank, tasks[v].op, list);
  }
  wait(t);
  return t;
}

TEST(Tasks, RandomGraphsTakeTheTimeThatAnotherExecutionSays) {
  Rng rng(support::seed_or(31));
  for (int round = 0; round < 1500; ++round) {
    SCOPED_TRACE(fmt::format("round {} of seed {}", round, support::seed_or(31)));
    const auto ranks = static_cast<std::uint32_t>(2 + rng.below(4));
    const bool even = rng.below(2) == 0;
    const std::vector<Task> tasks = random_tasks(rng, ranks, 1 + rng.below(30), even);
    MemoryTrace t = as_trace(tasks, ranks);
    const std::int64_t send = rng.below(3) == 0 ? 0
                              : even            ? kUs
                                                : 1'000'003,
                       recv = rng.below(3) == 0 ? 0
                              : even            ? 2 * kUs
                                                : 2'000'029;
    std::vector<std::int64_t> want(ranks, 0);
    (void)execute(tasks, send, recv, want);
    ReplayOptions o;
    o.model = "contention-free";
    o.critical_path = o.wait_states = true;
    const ReplayResult r = run(t, crossbar(send, recv), o);
    ASSERT_TRUE(r.finished) << r.deadlock.summary();
    for (std::uint32_t k = 0; k < ranks; ++k) EXPECT_EQ(r.ranks[k].finish.count(), want[k]) << "rank " << k;
    // What is shown of a rank follows without a gap, and what it computes is its computation.
    std::vector<std::int64_t> until(ranks, 0), computed(ranks, 0);
    o.critical_path = o.wait_states = false;
    std::vector<std::vector<OpKind>> kinds(ranks);
    for (const Task& task : tasks) kinds[task.rank].push_back(task.op.kind);
    for (auto& k : kinds) k.push_back(OpKind::task_wait);
    o.on_op = [&](RankId rank, std::uint64_t op, SimTime begin, SimTime end) {
      const std::uint32_t k = rank.index();
      const std::int64_t from = begin.time_since_epoch().count(), to = end.time_since_epoch().count();
      EXPECT_EQ(from, until[k]);
      until[k] = to;
      if (kinds[k].at(op) == OpKind::task_compute) computed[k] += to - from;
    };
    const ReplayResult shown = run(t, crossbar(send, recv), o);
    for (std::uint32_t k = 0; k < ranks; ++k) {
      EXPECT_EQ(until[k], want[k]);
      EXPECT_EQ(computed[k], shown.ranks[k].compute.count());
    }
    // Every picosecond of the makespan belongs to one part of the path, every one of a rank to one of its parts.
    expect_path_adds_up(r);
    expect_waits_add_up(r);
    for (const RankTimes& k : r.ranks) {
      EXPECT_EQ((k.compute + k.send + k.recv + k.wait + k.collective).count(), k.finish.count());
      Duration causes{0};
      for (const Duration d : k.causes) causes += d;
      EXPECT_EQ(causes, k.send + k.recv + k.wait + k.collective);
    }
    if (HasFailure()) {
      for (const Task& task : tasks) {
        std::string after;
        for (const auto& [e, at_end] : task.after) after += fmt::format(" {}{}", at_end ? "" : "~", e);
        fmt::print("{}: rank {} cpu {} {} peer {} {} after{}\n", &task - tasks.data(), task.rank, task.cpu,
                   traces::op_name(task.op.kind), task.op.peer, task.op.amount, after);
      }
      fmt::print("send {} recv {}\n", send, recv);
      return;
    }
  }
}

}  // namespace
}  // namespace weft::replay::tasks_test
