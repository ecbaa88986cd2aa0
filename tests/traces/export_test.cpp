// info and the exporters: totals of a trace made by hand, csv field by field, TI round trips, and the text
// export against message lists that another recorder took from HPL itself.
#include "traces/exports/export.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/rng.hpp"
#include "tests/support/checkout.hpp"
#include "tests/support/memory_trace.hpp"
#include "tests/support/seed.hpp"
#include "tests/traces/archive_testing.hpp"
#include "tests/traces/trace_testing.hpp"
#include "traces/formats.hpp"
#include "traces/info.hpp"
#include "traces/weft/copy.hpp"

namespace weft::traces {
namespace {

using namespace testing;

// Two ranks: messages of 0, 1, 1000 and 1024 bytes, a split, a wildcard, a poll, regions, three kinds of
// work.
std::string hand_made(const TempDir& dir) {
  TraceHeader h;
  h.ranks = 2;
  auto w = TraceWriter::create(dir.path("hand.weft"), h);
  const CommId pair = w->add_communicator({"pair", {1, 0}});
  const auto panel = static_cast<std::int64_t>(w->add_region("panel").index());
  OpBlock a;
  a.rank = RankId(0);
  const auto flops = [](double f) { return std::bit_cast<std::int64_t>(f); };
  a.ops = {
      {.kind = OpKind::init},
      {.kind = OpKind::region_begin, .amount = panel},
      {.kind = OpKind::compute_time, .amount = 1'500'000},
      {.kind = OpKind::compute_flops, .amount = flops(2.5e6)},
      {.kind = OpKind::compute_kernel, .amount = flops(16), .extra = a.add_list({{0, 2, 2, 2}})},
      {.kind = OpKind::region_end, .amount = panel},
      {.kind = OpKind::comm_dup, .amount = 1},
      {.kind = OpKind::send, .peer = 1, .tag = 7, .amount = 0},
      {.kind = OpKind::isend, .comm = pair, .peer = 1, .tag = 8, .amount = 1000, .request = 3},
      {.kind = OpKind::wait, .peer = kAnySource, .tag = kAnyTag, .request = 3},
      {.kind = OpKind::ssend, .comm = pair, .peer = 1, .tag = 9, .amount = 1024},
      {.kind = OpKind::send, .peer = kProcNull, .tag = 1, .amount = 1},
      {.kind = OpKind::bcast, .comm = pair, .peer = 1, .amount = 64},
  };
  w->append(a);
  OpBlock b;
  b.rank = RankId(1);
  const auto poll = b.add_list({{2}});
  const auto hit = b.add_list({{0, 1, 0, 7, 0}});
  b.ops = {
      {.kind = OpKind::init},
      {.kind = OpKind::comm_dup, .amount = 1},
      {.kind = OpKind::iprobe, .peer = kAnySource, .tag = 7, .amount = 4, .extra = poll},
      {.kind = OpKind::sleep, .amount = 250'000'000'000},
      {.kind = OpKind::iprobe, .flags = kHit, .peer = kAnySource, .tag = 7, .amount = 1, .extra = hit},
      {.kind = OpKind::recv,
       .peer = kAnySource,
       .tag = kAnyTag,
       .amount = 8,
       .extra = b.add_list({{0, 7, 0}})},
      {.kind = OpKind::irecv, .comm = pair, .peer = 0, .tag = 8, .amount = 4000, .request = 0},
      {.kind = OpKind::wait, .peer = 0, .tag = 8, .amount = 1000, .request = 0},
      {.kind = OpKind::recv, .comm = pair, .peer = 0, .tag = 9, .amount = 1024},
      {.kind = OpKind::bcast, .comm = pair, .peer = 1, .amount = 64},
  };
  w->append(b);
  const auto done = w->finish();
  EXPECT_TRUE(done) << done.error().message();
  return dir.path("hand.weft");
}

TEST(Info, TotalsOfAHandMadeTrace) {
  const TempDir dir;
  auto t = open_trace({hand_made(dir)});
  ASSERT_TRUE(t) << t.error().message();
  const auto info = scan_trace(**t);
  ASSERT_TRUE(info);
  const auto of = [&](OpKind k) { return info->kinds[static_cast<std::size_t>(k)]; };
  EXPECT_EQ(info->totals.ops, 23u);
  EXPECT_EQ(info->totals.messages, (*t)->totals().messages);
  EXPECT_EQ(info->totals.bytes, (*t)->totals().bytes);
  EXPECT_EQ(of(OpKind::send).count, 2u);
  EXPECT_EQ(of(OpKind::isend).bytes, 1000u);
  EXPECT_EQ(of(OpKind::irecv).bytes, 4000u);
  EXPECT_EQ(of(OpKind::bcast).count, 2u);
  EXPECT_EQ(of(OpKind::bcast).bytes, 128u);
  EXPECT_EQ(info->flops, 2.5e6 + 16);
  EXPECT_EQ(info->compute, Duration(1'500'000));
  EXPECT_EQ(info->polls_missed, 1u);
  EXPECT_EQ(info->polls_hit, 1u);
  EXPECT_EQ(info->least_ops, 10u);
  EXPECT_EQ(info->most_ops, 13u);
  ASSERT_EQ(info->communicators.size(), 2u);
  EXPECT_EQ(info->communicators[1].messages, 2u);
  EXPECT_EQ(info->communicators[1].bytes, 2024u);
  EXPECT_EQ(info->communicators[1].collectives, 2u);
  EXPECT_EQ(info->region_counts, (std::vector<std::uint64_t>{1}));
  EXPECT_EQ(info->sizes[0].count, 1u);   // empty
  EXPECT_EQ(info->sizes[10].count, 1u);  // 512 to 1023
  EXPECT_EQ(info->sizes[11].count, 1u);  // 1024 to 2047
  EXPECT_EQ(info->sizes[11].bytes, 1024u);
}

// Of a file with one rank that does `op` so many times, with requests of their own.
Result<TraceInfo> info_of(Op op, std::uint32_t times) {
  const TempDir dir;
  TraceHeader h;
  h.ranks = 1;
  auto w = TraceWriter::create(dir.path("t.weft"), h);
  OpBlock b;
  b.rank = RankId(0);
  for (std::uint32_t i = 0; i < times; ++i) {
    if (op.kind != OpKind::compute_time) op.request = i;
    b.ops.push_back(op);
  }
  w->append(b);
  WEFT_TRY(w->finish());
  WEFT_ASSIGN(const auto trace, open_trace({dir.path("t.weft")}));
  return scan_trace(*trace);
}

TEST(Info, MoreBytesThanASumHoldsAreAnErrorNotFewerBytes) {
  for (const OpKind kind : {OpKind::isend, OpKind::irecv})
    for (const std::uint32_t messages : {2u, 3u}) {
      const auto info = info_of({.kind = kind, .amount = INT64_MAX}, messages);
      ASSERT_EQ(static_cast<bool>(info), messages == 2);
      if (info)
        EXPECT_EQ(info->kinds[static_cast<std::size_t>(kind)].bytes, UINT64_MAX - 1);
      else
        EXPECT_EQ(info.error().code, ErrorCode::kBadInput);
    }
}

TEST(Info, TheSumOfRecordedTimesHasNoEnd) {
  const auto info = info_of({.kind = OpKind::compute_time, .amount = INT64_MAX}, 2);
  ASSERT_TRUE(info);
  EXPECT_EQ(info->compute, TimeSum(2 * WideTicks{INT64_MAX}));
}

TEST(Export, CsvHoldsEveryField) {
  const TempDir dir;
  auto t = open_trace({hand_made(dir)});
  ASSERT_TRUE(export_trace(**t, "csv", dir.path("out.csv")));
  std::istringstream in(slurp(dir.path("out.csv")));
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  ASSERT_EQ(lines.size(), 24u);
  EXPECT_EQ(lines[0], "rank,index,op,flags,comm,peer,tag,amount,unit,request,list");
  EXPECT_EQ(lines[1], "0,0,init,0,0,0,0,,,,");
  EXPECT_EQ(lines[3], "0,2,compute,0,0,0,0,1500000,ps,,");
  EXPECT_EQ(lines[4], "0,3,compute,0,0,0,0,2500000,flop,,");
  EXPECT_EQ(lines[5], "0,4,compute,0,0,0,0,16,flop,,0 2 2 2");
  EXPECT_EQ(lines[9], "0,8,isend,0,1,1,8,1000,B,3,");
  EXPECT_EQ(lines[16], "1,2,iprobe,0,0,-1,7,4,polls,,2");
  EXPECT_EQ(lines[18], "1,4,iprobe,2,0,-1,7,1,polls,,0 1 0 7 0");
  for (const auto& l : lines) EXPECT_EQ(std::ranges::count(l, ','), 10) << l;
}

TEST(Export, TextNamesWhatMatchedAndLeavesOutWhatDidNothing) {
  const TempDir dir;
  auto t = open_trace({hand_made(dir)});
  ASSERT_TRUE(export_trace(**t, "text", dir.path("out.txt")));
  EXPECT_EQ(
      slurp(dir.path("out.txt")),
      "0 init - - - -\n0 compute - 1.5e-06s - -\n0 compute - 2500000flop - -\n0 compute - 16flop - -\n"
      "0 comm_dup - - - world\n0 send 1 0 7 world\n0 isend 1 1000 8 split1\n0 wait 1 0 8 split1\n"
      "0 ssend 1 1024 9 split1\n0 send null 1 1 world\n0 bcast 1 64 - split1\n"
      "1 init - - - -\n1 comm_dup - - - world\n1 sleep - 0.25s - -\n1 iprobe 0 0 7 world\n1 recv 0 0 7 "
      "world\n"
      "1 irecv 0 4000 8 split1\n1 wait 0 1000 8 split1\n1 recv 0 1024 9 split1\n1 bcast 1 64 - split1\n");
}

TEST(Export, AnUnknownFormatIsAnsweredWithTheKnownOnes) {
  const TempDir dir;
  auto t = open_trace({hand_made(dir)});
  const auto r = export_trace(**t, "pdf", dir.path("out"));
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code, ErrorCode::kUsage);
  EXPECT_EQ(r.error().message(),
            "error: unknown export format; got \"pdf\"; expected one of " + known_names(trace_exports()));
}

TEST(Export, TiRefusesACollectiveOfLessThanTheWorldAndNamesIt) {
  const TempDir dir;
  TraceHeader h;
  h.ranks = 3;
  auto w = TraceWriter::create(dir.path("t.weft"), h);
  const CommId pair = w->add_communicator({"pair", {1, 0}});
  OpBlock b;
  b.rank = RankId(1);
  b.ops = {{.kind = OpKind::init}, {.kind = OpKind::bcast, .comm = pair, .peer = 1, .amount = 64}};
  w->append(b);
  ASSERT_TRUE(w->finish());
  auto t = open_trace({dir.path("t.weft")});
  const auto r = export_trace(**t, "ti", dir.path("out"));
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code, ErrorCode::kNotSupported);
  EXPECT_NE(r.error().where.find("rank 1), operation 1"), std::string::npos) << r.error().where;
}

// Two messages of one pair and tag, on two communicators: received in the other order, which TI's matching by tag alone must
// not undo.
TEST(Export, TiTellsMessagesOfTwoCommunicatorsApart) {
  const TempDir dir;
  const auto written = [&](std::int32_t tag_of_second) {
    TraceHeader h;
    h.ranks = 2;
    auto w = TraceWriter::create(dir.path("t.weft"), h);
    const CommId twin = w->add_communicator({"twin", {0, 1}});
    OpBlock b;
    b.rank = RankId(0);
    b.ops = {{.kind = OpKind::send, .peer = 1, .tag = 7, .amount = 10},
             {.kind = OpKind::send, .comm = twin, .peer = 1, .tag = 7, .amount = 20}};
    w->append(b);
    b.clear();
    b.rank = RankId(1);
    b.ops = {{.kind = OpKind::recv, .comm = twin, .peer = 0, .tag = 7, .amount = 20},
             {.kind = OpKind::recv, .peer = 0, .tag = tag_of_second, .amount = 10}};
    w->append(b);
    EXPECT_TRUE(w->finish());
    auto t = open_trace({dir.path("t.weft")});
    return export_trace(**t, "ti", dir.path("out"));
  };
  ASSERT_TRUE(written(7));
  auto t = open_trace({dir.path("out")});
  ASSERT_TRUE(t) << t.error().message();
  const auto sent = *read_rank(**t, 0), received = *read_rank(**t, 1);
  ASSERT_EQ(sent.size(), 2u);
  EXPECT_EQ(sent[0].op.tag, 7);
  EXPECT_NE(sent[1].op.tag, 7);
  EXPECT_EQ(received[0].op.tag, sent[1].op.tag);
  EXPECT_EQ(received[1].op.tag, 7);
  // A receive of any tag would take both.
  const auto refused = written(kAnyTag);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kNotSupported);
  EXPECT_THAT(refused.error().message(),
              ::testing::HasSubstr(
                  "rank 1), operation 1: error: not supported: SimGrid TI text cannot say this recv: a "
                  "receive of any tag"));
}

