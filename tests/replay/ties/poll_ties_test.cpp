// A message that can be seen at the very instant of a poll: found or not by instants alone (docs/model.md, "Probes as conditional
// steps"), whichever way a trace is replayed. Random programs on clocks that tick in whole microseconds, where such ties are the rule:
// computations, latencies, overheads, polls and transfers of messages all take a few of them or no time. By hand, the same rule
// case by case. WEFT_SEED=N runs one seed.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "core/rng.hpp"
#include "replay/engine.hpp"
#include "tests/replay/microseconds.hpp"
#include "tests/replay/ties/tie_ways.hpp"
#include "tests/support/memory_trace.hpp"
#include "tests/support/seed.hpp"

namespace weft::replay {
namespace {

using testing::MemoryTrace;
using traces::Op;
using traces::OpKind;

// One that missed: the hit of its run stands `to_hit` operations further on. The hit itself: `body` operations belong to it.
Op poll(std::int32_t from, std::int32_t tag, std::int64_t polls, bool hit) {
  Op op;
  op.kind = OpKind::iprobe;
  op.peer = from;
  op.tag = tag;
  op.amount = polls;
  op.flags = hit ? traces::kHit : 0;
  return op;
}
void missed(MemoryTrace& t, std::uint32_t r, std::int32_t from, std::int32_t tag, std::int64_t to_hit,
            std::int64_t polls = 1) {
  t.add(r, poll(from, tag, polls, false), {to_hit});
}
void hit(MemoryTrace& t, std::uint32_t r, std::int32_t from, std::int32_t tag, std::int64_t body,
         std::int64_t bytes) {
  t.add(r, poll(from, tag, 1, true), {0, body, std::max(from, 0), tag, bytes});
}

// ---- Random programs. Each step could happen before the next one, so none deadlocks, wherever polls find their messages.
class TieProgram {
 public:
  explicit TieProgram(std::uint64_t seed)
      : rng_(seed),
        ranks_(static_cast<std::uint32_t>(2 + rng_.below(4))),
        trace_(ranks_),
        open_(ranks_),
        slots_(ranks_),
        any_source_(one_in(6)) {
    for (std::uint64_t steps = 4 + rng_.below(24); steps > 0; --steps) {
      for (std::uint32_t r = 0; r < ranks_; ++r) work(r, 2);
      step();
    }
    for (std::uint32_t r = 0; r < ranks_; ++r) {
      wait(r, open_[r].size());
      work(r, 2);
    }
  }
  [[nodiscard]] MemoryTrace& trace() { return trace_; }
  [[nodiscard]] Rng& rng() { return rng_; }

