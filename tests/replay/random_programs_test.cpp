// Random programs. Well-formed ones (every message has its receive) must end in every mode, obey bounds that
// hold for any schedule, and give the same bits twice. Op soup (any operation with any operands): a program with an
// operation that breaks a rule of its own is refused and that operation named; one without is refused only for what
// several operations do together, else it ends, with every message counted, or stops in operations that wait.
// WEFT_SEED=N runs one seed.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "core/rng.hpp"
#include "replay/engine.hpp"
#include "tests/replay/well_formed.hpp"
#include "tests/replay/why/why_sums.hpp"
#include "tests/support/hosts.hpp"
#include "tests/support/memory_trace.hpp"
#include "traces/kernel.hpp"
#include "traces/op_rules.hpp"
#include "traces/send_counter.hpp"

namespace weft::replay::random_programs_test {
namespace {

using testing::first_hosts;
using testing::MemoryTrace;
using testing::Program;
using testing::well_formed;
using traces::Op;
using traces::OpKind;

constexpr RawMode kModes[] = {RawMode::kOff, RawMode::kEager, RawMode::kDetached, RawMode::kRendezvous};

std::vector<std::uint64_t> seeds(std::uint64_t count) {
  if (const char* one = std::getenv("WEFT_SEED")) return {std::strtoull(one, nullptr, 10)};
  std::vector<std::uint64_t> all;
  for (std::uint64_t s = 1; s <= count; ++s) all.push_back(s);
  return all;
}

const topology::Platform& platform(std::size_t i) {
  static const std::vector<topology::Platform> all = [] {
    std::vector<topology::Platform> p;
    for (const char* spec : {"crossbar:n=16,bw=10GB/s,lat=1us", "fat-tree:m=4,n=3,bw=10GB/s,lat=300ns",
                             "torus:dims=4x4,bw=10GB/s,lat=0", "dragonfly:p=1,a=2,h=4,bw=10GB/s,lat=1us"})
      p.push_back(topology::load_platform(spec).value());
    return p;
  }();
  return all[i % all.size()];
}
constexpr std::size_t kPlatforms = 4;

// The same replay with its critical path: nothing else changes, and every instant has one explanation.
void expect_path(traces::TraceReader& trace, const topology::Platform& where, const std::vector<HostId>& map,
                 ReplayOptions o, const ReplayResult& without) {
  o.critical_path = true;
  const auto r = replay(trace, where, map, o);
  ASSERT_TRUE(r) << r.error().message();
  EXPECT_EQ(r->fingerprint, without.fingerprint);
  expect_path_adds_up(*r);
}

Duration sum_of_causes(const RankTimes& t) {
  Duration sum{0};
  for (const Duration d : t.causes) sum += d;
  return sum;
}

TEST(RandomPrograms, WellFormedOnesEndInEveryModeWithinBoundsAndTheSameTwice) {
  for (const std::uint64_t seed : seeds(150)) {
    SCOPED_TRACE("WEFT_SEED=" + std::to_string(seed));
    Program p = well_formed(seed);
    const auto& where = platform(seed);
    const auto map = first_hosts(p.trace.header().ranks);
    for (const RawMode mode : kModes) {
      ReplayOptions o;
      o.raw = mode;
      auto r = replay(p.trace, where, map, o);
      ASSERT_TRUE(r) << r.error().message();
      ASSERT_TRUE(r->finished) << r->deadlock.summary();
      EXPECT_TRUE(r->warnings.empty()) << r->warnings.front();
      EXPECT_EQ(r->point_to_point.count, p.messages);
      // Bytes in = bytes out: what the hosts' links carried is what was sent.
      std::uint64_t sent = 0;
      for (std::uint64_t b : p.sent) sent += b;
      EXPECT_EQ(r->point_to_point.bytes, sent);
      for (std::uint32_t k = 0; k < r->ranks.size(); ++k) {
        const RankTimes& t = r->ranks[k];
        EXPECT_EQ(t.compute + t.send + t.recv + t.wait + t.collective, t.finish);
        EXPECT_EQ(t.compute.count(), p.compute[k]);
        EXPECT_EQ(sum_of_causes(t), t.finish - t.compute);
        EXPECT_EQ(t.cause(Cause::kNever), Duration(0));
      }
      // No link carried more than its capacity times the makespan.
      for (std::size_t l = 0; l < r->links.size(); ++l) {
        const double limit = where.fabric.links().capacity[l] * to_seconds(r->makespan);
        EXPECT_LE(static_cast<double>(r->links[l].bytes), limit * (1 + 1e-9) + 1) << "link " << l;
        EXPECT_LE(r->links[l].busy, r->makespan);
      }
      auto again = replay(p.trace, where, map, o);
      ASSERT_TRUE(again);
      EXPECT_EQ(again->fingerprint, r->fingerprint);
      EXPECT_EQ(again->engine.events, r->engine.events);
      expect_path(p.trace, where, map, o, *r);
    }
  }
}

// Wildcards aside, a deterministic program's times do not depend on how much is solved again after a change.
TEST(RandomPrograms, BothScopesOfTheSolverGiveTheSameTimes) {
  for (const std::uint64_t seed : seeds(60)) {
    SCOPED_TRACE("WEFT_SEED=" + std::to_string(seed));
    Program p = well_formed(seed);
    const auto map = first_hosts(p.trace.header().ranks);
    ReplayOptions o;
    o.raw = RawMode::kRendezvous;
    auto local = replay(p.trace, platform(seed), map, o);
    o.model = "max-min-component";
    auto whole = replay(p.trace, platform(seed), map, o);
    ASSERT_TRUE(local && whole);
    EXPECT_NEAR(to_seconds(local->makespan), to_seconds(whole->makespan), 1e-9 * to_seconds(whole->makespan));
    o.model = "contention-free";
    auto alone = replay(p.trace, platform(seed), map, o);
    ASSERT_TRUE(alone);
    EXPECT_EQ(alone->network.contention.count(), 0);
  }
}

// A list of the shape that the kind asks for, over a communicator of `p` members.
std::vector<std::int64_t> legal_list(const Op& op, std::int64_t p, Rng& rng) {
  std::vector<std::int64_t> l;
  const auto numbers = [&](std::int64_t n, std::uint64_t below) {
    for (; n > 0; --n) l.push_back(static_cast<std::int64_t>(rng.below(below)));
  };
  switch (traces::blocking_form(op.kind)) {
    case OpKind::compute_kernel:
    case OpKind::launch:
      numbers(1, traces::kKernelCount);
      numbers(3, 100);
      break;
    case OpKind::iprobe:
    case OpKind::improbe:
      if ((op.flags & traces::kHit) != 0)
        l = {0, static_cast<std::int64_t>(rng.below(3)), 0, 0, 8};
      else if (rng.below(2) == 0)
        l = {static_cast<std::int64_t>(1 + rng.below(3))};
      break;
    case OpKind::startall:
    case OpKind::waitall:
    case OpKind::testall:
      numbers(1 + static_cast<std::int64_t>(rng.below(3)), 3);
      break;
    case OpKind::waitany:
    case OpKind::testany:
      l = {2, 0, 1};
      numbers(static_cast<std::int64_t>(rng.below(2)), 2);
      break;
    case OpKind::waitsome:
    case OpKind::testsome:
      l = {2, 0, 1};
      if (rng.below(3) == 0)
        l.insert(l.end(), {0, 1});
      else
        numbers(static_cast<std::int64_t>(rng.below(2)), 2);
      break;
    case OpKind::gatherv:
    case OpKind::scatterv:
    case OpKind::allgatherv:
    case OpKind::reduce_scatter:
      numbers(p, 5000);
      break;
    case OpKind::alltoallv:
    case OpKind::alltoallw:
      l = {p};
      numbers(2 * p, 5000);
      break;
    case OpKind::neighbor_allgather:
    case OpKind::neighbor_alltoall:
      l = {1, static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(p))), 0};
      break;
    case OpKind::neighbor_allgatherv:
    case OpKind::neighbor_alltoallv:
    case OpKind::neighbor_alltoallw:
      l = {0, 1, static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(p))), 77};
      break;
    case OpKind::task_compute:
    case OpKind::task_send:
    case OpKind::task_recv:
      numbers(1, 3);
      if (rng.below(2) == 0) l.push_back(rng.below(3) == 0 ? -1 : 1);
      break;
    case OpKind::exchange_series:
      l = {64, 1 + static_cast<std::int64_t>(rng.below(3)), 1, 1, 8, 50, -20, 1, 0, 1, 0, 1, 0, 0};
      break;
    default:
      break;
  }
  return l;
}

