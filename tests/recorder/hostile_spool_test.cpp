// Spools that are made to cost: what a merge does is no more than n log n of them, and its answers are those of the
// definition, walked operation by operation. When every cancelled receive looked through all operations since it was
// posted, and every receive through all polls, the first and the third were not over after 45 s, the second took 7 s
// and the fourth 2 s.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "core/rng.hpp"
#include "tests/recorder/fake_spool.hpp"
#include "traces/recorder/merge/program.hpp"

namespace weft::recorder::hostile_spool_test {
namespace {

namespace fs = std::filesystem;
using testing::FakeSpool;
using testing::message;
using traces::kAnySource;
using traces::kAnyTag;
using traces::Op;
using traces::OpKind;

constexpr std::size_t kMany = 300'000;

RankProgram translated(const FakeSpool& spool) {
  const std::string path = spool.save();
  auto reader = SpoolReader::open(path);
  EXPECT_TRUE(reader);
  const std::vector<CommId> ids{CommId(0)};
  const std::vector<traces::Communicator> known{{"", {0, 1, 2, 3}}};
  std::optional<Error> damage;
  RankProgram p = translate(*reader, {ids, {4, &known, 0}}, damage);
  EXPECT_FALSE(damage) << damage->message();
  fs::remove_all(fs::path(path).parent_path());
  return p;
}

SpoolRecord with_slot(SpoolRecord r, std::uint32_t slot) {
  r.request = slot;
  return r;
}
const SpoolRecord kNothing = message(kAnySource, kAnyTag, 0);

TEST(HostileSpool, OneReceiveThatIsCancelledAgainAndAgainCostsItsRecords) {
  FakeSpool spool;
  spool.add(OpKind::irecv, with_slot(message(1, 5, 8), 3));
  spool.add(OpKind::irecv, with_slot(message(1, 6, 8), 4));
  for (std::size_t i = 0; i < kMany; ++i) {
    spool.add(OpKind::waitany, kNothing, {2, 3, 4, 1, 4, 1, 6, 8});
    spool.add(OpKind::wait, kNothing, {1, 3, 1, 3, kCancelled, 0, 0});
  }
  const RankProgram p = translated(spool);
  ASSERT_EQ(p.ops.size(), 1 + kMany);
  for (std::size_t i = 1; i <= kMany; ++i) ASSERT_EQ(p.list(p.ops[i]).size(), 3u) << i;
}

TEST(HostileSpool, AWaitsomeOfManyCancelledReceivesCostsItsList) {
  FakeSpool spool;
  constexpr std::int64_t kSlots = 100'000;
  for (std::uint32_t s = 0; s < kSlots; ++s) spool.add(OpKind::irecv, with_slot(message(1, 5, 8), s));
  std::vector<std::int64_t> list{kSlots};
  for (std::int64_t s = 0; s < kSlots; ++s) list.push_back(s);
  list.push_back(kSlots - 1);
  for (std::int64_t s = 1; s < kSlots; ++s) list.insert(list.end(), {s, kCancelled, 0, 0});
  spool.add(OpKind::waitsome, kNothing, list);
  spool.add(OpKind::wait, kNothing, {1, 0, 1, 0, 1, 5, 8});
  const RankProgram p = translated(spool);
  ASSERT_EQ(p.ops.size(), 2u) << "the receive that was not cancelled and its wait";
}

TEST(HostileSpool, ManyPollsThatNoReceiveEndsCostTheirRecords) {
  FakeSpool spool;
  for (std::size_t i = 0; i < kMany; ++i) spool.add(OpKind::iprobe, message(1, static_cast<int>(i), 1));
  for (std::size_t i = 0; i < kMany; ++i) {
    const int open = static_cast<int>(kMany + i);
    spool.add(OpKind::recv, i % 2 == 0 ? message(2, static_cast<int>(i), 8) : message(kAnySource, open, 8));
  }
  const RankProgram p = translated(spool);
  ASSERT_EQ(p.ops.size(), 2 * kMany);
  EXPECT_EQ(p.list(p.ops[0]).size(), 0u);
}

TEST(HostileSpool, ABodyOfManyRequestsCostsItsRecords) {
  FakeSpool spool;
  spool.add(OpKind::iprobe, testing::hit(1, 7));
  spool.add(OpKind::recv, message(1, 7, 8));
  for (std::uint32_t s = 0; s < kMany / 3; ++s) spool.add(OpKind::isend, with_slot(message(2, 7, 8), s));
  for (std::int64_t s = 0; s < static_cast<std::int64_t>(kMany / 3); ++s)
    spool.add(OpKind::wait, kNothing, {1, s, 0, 0, 0, 0, 0});
  const RankProgram p = translated(spool);
  EXPECT_EQ(p.list(p.ops[0])[1], static_cast<std::int64_t>(1 + 2 * (kMany / 3)));
}

// Random programs of polls: a miss belongs to the next hit of the same poll, unless a receive that could have taken the
// message or the end of the communicator comes between.
TEST(HostileSpool, MissesOfRandomProgramsBelongToTheHitThatTheDefinitionSays) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Rng rng(seed);
    const auto any_of = [&](std::int32_t any) {
      return rng.below(4) == 0 ? any : static_cast<std::int32_t>(rng.below(3));
    };
    RankProgram p;
    for (int i = 0; i < 120; ++i) {
      Op op;
      op.comm = CommId(static_cast<std::uint32_t>(rng.below(2)));
      op.peer = any_of(kAnySource);
      op.tag = any_of(kAnyTag);
      const std::uint64_t what = rng.below(20);
      op.kind = what < 9    ? OpKind::iprobe
                : what < 14 ? OpKind::improbe
                : what < 17 ? OpKind::recv
                : what < 19 ? OpKind::irecv
                            : OpKind::comm_free;
      if (what < 14 && rng.below(4) == 0) {
        op.flags = traces::kHit;
        op.extra = static_cast<std::uint32_t>(p.lists.size());
        p.lists.insert(p.lists.end(), {5, 0, 0, 1, 1, 8});
      }
      p.ops.push_back(op);
    }
    p.offsets.assign(p.ops.size(), 0);
    RankProgram want = p;
    link_polls(p);
    const auto poll = [](const Op& op) { return op.kind == OpKind::iprobe || op.kind == OpKind::improbe; };
    for (std::size_t i = 0; i < want.ops.size(); ++i) {
      const Op& miss = want.ops[i];
      if (!poll(miss) || miss.flags != 0) continue;
      std::vector<std::int64_t> distance;
      for (std::size_t j = i + 1; j < want.ops.size() && distance.empty(); ++j) {
        const Op& op = want.ops[j];
        const bool same_comm = op.comm == miss.comm;
        if (op.kind == OpKind::comm_free && same_comm) break;
        if (op.kind == miss.kind && same_comm && op.peer == miss.peer && op.tag == miss.tag && op.flags != 0)
          distance.push_back(static_cast<std::int64_t>(j - i));
        const bool fits = (op.peer == miss.peer || op.peer == kAnySource || miss.peer == kAnySource) &&
                          (op.tag == miss.tag || op.tag == kAnyTag || miss.tag == kAnyTag);
        if ((op.kind == OpKind::recv || op.kind == OpKind::irecv) && same_comm && fits) break;
      }
      const auto got = p.list(p.ops[i]);
      ASSERT_EQ(std::vector<std::int64_t>(got.begin(), got.end()), distance) << "seed " << seed << ", " << i;
    }
  }
}

