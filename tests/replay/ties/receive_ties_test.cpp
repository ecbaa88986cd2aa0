// Messages of several senders that come at one instant: which of them a receive from any source takes, and what a cancel takes back,
// is decided by times and ranks alone (docs/model.md, "Matching"), whichever way a trace is replayed and in whatever order its events
// happen. Random programs on clocks that tick in whole microseconds, where such ties are the rule; by hand, the rule case by
// case. WEFT_SEED=N runs one seed.
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
using traces::kAnySource;
using traces::kAnyTag;
using traces::Op;
using traces::OpKind;

// ---- Random programs: who receives takes as many messages as it is sent, mostly from any source. `pieces`: every computation is
// that many, which is the same program on other events.
class WildProgram {
 public:
  WildProgram(std::uint64_t seed, std::int64_t pieces)
      : rng_(seed),
        pieces_(pieces),
        ranks_(static_cast<std::uint32_t>(3 + rng_.below(4))),
        trace_(ranks_),
        open_(ranks_),
        slots_(ranks_),
        exact_(one_in(3)),
        cancels_(one_in(3)) {
    for (std::uint64_t steps = 3 + rng_.below(16); steps > 0; --steps) {
      for (std::uint32_t r = 0; r < ranks_; ++r) work(r);
      step();
    }
    for (std::uint32_t r = 0; r < ranks_; ++r) {
      wait(r, open_[r].size());
      work(r);
    }
  }
  [[nodiscard]] MemoryTrace& trace() { return trace_; }
  [[nodiscard]] Rng& rng() { return rng_; }

 private:
  bool one_in(std::uint64_t n) { return rng_.below(n) == 0; }
  std::uint32_t any() { return static_cast<std::uint32_t>(rng_.below(ranks_)); }
  std::int64_t bytes() {
    constexpr std::array<std::int64_t, 8> kSizes{0, 0, 1000, 1000, 2000, 2000, 3000, 6000};
    return kSizes[rng_.below(kSizes.size())];
  }
  void work(std::uint32_t r) {
    constexpr std::array<std::int64_t, 6> kTimes{0, 0, 0, 1, 1, 3};
    const std::int64_t n = kTimes[rng_.below(kTimes.size())];
    for (std::int64_t i = 0; n > 0 && i < pieces_; ++i) trace_.compute(r, Duration(n * kMicro / pieces_));
  }
  std::uint32_t slot(std::uint32_t r) {
    open_[r].push_back(slots_[r]);
    return slots_[r]++;
  }
  void wait(std::uint32_t r, std::size_t most) {
    auto& open = open_[r];
    const auto n = static_cast<std::ptrdiff_t>(std::min(most, open.size()));
    if (n == 0) return;
    Op op;
    op.kind = OpKind::waitall;
    trace_.add(r, op, {open.begin(), open.begin() + n});
    open.erase(open.begin(), open.begin() + n);
  }
  void send(std::uint32_t from, std::uint32_t to, std::int32_t tag) {
    constexpr std::array kKinds{OpKind::isend, OpKind::isend, OpKind::issend, OpKind::bsend, OpKind::send};
    const OpKind kind = kKinds[rng_.below(kKinds.size())];
    const bool blocking = kind == OpKind::bsend || kind == OpKind::send;
    trace_.p2p(from, kind, static_cast<std::int32_t>(to), tag, bytes(), CommId(0),
               blocking ? traces::kNoRequest : slot(from));
  }
  void receive(std::uint32_t r, std::int32_t source, std::int32_t tag) {
    if (one_in(6)) {
      Op op;
      op.kind = OpKind::probe;
      op.peer = one_in(2) ? source : kAnySource;
      op.tag = tag;
      trace_.add(r, op);
    }
    if (one_in(2))
      trace_.p2p(r, OpKind::recv, source, tag, 6000);
    else
      trace_.p2p(r, OpKind::irecv, source, tag, 6000, CommId(0), slot(r));
  }
  // A receive that may be taken back before its message comes.
  void cancel(std::uint32_t from, std::uint32_t to) {
    const std::uint32_t request = slots_[to]++;
    trace_.p2p(to, OpKind::irecv, one_in(2) ? kAnySource : static_cast<std::int32_t>(from), 9, 6000,
               CommId(0), request);
    work(to);
    trace_.p2p(from, OpKind::bsend, static_cast<std::int32_t>(to), 9, bytes());
    Op op;
    op.kind = OpKind::cancel;
    op.request = request;
    trace_.add(to, op);
    trace_.wait(to, request);
  }
  void step() {
    if (one_in(10)) {
      for (std::uint32_t r = 0; r < ranks_; ++r)
        trace_.collective(r, OpKind::barrier, traces::kAnySource, 0, CommId(0));
      return;
    }
    const std::uint32_t to = any();
    if (one_in(5)) return wait(to, 1 + rng_.below(3));
    if (cancels_ && one_in(3)) {
      const std::uint32_t from = any();
      if (from != to) cancel(from, to);
      return;
    }
    const auto tag = static_cast<std::int32_t>(rng_.below(2));
    std::vector<std::uint32_t> from;
    for (std::uint64_t n = 1 + rng_.below(5); n > 0; --n)
      if (const std::uint32_t r = any(); r != to) from.push_back(r);
    const bool first = one_in(2);  // the sends; else they stand after some receives that do not block
    if (first)
      for (const std::uint32_t r : from) work(r), send(r, to, tag);
    for (const std::uint32_t r : from) {
      const std::int32_t source = exact_ && one_in(3) ? static_cast<std::int32_t>(r) : kAnySource;
      const std::int32_t with = one_in(4) ? kAnyTag : tag;
      if (first)
        receive(to, source, with);
      else
        trace_.p2p(to, OpKind::irecv, source, with, 6000, CommId(0), slot(to));
      if (one_in(3)) work(to);
    }
    if (!first)
      for (const std::uint32_t r : from) work(r), send(r, to, tag);
    if (const std::uint32_t next = any(); next != to && one_in(2)) {
      send(to, next, 4);
      trace_.p2p(next, OpKind::recv, static_cast<std::int32_t>(to), 4, 6000);
    }
  }

