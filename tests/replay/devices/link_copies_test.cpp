// Copies between accelerators and hosts as flows over a PCIe tree (docs/model.md, "Accelerators").
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "core/rng.hpp"
#include "replay/engine.hpp"
#include "replay/verification.hpp"
#include "tests/support/memory_trace.hpp"
#include "traces/kernel.hpp"

namespace weft::replay::link_copies_test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::MemoryTrace;
using traces::Kernel;
using traces::OpKind;

constexpr std::int64_t kElements = 1 << 20;
constexpr double kBytes = 8.0 * kElements;
constexpr double kDown = 11.4e9, kUp = 12.3e9, kBoth = 19.8e9;  // A100 over PCIe 3 (docs/validation-a100.md)

// Two nodes of two GPUs, a network card and the host's memory each: hosts 0 to 3 are GPUs, 4 and 5 memories.
const std::string kNodes =
    "topology { family: \"crossbar\" set: \"n=2\" set: \"bw=50GB/s\" set: \"lat=0\" }\n"
    "node { family: \"pcie\" set: \"switches=0\" set: \"cards=2\" set: \"gpus=1\" set: \"mem=on\" set: "
    "\"lat=0\"\n"
    "       set: \"bw=12.3GB/s\" set: \"down_bw=11.4GB/s\" set: \"both_bw=19.8GB/s\" set: \"nic_bw=50GB/s\" ";
const std::string kCopies =
    "host { kernel { name: \"device_dgemm\" mnk: \"1us\" }\n"
    "       kernel { name: \"copy_to_host\" place: \"links\" }\n"
    "       kernel { name: \"copy_to_device\" place: \"links\" } }\n"
    "mpi { eager_limit: \"0B\" }\n";

Result<topology::Platform> load(const std::string& text) {
  const std::string path = ::testing::TempDir() + "link_copies_" + std::to_string(::getpid()) + ".textproto";
  std::ofstream(path) << text;
  return topology::load_platform(path);
}
topology::Platform nodes(const std::string& node_keys = "", const std::string& host = kCopies) {
  auto p = load(kNodes + node_keys + " }\n" + host);
  EXPECT_TRUE(p) << (p ? "" : p.error().message());
  return std::move(p).value();
}

void copy(MemoryTrace& t, std::uint32_t rank, Kernel kernel, std::int64_t k = 1) {
  t.add(rank, {.kind = OpKind::compute_kernel}, {static_cast<std::int64_t>(kernel), kElements, 1, k});
}
void launch(MemoryTrace& t, std::uint32_t rank, Kernel kernel, std::uint32_t request, std::int64_t k = 1,
            std::int64_t m = kElements) {
  t.add(rank, {.kind = OpKind::launch, .request = request}, {static_cast<std::int64_t>(kernel), m, 1, k});
}

// Finish of each rank in seconds; all of it verified, and the critical path sums up.
std::vector<double> finishes(MemoryTrace& t, const topology::Platform& p, std::vector<HostId> hosts) {
  ReplayOptions o;
  o.critical_path = true;
  Verification checked;
  auto r = replay_verified(t, p, hosts, o, checked);
  EXPECT_TRUE(r) << (r ? "" : r.error().message());
  if (!r) return {};
  EXPECT_TRUE(r->finished);
  EXPECT_THAT(checked.told, IsEmpty());
  EXPECT_FALSE(r->ideal.known) << "what other flows a copy meets is not known there";
  std::vector<double> out;
  for (const RankTimes& k : r->ranks) {
    EXPECT_EQ(k.compute + k.send + k.recv + k.wait + k.collective, k.finish);
    out.push_back(to_seconds(k.finish));
  }
  return out;
}

