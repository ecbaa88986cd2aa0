// Collectives in progress, without an engine: the test is the network. A message takes `kWay` from the moment when both
// sides are posted, so the times of collectives are closed forms.
#include "replay/ranks/collective_runs.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <optional>

#include "tests/replay/parts/bare_replay.hpp"

namespace weft::replay::collective_runs_test {
namespace {

using testing::MemoryTrace;
using traces::Op;
using traces::OpKind;

constexpr Duration kSend{3'000}, kRecv{5'000}, kWay{70'000};

// Everything a replay has around its collectives, and posts that meet in the order of their channel.
struct World : BareReplay {
  Waits waits;
  CollectiveRuns runs;

  struct Post {
    std::uint32_t src, dst, context;
    std::int32_t tag;
    std::int64_t bytes;
    Target target;
  };
  std::vector<Post> sends, recvs;
  struct UnderWay {
    Instant end;
    Post send, recv;
  };
  std::vector<UnderWay> under_way;
  std::uint64_t messages = 0;

  static topology::Platform overheads(bool cpu) {
    topology::Platform p;
    if (cpu) p.mpi.send_overhead = kSend, p.mpi.recv_overhead = kRecv;
    return p;
  }
  World(MemoryTrace t, bool cpu, const CollectiveAlgorithm* algorithm = nullptr)
      : BareReplay(std::move(t), overheads(cpu)),
        waits(ranks, causes, hindsight, agenda),
        runs(comms, choice(algorithm), cost, ranks, waits, causes, hindsight, agenda) {
    while (ranks.any_ready()) (void)ranks.take_ready();
    for (std::uint32_t r = 0; r < ranks.count(); ++r) EXPECT_TRUE(ranks[r].program.at(0));  // read the block
  }
  static CollectiveChoices choice(const CollectiveAlgorithm* a) {
    CollectiveChoices chosen;
    if (a != nullptr) chosen.choose(*a);
    return chosen;
  }

  // ---- The port.
  void post_send(std::uint32_t src, std::uint32_t dst, std::uint32_t context, std::int32_t tag,
                 std::int64_t bytes, OpKind, Target target, Elapsed, SendForm) {
    sends.push_back({src, dst, context, tag, bytes, target});
    meet();
  }
  void post_recv(std::uint32_t rank, std::int32_t source, std::uint32_t context, std::int32_t tag,
                 std::int64_t bytes, Target target) {
    recvs.push_back({static_cast<std::uint32_t>(source), rank, context, tag, bytes, target});
    meet();
  }
  void meet() {
    for (std::size_t s = 0; s < sends.size(); ++s)
      for (std::size_t r = 0; r < recvs.size(); ++r) {
        if (sends[s].src != recvs[r].src || sends[s].dst != recvs[r].dst || sends[s].tag != recvs[r].tag ||
            sends[s].context != recvs[r].context)
          continue;
        EXPECT_EQ(sends[s].bytes, recvs[r].bytes);
        under_way.push_back({agenda.now() + Elapsed(kWay), sends[s], recvs[r]});
        sends.erase(sends.begin() + static_cast<std::ptrdiff_t>(s));
        recvs.erase(recvs.begin() + static_cast<std::ptrdiff_t>(r));
        ++messages;
        return;
      }
  }

  // Rank r calls `op` at `at`; woken[r] is when its wait is over.
  std::vector<std::optional<Instant>> woken;
  void call(std::uint32_t r, const Op& op) {
    Rank& k = ranks[r];
    k.pending = 1;
    const std::uint32_t run = runs.begin(r, op, Target{Target::kBlocking});
    if (run != kNone) runs.advance(run, *this);
    k.state = RankState::kBlocked;
    k.blocked_since = agenda.now();
    if (k.pending == 0) ranks.make_ready(r);
  }
  // Until nothing happens any more.
  void play() {
    woken.resize(ranks.count());
    while (true) {
      while (ranks.any_ready()) {
        const auto next = ranks.take_ready();
        if (!next.is_rank())
          runs.advance(next.index(), *this);
        else
          woken[next.index()] = agenda.now();
      }
      std::size_t first = under_way.size();
      for (std::size_t i = 0; i < under_way.size(); ++i)
        if (first == under_way.size() || under_way[i].end < under_way[first].end) first = i;
      const bool event =
          !agenda.empty() && (first == under_way.size() || agenda.top().time <= under_way[first].end);
      if (!event && first == under_way.size()) return;
      if (event) {
        const Agenda::Event e = agenda.take();
        agenda.move_to(e.time);
        ASSERT_EQ(e.kind, EventKind::kActivityTimer);
        runs.overheads_over(e.index);
        continue;
      }
      const UnderWay u = under_way[first];
      under_way.erase(under_way.begin() + static_cast<std::ptrdiff_t>(first));
      agenda.move_to(u.end);
      runs.message_over(u.send.target.value & ~Target::kActivity, nullptr, true);
      runs.message_over(u.recv.target.value & ~Target::kActivity, nullptr, false);
    }
  }
};

// Every rank calls `op`.
MemoryTrace calling(std::uint32_t ranks, const Op& op) {
  MemoryTrace t(ranks);
  for (std::uint32_t r = 0; r < ranks; ++r) t.add(r, op);
  return t;
}

const CollectiveAlgorithm& algorithm(OpKind kind, std::string_view name) {
  const auto found = find_collective(kind, name);
  EXPECT_TRUE(found);
  return **found;
}

TEST(CollectiveRuns, ABarrierByDisseminationTakesItsRoundsAndTheirOverheads) {
  for (std::uint32_t p = 1; p <= 17; ++p) {
    const Op op{.kind = OpKind::barrier};
    World w(calling(p, op), true, &algorithm(OpKind::barrier, "dissemination"));
    for (std::uint32_t r = 0; r < p; ++r) w.call(r, op);
    w.play();
    const auto rounds = static_cast<std::int64_t>(std::bit_width(p - 1));  // ceil(log2 p)
    EXPECT_EQ(w.messages, p * static_cast<std::uint64_t>(rounds));
    for (std::uint32_t r = 0; r < p; ++r) {
      ASSERT_TRUE(w.woken[r]) << p << " ranks, rank " << r;
      EXPECT_EQ(w.woken[r]->rounded().time_since_epoch(), rounds * (kSend + kWay + kRecv)) << p << ", " << r;
    }
    EXPECT_TRUE(w.sends.empty() && w.recvs.empty());
  }
}

TEST(CollectiveRuns, ARingAllgatherOfALateMemberTakesItsRoundsFromThenOn) {
  constexpr std::uint32_t kRanks = 6;
  constexpr Duration kLate{1'000'000};
  const Op op{.kind = OpKind::allgather, .peer = traces::kAnySource, .amount = 100};
  World w(calling(kRanks, op), true, &algorithm(OpKind::allgather, "ring"));
  for (std::uint32_t r = 1; r < kRanks; ++r) w.call(r, op);
  w.play();  // as far as it goes without rank 0
  for (std::uint32_t r = 0; r < kRanks; ++r) EXPECT_FALSE(w.woken[r]) << r;
  w.agenda.move_to(Instant() + Elapsed(kLate));
  w.call(0, op);
  w.play();
  // Round k of rank 1 needs what rank 0 sends in its round k, that of rank 2 what rank 1 does, and so on.
  for (std::uint32_t r = 0; r < kRanks; ++r) {
    ASSERT_TRUE(w.woken[r]) << r;
    EXPECT_EQ(w.woken[r]->rounded().time_since_epoch(), kLate + (kRanks - 1) * (kSend + kWay + kRecv)) << r;
  }
  EXPECT_EQ(w.messages, kRanks * (kRanks - 1));
}

TEST(CollectiveRuns, CallsOnOneCommunicatorMeetInTheirOrder) {
  // Rank 0 calls twice before the others do: the second call has messages of its own.
  const Op op{.kind = OpKind::ibarrier, .request = 0};
  World w(calling(3, op), false, &algorithm(OpKind::barrier, "linear"));
  std::uint32_t first[3], second[3];
  for (std::uint32_t r = 0; r < 3; ++r) {
    for (const std::uint32_t slot : {0u, 1u}) {
      ASSERT_TRUE(w.ranks[r].requests.begin(slot, false));
      const std::uint32_t run = w.runs.begin(r, op, Target{slot});
      ASSERT_NE(run, kNone);
      (slot == 0 ? first : second)[r] = run;
    }
  }
  for (const std::uint32_t run : second) w.runs.advance(run, w);
  w.play();
  for (std::uint32_t r = 0; r < 3; ++r) {
    EXPECT_TRUE(w.ranks[r].requests.is_active(0));
    EXPECT_FALSE(w.ranks[r].requests.is_active(1)) << r;
  }
  // A run tells no other request than its own.
  for (const std::uint32_t run : {first[2], second[1], 6u}) w.runs.forget(run, 1, Target{0});
  for (const std::uint32_t run : {first[2], first[1]}) EXPECT_EQ(w.runs.target(run).value, 0u);
  w.runs.forget(first[1], 1, Target{0});
  EXPECT_EQ(w.runs.target(first[1]).value, Target::kNobody);
  EXPECT_EQ(w.runs.target(first[2]).value, 0u);
  for (const std::uint32_t run : first) w.runs.advance(run, w);
  w.play();
  EXPECT_FALSE(w.ranks[0].requests.is_active(0));
  EXPECT_TRUE(w.ranks[1].requests.is_active(0)) << "nobody was told";
  EXPECT_EQ(w.messages, 8u);
}

TEST(CollectiveRuns, ACallOfNoMemberFailsTheReplay) {
  MemoryTrace t(3);
  const CommId pair = t.add_comm("pair", {0, 2});
  t.collective(1, OpKind::barrier, traces::kAnySource, 0, pair);
  World w(std::move(t), false);
  EXPECT_EQ(w.runs.begin(1, {.kind = OpKind::barrier, .comm = pair}, Target{Target::kBlocking}), kNone);
  ASSERT_TRUE(w.agenda.failed());
  EXPECT_NE(w.agenda.take_error().message().find(
                "rank 1: barrier on communicator 1 (\"pair\"), of which it is no member"),
            std::string::npos);
}

// Brute force: where a world rank stands in the list of members.
TEST(Communicators, RankInIsThePlaceInTheListOfMembers) {
  const std::vector<traces::Communicator> comms{
      {"world", {0, 1, 2, 3, 4}}, {"first", {0, 1, 2}}, {"turned", {4, 3, 0}}, {"one", {2}}};
  const Communicators c(comms);
  for (std::uint32_t i = 0; i < comms.size(); ++i)
    for (std::uint32_t world = 0; world < 7; ++world) {
      const auto& m = comms[i].members;
      const auto at = std::find(m.begin(), m.end(), static_cast<std::int32_t>(world));
      EXPECT_EQ(c.rank_in(i, world), at == m.end() ? -1 : at - m.begin()) << comms[i].name << ' ' << world;
    }
}

}  // namespace
}  // namespace weft::replay::collective_runs_test
