// Neighbourhood collectives of communicators whose ranks are not those of the world.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "replay/collective_calls.hpp"
#include "replay/engine.hpp"
#include "tests/support/memory_trace.hpp"

namespace weft::replay::neighbourhoods_test {
namespace {

using ::testing::HasSubstr;
using testing::MemoryTrace;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

// Two rings of three of six ranks, in an order of their own: everyone sends 1000 bytes to the next, 2000 to the one before.
using Ring = std::array<std::int32_t, 3>;
constexpr std::array<Ring, 2> kRings = {{{4, 0, 2}, {1, 5, 3}}};

struct Call {
  std::uint32_t rank;
  traces::Op op;
  std::vector<std::int64_t> list;
};
struct Program {
  MemoryTrace trace{6};
  std::vector<Call> calls;
};

Program rings(bool with_stranger = false) {
  Program out;
  for (const Ring& ring : kRings) {
    traces::Op op;
    op.kind = traces::OpKind::neighbor_alltoallv;
    op.comm = out.trace.add_comm("ring", {ring.begin(), ring.end()});
    op.peer = traces::kAnySource;  // no root
    op.amount = 3000;
    for (std::size_t i = 0; i < 3; ++i) {
      const std::int64_t before = ring[(i + 2) % 3], next = with_stranger ? 5 : ring[(i + 1) % 3];
      out.calls.push_back({static_cast<std::uint32_t>(ring[i]),
                           op,
                           {2, before, next, 2, before, next, 1000, 2000, 2000, 1000}});
      out.trace.add(out.calls.back().rank, op, out.calls.back().list);
    }
  }
  return out;
}

Result<ReplayResult> run(traces::TraceReader& t) {
  static const topology::Platform crossbar =
      topology::load_platform("crossbar:n=6,bw=1GB/s,lat=0,speed=10Gflops").value();
  std::vector<HostId> hosts;
  for (std::uint32_t r = 0; r < 6; ++r) hosts.emplace_back(r);
  ReplayOptions o;
  o.raw = RawMode::kEager;
  return replay(t, crossbar, hosts, o);
}

TEST(Neighbourhoods, ListsOfATraceAreRanksOfTheWorld) {
  Program p = rings();
  ExpandedCollectives expanded(p.trace, *choose_collectives("", {}, {}));
  for (const Call& c : p.calls) {
    std::vector<traces::CollectiveMessage> messages;
    ASSERT_TRUE(expanded.find(RankId(c.rank), c.op, c.list, messages));
    std::vector<std::pair<std::int32_t, std::int64_t>> sent, received;
    for (const auto& m : messages) (m.send ? sent : received).emplace_back(m.peer, m.bytes);
    const std::int64_t before = c.list[1], next = c.list[2];
    EXPECT_THAT(sent, UnorderedElementsAre(Pair(before, 2000), Pair(next, 1000))) << "rank " << c.rank;
    EXPECT_THAT(received, UnorderedElementsAre(Pair(before, 1000), Pair(next, 2000))) << "rank " << c.rank;
  }
  const auto r = run(p.trace);
  ASSERT_TRUE(r) << r.error().message();
  EXPECT_TRUE(r->finished);
  EXPECT_EQ(r->makespan.count(), 3'000'000) << "3000 bytes leave every host at 1 GB/s";
}

// Of two ranks on a ring each is the other's neighbour on both sides. What goes up comes from below, where MPI's topology is
// Cartesian; where it is a graph the first to a rank is the first from it.
TEST(Neighbourhoods, SizesToANeighbourThatStandsTwiceFitWhateverTheTopology) {
  for (const bool cartesian : {false, true}) {
    MemoryTrace t(6);
    traces::Op op;
    op.kind = traces::OpKind::neighbor_alltoallv;
    op.comm = t.add_comm("ring", {0, 1});
    op.peer = traces::kAnySource;
    op.amount = 5000;
    for (const std::int32_t r : {0, 1}) {
      const std::int64_t other = 1 - r, first = cartesian ? 4000 : 1000;
      const std::vector<std::int64_t> list{2, other, other, 2, other, other, first, 5000 - first, 1000, 4000};
      t.add(static_cast<std::uint32_t>(r), op, list);
    }
    const auto r = run(t);
    ASSERT_TRUE(r) << r.error().message();
    EXPECT_TRUE(r->finished);
    EXPECT_TRUE(r->warnings.empty()) << r->warnings.front();
    EXPECT_EQ(r->makespan.count(), 5'000'000) << "5000 bytes leave either host at 1 GB/s";
  }
}

TEST(Neighbourhoods, ARankThatIsNoMemberIsAnError) {
  Program p = rings(true);
  const auto r = run(p.trace);
  ASSERT_FALSE(r);
  EXPECT_THAT(r.error().message(), HasSubstr("neighbour 5 is not in communicator 1 (\"ring\")"));
}

}  // namespace
}  // namespace weft::replay::neighbourhoods_test