using Lists =
    std::map<std::pair<int, int>, std::vector<std::pair<long, long>>>;  // (src, dst) -> (tag, bytes)

TEST(Export, ALaunchIsALineOfTextAndNothingThatTiOrOtf2CanSay) {
  const TempDir dir;
  TraceHeader h;
  h.ranks = 1;
  auto w = TraceWriter::create(dir.path("t.weft"), h);
  OpBlock b;
  b.rank = RankId(0);
  const std::vector<std::int64_t> call = {static_cast<std::int64_t>(Kernel::device_dgemm), 2, 3, 4};
  b.ops = {{.kind = OpKind::launch,
            .amount = std::bit_cast<std::int64_t>(48.0),
            .request = 5,
            .extra = b.add_list(call)},
           {.kind = OpKind::launch, .amount = std::bit_cast<std::int64_t>(48.0), .extra = b.add_list(call)},
           {.kind = OpKind::wait, .peer = kAnySource, .tag = kAnyTag, .request = 5}};
  w->append(b);
  ASSERT_TRUE(w->finish());
  auto t = open_trace({dir.path("t.weft")});
  ASSERT_TRUE(t);
  ASSERT_TRUE(export_trace(**t, "text", dir.path("t.txt")));
  EXPECT_EQ(slurp(dir.path("t.txt")), "0 launch - 48flop - -\n0 launch - 48flop - -\n0 wait - - - -\n");
  const auto ti = export_trace(**t, "ti", dir.path("t.ti"));
  ASSERT_FALSE(ti);
  EXPECT_EQ(ti.error().code, ErrorCode::kNotSupported);
  EXPECT_NE(ti.error().message().find("this launch: its ranks have no accelerators beside them"),
            std::string::npos)
      << ti.error().message();
  const auto otf2 = export_trace(**t, "otf2", dir.path("t.otf2"));
  ASSERT_FALSE(otf2);
  EXPECT_EQ(otf2.error().code, ErrorCode::kNotSupported);
}

