// What pictures say of operations: which have bytes, and whose time they count as. The page, Perfetto and Paraver say the same.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "report/html/run_collector.hpp"
#include "report/timeline/op_groups.hpp"
#include "report/timeline/perfetto.pb.h"
#include "tests/report/timeline_texts.hpp"
#include "tests/support/memory_trace.hpp"
#include "tests/support/platform_text.hpp"
#include "traces/kernel.hpp"

namespace weft::report::op_groups_test {
namespace {

using testing::MemoryTrace;
using traces::OpKind;

constexpr std::int64_t kMicro = 1'000'000;
constexpr std::int64_t kPolls = 3;

traces::Op op_of(OpKind kind, std::int64_t amount, std::uint32_t request = traces::kNoRequest) {
  traces::Op op;
  op.kind = kind;
  op.amount = amount;
  op.request = request;
  return op;
}

// Three polls that find nothing, a communicator, a persistent send of 1,000 B, an allreduce.
MemoryTrace program() {
  MemoryTrace t(2);
  const CommId both = t.add_comm("both", {0, 1});
  for (std::uint32_t r = 0; r < 2; ++r) {
    t.add(r, op_of(OpKind::iprobe, kPolls));
    traces::Op split = op_of(OpKind::comm_split, static_cast<std::int64_t>(both.index()));
    split.peer = traces::kAnySource;
    t.add(r, split);
    if (r == 0) {
      t.p2p(0, OpKind::send_init, 1, 0, 1000, CommId(0), 0);
      t.add(0, op_of(OpKind::start, 0, 0));
      t.wait(0, 0);
      t.add(0, op_of(OpKind::request_free, 0, 0));
    } else {
      t.p2p(1, OpKind::recv, 0, 0, 1000);
    }
    t.collective(r, OpKind::allreduce, traces::kAnySource, 80, CommId(0));
  }
  return t;
}

// A kernel of 100 us that is launched, 30 us of computation meanwhile, and the wait for it; then a message, whose request has
// the same number.
MemoryTrace launching() {
  MemoryTrace t(2);
  t.add(0, op_of(OpKind::launch, 0, 3), {static_cast<std::int64_t>(traces::Kernel::device_dgemm), 100, 1, 1});
  t.compute(0, Duration(30 * kMicro));
  t.wait(0, 3);
  t.p2p(0, OpKind::irecv, 1, 0, 1000, CommId(0), 3);
  t.wait(0, 3);
  t.compute(1, Duration(150 * kMicro));
  t.p2p(1, OpKind::send, 0, 0, 1000);
  return t;
}

struct Pictures {
  topology::Platform platform;
  replay::ReplayResult result;
  Timeline timeline;
  PageRun page;

