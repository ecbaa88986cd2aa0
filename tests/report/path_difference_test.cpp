// Differences of makespans by the parts of their critical paths: they add up to the difference, whatever the programs and
// platforms, and the sentence says what the numbers say.
#include "report/why/path_difference.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "report/compare.hpp"
#include "report/sweep.hpp"
#include "tests/replay/microseconds.hpp"
#include "tests/replay/well_formed.hpp"
#include "tests/support/memory_trace.hpp"
#include "tests/support/seed.hpp"

namespace weft::report {
namespace {

using replay::kLarge;
using replay::PathPart;
using ::testing::HasSubstr;
using testing::MemoryTrace;
using ::testing::Not;
using traces::OpKind;

// A replay with its path, as the reports see it.
struct ReplayedPath {
  topology::Platform platform;
  replay::ReplayOptions options;
  replay::ReplayResult result;

  ReplayedPath(traces::TraceReader& trace, const std::string& spec)
      : platform(topology::load_platform(spec).value()) {
    options.critical_path = true;
    trace.rewind();
    result = replay::replayed(trace, platform, options);
  }
  [[nodiscard]] predict::RunFacts facts() const {
    predict::RunFacts f;
    f.trace = "T";
    f.map = "block";
    f.ranks = static_cast<std::uint32_t>(result.ranks.size());
    f.platform = &platform;
    f.options = &options;
    f.result = &result;
    return f;
  }
};

Duration sum(const replay::PathParts& parts) {
  Duration all{0};
  for (const Duration d : parts) all += d;
  return all;
}

// Two messages of 1 MB to rank 0: on half the bandwidth each part of them that is data takes twice as long.
MemoryTrace two_to_one() {
  MemoryTrace t(3);
  for (const std::uint32_t s : {1u, 2u}) {
    t.p2p(s, OpKind::send, 0, 0, kLarge);
    t.p2p(0, OpKind::irecv, static_cast<std::int32_t>(s), 0, kLarge, CommId(0), s);
  }
  t.wait(0, 1);
  t.wait(0, 2);
  t.compute(0, Duration(500'000'000));
  return t;
}

TEST(PathDifference, SaysWhatBecameMore) {
  MemoryTrace t = two_to_one();
  const ReplayedPath fast(t, "crossbar:n=3,bw=1GB/s,lat=500ns"), slow(t, "crossbar:n=3,bw=500MB/s,lat=500ns");
  const auto more = path_difference(slow.facts(), fast.facts());
  EXPECT_EQ(more[static_cast<std::size_t>(PathPart::kTransfer)], from_seconds(1e-3));
  EXPECT_EQ(more[static_cast<std::size_t>(PathPart::kContention)], from_seconds(1e-3));
  EXPECT_EQ(more[static_cast<std::size_t>(PathPart::kCompute)], Duration(0));
  EXPECT_EQ(sum(more), slow.result.makespan - fast.result.makespan);
  const std::string text = explain_path_difference(slow.facts(), fast.facts(), "the fastest");
  EXPECT_THAT(text, HasSubstr("2 ms slower than the fastest"));
  EXPECT_THAT(text, HasSubstr("moving data +1 ms"));
  EXPECT_THAT(text, HasSubstr("contention +1 ms (most on "));
  EXPECT_THAT(text, Not(HasSubstr("computation")));
  EXPECT_THAT(explain_path_difference(fast.facts(), slow.facts(), "that"),
              HasSubstr("2 ms faster than that, on the critical path: moving data -1 ms, contention -1 ms"));
  EXPECT_THAT(explain_path(fast.facts()), HasSubstr("computation (500 us)"));
  EXPECT_EQ(explain_path_difference(fast.facts(), fast.facts(), "itself"), "as long as itself");

  const auto rows = rank_runs({slow.facts(), fast.facts()}, true);
  EXPECT_FALSE(rows[0].path_more);
  ASSERT_TRUE(rows[1].path_more);
  EXPECT_EQ(*rows[1].path_more, more);
  EXPECT_EQ(rows[1].why, text);
  EXPECT_THAT(rows[0].why, HasSubstr("the critical path is"));
}

// A line of CSV as cells by the names of `head`; no cell here holds a quote.
std::map<std::string, std::string> cells(const std::string& csv, std::size_t line) {
  std::vector<std::vector<std::string>> lines;
  std::istringstream in(csv);
  for (std::string text; std::getline(in, text);) {
    lines.emplace_back(1);
    bool quoted = false;
    for (const char c : text) {
      if (c == '"') quoted = !quoted;
      if (c == ',' && !quoted) lines.back().emplace_back();
      if (c != '"' && (c != ',' || quoted)) lines.back().back() += c;
    }
  }
  std::map<std::string, std::string> out;
  EXPECT_EQ(lines.at(line).size(), lines[0].size());
  for (std::size_t i = 0; i < lines[0].size(); ++i) out[lines[0][i]] = lines.at(line)[i];
  return out;
}

// Of JSON's critical_path, by the keys that a flat row of it has.
void expect_the_columns_of_json(const std::string& csv, std::size_t line, const nlohmann::ordered_json& row) {
  const auto have = cells(csv, line);
  std::size_t columns = 0;
  for (const auto& [name, cell] : have) {
    if (!name.starts_with("critical_path.")) continue;
    ++columns;
    const std::size_t dot = name.rfind('.');
    const std::string what = name.substr(14, dot - 14), part = name.substr(dot + 1);
    if (row.contains("critical_path") && row["critical_path"].contains(what))
      EXPECT_EQ(std::stod(cell), row["critical_path"][what][part].get<double>()) << name;
    else
      EXPECT_EQ(cell, "") << name;
  }
  EXPECT_EQ(columns, 20u);
}

TEST(PathDifference, CsvHasTheColumnsOfJson) {
  MemoryTrace t = two_to_one();
  const ReplayedPath fast(t, "crossbar:n=3,bw=2GB/s,lat=500ns"), slow(t, "crossbar:n=3,bw=1GB/s,lat=500ns");
  const auto rows = rank_runs({slow.facts(), fast.facts()}, true);
  for (std::size_t i : {0u, 1u})
    expect_the_columns_of_json(compare_csv(rows), i + 1, compare_row_json(rows[i]));
  const Sweep sweep = sweep_runs({{"bw", {"2GB/s", "1GB/s"}}},
                                 {{fast.facts(), "crossbar", {0}}, {slow.facts(), "crossbar", {1}}}, true);
  for (std::size_t i : {0u, 1u})
    expect_the_columns_of_json(sweep_csv(sweep), i + 1, compare_row_json(sweep.rows[i].row));
  EXPECT_THAT(compare_csv(rank_runs({slow.facts(), fast.facts()})), Not(HasSubstr("critical_path")));
}

// The values of a key one after the other: each against the one before it.
TEST(PathDifference, ASweepGoesFromNeighbourToNeighbour) {
  MemoryTrace t = two_to_one();
  const ReplayedPath a(t, "crossbar:n=3,bw=1GB/s,lat=500ns"), b(t, "crossbar:n=3,bw=2GB/s,lat=500ns"),
      c(t, "crossbar:n=3,bw=4GB/s,lat=500ns");
  const std::vector<SweepAxis> axes{{"bw", {"1GB/s", "2GB/s", "4GB/s"}}};
  const Sweep sweep = sweep_runs(
      axes, {{a.facts(), "crossbar", {0}}, {b.facts(), "crossbar", {1}}, {c.facts(), "crossbar", {2}}}, true);
  ASSERT_EQ(sweep.rows.size(), 3u);
  EXPECT_FALSE(sweep.rows[0].row.path_more);
  EXPECT_EQ(sum(*sweep.rows[1].row.path_more), b.result.makespan - a.result.makespan);
  EXPECT_EQ(sum(*sweep.rows[2].row.path_more), c.result.makespan - b.result.makespan);
  EXPECT_THAT(sweep.rows[2].row.why, HasSubstr("faster than with bw=2GB/s"));
}

TEST(PathDifference, PartsAddUpOnRandomPrograms) {
  const char* const specs[] = {"crossbar:n=16,bw=10GB/s,lat=1us", "fat-tree:m=4,n=3,bw=10GB/s,lat=300ns",
                               "torus:dims=4x4,bw=1GB/s,lat=100ns", "dragonfly:p=1,a=2,h=4,bw=5GB/s,lat=1us"};
  for (const std::uint64_t seed : support::seeds_to(100)) {
    SCOPED_TRACE("WEFT_SEED=" + std::to_string(seed));
    auto program = testing::well_formed(seed);
    const ReplayedPath a(program.trace, specs[seed % 4]), b(program.trace, specs[(seed / 4) % 4]);
    EXPECT_EQ(sum(path_difference(a.facts(), b.facts())), a.result.makespan - b.result.makespan);
  }
}

}  // namespace
}  // namespace weft::report