// What is wrong with an operation by itself, "" if nothing, and what a refusal says of it.
struct Soup {
  MemoryTrace trace;
  std::vector<std::vector<Op>> ops;              // by rank
  std::vector<std::vector<std::string>> faults;  // by rank: "rank 1, operation 2: send: peer is not a rank"
  traces::SendCounter sends;
  std::size_t illegal = 0;

  explicit Soup(std::uint32_t ranks) : trace(ranks), ops(ranks), faults(ranks) {}
  void add(std::uint32_t r, const Op& op, const std::vector<std::int64_t>& list) {
    Op checked = op;
    if (list.empty()) checked.extra = traces::kNoList;
    if (!list.empty()) checked.extra = 0;
    const traces::OpLimits limits{trace.header().ranks, &trace.communicators(), trace.regions().size()};
    const char* fault = traces::op_fault(checked, list, limits);
    faults[r].push_back(fault == nullptr ? ""
                                         : fmt::format("rank {}, operation {}: {}: {}", r, ops[r].size(),
                                                       traces::op_name(op.kind), fault));
    illegal += fault != nullptr ? 1 : 0;
    if (fault == nullptr) sends.add(RankId(r), checked, list);
    ops[r].push_back(op);
    trace.add(r, op, list);
  }
};

// The reasons for which a program of well-formed operations may be refused: what several of them do together.
bool is_a_rule_of_programs(const std::string& what) {
  for (const char* rule :
       {"while it is in use", "is not an inactive persistent one", "which was never started",
        "a poll that points at no hit", "of which it is no member", "is not in communicator",
        "a sendrecv without its receive half", "a receive half without its sendrecv", "both must be members",
        "disagrees with rank", "neighbour outside of the communicator", "only a wait may name it",
        "after a task that does not stand before it", "the program ends before this task",
        "more than 2^62 bytes in one call"})
    if (what.find(rule) != std::string::npos) return true;
  return false;
}