  explicit Pictures(MemoryTrace t = program()) {
    platform = testing::platform_of_text(
        "topology { family: \"crossbar\" set: \"n=2\" set: \"bw=1GB/s\" set: \"lat=1us\" }\n"
        "host { kernel { name: \"device_dgemm\" mnk: \"1us\" } }\n");
    platform.mpi.send_overhead = platform.mpi.iprobe_cost = Duration(2 * kMicro);
    const std::vector<HostId> hosts{HostId(0), HostId(1)};
    replay::ReplayOptions o;
    TimelineCollector collector(2, {}, platform.fabric, hosts, o);
    collector.attach(o);
    RunCollector run(t, platform, hosts, o, {});
    run.attach(o);
    result = replay::replay(t, platform, hosts, o).value();
    EXPECT_TRUE(result.finished);
    t.rewind();
    timeline = collector.finish(t, result.makespan).value();
    predict::RunFacts facts;
    facts.platform = &platform;
    facts.options = &o;
    facts.result = &result;
    page = run.finish(t, facts).value();
  }
};

TEST(OpGroups, OnlyWhatMovesDataHasBytes) {
  for (const OpKind k : {OpKind::send, OpKind::isend, OpKind::sendrecv, OpKind::send_init, OpKind::recv,
                         OpKind::irecv, OpKind::wait, OpKind::allreduce, OpKind::ialltoallw})
    EXPECT_TRUE(has_bytes(k)) << traces::op_name(k);
  for (const OpKind k : {OpKind::compute_time, OpKind::compute_flops, OpKind::iprobe, OpKind::improbe,
                         OpKind::comm_split, OpKind::comm_dup, OpKind::barrier, OpKind::ibarrier,
                         OpKind::region_begin, OpKind::launch, OpKind::start, OpKind::init})
    EXPECT_FALSE(has_bytes(k)) << traces::op_name(k);
}

TEST(OpGroups, OnlyWhatNamesAnotherRankHasAPeer) {
  for (const OpKind k : {OpKind::send, OpKind::issend, OpKind::sendrecv, OpKind::recv_init, OpKind::irecv,
                         OpKind::wait, OpKind::test, OpKind::probe, OpKind::iprobe, OpKind::improbe,
                         OpKind::bcast, OpKind::igatherv, OpKind::reduce, OpKind::exchange_series})
    EXPECT_TRUE(has_peer(k)) << traces::op_name(k);
  for (const OpKind k :
       {OpKind::compute_kernel, OpKind::sleep, OpKind::start, OpKind::startall, OpKind::waitall,
        OpKind::testsome, OpKind::barrier, OpKind::allreduce, OpKind::ialltoallv, OpKind::scan,
        OpKind::comm_split, OpKind::init, OpKind::finalize, OpKind::region_begin, OpKind::launch})
    EXPECT_FALSE(has_peer(k)) << traces::op_name(k);
}

TEST(OpGroups, PerfettoHasBytesOfNothingElse) {
  const Pictures p;
  perfetto::Trace trace;
  ASSERT_TRUE(trace.ParseFromString(perfetto_text(p.timeline, "two ranks")));
  std::map<std::uint64_t, std::string> names;
  std::set<std::string> with, without, peers;
  for (const auto& packet : trace.packet()) {
    for (const auto& n : packet.interned_data().event_names()) names[n.iid()] = n.name();
    const auto& e = packet.track_event();
    if (!packet.has_track_event() || e.type() != perfetto::TrackEvent::SLICE_BEGIN) continue;
    bool bytes = false;
    for (const auto& a : e.debug_annotations()) {
      bytes = bytes || a.name() == "bytes";
      if (a.name() == "peer") peers.insert(names[e.name_iid()]);
    }
    (bytes ? with : without).insert(names[e.name_iid()]);
  }
  EXPECT_EQ(with, (std::set<std::string>{"allreduce", "recv"})) << "the wait takes no time";
  EXPECT_EQ(without, (std::set<std::string>{"comm_split", "iprobe", "start"}));
  EXPECT_EQ(peers, (std::set<std::string>{"iprobe", "recv"})) << "the start of a request names nobody";
}

TEST(OpGroups, SpansOfThePageHaveTheBytesAndTheStartsOfSends) {
  const Pictures p;
  const TimelineSection& t = *p.page.timeline;
  std::map<std::string, float> amount;
  double sends = 0;
  for (std::size_t i = 0; i < t.kind.size(); ++i) {
    amount[t.kinds[t.kind[i]]] = t.amount[i];
    if (t.kinds[t.kind[i]] == "start") {
      EXPECT_EQ(t.peer[i], -1);
    }
    if (t.group[t.kind[i]] == "send") sends += static_cast<double>(t.length[i]) * static_cast<double>(t.tick);
  }
  EXPECT_EQ(amount.at("iprobe"), 0);
  EXPECT_EQ(amount.at("comm_split"), 0);
  EXPECT_EQ(amount.at("recv"), 1000);
  EXPECT_EQ(amount.at("allreduce"), 80);
  EXPECT_EQ(sends, static_cast<double>((p.result.ranks[0].send + p.result.ranks[1].send).count()));
  EXPECT_GT(sends, 0);
}

// What hosts wait for their accelerators is computation in the table of ranks, and in every picture beside it.
TEST(OpGroups, AWaitForTheAcceleratorIsComputation) {
  const Pictures p(launching());
  const replay::RankTimes& times = p.result.ranks[0];
  EXPECT_EQ(times.compute, Duration(100 * kMicro));
  EXPECT_GT(times.wait, Duration(0));

  const TimelineSection& t = *p.page.timeline;
  std::map<std::string, std::int64_t> groups, kinds;
  for (std::size_t i = t.first[0]; i < t.first[1]; ++i) {
    groups[t.group[t.kind[i]]] += static_cast<std::int64_t>(t.length[i]) * t.tick;
    kinds[t.kinds[t.kind[i]]] += static_cast<std::int64_t>(t.length[i]) * t.tick;
  }
  EXPECT_EQ(groups["compute"], times.compute.count());
  EXPECT_EQ(groups["wait"], times.wait.count());
  EXPECT_EQ(kinds["wait for accelerator"], 70 * kMicro);

  const std::string prv = paraver_texts(p.timeline, {0, 1}, {}).prv;
  EXPECT_NE(prv.find("\n1:1:1:1:1:30000:100000:1\n"), std::string::npos) << "running\n" << prv;
  EXPECT_EQ(prv.find(":30000:5000000"), std::string::npos) << "no call of MPI\n" << prv;

  perfetto::Trace trace;
  ASSERT_TRUE(trace.ParseFromString(perfetto_text(p.timeline, "two ranks")));
  std::map<std::uint64_t, std::string> names;
  std::vector<std::string> waits;
  for (const auto& packet : trace.packet()) {
    for (const auto& n : packet.interned_data().event_names()) names[n.iid()] = n.name();
    const auto& e = packet.track_event();
    if (packet.has_track_event() && e.type() == perfetto::TrackEvent::SLICE_BEGIN &&
        names[e.name_iid()].starts_with("wait"))
      waits.push_back(names[e.name_iid()] + (e.debug_annotations_size() > 1 ? " of a message" : ""));
  }
  EXPECT_EQ(waits, (std::vector<std::string>{"wait for accelerator", "wait of a message"}));
}

TEST(OpGroups, AStartIsAnImmediateSendInParaver) {
  const Pictures p;
  const auto all = spans_by_rank(p.timeline);
  for (const TimelineSpan& s : all[0]) {
    if (s.kind != OpKind::start) continue;
    const auto ns = [](SimTime at) { return std::to_string(at.time_since_epoch().count() / 1000); };
    const std::string prv = paraver_texts(p.timeline, {0, 1}, {}).prv;
    EXPECT_NE(prv.find("\n1:1:1:1:1:" + ns(s.begin) + ":" + ns(s.end) + ":10\n"), std::string::npos) << prv;
    return;
  }
  ADD_FAILURE() << "no start";
}

}  // namespace
}  // namespace weft::report::op_groups_test