TEST(LinkCopies, ThoseThatAreLaunchedAreToldWithTheirTimes) {
  const auto p = nodes();
  MemoryTrace t(1);
  launch(t, 0, Kernel::copy_to_device, 1);
  launch(t, 0, Kernel::copy_to_host, 2);
  t.wait(0, 1);
  t.wait(0, 2);
  copy(t, 0, Kernel::copy_to_host);  // the rank's own: an operation of its
  std::vector<DeviceSeen> told;
  ReplayOptions o;
  o.on_device = [&told](const DeviceSeen& d) { told.push_back(d); };
  ASSERT_TRUE(replay(t, p, {HostId(0)}, o));
  ASSERT_EQ(told.size(), 2u);
  const double down = kBytes / kDown, up = kBytes / kUp;
  for (const DeviceSeen& d : told) EXPECT_EQ(d.lane, DeviceSeen::Lane::kLinkCopies);
  EXPECT_EQ(told[0].kernel, Kernel::copy_to_device);
  EXPECT_EQ(told[1].kernel, Kernel::copy_to_host);
  EXPECT_EQ(told[0].op, 0u);
  EXPECT_EQ(told[1].op, 1u);
  EXPECT_EQ(told[0].begin, SimTime());
  EXPECT_NEAR(to_seconds(told[0].end.time_since_epoch()), down, 1e-9);
  EXPECT_EQ(told[1].begin, told[0].end);
  EXPECT_NEAR(to_seconds(told[1].end.time_since_epoch()), down + up, 1e-9);
}

// Of one that goes both ways, each way: from when its latency is paid to its end, with its bytes.
TEST(LinkCopies, WhatEachOfThemMovesIsTold) {
  const auto p = nodes();
  MemoryTrace t(1);
  launch(t, 0, Kernel::copy_to_device, 1);
  copy(t, 0, Kernel::copy_to_host, 2);
  t.wait(0, 1);
  copy(t, 0, Kernel::copy_to_host);
  std::vector<CopySeen> told;
  ReplayOptions o;
  o.on_copy = [&told](const CopySeen& c) { told.push_back(c); };
  const auto r = replay(t, p, {HostId(0)}, o);
  ASSERT_TRUE(r);
  ASSERT_EQ(told.size(), 4u);
  std::vector<LinkId> route;
  std::vector<std::uint64_t> bytes(p.fabric.link_count());
  std::size_t to_device = 0;
  for (const CopySeen& c : told) {
    EXPECT_EQ(c.rank, RankId(0));
    EXPECT_EQ(c.bytes, 8 * kElements);
    to_device += c.to == HostId(0) ? 1 : 0;
    EXPECT_EQ(c.to == HostId(0) ? c.from : c.to, HostId(4)) << "the memory of its node";
    route.clear();
    ASSERT_TRUE(p.fabric.routing().route(c.from, c.to, route));
    for (const LinkId l : route) bytes[l.index()] += static_cast<std::uint64_t>(c.bytes);
  }
  EXPECT_EQ(to_device, 2u);
  for (std::size_t l = 0; l < bytes.size(); ++l)
    EXPECT_EQ(bytes[l], r->links[l].bytes) << p.fabric.link_name(LinkId(static_cast<std::uint32_t>(l)));
  EXPECT_EQ(told.front().left, SimTime());
  EXPECT_EQ(told.back().arrived.time_since_epoch(), r->makespan);
  EXPECT_NEAR(to_seconds(told.back().arrived - told.back().left), kBytes / kUp, 1e-9);
}

// Where one direction has a time and the other links, too: one after the other.
TEST(LinkCopies, LaunchedCopiesWithATimeHaveTheirTurnAmongThoseOverLinks) {
  const std::string links = "place: \"links\"", time = "bandwidth: \"10GB/s\"";
  for (const bool timed_out : {true, false})
    for (const bool out_first : {true, false}) {
      const auto p = nodes("",
                           "host { kernel { name: \"device_dgemm\" mnk: \"1us\" }\n"
                           "kernel { name: \"copy_to_host\" " +
                               (timed_out ? time : links) +
                               " }\n"
                               "kernel { name: \"copy_to_device\" " +
                               (timed_out ? links : time) +
                               " } }\n"
                               "mpi { eager_limit: \"0B\" }\n");
      MemoryTrace t(1);
      launch(t, 0, out_first ? Kernel::copy_to_host : Kernel::copy_to_device, 1);
      launch(t, 0, out_first ? Kernel::copy_to_device : Kernel::copy_to_host, 2);
      t.wait(0, 1);
      t.wait(0, 2);
      EXPECT_NEAR(finishes(t, p, {HostId(0)})[0], kBytes / 10e9 + kBytes / (timed_out ? kDown : kUp), 1e-9);
    }
}