// A wildcard stands for itself only where nobody knows what it took; a request has the bytes that it was posted with.
TEST(Export, TextShowsWhatWildcardsTook) {
  const TempDir dir;
  TraceHeader h;
  h.ranks = 1;
  auto w = TraceWriter::create(dir.path("t.weft"), h);
  ASSERT_TRUE(w);
  OpBlock b;
  b.rank = RankId(0);
  const std::vector<std::int64_t> took = {0, 7, 24};
  const auto any = [&](OpKind kind, bool known) {
    Op op{.kind = kind, .peer = kAnySource, .tag = kAnyTag, .amount = 64};
    if (kind == OpKind::irecv) op.request = known ? 1 : 2;
    if (kind == OpKind::probe) op.amount = 0;
    if (known) op.extra = b.add_list(took);
    b.ops.push_back(op);
  };
  for (const OpKind kind : {OpKind::irecv, OpKind::recv, OpKind::probe})
    for (const bool known : {true, false}) any(kind, known);
  b.ops.push_back(
      {.kind = OpKind::recv_init, .peer = kAnySource, .tag = kAnyTag, .amount = 64, .request = 3});
  for (const bool known : {true, false}) {
    b.ops.push_back({.kind = OpKind::start, .request = 3});
    if (known) b.ops.back().extra = b.add_list(took);
    b.ops.push_back({.kind = OpKind::waitall, .extra = b.add_list(std::vector<std::int64_t>{3})});
  }
  w->append(b);
  ASSERT_TRUE(w->finish());
  auto t = open_trace({dir.path("t.weft")});
  ASSERT_TRUE(t) << t.error().message();
  ASSERT_TRUE(export_trace(**t, "text", dir.path("t.txt")));
  EXPECT_EQ(slurp(dir.path("t.txt")),
            "0 irecv 0 64 7 world\n0 irecv any 64 any world\n"
            "0 recv 0 24 7 world\n0 recv any 64 any world\n"
            "0 probe 0 24 7 world\n0 probe any 0 any world\n0 recv_init any 64 any world\n"
            "0 start 0 64 7 world\n0 waitall - - - -\n0 start any 64 any world\n0 waitall - - - -\n");
}

