// After a deadlock pictures show what each rank hangs in: it is what a user looks for there.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "report/html/run_collector.hpp"
#include "report/timeline/perfetto.pb.h"
#include "tests/report/timeline_texts.hpp"
#include "tests/support/files.hpp"
#include "tests/support/memory_trace.hpp"
#include "traces/trace.hpp"

namespace weft::report::hanging_ranks_test {
namespace {

using testing::MemoryTrace;
using traces::OpKind;

constexpr std::int64_t kMicro = 1'000'000;

// Rank 0 computes 1 us, then waits for a message that rank 1, which computes 10 us, never sends.
struct Hanging {
  topology::Platform platform = topology::load_platform("crossbar:n=2,bw=1GB/s,lat=1us").value();
  std::vector<std::uint64_t> ended_on_0;  // operations, as on_op tells them
  Timeline timeline;
  PageRun page;

  Hanging() {
    MemoryTrace t(2);
    t.compute(0, Duration(kMicro));
    t.p2p(0, OpKind::recv, 1, 0, 8);
    t.compute(1, Duration(10 * kMicro));
    const std::vector<HostId> hosts{HostId(0), HostId(1)};
    replay::ReplayOptions o;
    TimelineCollector collector(2, {}, platform.fabric, hosts, o);
    collector.attach(o);
    o.on_op = [this, before = o.on_op](RankId rank, std::uint64_t op, SimTime begin, SimTime end) {
      before(rank, op, begin, end);
      if (rank == RankId(0)) ended_on_0.push_back(op);
    };
    RunCollector run(t, platform, hosts, o, {});
    run.attach(o);
    const auto r = replay::replay(t, platform, hosts, o).value();
    EXPECT_FALSE(r.finished);
    t.rewind();
    timeline = collector.finish(t, r.makespan).value();
    predict::RunFacts facts;
    facts.platform = &platform;
    facts.options = &o;
    facts.result = &r;
    page = run.finish(t, facts).value();
  }
};

TEST(HangingRanks, AreInTheirOperationUntilTheEnd) {
  const Hanging h;
  const auto all = spans_by_rank(h.timeline);
  const auto& spans = all[0];
  ASSERT_EQ(spans.size(), 2u);
  EXPECT_EQ(spans[1].kind, OpKind::recv);
  EXPECT_EQ(spans[1].begin, SimTime(Duration(kMicro)));
  EXPECT_EQ(spans[1].end, SimTime(Duration(10 * kMicro)));
  EXPECT_EQ(all[1].size(), 1u) << "this one is done";
  EXPECT_EQ(h.ended_on_0, std::vector<std::uint64_t>{0}) << "formats of what ended leave it out";
}

TEST(HangingRanks, WaitForAMessageInParaverAndAreNotIdle) {
  const Hanging h;
  const std::string prv = paraver_texts(h.timeline, {0, 1}, {}).prv;
  EXPECT_NE(prv.find("\n1:1:1:1:1:1000:10000:3\n"), std::string::npos) << prv;
  EXPECT_EQ(prv.find(":1000:10000:0\n"), std::string::npos) << prv;
}

// Whether rank 1 waits in a receive, or has posted one and is done.
TEST(HangingRanks, HaveNotReceivedInParaverWhatNobodyTook) {
  const auto p = topology::load_platform("crossbar:n=2,bw=1GB/s,lat=1us").value();
  for (const OpKind receive : {OpKind::recv, OpKind::irecv}) {
    MemoryTrace t(2);
    t.p2p(0, OpKind::send, 1, 5, 100);
    t.compute(1, Duration(10 * kMicro));
    t.p2p(1, receive, 0, 6, 100, CommId(0), receive == OpKind::recv ? traces::kNoRequest : 0);
    if (receive == OpKind::irecv) t.wait(1, 0);
    const std::vector<HostId> hosts{HostId(0), HostId(1)};
    replay::ReplayOptions o;
    TimelineOptions options;
    options.calls = true;
    TimelineCollector collector(2, options, p.fabric, hosts, o);
    collector.attach(o);
    const auto r = replay::replay(t, p, hosts, o).value();
    EXPECT_FALSE(r.finished);
    t.rewind();
    const Timeline timeline = collector.finish(t, r.makespan).value();
    const support::TempDir dir;
    const std::string prv = paraver_texts(timeline, {0, 1}, t.communicators()).prv;
    const auto read = traces::open_trace({dir.write("t.prv", prv)});
    ASSERT_TRUE(read) << read.error().message();
    traces::OpBlock block;
    while ((*read)->next_block(RankId(1), block).value())
      for (const auto& op : block.ops)
        EXPECT_TRUE(traces::is_compute(op.kind)) << traces::op_name(op.kind) << "\n" << prv;
  }
}

TEST(HangingRanks, HaveTheirSliceInPerfetto) {
  const Hanging h;
  perfetto::Trace trace;
  ASSERT_TRUE(trace.ParseFromString(perfetto_text(h.timeline, "two ranks")));
  std::vector<std::string> names;
  for (const auto& packet : trace.packet())
    for (const auto& n : packet.interned_data().event_names()) names.push_back(n.name());
  EXPECT_NE(std::find(names.begin(), names.end(), "recv"), names.end());
}

TEST(HangingRanks, HaveTheirSpanOnThePage) {
  const Hanging h;
  const TimelineSection& t = *h.page.timeline;
  ASSERT_EQ(t.first, (std::vector<std::uint32_t>{0, 2, 3}));
  EXPECT_EQ(t.kinds[t.kind[1]], "recv");
  EXPECT_EQ(t.group[t.kind[1]], "receive");
  EXPECT_EQ(t.length[1] * t.tick, 9 * kMicro);
}

}  // namespace
}  // namespace weft::report::hanging_ranks_test