TEST(LinkCopies, OneWayAndBothWaysAsMeasured) {
  const auto p = nodes();
  const struct {
    Kernel kernel;
    std::int64_t k;
    double rate;
  } cases[] = {{Kernel::copy_to_device, 1, kDown},
               {Kernel::copy_to_host, 1, kUp},
               {Kernel::copy_to_device, 2, kBoth / 2}};
  for (const auto& c : cases)
    for (const bool on_gpu : {true, false}) {  // where the rank runs
      MemoryTrace t(1);
      copy(t, 0, c.kernel, c.k);
      EXPECT_NEAR(finishes(t, p, {HostId(on_gpu ? 0 : 4)})[0], kBytes / c.rate, 1e-11);
    }
}

// The launched copy in and the rank's own copy out have 9.9 each until the shorter is over.
TEST(LinkCopies, AnOwnCopySlowsALaunchedOneTheOtherWay) {
  const auto p = nodes();
  MemoryTrace t(1);
  launch(t, 0, Kernel::copy_to_device, 1, 1, 3 * kElements);
  copy(t, 0, Kernel::copy_to_host);
  t.wait(0, 1);
  const double together = kBytes / (kBoth / 2);
  EXPECT_NEAR(finishes(t, p, {HostId(0)})[0], together + 2 * kBytes / kDown, 1e-11);
}

TEST(LinkCopies, LaunchedOnesRunOneAfterTheOtherBesideKernels) {
  const auto p = nodes();
  MemoryTrace t(1);
  launch(t, 0, Kernel::copy_to_device, 1);
  launch(t, 0, Kernel::copy_to_host, 2);
  launch(t, 0, Kernel::device_dgemm, 3, 1, 100);
  for (const std::uint32_t request : {3, 1, 2}) t.wait(0, request);
  EXPECT_NEAR(finishes(t, p, {HostId(1)})[0], kBytes / kDown + kBytes / kUp, 1e-11);
}

// Ranks on the memory of a node have a GPU each; a third begins again with the first.
TEST(LinkCopies, ProcessesOfTheHostAreDealtItsAccelerators) {
  const auto p = nodes();
  MemoryTrace t(4);
  for (std::uint32_t r = 0; r < 4; ++r) copy(t, r, Kernel::copy_to_host);
  const auto got = finishes(t, p, {HostId(4), HostId(4), HostId(5), HostId(4)});
  EXPECT_NEAR(got[0], 2 * kBytes / kUp, 1e-11);
  EXPECT_NEAR(got[3], 2 * kBytes / kUp, 1e-11);
  EXPECT_NEAR(got[1], kBytes / kUp, 1e-11);
  EXPECT_NEAR(got[2], kBytes / kUp, 1e-11);
}

// Four copies on two ports, 8.5 of 34 GB/s each, and a message that reads the same memory.
TEST(LinkCopies, CopiesAndMessagesShareTheMemory) {
  const auto p = nodes("set: \"mem_bw=30GB/s\" set: \"mem_both_bw=34GB/s\" ");
  MemoryTrace t(2);
  for (std::uint32_t r = 0; r < 2; ++r) {
    launch(t, r, Kernel::copy_to_device, 1, 2);
    t.wait(r, 1);
  }
  for (const double f : finishes(t, p, {HostId(4), HostId(4)})) EXPECT_NEAR(f, kBytes / 8.5e9, 1e-11);

  const auto narrow = nodes("set: \"mem_bw=12GB/s\" set: \"mem_both_bw=12GB/s\" ");
  MemoryTrace m(2);
  launch(m, 0, Kernel::copy_to_host, 1);
  m.p2p(0, OpKind::send, 1, 0, 8 * kElements);
  m.p2p(1, OpKind::recv, 0, 0, 8 * kElements);
  m.wait(0, 1);
  EXPECT_NEAR(finishes(m, narrow, {HostId(4), HostId(5)})[0], kBytes / 6e9, 1e-11);
}