// The name of each line's communicator, read back: those of a rank are named alike if and only if they are the same.
TEST(Export, TextNamesEachCommunicatorOfARankByANameOfItsOwn) {
  const TempDir dir;
  const std::vector<std::string> given = {"split1",      "split2",      "split1", "split3",
                                          "persistent1", "persistent1", "row",    "row",
                                          "row.2",       "world",       "",       "split"};
  for (const std::uint64_t seed : support::seeds_to(20)) {
    SCOPED_TRACE("WEFT_SEED=" + std::to_string(seed));
    Rng rng(seed);
    weft::testing::MemoryTrace t(2);
    for (const std::string& name : given) (void)t.add_comm(name, {0, 1});
    std::vector<std::uint32_t> used[2];
    for (const std::uint32_t r : {0u, 1u}) {
      std::set<std::uint32_t> left;  // not used yet: MPI makes a communicator before it is used
      for (std::uint32_t c = 1; c <= given.size(); ++c) left.insert(c);
      for (int i = 0; i < 60; ++i) {
        const auto c = static_cast<std::uint32_t>(rng.below(given.size() + 1));
        const bool made = left.erase(c) != 0 && rng.below(2) == 0;
        if (made)
          t.add(r, {.kind = OpKind::comm_dup, .amount = static_cast<std::int64_t>(c)});
        else
          t.collective(r, OpKind::bcast, 0, 8, CommId(c));
        used[r].push_back(made ? 0 : c);
      }
    }
    ASSERT_TRUE(export_trace(t, "text", dir.path("t.txt")));
    std::istringstream in(slurp(dir.path("t.txt")));
    for (const std::uint32_t r : {0u, 1u}) {
      std::map<std::string, std::uint32_t> of_name;
      std::map<std::uint32_t, std::string> of_comm;
      for (const std::uint32_t c : used[r]) {
        std::string line;
        ASSERT_TRUE(std::getline(in, line));
        const std::string name = line.substr(line.rfind(' ') + 1);
        EXPECT_EQ(of_name.try_emplace(name, c).first->second, c) << line;
        EXPECT_EQ(of_comm.try_emplace(c, name).first->second, name) << line;
      }
      EXPECT_EQ(of_comm[0], "world");
    }
  }
}

