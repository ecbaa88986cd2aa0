// SimGrid TI text: every action becomes the right operation, every wrong line an exact message.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <map>
#include <sstream>
#include <string>

#include "tests/support/checkout.hpp"
#include "tests/traces/trace_testing.hpp"
#include "traces/check/check.hpp"
#include "traces/exports/export.hpp"

namespace weft::traces {
namespace {

using namespace testing;

std::vector<PlainOp> ops_of_text(const TempDir& dir, const std::string& text, std::uint32_t rank = 0) {
  auto t = open_trace({dir.write("t.txt", text)});
  EXPECT_TRUE(t) << t.error().message();
  if (!t) return {};
  auto ops = read_rank(**t, rank);
  EXPECT_TRUE(ops);
  return *ops;
}

TEST(Ti, WaitsFindTheOldestOutstandingRequest) {
  const TempDir dir;
  const auto ops = ops_of_text(
      dir,
      "0 init\n0 irecv 1 7 10 1\n0 irecv 1 7 20 1\n0 isend 1 7 5 0\n0 wait 1 0 7\n0 irecv 1 8 1 2\n"
      "0 wait 0 1 7\n0 wait 1 0 7\n0 waitall\n0 wait 1 0 7\n1 finalize\n");
  ASSERT_EQ(ops.size(), 9u);
  EXPECT_EQ(ops[1].op.request, 0u);
  EXPECT_EQ(ops[2].op.request, 1u);
  EXPECT_EQ(ops[3].op.request, 2u);
  EXPECT_EQ(ops[3].op.amount, 40);
  EXPECT_EQ(ops[4].op.request, 0u);
  EXPECT_EQ(ops[4].op.amount, 40);
  EXPECT_EQ(ops[4].op.peer, 1);
  EXPECT_EQ(ops[5].op.request, 0u);  // reused
  EXPECT_EQ(ops[6].op.request, 2u);
  EXPECT_EQ(ops[7].op.request, 1u);
  EXPECT_EQ(ops[7].op.amount, 80);
  EXPECT_EQ(ops[8].op.kind, OpKind::waitall);
  EXPECT_EQ(ops[8].list, (std::vector<std::int64_t>{0}));
}

// What a program completed by a test, or by a call that leaves no line (MPI_Waitsome), ends at the end of its rank at the
// latest: before its finalize, or where it has no more lines.
TEST(Ti, TheEndOfARankWaitsForWhatNoWaitNames) {
  const TempDir dir;
  const std::string text =
      "0 init\n0 irecv 1 7 10 6\n0 test 1 0 7\n0 test 1 0 7\n0 isend 1 8 20 6\n0 isend 1 9 30 6\n0 wait 0 1 "
      "8\n"
      "0 compute 1\n0 finalize\n1 init\n1 isend 0 7 10 6\n1 recv 0 8 20 6\n1 recv 0 9 30 6\n";
  const auto first = ops_of_text(dir, text, 0), second = ops_of_text(dir, text, 1);
  ASSERT_EQ(first.size(), 8u);
  EXPECT_EQ(first[6].op.kind, OpKind::waitall);
  EXPECT_EQ(first[6].list, (std::vector<std::int64_t>{0, 2}));
  EXPECT_EQ(first[7].op.kind, OpKind::finalize);
  ASSERT_EQ(second.size(), 5u);
  EXPECT_EQ(second[4].op.kind, OpKind::waitall);
  EXPECT_EQ(second[4].list, (std::vector<std::int64_t>{0}));
  auto t = open_trace({dir.path("t.txt")});
  ASSERT_TRUE(t);
  EXPECT_THAT((*t)->header().warnings,
              ::testing::ElementsAre(
                  "2 tests were dropped, because the text does not say which of them succeeded: a request "
                  "that was tested is "
                  "over at its next wait, without one at the end of its rank",
                  "3 requests that no wait names: waited for at the end of the rank, as in SimGrid"));
  // A file for each rank ends where its text does.
  auto two = open_trace(
      {dir.write("r0.txt", "0 init\n0 isend 1 7 10 6\n"), dir.write("r1.txt", "1 recv 0 7 10 6\n")});
  ASSERT_TRUE(two);
  EXPECT_EQ((*two)->ops_of(RankId(0)), 3u);
  EXPECT_EQ((*two)->ops_of(RankId(1)), 1u);
}

// What SMPI 3.32 wrote of MPI_Recv, MPI_Sendrecv and MPI_Irecv from MPI_ANY_SOURCE, and of sends to MPI_PROC_NULL: the rank of
// nobody in a group.
TEST(Ti, AnUndefinedPeerIsAnySourceOrNoProcess) {
  const TempDir dir;
  const auto warnings_of = [&](const std::string& text) {
    auto t = open_trace({dir.write("t.txt", text)});
    EXPECT_TRUE(t) << t.error().message();
    return t ? (*t)->header().warnings : std::vector<std::string>();
  };
  const std::string blocking =
      "0 init\n0 recv -333 4 1000 1\n0 recv -333 -444 1000 1\n0 sendRecv 10 1 1000 -333 1 1\n0 send -333 1 "
      "10 1\n"
      "0 isend -333 4 10 1\n0 wait 0 -333 4\n0 finalize\n1 init\n1 finalize\n";
  const auto ops = ops_of_text(dir, blocking);
  ASSERT_EQ(ops.size(), 9u);
  EXPECT_EQ(ops[1].op.peer, kAnySource);
  EXPECT_EQ(ops[1].op.tag, 4);
  EXPECT_EQ(ops[2].op.peer, kAnySource);
  EXPECT_EQ(ops[3].op.peer, 1);
  EXPECT_EQ(ops[4].op.peer, kAnySource);
  EXPECT_EQ(ops[5].op.peer, kProcNull);
  EXPECT_EQ(ops[6].op.peer, kProcNull);
  EXPECT_EQ(ops[7].op.kind, OpKind::wait);
  EXPECT_EQ(ops[7].op.request, ops[6].op.request);
  EXPECT_THAT(warnings_of(blocking), ::testing::IsEmpty());

  const std::string nonblocking =
      "0 init\n0 irecv -333 4 1000 1\n0 wait -333 0 4\n0 irecv -555 4 1000 1\n0 waitall\n0 finalize\n";
  const auto of_irecv = ops_of_text(dir, nonblocking);
  ASSERT_EQ(of_irecv.size(), 6u);
  EXPECT_EQ(of_irecv[1].op.peer, kAnySource);
  EXPECT_EQ(of_irecv[2].op.kind, OpKind::wait);
  EXPECT_THAT(
      warnings_of(nonblocking),
      ::testing::ElementsAre(::testing::StartsWith("1 irecv with the source -333, which SMPI writes for ")));
}

// As SMPI 3.32 writes MPI_Reduce_scatter_block of 6 ints on 2 ranks. SimGrid replays it without data.
TEST(Ti, AReduceScatterOfBlocksHasLostItsSize) {
  const TempDir dir;
  const std::string text = "0 reducescatter 0 0 0 0 0 0 1\n0 reducescatter 3 5 0 1\n1 init\n";
  const auto ops = ops_of_text(dir, text);
  ASSERT_EQ(ops.size(), 2u);
  EXPECT_EQ(ops[0].list, (std::vector<std::int64_t>{0, 0}));
  EXPECT_EQ(ops[1].list, (std::vector<std::int64_t>{12, 20}));
  auto t = open_trace({dir.path("t.txt")});
  ASSERT_TRUE(t);
  EXPECT_THAT((*t)->header().warnings, ::testing::ElementsAre(::testing::StartsWith(
                                           "1 reducescatter as SMPI writes MPI_Reduce_scatter_block")));
}

// Ids of src/smpi/mpi/smpi_datatype.cpp (v3.32) from MPI_REAL to MPI_COUNT. MPI_COMPLEX32 is made of two doubles there,
// MPI_INTEGER1 an int.
TEST(Ti, EveryDatatypeOfSimGridHasItsBytes) {
  const TempDir dir;
  std::string text;
  for (int id = 38; id < 60; ++id) text += fmt::format("0 send 0 7 1 {}\n", id);
  std::vector<std::int64_t> bytes;
  for (const PlainOp& p : ops_of_text(dir, text)) bytes.push_back(p.op.amount);
  EXPECT_EQ(bytes, (std::vector<std::int64_t>{4,  4,  8, 16, 8,  16, 16, 4, 2, 4, 8,
                                              16, 32, 1, 8,  16, 32, 0,  0, 1, 8, 8}));
}

// SimGrid's sleep is time that the speed of a host does not change; so is a recorded time, which is exported as one. Nothing
// but --compute-scale changes it.
TEST(Ti, ASleepIsARecordedTimeAndARecordedTimeIsASleep) {
  const TempDir dir;
  const std::string text = "0 compute 5\n0 sleep 0.5\n0 sleep 1.000000000001\n";
  const auto ops = ops_of_text(dir, text);
  ASSERT_EQ(ops.size(), 3u);
  EXPECT_EQ(ops[0].op.kind, OpKind::compute_flops);
  EXPECT_EQ(ops[1].op.kind, OpKind::compute_time);
  EXPECT_EQ(ops[1].op.amount, 500'000'000'000);
  EXPECT_EQ(ops[2].op.amount, 1'000'000'000'001);
  auto t = open_trace({dir.path("t.txt")});
  ASSERT_TRUE(export_trace(**t, "ti", dir.path("out")));
  EXPECT_EQ(slurp(dir.path("out_files/rank-0.txt")), text);
}

// As SMPI writes MPI_IN_PLACE on the root (src/smpi/bindings/smpi_pmpi_coll.cpp): a gather sends 0, a scatter gets what it
// gives; scatters of older traces 0, too. Its share is then that of the others.
TEST(Ti, ARootThatGathersOrScattersInPlaceHasItsShare) {
  const TempDir dir;
  const std::string text =
      "0 gather 0 1000 0 6 6\n0 gather 0 25 0 0 1\n0 gather 25 100 0 1 6\n0 scatter 1000 0 0 6 6\n"
      "0 scatter 1000 1000 0 6 6\n0 gatherv 0 700 300 0 6 1\n0 gatherv 0 0 300 0 6 1\n"
      "1 gather 1000 0 0 6 6\n1 gather 100 0 0 6 6\n1 gather 100 7 0 6 6\n1 scatter 0 1000 0 6 6\n"
      "1 scatter 7 1000 0 6 6\n1 gatherv 1200 0 0 0 6 6\n1 gatherv 1200 0 0 0 6 6\n";
  for (const std::uint32_t rank : {0u, 1u}) {
    std::vector<std::int64_t> amounts;
    for (const PlainOp& p : ops_of_text(dir, text, rank)) amounts.push_back(p.op.amount);
    EXPECT_EQ(amounts, (std::vector<std::int64_t>{1000, 100, 100, 1000, 1000, rank == 0 ? 2800 : 1200,
                                                  rank == 0 ? 0 : 1200}));
  }
  auto t = open_trace({dir.path("t.txt")});
  ASSERT_TRUE(t);
  EXPECT_EQ((*t)->header().warnings, std::vector<std::string>());
  const auto report = check_trace(**t);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->errors, 0u) << report->findings[0].message;
}

TEST(Ti, ACollectiveWhoseTwoSizesDifferIsAWarningWithItsPlace) {
  const TempDir dir;
  const auto warnings = [&](const std::string& text) {
    auto t = open_trace({dir.write("t.txt", text)});
    EXPECT_TRUE(t);
    return (*t)->header().warnings;
  };
  // Datatype -1 has no size, and what a rank other than the root has of the other direction means nothing.
  EXPECT_THAT(
      warnings(
          "0 alltoall 10 40 1 6\n0 allgather 10 20 -1 6\n0 gather 9 8 1 6 6\n0 scatter 9 8 1 6 6\n1 init\n"),
      ::testing::IsEmpty());
  for (const auto& [line, taken] : {std::pair("alltoall 10 20", 10), std::pair("allgather 10 20", 10),
                                    std::pair("scatter 10 20 0", 10), std::pair("gather 10 20 0", 20)}) {
    SCOPED_TRACE(line);
    EXPECT_THAT(
        warnings(std::string("0 init\n0 ") + line + "\n0 alltoall 0 1\n"),
        ::testing::ElementsAre(fmt::format(
            "2 collectives whose counts to send and to receive differ, which MPI does not allow; the first "
            "at {}:2:{}: 10 bytes to send, 20 to receive, of which {} are taken",
            dir.path("t.txt"), std::string(line).find(' ') + 4, taken)));
    EXPECT_EQ(ops_of_text(dir, std::string("0 ") + line + "\n")[0].op.amount, taken);
  }
}

TEST(Ti, NumbersOfEveryLengthAreReadExactly) {
  const TempDir dir;
  Rng rng(seed_or(5));
  std::string text;
  std::vector<std::pair<std::int32_t, std::int64_t>> want;
  for (int i = 0; i < 3000; ++i) {
    // 1 to 18 digits, leading zeros included; the last line ends without a newline, in its number.
    const auto digits = [&](std::uint64_t most) {
      std::string d;
      for (std::uint64_t n = 1 + rng.below(most); n > 0; --n) d += static_cast<char>('0' + rng.below(10));
      return d;
    };
    const std::string tag = digits(9);
    const std::string count = digits(18);
    text += (i > 0 ? "\n0 recv 0 " : "0 recv 0 ") + tag + (rng.below(2) == 0 ? " " : " \t ") + count;
    want.emplace_back(static_cast<std::int32_t>(std::stoll(tag)), std::stoll(count));
  }
  const auto ops = ops_of_text(dir, text);
  ASSERT_EQ(ops.size(), want.size());
  for (std::size_t i = 0; i < ops.size(); ++i) {
    ASSERT_EQ(ops[i].op.tag, want[i].first);
    ASSERT_EQ(ops[i].op.amount, want[i].second);
  }
}

TEST(Ti, HplTracesImportWithTheCountsOfTheirListing) {
  for (const std::string& trace : hpl_traces()) {
    SCOPED_TRACE(trace);
    auto t = open_trace({trace + "/trace.tar.zst"});
    ASSERT_TRUE(t) << t.error().message();
    std::map<std::string, std::uint64_t> counts;
    OpBlock b;
    for (std::uint32_t r = 0; r < (*t)->header().ranks; ++r)
      while (*(*t)->next_block(RankId(r), b))
        for (const Op& op : b.ops) ++counts[std::string(op_name(op.kind))];
    std::istringstream line(slurp(trace + "/counts.txt"));
    std::string word;
    line >> word;
    while (line >> word) {
      const auto eq = word.find('=');
      std::string key = word.substr(0, eq);
      for (char& c : key) c = static_cast<char>(std::tolower(c));
      const auto want = std::stoull(word.substr(eq + 1));
      EXPECT_EQ(key == "lines" ? (*t)->totals().ops : counts[key], want) << word;
    }
  }
}

}  // namespace
}  // namespace weft::traces

