// A series of exchanges must end for every rank when the same kernels and messages, written one by one, do.
#include <gtest/gtest.h>

#include <bit>

#include "core/rng.hpp"
#include "replay/engine.hpp"
#include "tests/support/memory_trace.hpp"
#include "traces/exchange_series.hpp"

namespace weft::replay {
namespace {

using testing::MemoryTrace;
using traces::Op;
using traces::OpKind;

topology::Platform crossbar(const std::string& more) {
  auto p = topology::load_platform("crossbar:n=40,bw=10GB/s,lat=1us,speed=1Gflops" + more);
  EXPECT_TRUE(p) << (p ? "" : p.error().message());
  return std::move(p).value();
}

// Program of one member as netlib's HPL_pdmxswp runs it, one exchange: every process for itself, written down from its
// point of view (the engine's pattern is written from outside).
struct Column {
  MemoryTrace& t;
  CommId comm;
  std::vector<std::int32_t> members;
  std::uint32_t root;  // index in members
  std::int64_t candidate, row;

  void exchange(std::uint32_t me) {
    const auto n = static_cast<std::uint32_t>(members.size());
    const std::uint32_t d = (me + n - root) % n, ip2 = std::bit_floor(n), size = n - ip2;
    const auto rank = static_cast<std::uint32_t>(members[me]);
    const auto world = [&](std::uint32_t distance) { return members[(distance + root) % n]; };
    const auto send = [&](std::uint32_t to, std::int64_t b) {
      t.p2p(rank, OpKind::send, world(to), 1001, b, comm);
    };
    const auto recv = [&](std::uint32_t from, std::int64_t b) {
      t.p2p(rank, OpKind::recv, world(from), 1001, b, comm);
    };
    const auto both = [&](std::uint32_t peer, std::int64_t out, std::int64_t in) {
      t.p2p(rank, OpKind::irecv, world(peer), 1001, in, comm, 0);
      send(peer, out);
      t.wait(rank, 0);
    };
    const bool paired = size != 0 && (d ^ ip2) < n;
    if (paired) {
      const std::uint32_t partner = d ^ ip2;
      if (d == ip2)
        both(partner, candidate, row);
      else if (d > ip2)
        send(partner, candidate);
      else if (d == 0)
        both(partner, row, candidate);
      else
        recv(partner, candidate);
    }
    if (d < ip2) {
      for (std::uint32_t k = 0; (1u << k) < ip2; ++k) {
        std::int64_t out = candidate, in = candidate;
        if (d >> (k + 1) == 0) (d >> k == 0 ? out : in) += row;
        both(d ^ (1u << k), out, in);
      }
    } else if (size > 1) {
      std::uint32_t bit = 1, mask = 1;
      for (std::uint32_t k = size - 1; k > 1; k >>= 1) bit <<= 1, mask = mask << 1 | 1;
      for (const std::uint32_t mine = d - ip2; bit > 0; bit >>= 1) {
        mask ^= bit;
        if ((mine & mask) != 0) continue;
        if ((mine & bit) != 0)
          recv(ip2 + (mine ^ bit), row);
        else if ((mine ^ bit) < size)
          send(ip2 + (mine ^ bit), row);
      }
    }
    if (paired) {
      if (d >= ip2)
        recv(d ^ ip2, candidate);
      else
        send(d ^ ip2, candidate);
    }
  }
};

struct Case {
  std::uint32_t members;
  std::string platform;
  RawMode raw;
  std::int64_t candidate, row;
};

// Both programs of one case; the second one by one.
void expect_equal(const Case& c, std::uint64_t seed) {
  SCOPED_TRACE("members=" + std::to_string(c.members) + c.platform + " mode=" + std::to_string(int(c.raw)) +
               " bytes=" + std::to_string(c.candidate) + " WEFT_SEED=" + std::to_string(seed));
  Rng rng(seed);
  const std::uint32_t ranks = c.members + 2;
  MemoryTrace series(ranks), single(ranks);
  std::vector<std::int32_t> members;
  for (std::uint32_t i = 0; i < c.members; ++i) members.push_back(static_cast<std::int32_t>(i + 1));
  rng.shuffle(std::span(members));
  const CommId comm = series.add_comm("column", members);
  (void)single.add_comm("column", members);
  for (int panel = 0; panel < 3; ++panel) {
    const auto root = static_cast<std::uint32_t>(rng.below(c.members));
    Column column{single, comm, members, root, c.candidate, c.row};
    const std::int64_t leaves = static_cast<std::int64_t>(1 + rng.below(3));
    for (std::uint32_t me = 0; me < c.members; ++me) {
      const auto rank = static_cast<std::uint32_t>(members[me]);
      const double late = 1e4 * rng.unit();
      series.flops(rank, late);
      single.flops(rank, late);
      std::vector<std::int64_t> list = {c.row};
      for (std::int64_t leaf = 0; leaf < leaves; ++leaf) {
        const auto m = static_cast<std::int64_t>(rng.below(200)), n = static_cast<std::int64_t>(rng.below(9));
        const std::int64_t steps = 1 + leaf;
        using K = traces::Kernel;
        const std::vector<traces::SeriesKernel> kernels = {{K::idamax, m, -3}, {K::dger, m, -60, n, 2}};
        list.insert(list.end(), {steps, 1, 2});
        for (const auto& k : kernels)
          list.insert(list.end(), {static_cast<std::int64_t>(k.kernel), k.m, k.dm, k.n, k.dn, k.k, k.dk});
        list.insert(list.end(), {1, 0, 1, static_cast<std::int64_t>(K::dgemm), m, 0, n, 0, 3, 0});
        for (std::int64_t s = 0; s < steps; ++s) {
          for (const auto& k : kernels)
            if (!traces::is_empty(k.at(s))) single.flops(rank, traces::kernel_flops(k.at(s)));
          column.exchange(me);
        }
        if (m > 0 && n > 0) single.flops(rank, traces::kernel_flops({K::dgemm, m, n, 3}));
      }
      ASSERT_EQ(traces::series_fault(list), nullptr);
      Op op;
      op.kind = OpKind::exchange_series;
      op.comm = comm;
      op.peer = members[root];
      op.tag = 1001;
      op.amount = c.candidate;
      series.add(rank, op, list);
    }
  }
  auto p = crossbar(c.platform);
  if (seed % 2 == 0) {
    p.mpi.send_overhead = Duration(300'000);
    p.mpi.recv_overhead = Duration(200'000);
    p.mpi.send_overhead_per_byte = 1e-10;
    p.mpi.recv_overhead_per_byte = 2e-10;
    p.mpi.local_latency = Duration(150'000);
    p.mpi.local_bandwidth = 5e9;
  }
  std::vector<HostId> hosts;
  for (std::uint32_t r = 0; r < ranks; ++r)
    hosts.emplace_back(r / 2);  // two ranks a host: some messages stay inside
  ReplayOptions o;
  o.raw = c.raw;
  o.model = "contention-free";
  const auto got = replay(series, p, hosts, o);
  const auto want = replay(single, p, hosts, o);
  ASSERT_TRUE(got) << got.error().message();
  ASSERT_TRUE(want) << want.error().message();
  ASSERT_TRUE(got->finished);
  ASSERT_TRUE(want->finished);
  for (std::uint32_t r = 0; r < ranks; ++r) {
    const RankTimes &a = got->ranks[r], &b = want->ranks[r];
    EXPECT_NEAR(static_cast<double>(a.finish.count()), static_cast<double>(b.finish.count()), 50.0)
        << "rank " << r;
    EXPECT_NEAR(static_cast<double>(a.compute.count()), static_cast<double>(b.compute.count()), 50.0) << r;
    EXPECT_EQ(a.compute + a.send + a.recv + a.wait + a.collective, a.finish);
    // And for the same reasons.
    Duration causes{0};
    for (std::size_t k = 0; k < kCauseCount; ++k) {
      EXPECT_NEAR(static_cast<double>(a.causes[k].count()), static_cast<double>(b.causes[k].count()), 100.0)
          << "rank " << r << ' ' << kCauseNames[k];
      causes += a.causes[k];
    }
    EXPECT_EQ(causes, a.finish - a.compute);
  }
  EXPECT_EQ(got->network.count, want->network.count);
  EXPECT_EQ(got->network.bytes, want->network.bytes);
  EXPECT_EQ(got->network.hops, want->network.hops);
  for (std::size_t l = 0; l < got->links.size(); ++l) EXPECT_EQ(got->links[l].bytes, want->links[l].bytes);
}

TEST(ExchangeSeries, EndsWhenTheSameMessagesOneByOneDo) {
  const char* s = std::getenv("WEFT_SEED");
  std::uint64_t seed = s != nullptr ? std::strtoull(s, nullptr, 10) : 1;
  for (std::uint32_t members = 1; members <= 18; ++members)
    for (const RawMode mode : {RawMode::kOff, RawMode::kEager, RawMode::kDetached, RawMode::kRendezvous})
      for (const std::int64_t bytes : {2000, 100'000})
        expect_equal({members, "", mode, bytes, bytes / 2}, seed++);
}

// Members that disagree are an error that names them, not a hang.
TEST(ExchangeSeries, MembersThatDisagreeAreAnError) {
  const auto p = crossbar("");
  for (int what = 0; what < 4; ++what) {
    MemoryTrace t(2);
    for (std::uint32_t r = 0; r < 2; ++r) {
      Op op;
      op.kind = OpKind::exchange_series;
      op.peer = what == 0 && r == 1 ? 1 : 0;
      op.amount = what == 1 && r == 1 ? 9 : 8;
      t.add(r, op, {what == 2 && r == 1 ? 4 : 5, what == 3 && r == 1 ? 2 : 3, 1, 0});
    }
    const auto result = replay(t, p, {HostId(0), HostId(1)}, {});
    ASSERT_FALSE(result) << what;
    EXPECT_EQ(result.error().code, ErrorCode::kBadInput);
  }
}

TEST(ExchangeSeries, AMemberThatNeverComesIsADeadlockThatNamesIt) {
  const auto p = crossbar("");
  MemoryTrace t(3);
  for (std::uint32_t r = 0; r < 2; ++r) {
    Op op;
    op.kind = OpKind::exchange_series;
    op.amount = 8;
    t.add(r, op, {5, 3, 1, 0});
  }
  t.flops(2, 1);
  const auto result = replay(t, p, {HostId(0), HostId(1), HostId(2)}, {});
  ASSERT_TRUE(result);
  ASSERT_FALSE(result->finished);
  ASSERT_EQ(result->deadlock.blocked.size(), 2u);
  EXPECT_EQ(result->deadlock.blocked[0].waits_for, std::vector<RankId>{RankId(2)});
}

TEST(ExchangeSeries, MalformedListsAreFound) {
  EXPECT_NE(traces::series_fault({}), nullptr);
  const auto fault = [](std::vector<std::int64_t> l) { return traces::series_fault(l) != nullptr; };
  EXPECT_FALSE(fault({0}));
  EXPECT_FALSE(fault({8, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0}));
  EXPECT_TRUE(fault({-1}));
  EXPECT_TRUE(fault({8, 1}));
  EXPECT_TRUE(fault({8, 0, 1, 0}));
  EXPECT_TRUE(fault({8, 1, 2, 0}));
  EXPECT_TRUE(fault({8, 1, 1, 1}));
  EXPECT_TRUE(fault({8, 1, 1, INT64_MAX}));
  EXPECT_TRUE(fault({8, 1, 0, 1, 99, 1, 0, 1, 0, 1, 0}));
  EXPECT_TRUE(fault({8, 1, 0, 1, 0, INT64_MAX, 0, 1, 0, 1, 0}));
  EXPECT_TRUE(fault({8, traces::kMaxSeriesSteps, 1, 0, 1, 1, 0}));
}

}  // namespace
}  // namespace weft::replay
