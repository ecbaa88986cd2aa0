// A replay for Paraver, read as a trace again, is the program that was replayed, and takes as long.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "tests/replay/random_program.hpp"
#include "tests/replay/well_formed.hpp"
#include "tests/report/timeline_texts.hpp"
#include "tests/support/files.hpp"
#include "tests/support/hosts.hpp"
#include "tests/support/platform_text.hpp"
#include "topology/platform/platform.hpp"
#include "traces/kernel.hpp"
#include "traces/op_rules.hpp"
#include "traces/request_book.hpp"
#include "traces/trace.hpp"

namespace weft::report::paraver_round_trip_test {
namespace {

using testing::MemoryTrace;
using testing::RandomProgram;
using traces::Op;
using traces::OpKind;

constexpr replay::RawMode kModes[] = {replay::RawMode::kOff, replay::RawMode::kEager,
                                      replay::RawMode::kDetached, replay::RawMode::kRendezvous};

// What a receive took, by rank, operation and request.
using Took = std::map<std::tuple<std::uint32_t, std::uint64_t, std::uint32_t>, std::string>;

struct OneRun {
  Timeline timeline;
  Took took;
  Duration makespan{};
};
OneRun run(traces::TraceReader& t, const topology::Platform& platform,
           replay::RawMode mode = replay::RawMode::kOff) {
  const std::uint32_t ranks = t.header().ranks;
  const auto hosts = testing::first_hosts(ranks);
  OneRun out;
  replay::ReplayOptions o;
  o.raw = mode;
  o.on_match = [&out](const replay::MatchSeen& m) {
    out.took[{m.rank.index(), m.op, m.request}] =
        fmt::format("{} tag {} {} B", m.source.index(), m.tag, m.bytes);
  };
  TimelineOptions options;
  options.calls = true;
  TimelineCollector collector(ranks, options, platform.fabric, hosts, o);
  collector.attach(o);
  t.rewind();
  const auto r = replay::replay(t, platform, hosts, o);
  EXPECT_TRUE(r) << r.error().message();
  EXPECT_TRUE(r->finished);
  out.makespan = r->makespan;
  t.rewind();
  out.timeline = collector.finish(t, r->makespan).value();
  return out;
}

// What a .prv can say of an operation, and how long was computed before it.
struct Said {
  std::string what;
  std::int64_t computed = 0;  // ps
  int merged = 0;             // operations
};

// The exceptions that docs/dimemas.md names: a receive has the source, tag and bytes of what it took, one of MPI_Sendrecv does not block, a
// persistent request is one of MPI_Isend (of MPI_Ibsend and so on) or MPI_Irecv, what is ended by one call and the next is ended; no probes, no regions, no MPI_Init.
class Program {
 public:
  Program(traces::TraceReader& t, std::uint32_t rank, const Took& took) : took_(took), rank_(rank) {
    traces::OpBlock block;
    t.rewind();
    while (t.next_block(RankId(rank), block).value())
      for (const Op& op : block.ops) add(op, block.list(op), index_++);
    flush();
    say("the end");
  }
  [[nodiscard]] const std::vector<Said>& said() const { return said_; }