// Random programs of receives that are waited for together or cancelled: a waitany asks for those of its slots that are
// not cancelled later, and a cancelled receive is gone.
TEST(HostileSpool, CancelledReceivesOfRandomProgramsAreInNoCompletion) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Rng rng(seed);
    FakeSpool spool;
    std::map<std::int64_t, std::size_t> posted;   // slot -> its receive, of `lives`
    std::vector<bool> lives;                      // by receive, in order of posting
    std::vector<std::vector<std::size_t>> waits;  // receives that each waitany asks for
    for (int i = 0; i < 60; ++i) {
      const auto slot = static_cast<std::int64_t>(rng.below(5));
      if (posted.find(slot) == posted.end()) {
        posted[slot] = lives.size();
        lives.push_back(true);
        spool.add(OpKind::irecv,
                  with_slot(message(1, static_cast<int>(lives.size()), 8), static_cast<std::uint32_t>(slot)));
      } else if (rng.below(3) == 0) {  // it completes, and the slot is used again
        spool.add(OpKind::wait, kNothing,
                  {1, slot, 1, slot, 1, static_cast<std::int64_t>(posted[slot] + 1), 8});
        posted.erase(slot);
      } else if (rng.below(2) == 0) {
        spool.add(OpKind::cancel, with_slot(kNothing, static_cast<std::uint32_t>(slot)));
        spool.add(OpKind::wait, kNothing, {1, slot, 1, slot, kCancelled, 0, 0});
        lives[posted[slot]] = false;
        posted.erase(slot);
      } else {  // all that are there are asked for, none completes
        std::vector<std::int64_t> list{static_cast<std::int64_t>(posted.size())};
        std::vector<std::size_t> asked;
        for (const auto& [s, receive] : posted) list.push_back(s), asked.push_back(receive);
        list.push_back(0);
        spool.add(OpKind::testsome, kNothing, list);
        waits.push_back(asked);
      }
    }
    const RankProgram p = translated(spool);
    std::size_t receives = 0, wait = 0;
    for (const Op& op : p.ops) {
      if (op.kind == OpKind::irecv) {
        ++receives;
        EXPECT_TRUE(lives[static_cast<std::size_t>(op.tag - 1)]) << "seed " << seed;
        continue;
      }
      if (op.kind == OpKind::wait) continue;
      ASSERT_EQ(op.kind, OpKind::testsome) << "seed " << seed;
      std::size_t left = 0;
      for (const std::size_t receive : waits[wait]) left += lives[receive];
      EXPECT_EQ(p.list(op)[0], static_cast<std::int64_t>(left)) << "seed " << seed << ", wait " << wait;
      EXPECT_EQ(p.list(op).size(), left + 1);
      ++wait;
    }
    EXPECT_EQ(wait, waits.size());
    EXPECT_EQ(receives, static_cast<std::size_t>(std::count(lives.begin(), lives.end(), true)));
  }
}

}  // namespace
}  // namespace weft::recorder::hostile_spool_test
