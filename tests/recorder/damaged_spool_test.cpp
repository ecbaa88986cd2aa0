// Spools that are cut, damaged or lie: an answer with a position, and with --salvage what is whole.
#include <gmock/gmock.h>

#include <cstddef>
#include <random>

#include "core/files/atomic_file.hpp"
#include "tests/recorder/fake_spool.hpp"
#include "tests/support/seed.hpp"
#include "tests/traces/address_limit.hpp"
#include "traces/op_rules.hpp"
#include "traces/recorder/merge/merge.hpp"
#include "traces/trace.hpp"
#include "traces/trace_warnings.hpp"

namespace weft::recorder {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using testing::FakeSpool;
using ::testing::HasSubstr;
using testing::message;
using testing::of_slot;
using traces::OpKind;

class Merging {
 public:
  Merging() { fs::create_directories(FakeSpool::folder()); }
  ~Merging() { fs::remove_all(FakeSpool::folder()); }
  Merging(const Merging&) = delete;
  Merging& operator=(const Merging&) = delete;

  [[nodiscard]] std::string output() const { return FakeSpool::folder() + "/t.weft"; }
  Result<std::vector<RecordedTrace>> run(bool salvage = false) const {
    RunInfo info;
    info.salvage = salvage;
    return merge_spools(FakeSpool::folder(), output(), info);
  }
  // The message of an error; "" if there was none. Also: an error is the input's and leaves no trace behind.
  std::string error(bool salvage = false) const {
    const auto made = run(salvage);
    if (made) return "";
    EXPECT_EQ(made.error().code, ErrorCode::kBadInput) << made.error().message();
    EXPECT_FALSE(fs::exists(output()));
    return made.error().message();
  }
  // Operations of each rank, read back and well formed.
  [[nodiscard]] std::vector<std::size_t> operations() const {
    std::vector<std::size_t> counts;
    auto trace = traces::open_trace({output()});
    EXPECT_TRUE(trace) << trace.error().message();
    if (!trace) return counts;
    for (std::uint32_t r = 0; r < (*trace)->header().ranks; ++r) {
      counts.push_back(0);
      traces::OpBlock block;
      for (;;) {
        auto more = (*trace)->next_block(RankId(r), block);
        EXPECT_TRUE(more) << more.error().message();
        if (!more || !*more) break;
        counts.back() += block.ops.size();
      }
    }
    return counts;
  }
};

// One rank of two that uses every kind of list.
FakeSpool busy(int rank) {
  FakeSpool s(rank, 2);
  const SpoolRecord none = message(traces::kAnySource, traces::kAnyTag, 0);
  s.add(OpKind::init, none);
  s.define(1, {0, 1});
  s.add(OpKind::comm_dup, message(traces::kAnySource, traces::kAnyTag, 1));
  s.add(OpKind::irecv, of_slot(message(traces::kAnySource, 3, 64, 900, 1), 0));
  s.add(OpKind::isend, of_slot(message(1 - rank, 3, 64, 10, 1), 1));
  s.add(OpKind::waitall, none, {2, 0, 1, 2, 0, 1 - rank, 3, 64, 1, kNoMatch, 0, 0});
  s.add(OpKind::alltoallv, message(traces::kAnySource, traces::kAnyTag, 24, 5000), {2, 8, 16, 8, 16});
  s.add(OpKind::sendrecv, message(1 - rank, 4, 8));
  SpoolRecord half = message(1 - rank, 4, 8);
  half.flags = traces::kPairedRecv;
  s.add(OpKind::recv, half);
  s.add(OpKind::finalize, none);
  s.header().finalized = 1;
  s.bytes() += std::string(256, '\0');
  return s;
}

TEST(DamagedSpool, EveryCutIsToldWithItsByteAndSalvageKeepsTheRecordsBeforeIt) {
  const Merging merging;
  static_cast<void>(busy(0).save());
  FakeSpool cut = busy(1);
  const std::string all = cut.bytes();
  static_cast<void>(cut.save());
  ASSERT_EQ(merging.error(), "");
  const std::size_t whole = merging.operations().at(1);
  std::size_t before = 0;
  for (std::size_t size = kSpoolHeaderBytes; size < all.size() - 256; size += 20) {
    cut.bytes() = all.substr(0, size);
    static_cast<void>(cut.save());
    fs::remove(merging.output());
    EXPECT_THAT(merging.error(), AllOf(HasSubstr("0000000000000007.1.spool@byte 0x"), HasSubstr("(rank 1)"),
                                       HasSubstr("damaged spool")))
        << size;
    const auto made = merging.run(true);
    ASSERT_TRUE(made) << made.error().message();
    EXPECT_THAT(made->at(0).warnings,
                ::testing::ElementsAre("Rank 1 left a damaged spool, the end is missing"));
    const auto counts = merging.operations();
    EXPECT_EQ(counts.at(0), whole);
    EXPECT_GE(counts.at(1), before) << size;
    EXPECT_LT(counts.at(1), whole) << size;
    before = counts.at(1);
  }
}

TEST(DamagedSpool, AnyBitFlippedGivesATraceOrAPositionNeverABugOfOurs) {
  const Merging merging;
  static_cast<void>(busy(0).save());
  FakeSpool damaged = busy(1);
  const std::string all = damaged.bytes();
  const auto seed = static_cast<unsigned>(support::seed_or(20));
  SCOPED_TRACE(fmt::format("WEFT_SEED={}", seed));
  std::mt19937 random(seed);
  int refused = 0;
  for (int round = 0; round < 400; ++round) {
    damaged.bytes() = all;
    for (int flips = 1 + static_cast<int>(random() % 3); flips > 0; --flips) {
      // half of them in the header's numbers, half in the records
      const std::size_t at = random() % 2 == 0
                                 ? random() % offsetof(SpoolHeader, hostname)
                                 : kSpoolHeaderBytes + random() % (all.size() - kSpoolHeaderBytes);
      damaged.bytes()[at] = static_cast<char>(damaged.bytes()[at] ^ (1 << random() % 8));
    }
    static_cast<void>(damaged.save());
    fs::remove(merging.output());
    const std::string error = merging.error();
    if (error.empty()) {
      EXPECT_EQ(merging.operations().size(), 2u) << round;
      continue;
    }
    ++refused;
    EXPECT_THAT(error, HasSubstr(".spool@byte 0x")) << round;
  }
  EXPECT_GT(refused, 80);
}

TEST(DamagedSpool, UnknownCommunicatorsListsAndTimesAreNamed) {
  const auto error_of = [](auto add) {
    const Merging merging;
    FakeSpool s;
    s.add(OpKind::send, message(0, 1, 8));
    add(s);
    static_cast<void>(s.save());
    return merging.error();
  };
  // the second record begins at 0x2000 + 56
  EXPECT_THAT(error_of([](FakeSpool& s) { s.add(OpKind::send, message(0, 2, 8, 0, 12345)); }),
              HasSubstr("7.0.spool@byte 0x2038 (rank 0): error: a damaged spool: unknown communicator"));
  EXPECT_THAT(error_of([](FakeSpool& s) { s.add(OpKind::send, message(9, 2, 8)); }),
              HasSubstr("@byte 0x2038 (rank 0): error: a damaged spool: peer is not a rank"));
  for (const std::int64_t gap : {INT64_MAX, INT64_MAX / 1000, std::int64_t{-1}, INT64_MIN})
    EXPECT_THAT(error_of([gap](FakeSpool& s) { s.add(OpKind::send, message(0, 2, 8, gap)); }),
                HasSubstr("@byte 0x2038 (rank 0): error: a damaged spool: time out of range"))
        << gap;
  EXPECT_THAT(error_of([](FakeSpool& s) {
                s.add(OpKind::waitall, message(0, 0, 0), {1, 0});
                reinterpret_cast<SpoolRecord*>(s.bytes().data() + kSpoolHeaderBytes + 56)->list_words =
                    0xffffffffu;
              }),
              HasSubstr("@byte 0x2038 (rank 0): error: a damaged spool: no whole record"));
  EXPECT_THAT(error_of([](FakeSpool& s) {
                s.define(1, {0, 0});
              }),
              HasSubstr("a member of a communicator twice"));
  EXPECT_THAT(error_of([](FakeSpool& s) { s.define(1, {1}); }), HasSubstr("is not a rank"));
  EXPECT_THAT(error_of([](FakeSpool& s) { s.define(2, {0}); }), HasSubstr("out of its order"));
  EXPECT_THAT(error_of([](FakeSpool& s) { s.header().finalized = 1; }), HasSubstr("the end is missing"));
  EXPECT_THAT(error_of([](FakeSpool& s) { s.header().clock_resolution_ns = INT64_MAX; }),
              HasSubstr("clock resolution"));
  EXPECT_THAT(error_of([](FakeSpool& s) { s.header().world_rank = 1, s.header().world_size = 2; }),
              HasSubstr("not those of the file's name"));
}

// Words of 64 bits for slots, ranks and tags of 32: what is cut off must not make another number of it.
TEST(DamagedSpool, NumbersOfCompletionsThatAreTooLargeAreNotCutToSize) {
  constexpr std::int64_t kTooLarge = std::int64_t{1} << 32;
  const SpoolRecord none = message(traces::kAnySource, traces::kAnyTag, 0);
  const std::vector<std::vector<std::int64_t>> lists = {{1, kTooLarge, 0},
                                                        {1, 0, 1, kTooLarge, 0, 3, 8},
                                                        {1, 0, 1, 0, kTooLarge, 3, 8},
                                                        {1, 0, 1, 0, 0, kTooLarge + 3, 8},
                                                        {1, 0, 1, -1, kCancelled, 3, 8}};
  for (const auto& list : lists) {
    const Merging merging;
    FakeSpool s;
    s.add(OpKind::irecv, of_slot(message(traces::kAnySource, 3, 8), 0));
    s.add(OpKind::wait, none, list);
    static_cast<void>(s.save());
    EXPECT_THAT(merging.error(),
                HasSubstr("@byte 0x2038 (rank 0): error: a damaged spool: a completion with a wrong list"))
        << ::testing::PrintToString(list);
  }
}

TEST(DamagedSpool, ForeignFilesAreRefusedWithTheirPosition) {
  const Merging merging;
  FakeSpool spool;
  spool.header().version = 99;
  static_cast<void>(spool.save());
  EXPECT_THAT(merging.error(), AllOf(HasSubstr("@byte 0x8"), HasSubstr("another version")));
  spool.bytes() = "short";
  static_cast<void>(spool.save());
  EXPECT_THAT(merging.error(), HasSubstr("a spool without a header"));
}

TEST(DamagedSpool, RanksThatAreOnlyClaimedCostNothing) {
  const Merging merging;
  FakeSpool s(0, 1 << 24);
  s.add(OpKind::init, message(traces::kAnySource, traces::kAnyTag, 0));
  static_cast<void>(s.save());
  // A byte for each rank is more than there is room for; a walk over all of them, a hundred times, does not end.
  EXPECT_TRUE(traces::testing::within(8u << 20, [&] {
    for (int again = 0; again < 100; ++again)
      if (merging.run()) return false;
    return true;
  }));
  EXPECT_THAT(merging.error(),
              AllOf(HasSubstr("7.0.spool@byte 0x1c"), HasSubstr("16777216 ranks, 1 spools")));
}

TEST(DamagedSpool, MissingRanksAreOneWarning) {
  const Merging merging;
  FakeSpool s(5, 4000);
  s.add(OpKind::init, message(traces::kAnySource, traces::kAnyTag, 0));
  static_cast<void>(s.save());
  const auto made = merging.run();
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_THAT(made->at(0).warnings, ::testing::ElementsAre("Rank 5 ended without MPI_Finalize",
                                                           "Ranks 0-4, 6-3999 left no record"));
}

// A replay holds a block of every rank.
TEST(Merge, ThousandsOfRanksHaveSmallBlocks) {
  constexpr int kRanks = 9000, kMessages = 1500;
  const Merging merging;
  FakeSpool s(5, kRanks);
  s.add(OpKind::init, message(traces::kAnySource, traces::kAnyTag, 0));
  for (int i = 0; i < kMessages; ++i) s.add(OpKind::send, message(6, i, 8));
  static_cast<void>(s.save());
  const auto made = merging.run();
  ASSERT_TRUE(made) << made.error().message();
  auto trace = traces::open_trace({merging.output()});
  ASSERT_TRUE(trace) << trace.error().message();
  traces::OpBlock block;
  std::size_t ops = 0;
  while (*(*trace)->next_block(RankId(5), block)) {
    EXPECT_LE(block.ops.size(), traces::block_ops_for(kRanks));
    ops += block.ops.size();
  }
  EXPECT_GE(ops, std::size_t{kMessages});
}

TEST(Facts, CountsThreadsAndClocksReachTheHeader) {
  const Merging merging;
  FakeSpool a = busy(0);
  FakeSpool b = busy(1);
  a.header().not_recorded[static_cast<std::size_t>(NotRecorded::Put)] = 3;
  b.header().not_recorded[static_cast<std::size_t>(NotRecorded::Put)] = 4;
  b.header().not_recorded[static_cast<std::size_t>(NotRecorded::failed)] = 1;
  b.header().thread_level = 3;
  b.header().threads = 5;
  b.header().concurrent = 12;
  a.header().cpu_ns = 10;
  a.header().wall_ns = 20;
  static_cast<void>(a.save());
  static_cast<void>(b.save());
  const auto made = merging.run();
  ASSERT_TRUE(made) << made.error().message();
  auto trace = traces::open_trace({merging.output()});
  ASSERT_TRUE(trace);
  const traces::RecordingFacts& facts = (*trace)->header().recording;
  EXPECT_THAT(facts.not_recorded,
              ::testing::ElementsAre(traces::NotRecorded{"one-sided communication", "MPI_Put", 7}));
  EXPECT_EQ(facts.thread_level, 4u);
  EXPECT_EQ(facts.threads, 5u);
  EXPECT_EQ(facts.concurrent_calls, 12u);
  EXPECT_EQ(facts.cpu_ps, (std::vector<std::int64_t>{10'000, 0}));
  EXPECT_EQ(facts.wall_ps, (std::vector<std::int64_t>{20'000, 0}));
  EXPECT_THAT(made->at(0).remarks,
              ::testing::ElementsAre("1 call returned an error and did nothing: left out"));
}

// docs/reports.md: for check, calls that are missing are errors.
TEST(Facts, CallsThatCommunicateAndAreMissingMakeItAnotherProgramsTrace) {
  const std::pair<NotRecorded, const char*> others[] = {
      {NotRecorded::unknown_comm, "1 call of communication on communicators whose creation"},
      {NotRecorded::intercomm_collective, "1 call of communication on inter-communicators is"},
      {NotRecorded::unknown_request, "1 call of completion of requests whose start was not seen"},
      {NotRecorded::unknown_start, "1 call of start of requests whose making was not recorded"},
      {NotRecorded::callback_message, "1 call of communication inside callbacks"},
      {NotRecorded::in_callback, nullptr},  // what they make or free, nobody waits for
      {NotRecorded::unknown_free, nullptr},
      {NotRecorded::failed, nullptr},
  };
  for (const auto& [what, error] : others) {
    const Merging merging;
    FakeSpool a = busy(0);
    a.header().not_recorded[static_cast<std::size_t>(what)] = 1;
    static_cast<void>(a.save());
    static_cast<void>(busy(1).save());
    const auto made = merging.run();
    ASSERT_TRUE(made) << made.error().message();
    auto trace = traces::open_trace({merging.output()});
    ASSERT_TRUE(trace);
    std::vector<std::string> errors;
    for (const auto& w : traces::find_trace_warnings((*trace)->header()))
      if (w.another_program) errors.push_back(w.text);
    if (error == nullptr) {
      EXPECT_THAT(errors, ::testing::IsEmpty());
    } else {
      EXPECT_THAT(errors, ::testing::ElementsAre(::testing::StartsWith(error)));
    }
  }
}

TEST(Facts, MuchTimeBetweenPollsThatSaidNoIsTold) {
  for (const std::int64_t outside : {200'000'000, 900'000'000}) {
    const Merging merging;
    FakeSpool a = busy(0);
    FakeSpool b = busy(1);
    a.header().cpu_clock = b.header().cpu_clock = 1;
    a.header().cpu_ns = b.header().cpu_ns = outside;
    a.header().spun_ns = 9'000'000;
    b.header().spun_ns = 40'000'000;
    static_cast<void>(a.save());
    static_cast<void>(b.save());
    const auto made = merging.run();
    ASSERT_TRUE(made) << made.error().message();
    if (outside == 200'000'000)
      EXPECT_THAT(
          made->at(0).warnings,
          ::testing::Contains(::testing::StartsWith("rank 1 spent 40 ms of 200 ms outside MPI in pieces")));
    else
      EXPECT_THAT(made->at(0).warnings, ::testing::Each(::testing::Not(::testing::HasSubstr("in pieces"))));
  }
}

TEST(Threads, MoreAtOnceThanThereAreNumbersEndTheRecordingWithAWarning) {
  const Merging merging;
  FakeSpool s;
  s.header().out_of_space = kTooManyThreads;
  s.add(OpKind::send, message(0, 1, 100));
  static_cast<void>(s.save());
  const auto made = merging.run();
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_THAT(made->at(0).warnings,
              ::testing::ElementsAre(
                  "Rank 0 had more than 65,535 threads at once that called MPI, the end is missing"));
}

// MPI ends the program for what thread 1 asked of it, while thread 0 goes on: the argument is no damage.
TEST(Threads, ACallThatNeverReturnedIsNoDamageWhateverItsArguments) {
  for (const std::uint8_t flags : {kOpen, std::uint8_t{0}}) {
    const Merging merging;
    FakeSpool s(0, 2);
    s.header().threads = 2;
    s.header().concurrent = 3;
    s.add(OpKind::init, message(traces::kAnySource, traces::kAnyTag, 0));
    s.add(OpKind::send, message(1, 2, 8));
    SpoolRecord refused = of_slot(message(1, 2, -1), 0);
    refused.thread = 1;
    refused.flags = flags;
    s.add(OpKind::isend, refused);
    s.add(OpKind::send, message(1, 3, 8));
    static_cast<void>(s.save());
    if (flags == 0) {
      EXPECT_THAT(merging.error(), HasSubstr("amount is negative"));
      continue;
    }
    const auto made = merging.run();
    ASSERT_TRUE(made) << made.error().message();
    EXPECT_EQ(merging.operations().at(0), 2u);
  }
}

// Thread 0 waits for the answer to what thread 1 sends after it: with blocking calls where they began, rank 0 would
// wait before it sends.
TEST(Threads, OverlappingBlockingCallsAreStartsAndWaitsWhereTheyReturned) {
  const Merging merging;
  FakeSpool s(0, 2);
  s.header().threads = 2;
  s.header().concurrent = 3;
  const auto of = [](SpoolRecord r, std::uint16_t thread) {
    r.thread = thread;
    return r;
  };
  SpoolRecord left{};
  left.kind = kLeft;
  const SpoolRecord none = message(traces::kAnySource, traces::kAnyTag, 0);
  s.add(OpKind::irecv, of_slot(message(1, 7, 8), 4));
  s.add(OpKind::wait, none, {1, 4, 1, 4, 1, 7, 8});
  s.add(OpKind::ssend, of(message(1, 8, 8, 3000), 1));
  s.add(OpKind::sendrecv, of(message(1, 9, 8), 2));
  SpoolRecord half = of(message(1, 9, 8), 2);
  half.flags = traces::kPairedRecv;
  s.add(OpKind::recv, half);
  s.add_raw(of(left, 1), {});
  s.add(OpKind::allreduce, of(message(traces::kAnySource, traces::kAnyTag, 16), 1));
  s.add(OpKind::isend, of_slot(of(message(1, 11, 8), 3), 5));
  s.add_raw(of(left, 0), {});
  s.add_raw(of(left, 1), {});
  s.add(OpKind::allreduce, of(message(traces::kAnySource, traces::kAnyTag, 16), 1));
  s.add_raw(of(left, 1), {});
  static_cast<void>(s.save());
  const auto made = merging.run();
  ASSERT_TRUE(made) << made.error().message();
  auto trace = traces::open_trace({merging.output()});
  ASSERT_TRUE(trace);
  traces::OpBlock block;
  ASSERT_TRUE((*trace)->next_block(RankId(0), block));
  std::vector<std::string> lines;
  for (const traces::Op& op : block.ops) {
    lines.push_back(fmt::format("{} {}", traces::op_name(op.kind), static_cast<std::int32_t>(op.request)));
    for (const std::int64_t slot : block.list(op)) lines.back() += fmt::format(" {}", slot);
  }
  // Slots 4 and 5 are the program's; 6 + 2 x thread, and the next one, are free. Nothing fell into the second
  // allreduce.
  EXPECT_THAT(lines, ::testing::ElementsAre("irecv 4", "compute -1", "issend 8", "isend 10", "irecv 11",
                                            "waitall -1 8", "iallreduce 8", "isend 5", "wait 4",
                                            "waitall -1 8", "allreduce -1", "waitall -1 10 11"));
}

// The recorder makes room in a spool before it needs it, so it is larger than what it holds.
TEST(Merge, SpoolsAreMappedOneAfterTheOther) {
  WEFT_NEEDS_ADDRESS_LIMIT();
  constexpr std::size_t kRoom = std::size_t{256} << 20;
  constexpr int kRanks = 2 * kRoom / (8 << 20);
  const Merging merging;
  for (int rank = 0; rank < kRanks; ++rank) {
    FakeSpool s(rank, kRanks);
    s.add(OpKind::barrier, message(traces::kAnySource, traces::kAnyTag, 0));
    fs::resize_file(s.save(), 8 << 20);
  }
  const std::string folder = FakeSpool::folder(), output = merging.output();  // names by process
  EXPECT_TRUE(
      traces::testing::within(kRoom, [&] { return merge_spools(folder, output, RunInfo{}).has_value(); }));
  EXPECT_EQ(merging.operations(), std::vector<std::size_t>(kRanks, 1));
}

TEST(Facts, FailedCallsCountForTheirTimeOnly) {
  const Merging merging;
  FakeSpool s;
  SpoolRecord failed = message(0, 1, 8, 7000);
  failed.flags = kFailed;
  s.add(OpKind::send, failed);
  s.add(OpKind::barrier, message(traces::kAnySource, traces::kAnyTag, 0, 2000));
  static_cast<void>(s.save());
  const auto made = merging.run();
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_EQ(made->at(0).totals.messages, 0u);
  EXPECT_EQ(merging.operations().at(0), 3u) << "7 us, 2 us and the barrier";
}

TEST(Facts, PersistentSendsAreMessagesEachTimeTheyStart) {
  const Merging merging;
  FakeSpool s;
  const SpoolRecord none = message(traces::kAnySource, traces::kAnyTag, 0);
  s.add(OpKind::send_init, of_slot(message(0, 1, 100), 0));
  s.add(OpKind::start, of_slot(none, 0));
  s.add(OpKind::startall, none, {0});
  static_cast<void>(s.save());
  const auto made = merging.run();
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_EQ(made->at(0).totals.messages, 2u);
  EXPECT_EQ(made->at(0).totals.bytes, 200u);
}

}  // namespace
}  // namespace weft::recorder