 private:
  void say(const std::string& what) {
    flush();
    said_.push_back({what, computed_, 1});
    computed_ = 0;
  }
  void flush() {
    if (ended_.empty()) return;
    std::string what = "ends";
    for (const std::string& e : ended_) what += " (" + e + ")";
    const auto merged = static_cast<int>(ended_.size());
    ended_.clear();
    said_.push_back({what, computed_, merged});
    computed_ = 0;
  }
  std::string received(std::uint32_t request) const {
    const auto it = took_.find({rank_, index_ - 1, request});
    return it == took_.end() ? "nothing" : it->second;
  }
  void post(std::uint32_t slot, const std::string& what) {
    say(what);
    requests_[slot] = what;
  }
  void receive(std::uint32_t slot, CommId comm) {
    post(slot, fmt::format("irecv {} comm {}", received(slot), comm.index()));
  }
  static std::string sent(std::string_view name, const Op& op) {
    return fmt::format("{} {} tag {} {} B comm {}", name, op.peer, op.tag, op.amount, op.comm.index());
  }
  void start(std::uint32_t slot) {
    const Op& made = made_[slot];
    if (made.kind == OpKind::recv_init)
      receive(slot, made.comm);
    else if (made.peer != traces::kProcNull)
      post(slot, sent(std::string("i") +
                          (made.kind == OpKind::ssend_init   ? "s"
                           : made.kind == OpKind::bsend_init ? "b"
                           : made.kind == OpKind::rsend_init ? "r"
                                                             : "") +
                          "send",
                      made));
  }
  void add(const Op& op, std::span<const std::int64_t> list, std::uint64_t index) {
    index_ = index + 1;
    const OpKind k = op.kind;
    if (k == OpKind::compute_time || k == OpKind::sleep) {
      computed_ += op.amount;
    } else if (k == OpKind::sendrecv) {
      receive(traces::kNoRequest, op.comm);
      say(sent("send", op));
      ended_.insert(requests_[traces::kNoRequest]);
    } else if (traces::is_blocking_send(k)) {
      say(sent(traces::op_name(k), op));
    } else if (traces::is_nonblocking_send(k)) {
      post(op.request, sent(traces::op_name(k), op));
    } else if (k == OpKind::recv && !traces::is_receive_half(op)) {
      say(fmt::format("recv {} comm {}", received(traces::kNoRequest), op.comm.index()));
    } else if (k == OpKind::irecv) {
      receive(op.request, op.comm);
    } else if (traces::makes_persistent_request(k)) {
      made_[op.request] = op;
    } else if (k == OpKind::start) {
      start(op.request);
    } else if (k == OpKind::startall) {
      for (const std::int64_t slot : list) start(static_cast<std::uint32_t>(slot));
    } else if (traces::is_completion(k)) {
      std::int64_t one = 0;
      for (const std::int64_t slot : traces::completed_requests(op, list, one))
        if (const auto it = requests_.find(static_cast<std::uint32_t>(slot)); it != requests_.end())
          ended_.insert(it->second);
    } else if (traces::is_collective(k)) {
      const bool carries = traces::blocking_form(k) != OpKind::barrier;
      std::string what = fmt::format("{} root {} {} B comm {}", traces::op_name(k), op.peer,
                                     carries ? op.amount : 0, op.comm.index());
      for (const std::int64_t v : list) what += fmt::format(" {}", v);
      traces::is_nonblocking_collective(k) ? post(op.request, what) : say(what);
    } else if (traces::is_comm_create(k)) {
      say(fmt::format("{} comm {} makes {}", traces::op_name(k), op.comm.index(), op.amount));
    } else if (k == OpKind::finalize) {
      say("finalize");
    }
  }

