// Regions in the files of viewers, read back: each from its begin to its end, whether it nests or not, and from the time asked
// for on where it is open then.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "report/timeline/perfetto.pb.h"
#include "tests/report/timeline_texts.hpp"
#include "tests/support/memory_trace.hpp"
#include "topology/platform/platform.hpp"

namespace weft::report::region_tracks_test {
namespace {

using testing::MemoryTrace;
using traces::OpKind;
using Lines = std::vector<std::string>;

constexpr std::int64_t kUs = 1'000'000;

// 10 us between marks: "+0" begins region 0 of the rank's, "-0" ends it.
void run(MemoryTrace& t, std::uint32_t rank, const Lines& marks) {
  for (const std::string& m : marks) {
    t.compute(rank, Duration(10 * kUs));
    t.region(rank, m[0] == '+' ? OpKind::region_begin : OpKind::region_end,
             RegionId(static_cast<std::uint32_t>(m[1] - '0')));
  }
  t.compute(rank, Duration(10 * kUs));
}

Timeline seen(const std::vector<Lines>& ranks, TimelineOptions options = {}) {
  MemoryTrace t(static_cast<std::uint32_t>(ranks.size()));
  for (const char* name : {"a", "b", "c"}) t.add_region(name);
  for (std::uint32_t r = 0; r < ranks.size(); ++r) run(t, r, ranks[r]);
  const auto p = topology::load_platform("crossbar:n=2,bw=1GB/s,lat=1us").value();
  const std::vector<HostId> hosts(ranks.size(), HostId(0));
  replay::ReplayOptions o;
  TimelineCollector collector(static_cast<std::uint32_t>(ranks.size()), std::move(options), p.fabric, hosts,
                              o);
  collector.attach(o);
  const auto r = replay::replay(t, p, hosts, o).value();
  t.rewind();
  return collector.finish(t, r.makespan).value();
}

// "a 10 40" (us): slices of regions of a rank, as they end.
Lines slices(const Timeline& timeline, std::uint32_t rank = 0) {
  perfetto::Trace trace;
  EXPECT_TRUE(trace.ParseFromString(perfetto_text(timeline, "ranks")));
  std::map<std::uint64_t, std::string> names;
  std::vector<std::pair<std::string, std::uint64_t>> open;
  std::uint64_t track = 0, last = 0;
  Lines out;
  for (const auto& packet : trace.packet()) {
    const auto& d = packet.track_descriptor();
    if (packet.has_track_descriptor() && d.name() == "rank " + std::to_string(rank)) track = d.uuid();
    for (const auto& n : packet.interned_data().event_names()) names[n.iid()] = n.name();
    const auto& e = packet.track_event();
    if (!packet.has_track_event() || e.track_uuid() != track) continue;
    const std::uint64_t us = packet.timestamp() / 1000;
    EXPECT_GE(us, last) << "viewers sort by time: slices that nest in another order do not there";
    last = us;
    if (e.type() == perfetto::TrackEvent::SLICE_BEGIN) {
      open.emplace_back(names[e.name_iid()], us);
    } else if (e.type() == perfetto::TrackEvent::SLICE_END) {
      EXPECT_FALSE(open.empty());
      if (open.empty()) continue;
      const auto [name, begin] = open.back();
      open.pop_back();
      if (name.size() == 1) out.push_back(name + " " + std::to_string(begin) + " " + std::to_string(us));
    }
  }
  EXPECT_TRUE(open.empty());
  return out;
}

// "10 1" (us): values of the event "user function" of a rank.
Lines events(const Timeline& timeline, std::uint32_t rank = 0) {
  std::istringstream in(paraver_texts(timeline, std::vector<std::uint32_t>(timeline.ranks, 0), {}).prv);
  Lines out;
  for (std::string line; std::getline(in, line);) {
    Lines f;
    std::istringstream fields(line);
    for (std::string field; std::getline(fields, field, ':');) f.push_back(field);
    if (f.size() < 8 || f[0] != "2" || f[2] != "1" || f[3] != std::to_string(rank + 1)) continue;
    for (std::size_t i = 6; i + 1 < f.size(); i += 2)
      if (f[i] == "60000019") out.push_back(std::to_string(std::stoll(f[5]) / 1000) + " " + f[i + 1]);
  }
  return out;
}

TimelineOptions from(std::int64_t us) {
  TimelineOptions o;
  o.from = SimTime(Duration(us * kUs));
  return o;
}

TEST(RegionTracks, ThoseThatNestAreASliceEach) {
  EXPECT_EQ(slices(seen({{"+0", "+1", "-1", "+1", "+2", "-2", "-1", "-0"}})),
            (Lines{"b 20 30", "c 50 60", "b 40 70", "a 10 80"}));
}

TEST(RegionTracks, NoneIsLongerThanItsRegion) {
  // b and c go on behind a.
  EXPECT_EQ(slices(seen({{"+0", "+1", "+2", "-0", "-1", "-2"}})),
            (Lines{"c 30 40", "b 20 40", "a 10 40", "c 40 50", "b 40 50", "c 50 60"}));
  // The inner one of two of the same name ends first; an end without a begin is none.
  EXPECT_EQ(slices(seen({{"-2", "+0", "+0", "-0", "-0"}})), (Lines{"a 30 40", "a 20 50"}));
  // Open until the rank is done.
  EXPECT_EQ(slices(seen({{"+0", "+1", "-0"}})), (Lines{"b 20 30", "a 10 30", "b 30 40"}));
}

TEST(RegionTracks, ThoseOpenAtTheTimeAskedForBeginThen) {
  const std::vector<Lines> program = {{"+0", "+1", "-1", "+2", "-2", "-0"},
                                      {"+1", "-1", "+0", "+1", "-0", "-1"}};
  const Timeline part = seen(program, from(35));
  EXPECT_EQ(slices(part, 0), (Lines{"c 40 50", "a 35 60"}));
  EXPECT_EQ(slices(part, 1), (Lines{"b 40 50", "a 35 50", "b 50 60"}));
  EXPECT_EQ(events(part, 0), (Lines{"35 1", "40 3", "50 0", "60 0"}));
  EXPECT_EQ(events(part, 1), (Lines{"35 1", "40 2", "50 0", "60 0"}));
  for (const auto& spans : spans_by_rank(part))
    for (const TimelineSpan& s : spans) EXPECT_GE(s.end, SimTime(Duration(35 * kUs)));
  // A mark of that time is there as it is; behind the end there is nothing.
  EXPECT_EQ(slices(seen(program, from(20)), 0), (Lines{"b 20 30", "c 40 50", "a 20 60"}));
  EXPECT_EQ(slices(seen(program, from(1000)), 0), Lines{});
  // More than what is kept in memory, and only ranks that were asked for.
  TimelineOptions some = from(35);
  some.memory = 1;
  some.ranks = {false, true};
  const Timeline spilled = seen(program, some);
  EXPECT_EQ(slices(spilled, 0), Lines{});
  EXPECT_EQ(slices(spilled, 1), slices(part, 1));
}

// What Paraver reads is lines, and it counts them.
TEST(RegionTracks, ANameWithALineEndStaysOnItsLine) {
  Timeline t = seen({{"+0", "-0"}});
  const auto lines = [&t] {
    const std::string text = paraver_pcf(t) + paraver_row(t, {0}) + network_row(t, {0});
    return std::count(text.begin(), text.end(), '\n');
  };
  t.link_names = {"up", "down"};
  const auto before = lines();
  t.regions[0] = "a\r\nb";
  t.link_names = {"u\np", "down\n"};
  EXPECT_EQ(lines(), before);
}

}  // namespace
}  // namespace weft::report::region_tracks_test