namespace weft::traces {
namespace {

std::string error_of_text(const TempDir& dir, const std::string& text) {
  const std::string path = dir.write("bad.txt", text);
  auto t = open_trace({path}, "ti");
  if (t) return "no error";
  std::string m = t.error().message();
  for (std::size_t at = 0; (at = m.find(path)) != std::string::npos;) m.replace(at, path.size(), "F");
  return m;
}

TEST(Ti, MalformedLinesAreNamedByFileLineAndColumn) {
  const TempDir dir;
  const std::pair<const char*, const char*> cases[] = {
      {"0 send 1 7 8 0\n1 recv 9 7 8 0\n",
       "F:2:8: error: source is not a rank of this trace; got \"9\"; expected 0 to 1"},
      {"0 send 0 7\n", "F:1:11: error: missing count; got \"end of line\"; expected a number"},
      {"0 send 0 7 -8 0\n", "F:1:12: error: count is negative; got \"-8\"; expected a number >= 0"},
      {"0 send 0 7 1e30 0\n", "F:1:12: error: count is too large; got \"1e30\"; expected less than 4.6e18"},
      {"0 send 0 7 4e18 0\n",
       "F:1:12: error: message is too large; got \"4e18\"; expected less than 4.6e18 bytes"},
      {"0 send 0 7 nan 0\n", "F:1:12: error: count is not a number; got \"nan\"; expected a number"},
      {"0 send 0 7 8x 0\n", "F:1:12: error: count is not a number; got \"8x\"; expected a number"},
      {"0 send 0 -7 8 0\n", "F:1:10: error: tag is out of range; got \"-7\"; expected 0 to 2147483647"},
      {"0 send 0 7 8 99\n",
       "F:1:14: error: unknown datatype id; got \"99\"; expected a SimGrid datatype id: -1 to 59"},
      {"0 send 0 7 8 0 5\n",
       "F:1:16: error: the action has too many fields; got \"5\"; expected end of line"},
      {"\n# x\n0 compute -1\n", "F:3:11: error: flops are negative; got \"-1\"; expected a number >= 0"},
      {"0 compute 1e999\n", "F:1:11: error: flops is too large; got \"1e999\"; expected a finite number"},
      {"0 init\n1 init\n 1.7 compute 1e9\n",
       "F:3:2: error: rank is not a whole number; got \"1.7\"; expected 0 to 1"},
      {"0 init\n1e0 init\n", "F:2:1: error: rank is not a whole number; got \"1e0\"; expected 0 to 1"},
      {"0 init\n-1 init\n", "F:2:1: error: rank is not a whole number; got \"-1\"; expected 0 to 0"},
      {"0 init\n0x1 init\n", "F:2:1: error: rank is not a number; got \"0x1\"; expected a number"},
      {"0 bcast 8 4\n", "F:1:11: error: root is not a rank of this trace; got \"4\"; expected 0 to 0"},
      {"0 recv 0 7 -1 0\n",
       "F:1:12: error: a receive of unknown size (count < 0) is not supported; got \"-1\"; expected a count "
       ">= 0"},
  };
  for (const auto& [text, want] : cases) EXPECT_EQ(error_of_text(dir, text), want) << text;
  // One-sided calls and others that smpirun -trace-ti leaves lines of.
  std::istringstream of_smpi_alone(
      "waitAny testsome Startall ibcast isendRecv Get Put Accumulate Rget Rput Raccumulate "
      "Get_accumulate Rget_accumulate Compare_and_swap Win_fence Win_post Win_start Win_complete "
      "Win_wait Win_lock Win_unlock Win_lock_all Win_unlock_all Win_flush Win_flush_local "
      "Win_flush_all Win_flush_local_all");
  for (std::string action; of_smpi_alone >> action;) {
    auto t = open_trace({dir.write("smpi.txt", fmt::format("0 init\n0 {} 2\n", action))}, "ti");
    ASSERT_FALSE(t) << action;
    EXPECT_EQ(t.error().code, ErrorCode::kNotSupported);
    EXPECT_EQ(t.error().where, dir.path("smpi.txt") + ":2:3");
    EXPECT_EQ(t.error().got, action);
  }
  EXPECT_TRUE(error_of_text(dir, "0 dance 1\n")
                  .starts_with("F:1:3: error: unknown action; got \"dance\"; expected one of init"));
}

// Lines that become no operation are a trace all the same; comments alone are none.
TEST(Ti, ATraceOfLinesThatSayNothingIsReadAndToldAbout) {
  const TempDir dir;
  auto t = open_trace({dir.write("t.txt", "0 comm_size 2\n0 waitall\n1 test 0 1 0\n1 wait 0 1 0\n")});
  ASSERT_TRUE(t) << t.error().message();
  EXPECT_EQ((*t)->header().ranks, 2u);
  EXPECT_EQ((*t)->totals().ops, 0u);
  EXPECT_EQ((*t)->header().notes,
            (std::vector<std::string>{
                "1 wait for no outstanding request: dropped as completed before.",
                "1 communicator action dropped: the text does not say who belongs to which communicator."}));
  EXPECT_EQ((*t)->header().warnings.size(), 1u);
  EXPECT_EQ(check_trace(**t)->errors, 0u);
  EXPECT_EQ(error_of_text(dir, "# 0 init\n\n"),
            "F: error: the trace holds no action; expected lines \"RANK ACTION ...\"");
}

// As SimGrid does, whatever they hold; 7 is no rank of this trace.
TEST(Ti, LinesOfOtherRanksInAFileOfOneRankAreIgnoredAndTold) {
  const TempDir dir;
  const auto a = dir.write("r0.txt", "0 init\n1 init\n0 compute 5\n7 dance\n1\n0 compute 6");
  const auto b = dir.write("r1.txt", "# 0\n 0 init\n1 compute 7\n0 init\n");
  auto t = open_trace({a, b});
  ASSERT_TRUE(t) << t.error().message();
  EXPECT_EQ((*t)->header().ranks, 2u);
  EXPECT_EQ((*t)->ops_of(RankId(0)), 3u);
  EXPECT_EQ((*t)->ops_of(RankId(1)), 1u);
  EXPECT_EQ((*t)->header().warnings,
            std::vector{"5 lines of other ranks in files of one rank: ignored, as in SimGrid; the first at " +
                        a + ":2:1"});
  EXPECT_EQ((*t)->position(RankId(0), 2), a + ":6");
}

// SimGrid's rank would do nothing. Files in another order than that of their ranks look like this.
TEST(Ti, AFileWithoutALineOfItsRankIsAnError) {
  const TempDir dir;
  const auto a = dir.write("r0.txt", "0 init\n0 finalize\n");
  // Its lines begin as those of the file before.
  const auto b = dir.write("r1.txt", "#\n0 compute 5\n0 compute 6\n");
  auto t = open_trace({a, b});
  ASSERT_FALSE(t);
  EXPECT_EQ(t.error().message(),
            b + ":2:1: error: no line of the file is of its rank; got \"0\"; expected 1");
  // One that says nothing is a rank that does nothing.
  const auto none = dir.write("none.txt", "# 0 init\n");
  t = open_trace({a, none});
  ASSERT_TRUE(t) << t.error().message();
  EXPECT_EQ((*t)->ops_of(RankId(1)), 0u);
}

// What lines have in common is compared at once, but blanks are free and ranks come in any order.
TEST(Ti, LinesMayBeginInAnyWay) {
  const TempDir dir;
  auto t =
      open_trace({dir.write("t.txt",
                            "0 init\n 0\tsend 1 7 4 6\n1 init\n11 init\n1\t recv\t0 7 4 6\n00 compute 1\n"
                            "0\tcompute\t2\n10 init\n1 compute 3")});
  ASSERT_TRUE(t) << t.error().message();
  EXPECT_EQ((*t)->header().ranks, 12u);
  for (const auto& [rank, ops] : {std::pair{0u, 4u}, {1u, 3u}, {10u, 1u}, {11u, 1u}, {2u, 0u}})
    EXPECT_EQ((*t)->ops_of(RankId(rank)), ops) << "rank " << rank;
  EXPECT_TRUE(error_of_text(dir, "1 init\n1\n")
                  .starts_with("F:2:2: error: missing action; got \"end of line\"; expected one of init"));
}

}  // namespace
}  // namespace weft::traces