  const Took& took_;
  std::uint32_t rank_;
  std::uint64_t index_ = 0;
  std::int64_t computed_ = 0;
  std::multiset<std::string> ended_;
  std::map<std::uint32_t, std::string> requests_;
  std::map<std::uint32_t, Op> made_;
  std::vector<Said> said_;
};

void expect_the_same_program(traces::TraceReader& t, const Took& a, traces::TraceReader& u, const Took& b) {
  ASSERT_EQ(t.header().ranks, u.header().ranks);
  for (std::uint32_t r = 0; r < t.header().ranks; ++r) {
    SCOPED_TRACE("rank " + std::to_string(r));
    const Program of_t(t, r, a), of_u(u, r, b);
    const auto &x = of_t.said(), &y = of_u.said();
    for (std::size_t i = 0; i < std::min(x.size(), y.size()); ++i) {
      ASSERT_EQ(x[i].what, y[i].what) << i;
      ASSERT_NEAR(static_cast<double>(x[i].computed), static_cast<double>(y[i].computed),
                  1000.0 * x[i].merged)
          << i << " " << x[i].what;
    }
    ASSERT_EQ(x.size(), y.size());
  }
}

void expect_a_round_trip(traces::TraceReader& t, const topology::Platform& platform,
                         replay::RawMode mode = replay::RawMode::kOff) {
  const OneRun first = run(t, platform, mode);
  std::vector<std::uint32_t> nodes;
  for (std::uint32_t n = 0; n < t.header().ranks; ++n) nodes.push_back(n / 2);
  const support::TempDir dir;
  const std::string prv = paraver_texts(first.timeline, nodes, t.communicators()).prv;
  auto read = traces::open_trace({dir.write("t.prv", prv)});
  ASSERT_TRUE(read) << read.error().message();
  const OneRun second = run(**read, platform, mode);
  ASSERT_EQ(t.communicators().size(), (*read)->communicators().size());
  for (std::size_t c = 0; c < t.communicators().size(); ++c)
    EXPECT_EQ(t.communicators()[c].members, (*read)->communicators()[c].members);
  expect_the_same_program(t, first.took, **read, second.took);
  // Each computation on the way is less than a nanosecond off, and so are all of a rank together.
  EXPECT_NEAR(to_seconds(second.makespan), to_seconds(first.makespan), 20e-9);
}

const topology::Platform& platform(std::uint64_t i) {
  static const std::vector<topology::Platform> all = [] {
    std::vector<topology::Platform> p;
    for (const char* spec : {"crossbar:n=16,bw=10GB/s,lat=1us", "fat-tree:m=4,n=3,bw=10GB/s,lat=300ns",
                             "torus:dims=4x4,bw=10GB/s,lat=0"})
      p.push_back(topology::load_platform(spec).value());
    for (std::size_t n = p.size(), k = 0; k < n; ++k) {  // and with the time that calls take
      p.push_back(topology::load_platform("crossbar:n=16,bw=10GB/s,lat=1us").value());
      p.back().mpi.send_overhead = p.back().mpi.recv_overhead = Duration(700'000 + 300 * static_cast<int>(k));
    }
    return p;
  }();
  return all[i % all.size()];
}

TEST(ParaverRoundTrip, OfRandomProgramsOfAllThatARankCanDo) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const replay::RawMode mode = kModes[seed / 2 % 4];
    // In the others a message that is probed for comes otherwise than one that a receive waits for.
    RandomProgram p(seed, RandomProgram::Collectives::kAll, mode == replay::RawMode::kOff);
    expect_a_round_trip(p.trace(), platform(seed), mode);
    if (HasFatalFailure() || HasNonfatalFailure()) return;
  }
}

TEST(ParaverRoundTrip, OfRandomExchangesWithWildcards) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    testing::Program p = testing::well_formed(seed);
    expect_a_round_trip(p.trace, platform(seed), kModes[seed / 2 % 4]);
    if (HasFatalFailure() || HasNonfatalFailure()) return;
  }
}

