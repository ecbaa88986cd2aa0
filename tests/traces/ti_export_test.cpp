// Programs to SimGrid's text: who waits for what, line by line. SimGrid 3.32 replays what is expected here; its own
// rules: src/smpi/internals/smpi_replay.cpp.
#include <gmock/gmock.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <sstream>

#include "tests/support/memory_trace.hpp"
#include "tests/traces/trace_testing.hpp"
#include "traces/exports/export.hpp"

namespace weft::traces::ti_export_test {
namespace {

using namespace testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using weft::testing::MemoryTrace;

struct Exported {
  std::string lines;  // of rank 0, or the error
  std::vector<std::string> warnings;
};

Exported ti_of(MemoryTrace& t) {
  const TempDir dir;
  t.rewind();
  Exported out;
  const auto written = export_trace(t, "ti", dir.path("t.ti"), {.warnings = &out.warnings});
  out.lines = written ? slurp(dir.path("t.ti_files/rank-0.txt")) : written.error().message();
  return out;
}

// A blocking send above SimGrid's limit of detached ones waits for its receive; a buffered one never does. The end of the
// rank waits for it: SimGrid does so by itself for one request of each source, destination and tag only.
TEST(TiExport, ABufferedSendIsAnIsendThatOnlyTheEndWaitsFor) {
  MemoryTrace t(2);
  t.add(0, {.kind = OpKind::init});
  t.p2p(0, OpKind::bsend, 1, 5, 1'000'000);
  t.p2p(0, OpKind::ibsend, 1, 6, 2'000'000, CommId(0), 3);
  t.wait(0, 3);
  t.p2p(0, OpKind::bsend_init, 1, 7, 3'000'000, CommId(0), 4);
  for (int i = 0; i < 2; ++i) {
    t.add(0, {.kind = OpKind::start, .request = 4});
    t.wait(0, 4);
  }
  t.p2p(0, OpKind::bsend, kProcNull, 5, 1);
  t.p2p(0, OpKind::recv, 1, 8, 1);
  t.add(0, {.kind = OpKind::finalize});
  const Exported e = ti_of(t);
  EXPECT_EQ(e.lines,
            "0 init\n0 isend 1 5 1000000 6\n0 isend 1 6 2000000 6\n0 isend 1 7 3000000 6\n"
            "0 isend 1 7 3000000 6\n0 recv 1 8 1 6\n"
            "0 wait 0 1 5\n0 wait 0 1 6\n0 wait 0 1 7\n0 wait 0 1 7\n0 finalize\n");
  EXPECT_THAT(e.warnings, IsEmpty());
}

// It sends nothing and waits for nobody; nor does the wait of one that does not block.
TEST(TiExport, ACollectiveOfOneRankAloneHasNoLine) {
  MemoryTrace t(2);
  const CommId self = t.add_comm("self", {0});
  t.add(0, {.kind = OpKind::allreduce, .comm = self, .amount = 8});
  t.add(0, {.kind = OpKind::bcast, .comm = self, .peer = 0, .amount = 8});
  t.add(0, {.kind = OpKind::alltoallv, .comm = self, .amount = 8}, {1, 8, 8});
  t.p2p(0, OpKind::isend, 1, 5, 8, CommId(0), 0);
  t.wait(0, 0);
  t.add(0, {.kind = OpKind::ibarrier, .comm = self, .request = 0});
  t.wait(0, 0);
  t.add(0, {.kind = OpKind::barrier});
  const Exported e = ti_of(t);
  EXPECT_EQ(e.lines, "0 isend 1 5 8 6\n0 wait 0 1 5\n0 barrier\n");
  EXPECT_THAT(e.warnings, IsEmpty());
}

// What is within them is read back, what is beyond is not written.
TEST(TiExport, TimesAndSizesAreThoseThatTheReaderTakes) {
  constexpr std::int64_t kTooLarge = 4'600'000'000'000'000'000;
  const auto refused = [](const std::function<void(MemoryTrace&)>& add) {
    MemoryTrace t(2);
    add(t);
    return ti_of(t).lines;
  };
  const TempDir dir;
  MemoryTrace most(2);
  most.compute(0, Duration(std::int64_t{9} * 1'000'000'000'000'000'000));
  most.p2p(0, OpKind::send, 1, 0, kTooLarge - 1024);  // doubles of this size are 512 apart
  most.p2p(1, OpKind::recv, 0, 0, kTooLarge - 1024);
  ASSERT_TRUE(export_trace(most, "ti", dir.path("t")));
  const auto back = open_trace({dir.path("t")});
  ASSERT_TRUE(back) << back.error().message();
  EXPECT_EQ((*back)->totals().messages, 1u);
  EXPECT_EQ(refused([](MemoryTrace& t) { t.compute(0, Duration(INT64_MAX)); }),
            "by hand: rank 0, operation 0: error: not supported: SimGrid TI text cannot say this "
            "compute: it is of more than 9e6 seconds");
  for (const OpKind kind : {OpKind::send, OpKind::irecv, OpKind::bsend_init})
    EXPECT_THAT(refused([kind](MemoryTrace& t) {
                  t.p2p(0, kind, 1, 0, kTooLarge, CommId(0), kind == OpKind::send ? kNoRequest : 0);
                }),
                HasSubstr("it is of 4.6e18 bytes or more"));
  EXPECT_THAT(refused([](MemoryTrace& t) { t.collective(0, OpKind::bcast, 0, kTooLarge, CommId(0)); }),
              HasSubstr("operation 0: error: not supported: SimGrid TI text cannot say this bcast: it is of "
                        "4.6e18 bytes or more"));
  // Of all ranks together.
  const auto of_three = [&](Op op, const std::vector<std::int64_t>& list) {
    MemoryTrace t(3);
    t.add(0, op, list);
    return ti_of(t).lines;
  };
  const std::int64_t third = kTooLarge / 3 + 1;
  EXPECT_THAT(
      of_three({.kind = OpKind::allgatherv, .peer = kAnySource, .amount = third}, {third, third, third}),
      HasSubstr("this allgatherv: it is of 4.6e18 bytes or more"));
  EXPECT_THAT(of_three({.kind = OpKind::alltoallv, .peer = kAnySource, .amount = 3},
                       {3, 1, 1, 1, INT64_MAX, INT64_MAX, 2}),
              HasSubstr("this alltoallv: it is of 4.6e18 bytes or more"));
  EXPECT_THAT(of_three({.kind = OpKind::reduce_scatter_block, .peer = kAnySource, .amount = third}, {}),
              HasSubstr("this reduce_scatter_block: it is of 4.6e18 bytes or more"));
}

TEST(TiExport, PollsAreLeftOutAndCounted) {
  MemoryTrace t(2);
  t.add(0, {.kind = OpKind::iprobe, .peer = 1, .tag = 5}, {1});
  t.add(0, {.kind = OpKind::iprobe, .flags = kHit, .peer = 1, .tag = 5}, {0, 1, 1, 5, 8});
  t.p2p(0, OpKind::recv, 1, 5, 8);
  const Exported e = ti_of(t);
  EXPECT_EQ(e.lines, "0 recv 1 5 8 6\n");
  EXPECT_THAT(e.warnings, ElementsAre(HasSubstr("2 polls (1 hit) are left out: ")));
}

TEST(TiExport, TheEndAlsoWaitsForASendThatWasFreed) {
  MemoryTrace t(2);
  t.p2p(0, OpKind::isend, 1, 5, 10, CommId(0), 0);
  t.add(0, {.kind = OpKind::request_free, .request = 0});
  t.p2p(0, OpKind::irecv, 1, 5, 10, CommId(0), 0);
  t.wait(0, 0);
  EXPECT_EQ(ti_of(t).lines, "0 isend 1 5 10 6\n0 irecv 1 5 10 6\n0 wait 1 0 5\n0 wait 0 1 5\n");
}

// A wait line takes the oldest request of its source, destination and tag.
TEST(TiExport, AWaitForALaterRequestOfOneKeyWaitsForTheOlderOnesToo) {
  MemoryTrace t(2);
  for (const std::uint32_t slot : {0u, 1u, 2u}) t.p2p(0, OpKind::irecv, 1, 5, 10 + slot, CommId(0), slot);
  t.p2p(0, OpKind::irecv, 1, 6, 20, CommId(0), 3);
  t.wait(0, 1);
  t.compute(0, Duration(1'000'000'000'000));
  t.wait(0, 0);
  t.wait(0, 3);
  t.wait(0, 2);
  const Exported e = ti_of(t);
  EXPECT_EQ(e.lines,
            "0 irecv 1 5 10 6\n0 irecv 1 5 11 6\n0 irecv 1 5 12 6\n0 irecv 1 6 20 6\n"
            "0 wait 1 0 5\n0 wait 1 0 5\n0 sleep 1\n0 wait 1 0 6\n0 wait 1 0 5\n");
  EXPECT_THAT(e.warnings, ElementsAre(HasSubstr("1 request must be over earlier than in the program")));
}

TEST(TiExport, WaitsOfOneCallAreInAnyOrderOfItsRequests) {
  MemoryTrace t(2);
  for (const std::uint32_t slot : {0u, 1u, 2u}) t.p2p(0, OpKind::irecv, 1, 5, 10, CommId(0), slot);
  t.add(0, {.kind = OpKind::waitall}, {1, 0});
  t.wait(0, 2);
  const Exported e = ti_of(t);
  EXPECT_EQ(e.lines,
            "0 irecv 1 5 10 6\n0 irecv 1 5 10 6\n0 irecv 1 5 10 6\n"
            "0 wait 1 0 5\n0 wait 1 0 5\n0 wait 1 0 5\n");
  EXPECT_THAT(e.warnings, IsEmpty());
}

TEST(TiExport, AWaitBehindBufferedSendsOfItsKeyIsTold) {
  MemoryTrace t(2);
  t.p2p(0, OpKind::bsend, 1, 5, 10);
  t.p2p(0, OpKind::bsend, 1, 5, 11);
  t.p2p(0, OpKind::isend, 1, 5, 12, CommId(0), 0);
  t.p2p(0, OpKind::bsend, 1, 5, 13);
  t.wait(0, 0);
  const Exported e = ti_of(t);
  EXPECT_EQ(e.lines,
            "0 isend 1 5 10 6\n0 isend 1 5 11 6\n0 isend 1 5 12 6\n0 isend 1 5 13 6\n"
            "0 wait 0 1 5\n0 wait 0 1 5\n0 wait 0 1 5\n0 wait 0 1 5\n");
  EXPECT_THAT(e.warnings, ElementsAre(HasSubstr("2 requests must be over earlier")));
}

TEST(TiExport, ACancelThatCameTooLateChangesNothing) {
  const auto lines = [](const Op& end, const std::vector<std::int64_t>& list) {
    MemoryTrace t(2);
    t.p2p(0, OpKind::isend, 1, 5, 10, CommId(0), 0);
    t.p2p(0, OpKind::irecv, 1, 5, 10, CommId(0), 1);
    for (const std::uint32_t slot : {0u, 1u}) t.add(0, {.kind = OpKind::cancel, .request = slot});
    t.wait(0, 0);
    t.add(0, end, list);
    return ti_of(t).lines;
  };
  const std::string ordinary = "0 isend 1 5 10 6\n0 irecv 1 5 10 6\n0 wait 0 1 5\n0 wait 1 0 5\n";
  EXPECT_EQ(lines({.kind = OpKind::wait, .peer = 1, .tag = 5, .amount = 10, .request = 1}, {}), ordinary);
  EXPECT_EQ(lines({.kind = OpKind::waitall}, {1}), ordinary);
  // Nothing came: the irecv would wait for ever.
  const std::string refused =
      "by hand: rank 0, operation 3: error: not supported: SimGrid TI text cannot say this cancel: no "
      "message came "
      "for its receive";
  EXPECT_EQ(lines({.kind = OpKind::wait, .peer = kAnySource, .tag = kAnyTag, .request = 1}, {}), refused);
  EXPECT_EQ(lines({.kind = OpKind::request_free, .request = 1}, {}), refused);
  EXPECT_EQ(lines({.kind = OpKind::barrier}, {}), refused);
}

TEST(TiExport, BothHalvesOfASendrecvGoOnTogetherTheReceiveFirst) {
  const auto lines = [](std::int32_t to, std::int32_t from, bool pending = false) {
    MemoryTrace t(3);
    if (pending) t.p2p(0, OpKind::irecv, 2, 6, 30, CommId(0), 0);
    t.p2p(0, OpKind::sendrecv, to, 5, 10);
    t.add(0, {.kind = OpKind::recv, .flags = kPairedRecv, .peer = from, .tag = 6, .amount = 20});
    if (pending) t.wait(0, 0);
    const Exported e = ti_of(t);
    EXPECT_THAT(e.warnings, IsEmpty());
    return e.lines;
  };
  EXPECT_EQ(lines(1, 2), "0 irecv 2 6 20 6\n0 send 1 5 10 6\n0 wait 2 0 6\n");
  EXPECT_EQ(lines(1, kProcNull), "0 send 1 5 10 6\n");
  EXPECT_EQ(lines(kProcNull, 2), "0 recv 2 6 20 6\n");
  EXPECT_EQ(lines(kProcNull, kProcNull), "");
  // A wait line would be passed over, or would take another receive.
  EXPECT_EQ(lines(1, kAnySource), "0 isend 1 5 10 6\n0 recv -555 6 20 6\n0 wait 0 1 5\n");
  EXPECT_EQ(lines(1, 2, true),
            "0 irecv 2 6 30 6\n0 isend 1 5 10 6\n0 recv 2 6 20 6\n0 wait 0 1 5\n0 wait 2 0 6\n");
}

TEST(TiExport, CallsThatMakeCommunicatorsAreCounted) {
  MemoryTrace t(2);
  t.add_comm("twin", {0, 1});
  for (const std::uint32_t r : {0u, 1u}) {
    t.add(r, {.kind = OpKind::comm_dup, .amount = 1});
    t.add(r, {.kind = OpKind::comm_free, .comm = CommId(1)});
    t.add(r, {.kind = OpKind::comm_create_group, .amount = r == 0 ? 1 : -1});
  }
  const Exported e = ti_of(t);
  EXPECT_EQ(e.lines, "");
  EXPECT_THAT(e.warnings, ElementsAre(HasSubstr("3 calls that make communicators are left out")));
}

// SimGrid keeps a receive from any source (-555) as one from -556: no line of a trace finds it.
TEST(TiExport, AWaitForAnySourceIsTold) {
  MemoryTrace t(2);
  t.p2p(0, OpKind::irecv, kAnySource, 5, 10, CommId(0), 0);
  t.wait(0, 0);
  const Exported e = ti_of(t);
  EXPECT_EQ(e.lines, "0 irecv -555 5 10 6\n0 wait -555 0 5\n");
  EXPECT_THAT(e.warnings, ElementsAre(HasSubstr("SimGrid passes over 1 wait for a message of any source")));
}

TEST(TiExport, ASynchronousSendIsTold) {
  MemoryTrace t(2);
  t.p2p(0, OpKind::ssend, 1, 5, 10);
  t.p2p(0, OpKind::issend, 1, 5, 10, CommId(0), 0);
  t.wait(0, 0);
  t.p2p(0, OpKind::ssend, kProcNull, 5, 10);
  const Exported e = ti_of(t);
  EXPECT_EQ(e.lines, "0 Ssend 1 5 10 6\n0 ISsend 1 5 10 6\n0 wait 0 1 5\n");
  EXPECT_THAT(e.warnings, ElementsAre(HasSubstr("2 synchronous sends are written as SimGrid traces them")));
}

// Random programs of one rank against SimGrid's rule, a queue of requests for each (source, destination, tag): every wait
// line finds a request, behind a wait of the program its requests are over, at the end all sends are, and the warning
// counts what was over without having been asked for.
TEST(TiExport, SimGridsQueuesHoldWhatTheProgramStillWaitsFor) {
  const std::uint64_t seed = seed_or(1);
  for (std::uint64_t round = 0; round < 200 && !HasFailure(); ++round) {
    SCOPED_TRACE("WEFT_SEED=" + std::to_string(seed) + " round " + std::to_string(round));
    Rng rng(seed * 1000 + round);
    MemoryTrace t(2);
    std::map<std::uint32_t, int> active;  // slot -> number of its request
    std::vector<std::set<int>> over(1);   // what the program has waited for, before each mark
    std::set<int> nobodys;                // buffered and freed sends
    std::vector<bool> sends;
    const auto take = [&] {
      const auto it = std::next(active.begin(), static_cast<std::ptrdiff_t>(rng.below(active.size())));
      const auto out = *it;
      active.erase(it);
      return out;
    };
    for (int step = 0; step < 60; ++step) {
      over.push_back(over.back());
      const auto tag = static_cast<std::int32_t>(rng.below(2));
      const auto peer = static_cast<std::int32_t>(rng.below(2));  // 0: itself, sends and receives of one key
      std::uint32_t slot = 0;
      while (active.contains(slot)) ++slot;
      const std::uint64_t what = rng.below(7);
      const auto number = static_cast<int>(sends.size());
      if (what < 3 || (what > 3 && active.empty())) {
        const OpKind kind = what == 0 ? OpKind::ibsend : what == 1 ? OpKind::isend : OpKind::irecv;
        t.p2p(0, kind, peer, tag, 8, CommId(0), slot);
        sends.push_back(kind != OpKind::irecv);
        active[slot] = number;
        if (kind == OpKind::ibsend) nobodys.insert(number);
      } else if (what == 3) {
        t.p2p(0, OpKind::bsend, peer, tag, 8);
        sends.push_back(true);
        nobodys.insert(number);
      } else if (what == 4) {
        const auto [freed, request] = take();
        t.add(0, {.kind = OpKind::request_free, .request = freed});
        if (sends[static_cast<std::size_t>(request)]) nobodys.insert(request);
      } else {
        std::vector<std::int64_t> list;
        for (std::uint64_t n = what == 5 ? 1 : 1 + rng.below(active.size()); n > 0; --n) {
          const auto [waited, request] = take();
          list.push_back(waited);
          if (!nobodys.contains(request)) over.back().insert(request);
        }
        t.add(0, {.kind = OpKind::waitall}, list);
      }
      t.compute(0, Duration(1));
    }
    const Exported e = ti_of(t);
    std::map<std::string, std::deque<int>> queues;
    std::set<int> popped;
    int posted = 0;
    std::uint64_t early = 0;
    std::size_t mark = 1;
    std::set<int> now;  // since the last mark
    std::istringstream lines(e.lines);
    for (std::string rank, action; lines >> rank >> action;) {
      std::string a, b, c, rest;
      lines >> a;
      if (action != "sleep") lines >> b >> c;
      std::getline(lines, rest);
      if (action == "isend" || action == "irecv") {
        const bool send = action == "isend";
        queues[(send ? "0 " + a : a + " 0") + " " + b].push_back(posted++);
      } else if (action == "wait") {
        auto& queue = queues[a + " " + b + " " + c];
        ASSERT_FALSE(queue.empty()) << e.lines;
        now.insert(queue.front());
        queue.pop_front();
      } else {
        for (const int request : now) early += over[mark].contains(request) ? 0 : 1;
        popped.merge(now);
        now.clear();
        EXPECT_TRUE(std::ranges::includes(popped, over[mark])) << "operation " << 2 * mark;
        ++mark;
      }
    }
    EXPECT_EQ(mark, over.size());
    EXPECT_EQ(posted, static_cast<int>(sends.size()));
    // The end waits for sends: nobody knows whether a receive that was freed ever ends.
    for (const int request : now) EXPECT_TRUE(sends[static_cast<std::size_t>(request)]);
    popped.merge(now);
    // Behind a receive of the rank's own message that nobody waits for stands what it hides.
    for (const auto& [key, queue] : queues)
      for (std::size_t i = 0; i < queue.size() && sends[static_cast<std::size_t>(queue[i])]; ++i)
        EXPECT_FALSE(nobodys.contains(queue[i])) << key;
    std::uint64_t told = 0;
    for (const std::string& w : e.warnings) told += std::stoull(w);
    EXPECT_EQ(told, early) << e.lines;
  }
}

}  // namespace
}  // namespace weft::traces::ti_export_test