 private:
  std::uint32_t any() { return static_cast<std::uint32_t>(rng_.below(ranks_)); }
  bool one_in(std::uint64_t n) { return rng_.below(n) == 0; }
  std::int64_t bytes() {
    constexpr std::array<std::int64_t, 8> kSizes{0, 0, 1, 1000, 1000, 2000, 3000, 6000};
    return kSizes[rng_.below(kSizes.size())];
  }
  void work(std::uint32_t r, std::uint64_t most) {
    constexpr std::array<std::int64_t, 8> kTimes{0, 0, 1, 1, 2, 2, 3, 6};
    for (std::uint64_t n = rng_.below(most + 1); n > 0; --n) {
      trace_.compute(r, us(kTimes[rng_.below(kTimes.size())]));
    }
  }
  void wait(std::uint32_t r, std::size_t most) {
    auto& open = open_[r];
    const std::size_t n = std::min(most, open.size());
    if (n == 0) return;
    Op op;
    op.kind = one_in(3) ? OpKind::testall : OpKind::waitall;
    trace_.add(r, op, {open.begin(), open.begin() + static_cast<std::ptrdiff_t>(n)});
    open.erase(open.begin(), open.begin() + static_cast<std::ptrdiff_t>(n));
  }
  std::uint32_t slot(std::uint32_t r) {
    open_[r].push_back(slots_[r]);
    return slots_[r]++;
  }
  void send(std::uint32_t from, std::uint32_t to, std::int32_t tag, std::int64_t size) {
    constexpr std::array kBlocking{OpKind::send, OpKind::ssend, OpKind::bsend};
    constexpr std::array kOthers{OpKind::isend, OpKind::issend};
    const auto peer = static_cast<std::int32_t>(to);
    if (one_in(2))
      trace_.p2p(from, kBlocking[rng_.below(kBlocking.size())], peer, tag, size);
    else
      trace_.p2p(from, kOthers[rng_.below(kOthers.size())], peer, tag, size, CommId(0), slot(from));
  }
  void step() {
    if (one_in(12)) {
      const std::int64_t size = bytes();
      for (std::uint32_t r = 0; r < ranks_; ++r)
        trace_.collective(r, size == 0 ? OpKind::barrier : OpKind::allreduce, traces::kAnySource, size,
                          CommId(0));
      return;
    }
    const std::uint32_t from = any(), to = any();
    if (from == to) return wait(to, 1 + rng_.below(2));
    const auto source = static_cast<std::int32_t>(from);
    const auto tag = static_cast<std::int32_t>(rng_.below(2));
    const std::int32_t polled = any_source_ ? traces::kAnySource : source;
    const std::int64_t size = bytes();
    if (one_in(4)) {  // no polls
      send(from, to, 2, size);
      if (one_in(2))
        trace_.p2p(to, OpKind::recv, source, 2, size);
      else
        trace_.p2p(to, OpKind::irecv, source, 2, size, CommId(0), slot(to));
      return;
    }
    // Polls between pieces of work; a message that the rank waits for between them, too, now and then.
    const bool other = one_in(3);
    const std::uint32_t third = any();
    if (other && third != to) send(third, to, 3, bytes());
    const bool late = one_in(3);  // the send stands after what is received between the polls
    if (!late) send(from, to, tag, size);
    const auto polls = static_cast<std::int64_t>(rng_.below(6));
    std::vector<std::pair<std::int64_t, std::int64_t>>
        run;            // operations of the run before a poll, how many polls it is
    Rng pieces = rng_;  // the distances are written first: the run is made up twice, of the same numbers
    const auto make = [&](Rng& rng, auto&& computes, auto&& looks, auto&& receives) {
      std::int64_t at = 0;
      const auto some = [&] {
        for (std::uint64_t n = rng.below(3); n > 0; --n, ++at)
          computes(static_cast<std::int64_t>(std::array{0, 1, 1, 2, 3}[rng.below(5)]));
      };
      for (std::int64_t i = 0; i < polls; ++i) {
        looks(at, rng.below(6) == 0 ? 2 : 1);
        ++at;
        some();
        if (i == polls / 2 && other && third != to) receives(), ++at;
      }
      if (polls == 0 && other && third != to) receives(), ++at;
      some();
      return at;
    };
    Rng again = pieces;
    const std::int64_t length = make(
        pieces, [](std::int64_t) {}, [](std::int64_t, std::int64_t) {}, [] {});
    make(
        again, [&](std::int64_t n) { trace_.compute(to, us(n)); },
        [&](std::int64_t at, std::int64_t n) { missed(trace_, to, polled, tag, length - at, n); },
        [&] { trace_.p2p(to, OpKind::recv, static_cast<std::int32_t>(third), 3, 6000); });
    rng_ = again;
    if (late) send(from, to, tag, size);
    body(to, source, polled, tag, size);
  }
  void body(std::uint32_t to, std::int32_t source, std::int32_t polled, std::int32_t tag, std::int64_t size) {
    const bool computes = one_in(2);
    const std::uint32_t next = any();
    const bool forwards = one_in(3) && next != to;
    hit(trace_, to, polled, tag, 1 + (computes ? 1 : 0) + (forwards ? 1 : 0), size);
    trace_.p2p(to, OpKind::recv, source, tag, size);
    if (computes) trace_.compute(to, us(static_cast<std::int64_t>(rng_.below(3))));
    if (!forwards) return;
    const std::int64_t n = bytes();
    trace_.p2p(to, OpKind::isend, static_cast<std::int32_t>(next), 4, n, CommId(0), slot(to));
    trace_.p2p(next, OpKind::recv, static_cast<std::int32_t>(to), 4, n);
  }

