// Programs to GOAL and back: they replay alike. And LogGOPSim's own times of what was written (tests/oracle/data/goal).
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>

#include "replay/collective_calls.hpp"
#include "replay/engine.hpp"
#include "tests/replay/well_formed.hpp"
#include "tests/support/checkout.hpp"
#include "tests/support/hosts.hpp"
#include "tests/support/needs.hpp"
#include "tests/traces/trace_testing.hpp"
#include "traces/exports/export.hpp"

namespace weft::replay {
namespace {

using testing::first_hosts;
using testing::MemoryTrace;
using traces::Op;
using traces::OpKind;
using traces::TraceReader;
using traces::testing::TempDir;

void write_goal(TraceReader& t, const std::string& path, const char* format = "goal") {
  t.rewind();
  ExpandedCollectives expanded(t, *choose_collectives("", {}, recorded_hosts(t.header())));
  const auto written = traces::export_trace(t, format, path, {&expanded});
  ASSERT_TRUE(written) << written.error().message();
}

std::vector<std::int64_t> finish(TraceReader& t, const topology::Platform& p, const ReplayOptions& o) {
  const auto r = replay(t, p, first_hosts(t.header().ranks), o);
  EXPECT_TRUE(r) << (r ? "" : r.error().message());
  std::vector<std::int64_t> out;
  if (r)
    for (const auto& rank : r->ranks) out.push_back(rank.finish.count());
  return out;
}

topology::Platform crossbar(Duration send_overhead, Duration recv_overhead) {
  auto p = topology::load_platform("crossbar:n=16,bw=10GB/s,lat=1us").value();
  p.mpi.send_overhead = send_overhead;
  p.mpi.recv_overhead = recv_overhead;
  return p;
}

// To the picosecond, as long as no call sends several messages at a cost of the sender each (below).
TEST(GoalRoundTrip, WithoutRoundsOfSeveralOverheadsWhatComesBackReplaysLikeTheProgram) {
  const TempDir dir;
  const Duration us(1'000'000), none(0);
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const testing::Program program = testing::well_formed(seed);
    for (const bool collectives : {true, false}) {
      SCOPED_TRACE(collectives ? "all" : "without collectives");
      // GOAL has one kind of send.
      auto source = program.trace;
      auto t = MemoryTrace::copy(source, [collectives](Op& op) {
        if (op.kind == OpKind::issend) op.kind = OpKind::isend;
        if (!collectives && traces::is_collective(op.kind)) op = {.kind = OpKind::compute_time};
      });
      ASSERT_TRUE(t);
      write_goal(*t, dir.path("t.goal"));
      auto back = traces::open_trace({dir.path("t.goal")});
      ASSERT_TRUE(back) << back.error().message();
      EXPECT_TRUE((*back)->header().warnings.empty());
      ReplayOptions o;
      o.compute_scale = 0;  // GOAL rounds to nanoseconds
      // Collectives of several messages a round: without costs of the sender only.
      const auto p = crossbar(collectives ? none : us, 3 * us);
      EXPECT_EQ(finish(**back, p, o), finish(*t, p, o));
      for (const RawMode mode : {RawMode::kEager, RawMode::kRendezvous}) {
        o.raw = mode;
        EXPECT_EQ(finish(**back, p, o), finish(*t, p, o));
      }
    }
  }
}

// A call that sends several messages pays for all of them before the first one leaves; a schedule has no such calls, each
// of its messages leaves when it was paid for.
TEST(GoalRoundTrip, OfARoundOfSeveralSendsTheFirstLeavesEarlierInASchedule) {
  const TempDir dir;
  const Duration us(1'000'000), none(0);
  MemoryTrace round(3), starts(3);
  for (std::uint32_t r = 0; r < 3; ++r) round.collective(r, OpKind::bcast, 0, 1000, CommId(0));
  for (const std::int32_t to : {1, 2}) {
    starts.p2p(0, OpKind::send_init, to, 5, 1000, CommId(0), static_cast<std::uint32_t>(to));
    starts.p2p(static_cast<std::uint32_t>(to), OpKind::recv, 0, 5, 1000);
  }
  starts.add(0, {.kind = OpKind::startall}, {1, 2});
  starts.add(0, {.kind = OpKind::waitall}, {1, 2});
  const AlgorithmNames linear = {{"bcast", "linear"}};
  for (MemoryTrace* t : {&round, &starts})
    for (const Duration cost : {us, none}) {
      ExpandedCollectives expanded(*t, *choose_collectives("", {&linear}, recorded_hosts(t->header())));
      t->rewind();
      ASSERT_TRUE(traces::export_trace(*t, "goal", dir.path("t.goal"), {&expanded}));
      auto back = traces::open_trace({dir.path("t.goal")});
      ASSERT_TRUE(back);
      ReplayOptions o;
      o.collectives = linear;
      o.model = "contention-free";
      const auto program = finish(*t, crossbar(cost, none), o),
                 schedule = finish(**back, crossbar(cost, none), o);
      ASSERT_EQ(program.size(), 3u);
      ASSERT_EQ(schedule.size(), 3u);
      EXPECT_EQ(program[1], program[2]);
      EXPECT_EQ(schedule[1], program[1] - cost.count());
      EXPECT_EQ(schedule[2], program[2]);
    }
}

// A segment waits until the one before has come, which no eager send of a schedule does: 1 MB in 16 segments of 64 KiB to
// one rank after the other. The warning counts what a replay of the schedule does not know.
TEST(GoalRoundTrip, SegmentsThatFollowOneAnotherAreAWarning) {
  const TempDir dir;
  MemoryTrace t(8);
  for (std::uint32_t r = 0; r < 8; ++r) t.collective(r, OpKind::bcast, 0, 1'000'000, CommId(0));
  const AlgorithmNames pipeline = {{"bcast", "pipeline"}}, linear = {{"bcast", "linear"}};
  for (const char* format : {"goal", "goal-binary"})
    for (const AlgorithmNames* names : {&pipeline, &linear}) {
      t.rewind();
      ExpandedCollectives expanded(t, *choose_collectives("", {names}, recorded_hosts(t.header())));
      std::vector<std::string> warnings;
      ASSERT_TRUE(traces::export_trace(t, format, dir.path("t.goal"),
                                       {.collectives = &expanded, .warnings = &warnings}));
      if (names == &linear) {
        EXPECT_THAT(warnings, ::testing::IsEmpty());
      } else {
        EXPECT_THAT(warnings,
                    ::testing::ElementsAre(::testing::StartsWith("112 sends of segments in collectives: ")));
      }
    }
}

// A schedule has one wait for what a program waits for in a row, and it pays for all its receives when the last is there.
TEST(GoalRoundTrip, ReceivesThatAreWaitedForInARowArePaidForAtTheEnd) {
  const TempDir dir;
  const Duration us(1'000'000), none(0);
  const Op later{.kind = OpKind::wait, .peer = 1, .tag = 5, .amount = 8, .request = 0};
  MemoryTrace blocking(3), waits(3), apart(3);
  for (MemoryTrace* t : {&blocking, &waits, &apart}) {
    t->p2p(0, OpKind::irecv, 1, 5, 8, CommId(0), 0);
    if (t == &waits) {
      t->p2p(0, OpKind::irecv, 2, 6, 8, CommId(0), 1);
      t->add(0, {.kind = OpKind::wait, .peer = 2, .tag = 6, .amount = 8, .request = 1});
    } else {
      t->p2p(0, OpKind::recv, 2, 6, 8);
    }
    if (t == &apart) t->compute(0, Duration(1'000));
    t->add(0, later);
    t->compute(0, us);
    t->compute(1, 100 * us);
    t->p2p(1, OpKind::send, 0, 5, 8);
    t->p2p(2, OpKind::send, 0, 6, 8);
    write_goal(*t, dir.path("t.goal"));
    auto back = traces::open_trace({dir.path("t.goal")});
    ASSERT_TRUE(back) << back.error().message();
    for (const Duration cost : {none, 3 * us})
      EXPECT_EQ(finish(**back, crossbar(none, cost), {})[0],
                finish(*t, crossbar(none, cost), {})[0] + (t == &apart ? 0 : cost.count()));
  }
}

// ---- LogGOPSim

// Programs whose times the two models agree about to the nanosecond (docs/goal.md says where they do not): a rank
// waits for what comes in, and sends one message at a time.
struct AgreedProgram {
  const char* name;
  MemoryTrace trace;
  AlgorithmNames algorithms;
};

MemoryTrace calls(std::uint32_t ranks, OpKind kind, const std::vector<std::int64_t>& sizes) {
  MemoryTrace t(ranks);
  std::int64_t call = 0;
  for (const std::int64_t bytes : sizes) {
    ++call;
    for (std::uint32_t r = 0; r < ranks; ++r) {
      t.compute(r, Duration((1 + call) * 1'000'000));
      t.collective(r, kind, 0, bytes, CommId(0));
    }
  }
  return t;
}

MemoryTrace ping_pong() {
  MemoryTrace t(2);
  for (const std::int64_t bytes : {0, 1, 8, 1000, 65536, 1'000'000})
    for (std::uint32_t r = 0; r < 2; ++r)
      for (const bool there : {true, false}) {
        const auto other = static_cast<std::int32_t>(1 - r);
        t.p2p(r, there == (r == 0) ? OpKind::send : OpKind::recv, other, 5, bytes);
        if (there == (r == 1)) t.compute(r, Duration(123'000));
      }
  return t;
}

// Non-blocking messages to the right around a ring, computation beside them, a wait for both.
MemoryTrace ring(std::uint32_t ranks) {
  MemoryTrace t(ranks);
  for (int step = 0; step < 3; ++step)
    for (std::uint32_t r = 0; r < ranks; ++r) {
      t.p2p(r, OpKind::irecv, static_cast<std::int32_t>((r + ranks - 1) % ranks), step, 4000, CommId(0), 0);
      t.p2p(r, OpKind::isend, static_cast<std::int32_t>((r + 1) % ranks), step, 4000, CommId(0), 1);
      t.compute(r, Duration(500'000));
      t.add(r, {.kind = OpKind::waitall}, {0, 1});
    }
  return t;
}

// A graph: a ring on cpu 0, what a rank passes on requires what it had; computation on cpu 1.
MemoryTrace beside(std::uint32_t ranks) {
  MemoryTrace t(ranks);
  for (std::uint32_t r = 0; r < ranks; ++r) {
    for (std::int32_t step = 0; step < 7; ++step) {
      t.add(r, {.kind = OpKind::task_compute, .amount = (2000 + r) * 1'000},
            step == 0 ? std::vector<std::int64_t>{1} : std::vector<std::int64_t>{1, 3});
      t.add(r,
            {.kind = OpKind::task_send,
             .peer = static_cast<std::int32_t>((r + 1) % ranks),
             .tag = step,
             .amount = 1},
            step == 0 ? std::vector<std::int64_t>{0} : std::vector<std::int64_t>{0, 2});
      t.add(r,
            {.kind = OpKind::task_recv,
             .peer = static_cast<std::int32_t>((r + ranks - 1) % ranks),
             .tag = step,
             .amount = 1},
            {0});
    }
    t.add(r, {.kind = OpKind::task_compute, .amount = 700'000}, {0, 1});
    t.add(r, {.kind = OpKind::task_wait});
  }
  return t;
}

// Rank 0 answers each of the others when it has heard of it, whoever is first; the higher a rank is the earlier it is there.
MemoryTrace answers(std::uint32_t ranks) {
  MemoryTrace t(ranks);
  const auto message = [&t](OpKind kind, std::uint32_t r, std::uint32_t peer,
                            const std::vector<std::int64_t>& list) {
    t.add(r, {.kind = kind, .peer = static_cast<std::int32_t>(peer), .tag = 3, .amount = 1}, list);
  };
  for (std::uint32_t r = 1; r < ranks; ++r) {
    message(OpKind::task_recv, 0, r, {0});
    message(OpKind::task_send, 0, r, {0, 1});
    t.compute(r, Duration((ranks - r) * 3'700'000));
    t.p2p(r, OpKind::send, 0, 3, 1);
    t.p2p(r, OpKind::recv, 0, 3, 1);
  }
  t.add(0, {.kind = OpKind::task_wait});
  return t;
}

std::vector<AgreedProgram> programs() {
  std::vector<AgreedProgram> out;
  const auto add = [&out](const char* name, MemoryTrace t, AlgorithmNames algorithms = {}) {
    out.push_back({name, std::move(t), std::move(algorithms)});
  };
  add("ping_pong_2", ping_pong());
  add("ring_7", ring(7));
  add("beside_8", beside(8));
  add("answers_5", answers(5));
  add("barrier_7", calls(7, OpKind::barrier, {0, 0}), {{"barrier", "dissemination"}});
  add("allreduce_doubling_8", calls(8, OpKind::allreduce, {8, 5000}), {{"allreduce", "recursive_doubling"}});
  add("allreduce_ring_5", calls(5, OpKind::allreduce, {12345}), {{"allreduce", "ring"}});
  add("alltoall_pairwise_5", calls(5, OpKind::alltoall, {64, 3000}), {{"alltoall", "pairwise"}});
  add("bcast_chain_6", calls(6, OpKind::bcast, {100'000}), {{"bcast", "openmpi.chain"}});
  add("reduce_binomial_8", calls(8, OpKind::reduce, {2000}), {{"reduce", "binomial"}});
  add("allgather_bruck_11", calls(11, OpKind::allgather, {16}), {{"allgather", "bruck"}});
  return out;
}

struct Parameters {
  const char* name;
  std::int64_t L, o, g, G;  // ns
};
constexpr Parameters kParameters[] = {{"slow", 2505, 1500, 1000, 5}, {"fast", 10001, 300, 300, 1}};

// A message of s bytes: o, then L + (s - 1) G, then o.
topology::Platform platform_of(const Parameters& p) {
  auto out = topology::load_platform(
                 fmt::format("crossbar:n=32,bw={}B/s,lat={}ns", 1'000'000'000 / p.G, (p.L - p.G) / 2))
                 .value();
  out.mpi.send_overhead = out.mpi.recv_overhead = Duration(p.o * 1000);
  out.mpi.eager_limit = Bytes(std::int64_t{1} << 40);
  return out;
}

std::string data(const std::string& name) { return support::oracle_dir() + "/goal/" + name; }

void write_goal(AgreedProgram& p, const std::string& path, const char* format) {
  p.trace.rewind();
  ExpandedCollectives expanded(p.trace,
                               *choose_collectives("", {&p.algorithms}, recorded_hosts(p.trace.header())));
  const auto written = traces::export_trace(p.trace, format, path, {&expanded});
  ASSERT_TRUE(written) << written.error().message();
}

// WEFT_GOAL_DIR=DIR writes what LogGOPSim is to run (SOURCE.txt).
TEST(LogGopSim, RunsWhatIsWrittenAndTakesTheSameTime) {
  std::map<std::pair<std::string, std::string>, std::vector<std::int64_t>> times;  // ns, by rank
  std::ifstream in(data("times.tsv"));
  for (std::string line; std::getline(in, line);) {
    std::istringstream fields(line);
    std::pair<std::string, std::string> key;
    fields >> key.first >> key.second;
    for (std::int64_t ns = 0; fields >> ns;) times[key].push_back(ns);
  }
  const char* keep = std::getenv("WEFT_GOAL_DIR");
  const TempDir dir;
  for (AgreedProgram& p : programs()) {
    SCOPED_TRACE(p.name);
    const std::string name = std::string(p.name) + ".goal";
    const std::string path = keep != nullptr ? std::string(keep) + "/" + name : dir.path(name);
    write_goal(p, path, "goal");
    EXPECT_EQ(traces::testing::slurp(path), traces::testing::slurp(data(name)));
    auto back = traces::open_trace({path});
    ASSERT_TRUE(back) << back.error().message();
    for (const Parameters& parameters : kParameters) {
      SCOPED_TRACE(parameters.name);
      std::vector<std::int64_t> want = times[{p.name, parameters.name}];
      EXPECT_EQ(want.size(), p.trace.header().ranks);
      for (std::int64_t& ns : want) ns *= 1000;
      const auto where = platform_of(parameters);
      ReplayOptions o;
      o.collectives = p.algorithms;
      for (const char* model : {"max-min", "contention-free"}) {
        o.model = model;
        EXPECT_EQ(finish(p.trace, where, o), want);
        EXPECT_EQ(finish(**back, where, o), want);
      }
    }
  }
}

// "Maximum finishing time" of LogGOPSim with the slow parameters.
TEST(LogGopSim, TheSchedulesOfItsRepositoryTakeTheSameTime) {
  const std::string folder = support::shared_dir() + "/traces/goal_samples/";
  WEFT_NEEDS(std::ifstream(folder + "SOURCE.txt"), folder << " is not here");
  const std::pair<const char*, std::int64_t> samples[] = {
      {"binary_tree_16", 22020},   {"binary_tree_32", 27525}, {"dissemination_16", 22020},
      {"dissemination_32", 27525}, {"llamp/blocking", 8520},  {"llamp/non_blocking", 8520}};
  const auto where = platform_of(kParameters[0]);
  for (const auto& [name, ns] : samples) {
    SCOPED_TRACE(name);
    auto t = traces::open_trace({folder + name + ".goal"});
    ASSERT_TRUE(t) << t.error().message();
    const std::vector<std::int64_t> times = finish(**t, where, {});
    ASSERT_FALSE(times.empty());
    EXPECT_EQ(*std::ranges::max_element(times), ns * 1000);
  }
}

TEST(LogGopSim, TheBinaryIsThatOfTxt2bin) {
  const TempDir dir;
  for (AgreedProgram& p : programs()) {
    const std::string name = std::string(p.name) + ".bin";
    if (!std::ifstream(data(name))) continue;
    SCOPED_TRACE(p.name);
    write_goal(p, dir.path(name), "goal-binary");
    EXPECT_EQ(traces::testing::slurp(dir.path(name)), traces::testing::slurp(data(name)));
  }
  EXPECT_TRUE(std::ifstream(data("allreduce_doubling_8.bin")));
}

}  // namespace
}  // namespace weft::replay
