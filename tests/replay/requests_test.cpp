// Requests of a rank against MPI's own words (MPI-3.1, section 3.7), written down a second time as sets of slots.
#include "replay/ranks/requests.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "core/rng.hpp"

namespace weft::replay {
namespace {

using traces::Op;
using traces::OpKind;
using Slots = std::vector<std::int64_t>;

std::vector<std::int64_t> collected(Requests& q, const Slots& slots) {
  std::vector<std::int64_t> bytes;
  q.collect(slots, [&](NoNote /*note*/, bool receive, std::int64_t b) {
    if (receive) bytes.push_back(b);
  });
  return bytes;
}

TEST(Requests, AWaitallCountsWhatIsActiveOnceAndPaysForReceivesOnly) {
  Requests q;
  ASSERT_TRUE(q.begin(0, true));
  ASSERT_TRUE(q.begin(1, false));
  ASSERT_TRUE(q.begin(2, true));
  EXPECT_FALSE(q.complete(2, 30));  // nobody waits for it yet
  std::uint32_t pending = 99;
  EXPECT_EQ(q.await(Slots{0, 1, 2, 0}, pending), nullptr);
  EXPECT_EQ(pending, 2u);
  EXPECT_TRUE(q.is_awaited(0));
  EXPECT_FALSE(q.is_awaited(2));
  EXPECT_TRUE(q.complete(1, 0));
  EXPECT_TRUE(q.complete(0, 10));
  EXPECT_FALSE(q.is_awaited(0));
  EXPECT_EQ(collected(q, {0, 1, 2}), (Slots{10, 30}));
  EXPECT_EQ(collected(q, {0, 1, 2}), Slots{});  // all are idle
  const Slots again{1};
  EXPECT_EQ(q.await(again, pending), &again[0]);
}

TEST(Requests, APersistentOneStaysAfterItsWaitAndStartsItsOwnOperation) {
  for (const auto& [init, started] : std::map<OpKind, OpKind>{{OpKind::send_init, OpKind::isend},
                                                              {OpKind::ssend_init, OpKind::issend},
                                                              {OpKind::bsend_init, OpKind::ibsend},
                                                              {OpKind::rsend_init, OpKind::irsend},
                                                              {OpKind::recv_init, OpKind::irecv}}) {
    Requests q;
    const Op op{.kind = init, .peer = 3, .tag = 7, .amount = 11, .request = 5};
    ASSERT_TRUE(q.init(5, op));
    for (int round = 0; round < 3; ++round) {
      ASSERT_TRUE(q.is_inactive(5));
      EXPECT_FALSE(q.begin(5, false) || q.init(5, op)) << "in use by the persistent one";
      // The second time only it says what it asks for.
      const Op start{.kind = OpKind::start,
                     .flags = static_cast<std::uint8_t>(round == 1 ? traces::kNarrowed : 0),
                     .peer = 4,
                     .tag = 8,
                     .request = 5};
      const Op posted = q.restart(5, start);
      EXPECT_EQ(posted.kind, started);
      EXPECT_EQ(posted.peer, round == 1 ? 4 : 3);
      EXPECT_EQ(posted.tag, round == 1 ? 8 : 7);
      EXPECT_EQ(posted.amount, 11);
      EXPECT_FALSE(q.is_inactive(5));
      q.complete(5, 11);
      EXPECT_FALSE(q.begin(5, false) || q.init(5, op))
          << "in use by the persistent one, also where it is complete";
      EXPECT_EQ(collected(q, {5}).size(), init == OpKind::recv_init ? 1u : 0u);
    }
    q.release(5);
    EXPECT_FALSE(q.is_inactive(5));
    EXPECT_TRUE(q.begin(5, false));
  }
}

TEST(Requests, SlotsThatNobodyMadeAreNeitherActiveNorAwaited) {
  Requests q;
  std::uint32_t pending = 0;
  const Slots never{9};
  EXPECT_EQ(q.await(never, pending), &never[0]);
  const Slots negative{-1};
  EXPECT_EQ(q.await(negative, pending), &negative[0]);
  EXPECT_FALSE(q.is_active(9));
  EXPECT_FALSE(q.is_awaited(9));
  EXPECT_FALSE(q.is_inactive(-1));
  q.release(9);
}

// Random programs of one rank: a slot is in exactly one of these sets.
TEST(Requests, RandomProgramsKeepEverySlotInOneState) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Rng rng(seed);
    Requests q;
    std::set<std::uint32_t> active, awaited, complete, persistent, inactive;
    for (int i = 0; i < 200; ++i) {
      const auto slot = static_cast<std::uint32_t>(rng.below(6));
      const bool used = active.count(slot) != 0 || inactive.count(slot) != 0 ||
                        (complete.count(slot) != 0 && persistent.count(slot) != 0);
      switch (rng.below(6)) {
        case 0: {
          ASSERT_EQ(q.begin(slot, true), !used) << "seed " << seed;
          if (used) break;
          complete.erase(slot);
          persistent.erase(slot);
          active.insert(slot);
          break;
        }
        case 1: {
          ASSERT_EQ(q.init(slot, {.kind = OpKind::recv_init, .request = slot}), !used) << "seed " << seed;
          if (used) break;
          complete.erase(slot);
          persistent.insert(slot);
          inactive.insert(slot);
          break;
        }
        case 2: {
          ASSERT_EQ(q.is_inactive(slot), inactive.count(slot) != 0) << "seed " << seed;
          if (inactive.erase(slot) == 0) break;
          (void)q.restart(slot, {.kind = OpKind::start, .request = slot});
          active.insert(slot);
          break;
        }
        case 3: {
          ASSERT_EQ(q.is_active(slot), active.count(slot) != 0) << "seed " << seed;
          if (active.erase(slot) == 0) break;
          ASSERT_EQ(q.complete(slot, slot), awaited.erase(slot) != 0) << "seed " << seed;
          complete.insert(slot);
          break;
        }
        case 4: {
          const Slots one{slot};
          std::uint32_t pending = 0;
          const bool known = used || complete.count(slot) != 0;
          ASSERT_EQ(q.await(one, pending) == nullptr, known) << "seed " << seed;
          if (!known) break;
          ASSERT_EQ(pending, active.count(slot) != 0 && awaited.count(slot) == 0 ? 1u : 0u)
              << "seed " << seed;
          if (active.count(slot) != 0) awaited.insert(slot);
          break;
        }
        default: {
          if (!used && complete.count(slot) == 0) break;
          const bool got = complete.erase(slot) != 0;
          ASSERT_EQ(collected(q, {slot}), got ? Slots{slot} : Slots{}) << "seed " << seed;
          if (got && persistent.count(slot) != 0) inactive.insert(slot);
        }
      }
    }
  }
}

}  // namespace
}  // namespace weft::replay
