// Slopes that the critical path tells against the same replay with a little more and a little less of what they are of.
//
// Without contention the makespan is a largest sum of costs, so it is convex in each of them, and what the path tells is
// its slope: the line through the replay with that slope lies nowhere above it. Where the path stays on both sides, which is
// nearly everywhere, all three are the same. WEFT_SEED=N runs one seed.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "replay/engine.hpp"
#include "tests/replay/random_program.hpp"
#include "tests/support/memory_trace.hpp"
#include "tests/support/platform_text.hpp"
#include "tests/support/seed.hpp"

namespace weft::replay::path_slopes_test {
namespace {

using testing::MemoryTrace;
using testing::RandomProgram;
using topology::Platform;
using traces::OpKind;

constexpr double kStep = 1e-5;

// A platform, and the same with links whose latency is 100 ps shorter and longer.
struct Machine {
  Platform base, shorter, longer;
};
constexpr double kLinkStep = 100;  // ticks

// Three ranks a host, links of 10 GB/s.
Platform platform(const std::string& host, const std::string& mpi, const std::string& latency) {
  return testing::platform_of_text(
      "topology { family: \"fat-tree\" set: \"m=4\" set: \"n=2\" set: \"bw=10GB/s\" set: \"lat=" + latency +
      "\" }\n"
      "host { speed: \"10Gflops\" ranks: 3 " +
      host +
      " }\n"
      "mpi { eager_limit: \"2000B\" test_cost: \"100ns\"\n"
      "  send_cost { intercept: \"700ns\" per_byte: \"20ps\" } isend_cost { intercept: \"500ns\" }\n"
      "  recv_cost { intercept: \"600ns\" per_byte: \"30ps\" }\n" +
      mpi + " }\n");
}
Machine machine(const std::string& host, const std::string& mpi) {
  return {platform(host, mpi, "300ns"), platform(host, mpi, "299.9ns"), platform(host, mpi, "300.1ns")};
}
constexpr const char* kLocal = " local_latency: \"400ns\" local_bandwidth: \"5GB/s\" ";
// Up to 200 kB slower than the links, above faster; shorter ones below what probes find.
constexpr const char* kLoaded =
    " loaded_transfer { from: \"1500B\" intercept: \"2us\" per_byte: \"300ps\" }"
    " loaded_transfer { from: \"200kB\" intercept: \"-3us\" per_byte: \"90ps\" } ";
constexpr const char* kFactors =
    " transfer { latency_factor: \"2\" bandwidth_factor: \"0.5\" }"
    " transfer { from: \"50kB\" latency_factor: \"5\" bandwidth_factor: \"0.9\" } ";
// Long rendezvous whose request takes longer than a ping-pong of them: their data wait for nothing more.
constexpr const char* kFalling =
    " transfer { latency_factor: \"3\" bandwidth_factor: \"0.8\" }"
    " transfer { from: \"50kB\" latency_factor: \"1.25\" bandwidth_factor: \"0.9\" } ";
constexpr const char* kPieces =
    " local_transfer { intercept: \"1us\" per_byte: \"200ps\" }"
    " local_transfer { from: \"60kB\" intercept: \"3us\" per_byte: \"100ps\" }"
    " loaded_local_transfer { from: \"1500B\" intercept: \"2us\" per_byte: \"400ps\" } ";

const std::map<std::string, Machine>& machines() {
  static const std::map<std::string, Machine> all = [] {
    const std::string sockets = "sockets: 2 socket_order: \"cyclic\" ";
    std::map<std::string, Machine> m;
    m.emplace("plain", machine("", kLocal));
    m.emplace("loaded", machine("", std::string(kLocal) + kLoaded));
    m.emplace("factors", machine("", std::string(kLocal) + kLoaded + kFactors));
    m.emplace("falling factors", machine("", std::string(kLocal) + kFalling));
    m.emplace("pieces", machine("", std::string(kPieces) + kFactors));
    for (const char* const bandwidth : {"2GB/s", "8GB/s", "50GB/s"})
      m.emplace(std::string("sockets of ") + bandwidth,
                machine(sockets + "socket_bandwidth: \"" + bandwidth + "\"", std::string(kPieces) + kLoaded));
    return m;
  }();
  return all;
}

// Picoseconds that a step, of kStep or what `change` says, more or less, is worth.
struct Slope {
  std::string what;
  double told;
  std::function<void(Platform&, ReplayOptions&, double sign)> change;
};

std::vector<Slope> slopes_of(const ReplayResult& r, const Machine& on) {
  const auto part = [&](PathPart p) {
    return static_cast<double>(r.path.parts[static_cast<std::size_t>(p)].count());
  };
  const auto longer = [](std::vector<topology::CostSegment>& list, double sign) {
    for (topology::CostSegment& c : list) {
      c.intercept *= 1 + sign * kStep;
      c.per_byte *= 1 + sign * kStep;
    }
  };
  constexpr std::int64_t kMore = 1000;  // ticks
  return {
      {"latency", static_cast<double>(r.path.trips) * kMore,
       [](Platform&, ReplayOptions& o, double sign) {
         o.what_if.latency = Duration(sign > 0 ? kMore : -kMore);
       }},
      {"latency of links", r.path.link_latencies * kLinkStep,
       [&on](Platform& p, ReplayOptions&, double sign) { p = sign > 0 ? on.longer : on.shorter; }},
      {"bandwidth", kStep * static_cast<double>(r.path.on_links().count()),
       [](Platform& p, ReplayOptions&, double sign) {
         for (std::uint32_t l = 0; l < p.fabric.link_count(); ++l)
           p.fabric.scale_link(LinkId(l), 1 / (1 + sign * kStep));
       }},
      {"computation", kStep * static_cast<double>(r.path.computed().count()),
       [](Platform&, ReplayOptions& o, double sign) { o.what_if.compute = 1 + sign * kStep; }},
      {"sends", kStep * part(PathPart::kSendOverhead),
       [longer](Platform& p, ReplayOptions&, double sign) {
         longer(p.mpi.send_cost, sign);
         longer(p.mpi.isend_cost, sign);
       }},
      {"receives", kStep * part(PathPart::kRecvOverhead),
       [longer](Platform& p, ReplayOptions&, double sign) { longer(p.mpi.recv_cost, sign); }},
      {"tests", 10 * kStep * part(PathPart::kPolls),
       [](Platform& p, ReplayOptions&, double sign) {
         p.mpi.test_cost +=
             Duration(std::llround(sign * 10 * kStep * static_cast<double>(p.mpi.test_cost.count())));
       }},
  };
}

ReplayResult run(MemoryTrace& t, const Platform& p, const ReplayOptions& o) {
  std::vector<HostId> hosts;
  for (std::uint32_t r = 0; r < t.header().ranks; ++r) hosts.emplace_back(r / 3);
  t.rewind();
  auto r = replay(t, p, hosts, o);
  EXPECT_TRUE(r && r->finished) << (r ? r->deadlock.summary() : r.error().message());
  return r ? std::move(r).value() : ReplayResult{};
}

// Slopes that were asked about, and those that both sides agreed with.
struct Asked {
  std::size_t all = 0, sharp = 0;
  std::uint64_t headers = 0;  // bytes
};
void expect_slopes(MemoryTrace& t, const Machine& on, ReplayOptions o, Asked& asked) {
  o.model = "contention-free";
  o.critical_path = true;
  const ReplayResult base = run(t, on.base, o);
  // Links of 10 GB/s carry what they carry in 100 ps a byte, headers too.
  if (on.base.mpi.transfer.empty() && on.base.mpi.loaded_transfer.empty() &&
      on.base.mpi.local_transfer.empty()) {
    EXPECT_EQ(base.path.on_links().count(), 100 * static_cast<std::int64_t>(base.path.bytes_on_links()));
    asked.headers += base.path.header_bytes;
  }
  o.critical_path = false;
  for (const Slope& slope : slopes_of(base, on)) {
    std::array<double, 2> by{};  // with less it is shorter by, with more it is longer by
    for (const double sign : {-1.0, 1.0}) {
      Platform changed = on.base;
      ReplayOptions with = o;
      slope.change(changed, with, sign);
      by[sign > 0 ? 1 : 0] =
          sign * static_cast<double>((run(t, changed, with).makespan - base.makespan).count());
    }
    EXPECT_LE(by[0], slope.told + 2) << slope.what;
    EXPECT_GE(by[1], slope.told - 2) << slope.what;
    ++asked.all;
    asked.sharp += by[1] - by[0] <= 4 ? 1 : 0;
  }
}

TEST(PathSlopes, AreThoseOfTheMakespanOnEveryPlatform) {
  Asked asked;
  for (const std::uint64_t seed : support::seeds_to(40)) {
    RandomProgram program(seed, RandomProgram::Collectives::kAll, true);
    for (const auto& [name, on] : machines())
      for (const RawMode raw : {RawMode::kOff, RawMode::kEager, RawMode::kDetached, RawMode::kRendezvous}) {
        if (raw != RawMode::kOff && name != "loaded" && name != "sockets of 2GB/s") continue;
        SCOPED_TRACE("WEFT_SEED=" + std::to_string(seed) + ", " + name + ", raw mode " +
                     std::to_string(static_cast<int>(raw)));
        ReplayOptions o;
        o.raw = raw;
        o.header = Bytes(seed % 2 == 0 ? 0 : 40);
        expect_slopes(program.trace(), on, o, asked);
      }
  }
  EXPECT_GT(asked.sharp * 2, asked.all);
  EXPECT_GT(asked.headers, 0u);
}

}  // namespace
}  // namespace weft::replay::path_slopes_test
