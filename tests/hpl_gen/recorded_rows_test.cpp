// Pivots from a recording: what is read off the messages of a run makes the same run again, and other runs with the
// same N, NB and P.
#include "hpl_gen/pivots/recorded_rows.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "core/rng.hpp"
#include "hpl_gen/hpl_trace.hpp"
#include "tests/hpl_gen/recorded_runs.hpp"
#include "tests/support/checkout.hpp"
#include "tests/traces/address_limit.hpp"

namespace weft::testing_hpl {
namespace {

using namespace hpl_gen;
using ::testing::HasSubstr;

AllLists lists(const HplConfig& c, const HplTraceOptions& options) {
  auto trace = HplTrace::create(to_dat(c), options);
  EXPECT_TRUE(trace) << trace.error().message();
  return trace ? lists_of(**trace) : AllLists();
}

Result<std::shared_ptr<const RecordedRows>> rows_of(const HplConfig& c, std::uint64_t seed) {
  HplTraceOptions options;
  options.seed = seed;
  auto trace = HplTrace::create(to_dat(c), options);
  EXPECT_TRUE(trace);
  return read_recorded_rows(**trace, "run.weft");
}

TEST(HplRecordedRows, ARunIsMadeAgainFromItsMessages) {
  std::uint64_t seed = 0;
  for (const std::string& line : read_lines(data_dir() + "configurations.txt")) {
    const HplConfig c = parse_configuration(line).config;
    auto rows = rows_of(c, ++seed);
    ASSERT_TRUE(rows) << line << "\n" << rows.error().message();
    HplTraceOptions random, recorded;
    random.seed = seed;
    recorded.pivots = PivotKind::kRecorded;
    recorded.recorded = *rows;
    const AllLists want = lists(c, random), got = lists(c, recorded);
    EXPECT_TRUE(want.sent == got.sent) << line << "\n" << differences(want.sent, got.sent);
    EXPECT_TRUE(want.received == got.received) << line;
  }
}

TEST(HplRecordedRows, SmallRunsWithManyEmptyMessagesAreReadToo) {
  for (std::uint64_t i = 0; i < 60; ++i) {
    Rng rng(i);
    HplConfig c;
    c.n = 20 + static_cast<std::int64_t>(rng.below(120));
    c.nb = 4 + static_cast<std::int64_t>(rng.below(20));
    c.p = 2 + static_cast<int>(rng.below(5)), c.q = 1 + static_cast<int>(rng.below(4));
    c.depth = static_cast<int>(rng.below(3));
    c.swap = static_cast<Swap>(rng.below(3));
    c.swap_threshold = 20;
    c.equil = rng.below(2) == 0;
    auto rows = rows_of(c, i);
    ASSERT_TRUE(rows) << "seed " << i << " " << write_hpl_dat(to_dat(c)) << rows.error().message();
    HplTraceOptions random, recorded;
    random.seed = i;
    recorded.pivots = PivotKind::kRecorded;
    recorded.recorded = *rows;
    EXPECT_TRUE(lists(c, random).sent == lists(c, recorded).sent) << "seed " << i;
  }
}

// Of many process rows most have no rows of a narrow panel, and show a later message where theirs would be.
TEST(HplRecordedRows, RunsOfManyProcessRowsAreReadToo) {
  struct Run {
    int p;
    std::int64_t nb, n;
    Swap swap;
  };
  std::vector<Run> runs{{12, 16, 400, Swap::kMix},
                        {12, 64, 6144, Swap::kSpreadRoll},
                        {16, 128, 2048, Swap::kSpreadRoll},
                        {20, 16, 600, Swap::kSpreadRoll},
                        {32, 128, 4096, Swap::kSpreadRoll},
                        {33, 8, 700, Swap::kMix},
                        {48, 100, 3000, Swap::kSpreadRoll},
                        {63, 4, 500, Swap::kSpreadRoll},
                        {64, 16, 1024, Swap::kSpreadRoll},
                        {64, 64, 4096, Swap::kMix},
                        {64, 16, 1024, Swap::kBinaryExchange}};
  for (const Run& run : runs)
    for (const bool equil : {true, false}) {
      HplConfig c;
      c.n = run.n, c.nb = run.nb, c.p = run.p, c.q = 1, c.swap = run.swap, c.equil = equil;
      const auto seed = static_cast<std::uint64_t>(run.p);
      auto rows = rows_of(c, seed);
      ASSERT_TRUE(rows) << write_hpl_dat(to_dat(c)) << rows.error().message();
      HplTraceOptions random, recorded;
      random.seed = seed;
      recorded.pivots = PivotKind::kRecorded;
      recorded.recorded = *rows;
      const AllLists want = lists(c, random), got = lists(c, recorded);
      EXPECT_TRUE(want.sent == got.sent) << write_hpl_dat(to_dat(c));
      EXPECT_TRUE(want.received == got.received) << write_hpl_dat(to_dat(c));
    }
}

TEST(HplRecordedRows, AnotherRunWithTheSameRowsCanUseThem) {
  HplConfig c;
  c.n = 400, c.nb = 32, c.p = 4, c.q = 2, c.swap = Swap::kSpreadRoll;
  auto rows = rows_of(c, 9);
  ASSERT_TRUE(rows) << rows.error().message();
  HplConfig other = c;
  other.q = 3, other.depth = 1, other.bcast = Bcast::kLong;
  HplTraceOptions random, recorded;
  random.seed = 9;
  recorded.pivots = PivotKind::kRecorded;
  recorded.recorded = *rows;
  EXPECT_TRUE(lists(other, random).sent == lists(other, recorded).sent);
  other.swap = Swap::kBinaryExchange;
  auto refused = HplTrace::create(to_dat(other), recorded);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("does not tell what a binary-exchange swap"));
  other.swap = c.swap, other.n = 401;
  EXPECT_THAT(HplTrace::create(to_dat(other), recorded).error().message(), HasSubstr("of another run"));
}

// A reader that changes messages, or the HPL.dat.
class Changed final : public traces::TraceReader {
 public:
  Changed(traces::TraceReader& from, std::string hpl_dat,
          std::function<void(RankId, traces::Op&)> change = {}, std::uint32_t idle_ranks = 0)
      : from_(from), header_(from.header()), change_(std::move(change)) {
    header_.hpl_dat = std::move(hpl_dat);
    header_.ranks += idle_ranks;
  }
  const traces::TraceHeader& header() const override { return header_; }
  const traces::TraceTotals& totals() const override { return from_.totals(); }
  const std::vector<traces::Communicator>& communicators() const override { return from_.communicators(); }
  const std::vector<std::string>& regions() const override { return from_.regions(); }
  std::uint64_t ops_of(RankId rank) const override { return from_.ops_of(rank); }
  Result<bool> next_block(RankId rank, traces::OpBlock& out) override {
    auto more = from_.next_block(rank, out);
    if (more && change_)
      for (traces::Op& op : out.ops)
        if (op.tag == 1001) change_(rank, op);
    return more;
  }
  void rewind() override { from_.rewind(); }
  std::string position(RankId rank, std::uint64_t index) const override {
    return from_.position(rank, index);
  }

