// What the page draws beyond results: spans, messages, traffic and drawings, against the replay's own counts and brute force.
#include <gmock/gmock.h>
#include <zlib.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/rng.hpp"
#include "predict/sensitivity.hpp"
#include "report/html/packed.hpp"
#include "report/html/run_collector.hpp"
#include "tests/support/checkout.hpp"
#include "tests/support/files.hpp"
#include "tests/support/memory_trace.hpp"
#include "tests/support/seed.hpp"
#include "tests/traces/trace_testing.hpp"
#include "topology/placement/placement.hpp"
#include "traces/trace.hpp"

namespace weft::report {
namespace {

using nlohmann::ordered_json;

std::uint64_t seed_of_test() { return support::seed_or(20'260); }

SimTime at(std::int64_t ps) { return SimTime(Duration(ps)); }

template <class T>
std::vector<T> unpacked(const ordered_json& column) {
  const auto text = column["data"].get<std::string>();
  std::string bytes;
  std::uint32_t bits = 0;
  int have = 0;
  for (const char c : text) {
    if (c == '=') break;
    const std::uint32_t digit = c >= 'a'   ? c - 'a' + 26u
                                : c >= 'A' ? c - 'A' + 0u
                                : c >= '0' ? c - '0' + 52u
                                : c == '+' ? 62u
                                           : 63u;
    bits = bits << 6 | digit;
    have += 6;
    if (have < 8) continue;
    have -= 8;
    bytes += static_cast<char>(bits >> have & 0xff);
  }
  std::vector<T> out(1 << 22);
  uLongf size = out.size() * sizeof(T);
  EXPECT_EQ(uncompress(reinterpret_cast<Bytef*>(out.data()), &size,
                       reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()),
            Z_OK);
  out.resize(size / sizeof(T));
  return out;
}

TEST(Packed, ReadsBackAtEveryLength) {
  Rng rng(seed_of_test());
  for (std::size_t n = 0; n < 70; ++n) {
    std::vector<std::uint32_t> column;
    for (std::size_t i = 0; i < n; ++i) column.push_back(static_cast<std::uint32_t>(rng.next()));
    EXPECT_EQ(packed(column)["type"], "u32");
    EXPECT_EQ(unpacked<std::uint32_t>(packed(column)), column);
    const std::vector<std::uint8_t> small(column.begin(), column.end());
    EXPECT_EQ(packed(small)["type"], "u8");
    EXPECT_EQ(unpacked<std::uint8_t>(packed(small)), small);
  }
  EXPECT_EQ(packed(std::vector<float>{0.1f})["type"], "f32");
  EXPECT_EQ(unpacked<double>(packed(std::vector<double>{-1e300}))[0], -1e300);
  EXPECT_EQ(unpacked<std::int32_t>(packed(std::vector<std::int32_t>{-7}))[0], -7);
}

TEST(SpanThinner, KeepsEveryOperationThatTakesTimeWhileThereAreFew) {
  SpanThinner t(2, 100);
  t.add(1, 0, at(0), at(5));
  t.add(1, 1, at(5), at(5));
  t.add(1, 2, at(7), at(9));
  t.finish();
  ASSERT_EQ(t.spans()[1].size(), 2u);
  EXPECT_EQ(t.spans()[1][1].op, 2u);
  EXPECT_EQ(t.spans()[1][1].begin, at(7));
  EXPECT_EQ(t.seen(), 2u);
  EXPECT_EQ(t.width(), Duration(0));
}

TEST(SpanThinner, JoinsShortNeighboursAndNeverALongOne) {
  const std::uint64_t seed = seed_of_test();
  SCOPED_TRACE(::testing::Message() << "WEFT_SEED=" << seed);
  Rng rng(seed);
  constexpr std::uint32_t kRanks = 3;
  constexpr std::size_t kMost = 500;
  SpanThinner t(kRanks, kMost);
  std::vector<std::vector<std::pair<std::int64_t, std::int64_t>>> all(
      kRanks);  // by rank, operations that take time
  std::vector<std::int64_t> now(kRanks, 0);
  std::vector<std::uint64_t> op(kRanks, 0);
  for (int i = 0; i < 20'000; ++i) {
    const auto r = static_cast<std::uint32_t>(rng.next() % kRanks);
    const auto gap = static_cast<std::int64_t>(rng.next() % 3 == 0 ? rng.next() % 1000 : 0);
    const auto length =
        static_cast<std::int64_t>(rng.next() % 50 == 0 ? rng.next() % 3'000'000 : rng.next() % 500);
    t.add(r, op[r]++, at(now[r] + gap), at(now[r] + gap + length));
    if (length > 0) all[r].emplace_back(now[r] + gap, now[r] + gap + length);
    now[r] += gap + length;
  }
  t.finish();
  EXPECT_LE(t.kept(), kMost);
  EXPECT_GT(t.kept(), kMost / 8) << "no thinner than needed";
  std::uint64_t seen = 0, ops = 0;
  for (std::uint32_t r = 0; r < kRanks; ++r) {
    std::set<std::pair<std::int64_t, std::int64_t>> spans;
    SimTime before{};
    std::size_t next = 0;
    for (const ThinSpan& s : t.spans()[r]) {
      EXPECT_GE(s.begin, before);
      before = s.end;
      spans.emplace(s.begin.time_since_epoch().count(), s.end.time_since_epoch().count());
      if (s.ops > 1) {
        EXPECT_LE(s.end - s.begin, t.width());
      }
      // It begins and ends with operations of the rank, holds those between, and the longest of them names it.
      ASSERT_LE(next + s.ops, all[r].size());
      EXPECT_EQ(s.begin, at(all[r][next].first));
      EXPECT_EQ(s.end, at(all[r][next + s.ops - 1].second));
      std::int64_t longest = 0;
      for (std::size_t k = next; k < next + s.ops; ++k)
        longest = std::max(longest, all[r][k].second - all[r][k].first);
      EXPECT_EQ(s.longest, Duration(longest));
      next += s.ops;
      ops += s.ops;
    }
    seen += all[r].size();
    EXPECT_EQ(next, all[r].size());
    for (const auto& [from, to] : all[r])
      if (Duration(to - from) > t.width()) {
        EXPECT_TRUE(spans.contains({from, to}));
      }
  }
  EXPECT_EQ(t.seen(), seen);
  EXPECT_EQ(ops, seen);
}

// The longest run that there can be has 2^63 ps, 9.2e6 s.
TEST(SpanThinner, KeepsItsBudgetInTheLongestRuns) {
  constexpr std::size_t kMost = 500;
  SpanThinner t(1, kMost);
  constexpr std::int64_t kLength = 15'000'000'000'000'000;  // 15,000 s
  for (std::int64_t i = 0; i < 600; ++i)
    t.add(0, static_cast<std::uint64_t>(i), at(i * kLength), at((i + 1) * kLength));
  t.finish();
  EXPECT_LE(t.kept(), kMost);
  EXPECT_EQ(t.spans()[0].back().end, at(600 * kLength));
}

TEST(MessageThinner, KeepsTheLongestAsASortWould) {
  const std::uint64_t seed = seed_of_test();
  SCOPED_TRACE(::testing::Message() << "WEFT_SEED=" << seed);
  Rng rng(seed);
  constexpr std::size_t kMost = 40;
  MessageThinner t(kMost);
  std::vector<std::pair<std::int64_t, int>> all;  // minus the time, number
  for (int i = 0; i < 1000; ++i) {
    replay::MessageSeen m;
    m.tag = i;
    m.arrived = at(static_cast<std::int64_t>(rng.next() % 200));
    all.emplace_back(-m.arrived.time_since_epoch().count(), i);
    t.add(m);
  }
  t.finish();
  std::sort(all.begin(), all.end());
  std::set<int> expected, kept;
  for (std::size_t i = 0; i < kMost; ++i) expected.insert(all[i].second);
  for (const auto& m : t.messages()) kept.insert(m.tag);
  EXPECT_EQ(kept, expected);
  EXPECT_EQ(t.seen(), 1000u);
}

// A recorded run on a platform, collected.
struct Collected {
  topology::Platform platform;
  replay::ReplayOptions options;
  replay::ReplayResult result;
  PageRun run;

  explicit Collected(const std::string& on, PageBudget budget = {}) {
    auto p = topology::load_platform(on);
    EXPECT_TRUE(p);
    platform = std::move(*p);
    auto trace = traces::open_trace({support::source_dir() + "/traces/samples/hpl_4x4_2000_64.weft"}, "");
    EXPECT_TRUE(trace);
    const std::uint32_t ranks = (*trace)->header().ranks;
    const auto placement = topology::place(platform, ranks, "block", 0);
    EXPECT_TRUE(placement);
    options.header = Bytes(16);
    options.critical_path = true;
    auto mine = options;
    RunCollector collector(**trace, platform, placement->hosts, options, budget);
    collector.attach(mine);
    auto done = replay::replay(**trace, platform, placement->hosts, mine);
    EXPECT_TRUE(done);
    result = std::move(*done);
    predict::RunFacts facts;
    facts.platform = &platform;
    facts.options = &options;
    facts.result = &result;
    auto finished = collector.finish(**trace, facts);
    EXPECT_TRUE(finished);
    run = std::move(*finished);
  }
};

TEST(PageSections, LinksCarryWhatTheReplayCounts) {
  for (const std::string on : {"fat-tree-16", "torus-16", "dragonfly-18", "crossbar-16"}) {
    SCOPED_TRACE(on);
    const Collected c(on);
    const TrafficSection& t = *c.run.traffic;
    const LinkLoad& load = t.load;
    ASSERT_EQ(load.unknown, "");
    std::vector<std::uint64_t> counted;
    for (const auto& use : c.result.links) counted.push_back(use.bytes);
    EXPECT_EQ(load.link_bytes, counted);
    double sum = 0;
    for (const float b : t.bytes) sum += b;
    EXPECT_NEAR(sum, static_cast<double>(c.result.network.bytes), 1e-6 * sum);
    // The use of a link over all bins is its utilization.
    ASSERT_EQ(load.used.size(), load.links.size() * load.bins);
    ASSERT_GT(load.bins, LinkLoadCollector::kBins / 2 - 1);
    predict::RunFacts facts = c.run.facts;
    for (std::size_t i = 0; i < load.links.size(); ++i) {
      double used = 0;
      for (std::uint32_t b = 0; b < load.bins; ++b) used += load.used[i * load.bins + b];
      used *= to_seconds(load.bin) / to_seconds(c.result.makespan);
      EXPECT_NEAR(used, predict::utilization(facts, load.links[i]), 1e-6);
    }
  }
}

// 9.5 MB in 10 ms, and 1.25 MB in the second half of them, at 1 GB/s: 1.2 of the bandwidth there, 1.075 in all. With rates that
// are a tenth off that is possible, and lies where it can be; nowhere is more than 1 / 0.9.
TEST(PageSections, LinksCarryAsMuchMoreThanTheirBandwidthAsRatesAreOff) {
  const auto p = topology::load_platform("crossbar:n=2,bw=1GB/s").value();
  const std::vector<HostId> hosts{HostId(0), HostId(1)};
  constexpr Duration kHalf(5'000'000'000);
  replay::ReplayOptions options;
  options.accuracy = 0.1;
  LinkLoadCollector collector(p.fabric, hosts, options);
  for (const std::int64_t bytes : {9'500'000, 1'250'000}) {
    replay::MessageSeen m{};
    m.src = RankId(0);
    m.dst = RankId(1);
    m.bytes = bytes;
    m.left = SimTime(bytes == 1'250'000 ? kHalf : Duration(0));
    m.arrived = SimTime(2 * kHalf);
    collector.add(m);
  }
  const LinkLoad load = collector.finish(2 * kHalf);
  ASSERT_EQ(load.links.size(), 2u);
  double sum = 0;
  for (std::uint32_t b = 0; b < load.bins; ++b) {
    EXPECT_LE(load.used[b], 1 / 0.9 + 1e-6) << b;
    sum += load.used[b];
  }
  EXPECT_NEAR(sum * to_seconds(load.bin), 1.075 * 0.01, 1e-8);
}

TEST(PageSections, ARoutingThatDrawsPerMessageHasNoHeat) {
  const Collected c("fat-tree:m=4,n=3,bw=100Gbps,lat=500ns,routing=random");
  EXPECT_EQ(c.run.traffic->load.unknown, "routing random chooses a route for every message");
  EXPECT_FALSE(to_json(*c.run.traffic, c.platform.fabric).contains("heat"));
}

// Of links that carry a thousandth of their bandwidth at most.
TEST(PageSections, TheHeatOfLinksThatAreHardlyUsedIsToldApart) {
  const auto p = topology::load_platform("crossbar:n=2").value();
  TrafficSection t;
  t.load.links = {LinkId(0), LinkId(1)};
  t.load.bins = 2;
  t.load.bin = Duration(1);
  t.load.used = {1e-3, 0, 2e-4, 4e-4};
  const auto j = to_json(t, p.fabric)["heat"];
  EXPECT_EQ(j["full"], 1e-3);
  EXPECT_EQ(unpacked<std::uint8_t>(j["used"]), (std::vector<std::uint8_t>{255, 0, 51, 102}));
  t.load.used.assign(4, 0);
  EXPECT_EQ(to_json(t, p.fabric)["heat"]["full"], 1);
}

// Seconds of each rank in spans of a group.
std::vector<double> seconds_of(const TimelineSection& t, const std::string& group) {
  std::vector<double> out(t.ranks);
  for (std::uint32_t r = 0; r < t.ranks; ++r)
    for (std::uint32_t i = t.first[r]; i < t.first[r + 1]; ++i)
      if (t.group[t.kind[i]] == group)
        out[r] += static_cast<double>(t.length[i]) * static_cast<double>(t.tick) * 1e-12;
  return out;
}

TEST(PageSections, SpansTakeTheTimesOfTheRanks) {
  const Collected c("torus-16");
  const TimelineSection& t = *c.run.timeline;
  EXPECT_EQ(t.joined_below, Duration(0));
  const auto compute = seconds_of(t, "compute");
  const double tick = static_cast<double>(t.tick) * 1e-12;
  for (std::uint32_t r = 0; r < t.ranks; ++r) {
    const double spans = t.first[r + 1] - t.first[r];
    EXPECT_NEAR(compute[r], to_seconds(c.result.ranks[r].compute), (spans + 1) * tick) << "rank " << r;
    std::uint64_t end = 0;
    for (std::uint32_t i = t.first[r]; i < t.first[r + 1]; ++i) end += t.gap[i] + std::uint64_t{t.length[i]};
    EXPECT_NEAR(static_cast<double>(end) * tick, to_seconds(c.result.ranks[r].finish), 2 * tick);
  }
  EXPECT_EQ(t.messages_seen, c.result.network.count);
  EXPECT_EQ(t.src.size(), t.messages_seen);
  for (std::size_t i = 0; i < t.sent.size(); ++i) EXPECT_LE(t.sent[i], t.arrived[i]);
  // The path goes from 0 to the makespan without a gap.
  ASSERT_EQ(t.path_from.size(), c.result.path.segments.size());
  EXPECT_EQ(t.path_from.front(), 0u);
  EXPECT_EQ(t.path_to.back(), static_cast<std::uint32_t>(c.result.makespan.count() / t.tick));
  for (std::size_t i = 1; i < t.path_from.size(); ++i) EXPECT_EQ(t.path_from[i], t.path_to[i - 1]);
}

// Nobody waits for a message of 60 ms that is sent when all ranks are done.
TEST(PageSections, AMessageThatArrivesAfterAllRanksAreDoneDoesSoOnThePage) {
  const topology::Platform platform = topology::load_platform("crossbar:n=2,bw=1MB/s,lat=1us").value();
  weft::testing::MemoryTrace trace(2);
  constexpr Duration kEnd = std::chrono::seconds(5);
  trace.compute(0, kEnd);
  trace.p2p(0, traces::OpKind::isend, 1, 7, 60'000, CommId(0), 0);
  trace.p2p(1, traces::OpKind::irecv, 0, 7, 60'000, CommId(0), 0);
  trace.compute(1, kEnd);
  const std::vector<HostId> hosts{HostId(0), HostId(1)};
  replay::ReplayOptions options;
  RunCollector collector(trace, platform, hosts, options, {});
  collector.attach(options);
  const auto result = replay::replay(trace, platform, hosts, options).value();
  EXPECT_LT(result.makespan, kEnd + std::chrono::milliseconds(1));
  predict::RunFacts facts;
  facts.platform = &platform;
  facts.options = &options;
  facts.result = &result;
  const TimelineSection t = collector.finish(trace, facts).value().timeline.value();
  ASSERT_EQ(t.arrived.size(), 1u);
  const double tick_s = static_cast<double>(t.tick) * 1e-12;
  EXPECT_NEAR(t.sent[0] * tick_s, 5.0, 1e-3);
  EXPECT_NEAR(t.arrived[0] * tick_s, 5.06, 1e-3);
}

TEST(PageSections, KeepTheirBudgetAndSayWhatTheyLeftOut) {
  const Collected c("torus-16", {2'000, 300, 50});
  const TimelineSection& t = *c.run.timeline;
  EXPECT_LE(t.gap.size(), 2'000u);
  EXPECT_GT(t.spans_seen, 20'000u);
  EXPECT_GT(t.joined_below, Duration(0));
  std::uint64_t ops = 0;
  for (const std::uint32_t n : t.ops) ops += n;
  EXPECT_EQ(ops, t.spans_seen);
  EXPECT_EQ(t.src.size(), 300u);
  EXPECT_EQ(t.messages_seen, c.result.network.count);
  EXPECT_EQ(t.path_rank.size(), 50u);
  EXPECT_EQ(t.path_seen, c.result.path.segments.size());
}

TEST(Drawing, EachFamilyHasItsLayoutAndNobodyLiesOnAnother) {
  const std::map<std::string, Layout> expected{
      {"fat-tree-16", Layout::kRows},
      {"xgft:h=2,m=4x4,w=1x2,p=1x1,bw=1Gbps,lat=1us", Layout::kRows},
      {"crossbar-16", Layout::kRows},
      {"torus-16", Layout::kGrid},
      {"torus:dims=4x4x2,bw=1Gbps,lat=1us", Layout::kGrid},
      {"mesh:dims=3x5,bw=1Gbps,lat=1us", Layout::kGrid},
      {"dragonfly-18", Layout::kGroups},
      {"dragonfly-72", Layout::kGroups},
      {"cs-storm", Layout::kRoots},
      {"jellyfish:n=12,r=4,hosts_per_switch=2,bw=1Gbps,lat=1us", Layout::kSprings}};
  for (const auto& [on, layout] : expected) {
    SCOPED_TRACE(on);
    const auto p = topology::load_platform(on);
    ASSERT_TRUE(p) << p.error().message();
    ASSERT_TRUE(can_draw(*p));
    const Drawing d = draw(*p);
    EXPECT_EQ(kLayoutNames[static_cast<int>(d.layout)], kLayoutNames[static_cast<int>(layout)]);
    std::set<std::pair<int, int>> places;
    for (std::size_t v = 0; v < d.x.size(); ++v) {
      EXPECT_TRUE(d.x[v] >= 0 && d.x[v] <= 1 && d.y[v] >= 0 && d.y[v] <= 1) << v;
      places.emplace(std::lround(d.x[v] * 1000), std::lround(d.y[v] * 1000));
    }
    EXPECT_EQ(places.size(), d.x.size());
    EXPECT_EQ(draw(*p).x, d.x);
  }
}

TEST(Drawing, RowsOfATreeAreItsLevels) {
  const auto p = topology::load_platform("fat-tree-16");
  ASSERT_TRUE(p);
  const Drawing d = draw(*p);
  std::map<float, int> rows;
  for (const float y : d.y) ++rows[y];
  std::vector<int> sizes;
  for (const auto& [y, n] : rows) sizes.push_back(n);
  EXPECT_EQ(sizes, (std::vector<int>{4, 8, 8, 16})) << "roots above, hosts below";
  // A cable joins neighbouring rows.
  const auto& links = p->fabric.links();
  for (std::size_t l = 0; l < links.size(); ++l)
    EXPECT_NEAR(std::abs(d.y[links.from[l].index()] - d.y[links.to[l].index()]), 0.94 / 3, 1e-5);
}

// Links of which the file names the upper end first, each for both directions.
TEST(Drawing, LinksForBothDirectionsJoinBothTheirEnds) {
  std::string links, routes;
  const auto join = [&](const std::string& a, const std::string& b) {
    links += "<link id=\"" + a + b + "\" bandwidth=\"1Gbps\" latency=\"1us\"/>";
    routes += "<route src=\"" + a + "\" dst=\"" + b + "\"><link_ctn id=\"" + a + b + "\"/></route>";
  };
  std::string hosts;
  join("top", "left");
  join("top", "right");
  for (int h = 0; h < 4; ++h) {
    const std::string name = "h" + std::to_string(h);
    hosts += "<host id=\"" + name + "\" speed=\"1Gf\"/>";
    join(h < 2 ? "left" : "right", name);
  }
  const support::TempFile file(
      "tree.xml",
      "<platform version=\"4.1\"><zone id=\"z\" routing=\"Floyd\"><router id=\"top\"/><router id=\"left\"/>"
      "<router id=\"right\"/>" +
          hosts + links + routes + "</zone></platform>");
  const auto p = topology::load_platform(file.path());
  ASSERT_TRUE(p) << p.error().message();
  const Drawing d = draw(*p);
  EXPECT_EQ(kLayoutNames[static_cast<int>(d.layout)], kLayoutNames[static_cast<int>(Layout::kRows)]);
  std::map<float, int> rows;
  for (const float y : d.y) ++rows[y];
  std::vector<int> sizes;
  for (const auto& [y, n] : rows) sizes.push_back(n);
  EXPECT_EQ(sizes, (std::vector<int>{1, 2, 4})) << "the root above, hosts below";
}

TEST(Drawing, LargeNetworksAreNotDrawn) {
  const auto p = topology::load_platform("crossbar:n=2000,bw=1Gbps,lat=1us");
  ASSERT_TRUE(p);
  EXPECT_FALSE(can_draw(*p));
}

// Of hundreds of runs a page keeps the texts, and neither what they were made of nor the stretches of their paths.
TEST(PageSections, ARunThatIsTextAlreadyIsTheSameOnThePage) {
  Collected c("torus-16");
  predict::Sensitivity what_if;
  what_if.tolerances.push_back({.ratio = 0.01, .latency = Duration(1000), .replays = 3});
  const auto page = [&](PageRun run, bool asked) {
    if (asked) run.facts.sensitivity = &what_if;
    std::vector<PageRun> runs;
    runs.push_back(std::move(run));
    return page_json(page_of("report", std::move(runs)));
  };
  const std::string before = page(c.run, false), asked = page(c.run, true);
  make_text(c.run);
  EXPECT_FALSE(c.run.timeline || c.run.traffic || c.run.drawing);
  c.result.path.segments.clear();
  EXPECT_EQ(page(c.run, false), before);
  EXPECT_EQ(page(c.run, true), asked);
  EXPECT_NE(asked, before);
}

}  // namespace
}  // namespace weft::report
