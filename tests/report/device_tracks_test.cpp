// Accelerators in the files of viewers, read back: what they do is what the replay says, beside ranks that look as ever.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "report/html/run_collector.hpp"
#include "report/timeline/perfetto.pb.h"
#include "tests/report/timeline_texts.hpp"
#include "tests/support/memory_trace.hpp"
#include "tests/support/platform_text.hpp"
#include "traces/kernel.hpp"

namespace weft::report::device_tracks_test {
namespace {

using testing::MemoryTrace;
using traces::Kernel;
using traces::OpKind;

constexpr std::int64_t kUs = 1'000'000;

void launch(MemoryTrace& t, std::uint32_t rank, std::int64_t us, std::uint32_t request,
            Kernel kernel = Kernel::device_dgemm) {
  t.add(rank, {.kind = OpKind::launch, .request = request}, {static_cast<std::int64_t>(kernel), us, 1, 1});
}

// Rank 1: kernels of 70, 20 and, after a pause, 5 us, copies of 30 and 50 us; rank 0: one kernel that goes on for 4 us when
// everybody is done; rank 2 launches nothing.
MemoryTrace program() {
  MemoryTrace t(3);
  launch(t, 1, 70, 1);
  launch(t, 1, 30, 2, Kernel::copy_to_device);
  launch(t, 1, 50, 3, Kernel::copy_to_host);
  launch(t, 1, 20, 4);
  t.wait(1, 2);
  t.wait(1, 1);
  t.wait(1, 3);
  t.wait(1, 4);
  t.compute(1, Duration(10 * kUs));
  launch(t, 1, 5, 5);
  t.wait(1, 5);
  t.compute(0, Duration(50 * kUs));
  launch(t, 0, 59, traces::kNoRequest);
  t.compute(2, Duration(60 * kUs));
  return t;
}

topology::Platform platform_of_program() {
  return testing::platform_of_text(
      "topology { family: \"crossbar\" set: \"n=2\" set: \"bw=1GB/s\" set: \"lat=0\" }\n"
      "host { kernel { name: \"device_dgemm\" mnk: \"1us\" } kernel { name: \"copy_to_device\" mnk: \"1us\" "
      "}\n"
      "       kernel { name: \"copy_to_host\" mnk: \"1us\" } }\n");
}
const std::vector<HostId> hosts{HostId(0), HostId(0), HostId(1)};

struct Seen {
  Timeline timeline;
  replay::ReplayResult result;
};
Seen see(TimelineOptions options = {}) {
  MemoryTrace t = program();
  const auto platform = platform_of_program();
  replay::ReplayOptions o;
  TimelineCollector collector(3, std::move(options), platform.fabric, hosts, o);
  collector.attach(o);
  auto r = replay::replay(t, platform, hosts, o).value();
  EXPECT_EQ(r.makespan, Duration(105 * kUs));
  t.rewind();
  return {collector.finish(t, r.makespan).value(), std::move(r)};
}

// "name begin end", in us, of each slice, by track.
struct Slices {
  std::map<std::string, std::vector<std::string>> of;
  std::vector<std::string> tracks;  // in the order in which they are drawn
  std::map<std::uint64_t, std::vector<std::string>> arrows;