// A rank's computations are taken together as far as no copy is among them.
// A message and a copy of as many bytes out of one memory, over routes of one latency: shares by latency are equal, too.
TEST(LinkCopies, HaveTheShareOfAMessageOfTheirLatency) {
  const auto p = load(
      "topology { family: \"pcie\" set: \"sockets=1\" set: \"switches=0\" set: \"cards=3\" set: \"gpus=1\" "
      "set: "
      "\"bw=10GB/s\" set: \"lat=150ns\" set: \"mem=on\" set: \"mem_bw=10GB/s\" }\n" +
      kCopies);
  ASSERT_TRUE(p) << p.error().message();
  for (const bool by_latency : {false, true}) {
    MemoryTrace t(3);
    t.p2p(0, OpKind::send, 1, 0, 8 * kElements);
    t.p2p(1, OpKind::recv, 0, 0, 8 * kElements);
    copy(t, 2, Kernel::copy_to_device);
    ReplayOptions o;
    o.raw = RawMode::kEager;
    o.model = "max-min";
    o.rtt_weights = by_latency;
    const auto r = replay(t, *p, {HostId(3), HostId(0), HostId(1)}, o);
    ASSERT_TRUE(r) << r.error().message();
    for (const std::size_t rank : {1, 2})
      EXPECT_NEAR(to_seconds(r->ranks[rank].finish), 2 * kBytes / 10e9 + 300e-9, 1e-9) << rank;
  }
}