// Ranks 3, 1, 0 in this order: messages of one source, destination and tag are told apart by their communicators; every collective
// with its root and sizes.
TEST(ParaverRoundTrip, OfMessagesAndCollectivesOfACommunicator) {
  MemoryTrace t(4);
  const CommId three = t.add_comm("three", {3, 1, 0}), twin = t.add_comm("twin", {0, 1, 3});
  const std::uint32_t members[] = {3, 1, 0};
  for (std::uint32_t r = 0; r < 4; ++r) {
    t.compute(r, Duration(100'000 * static_cast<int>(r)));
    t.add(r, {.kind = OpKind::comm_split, .amount = r == 2 ? -1 : 1});
  }
  for (const std::uint32_t r : members) {
    t.add(r, {.kind = OpKind::comm_dup, .comm = three, .amount = 2});
    t.add(r, {.kind = OpKind::comm_create_group, .amount = 2});
  }
  for (const CommId comm : {CommId(0), three, twin})
    t.p2p(3, OpKind::isend, 1, 4, 100 + comm.index(), comm, comm.index());
  for (const CommId comm : {twin, CommId(0), three}) t.p2p(1, OpKind::irecv, 3, 4, 1000, comm, comm.index());
  for (const std::uint32_t r : {3u, 1u}) {
    Op all{.kind = OpKind::waitall};
    t.add(r, all, {0, 1, 2});
  }
  Op init{.kind = OpKind::send_init, .comm = three, .peer = 0, .tag = 9, .amount = 5000, .request = 7};
  t.add(3, init);
  init.peer = 1;
  init.request = 8;
  t.add(3, init);
  t.add(0, {.kind = OpKind::recv_init, .comm = three, .peer = 3, .tag = 9, .amount = 5000, .request = 2});
  for (int i = 0; i < 2; ++i) {
    t.compute(3, Duration(1'000'000));
    t.add(3, {.kind = OpKind::startall}, {7});
    t.add(3, {.kind = OpKind::start, .request = 8});
    t.add(3, {.kind = OpKind::waitall}, {8, 7});
    t.add(0, {.kind = OpKind::startall}, {2});
    t.wait(0, 2);
    t.p2p(1, OpKind::recv, 3, 9, 5000, three);
  }
  const auto all = [&](OpKind kind, std::int32_t root, std::vector<std::int64_t> amounts,
                       const std::vector<std::vector<std::int64_t>>& lists = {}) {
    for (std::size_t i = 0; i < 3; ++i) {
      Op op{.kind = kind, .comm = three, .peer = root, .amount = amounts[amounts.size() == 1 ? 0 : i]};
      if (traces::is_nonblocking_collective(kind)) op.request = 20;
      t.add(members[i], op, lists.empty() ? std::vector<std::int64_t>() : lists[i]);
      if (traces::is_nonblocking_collective(kind)) t.wait(members[i], 20);
    }
  };
  constexpr std::int32_t kNone = traces::kAnySource;
  for (const OpKind k : {OpKind::barrier, OpKind::ibarrier}) all(k, kNone, {0});
  for (const std::int32_t root : {0, 1, 3})
    for (const OpKind k : {OpKind::bcast, OpKind::reduce, OpKind::gather, OpKind::scatter, OpKind::ibcast,
                           OpKind::ireduce, OpKind::igather, OpKind::iscatter})
      all(k, root, {60});
  for (const OpKind k : {OpKind::allgather, OpKind::alltoall, OpKind::allreduce, OpKind::scan, OpKind::exscan,
                         OpKind::reduce_scatter_block, OpKind::iallgather, OpKind::ialltoall,
                         OpKind::iallreduce, OpKind::iscan, OpKind::iexscan, OpKind::ireduce_scatter_block})
    all(k, kNone, {60});
  const std::vector<std::int64_t> sizes{10, 20, 30};
  for (const OpKind k : {OpKind::gatherv, OpKind::scatterv, OpKind::igatherv, OpKind::iscatterv})
    all(k, 1, sizes, {{}, sizes, {}});
  for (const OpKind k : {OpKind::allgatherv, OpKind::iallgatherv})
    all(k, kNone, sizes, {sizes, sizes, sizes});
  for (const OpKind k : {OpKind::reduce_scatter, OpKind::ireduce_scatter})
    all(k, kNone, {60}, {sizes, sizes, sizes});
  for (const std::uint64_t i : {0u, 3u}) expect_a_round_trip(t, platform(i));
}

Op to_start(OpKind kind, CommId comm, std::int32_t peer, std::int32_t tag, std::int64_t bytes,
            std::uint32_t request) {
  return {.kind = kind, .comm = comm, .peer = peer, .tag = tag, .amount = bytes, .request = request};
}

// Of one source, destination and tag: on the communicator of another each receive would have the other's message. One is to nobody.
TEST(ParaverRoundTrip, OfRequestsOfTwoCommunicatorsThatAreStartedTogether) {
  MemoryTrace t(2);
  const CommId world(0), twin = t.add_comm("twin", {0, 1});
  for (std::uint32_t r = 0; r < 2; ++r) t.add(r, {.kind = OpKind::comm_dup, .amount = 1});
  t.add(0, to_start(OpKind::send_init, world, 1, 4, 8, 0));
  t.add(0, to_start(OpKind::send_init, world, traces::kProcNull, 4, 8, 5));
  t.add(0, to_start(OpKind::send_init, twin, 1, 4, 1'000'000, 1));
  t.add(1, to_start(OpKind::recv_init, twin, 0, 4, 1'000'000, 0));
  t.add(1, to_start(OpKind::recv_init, world, 0, 4, 8, 1));
  for (int i = 0; i < 3; ++i) {
    t.compute(0, Duration(1'000'000));
    t.add(0, {.kind = OpKind::startall}, {0, 5, 1});
    t.add(0, {.kind = OpKind::waitall}, {5, 1});
    t.compute(0, Duration(1'000'000));
    t.wait(0, 0);
    if (i == 0) {
      t.p2p(1, OpKind::recv, 0, 4, 1'000'000, twin);
      t.p2p(1, OpKind::recv, 0, 4, 8, world);
      continue;
    }
    t.add(1, {.kind = OpKind::startall}, {0, 1});
    t.add(1, {.kind = OpKind::waitall}, {0, 1});
  }
  for (const std::uint64_t i : {0u, 3u})
    for (const replay::RawMode mode : kModes) expect_a_round_trip(t, platform(i), mode);
}

// Two ranks that wait for their sends before they receive: only buffered ones end. One of no bytes that is synchronous ends with its
// receive. The long one is the last of those that are started together: they leave when the time that all calls take is over, but one after
// the other where each has a call.
TEST(ParaverRoundTrip, OfStartedSendsOfAllModes) {
  MemoryTrace t(2);
  const CommId world(0);
  for (std::uint32_t r = 0; r < 2; ++r) {
    const auto other = static_cast<std::int32_t>(1 - r);
    t.add(r, to_start(OpKind::bsend_init, world, other, 0, 200'000, 0));
    t.add(r, to_start(OpKind::ssend_init, world, other, 1, 0, 1));
    t.add(r, to_start(OpKind::rsend_init, world, other, 2, 10, 2));
    t.add(r, to_start(OpKind::recv_init, world, other, 1, 0, 3));
    t.add(r, to_start(OpKind::recv_init, world, other, 2, 10, 4));
  }
  for (int i = 0; i < 2; ++i)
    for (std::uint32_t r = 0; r < 2; ++r) {
      const auto other = static_cast<std::int32_t>(1 - r);
      t.compute(r, Duration(1'000'000 + 3'000'000 * r));
      t.add(r, {.kind = OpKind::start, .request = 0});
      t.wait(r, 0);
      t.p2p(r, OpKind::recv, other, 0, 200'000);
      t.add(r, {.kind = OpKind::startall}, {3, 1});
      t.add(r, {.kind = OpKind::waitall}, {3, 1});
      t.add(r, {.kind = OpKind::startall}, {1, 3, 4, 2, 0});
      t.p2p(r, OpKind::recv, other, 0, 200'000);
      t.add(r, {.kind = OpKind::waitall}, {0, 1, 2, 3, 4});
    }
  for (const std::uint64_t i : {0u, 3u}) expect_a_round_trip(t, platform(i));
}

// By hand: rank 0 waits 50 us for its accelerator, beside which it computes 20, and rank 1 for the message after that.
TEST(ParaverRoundTrip, WhatARankWaitsForItsAcceleratorIsComputation) {
  MemoryTrace t(2);
  t.add(0, {.kind = OpKind::launch, .request = 1},
        {static_cast<std::int64_t>(traces::Kernel::device_dgemm), 70, 1, 1});
  t.compute(0, Duration(20'000'000));
  t.wait(0, 1);
  t.p2p(0, OpKind::send, 1, 3, 1000);
  t.p2p(1, OpKind::recv, 0, 3, 1000);
  const auto with_accelerators = testing::platform_of_text(
      "topology { family: \"crossbar\" set: \"n=2\" set: \"bw=1GB/s\" set: \"lat=1us\" }\n"
      "host { kernel { name: \"device_dgemm\" mnk: \"1us\" } }\n");
  const OneRun first = run(t, with_accelerators);
  ASSERT_FALSE(first.timeline.lanes.empty());
  const support::TempDir dir;
  auto read =
      traces::open_trace({dir.write("t.prv", paraver_texts(first.timeline, {0, 1}, t.communicators()).prv)});
  ASSERT_TRUE(read) << read.error().message();
  const OneRun second = run(**read, with_accelerators);
  const auto of_0 = Program(**read, 0, second.took).said();
  ASSERT_EQ(of_0.size(), 2u);
  EXPECT_EQ(of_0[0].what, "send 1 tag 3 1000 B comm 0");
  EXPECT_EQ(of_0[0].computed, 70'000'000);
  EXPECT_EQ(second.makespan, first.makespan);
}

}  // namespace
}  // namespace weft::report::paraver_round_trip_test