// MPI_Comm_idup leaves no operation that makes its communicator, nor do persistent collectives.
TEST(Export, TextCountsCommunicatorsThatNoOperationMakesWithThoseThatOneDoes) {
  const TempDir dir;
  weft::testing::MemoryTrace t(1);
  const CommId idup = t.add_comm("split1", {0}), dup = t.add_comm("split2", {0});
  const CommId other_ranks[] = {t.add_comm("persistent1", {0}), t.add_comm("persistent1", {0})};
  const CommId row = t.add_comm("row 1", {0});
  t.add(0, {.kind = OpKind::comm_dup, .amount = static_cast<std::int64_t>(dup.index())});
  for (const CommId c : {idup, dup, other_ranks[1], other_ranks[0], row})
    t.collective(0, OpKind::barrier, kAnySource, 0, c);
  ASSERT_TRUE(export_trace(t, "text", dir.path("t.txt")));
  EXPECT_EQ(slurp(dir.path("t.txt")),
            "0 comm_dup - - - world\n0 barrier - - - split2\n0 barrier - - - split1\n"
            "0 barrier - - - persistent1\n0 barrier - - - persistent2\n0 barrier - - - row 1\n");
}

TEST(Export, TextOfHplHoldsTheMessagesThatAnotherRecorderSaw) {
  const std::string archive = support::oracle_dir() + "/messages/ti_2x2_500_64.tar.zst";
  const std::string trace = support::oracle_dir() + "/2x2_500_64/trace.tar.zst";
  Lists want;
  std::size_t recorded = 0;
  for (const auto& [name, text] : read_archive(archive)) {
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) {
      std::istringstream fields(line);
      std::string op;
      int src = 0;
      int dst = 0;
      long tag = 0;
      long bytes = 0;
      if (!(fields >> op >> src >> dst >> tag >> bytes) || op.size() != 1 || !name.ends_with(".txt"))
        continue;
      if (op != "S" && op != "Y" && op != "I" && op != "J") continue;
      want[{src, dst}].emplace_back(tag, bytes);
      ++recorded;
    }
  }
  const TempDir dir;
  auto t = open_trace({trace});
  ASSERT_TRUE(t) << t.error().message();
  ASSERT_TRUE(export_trace(**t, "text", dir.path("out.txt")));
  Lists got;
  std::istringstream in(slurp(dir.path("out.txt")));
  for (std::string line; std::getline(in, line);) {
    std::istringstream fields(line);
    int rank = 0;
    int peer = 0;
    std::string op;
    long bytes = 0;
    long tag = 0;
    if (fields >> rank >> op && op.ends_with("send") && fields >> peer >> bytes >> tag)
      got[{rank, peer}].emplace_back(tag, bytes);
  }
  EXPECT_GT(recorded, 1000u);
  ASSERT_EQ(got.size(), want.size());
  for (const auto& [pair, list] : want)
    EXPECT_EQ(got[pair], list) << pair.first << " to " << pair.second << ": " << got[pair].size() << " and "
                               << list.size();
}