// Operations in which a rank can wait for others for ever.
bool can_wait(OpKind k) {
  return traces::is_blocking_send(k) || k == OpKind::sendrecv || k == OpKind::recv || k == OpKind::probe ||
         k == OpKind::mprobe || k == OpKind::iprobe || k == OpKind::improbe ||
         (k >= OpKind::wait && k <= OpKind::testsome) || k == OpKind::task_wait || traces::is_collective(k) ||
         traces::is_comm_create(k);
}

TEST(RandomPrograms, OpSoupIsRefusedByNameOrEndsWithItsMessagesOrStopsWhereItWaits) {
  std::size_t finished = 0, stopped = 0, refused = 0, named = 0, whole = 0;
  for (const std::uint64_t seed : seeds(4000)) {
    SCOPED_TRACE("WEFT_SEED=" + std::to_string(seed));
    Rng rng(seed ^ 0x50u);
    const auto ranks = static_cast<std::uint32_t>(1 + rng.below(6));
    Soup soup(ranks);
    MemoryTrace& t = soup.trace;
    std::vector<std::int32_t> half;
    for (std::uint32_t r = 0; r < ranks; r += 2) half.push_back(static_cast<std::int32_t>(r));
    (void)t.add_comm("split1", half);
    (void)t.add_region("phase");
    const std::uint64_t length = 1 + rng.below(12);
    // Three in four are of legal operands, so that the programs get far; in the others now and then anything.
    const bool wild = rng.below(4) == 0;
    for (std::uint32_t r = 0; r < ranks; ++r) {
      bool tasks = false;  // that no task_wait stands behind
      for (std::uint64_t i = 0; i < length; ++i) {
        Op op;
        op.kind = static_cast<OpKind>(rng.below(traces::kOpKindCount));
        if (i + 1 == length && tasks && rng.below(8) != 0) op.kind = OpKind::task_wait;
        if (traces::is_task(op.kind) && i + 1 == length) op.kind = OpKind::compute_time;
        tasks = traces::is_task(op.kind) || (tasks && op.kind != OpKind::task_wait);
        const traces::KindRules& rules = traces::rules_of(op.kind);
        op.comm = CommId(rng.below(8) == 0 ? 1 : 0);
        op.peer = static_cast<std::int32_t>(rng.below(ranks));
        if (rules.least_peer < 0 && rng.below(6) == 0)
          op.peer = traces::is_send(op.kind) || traces::is_send_init(op.kind) ? traces::kProcNull
                                                                              : traces::kAnySource;
        op.tag = static_cast<std::int32_t>(rng.below(2));
        op.amount = static_cast<std::int64_t>(rng.below(3) == 0 ? rng.below(1'000'000) : rng.below(4));
        if (rules.amount == traces::AmountUnit::kComm) op.amount = static_cast<std::int64_t>(rng.below(2));
        if (rules.amount == traces::AmountUnit::kRegion) op.amount = 0;
        if (rules.amount == traces::AmountUnit::kFlops)
          op.amount = std::bit_cast<std::int64_t>(1e4 * rng.unit());
        if (rules.needs_request || rng.below(2) == 0) op.request = static_cast<std::uint32_t>(rng.below(3));
        if (op.kind == OpKind::iprobe || op.kind == OpKind::improbe)
          op.flags = rng.below(2) == 0 ? traces::kHit : 0;
        std::vector<std::int64_t> list =
            legal_list(op, static_cast<std::int64_t>(op.comm.index() == 0 ? ranks : half.size()), rng);
        if (wild && rng.below(6) == 0) {
          op.peer = static_cast<std::int32_t>(rng.below(ranks + 4)) - 3;
          op.flags = static_cast<std::uint8_t>(rng.below(4));
          op.comm = CommId(static_cast<std::uint32_t>(rng.below(3)));
          if (rng.below(3) == 0) op.amount = static_cast<std::int64_t>(rng.next());
          if (rng.below(3) == 0) op.kind = static_cast<OpKind>(rng.below(traces::kOpKindCount + 4));
          for (auto& v : list)
            if (rng.below(3) == 0) v = static_cast<std::int64_t>(rng.below(9)) - 3;
        }
        soup.add(r, op, list);
        if (!wild) {
          ASSERT_EQ(soup.faults[r].back(), "");
        }
      }
    }
    ReplayOptions o;
    o.raw = kModes[seed % 4];
    const auto result = replay(t, platform(seed / 4 % kPlatforms), first_hosts(ranks), o);
    t.rewind();
    const auto again = replay(t, platform(seed / 4 % kPlatforms), first_hosts(ranks), o);
    ASSERT_EQ(again.has_value(), result.has_value());
    if (!result) {
      const Error& e = result.error();
      EXPECT_EQ(again.error().message(), e.message());
      EXPECT_EQ(e.code, ErrorCode::kBadInput) << e.message();
      ++refused;
      // Kernels launched after the longest of sleeps: of no one operation.
      if (e.what == "simulated time runs past its end") continue;
      // The place is that of an operation; a fault of its own is that operation's, in the words of the rule.
      bool placed = false;
      for (std::uint32_t r = 0; r < ranks; ++r)
        for (std::size_t i = 0; i < soup.ops[r].size(); ++i) {
          if (e.where != t.position(RankId(r), i)) continue;
          placed = true;
          if (!soup.faults[r][i].empty() && e.what == soup.faults[r][i]) {
            ++named;
          } else {
            EXPECT_TRUE(is_a_rule_of_programs(e.what)) << e.message() << "; of itself: " << soup.faults[r][i];
          }
        }
      EXPECT_TRUE(placed) << e.message();
      continue;
    }
    EXPECT_EQ(soup.illegal, 0u) << "an operation that breaks a rule was replayed";
    EXPECT_EQ(again->fingerprint, result->fingerprint);
    for (const RankTimes& times : result->ranks) {
      EXPECT_EQ(sum_of_causes(times), times.finish - times.compute);
      for (const Duration d : times.causes) EXPECT_GE(d, Duration(0));
    }
    if (result->finished) {
      t.rewind();
      expect_path(t, platform(seed / 4 % kPlatforms), first_hosts(ranks), o, *result);
      // Every message that was sent has come, or nobody took it (those may be of collectives that disagree, too).
      const traces::TraceTotals& sent = soup.sends.totals();
      EXPECT_LE(result->point_to_point.count, sent.messages);
      EXPECT_GE(result->point_to_point.count + result->unmatched_messages, sent.messages);
      if (result->unmatched_messages == 0) {
        EXPECT_EQ(result->point_to_point.bytes, sent.bytes);
        ++whole;
      }
      ++finished;
    } else {
      EXPECT_FALSE(result->deadlock.blocked.empty());
      for (const BlockedRank& b : result->deadlock.blocked) {
        ASSERT_LT(b.op_index, soup.ops[b.rank.index()].size());
        const OpKind kind = soup.ops[b.rank.index()][b.op_index].kind;
        EXPECT_TRUE(can_wait(kind)) << traces::op_name(kind) << " at " << b.position;
      }
      EXPECT_FALSE(result->deadlock.summary().empty());
      ++stopped;
    }
  }
  if (std::getenv("WEFT_SEED") == nullptr) {
    EXPECT_GT(finished, 20u);
    EXPECT_GT(stopped, 100u);
    EXPECT_GT(refused, 100u);
    EXPECT_GT(named, 100u);
    EXPECT_GT(whole, 20u);
  }
}

}  // namespace
}  // namespace weft::replay::random_programs_test
