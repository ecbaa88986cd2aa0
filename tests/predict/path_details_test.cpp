// Computation of a critical path by kernel, and its contention by whose messages: small cases by hand, and sums.
#include "predict/path_details.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <map>
#include <string>

#include "tests/predict/asked.hpp"
#include "tests/replay/well_formed.hpp"
#include "tests/support/link_copies.hpp"
#include "tests/support/seed.hpp"
#include "traces/kernel.hpp"

namespace weft::predict {
namespace {

using replay::kLarge;
using replay::kMicro;
using replay::PathPart;
using testing::MemoryTrace;
using traces::OpKind;

PathDetails details(Asked& asked) {
  auto d = path_details(asked.question());
  EXPECT_TRUE(d) << (d ? "" : d.error().message());
  return d ? *d : PathDetails{};
}
Duration part(const Asked& asked, PathPart p) { return asked.base.path.parts[static_cast<std::size_t>(p)]; }
void expect_sums(const Asked& asked, const PathDetails& d) {
  Duration kernels{0}, contention = d.nobody;
  for (const auto& k : d.kernels) kernels += k.time;
  for (const auto& r : d.rivals) {
    EXPECT_GT(r.contention, Duration(0));
    contention += r.contention;
  }
  EXPECT_EQ(kernels, part(asked, PathPart::kCompute));
  EXPECT_EQ(contention, part(asked, PathPart::kContention));
}
// All contention of the path is of one pair's messages.
void expect_all_is_due_to(Asked& asked, RankId src, RankId dst) {
  const PathDetails d = details(asked);
  expect_sums(asked, d);
  EXPECT_EQ(d.nobody, Duration(0));
  ASSERT_EQ(d.rivals.size(), 1u);
  EXPECT_EQ(d.rivals[0].src, src);
  EXPECT_EQ(d.rivals[0].dst, dst);
}

// Ranks 1, 2 and 3 send 1, 1 and 2 MB to rank 0 at once. All take a third of its link until the two of 1 MB are there;
// the one of 2 MB is the path, and in its time either of the others moved as many bytes.
TEST(PathDetails, ContentionIsOfTheMessagesThatWereInTheWay) {
  MemoryTrace t(4);
  for (const std::uint32_t s : {1u, 2u, 3u}) {
    const std::int64_t bytes = s == 3 ? 2 * kLarge : kLarge;
    t.p2p(s, OpKind::send, 0, 0, bytes);
    t.p2p(0, OpKind::irecv, static_cast<std::int32_t>(s), 0, bytes, CommId(0), s);
  }
  for (const std::uint32_t s : {1u, 2u, 3u}) t.wait(0, s);
  Asked asked(std::move(t), replay::microsecond_platform(), "");
  ASSERT_NEAR(static_cast<double>(part(asked, PathPart::kContention).count()), 2000.0 * kMicro, 2);
  const PathDetails d = details(asked);
  expect_sums(asked, d);
  ASSERT_EQ(d.rivals.size(), 2u);
  EXPECT_EQ(d.nobody, Duration(0));
  for (const auto& r : d.rivals) {
    EXPECT_NE(r.src, RankId(3));
    EXPECT_EQ(r.dst, RankId(0));
    EXPECT_NEAR(static_cast<double>(r.contention.count()), 1000.0 * kMicro, 3);
  }
}

// Empty messages of three ranks to one: what links carry of them are headers.
TEST(PathDetails, HeadersAreInTheWayOfHeaders) {
  MemoryTrace t(4);
  for (const std::uint32_t s : {1u, 2u, 3u}) {
    t.p2p(s, OpKind::send, 0, 0, 0);
    t.p2p(0, OpKind::irecv, static_cast<std::int32_t>(s), 0, 0, CommId(0), s);
  }
  for (const std::uint32_t s : {1u, 2u, 3u}) t.wait(0, s);
  auto platform = replay::microsecond_platform();
  platform.mpi.recv_overhead = Duration(0);
  Asked asked(std::move(t), std::move(platform), "");
  asked.options.header = Bytes(3000);
  asked.base = asked.at(Duration(0));
  // 3,000 B at 1 GB/s take 3 us alone, 9 us where three share a link.
  ASSERT_EQ(part(asked, PathPart::kContention), Duration(6 * kMicro));
  const PathDetails d = details(asked);
  expect_sums(asked, d);
  EXPECT_EQ(d.nobody, Duration(0));
  ASSERT_EQ(d.rivals.size(), 2u);
  for (const auto& r : d.rivals) EXPECT_EQ(r.contention, Duration(3 * kMicro));
}

// Four messages of one size from rank 1 to rank 0, all there at the same instant, and a small one of rank 2. Of the four
// one is the path and the other three are in its way, though nothing tells them apart; that of rank 2 uses other links
// up to rank 0's, where it is 1 % of what comes.
TEST(PathDetails, MessagesOfOneKindAreInEachOthersWay) {
  MemoryTrace t(3);
  for (std::uint32_t i = 0; i < 4; ++i) {
    t.p2p(1, OpKind::isend, 0, 0, kLarge, CommId(0), i);
    t.p2p(0, OpKind::irecv, 1, 0, kLarge, CommId(0), i);
  }
  t.p2p(2, OpKind::send, 0, 1, kLarge / 25);
  t.p2p(0, OpKind::recv, 2, 1, kLarge / 25);
  for (const std::uint32_t rank : {0u, 1u})
    for (std::uint32_t i = 0; i < 4; ++i) t.wait(rank, i);
  auto platform = replay::microsecond_platform();
  platform.mpi.send_overhead = platform.mpi.recv_overhead = Duration(0);
  Asked asked(std::move(t), std::move(platform), "");
  const PathDetails d = details(asked);
  expect_sums(asked, d);
  ASSERT_FALSE(d.rivals.empty());
  EXPECT_EQ(d.rivals[0].src, RankId(1));
  EXPECT_GT(static_cast<double>(d.rivals[0].contention.count()),
            0.9 * static_cast<double>(part(asked, PathPart::kContention).count()));
}

// Rank 2 sends 4 MB to rank 0, which sends 1 MB to each of the others meanwhile. With two peers its port carries half of its
// link each way: 1 MB of the 4 takes twice its time until both have come. Nobody else comes in over that link, and what
// goes to rank 2 takes nothing away: without rank 1 there is but one peer.
TEST(PathDetails, ContentionAtAPortWithSeveralPeersIsOfThoseThatGoTheOtherWay) {
  MemoryTrace t(3);
  t.p2p(0, OpKind::irecv, 2, 0, 4 * kLarge, CommId(0), 0);
  t.p2p(0, OpKind::isend, 1, 1, kLarge, CommId(0), 1);
  t.p2p(0, OpKind::isend, 2, 2, kLarge, CommId(0), 2);
  t.p2p(1, OpKind::recv, 0, 1, kLarge);
  t.p2p(2, OpKind::irecv, 0, 2, kLarge, CommId(0), 0);
  t.p2p(2, OpKind::send, 0, 0, 4 * kLarge);
  for (std::uint32_t i = 0; i < 3; ++i) t.wait(0, i);
  t.wait(2, 0);
  auto platform = topology::load_platform("crossbar:n=3,bw=1GB/s,lat=0").value();
  ASSERT_TRUE(platform.fabric.share_ports({{2, 0.5}}));
  Asked asked(std::move(t), std::move(platform), "");
  // Both of 1 MB share 0.5 GB/s for 4 ms.
  ASSERT_NEAR(static_cast<double>(part(asked, PathPart::kContention).count()), 2000.0 * kMicro, 2);
  expect_all_is_due_to(asked, RankId(0), RankId(1));
}

// Two GPUs exchange 1 and 4 MB over links that carry 12 GB/s both ways together, 10 one way.
TEST(PathDetails, ContentionOfAPcieLinkIsOfBothDirections) {
  MemoryTrace t(2);
  for (const std::uint32_t r : {0u, 1u}) {
    const std::int32_t other = r == 0 ? 1 : 0;
    t.p2p(r, OpKind::irecv, other, 0, r == 0 ? 4 * kLarge : kLarge, CommId(0), 0);
    t.p2p(r, OpKind::isend, other, 0, r == 0 ? kLarge : 4 * kLarge, CommId(0), 1);
    t.wait(r, 0);
    t.wait(r, 1);
  }
  Asked asked(std::move(t),
              topology::load_platform("pcie:switches=0,cards=2,gpus=1,bw=10GB/s,both_bw=12GB/s").value(), "");
  // 6 GB/s each for 1 MB: two fifths of that more than alone.
  ASSERT_NEAR(static_cast<double>(part(asked, PathPart::kContention).count()), 1e6 / 6e9 * 0.4 * 1e12, 2);
  expect_all_is_due_to(asked, RankId(0), RankId(1));
}

TEST(PathDetails, ComputationIsThatOfTheKernelsOnThePath) {
  MemoryTrace t(2);
  const auto kernel = [&](std::uint32_t rank, traces::Kernel k, std::int64_t n) {
    traces::Op op;
    op.kind = OpKind::compute_kernel;
    op.amount = std::bit_cast<std::int64_t>(traces::kernel_flops({k, n, n, n}));
    t.add(rank, op, {static_cast<std::int64_t>(k), n, n, n});
  };
  kernel(0, traces::Kernel::dgemm, 100);
  kernel(1, traces::Kernel::dgemm, 10);
  t.compute(0, Duration(70 * kMicro));
  t.p2p(0, OpKind::send, 1, 0, 100);
  t.p2p(1, OpKind::recv, 0, 0, 100);
  kernel(1, traces::Kernel::dgemv, 50);
  Asked asked(std::move(t), topology::load_platform("crossbar:n=2,bw=1GB/s,lat=1us,speed=1Gflops").value(),
              "");
  const PathDetails d = details(asked);
  expect_sums(asked, d);
  std::map<std::string, Duration> found;
  for (const auto& k : d.kernels) found[k.name] = k.time;
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found["recorded"], Duration(70 * kMicro));
  EXPECT_EQ(found["dgemm"], Duration(2000 * kMicro));
  EXPECT_EQ(d.kernels.front().name, "dgemm");
}

// 4 MB from rank 1 to rank 0 share the link to its GPU, 5 GB/s each, with what rank 0 copies there: 5 MB until they are there. And
// a copy of 4 MB is held back by such a message, which is longer.
TEST(PathDetails, CopiesAreInTheWayOfMessagesAndMessagesOfCopies) {
  for (const bool copy_is_longer : {false, true}) {
    MemoryTrace t(2);
    testing::launch_over_links(t, 0, traces::Kernel::copy_to_device, 4 * kLarge, 0);
    t.p2p(1, OpKind::send, 0, 0, (copy_is_longer ? 2 : 6) * kLarge);
    t.p2p(0, OpKind::recv, 1, 0, (copy_is_longer ? 2 : 6) * kLarge);
    t.wait(0, 0);
    Asked asked(std::move(t),
                testing::with_link_copies("pcie:switches=0,cards=2,gpus=1,mem=on,bw=10GB/s,lat=0"),
                "max-min");
    // Half of the bandwidth until the shorter is over.
    const double shorter = (copy_is_longer ? 2 : 4) * 1e6;
    ASSERT_NEAR(static_cast<double>(part(asked, PathPart::kContention).count()), shorter / 10e9 * 1e12, 3);
    const PathDetails d = details(asked);
    expect_sums(asked, d);
    EXPECT_EQ(d.nobody, Duration(0));
    ASSERT_EQ(d.rivals.size(), 1u);
    EXPECT_EQ(d.rivals[0].src, RankId(copy_is_longer ? 1 : 0));
    EXPECT_EQ(d.rivals[0].dst, RankId(0));
    EXPECT_EQ(d.rivals[0].are_copies(), !copy_is_longer);
  }
}

TEST(PathDetails, AddUpOnRandomPrograms) {
  const char* const specs[] = {"crossbar:n=16,bw=1GB/s,lat=1us", "fat-tree:m=4,n=3,bw=1GB/s,lat=300ns",
                               "torus:dims=4x4,bw=1GB/s,lat=100ns",
                               "dragonfly:p=1,a=2,h=4,bw=1GB/s,lat=1us,routing=ugal-u"};
  std::size_t named = 0;
  for (const std::uint64_t seed : support::seeds_to(80)) {
    SCOPED_TRACE("WEFT_SEED=" + std::to_string(seed));
    Asked asked(testing::well_formed(seed).trace, topology::load_platform(specs[seed % 4]).value(), "");
    const PathDetails d = details(asked);
    expect_sums(asked, d);
    named += d.rivals.empty() ? 0 : 1;
  }
  if (!support::number_in("WEFT_SEED")) {
    EXPECT_GT(named, 30u);
  }
}

}  // namespace
}  // namespace weft::predict