TEST(LinkCopies, ComputationsAroundACopyTakeTheirTime) {
  const auto p = nodes("", "host { kernel { name: \"dgemm\" mnk: \"1ms\" }\n" + kCopies.substr(7));
  MemoryTrace t(1);
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 2; ++j)
      t.add(0, {.kind = OpKind::compute_kernel}, {static_cast<std::int64_t>(Kernel::dgemm), 1, 1, 1});
    copy(t, 0, Kernel::copy_to_host);
  }
  t.compute(0, Duration(1'000'000'000));
  EXPECT_NEAR(finishes(t, p, {HostId(0)})[0], 7e-3 + 3 * kBytes / kUp, 1e-11);
}

TEST(LinkCopies, LatencyAndARateOfItsOwn) {
  const auto p = nodes("",
                       "host { kernel { name: \"copy_to_host\" place: \"links\" intercept: \"10us\" "
                       "bandwidth: \"4GB/s\" } }\n");
  MemoryTrace t(1);
  copy(t, 0, Kernel::copy_to_host);
  EXPECT_NEAR(finishes(t, p, {HostId(0)})[0], 10e-6 + kBytes / 4e9, 1e-11);
  MemoryTrace none(1);
  none.add(0, {.kind = OpKind::compute_kernel}, {static_cast<std::int64_t>(Kernel::copy_to_host), 0, 1, 1});
  EXPECT_NEAR(finishes(none, p, {HostId(0)})[0], 10e-6, 1e-15);
}

// What a makespan loses when all links, or all computation, take `factor` times as long; tests/predict does not know copies.
Duration longer(MemoryTrace& t, const topology::Platform& p, const std::vector<HostId>& hosts, Duration base,
                double links, double compute) {
  topology::Platform slower = p;
  for (std::uint32_t l = 0; l < p.fabric.link_count(); ++l) slower.fabric.scale_link(LinkId(l), 1 / links);
  ReplayOptions o;
  o.what_if.compute = compute;
  t.rewind();
  auto r = replay(t, slower, hosts, o);
  EXPECT_TRUE(r && r->finished);
  return r ? r->makespan - base : Duration(0);
}

// Copies on the path are told as what they are: what passes before their data leave as computation and latency, the data as
// transfer and contention; so what it says of faster links and faster computation is what replays say.
TEST(LinkCopies, OnTheCriticalPathAreLikeMessages) {
  const auto host = [](const std::string& bandwidth) {
    return "host { kernel { name: \"copy_to_host\" place: \"links\" intercept: \"10us\" " + bandwidth +
           "}\n       kernel { name: \"copy_to_device\" place: \"links\" } }\n";
  };
  for (const bool own_pace : {false, true}) {
    const auto p = nodes("", host(own_pace ? "bandwidth: \"4GB/s\" " : ""));
    MemoryTrace t(2);
    t.compute(0, Duration(5'000'000));
    copy(t, 0, Kernel::copy_to_host);
    launch(t, 0, Kernel::copy_to_device, 1);
    launch(t, 0, Kernel::copy_to_device, 2);
    for (const std::uint32_t request : {1, 2}) t.wait(0, request);
    t.p2p(0, OpKind::send, 1, 0, 1'000'000);
    t.p2p(1, OpKind::recv, 0, 0, 1'000'000);
    ReplayOptions o;
    o.critical_path = true;
    const std::vector<HostId> hosts{HostId(4), HostId(5)};
    auto r = replay(t, p, hosts, o);
    ASSERT_TRUE(r);
    const PathResult& path = r->path;
    const auto part = [&](PathPart x) { return to_seconds(path.parts[static_cast<std::size_t>(x)]); };
    EXPECT_NEAR(part(PathPart::kCompute), 15e-6, 1e-12);
    EXPECT_EQ(path.copies, 3u);
    EXPECT_EQ(path.copied, 3u * 8 * kElements);
    EXPECT_EQ(path.messages, 1u);
    EXPECT_EQ(path.bytes, 1'000'000u);
    const double out = kBytes / (own_pace ? 4e9 : kUp);
    EXPECT_NEAR(to_seconds(path.own_pace), own_pace ? out : 0, 1e-11);
    EXPECT_NEAR(part(PathPart::kTransfer) + part(PathPart::kContention),
                out + 2 * kBytes / kDown + 1e6 / 50e9, 2e-9);
    Duration sum{0};
    for (const PathSegment& s : path.segments) sum += s.to - s.from;
    EXPECT_EQ(sum, r->makespan);
    const auto percent = [](Duration d) { return to_seconds(d) / 100; };
    EXPECT_NEAR(to_seconds(longer(t, p, hosts, r->makespan, 1.01, 1)), percent(path.on_links()), 3e-12);
    EXPECT_NEAR(to_seconds(longer(t, p, hosts, r->makespan, 1, 1.01)), percent(path.computed()), 3e-12);
  }
}

// The latency of the links from memory to GPU, once a copy.
TEST(LinkCopies, OnTheCriticalPathHaveTheLatencyOfTheirLinks) {
  std::string text = kNodes;
  text.replace(text.rfind("lat=0"), 5, "lat=300ns");
  const auto p = load(text + " }\n" + kCopies);
  ASSERT_TRUE(p);
  const auto latency = [&](std::uint32_t from, std::uint32_t to) {
    std::vector<LinkId> route;
    EXPECT_TRUE(p->fabric.routing().route(HostId(from), HostId(to), route));
    Duration sum{0};
    for (const LinkId l : route) sum += p->fabric.links().latency[l.index()];
    return sum;
  };
  ASSERT_GT(latency(4, 0), Duration(0));
  MemoryTrace t(1);
  copy(t, 0, Kernel::copy_to_device);
  launch(t, 0, Kernel::copy_to_host, 1);
  t.wait(0, 1);
  ReplayOptions o;
  o.critical_path = true;
  const auto r = replay(t, *p, {HostId(4)}, o);
  ASSERT_TRUE(r);
  EXPECT_EQ(r->path.copies, 2u);
  EXPECT_EQ(r->path.parts[static_cast<std::size_t>(PathPart::kLatency)], latency(4, 0) + latency(0, 4));
  EXPECT_NEAR(to_seconds(r->path.parts[static_cast<std::size_t>(PathPart::kTransfer)]),
              kBytes / kDown + kBytes / kUp, 1e-9);
}

// Two ranks that copy and compute at random: what the path says of links and computation is between what replays with a
// little less and a little more of it lose, as of any sum of which the longest counts.
TEST(LinkCopies, WhatThePathSaysOfThemIsBetweenTwoReplays) {
  const auto p = nodes("",
                       "host { kernel { name: \"copy_to_host\" place: \"links\" intercept: \"7us\" }\n"
                       "       kernel { name: \"copy_to_device\" place: \"links\" } }\n"
                       "mpi { eager_limit: \"0B\" }\n");
  constexpr double kStep = 1e-4;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    MemoryTrace t(2);
    const bool to_device = rng.below(2) == 0;  // one direction: no rate depends on who meets whom
    std::uint32_t next = 0;
    for (std::uint64_t n = 2 + rng.below(6); n > 0; --n) {
      const auto r = static_cast<std::uint32_t>(rng.below(2));
      const Kernel kernel = to_device ? Kernel::copy_to_device : Kernel::copy_to_host;
      const bool launches = rng.below(2) == 0;
      const auto m = static_cast<std::int64_t>(1 + rng.below(kElements));
      if (launches) launch(t, r, kernel, next, 1, m);
      if (rng.below(3) > 0) t.compute(r, Duration(static_cast<std::int64_t>(rng.below(900'000'000))));
      if (launches)
        t.wait(r, next++);
      else
        copy(t, r, kernel);
      if (rng.below(3) == 0) {
        t.p2p(r, OpKind::send, static_cast<std::int32_t>(1 - r), 0, 8);
        t.p2p(1 - r, OpKind::recv, static_cast<std::int32_t>(r), 0, 8);
      }
    }
    ReplayOptions o;
    o.critical_path = true;
    const std::vector<HostId> hosts{HostId(0), HostId(2)};  // nodes of their own
    auto r = replay(t, p, hosts, o);
    ASSERT_TRUE(r && r->finished);
    const auto expect_between = [&](Duration told, Duration less, Duration more) {
      const double slope = kStep * static_cast<double>(told.count());
      EXPECT_GE(slope, static_cast<double>(less.count()) - 4);
      EXPECT_LE(slope, static_cast<double>(more.count()) + 4);
    };
    const auto lost = [&](double links, double compute) {
      return longer(t, p, hosts, r->makespan, links, compute);
    };
    expect_between(r->path.on_links(), -lost(1 - kStep, 1), lost(1 + kStep, 1));
    expect_between(r->path.computed(), -lost(1, 1 - kStep), lost(1, 1 + kStep));
  }
}