 private:
  traces::TraceReader& from_;
  traces::TraceHeader header_;
  std::function<void(RankId, traces::Op&)> change_;
};

TEST(HplRecordedRows, WhatIsNotARecordingOfHplIsRefused) {
  HplConfig c;
  c.n = 200, c.nb = 16, c.p = 2, c.q = 2;
  auto trace = HplTrace::create(to_dat(c));
  ASSERT_TRUE(trace);
  Changed no_dat(**trace, "");
  EXPECT_THAT(read_recorded_rows(no_dat, "x.weft").error().message(),
              HasSubstr("does not say which HPL run"));
  int seen = 0;
  Changed one_byte(**trace, (*trace)->header().hpl_dat, [&seen](RankId rank, traces::Op& op) {
    if (rank.index() == 1 && op.kind == traces::OpKind::send && ++seen == 100) op.amount += 8;
  });
  EXPECT_THAT(read_recorded_rows(one_byte, "x.weft").error().message(), HasSubstr("x.weft: error: rank"));
  c.nb = 17;
  Changed other(**trace, write_hpl_dat(to_dat(c)));
  EXPECT_FALSE(read_recorded_rows(other, "x.weft"));
  c.p = 8;
  Changed larger(**trace, write_hpl_dat(to_dat(c)));
  EXPECT_THAT(read_recorded_rows(larger, "x.weft").error().message(), HasSubstr("fewer ranks"));
}

// Whoever sends the rows of a swap must be in the grid to be asked what it has.
TEST(HplRecordedRows, MessagesOfRanksBeyondTheGridAreNotThoseOfTheRun) {
  HplConfig c;
  c.n = 24, c.nb = 5, c.p = 3, c.q = 1, c.swap = Swap::kSpreadRoll;
  auto trace = HplTrace::create(to_dat(c));
  ASSERT_TRUE(trace);
  for (const std::int32_t peer : {400, traces::kAnySource, traces::kProcNull}) {
    Changed foreign(
        **trace, (*trace)->header().hpl_dat,
        [peer](RankId, traces::Op& op) {
          // Panel 0 leaves 20 columns to swap; the exchanges before have 9 or 14 numbers.
          if (op.kind == traces::OpKind::recv && op.amount > 0 && op.amount % (20 * 8) == 0) op.peer = peer;
        },
        500);
    const auto rows = read_recorded_rows(foreign, "x.weft");
    ASSERT_FALSE(rows) << peer;
    EXPECT_THAT(rows.error().message(), HasSubstr("not the swap of panel 0")) << peer;
  }
}

// 2^31 - 2 panels: a table of them all would be 16 GiB; a walk over them, a hundred times, does not end.
TEST(HplRecordedRows, PanelsThatAreOnlyClaimedCostNothing) {
  for (const int p : {1, 2}) {
    HplConfig c;
    c.n = 0, c.nb = 1, c.p = p, c.q = 2;
    auto trace = HplTrace::create(to_dat(c));
    ASSERT_TRUE(trace);
    c.n = (std::int64_t{1} << 31) - 2;
    Changed claims(**trace, write_hpl_dat(to_dat(c)));
    ASSERT_TRUE(traces::testing::within(8u << 20, [&] {
      for (int again = 0; again < 100; ++again)
        if (read_recorded_rows(claims, "x.weft").has_value() != (p == 1)) return false;
      return true;
    })) << "one process row swaps nothing, so every recording of it will do";
  }
}

}  // namespace
}  // namespace weft::testing_hpl