  Rng rng_;
  std::uint32_t ranks_;
  MemoryTrace trace_;
  std::vector<std::vector<std::uint32_t>> open_;  // requests, by rank
  std::vector<std::uint32_t> slots_;
  bool any_source_;  // of polls: replayed by events
};

TEST(PollTies, AreDecidedAlikeInAllWays) {
  std::uint64_t ahead = 0, finished = 0;
  for (const std::uint64_t seed : support::seeds_to(support::number_in("WEFT_SEEDS").value_or(400))) {
    SCOPED_TRACE("WEFT_SEED=" + std::to_string(seed));
    TieProgram program(seed);
    const Setting s = setting(program.rng(), program.trace().header().ranks);
    const ReplayResult plain = expect_alike(program.trace(), s);
    ahead += plain.way != ReplayWay::kEvents ? 1 : 0;
    finished += plain.finished ? 1 : 0;
    if (::testing::Test::HasFailure()) return;
  }
  if (!support::number_in("WEFT_SEED")) {
    EXPECT_GT(ahead, 100u);
    EXPECT_GT(finished, 100u);
  }
}

// ---- By hand. Rank 1 does something until it polls for a message of rank 0; a poll that misses is followed by a millisecond of
// work. At the body it receives the message and tells rank 2, which is done then. 1 GB/s, so a KB takes 1 us.
constexpr std::int64_t kMiss = 1000;  // us

void look(MemoryTrace& t, std::int64_t bytes) {
  missed(t, 1, 0, 1, 2);
  t.compute(1, us(kMiss));
  hit(t, 1, 0, 1, 2, bytes);
  t.p2p(1, OpKind::recv, 0, 1, bytes);
  t.p2p(1, OpKind::bsend, 2, 2, 0);
  t.p2p(2, OpKind::recv, 1, 2, 0);
}

// In every way rank 2 is told at `told` us, and a millisecond later if the poll does not find the message.
void expect_told(MemoryTrace& t, bool found, std::int64_t told, const std::string& lat = "0",
                 RawMode raw = RawMode::kOff, Duration recv_overhead = Duration(0)) {
  SCOPED_TRACE(found ? "found" : "missed");
  auto p = topology::load_platform("crossbar:n=3,bw=1GB/s,lat=" + lat).value();
  p.mpi.eager_limit = Bytes(65536);
  p.mpi.recv_overhead = recv_overhead;
  for (const Way& way : kWays) {
    ReplayOptions o;
    o.raw = raw;
    way.change(o);
    t.rewind();
    const ReplayResult r = replayed(t, p, o);
    ASSERT_TRUE(r.finished) << way.what;
    EXPECT_EQ(r.ranks[2].finish, us(told + (found ? 0 : kMiss))) << way.what;
  }
}

TEST(PollTies, AMessageThatIsSentAtTheInstantIsMissed) {
  for (const RawMode raw : {RawMode::kDetached, RawMode::kRendezvous, RawMode::kOff}) {
    MemoryTrace t(3);
    t.p2p(0, OpKind::send, 1, 1, 100'000);
    look(t, 100'000);
    expect_told(t, false, 100, "0", raw);
  }
  for (const RawMode raw : {RawMode::kEager, RawMode::kOff}) {  // of no bytes: there as soon as it is sent
    MemoryTrace t(3);
    for (const std::uint32_t r : {0u, 1u}) t.compute(r, us(3));
    t.p2p(0, OpKind::send, 1, 1, 0);
    look(t, 0);
    expect_told(t, false, 3, "0", raw);
  }
}

// Sent at 2, there at 4; the last piece of work ends at 4, too.
TEST(PollTies, AfterAComputationItIsFoundIfItWasSentBeforeThatBegan) {
  for (const std::int64_t last : {1, 2, 3, 4}) {
    const auto sent = [&](std::int64_t bytes) {
      MemoryTrace t(3);
      t.compute(0, us(2));
      t.p2p(0, OpKind::send, 1, 1, bytes);
      t.compute(1, us(4 - last));
      t.compute(1, us(last));
      look(t, bytes);
      return t;
    };
    SCOPED_TRACE(last);
    const bool found = last < 2;
    MemoryTrace request = sent(100'000);  // takes 2 us, as do permission, latency, and the message to rank 2
    expect_told(request, found, 4 + 2 + 2 + 100 + 2, "1us");
    for (const RawMode raw : {RawMode::kDetached, RawMode::kRendezvous})
      expect_told(request, found, 4 + 2 + 100 + 2, "1us", raw);
    MemoryTrace data = sent(2000);
    expect_told(data, found, 4);
    expect_told(data, found, 4, "0", RawMode::kEager);
  }
}

// What comes at that instant is decided anew by flows that share a link: 3 KB from 0 on, another KB from 1 on.
TEST(PollTies, EndsThatMovedAreThereToo) {
  MemoryTrace t(3);
  t.p2p(0, OpKind::send, 1, 1, 3000);
  t.compute(2, us(1));
  t.p2p(2, OpKind::bsend, 1, 3, 1000);
  t.compute(1, us(1));
  t.compute(1, us(3));
  look(t, 3000);
  t.p2p(1, OpKind::recv, 2, 3, 1000);
  expect_told(t, true, 4);
}

TEST(PollTies, AfterAWaitItIsFoundIfItWasSentBeforeThatBegan) {
  for (const bool found : {true, false}) {
    MemoryTrace t(3);  // waits from 1 to 4
    if (!found) t.compute(0, us(1));
    t.p2p(0, OpKind::send, 1, 1, found ? 4000 : 3000);
    t.compute(2, us(4));
    t.p2p(2, OpKind::bsend, 1, 3, 0);
    t.compute(1, us(1));
    t.p2p(1, OpKind::recv, 2, 3, 0);
    look(t, found ? 4000 : 3000);
    expect_told(t, found, 4);
  }
}

TEST(PollTies, ACollectiveIsOneThingThatARankDoes) {
  for (const bool found : {true, false}) {
    MemoryTrace t(3);  // in the barrier from 1 to 4
    if (!found) t.compute(0, us(1));
    t.p2p(0, OpKind::bsend, 1, 1, found ? 4000 : 3000);
    t.compute(0, us(found ? 4 : 3));
    t.compute(1, us(1));
    t.compute(2, us(2));
    for (const std::uint32_t r : {0u, 1u, 2u})
      t.collective(r, OpKind::barrier, traces::kAnySource, 0, CommId(0));
    look(t, found ? 4000 : 3000);
    expect_told(t, found, 4);
  }
}

TEST(PollTies, SoIsTheProcessorTimeOfAllThatAWaitCompletes) {
  for (const bool found : {true, false}) {
    MemoryTrace t(3);  // two receives of 1 us each, from 2 to 4
    t.compute(0, us(found ? 1 : 2));
    t.p2p(0, OpKind::send, 1, 1, found ? 3000 : 2000);
    for (const std::uint32_t request : {0u, 1u}) {
      t.p2p(2, OpKind::bsend, 1, 3, 0);
      t.p2p(1, OpKind::irecv, 2, 3, 0, CommId(0), request);
    }
    t.compute(1, us(2));
    t.add(1, {.kind = OpKind::waitall}, {0, 1});
    look(t, found ? 3000 : 2000);
    expect_told(t, found, 4 + 1 + 1, "0", RawMode::kOff, us(1));
  }
}

}  // namespace
}  // namespace weft::replay