TEST(Export, TiComesBackAsItWentOut) {
  const TempDir dir;
  std::vector<std::string> inputs;
  inputs.push_back(dir.write(
      "all.txt",
      "0 init\n1 init\n0 send 1 5 8 0\n1 recv 0 5 8 0\n0 irecv 1 6 50 1\n1 isend 0 6 50 1\n0 wait 1 0 6\n1 "
      "waitall\n"
      "0 Ssend 1 5 8 0\n1 recv 0 5 8 0\n0 ISsend 1 5 8 0\n1 recv 0 5 8 0\n0 wait 0 1 5\n"
      "0 alltoallv 3 1 2 3 1 2\n1 alltoallv 3 2 1 3 2 1\n0 allreduce 4 1e3\n1 allreduce 4 1e3\n"
      "0 bcast 10 1\n1 bcast 10 1\n0 reduce 10 0.125 1\n1 reduce 10 5 1\n0 gather 3 3 0\n1 gather 3 3 0\n"
      "0 scatter 3 3 1\n1 scatter 3 3 1\n0 allgather 3 3\n1 allgather 3 3\n0 allgatherv 3 3 5\n1 allgatherv "
      "5 3 5\n"
      "0 gatherv 3 3 5 0\n1 gatherv 5 3 5 0\n0 scatterv 3 5 3 0\n1 scatterv 3 5 5 0\n"
      "0 reducescatter 3 5 7\n1 reducescatter 3 5 7\n0 scan 3 0\n1 scan 3 0\n0 exscan 3 0\n1 exscan 3 0\n"
      "0 compute 123456.789\n1 sleep 0.5\n0 barrier\n1 barrier\n0 finalize\n1 finalize\n"));
  inputs.push_back(support::oracle_dir() + "/2x2_500_64/trace.tar.zst");
  for (const std::string& input : inputs) {
    SCOPED_TRACE(input);
    auto first = open_trace({input});
    ASSERT_TRUE(first) << first.error().message();
    ASSERT_TRUE(copy_to_weft(**first, dir.path("a.weft")));
    auto a = open_trace({dir.path("a.weft")});
    const auto out = export_trace(**a, "ti", dir.path("out"));
    ASSERT_TRUE(out) << out.error().message();
    auto second = open_trace({dir.path("out")});
    ASSERT_TRUE(second) << second.error().message();
    ASSERT_TRUE(copy_to_weft(**second, dir.path("b.weft")));
    auto b = open_trace({dir.path("b.weft")});
    first = open_trace({input});
    ASSERT_EQ((*b)->header().ranks, (*first)->header().ranks);
    for (std::uint32_t r = 0; r < (*b)->header().ranks; ++r) {
      auto x = *read_rank(**first, r);
      const auto y = *read_rank(**b, r);
      // A waitall comes back as the waits of its requests.
      std::vector<PlainOp> flat;
      for (auto& p : x)
        if (p.op.kind == OpKind::waitall && input.ends_with("all.txt"))
          for (const std::int64_t s : p.list)
            flat.push_back({Op{.kind = OpKind::wait,
                               .peer = kAnySource,
                               .tag = kAnyTag,
                               .request = static_cast<std::uint32_t>(s)},
                            false,
                            {}});
        else
          flat.push_back(std::move(p));
      ASSERT_EQ(flat.size(), y.size());
      for (std::size_t k = 0; k < y.size(); ++k)
        ASSERT_EQ(flat[k], y[k]) << "rank " << r << " operation " << k;
    }
  }
}

}  // namespace
}  // namespace weft::traces