  Rng rng_;
  std::int64_t pieces_;
  std::uint32_t ranks_;
  MemoryTrace trace_;
  std::vector<std::vector<std::uint32_t>> open_;  // requests, by rank
  std::vector<std::uint32_t> slots_;
  bool exact_, cancels_;
};

TEST(ReceiveTies, AreDecidedAlikeInAllWays) {
  std::uint64_t finished = 0;
  for (const std::uint64_t seed : support::seeds_to(support::number_in("WEFT_SEEDS").value_or(400))) {
    SCOPED_TRACE("WEFT_SEED=" + std::to_string(seed));
    WildProgram program(seed, 1), pieces(seed, 4);
    const Setting s = setting(program.rng(), program.trace().header().ranks);
    const ReplayResult plain = expect_alike(program.trace(), s);
    const ReplayResult in_pieces = expect_alike(pieces.trace(), s);
    EXPECT_EQ(in_pieces.fingerprint, plain.fingerprint) << "computations in pieces";
    finished += plain.finished ? 1 : 0;
    if (::testing::Test::HasFailure()) return;
  }
  if (!support::number_in("WEFT_SEED")) {
    EXPECT_GT(finished, 200u);
  }
}

// ---- By hand. Rank 0 shares a host with rank 3, where a request takes `local` us; from ranks 1 and 2 it takes 1 us. All send
// so that they are at rank 3 at 4 us.
constexpr std::int64_t kThere = 4, kWay = 1;