// One GPU: each of its copies in turn, then all of them in random order and overlap; never faster than the sum allows,
// never slower than one after the other.
TEST(LinkCopies, RandomCopiesStayWithinTheirBounds) {
  const auto p = nodes();
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    MemoryTrace t(1);
    double in = 0, out = 0;
    const auto launched = static_cast<std::uint32_t>(1 + rng.below(4));
    for (std::uint32_t i = 0; i < launched; ++i) {
      const auto m = static_cast<std::int64_t>(1 + rng.below(kElements));
      const bool down = rng.below(2) == 0, both = rng.below(3) == 0;
      launch(t, 0, down ? Kernel::copy_to_device : Kernel::copy_to_host, i, both ? 2 : 1, m);
      (down ? in : out) += 8.0 * static_cast<double>(m);
      if (both) (down ? out : in) += 8.0 * static_cast<double>(m);
      if (rng.below(2) == 0) {
        const bool own_down = rng.below(2) == 0;
        copy(t, 0, own_down ? Kernel::copy_to_device : Kernel::copy_to_host);
        (own_down ? in : out) += kBytes;
      }
    }
    for (std::uint32_t i = 0; i < launched; ++i) t.wait(0, i);
    const double got = finishes(t, p, {HostId(0)})[0];
    EXPECT_GE(got * (1 + 1e-9), std::max({in / kDown, out / kUp, (in + out) / kBoth}));
    EXPECT_LE(got, (in / kDown + out / kUp) * (1 + 1e-9));
  }
}

TEST(LinkCopies, WhatCannotBeIsAnError) {
  const auto error_of = [](const std::string& text, HostId host = HostId(0)) -> std::string {
    auto p = load(text);
    if (!p) return p.error().message();
    MemoryTrace t(1);
    copy(t, 0, Kernel::copy_to_host);
    auto r = replay(t, *p, {host}, {});
    return r ? "" : r.error().message();
  };
  EXPECT_THAT(error_of("topology { family: \"crossbar\" set: \"n=2\" }\n" + kCopies),
              HasSubstr(":4:17: error: copies over links by a rank that has no accelerator and host memory"));
  EXPECT_THAT(error_of("topology { family: \"pcie\" }\n" + kCopies),
              HasSubstr("got \"gpu0\"; expected a PCIe tree"));
  EXPECT_THAT(
      error_of("topology { family: \"pcie\" set: \"mem=on\" set: \"nics=1\" }\n" + kCopies, HostId(9)),
      HasSubstr("got \"nic0\""));
  EXPECT_THAT(error_of("host { kernel { name: \"dgemm\" place: \"links\" } }\n"
                       "topology { family: \"pcie\" set: \"mem=on\" }\n"),
              HasSubstr("kernel over links; got \"dgemm\"; expected copy_to_host or copy_to_device"));
  EXPECT_THAT(
      error_of("topology { family: \"pcie\" }\nhost { kernel { name: \"dgemm\" place: \"link\" } }\n"),
      HasSubstr("got \"link\"; expected host or device, or links for a copy"));
}

}  // namespace
}  // namespace weft::replay::link_copies_test
