// MPI's matching rules, requests, probes.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "replay/engine.hpp"
#include "tests/support/memory_trace.hpp"

namespace weft::replay::matching_test {
namespace {

using testing::MemoryTrace;
using traces::kAnySource;
using traces::kAnyTag;
using traces::Op;
using traces::OpKind;

constexpr std::int64_t kUs = 1'000'000;

const topology::Platform& crossbar() {
  static const topology::Platform p =
      topology::load_platform("crossbar:n=8,bw=12.5GB/s,lat=1us,speed=10Gflops").value();
  return p;
}

Result<ReplayResult> try_run(MemoryTrace& t, RawMode mode, const ReplayOptions& base = {}) {
  std::vector<HostId> hosts;
  for (std::uint32_t r = 0; r < t.header().ranks; ++r) hosts.emplace_back(r);
  ReplayOptions o = base;
  o.raw = mode;
  return replay(t, crossbar(), hosts, o);
}

ReplayResult run(MemoryTrace& t, RawMode mode = RawMode::kEager) {
  auto r = try_run(t, mode);
  EXPECT_TRUE(r) << (r ? "" : r.error().message());
  return r ? std::move(r).value() : ReplayResult{};
}

// Matched as recorded the program ends, and there is nothing to tell.
ReplayResult run_as_recorded(MemoryTrace& t) {
  ReplayOptions o;
  o.recorded_matches = true;
  auto r = try_run(t, RawMode::kEager, o);
  EXPECT_TRUE(r) << (r ? "" : r.error().message());
  if (!r) return {};
  EXPECT_TRUE(r->finished);
  EXPECT_TRUE(r->warnings.empty()) << r->warnings.front();
  return std::move(r).value();
}

Op op(OpKind kind, std::int32_t peer = 0, std::int32_t tag = 0, std::int64_t amount = 0,
      std::uint32_t request = traces::kNoRequest) {
  Op o;
  o.kind = kind;
  o.peer = peer;
  o.tag = tag;
  o.amount = amount;
  o.request = request;
  return o;
}

TEST(Matching, MessagesOfOnePairMatchInOrderAndTagsSelect) {
  MemoryTrace t(2);
  t.p2p(0, OpKind::send, 1, 5, 1000);
  t.p2p(0, OpKind::send, 1, 6, 2000);
  t.p2p(0, OpKind::send, 1, 5, 3000);
  t.p2p(1, OpKind::recv, 0, 6, 2000);
  t.p2p(1, OpKind::recv, 0, 5, 1000);
  t.p2p(1, OpKind::recv, 0, kAnyTag, 3000);
  const auto r = run(t);
  EXPECT_TRUE(r.finished);
  EXPECT_TRUE(r.warnings.empty());
}

TEST(Matching, AnEarlierWildcardReceiveTakesTheMessageBeforeALaterExactOne) {
  MemoryTrace t(3);
  t.p2p(0, OpKind::irecv, kAnySource, 1, 5000, CommId(0), 0);
  t.p2p(0, OpKind::irecv, 1, 1, 1000, CommId(0), 1);
  t.wait(0, 0);
  t.compute(1, Duration(10 * kUs));
  t.p2p(1, OpKind::send, 0, 1, 1000);
  t.compute(1, Duration(100 * kUs));
  t.p2p(1, OpKind::send, 0, 1, 1000);
  const auto r = run(t);
  EXPECT_EQ(r.ranks[0].finish.count(), 10 * kUs + 2 * kUs + 80'000) << "the wildcard got the first message";
}

// Named by the operation that posted it and its request; collectives' own are not told.
TEST(Matching, WhoAsksIsToldWhatEveryReceiveTook) {
  MemoryTrace t(3);
  t.p2p(0, OpKind::irecv, kAnySource, kAnyTag, 5000, CommId(0), 3);
  t.add(0, op(OpKind::recv_init, 1, kAnyTag, 5000, 4));
  t.add(0, op(OpKind::startall), {4});
  t.add(0, op(OpKind::waitall), {3, 4});
  t.collective(0, OpKind::barrier, kAnySource, 0, CommId(0));
  t.add(0, op(OpKind::sendrecv, 1, 7, 10));
  Op half = op(OpKind::recv, kAnySource, 8, 99);
  half.flags = traces::kPairedRecv;
  t.add(0, half);
  t.compute(1, Duration(50 * kUs));
  t.p2p(1, OpKind::send, 0, 6, 600);
  t.p2p(2, OpKind::send, 0, 5, 500);
  for (const std::uint32_t r : {1u, 2u}) t.collective(r, OpKind::barrier, kAnySource, 0, CommId(0));
  t.p2p(1, OpKind::recv, 0, 7, 10);
  t.p2p(2, OpKind::send, 0, 8, 80);
  for (const RawMode mode : {RawMode::kOff, RawMode::kEager, RawMode::kRendezvous}) {
    ReplayOptions o;
    using Match = std::tuple<std::uint32_t, std::uint64_t, std::uint32_t, std::uint32_t, int, std::int64_t>;
    std::set<Match> seen;
    std::map<std::uint64_t, std::pair<std::uint32_t, std::int64_t>> took, sent;  // source, bytes
    std::map<std::uint32_t, std::set<std::uint64_t>> send_ops;
    o.on_match = [&](const MatchSeen& m) {
      seen.insert({m.rank.index(), m.op, m.request, m.source.index(), m.tag, m.bytes});
      took[m.number] = {m.source.index(), m.bytes};
    };
    o.on_message = [&](const MessageSeen& m) {
      if (m.of_collective) return;
      sent[m.number] = {m.src.index(), m.bytes};
      send_ops[m.src.index()].insert(m.send_op);
    };
    ASSERT_TRUE(try_run(t, mode, o));
    const auto none = traces::kNoRequest;
    EXPECT_EQ(
        seen,
        (std::set<Match>{
            {0, 0, 3, 2, 5, 500}, {0, 2, 4, 1, 6, 600}, {0, 5, none, 2, 8, 80}, {1, 3, none, 0, 7, 10}}));
    EXPECT_EQ(took, sent) << "of each message both say the same";
    EXPECT_EQ(sent.size(), 4u);
    EXPECT_EQ(sent.rbegin()->first, 3u);
    EXPECT_EQ(send_ops, (std::map<std::uint32_t, std::set<std::uint64_t>>{{0, {5}}, {1, {1}}, {2, {0, 2}}}));
    t.rewind();
  }
}

TEST(Matching, AMessageLongerThanItsReceiveIsReported) {
  MemoryTrace t(2);
  t.p2p(0, OpKind::send, 1, 0, 100);
  t.p2p(1, OpKind::recv, 0, 0, 99);
  ASSERT_EQ(run(t).warnings.size(), 1u);
}

TEST(Requests, PersistentSendsAndReceivesAreStartedAgainAndAgain) {
  MemoryTrace t(2);
  t.add(0, op(OpKind::send_init, 1, 3, 1000, 0));
  t.add(1, op(OpKind::recv_init, 0, 3, 1000, 0));
  for (int i = 0; i < 4; ++i) {
    t.add(0, op(OpKind::start, 0, 0, 0, 0));
    t.wait(0, 0);
    t.add(1, op(OpKind::startall), {0});
    t.add(1, op(OpKind::waitall), {0});
  }
  t.add(0, op(OpKind::request_free, 0, 0, 0, 0));
  EXPECT_EQ(run(t, RawMode::kRendezvous).makespan.count(), 4 * (2 * kUs + 80'000));
}

TEST(Requests, WaitanyWaitsForTheOneThatCompletedInTheRecording) {
  MemoryTrace t(3);
  t.p2p(0, OpKind::irecv, 1, 0, 10, CommId(0), 0);
  t.p2p(0, OpKind::irecv, 2, 0, 10, CommId(0), 1);
  t.add(0, op(OpKind::waitany), {2, 0, 1, 1});
  t.compute(1, Duration(100 * kUs));
  t.p2p(1, OpKind::send, 0, 0, 10);
  t.p2p(2, OpKind::send, 0, 0, 10);
  EXPECT_EQ(run(t).ranks[0].finish.count(), 2 * kUs + 800);
}

TEST(Requests, AWaitOnARequestThatWasNeverStartedIsBadInput) {
  MemoryTrace t(1);
  t.wait(0, 3);
  const auto r = try_run(t, RawMode::kEager);
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code, ErrorCode::kBadInput);
}

TEST(Requests, ACancelledReceiveTakesNoMessageAndItsWaitReturns) {
  MemoryTrace t(2);
  t.p2p(1, OpKind::irecv, 0, 0, 10, CommId(0), 0);
  t.add(1, op(OpKind::cancel, 0, 0, 0, 0));
  t.wait(1, 0);
  t.p2p(1, OpKind::recv, 0, 0, 10);
  t.compute(0, Duration(5 * kUs));
  t.p2p(0, OpKind::send, 1, 0, 10);
  const auto r = run(t);
  EXPECT_TRUE(r.finished);
  EXPECT_TRUE(r.warnings.empty());
  EXPECT_EQ(r.ranks[1].finish.count(), 7 * kUs + 800);
}

TEST(Requests, AFreedRequestMayBeUsedAgainWhileItsMessageIsUnderWay) {
  MemoryTrace t(2);
  t.p2p(0, OpKind::isend, 1, 0, 1'000'000, CommId(0), 0);
  t.add(0, op(OpKind::request_free, 0, 0, 0, 0));
  t.p2p(0, OpKind::isend, 1, 1, 10, CommId(0), 0);
  t.wait(0, 0);
  t.p2p(1, OpKind::recv, 0, 1, 10);
  t.p2p(1, OpKind::recv, 0, 0, 1'000'000);
  const auto r = run(t, RawMode::kRendezvous);
  EXPECT_TRUE(r.finished);
  EXPECT_EQ(r.ranks[0].finish.count(), 2 * kUs + 800) << "waits for the second message only";
}

TEST(Requests, SendrecvPostsBothHalvesAtOnce) {
  MemoryTrace t(2);
  for (int r = 0; r < 2; ++r) {
    t.add(r, op(OpKind::sendrecv, 1 - r, 0, 1000));
    Op half = op(OpKind::recv, 1 - r, 0, 1000);
    half.flags = traces::kPairedRecv;
    t.add(r, half);
  }
  const auto result = run(t, RawMode::kRendezvous);
  EXPECT_TRUE(result.finished);
  EXPECT_EQ(result.makespan.count(), 2 * kUs + 80'000);
}

TEST(Requests, ProcNullIsNoMessage) {
  MemoryTrace t(1);
  t.p2p(0, OpKind::send, traces::kProcNull, 0, 100);
  t.p2p(0, OpKind::recv, traces::kProcNull, 0, 100);
  t.p2p(0, OpKind::irecv, traces::kProcNull, 0, 100, CommId(0), 0);
  t.wait(0, 0);
  EXPECT_EQ(run(t, RawMode::kRendezvous).makespan.count(), 0);
}

TEST(Probe, WaitsUntilTheEnvelopeIsThereAndTakesNothing) {
  for (const RawMode mode : {RawMode::kEager, RawMode::kDetached, RawMode::kOff}) {
    MemoryTrace t(2);
    t.compute(0, Duration(5 * kUs));
    t.p2p(0, OpKind::send, 1, 9, 1000);
    t.add(1, op(OpKind::probe, kAnySource, kAnyTag));
    t.compute(1, Duration(100 * kUs));
    t.p2p(1, OpKind::recv, 0, 9, 1000);
    const std::int64_t seen = mode == RawMode::kDetached ? 7 * kUs : 7 * kUs + 80'000;
    const std::int64_t transfer = mode == RawMode::kDetached ? 2 * kUs + 80'000 : 0;
    EXPECT_EQ(run(t, mode).ranks[1].finish.count(), seen + 100 * kUs + transfer);
  }
}

// A program that polls four times, 10 us of work between polls, and found the message at the third. The body
// is the receive and a forward to rank 2.
MemoryTrace polling_program(std::int64_t sender_delay) {
  MemoryTrace t(3);
  t.compute(0, Duration(sender_delay));
  t.p2p(0, OpKind::send, 1, 0, 1000);
  t.add(1, op(OpKind::iprobe, 0, 0), {4});  // 0: misses, the hit is 4 operations further on
  t.compute(1, Duration(10 * kUs));         // 1
  t.add(1, op(OpKind::iprobe, 0, 0), {2});  // 2
  t.compute(1, Duration(10 * kUs));         // 3
  Op hit = op(OpKind::iprobe, 0, 0);
  hit.flags = traces::kHit;
  t.add(1, hit, {0, 2, 0, 0, 1000});   // 4: hits, two operations of body
  t.p2p(1, OpKind::recv, 0, 0, 1000);  // 5
  t.p2p(1, OpKind::send, 2, 0, 1000);  // 6
  t.compute(1, Duration(10 * kUs));    // 7
  t.p2p(2, OpKind::recv, 1, 0, 1000);
  return t;
}

TEST(Iprobe, TheBodyRunsAtTheFirstPollThatFindsTheMessageOnThisNetwork) {
  auto early = polling_program(0);  // there at 2.08 us: the poll at 10 us finds it
  EXPECT_EQ(run(early).ranks[2].finish.count(), 10 * kUs + 2 * kUs + 80'000);
  EXPECT_EQ(run(early).ranks[1].finish.count(), 30 * kUs) << "all the work is still done";
  auto recorded = polling_program(15 * kUs);  // there at 17.08 us: as recorded, the poll at 20 us
  EXPECT_EQ(run(recorded).ranks[2].finish.count(), 20 * kUs + 2 * kUs + 80'000);
  auto late = polling_program(50 * kUs);  // after the last poll of the recording: waits there
  EXPECT_EQ(run(late).ranks[2].finish.count(), 50 * kUs + 2 * (2 * kUs + 80'000));
  EXPECT_EQ(run(late).ranks[1].finish.count(), 52 * kUs + 80'000 + 10 * kUs);
}

TEST(Communicators, TheSameTagOnTwoCommunicatorsIsTwoMessages) {
  MemoryTrace t(2);
  const CommId dup = t.add_comm("split1", {1, 0});
  t.p2p(0, OpKind::send, 1, 0, 1000, dup);
  t.p2p(0, OpKind::send, 1, 0, 10);
  t.p2p(1, OpKind::recv, 0, 0, 10);
  t.p2p(1, OpKind::recv, 0, 0, 1000, dup);
  EXPECT_TRUE(run(t).warnings.empty());
}

// Rank 0 takes a first message from whoever comes, then a second one from the same rank; twice. In the recording rank 1
// was first, here rank 2 is.
MemoryTrace whoever_comes(OpKind first) {
  MemoryTrace t(3);
  for (const std::int32_t from : {1, 2}) {
    const std::vector<std::int64_t> matched = {from, 1, 1000};
    switch (first) {
      case OpKind::recv:
        t.add(0, op(OpKind::recv, kAnySource, kAnyTag, 1000), matched);
        break;
      case OpKind::irecv:
        t.add(0, op(OpKind::irecv, kAnySource, kAnyTag, 1000, 0), matched);
        t.wait(0, 0);
        break;
      case OpKind::probe:
        t.add(0, op(OpKind::probe, kAnySource, 1), matched);
        t.p2p(0, OpKind::recv, from, 1, 1000);
        break;
      default: {  // a poll that hits at once; its body is the receive
        Op poll = op(OpKind::iprobe, kAnySource, 1, 1);
        poll.flags |= traces::kHit;
        t.add(0, poll, {0, 1, from, 1, 1000});
        t.p2p(0, OpKind::recv, from, 1, 1000);
      }
    }
    t.p2p(0, OpKind::recv, from, 2, 10);
  }
  t.flops(1, 1e9);
  for (const std::uint32_t r : {1, 2}) {
    t.p2p(r, OpKind::ssend, 0, 1, 1000);
    t.p2p(r, OpKind::ssend, 0, 2, 10);
  }
  return t;
}

TEST(RecordedMatches, AProgramThatGoesOnByWhoCameEndsWithThem) {
  for (const OpKind first : {OpKind::recv, OpKind::irecv, OpKind::probe, OpKind::iprobe}) {
    SCOPED_TRACE(traces::op_name(first));
    MemoryTrace t = whoever_comes(first);
    ReplayOptions o;
    const auto anew = try_run(t, RawMode::kRendezvous, o);
    ASSERT_TRUE(anew);
    const bool probes = first == OpKind::probe || first == OpKind::iprobe;
    EXPECT_EQ(anew->finished, probes) << "a probe takes nothing away";
    EXPECT_EQ(anew->warnings.size(), probes ? 0u : 1u);
    o.recorded_matches = true;
    std::uint64_t seen = 0;
    o.on_op = [&](RankId, std::uint64_t, SimTime, SimTime) { ++seen; };
    const auto recorded = try_run(t, RawMode::kRendezvous, o);
    ASSERT_TRUE(recorded);
    EXPECT_TRUE(recorded->finished);
    EXPECT_TRUE(recorded->warnings.empty());
    EXPECT_EQ(seen, t.totals().ops);
    EXPECT_GT(recorded->makespan.count(), 100'000 * kUs)
        << "rank 2 waits for rank 1, which computes for 0.1 s";
  }
}

// Rank 0 goes on by who came first, which only the wait tells, maybe a block later. Without that it waits for ever.
TEST(RecordedMatches, WhatTheWaitSaysIsWhatTheReceiveAsksFor) {
  for (const OpKind kind : {OpKind::irecv, OpKind::start, OpKind::startall})
    for (const OpKind end : {OpKind::wait, OpKind::test, OpKind::waitall})
      for (const bool far : {false, true}) {
        SCOPED_TRACE(::testing::Message() << traces::op_name(kind) << ' ' << traces::op_name(end) << far);
        MemoryTrace t(3);
        const Op any = op(OpKind::irecv, kAnySource, kAnyTag, 1000, 0);
        if (kind != OpKind::irecv) {
          Op init = any;
          init.kind = OpKind::recv_init;
          t.add(0, init);
        }
        for (const std::int32_t from : {1, 2}) {  // rank 1 comes late
          if (kind == OpKind::irecv) t.add(0, any);
          if (kind == OpKind::start) t.add(0, op(OpKind::start, 0, 0, 0, 0));
          if (kind == OpKind::startall) t.add(0, op(OpKind::startall), {0});
          for (std::size_t i = 0; far && i < traces::kMaxBlockOps; ++i) t.compute(0, Duration(1));
          if (end == OpKind::waitall)
            t.add(0, op(end), {0});
          else
            t.add(0, op(end, from, from + 10, 1000, 0));
          t.p2p(0, OpKind::recv, from, 2, 10);
        }
        t.flops(1, 1e9);
        for (const std::int32_t r : {1, 2}) {
          t.p2p(static_cast<std::uint32_t>(r), OpKind::ssend, 0, r + 10, 1000);
          t.p2p(static_cast<std::uint32_t>(r), OpKind::ssend, 0, 2, 10);
        }
        const bool known = kind != OpKind::startall && end != OpKind::waitall;
        ReplayOptions o;
        o.recorded_matches = true;
        const auto recorded = try_run(t, RawMode::kRendezvous, o);
        ASSERT_TRUE(recorded);
        ASSERT_EQ(recorded->finished, known);
        ASSERT_EQ(recorded->warnings.size(), known ? 0u : 1u);
        if (known) {
          EXPECT_GT(recorded->makespan.count(), 100'000 * kUs);
          continue;
        }
        EXPECT_EQ(
            recorded->warnings.front().find("2 receives from any source or of any tag take what comes: the "),
            0u);
      }
}

// It is another message each time. The second receive takes one tag only, and its start says that the message was shorter.
TEST(RecordedMatches, TheStartOfAPersistentReceiveSaysWhatItTakes) {
  MemoryTrace t(3);
  t.add(0, op(OpKind::recv_init, kAnySource, kAnyTag, 1000, 0));
  t.add(0, op(OpKind::recv_init, 2, 3, 1000, 1));
  for (const std::int32_t from : {1, 2}) {  // rank 1 comes late
    t.add(0, op(OpKind::start, kAnySource, kAnyTag, 0, 0), {from, from + 10, 1000});
    t.add(0, op(OpKind::start, kAnySource, kAnyTag, 0, 1), {2, 3, 500});
    t.add(0, op(OpKind::waitall), {0, 1});
    t.p2p(0, OpKind::recv, from, 2, 10);
  }
  t.flops(1, 1e9);
  for (const std::int32_t r : {1, 2}) {
    t.p2p(static_cast<std::uint32_t>(r), OpKind::issend, 0, r + 10, 1000, CommId(0), 0);
    if (r == 2) {
      t.p2p(2, OpKind::send, 0, 3, 500);
      t.p2p(2, OpKind::send, 0, 3, 500);
    }
    t.wait(static_cast<std::uint32_t>(r), 0);
    t.p2p(static_cast<std::uint32_t>(r), OpKind::ssend, 0, 2, 10);
  }
  EXPECT_FALSE(try_run(t, RawMode::kEager)->finished) << "rank 2 is first here";
  EXPECT_GT(run_as_recorded(t).makespan.count(), 100'000 * kUs);
}

TEST(RecordedMatches, ACancelThatCameTooLateTakesNothingBack) {
  for (const bool far : {false, true}) {
    MemoryTrace t(2);
    t.p2p(0, OpKind::irecv, 1, 3, 1000, CommId(0), 0);
    t.add(0, op(OpKind::cancel, 0, 0, 0, 0));
    for (std::size_t i = 0; far && i < traces::kMaxBlockOps; ++i) t.compute(0, Duration(1));
    t.add(0, op(OpKind::wait, 1, 3, 1000, 0));
    t.flops(1, 1e9);
    t.p2p(1, OpKind::send, 0, 3, 1000);
    EXPECT_EQ(run(t).warnings.size(), 1u) << "here the message comes after the cancel";
    const ReplayResult recorded = run_as_recorded(t);
    ASSERT_EQ(recorded.ranks.size(), 2u);
    EXPECT_GT(recorded.ranks[0].finish.count(), 100'000 * kUs);
  }
}

// One that the recording withdrew stays so as long as its cancel is in time here.
// Rank 0 cancels a receive whose message comes 1 s later here, and had come in the recording: who completes it with others, or says it
// in its own list, tells no withdrawal.
TEST(RecordedMatches, ACancelThatNoLoneCompletionCallsInTimeCameTooLate) {
  for (const bool several : {false, true})
    for (const bool listed : {false, true}) {
      MemoryTrace t(2);
      const Op receive = op(OpKind::irecv, kAnySource, 3, 1000, 0);
      if (listed)
        t.add(0, receive, {1, 3, 1000});
      else
        t.add(0, receive);
      t.add(0, op(OpKind::cancel, 0, 0, 0, 0));
      if (several)
        t.add(0, op(OpKind::waitall), {0});
      else
        t.add(0, op(OpKind::wait, kAnySource, kAnyTag, 0, 0));
      t.flops(1, 1e10);
      t.p2p(1, OpKind::send, 0, 3, 1000);
      ReplayOptions o;
      o.recorded_matches = true;
      const auto r = try_run(t, RawMode::kEager, o);
      ASSERT_TRUE(r && r->finished);
      const bool late = several || listed;
      EXPECT_EQ(r->unmatched_messages, late ? 0u : 1u) << several << listed;
      EXPECT_EQ(r->ranks[0].finish.count() > 1'000'000 * kUs, late) << several << listed;
    }
}

// Of any source, it took nothing in the recording; here the message of another receive is there before the cancel.
TEST(RecordedMatches, AReceiveThatWasWithdrawnTakesNothing) {
  MemoryTrace t(2);
  t.add(0, op(OpKind::irecv, kAnySource, kAnyTag, 1000, 0));
  t.compute(0, Duration(10 * kUs));
  t.add(0, op(OpKind::cancel, 0, 0, 0, 0));
  t.add(0, op(OpKind::wait, kAnySource, kAnyTag, 0, 0));
  t.add(0, op(OpKind::recv, kAnySource, kAnyTag, 1000), {1, 3, 1000});
  t.p2p(1, OpKind::send, 0, 3, 1000);
  EXPECT_FALSE(try_run(t, RawMode::kEager)->finished);
  EXPECT_EQ(run_as_recorded(t).makespan.count(), 10 * kUs);
}

TEST(RecordedMatches, ACancelThatWasInTimeStaysACancel) {
  MemoryTrace t(2);
  t.p2p(0, OpKind::irecv, 1, 3, 1000, CommId(0), 0);
  t.add(0, op(OpKind::cancel, 0, 0, 0, 0));
  t.add(0, op(OpKind::wait, kAnySource, kAnyTag, 0, 0));
  t.p2p(0, OpKind::recv, 1, 3, 1000);
  t.flops(1, 1e9);
  t.p2p(1, OpKind::send, 0, 3, 1000);
  run_as_recorded(t);
}

TEST(RecordedMatches, ADeadlockThatTheyDoNotEndIsTheProgramsOwn) {
  MemoryTrace t(2);
  t.add(0, op(OpKind::recv, kAnySource, 1, 1000), {1, 1, 1000});
  t.p2p(0, OpKind::recv, 1, 2, 10);
  t.p2p(1, OpKind::ssend, 0, 1, 1000);
  const auto r = run(t, RawMode::kRendezvous);
  EXPECT_FALSE(r.finished);
  EXPECT_TRUE(r.warnings.empty());
}

TEST(BadOperations, PeersCommunicatorsAndSizesOutOfRangeAreBadInput) {
  for (const Op& bad : {op(OpKind::send, 7, 0, 10), op(OpKind::recv, -3, 0, 10), op(OpKind::send, 1, 0, -1),
                        op(OpKind::isend, 1, 0, 1, 1u << 30), op(OpKind::compute_time, 0, 0, -5)}) {
    MemoryTrace t(2);
    t.add(0, bad);
    const auto r = try_run(t, RawMode::kEager);
    ASSERT_FALSE(r) << traces::op_name(bad.kind);
    EXPECT_EQ(r.error().code, ErrorCode::kBadInput);
  }
  MemoryTrace t(2);
  Op o = op(OpKind::send, 1, 0, 10);
  o.comm = CommId(9);
  t.add(0, o);
  EXPECT_FALSE(try_run(t, RawMode::kEager));
}

// Rows of posted receives are used again, so a cancel must know its own.
TEST(Matching, ACancelTakesBackItsOwnReceiveWhateverStandsWhereItStood) {
  MemoryTrace t(3);
  t.p2p(0, OpKind::irecv, 1, 1, 8, CommId(0), 0);
  t.p2p(0, OpKind::irecv, 1, 2, 8, CommId(0), 1);
  t.add(0, op(OpKind::cancel, 0, 0, 0, 0));
  t.wait(0, 0);
  t.p2p(0, OpKind::irecv, 1, 3, 8, CommId(0), 0);  // where the first one stood
  t.add(0, op(OpKind::cancel, 0, 0, 0, 1));
  t.wait(0, 1);
  t.wait(0, 0);
  // Matched, its data under way, and its row that of a receive from another rank.
  t.p2p(0, OpKind::irecv, 1, 4, 100'000'000, CommId(0), 5);
  t.p2p(0, OpKind::recv, 2, 6, 8);
  t.p2p(0, OpKind::irecv, 2, 7, 8, CommId(0), 6);
  t.add(0, op(OpKind::cancel, 0, 0, 0, 5));
  t.wait(0, 5);
  t.wait(0, 6);
  t.p2p(1, OpKind::send, 0, 3, 8);
  t.p2p(1, OpKind::send, 0, 4, 100'000'000);
  t.p2p(2, OpKind::recv, 1, 9, 8);
  t.p2p(1, OpKind::send, 2, 9, 8);
  t.p2p(2, OpKind::send, 0, 6, 8);
  t.p2p(2, OpKind::send, 0, 7, 8);
  for (const RawMode mode : {RawMode::kOff, RawMode::kEager, RawMode::kRendezvous}) {
    const auto r = run(t, mode);
    EXPECT_TRUE(r.finished) << r.deadlock.summary();
    EXPECT_TRUE(r.warnings.empty()) << r.warnings.front();
  }
}

}  // namespace
}  // namespace weft::replay::matching_test
