// Exports for viewers, read back: the grammar of Paraver's files with a reader of its own, Perfetto's with its messages. What
// is drawn is what the replay says.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>
#include <vector>

#include "report/html/traffic_section.hpp"
#include "report/timeline/perfetto.pb.h"
#include "tests/report/timeline_texts.hpp"
#include "tests/support/files.hpp"
#include "tests/support/memory_trace.hpp"

namespace weft::report::timeline_test {
namespace {

using testing::MemoryTrace;
using traces::OpKind;

constexpr std::int64_t kMicro = 1'000'000;

// Two ranks a host; a ring with computation in a region, an empty region, a collective, non-blocking messages.
MemoryTrace program() {
  MemoryTrace t(4);
  const RegionId step = t.add_region("step");
  for (std::uint32_t r = 0; r < 4; ++r) {
    const auto next = static_cast<std::int32_t>((r + 1) % 4), before = static_cast<std::int32_t>((r + 3) % 4);
    t.region(r, OpKind::region_begin, step);
    t.region(r, OpKind::region_end, step);
    for (int i = 0; i < 3; ++i) {
      t.region(r, OpKind::region_begin, step);
      t.compute(r, Duration((10 + r) * kMicro));
      t.p2p(r, OpKind::irecv, before, i, 1000, CommId(0), 0);
      t.p2p(r, OpKind::isend, next, i, 1000, CommId(0), 1);
      t.wait(r, 0);
      t.wait(r, 1);
      t.region(r, OpKind::region_end, step);
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
  topology::Platform platform;
};
Seen see(const TimelineOptions& options = {}, const std::string& on = "crossbar:n=2,bw=1GB/s,lat=1us",
         MemoryTrace t = program()) {
  auto p = topology::load_platform(on).value();
  p.mpi.send_overhead = Duration(2 * kMicro);
  const std::vector<HostId> hosts{HostId(0), HostId(0), HostId(1), HostId(1)};
  replay::ReplayOptions o;
  o.critical_path = true;
  TimelineOptions of_calls = options;
  of_calls.calls = true;
  TimelineCollector collector(4, of_calls, p.fabric, hosts, o);
  collector.attach(o);
  auto r = replay::replay(t, p, hosts, o);
  EXPECT_TRUE(r) << (r ? "" : r.error().message());
  t.rewind();
  auto timeline = collector.finish(t, r->makespan);
  EXPECT_TRUE(timeline);
  add_path(*timeline, r->path);
  return {std::move(timeline).value(), std::move(r).value(), std::move(p)};
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

constexpr std::int64_t kPathEvent = 60000319;

TEST(Timeline, ParaverFilesFollowTheGrammarAndTheReplay) {
  Seen seen = see();
  const MemoryTrace t = program();
  const ParaverTexts p = paraver_texts(seen.timeline, {0, 0, 1, 1}, t.communicators());
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
  std::int64_t bytes = 0, path = 0;
  std::set<std::int64_t> calls;
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
      if (f[6] == kPathEvent) path += f[7] == 0 ? f[5] : -f[5];
      if (f[6] / 10 == 5000000 && f[7] != 0) calls.insert(f[6] % 10 * 1000 + f[7]);
      int& depth = open[{f[3], f[6]}];
      depth += f[7] == 0 ? -1 : 1;
      EXPECT_GE(depth, 0) << line;
      EXPECT_NE(p.pcf.find(std::to_string(f[6])), std::string::npos) << "named in the .pcf";
    } else {
      ASSERT_EQ(f[0], 3);
      ASSERT_EQ(f.size(), 15u);
      EXPECT_LE(f[5], f[6]) << line;
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
  EXPECT_EQ(messages, seen.result.point_to_point.count) << "those of collectives are the network's";
  EXPECT_EQ(bytes, static_cast<std::int64_t>(seen.result.point_to_point.bytes));
  EXPECT_EQ(std::count(p.row.begin(), p.row.end(), '\n'), 3 + 4 + 2 + 4 + 2);
  EXPECT_NE(p.pcf.find("1      step"), std::string::npos);
  EXPECT_EQ(calls, (std::set<std::int64_t>{1001, 1002, 1003, 1004, 1005, 2010}))
      << "Extrae's send, recv, isend, irecv, wait; allreduce";
  EXPECT_EQ(path, end) << "what is on the critical path, of all ranks";
  EXPECT_NE(p.pcf.find("Critical path\nVALUES\n0      End\n1      own time\n2      message"),
            std::string::npos);
  seen.timeline.path.clear();
  EXPECT_EQ(paraver_pcf(seen.timeline).find("Critical path"), std::string::npos);
}

TEST(Timeline, PerfettoSlicesNestAndEveryMessageHasItsArrow) {
  const Seen seen = see();
  perfetto::Trace trace;
  ASSERT_TRUE(trace.ParseFromString(perfetto_text(seen.timeline, "four ranks")));
  std::map<std::uint64_t, std::string> names;
  std::map<std::uint64_t, std::vector<std::string>> stack;
  std::map<std::uint64_t, std::uint64_t> last, began, computed;
  std::multiset<std::uint64_t> from, to;
  std::set<std::uint64_t> tracks;
  std::size_t regions = 0;
  for (const auto& packet : trace.packet()) {
    if (packet.has_track_descriptor()) {
      if (packet.track_descriptor().has_counter()) continue;  // of links: below
      tracks.insert(packet.track_descriptor().uuid());
      continue;
    }
    for (const auto& n : packet.interned_data().event_names()) names[n.iid()] = n.name();
    const auto& e = packet.track_event();
    if (e.type() == perfetto::TrackEvent::COUNTER) continue;
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
  EXPECT_EQ(tracks.size(), 7u)
      << "four ranks, what is above them, the critical path, and what is above the links";
  EXPECT_EQ(regions, 4u * 4u);
  for (const auto& [track, open] : stack) EXPECT_TRUE(open.empty());
  EXPECT_EQ(from.size(), seen.result.network.count);
  EXPECT_EQ(from, to);
  EXPECT_EQ(std::set<std::uint64_t>(from.begin(), from.end()).size(), from.size());
  for (std::uint32_t r = 0; r < 4; ++r)
    EXPECT_NEAR(static_cast<double>(computed[2 + r]),
                static_cast<double>(seen.result.ranks[r].compute.count()) / 1000, 4);
}

// Its slices follow each other from 0 to the end, and say what the path's segments say.
TEST(Timeline, PerfettoHasTheCriticalPathAsATrack) {
  const Seen seen = see();
  perfetto::Trace trace;
  ASSERT_TRUE(trace.ParseFromString(perfetto_text(seen.timeline, "four ranks")));
  std::uint64_t track = 0, at = 0;
  std::map<std::uint64_t, std::string> names;
  std::vector<std::string> slices, expected;
  std::int64_t parts = 0;
  for (const auto& packet : trace.packet()) {
    if (packet.track_descriptor().name() == "critical path") track = packet.track_descriptor().uuid();
    for (const auto& n : packet.interned_data().event_names()) names[n.iid()] = n.name();
    const auto& e = packet.track_event();
    if (!packet.has_track_event() || e.track_uuid() != track) continue;
    if (e.type() == perfetto::TrackEvent::SLICE_BEGIN) {
      EXPECT_EQ(packet.timestamp(), at);
      slices.push_back(names[e.name_iid()]);
      for (const auto& a : e.debug_annotations())
        if (a.name().ends_with("_ps")) parts += a.int_value();
    }
    at = packet.timestamp();
  }
  ASSERT_NE(track, 0u);
  EXPECT_EQ(at, static_cast<std::uint64_t>(seen.result.makespan.count() / 1000));
  EXPECT_EQ(parts, seen.result.makespan.count());
  for (const replay::PathSegment& s : seen.result.path.segments) {
    if (s.from == s.to) continue;  // a message within a host
    expected.push_back(s.is_message()
                           ? "message " + std::to_string(s.rank.index()) + " to " +
                                 std::to_string(s.receiver.index())
                           : "rank " + std::to_string(s.rank.index()) + (s.region.valid() ? ": step" : ""));
  }
  EXPECT_EQ(slices, expected);
  EXPECT_GE(slices.size(), 5u);

  // As far as the time asked for.
  TimelineOptions some;
  some.from = SimTime(Duration(15 * kMicro));
  some.to = SimTime(Duration(25 * kMicro));
  const Seen part = see(some);
  EXPECT_FALSE(part.timeline.path.empty());
  EXPECT_LT(part.timeline.path.size(), slices.size());
  for (const auto& s : part.timeline.path) EXPECT_TRUE(s.to > some.from && s.from < some.to);
}

// Percent of the bandwidth by time, of each link.
using Loads = std::map<std::string, std::vector<std::pair<std::int64_t, double>>>;

Loads loads_in_perfetto(const Seen& seen) {
  perfetto::Trace trace;
  EXPECT_TRUE(trace.ParseFromString(perfetto_text(seen.timeline, "four ranks")));
  std::map<std::uint64_t, std::string> counters;
  std::set<std::uint64_t> others;
  Loads loads;
  for (const auto& packet : trace.packet()) {
    const auto& d = packet.track_descriptor();
    if (packet.has_track_descriptor() && d.has_counter()) {
      EXPECT_EQ(d.counter().unit_name(), "% of bandwidth");
      EXPECT_TRUE(others.contains(d.parent_uuid())) << "below a track that is there";
      counters[d.uuid()] = d.name();
    } else if (packet.has_track_descriptor()) {
      others.insert(d.uuid());
    }
    const auto& e = packet.track_event();
    if (!packet.has_track_event() || e.type() != perfetto::TrackEvent::COUNTER) continue;
    EXPECT_TRUE(counters.contains(e.track_uuid())) << "described before it counts";
    loads[counters[e.track_uuid()]].emplace_back(packet.timestamp(), e.double_counter_value());
  }
  EXPECT_EQ(counters.size(), loads.size());
  return loads;
}

Loads loads_in_paraver(const Seen& seen) {
  const ParaverTexts p = paraver_texts(seen.timeline, {0, 0, 1, 1}, program().communicators());
  // The threads by name: the ranks, then the links.
  std::vector<std::string> names;
  std::istringstream row(p.network_row.substr(p.network_row.find("LEVEL THREAD")));
  std::string line;
  std::getline(row, line);
  while (std::getline(row, line)) names.push_back(line);
  EXPECT_EQ(names.at(3), "rank 3");
  Loads loads;
  std::istringstream in(p.network_prv);
  std::getline(in, line);
  while (std::getline(in, line)) {
    if (line.starts_with('c')) continue;
    const auto f = numbers(line);
    if (f[2] != 2) continue;
    EXPECT_EQ(f.size(), 8u) << line;
    EXPECT_TRUE(f[0] == 2 && f[1] == 4 + f[4] && f[3] == 1) << line;
    EXPECT_NE(p.network_pcf.find(std::to_string(f[6]) + "    Link load"), std::string::npos)
        << "named in the .pcf";
    loads[names.at(static_cast<std::size_t>(3 + f[4]))].emplace_back(f[5], static_cast<double>(f[7]) / 100);
  }
  return loads;
}

TEST(Timeline, LoadOfLinksIsWhatTheReplayCounted) {
  for (const std::string on : {"crossbar:n=2,bw=1GB/s,lat=1us", "torus-16"}) {
    SCOPED_TRACE(on);
    const Seen seen = see({}, on);
    const Loads loads = loads_in_perfetto(seen);
    const double end = static_cast<double>(seen.result.makespan.count()) / 1000;
    std::size_t used = 0;
    for (std::uint32_t l = 0; l < seen.result.links.size(); ++l) {
      const double bytes = static_cast<double>(seen.result.links[l].bytes);
      if (bytes == 0) continue;
      ++used;
      const auto& steps = loads.at(seen.platform.fabric.link_name(LinkId(l)));
      double percent_ns = 0;
      for (std::size_t i = 0; i + 1 < steps.size(); ++i) {
        ASSERT_LT(steps[i].first, steps[i + 1].first);
        ASSERT_NE(steps[i].second, steps[i + 1].second) << "only what changes is written";
        percent_ns += steps[i].second * static_cast<double>(steps[i + 1].first - steps[i].first);
      }
      EXPECT_EQ(steps.front().first, 0);
      EXPECT_EQ(steps.back().second, 0.0) << "nothing moves after the end";
      const double mean = 100 * bytes / seen.platform.fabric.links().capacity[l] / (end * 1e-9);
      EXPECT_NEAR(percent_ns / end, mean, 0.005 + 1e-3 * mean) << "0.01 % steps, whole nanoseconds";
    }
    EXPECT_EQ(loads.size(), used);
    EXPECT_EQ(loads_in_paraver(seen), loads);
  }
}

TEST(Timeline, LoadOfLinksIsOfAllRanksAndOfTheTimeAskedFor) {
  TimelineOptions some;
  some.ranks = {true, false, false, false};
  some.from = SimTime(Duration(20 * kMicro));
  some.to = SimTime(Duration(60 * kMicro));
  const Loads all = loads_in_perfetto(see());
  const Loads part = loads_in_perfetto(see(some));
  ASSERT_EQ(part.size(), all.size());
  const auto at = [](const std::vector<std::pair<std::int64_t, double>>& steps, std::int64_t t) {
    double value = 0;
    for (const auto& [when, percent] : steps)
      if (when <= t) value = percent;
    return value;
  };
  for (const auto& [name, steps] : part) {
    EXPECT_EQ(steps.front().first, 20'000);
    EXPECT_LE(steps.back().first, 60'000);
    for (std::int64_t t = 20'000; t < 60'000; t += 100)
      ASSERT_EQ(at(steps, t), at(all.at(name), t)) << name << t;
  }
}

TEST(Timeline, LoadOfLinksIsBoundedAndSaysWhatIsMissing) {
  const Seen random = see({}, "fat-tree:m=4,n=3,bw=100Gbps,lat=500ns,routing=random");
  EXPECT_EQ(random.timeline.load.unknown, "routing random chooses a route for every message");
  EXPECT_TRUE(loads_in_perfetto(random).empty());
  EXPECT_TRUE(random.timeline.link_names.empty());
  EXPECT_EQ(paraver_texts(random.timeline, {0, 0, 1, 1}, {}).network_pcf.find("Link load"),
            std::string::npos);
  // A message over three links each, from a host to its switch, on, and down: the busiest stay.
  const auto p = topology::load_platform("torus:dims=100,bw=1GB/s,lat=1us").value();
  std::vector<HostId> hosts;
  for (std::uint32_t h = 0; h < 100; ++h) hosts.emplace_back(h);
  LinkLoadCollector collector(p.fabric, hosts, {});
  for (std::uint32_t r = 0; r < 99; ++r) {
    replay::MessageSeen m{};
    m.src = RankId(r);
    m.dst = RankId(r + 1);
    m.bytes = 1000 + r;
    m.arrived = SimTime(Duration(2 * kMicro));
    collector.add(m);
  }
  const LinkLoad load = collector.finish(Duration(2 * kMicro));
  EXPECT_EQ(load.links.size(), LinkLoadCollector::kLinksShown);
  EXPECT_EQ(load.left_out, 3 * 99 - LinkLoadCollector::kLinksShown);
  EXPECT_EQ(load.link_bytes[load.links.front().index()], 1098u);
  EXPECT_EQ(load.link_bytes[load.links.back().index()], 1098u - (LinkLoadCollector::kLinksShown - 1) / 3);
}

// A replay over all time that ends at `end`, of one message over two links of 1 GB/s.
Timeline with_one_message(std::int64_t bytes, Duration arrived, Duration end) {
  const auto p = topology::load_platform("crossbar:n=2,bw=1GB/s,lat=1us").value();
  const std::vector<HostId> hosts{HostId(0), HostId(1)};
  LinkLoadCollector collector(p.fabric, hosts, {});
  replay::MessageSeen m{};
  m.src = RankId(0);
  m.dst = RankId(1);
  m.bytes = bytes;
  m.arrived = SimTime(arrived);
  collector.add(m);
  Timeline t;
  t.to = SimTime(Duration::max());
  t.end = SimTime(end);
  t.load = collector.finish(end);
  return t;
}

// A message of 1 us, then computation: its link is empty from there on.
TEST(LinkLoad, GoesToTheEndOfTheReplayWhereNothingIsSentAnyMore) {
  const Timeline t = with_one_message(1000, Duration(kMicro), Duration(10 * kMicro));
  EXPECT_GT(t.load.bin * t.load.bins, Duration(10 * kMicro));
  EXPECT_LE(t.load.bin * (t.load.bins - 1), Duration(10 * kMicro));
  EXPECT_LE(t.load.bins, LinkLoadCollector::kBins);
  EXPECT_GE(t.load.bins, LinkLoadCollector::kBins / 2);
  const auto steps = load_steps(t, 0);
  ASSERT_FALSE(steps.empty());
  EXPECT_EQ(steps.front().used, 10'000);
  EXPECT_EQ(steps.back().used, 0);
  EXPECT_GE(steps.back().at, SimTime(Duration(kMicro)));
  EXPECT_LE(steps.back().at, SimTime(Duration(kMicro)) + t.load.bin);
}

// 7.5 MB from 0 to 2, and after 5 ms 2.5 MB from 1 to 2. Sharing 1 GB/s both end after 10 ms, and the link into 2 is full until
// then: the first has 1 GB/s alone, then each has a half.
struct TwoMessages {
  Timeline timeline;
  std::vector<double> utilization;
  double full = 0;  // what the page's brightest colour stands for

  explicit TwoMessages(const std::string& model) {
    MemoryTrace t(3);
    t.p2p(0, OpKind::send, 2, 0, 7'500'000);
    t.compute(1, Duration(5000 * kMicro));
    t.p2p(1, OpKind::send, 2, 1, 2'500'000);
    t.p2p(2, OpKind::irecv, 1, 1, 2'500'000, CommId(0), 0);
    t.p2p(2, OpKind::recv, 0, 0, 7'500'000);
    t.wait(2, 0);
    const auto p = topology::load_platform("crossbar:n=3,bw=1GB/s,lat=0s").value();
    const std::vector<HostId> hosts{HostId(0), HostId(1), HostId(2)};
    replay::ReplayOptions o;
    o.raw = replay::RawMode::kEager;
    o.model = model;
    TimelineCollector collector(3, {}, p.fabric, hosts, o);
    TrafficCollector traffic(3, p.fabric, hosts, o);
    collector.attach(o);
    o.on_message = [&, before = o.on_message](const replay::MessageSeen& m) {
      before(m);
      traffic.add(m);
    };
    const auto r = replay::replay(t, p, hosts, o).value();
    t.rewind();
    timeline = collector.finish(t, r.makespan).value();
    full = to_json(traffic.finish(r.makespan), p.fabric)["heat"]["full"];
    for (const LinkId l : timeline.load.links)
      utilization.push_back(static_cast<double>(r.links[l.index()].bytes) /
                            p.fabric.links().capacity[l.index()] / to_seconds(r.makespan));
  }
  [[nodiscard]] std::vector<LoadStep> into_2() const {
    const auto& names = timeline.link_names;
    const auto at = std::find(names.begin(), names.end(), "switch->node-2") - names.begin();
    return load_steps(timeline, static_cast<std::size_t>(at));
  }
  // The mean over time is what the replay counts.
  void expect_the_bytes_that_the_replay_counts() const {
    for (std::size_t i = 0; i < utilization.size(); ++i) {
      double sum = 0;
      const auto steps = load_steps(timeline, i);
      for (std::size_t s = 0; s + 1 < steps.size(); ++s)
        sum += steps[s].used / 1e4 * to_seconds(steps[s + 1].at - steps[s].at);
      EXPECT_NEAR(sum / to_seconds(timeline.end.time_since_epoch()), utilization[i], 1e-4)
          << timeline.link_names[i];
    }
  }
};

TEST(LinkLoad, IsNotAboveTheBandwidthThatFlowsShareAndLosesNothing) {
  const TwoMessages m("");
  ASSERT_EQ(m.timeline.end, SimTime(Duration(10'000 * kMicro)));
  const auto steps = m.into_2();
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[0].used, 10'000);
  EXPECT_EQ(steps[1].at, m.timeline.end);
  m.expect_the_bytes_that_the_replay_counts();
  EXPECT_NEAR(m.full, 1, 1e-6);
}

TEST(LinkLoad, IsAboveTheBandwidthWhereFlowsDoNotShareIt) {
  const TwoMessages m("contention-free");
  ASSERT_EQ(m.timeline.end, SimTime(Duration(7500 * kMicro)));
  const auto steps = m.into_2();
  ASSERT_GE(steps.size(), 3u);
  EXPECT_EQ(steps.front().used, 10'000);
  EXPECT_EQ(steps[steps.size() - 2].used, 20'000);
  m.expect_the_bytes_that_the_replay_counts();
  EXPECT_NEAR(m.full, 2, 1e-6);
}

// A message that nobody receives can come after all ranks are done: the end of the replay cuts it, and what comes later is not put
// before.
TEST(LinkLoad, OfMessagesThatComeAfterTheEndIsWhatItWasUntilThen) {
  const Timeline t = with_one_message(5000, Duration(10 * kMicro), Duration(3 * kMicro));
  const auto steps = load_steps(t, 0);
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[0].used, 5000);
  EXPECT_EQ(steps[1].at, t.end);
}

TEST(LinkLoad, GoesToTheEndOfTime) {
  const LinkLoad load = with_one_message(1000, Duration::max(), Duration::max()).load;
  EXPECT_EQ(load.links.size(), 2u);
  EXPECT_EQ(load.link_bytes[load.links.front().index()], 1000u);
}

TEST(Timeline, HoldsTheRanksAndTheTimeAskedFor) {
  TimelineOptions some;
  some.ranks = {true, false, false, true};
  some.from = SimTime(Duration(20 * kMicro));
  some.to = SimTime(Duration(60 * kMicro));
  const Seen part = see(some);
  const auto spans = spans_by_rank(part.timeline);
  EXPECT_TRUE(spans[1].empty() && spans[2].empty());
  ASSERT_FALSE(spans[0].empty());
  for (const auto& s : spans[0]) EXPECT_TRUE(s.end >= some.from && s.begin <= some.to);
  for (const auto& m : messages_of(part.timeline))
    EXPECT_TRUE(m.src.index() % 3 == 0 && m.dst.index() % 3 == 0);
  EXPECT_EQ(part.result.fingerprint, see().result.fingerprint);
}

// Where memory holds a row or two, all goes through a file: the same bytes come out.
TEST(Timeline, DoesNotDependOnTheMemoryThatItHas) {
  const std::vector<std::uint32_t> nodes{0, 0, 1, 1};
  const auto communicators = program().communicators();
  const Seen seen = see();
  const std::string perfetto = perfetto_text(seen.timeline, "four ranks");
  const ParaverTexts paraver = paraver_texts(seen.timeline, nodes, communicators);
  for (const std::size_t memory : {1u, 150u, 1000u}) {
    const support::TempDir folder;
    TimelineOptions little;
    little.memory = memory;
    little.beside = folder.path("out");
    const Seen again = see(little);
    EXPECT_EQ(perfetto_text(again.timeline, "four ranks"), perfetto) << memory;
    const ParaverTexts p = paraver_texts(again.timeline, nodes, communicators);
    EXPECT_EQ(p.prv, paraver.prv) << memory;
    EXPECT_EQ(p.network_prv, paraver.network_prv) << memory;
    EXPECT_TRUE(std::filesystem::is_empty(folder.path())) << "what was spilled has no name";
  }
}

// Ranks 0 and 3 from 20 to 60 us, when all four are at work; the whole path is known.
TEST(Timeline, ParaverSaysNothingOfRanksAndTimesThatWereNotAskedFor) {
  TimelineOptions some;
  some.ranks = {true, false, false, true};
  some.from = SimTime(Duration(20 * kMicro));
  some.to = SimTime(Duration(60 * kMicro));
  std::istringstream in(paraver_texts(see(some).timeline, {0, 0, 1, 1}, program().communicators()).prv);
  std::string line;
  std::getline(in, line);
  std::size_t states = 0;
  while (std::getline(in, line)) {
    if (line.starts_with('c')) continue;
    const auto f = numbers(line);
    if (f[0] == 3) continue;
    EXPECT_TRUE(f[3] == 1 || f[3] == 4) << line;
    if (f[0] != 1) continue;
    ++states;
    EXPECT_NE(f[7], 2) << "nobody is done: " << line;
  }
  EXPECT_GT(states, 4u);

  // A rank that is done is no more, as far as the time asked for.
  const replay::ReplayResult whole = see().result;
  const Duration done = whole.ranks[1].finish;
  ASSERT_LT(done + Duration(20 * kMicro), whole.makespan);
  TimelineOptions late;
  late.from = SimTime(done + Duration(10 * kMicro));
  late.to = SimTime(done + Duration(20 * kMicro));
  const std::string prv = paraver_texts(see(late).timeline, {0, 0, 1, 1}, program().communicators()).prv;
  const auto ns = [](SimTime t) { return std::to_string(t.time_since_epoch().count() / 1000); };
  EXPECT_NE(prv.find("\n1:2:1:2:1:" + ns(late.from) + ":" + ns(late.to) + ":2\n"), std::string::npos) << prv;
}

// Header and records agree also where a message comes after all ranks have ended.
TEST(Timeline, ParaverEndsWithTheLastMessage) {
  MemoryTrace t(4);
  t.p2p(0, OpKind::isend, 2, 0, 1000, CommId(0), 0);
  t.p2p(2, OpKind::irecv, 0, 0, 1000, CommId(0), 0);
  const Seen seen = see({}, "crossbar:n=2,bw=1GB/s,lat=1us", t);
  const auto message = messages_of(seen.timeline).at(0);
  ASSERT_GT(message.arrived.time_since_epoch(), seen.result.makespan);
  const std::string prv = paraver_texts(seen.timeline, {0, 0, 1, 1}, t.communicators()).prv;
  const auto ns = [](SimTime at) { return std::to_string(at.time_since_epoch().count() / 1000); };
  EXPECT_NE(prv.find("(01/01/70 at 00:00):" + ns(message.arrived) + "_ns:"), std::string::npos) << prv;
}

TEST(Timeline, SetsOfRanksAreReadOrRefused) {
  EXPECT_EQ(parse_rank_set("0-2,4", 6, "--ranks").value(),
            (std::vector<bool>{true, true, true, false, true, false}));
  for (const char* bad : {"", "6", "2-1", "1-", "-1", "a", "1,,2", "0-6", "1 "})
    EXPECT_FALSE(parse_rank_set(bad, 6, "--ranks")) << bad;
}

}  // namespace
}  // namespace weft::report::timeline_test
