// Spools without any MPI: written by SpoolWriter, cut or damaged, read back.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/recorder/fake_spool.hpp"
#include "traces/op_rules.hpp"
#include "traces/recorder/merge/merge.hpp"
#include "traces/recorder/merge/program.hpp"

namespace weft::recorder {
namespace {

namespace fs = std::filesystem;
using testing::FakeSpool;
using testing::hit;
using testing::message;
using testing::of_slot;

RankProgram translated(const FakeSpool& spool, std::size_t comms = 1,
                       std::optional<Error>* damage_out = nullptr) {
  const std::string path = spool.save();
  auto reader = SpoolReader::open(path);
  EXPECT_TRUE(reader) << reader.error().message();
  std::vector<CommId> ids;
  for (std::size_t i = 0; i < comms; ++i) ids.emplace_back(static_cast<std::uint32_t>(i));
  const std::vector<traces::Communicator> known(comms, {"", {0, 1, 2, 3}});
  std::optional<Error> damage;
  RankProgram p = translate(*reader, {ids, {4, &known, 0}}, damage);
  EXPECT_TRUE(damage_out != nullptr || !damage) << damage->message();
  if (damage_out != nullptr) *damage_out = damage;
  fs::remove_all(fs::path(path).parent_path());
  return p;
}

TEST(Spool, EveryCutOfTheFileKeepsTheWholeRecordsBeforeIt) {
  FakeSpool spool;
  for (int i = 0; i < 5; ++i) spool.add(traces::OpKind::send, message(0, i, 100 + i));
  const std::string all = spool.bytes();
  for (std::size_t cut = kSpoolHeaderBytes; cut <= all.size(); ++cut) {
    spool.bytes() = all.substr(0, cut);
    EXPECT_EQ(translated(spool).ops.size(), (cut - kSpoolHeaderBytes) / sizeof(SpoolRecord)) << cut;
  }
}

// A rank that was killed, or had no room, before it could begin.
TEST(Spool, WithoutAHeaderItIsThatOfARankThatLeftNoRecord) {
  FakeSpool spool;
  for (const std::size_t zeroes : {std::size_t{0}, std::size_t{kSpoolHeaderBytes}, std::size_t{65536}}) {
    spool.bytes() = std::string(zeroes, '\0');
    const std::string path = spool.save();
    const auto reader = SpoolReader::open(path);
    ASSERT_TRUE(reader) << zeroes << ": " << reader.error().message();
    EXPECT_FALSE(reader->started()) << zeroes;
    fs::remove_all(fs::path(path).parent_path());
  }
  spool.bytes() = "x";
  const std::string path = spool.save();
  EXPECT_FALSE(SpoolReader::open(path));
  fs::remove_all(fs::path(path).parent_path());
}

// A Waitall that answered MPI_ERR_IN_STATUS: request 1 stayed as it was and is waited for later (MPI 3.1, 3.7.5). One
// that the program ended in had asked for both.
TEST(Spool, AWaitallIsOfWhatItCompletedUnlessItNeverReturned) {
  const auto asked = [](bool open) {
    FakeSpool spool;
    for (std::uint32_t slot = 0; slot < 2; ++slot) {
      SpoolRecord r = message(0, static_cast<std::int32_t>(slot), 8);
      r.request = slot;
      spool.add(traces::OpKind::irecv, r);
    }
    SpoolRecord wait = message(0, 0, 0);
    if (open) wait.flags = kOpen;
    const std::int64_t done = open ? 0 : 1;
    spool.add(traces::OpKind::waitall, wait, {2, 0, 1, done, 0, 0, 0, 8, 0, 0, 0, 0});
    const RankProgram p = translated(spool);
    const auto list = p.list(p.ops.back());
    return std::vector<std::int64_t>(list.begin(), list.end());
  };
  EXPECT_EQ(asked(false), std::vector<std::int64_t>{0});
  EXPECT_EQ(asked(true), (std::vector<std::int64_t>{0, 1}));
}

std::vector<std::int64_t> list_of(const RankProgram& p, std::size_t op) {
  const auto list = p.list(p.ops[op]);
  return {list.begin(), list.end()};
}

// As the recorder writes calls that ask for very many.
TEST(Spool, ACompletionThatListsNothingIsOfWhatItCompleted) {
  using List = std::vector<std::int64_t>;
  const SpoolRecord none = message(traces::kAnySource, traces::kAnyTag, 0);
  FakeSpool spool;
  for (std::uint32_t slot = 0; slot < 3; ++slot)
    spool.add(traces::OpKind::isend, of_slot(message(1, 5, 8), slot));
  spool.add(traces::OpKind::waitsome, none, {0, 2, 2, kNoMatch, 0, 0, 0, kNoMatch, 0, 0, 0, 0, 0, 0});
  SpoolRecord open = none;
  open.flags = kOpen;
  spool.add(traces::OpKind::waitany, open, {0, 0, 0, 0, 0, 0});
  const RankProgram p = translated(spool);
  ASSERT_EQ(p.ops.size(), 5u);
  EXPECT_EQ(list_of(p, 3), (List{2, 2, 0, 2, 0}));
  EXPECT_EQ(list_of(p, 4), (List{0})) << "the program ended in it";
}

// Whatever completes it. Slots: 0 a receive from any source, 1 a send, 2 a receive that says all of it.
TEST(Spool, TheStartOfAPersistentReceiveSaysWhatItTook) {
  using enum traces::OpKind;
  using List = std::vector<std::int64_t>;
  const SpoolRecord none = message(traces::kAnySource, traces::kAnyTag, 0);
  FakeSpool spool;
  spool.add(recv_init, of_slot(message(traces::kAnySource, traces::kAnyTag, 8), 0));
  spool.add(send_init, of_slot(message(1, 5, 8), 1));
  spool.add(recv_init, of_slot(message(1, 5, 8), 2));
  for (std::uint32_t slot = 0; slot < 3; ++slot) spool.add(start, of_slot(none, slot));
  const List all{3, 0, 1, 2, 3, 0, 3, 7, 8, 1, kNoMatch, 0, 0, 2, 1, 5, 8};
  spool.add(waitall, none, all);
  spool.add(start, of_slot(none, 0));
  spool.add(waitsome, none, {1, 0, 1, 0, 2, 9, 4});
  spool.add(start, of_slot(none, 2));
  spool.add(testall, none, {1, 2, 1, 2, 1, 5, 4});  // fewer bytes than it takes
  spool.add(startall, none, {1, 0, 2});
  spool.add(waitall, none, all);
  spool.add(startall, none, {2, 0, 1});
  spool.add(waitall, none, all);
  spool.add(startall, none, {1, 2});
  const RankProgram p = translated(spool);
  const std::vector<std::pair<traces::OpKind, List>> expected{{recv_init, {}},
                                                              {send_init, {}},
                                                              {recv_init, {}},
                                                              {start, {3, 7, 8}},
                                                              {start, {}},
                                                              {start, {}},
                                                              {waitall, {0, 1, 2}},
                                                              {start, {2, 9, 4}},
                                                              {waitsome, {1, 0, 0}},
                                                              {start, {1, 5, 4}},
                                                              {testall, {2}},
                                                              // The receives come first, in their order.
                                                              {start, {3, 7, 8}},
                                                              {startall, {2, 1}},
                                                              {waitall, {0, 1, 2}},
                                                              {startall, {2}},
                                                              {start, {3, 7, 8}},
                                                              {startall, {1}},
                                                              {waitall, {0, 1, 2}},
                                                              {startall, {1, 2}}};
  ASSERT_EQ(p.ops.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(p.ops[i].kind, expected[i].first) << i;
    EXPECT_EQ(list_of(p, i), expected[i].second) << i;
  }
}

// A persistent receive that was cancelled has no start, alone or among others.
TEST(Spool, AStartOfACancelledReceiveGoes) {
  using enum traces::OpKind;
  const SpoolRecord none = message(traces::kAnySource, traces::kAnyTag, 0);
  FakeSpool spool;
  spool.add(recv_init, of_slot(message(traces::kAnySource, traces::kAnyTag, 8), 0));
  spool.add(send_init, of_slot(message(1, 5, 8), 1));
  spool.add(startall, none, {0, 1});
  spool.add(cancel, of_slot(none, 0));
  spool.add(waitall, none, {2, 0, 1, 2, 0, kCancelled, 0, 0, 1, kNoMatch, 0, 0});
  const RankProgram p = translated(spool);
  ASSERT_EQ(p.ops.size(), 4u);
  EXPECT_EQ(p.ops[2].kind, startall);
  EXPECT_EQ(list_of(p, 2), std::vector<std::int64_t>{1});
  EXPECT_EQ(p.ops[3].kind, waitall);
  EXPECT_EQ(list_of(p, 3), std::vector<std::int64_t>{1});
}

// A list of a trace has an end, a Startall has none.
TEST(Spool, AStartallOfMoreThanAListHoldsIsSeveral) {
  const std::int64_t slots = static_cast<std::int64_t>(traces::kMaxListValues) + 2;
  FakeSpool spool;
  spool.add(traces::OpKind::recv_init, of_slot(message(1, 5, 8), static_cast<std::uint32_t>(slots - 1)));
  std::vector<std::int64_t> list;
  for (std::int64_t s = 0; s < slots; ++s) list.push_back(s);
  spool.add(traces::OpKind::startall, message(0, 0, 0), list);
  const RankProgram p = translated(spool);
  ASSERT_EQ(p.ops.size(), 3u);
  EXPECT_EQ(p.ops[1].kind, traces::OpKind::startall);
  EXPECT_EQ(p.ops[2].kind, traces::OpKind::startall);
  ASSERT_EQ(p.list(p.ops[1]).size(), traces::kMaxListValues);
  EXPECT_EQ(p.list(p.ops[1])[0], slots - 1) << "receives come first";
  EXPECT_EQ(list_of(p, 2), (std::vector<std::int64_t>{slots - 3, slots - 2}));
}

TEST(Spool, AWaitsomeOfMoreThanAListHoldsIsOfWhatItCompleted) {
  const std::int64_t slots = static_cast<std::int64_t>(traces::kMaxListValues);
  std::vector<std::int64_t> list{slots};
  for (std::int64_t s = 0; s < slots; ++s) list.push_back(s);
  list.insert(list.end(), {1, 7, kNoMatch, 0, 0});
  FakeSpool spool;
  spool.add(traces::OpKind::waitsome, message(0, 0, 0), list);
  const RankProgram p = translated(spool);
  ASSERT_EQ(p.ops.size(), 1u);
  EXPECT_EQ(list_of(p, 0), (std::vector<std::int64_t>{1, 7, 7}));
}

// A list of a trace has an end, a Waitall has none.
TEST(Spool, AWaitallOfMoreThanAListHoldsIsWaitedForInParts) {
  for (const traces::OpKind kind : {traces::OpKind::waitall, traces::OpKind::testall}) {
    const std::int64_t slots = static_cast<std::int64_t>(traces::kMaxListValues) + 2;
    std::vector<std::int64_t> list{slots};
    for (std::int64_t s = 0; s < slots; ++s) list.push_back(s);
    list.push_back(slots);
    for (std::int64_t s = 0; s < slots; ++s) list.insert(list.end(), {s, kNoMatch, 0, 0});
    FakeSpool spool;
    spool.add(kind, message(0, 0, 0), list);
    spool.add(traces::OpKind::send, message(0, 1, 8));
    const RankProgram p = translated(spool);
    ASSERT_EQ(p.ops.size(), 3u);
    EXPECT_EQ(p.ops[0].kind, kind);
    EXPECT_EQ(p.ops[1].kind, kind);
    EXPECT_EQ(p.list(p.ops[0]).size(), traces::kMaxListValues);
    ASSERT_EQ(p.list(p.ops[1]).size(), 2u);
    EXPECT_EQ(p.list(p.ops[1])[1], slots - 1);
    EXPECT_EQ(p.ops[2].kind, traces::OpKind::send);
  }
}

TEST(Spool, ZeroesAfterTheLastRecordAreTheEnd) {
  FakeSpool spool;
  spool.add(traces::OpKind::send, message(0, 1, 8));
  spool.bytes() += std::string(4096, '\0');
  EXPECT_EQ(translated(spool).ops.size(), 1u);
}

TEST(Spool, ShortGapsAreCarriedToTheNextComputation) {
  FakeSpool spool;
  spool.add(traces::OpKind::send, message(0, 1, 8, 150));
  spool.add(traces::OpKind::send, message(0, 2, 8, 150));
  spool.add(traces::OpKind::send, message(0, 3, 8, 10));
  const RankProgram p = translated(spool);
  ASSERT_EQ(p.ops.size(), 4u);
  EXPECT_EQ(p.ops[1].kind, traces::OpKind::compute_time);
  EXPECT_EQ(p.ops[1].amount, 300'000);
}

TEST(Spool, CancelledReceiveGoesWithEverythingThatNamesIt) {
  FakeSpool spool;
  const SpoolRecord none = message(traces::kAnySource, traces::kAnyTag, 0);
  spool.add(traces::OpKind::irecv, of_slot(message(traces::kAnySource, traces::kAnyTag, 8), 3));
  spool.add(traces::OpKind::irecv, of_slot(message(1, 5, 8), 4));
  spool.add(traces::OpKind::waitany, none, {2, 3, 4, 1, 4, 1, 5, 8});
  spool.add(traces::OpKind::cancel, of_slot(none, 3));
  spool.add(traces::OpKind::wait, none, {1, 3, 1, 3, kCancelled, 0, 0});
  spool.add(traces::OpKind::barrier, none);
  const RankProgram p = translated(spool);
  ASSERT_EQ(p.ops.size(), 3u);
  EXPECT_EQ(p.ops[0].request, 4u);
  EXPECT_EQ(p.ops[1].kind, traces::OpKind::waitany);
  const auto list = p.list(p.ops[1]);
  EXPECT_EQ(std::vector<std::int64_t>(list.begin(), list.end()), (std::vector<std::int64_t>{1, 4, 4}));
  EXPECT_EQ(p.ops[2].kind, traces::OpKind::barrier);
}

TEST(ConditionalSteps, BodyStopsAtAnotherCommunicatorLongWorkOrAForeignRequest) {
  const auto body_after = [](auto add_tail) {
    FakeSpool spool;
    spool.add(traces::OpKind::iprobe, hit(1, 7, 1));
    spool.add(traces::OpKind::recv, message(1, 7, 8, 0, 1));
    add_tail(spool);
    const RankProgram p = translated(spool, 3);
    return p.list(p.ops[0])[1];
  };
  const auto forward = [](FakeSpool& s) { s.add(traces::OpKind::send, message(2, 7, 8, 0, 1)); };
  EXPECT_EQ(body_after([&](FakeSpool& s) { forward(s), forward(s); }), 3);
  EXPECT_EQ(body_after([&](FakeSpool& s) {
              s.add(traces::OpKind::send, message(2, 7, 8, 0, 2));
              forward(s);
            }),
            1);
  EXPECT_EQ(body_after([&](FakeSpool& s) { s.add(traces::OpKind::send, message(2, 7, 8, 60'000, 1)); }), 1);
  EXPECT_EQ(body_after([&](FakeSpool& s) { s.add(traces::OpKind::send, message(2, 7, 8, 40'000, 1)); }), 3)
      << "a short computation counts as an operation of the body";
  EXPECT_EQ(body_after([&](FakeSpool& s) {
              SpoolRecord wait = message(traces::kAnySource, traces::kAnyTag, 0);
              s.add(traces::OpKind::wait, wait, {1, 5, 0, 0, 0, 0, 0});  // slot 5: started before
              forward(s);
            }),
            1);
  EXPECT_EQ(
      body_after([&](FakeSpool& s) {
        SpoolRecord isend = message(2, 7, 8, 0, 1);
        isend.request = 5;
        s.add(traces::OpKind::isend, isend);
        s.add(traces::OpKind::wait, message(traces::kAnySource, traces::kAnyTag, 0), {1, 5, 0, 0, 0, 0, 0});
      }),
      3);
}

// Where the body runs at the poll that missed, rank 1 has not got what the program sent it since, and may wait for it.
TEST(ConditionalSteps, BodyStopsAtARankThatWasDealtWithSinceTheFirstMiss) {
  using Add = void (*)(FakeSpool&);
  const auto body = [](Add before, Add between, Add after) {
    FakeSpool spool;
    before(spool);
    spool.add(traces::OpKind::iprobe, message(1, 7, 1));
    between(spool);
    spool.add(traces::OpKind::iprobe, hit(1, 7));
    spool.add(traces::OpKind::recv, message(1, 7, 8));
    after(spool);
    const RankProgram p = translated(spool, 2);
    const auto at = std::ranges::find_if(p.ops, [](const traces::Op& o) { return o.flags == traces::kHit; });
    return p.list(*at)[1];
  };
  const Add nothing = [](FakeSpool&) {};
  const Add send_1 = [](FakeSpool& s) { s.add(traces::OpKind::send, message(1, 8, 8)); };
  const Add send_2 = [](FakeSpool& s) { s.add(traces::OpKind::send, message(2, 8, 8)); };
  const Add elsewhere = [](FakeSpool& s) { s.add(traces::OpKind::send, message(1, 8, 8, 0, 1)); };
  const Add barrier = [](FakeSpool& s) {
    s.add(traces::OpKind::barrier, message(traces::kAnySource, traces::kAnyTag, 0));
  };
  const Add start = [](FakeSpool& s) {
    SpoolRecord r = message(traces::kAnySource, traces::kAnyTag, 0);
    r.request = 0;
    s.add(traces::OpKind::start, r);
  };
  const Add recv_1 = [](FakeSpool& s) { s.add(traces::OpKind::recv, message(1, 9, 8)); };
  const Add forward = [](FakeSpool& s) { s.add(traces::OpKind::send, message(2, 7, 8)); };
  const Add isend_2 = [](FakeSpool& s) { s.add(traces::OpKind::isend, of_slot(message(2, 8, 8), 3)); };
  const Add wait_2 = [](FakeSpool& s) {
    s.add(traces::OpKind::isend, of_slot(message(2, 8, 8), 3));
    s.add(traces::OpKind::wait, message(traces::kAnySource, traces::kAnyTag, 0),
          {1, 3, 1, 3, kNoMatch, 0, 0});
  };
  const Add recv_any = [](FakeSpool& s) { s.add(traces::OpKind::recv, message(traces::kAnySource, 9, 8)); };
  EXPECT_EQ(body(nothing, nothing, recv_1), 2);
  EXPECT_EQ(body(nothing, nothing, recv_any), 2);
  EXPECT_EQ(body(send_1, nothing, recv_1), 2);
  EXPECT_EQ(body(nothing, send_1, recv_1), 1);
  EXPECT_EQ(body(nothing, recv_1, recv_1), 1) << "it may have been a synchronous send";
  EXPECT_EQ(body(nothing, send_1, send_1), 1) << "the messages would come in another order";
  // Rank 2 may wait for one that waits for rank 1, so nothing may block; but what is found is forwarded wherever it is.
  EXPECT_EQ(body(nothing, nothing, send_2), 2);
  EXPECT_EQ(body(nothing, send_1, send_2), 1);
  EXPECT_EQ(body(nothing, send_1, forward), 2);
  EXPECT_EQ(body(nothing, send_1, isend_2), 2);
  EXPECT_EQ(body(nothing, nothing, wait_2), 3);
  EXPECT_EQ(body(nothing, send_1, wait_2), 2);
  EXPECT_EQ(body(nothing, send_2, recv_1), 1);
  EXPECT_EQ(body(nothing, send_2, recv_any), 1);
  EXPECT_EQ(body(nothing, elsewhere, recv_1), 1);
  EXPECT_EQ(body(nothing, elsewhere, forward), 2);
  EXPECT_EQ(body(nothing, barrier, recv_1), 1);
  EXPECT_EQ(body(nothing, start, recv_1), 1);
  // A sendrecv is in the body as a whole or not at all.
  const Add sendrecv = [](FakeSpool& s) {
    s.add(traces::OpKind::sendrecv, message(3, 9, 8));
    SpoolRecord half = message(1, 9, 8);
    half.flags = traces::kPairedRecv;
    s.add(traces::OpKind::recv, half);
  };
  EXPECT_EQ(body(nothing, nothing, sendrecv), 3);
  EXPECT_EQ(body(nothing, send_1, sendrecv), 1);
}

// Where the body runs at the poll that missed, the slot is still that of what the program did since.
TEST(ConditionalSteps, BodyStopsAtARequestWhoseSlotWasInUseSinceTheFirstMiss) {
  using Slots = std::vector<std::int64_t>;
  // The body's forward is in slot 0. Before the polls it holds a request, which ends as `kind` says with `list`.
  const auto body = [](traces::OpKind kind, const Slots& list, bool before_the_polls) {
    FakeSpool spool;
    const SpoolRecord none = message(traces::kAnySource, traces::kAnyTag, 0);
    spool.add(traces::OpKind::isend, of_slot(message(2, 8, 8), 0));
    spool.add(traces::OpKind::isend, of_slot(message(2, 9, 8), 1));
    const SpoolRecord end = kind == traces::OpKind::request_free ? of_slot(none, 0) : none;
    if (before_the_polls) spool.add(kind, end, list);
    spool.add(traces::OpKind::iprobe, message(1, 7, 1));
    if (!before_the_polls) spool.add(kind, end, list);
    spool.add(traces::OpKind::iprobe, hit(1, 7));
    spool.add(traces::OpKind::recv, message(1, 7, 8));
    spool.add(traces::OpKind::isend, of_slot(message(3, 7, 8), 0));
    spool.add(traces::OpKind::wait, none, {1, 0, 1, 0, kNoMatch, 0, 0});
    const RankProgram p = translated(spool);
    const auto at = std::ranges::find_if(p.ops, [](const traces::Op& o) { return o.flags == traces::kHit; });
    return p.list(*at)[1];
  };
  const std::pair<traces::OpKind, Slots> ends[] = {
      {traces::OpKind::wait, {1, 0, 1, 0, kNoMatch, 0, 0}},
      {traces::OpKind::test, {1, 0, 1, 0, kNoMatch, 0, 0}},
      {traces::OpKind::waitall, {2, 1, 0, 2, 1, kNoMatch, 0, 0, 0, kNoMatch, 0, 0}},
      {traces::OpKind::testsome, {2, 1, 0, 1, 0, kNoMatch, 0, 0}},
      {traces::OpKind::waitany, {2, 0, 1, 1, 0, kNoMatch, 0, 0}},
      {traces::OpKind::request_free, {}}};
  for (const auto& [kind, list] : ends) {
    EXPECT_EQ(body(kind, list, true), 3) << traces::op_name(kind);
    EXPECT_EQ(body(kind, list, false), 1) << traces::op_name(kind);
  }
}

TEST(ConditionalSteps, HitWithoutItsReceiveHasNoBody) {
  FakeSpool spool;
  spool.add(traces::OpKind::iprobe, hit(1, 7));
  spool.add(traces::OpKind::recv, message(2, 7, 8));
  const RankProgram p = translated(spool);
  EXPECT_EQ(p.list(p.ops[0])[1], 0);
}

TEST(ConditionalSteps, MissesBelongToTheNextHitOfTheSamePoll) {
  FakeSpool spool;
  spool.add(traces::OpKind::iprobe, message(1, 7, 1));
  spool.add(traces::OpKind::iprobe, message(1, 8, 1));
  spool.add(traces::OpKind::iprobe, message(1, 7, 1));
  spool.add(traces::OpKind::iprobe, hit(1, 7));
  spool.add(traces::OpKind::recv, message(1, 7, 8));
  spool.add(traces::OpKind::iprobe, hit(1, 8));
  spool.add(traces::OpKind::recv, message(1, 8, 8));
  const RankProgram p = translated(spool);
  EXPECT_EQ(p.list(p.ops[0])[0], 3);
  EXPECT_EQ(p.list(p.ops[1])[0], 4);
  EXPECT_EQ(p.list(p.ops[2])[0], 1);
}

}  // namespace
}  // namespace weft::recorder