  explicit Slices(const Timeline& timeline) {
    perfetto::Trace trace;
    EXPECT_TRUE(trace.ParseFromString(perfetto_text(timeline, "three ranks")));
    std::map<std::uint64_t, std::string> names, named_tracks;
    std::map<int, std::string> placed;
    std::map<std::uint64_t, std::pair<std::string, std::uint64_t>> open;
    for (const auto& packet : trace.packet()) {
      for (const auto& n : packet.interned_data().event_names()) names[n.iid()] = n.name();
      if (packet.has_track_descriptor()) {
        const auto& d = packet.track_descriptor();
        named_tracks[d.uuid()] = d.name();
        if (d.parent_uuid() == 1) placed[d.sibling_order_rank()] = d.name();
        continue;
      }
      const auto& e = packet.track_event();
      const std::string track = named_tracks.at(e.track_uuid());
      const std::string name = names[e.name_iid()];
      if (e.type() == perfetto::TrackEvent::SLICE_BEGIN) {
        EXPECT_FALSE(open.contains(e.track_uuid())) << "slices of " << track << " do not nest here";
        open[e.track_uuid()] = {name, packet.timestamp()};
      } else if (e.type() == perfetto::TrackEvent::SLICE_END) {
        const auto& [what, since] = open.at(e.track_uuid());
        of[track].push_back(what + " " + std::to_string(since / 1000) + " " +
                            std::to_string(packet.timestamp() / 1000));
        open.erase(e.track_uuid());
      }
      for (const auto id : e.flow_ids()) arrows[id].push_back(track + ": " + name);
      for (const auto id : e.terminating_flow_ids()) arrows[id].push_back(track + ": " + name + ", the end");
    }
    EXPECT_TRUE(open.empty());
    for (const auto& [place, name] : placed) tracks.push_back(name);
  }
};

using Lines = std::vector<std::string>;

TEST(DeviceTracks, OfPerfettoAreBelowTheirRankWithWhatItLaunched) {
  const Seen seen = see();
  const Slices s(seen.timeline);
  EXPECT_EQ(s.tracks, (Lines{"rank 0", "rank 0 accelerator", "rank 1", "rank 1 accelerator",
                             "rank 1 accelerator: copies", "rank 2"}));
  EXPECT_EQ(s.of.at("rank 1 accelerator"),
            (Lines{"device_dgemm 0 70", "device_dgemm 70 90", "device_dgemm 100 105"}));
  EXPECT_EQ(s.of.at("rank 1 accelerator: copies"), (Lines{"copy_to_device 0 30", "copy_to_host 30 80"}));
  EXPECT_EQ(s.of.at("rank 0 accelerator"), Lines{"device_dgemm 50 109"});
  EXPECT_EQ(s.of.at("rank 1"),
            (Lines{"wait for accelerator 0 30", "wait for accelerator 30 70", "wait for accelerator 70 80",
                   "wait for accelerator 80 90", "compute 90 100", "wait for accelerator 100 105"}));
}

// Whose end a rank waits for, and who launched that.
TEST(DeviceTracks, OfPerfettoHaveArrowsFromTheLaunchToTheWait) {
  const Slices s(see().timeline);
  std::map<Lines, int> count;
  for (auto [id, steps] : s.arrows) {
    EXPECT_GE(id, std::uint64_t{1} << 63) << "no message has this number";
    std::ranges::sort(steps);
    ++count[steps];
  }
  const std::string end = "rank 1: wait for accelerator, the end";
  EXPECT_EQ(count,
            (std::map<Lines, int>{
                {{"rank 0 accelerator: device_dgemm", "rank 0: launch device_dgemm"}, 1},
                {{"rank 1 accelerator: device_dgemm", "rank 1: launch device_dgemm", end}, 3},
                {{"rank 1 accelerator: copies: copy_to_device", "rank 1: launch copy_to_device", end}, 1},
                {{"rank 1 accelerator: copies: copy_to_host", "rank 1: launch copy_to_host", end}, 1},
            }));
}

// Of the page: rows behind those of the ranks, cut off at the end of the run.
TEST(DeviceTracks, OfThePageAreRowsOfTheirRank) {
  MemoryTrace t = program();
  const auto platform = platform_of_program();
  replay::ReplayOptions options;
  RunCollector collector(t, platform, hosts, options, {});
  collector.attach(options);
  const auto result = replay::replay(t, platform, hosts, options).value();
  predict::RunFacts facts;
  facts.platform = &platform;
  facts.options = &options;
  facts.result = &result;
  const TimelineSection page = *collector.finish(t, facts).value().timeline;
  EXPECT_EQ(page.lane_rank, (std::vector<std::uint32_t>{0, 1, 1}));
  EXPECT_EQ(page.lane, (std::vector<std::uint8_t>{0, 0, 1}));
  ASSERT_EQ(page.first.size(), 3u + 3 + 1);
  EXPECT_EQ(page.first.back(), page.kind.size());
  std::map<std::uint32_t, Lines> rows;
  for (std::uint32_t row = 3; row < 6; ++row) {
    std::int64_t at = 0;
    for (std::uint32_t i = page.first[row]; i < page.first[row + 1]; ++i) {
      const std::int64_t begin = at + page.gap[i];
      at = begin + page.length[i];
      rows[row].push_back(page.kinds[page.kind[i]] + " " + page.group[page.kind[i]] + " " +
                          std::to_string(begin * page.tick / kUs) + " " +
                          std::to_string(at * page.tick / kUs));
    }
  }
  EXPECT_EQ(rows[3], Lines{"device_dgemm compute 50 105"});
  EXPECT_EQ(rows[4], (Lines{"device_dgemm compute 0 70", "device_dgemm compute 70 90",
                            "device_dgemm compute 100 105"}));
  EXPECT_EQ(rows[5], (Lines{"copy_to_device copy 0 30", "copy_to_host copy 30 80"}));
}

TEST(DeviceTracks, OfParaverAreThreadsOfTheirRank) {
  const Seen seen = see();
  const ParaverTexts p = paraver_texts(seen.timeline, {0, 0, 1}, {});
  std::istringstream in(p.prv);
  std::string line;
  std::getline(in, line);
  EXPECT_EQ(line, "#Paraver (01/01/70 at 00:00):105000_ns:2(5,1):1:3(2:1,3:1,1:2),0");
  std::map<std::string, std::vector<std::string>> states;  // "task:thread" -> "state begin end", us
  std::map<std::string, std::set<std::string>> cpus;
  std::map<std::string, std::int64_t> kernels;  // when there was one, ns
  std::int64_t before = 0;
  while (std::getline(in, line)) {
    std::vector<std::string> f;
    std::istringstream fields(line);
    for (std::string field; std::getline(fields, field, ':');) f.push_back(field);
    const std::string thread = f.at(3) + ":" + f.at(4);
    cpus[thread].insert(f.at(1));
    EXPECT_GE(std::stoll(f.at(5)), before);
    before = std::stoll(f.at(5));
    const auto us = [](const std::string& ns) { return std::to_string(std::stoll(ns) / 1000); };
    if (f[0] == "1")
      states[thread].push_back(f.at(7) + " " + us(f[5]) + " " + us(f[6]));
    else if (f.at(6) == "60000119")
      kernels[thread] += f.at(7) == "0" ? before : -before;
  }
  EXPECT_EQ(states.at("1:2"), (Lines{"0 0 50", "1 50 105"})) << "cut off at the end of the replay";
  EXPECT_EQ(states.at("2:2"), (Lines{"1 0 70", "1 70 90", "0 90 100", "1 100 105"}));
  EXPECT_EQ(states.at("2:3"), (Lines{"17 0 30", "17 30 80", "0 80 105"}));
  EXPECT_EQ(states.at("3:1"), (Lines{"1 0 60", "2 60 105"}));
  EXPECT_EQ(kernels.at("2:2") * 1000, seen.result.ranks[1].device.count()) << "what the replay counts";
  const std::map<std::string, std::set<std::string>> expected{{"1:1", {"1"}}, {"1:2", {"2"}}, {"2:1", {"3"}},
                                                              {"2:2", {"4"}}, {"2:3", {"5"}}, {"3:1", {"6"}}};
  EXPECT_EQ(cpus, expected) << "a processor a thread";
  EXPECT_NE(p.row.find("LEVEL CPU SIZE 6\n"), std::string::npos) << p.row;
  EXPECT_NE(p.row.find("LEVEL THREAD SIZE 6\nrank 0\nrank 0 accelerator\nrank 1\nrank 1 accelerator\nrank 1 "
                       "accelerator: copies\nrank 2\n"),
            std::string::npos)
      << p.row;
}

TEST(DeviceTracks, AreOfTheRanksAndTheTimeAskedFor) {
  TimelineOptions some;
  some.ranks = {true, true, false};
  some.from = SimTime(Duration(82 * kUs));
  some.to = SimTime(Duration(95 * kUs));
  const Slices s(see(some).timeline);
  EXPECT_EQ(s.tracks, (Lines{"rank 0 accelerator", "rank 1", "rank 1 accelerator"}));
  EXPECT_EQ(s.of.at("rank 1 accelerator"), Lines{"device_dgemm 70 90"});
  some.ranks = {false, false, true};
  const Slices other(see(some).timeline);
  EXPECT_FALSE(other.of.contains("rank 1 accelerator"));
}

}  // namespace
}  // namespace weft::report::device_tracks_test
