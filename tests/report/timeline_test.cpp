// Exports for viewers, read back: the grammar of Paraver's files with a reader of its own, Perfetto's with its messages. What
// is drawn is what the replay says.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <vector>

#include "report/timeline/perfetto.pb.h"
#include "report/timeline/timeline.hpp"
#include "tests/support/memory_trace.hpp"

namespace weft::report::timeline_test {
namespace {

using testing::MemoryTrace;
using traces::Op;
using traces::OpKind;

constexpr std::int64_t kMicro = 1'000'000;

// Two ranks a host; a ring with computation in a region, an empty region, a collective, non-blocking messages.
MemoryTrace program() {
  MemoryTrace t(4);
  const auto step = static_cast<std::int64_t>(t.add_region("step").index());
  const auto region = [&](std::uint32_t r, OpKind kind) {
    Op op;
    op.kind = kind;
    op.amount = step;
    t.add(r, op);
  };
  for (std::uint32_t r = 0; r < 4; ++r) {
    const auto next = static_cast<std::int32_t>((r + 1) % 4), before = static_cast<std::int32_t>((r + 3) % 4);
    region(r, OpKind::region_begin);
    region(r, OpKind::region_end);
    for (int i = 0; i < 3; ++i) {
      region(r, OpKind::region_begin);
      t.compute(r, Duration((10 + r) * kMicro));
      t.p2p(r, OpKind::irecv, before, i, 1000, CommId(0), 0);
      t.p2p(r, OpKind::isend, next, i, 1000, CommId(0), 1);
      t.wait(r, 0);
      t.wait(r, 1);
      region(r, OpKind::region_end);
    }
    t.collective(r, OpKind::allreduce, traces::kAnySource, 8000, CommId(0));
    if (r == 0) t.p2p(0, OpKind::send, 3, 7, 500'000);
    if (r == 3) t.p2p(3, OpKind::recv, 0, 7, 500'000);
  }
  return t;
}

struct Seen {
  Timeline timeline;
  replay::ReplayResult result;
};
Seen see(const TimelineOptions& options = {}) {
  MemoryTrace t = program();
  auto p = topology::load_platform("crossbar:n=2,bw=1GB/s,lat=1us").value();
  p.mpi.send_overhead = Duration(2 * kMicro);
  TimelineCollector collector(4, options);
  replay::ReplayOptions o;
  collector.attach(o);
  auto r = replay::replay(t, p, {HostId(0), HostId(0), HostId(1), HostId(1)}, o);
  EXPECT_TRUE(r) << (r ? "" : r.error().message());
  t.rewind();
  auto timeline = collector.finish(t, r->makespan);
  EXPECT_TRUE(timeline);
  return {std::move(timeline).value(), std::move(r).value()};
}

std::vector<std::int64_t> numbers(const std::string& line) {
  std::vector<std::int64_t> out;
  std::istringstream in(line);
  for (std::string field; std::getline(in, field, ':');) {
    std::size_t used = 0;
    out.push_back(std::stoll(field, &used));
    EXPECT_EQ(used, field.size()) << line;
  }
  return out;
}

TEST(Timeline, ParaverFilesFollowTheGrammarAndTheReplay) {
  const Seen seen = see();
  const MemoryTrace t = program();
  const Paraver p = paraver(seen.timeline, {0, 0, 1, 1}, t.communicators());
  std::istringstream in(p.prv);
  std::string line;
  std::getline(in, line);
  const std::int64_t end = seen.result.makespan.count() / 1000;
  EXPECT_EQ(line,
            "#Paraver (01/01/70 at 00:00):" + std::to_string(end) + "_ns:2(2,2):1:4(1:1,1:1,1:2,1:2),1");
  std::getline(in, line);
  EXPECT_EQ(line, "c:1:1:4:1:2:3:4");
  std::int64_t before = 0;
  std::map<std::int64_t, std::int64_t> state_until, running;
  std::map<std::pair<std::int64_t, std::int64_t>, int> open;
  std::size_t messages = 0;
  std::int64_t bytes = 0;
  while (std::getline(in, line)) {
    const auto f = numbers(line);
    ASSERT_GE(f.size(), 8u) << line;
    ASSERT_EQ(f[1], f[3]) << "one processor a rank, node by node: " << line;
    ASSERT_TRUE(f[2] == 1 && f[4] == 1 && f[3] >= 1 && f[3] <= 4) << line;
    ASSERT_GE(f[5], before) << "in order of time: " << line;
    before = f[5];
    if (f[0] == 1) {
      ASSERT_EQ(f.size(), 8u);
      EXPECT_EQ(f[5], state_until[f[3]]) << "states follow each other: " << line;
      EXPECT_GT(f[6], f[5]);
      state_until[f[3]] = f[6];
      if (f[7] == 1) running[f[3]] += f[6] - f[5];
    } else if (f[0] == 2) {
      ASSERT_EQ(f.size() % 2, 0u) << line;
      int& depth = open[{f[3], f[6]}];
      depth += f[7] == 0 ? -1 : 1;
      EXPECT_GE(depth, 0) << line;
      EXPECT_NE(p.pcf.find(std::to_string(f[6])), std::string::npos) << "named in the .pcf";
    } else {
      ASSERT_EQ(f[0], 3);
      ASSERT_EQ(f.size(), 15u);
      EXPECT_LE(f[5], f[6]) << line;
      EXPECT_LE(f[6], f[12]) << "data arrive after they left: " << line;
      EXPECT_LE(f[11], f[12]) << line;
      ++messages;
      bytes += f[13];
    }
  }
  for (std::int64_t r = 1; r <= 4; ++r) {
    EXPECT_EQ(state_until[r], end);
    EXPECT_NEAR(
        static_cast<double>(running[r]),
        static_cast<double>(seen.result.ranks[static_cast<std::size_t>(r - 1)].compute.count()) / 1000, 4);
  }
  for (const auto& [what, depth] : open)
    EXPECT_EQ(depth, 0) << "rank " << what.first << " type " << what.second;
  EXPECT_EQ(messages, seen.result.network.count);
  EXPECT_EQ(bytes, static_cast<std::int64_t>(seen.result.network.bytes));
  EXPECT_EQ(std::count(p.row.begin(), p.row.end(), '\n'), 3 + 4 + 2 + 4 + 2);
  EXPECT_NE(p.pcf.find("1      step"), std::string::npos);
}

TEST(Timeline, PerfettoSlicesNestAndEveryMessageHasItsArrow) {
  const Seen seen = see();
  perfetto::Trace trace;
  ASSERT_TRUE(trace.ParseFromString(perfetto(seen.timeline, "four ranks")));
  std::map<std::uint64_t, std::string> names;
  std::map<std::uint64_t, std::vector<std::string>> stack;
  std::map<std::uint64_t, std::uint64_t> last, began, computed;
  std::multiset<std::uint64_t> from, to;
  std::set<std::uint64_t> tracks;
  std::size_t regions = 0;
  for (const auto& packet : trace.packet()) {
    if (packet.has_track_descriptor()) {
      tracks.insert(packet.track_descriptor().uuid());
      continue;
    }
    for (const auto& n : packet.interned_data().event_names()) names[n.iid()] = n.name();
    const auto& e = packet.track_event();
    const std::uint64_t track = e.track_uuid(), at = packet.timestamp();
    ASSERT_TRUE(tracks.contains(track));
    EXPECT_GE(at, last[track]);
    last[track] = at;
    for (const std::uint64_t id : e.flow_ids()) from.insert(id);
    for (const std::uint64_t id : e.terminating_flow_ids()) to.insert(id);
    if (e.type() == perfetto::TrackEvent::SLICE_BEGIN) {
      ASSERT_TRUE(names.contains(e.name_iid()));
      stack[track].push_back(names[e.name_iid()]);
      regions += stack[track].back() == "step" ? 1 : 0;
      began[track] = at;
    } else if (e.type() == perfetto::TrackEvent::SLICE_END) {
      ASSERT_FALSE(stack[track].empty());
      if (stack[track].back() == "compute") computed[track] += at - began[track];
      stack[track].pop_back();
    }
  }
  EXPECT_EQ(tracks.size(), 5u);
  EXPECT_EQ(regions, 4u * 4u);
  for (const auto& [track, open] : stack) EXPECT_TRUE(open.empty());
  EXPECT_EQ(from.size(), seen.result.network.count);
  EXPECT_EQ(from, to);
  EXPECT_EQ(std::set<std::uint64_t>(from.begin(), from.end()).size(), from.size());
  for (std::uint32_t r = 0; r < 4; ++r)
    EXPECT_NEAR(static_cast<double>(computed[2 + r]),
                static_cast<double>(seen.result.ranks[r].compute.count()) / 1000, 4);
}

TEST(Timeline, HoldsTheRanksAndTheTimeAskedForAndSaysWhatTheLimitLeavesOut) {
  TimelineOptions some;
  some.ranks = {true, false, false, true};
  some.from = SimTime(Duration(20 * kMicro));
  some.to = SimTime(Duration(60 * kMicro));
  const Seen part = see(some);
  EXPECT_TRUE(part.timeline.spans[1].empty() && part.timeline.spans[2].empty());
  ASSERT_FALSE(part.timeline.spans[0].empty());
  for (const auto& s : part.timeline.spans[0]) EXPECT_TRUE(s.end >= some.from && s.begin <= some.to);
  for (const auto& m : part.timeline.messages) EXPECT_TRUE(m.src.index() % 3 == 0 && m.dst.index() % 3 == 0);
  EXPECT_EQ(part.timeline.spans_left_out, 0u);
  const Seen all = see();
  std::size_t spans = 0;
  for (const auto& s : all.timeline.spans) spans += s.size();
  TimelineOptions few;
  few.limit = 10;
  const Seen cut = see(few);
  EXPECT_EQ(cut.timeline.spans_left_out, spans - 10);
  EXPECT_EQ(cut.timeline.messages_left_out, all.timeline.messages.size() - 10);
  EXPECT_EQ(cut.result.fingerprint, all.result.fingerprint);
}

TEST(Timeline, SetsOfRanksAreReadOrRefused) {
  EXPECT_EQ(parse_rank_set("0-2,4", 6, "--ranks").value(),
            (std::vector<bool>{true, true, true, false, true, false}));
  for (const char* bad : {"", "6", "2-1", "1-", "-1", "a", "1,,2", "0-6", "1 "})
    EXPECT_FALSE(parse_rank_set(bad, 6, "--ranks")) << bad;
}

}  // namespace
}  // namespace weft::report::timeline_test