MemoryTrace all_there(std::int64_t local) {
  MemoryTrace t(4);
  for (const std::uint32_t r : {2u, 1u, 0u}) {
    const std::int64_t at = kThere - (r == 0 ? local : kWay);
    if (r == 1)
      t.compute(r, us(1));  // in two pieces, so the event of its send is posted after that of rank 2's
    t.compute(r, us(r == 1 ? at - 1 : at));
    t.p2p(r, OpKind::issend, 3, static_cast<std::int32_t>(r), 0, CommId(0), 0);
    t.wait(r, 0);
  }
  return t;
}

// Who is received, in the order of the receives, in every way alike.
std::vector<int> received(MemoryTrace& t, std::int64_t local) {
  Setting s{topology::load_platform("crossbar:n=6,bw=1GB/s,lat=500ns").value(), {}, {}};
  s.platform.mpi.local_latency = us(local);
  for (const std::uint32_t host : {0u, 1u, 2u, 0u}) s.hosts.emplace_back(host);
  std::vector<int> first;
  for (const Way& way : kWays) {
    std::vector<std::pair<std::uint64_t, int>> by_op;
    s.options.on_match = [&](const MatchSeen& m) {
      by_op.emplace_back(m.op, static_cast<int>(m.source.index()));
    };
    EXPECT_TRUE(replayed_by(way, t, s).finished) << way.what;
    std::sort(by_op.begin(), by_op.end());
    std::vector<int> sources;
    for (const auto& [op, source] : by_op) sources.push_back(source);
    if (first.empty()) first = sources;
    EXPECT_EQ(sources, first) << way.what;
  }
  return first;
}

TEST(ReceiveTies, OfThoseThatComeAtOnceTheOneSentFirstIsTakenThenTheLowerRank) {
  for (const std::int64_t begins : {0, 3, 4, 5}) {  // before they come, at that instant, after it
    SCOPED_TRACE(begins);
    for (const std::int64_t local : {0, 1, 2}) {
      MemoryTrace t = all_there(local);
      if (begins > 0) t.compute(3, us(begins));
      for (int i = 0; i < 3; ++i) t.p2p(3, OpKind::recv, kAnySource, kAnyTag, 0);
      EXPECT_EQ(received(t, local), local == 0 ? (std::vector{1, 2, 0}) : (std::vector{0, 1, 2})) << local;
    }
  }
}

TEST(ReceiveTies, AReceiveFromOneSourceGetsWhatAnEarlierOneFromAnyLeaves) {
  for (const std::int64_t begins : {0, 4}) {
    MemoryTrace t = all_there(0);  // rank 1 comes first
    if (begins > 0) t.compute(3, us(begins));
    t.p2p(3, OpKind::irecv, kAnySource, kAnyTag, 0, CommId(0), 0);
    t.p2p(3, OpKind::irecv, 0, kAnyTag, 0, CommId(0), 1);
    t.p2p(3, OpKind::irecv, 2, kAnyTag, 0, CommId(0), 2);
    t.add(3, {.kind = OpKind::waitall}, {0, 1, 2});
    EXPECT_EQ(received(t, 0), (std::vector{1, 0, 2}));
  }
}

TEST(ReceiveTies, ACancelTakesNothingBackWhoseMessageComesAtThatInstant) {
  for (const std::int64_t at : {3, 4, 5}) {
    MemoryTrace t = all_there(1);
    t.p2p(3, OpKind::irecv, kAnySource, 2, 0, CommId(0), 0);
    t.compute(3, us(at));
    t.add(3, {.kind = OpKind::cancel, .request = 0});
    t.wait(3, 0);
    const bool taken = at < kThere;
    for (int i = taken ? 0 : 1; i < 3; ++i) t.p2p(3, OpKind::recv, kAnySource, kAnyTag, 0);
    EXPECT_EQ(received(t, 1), taken ? (std::vector{0, 1, 2}) : (std::vector{2, 0, 1})) << at;
  }
}

}  // namespace
}  // namespace weft::replay
