// What tests of ties share: settings in which messages, polls and computations meet at one instant time and again, on a clock that
// ticks in whole microseconds, and the ways in which one program can be replayed, all of which must give the same instants.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/rng.hpp"
#include "replay/engine.hpp"
#include "tests/replay/microseconds.hpp"
#include "tests/support/memory_trace.hpp"

namespace weft::replay {

inline Duration us(std::int64_t n) { return Duration(n * kMicro); }

struct Setting {
  topology::Platform platform;
  std::vector<HostId> hosts;
  ReplayOptions options;
};

inline Setting setting(Rng& rng, std::uint32_t ranks) {
  const auto micros = [&](std::uint64_t most) { return us(static_cast<std::int64_t>(rng.below(most))); };
  constexpr std::array kNetworks{"crossbar:n=6,bw=1GB/s,lat=0", "crossbar:n=6,bw=1GB/s,lat=0",
                                 "crossbar:n=6,bw=1GB/s,lat=500ns", "torus:dims=6,bw=1GB/s,lat=0",
                                 "torus:dims=6,bw=1GB/s,lat=1us"};
  Setting s{topology::load_platform(kNetworks[rng.below(kNetworks.size())]).value(), {}, {}};
  constexpr std::array<std::int64_t, 4> kLimits{0, 1000, 2000, 65536};
  s.platform.mpi.eager_limit = Bytes(kLimits[rng.below(kLimits.size())]);
  if (rng.below(3) == 0) s.platform.mpi.send_overhead = micros(2);
  if (rng.below(3) == 0) s.platform.mpi.recv_overhead = micros(3);
  if (rng.below(3) == 0) s.platform.mpi.iprobe_cost = micros(2);
  if (rng.below(3) == 0) s.platform.mpi.test_cost = micros(2);
  s.platform.mpi.local_latency = micros(2);
  if (rng.below(2) == 0) s.platform.mpi.local_bandwidth = 1e9;
  const std::uint64_t on_a_host = 1 + rng.below(3);
  for (std::uint32_t r = 0; r < ranks; ++r) s.hosts.emplace_back(static_cast<std::uint32_t>(r / on_a_host));
  constexpr std::array kModes{RawMode::kOff, RawMode::kOff, RawMode::kEager, RawMode::kDetached,
                              RawMode::kRendezvous};
  s.options.raw = kModes[rng.below(kModes.size())];
  if (rng.below(4) == 0) s.options.model = "contention-free";
  return s;
}

inline std::vector<Duration> times_of(const RankTimes& t) {
  return {t.finish, t.compute, t.send, t.recv, t.wait, t.collective};
}

// Ways to replay one program, by who looks at it or what is switched off.
struct Way {
  const char* what;
  void (*change)(ReplayOptions&);
};
inline constexpr std::array kWays{
    Way{"plain", [](ReplayOptions&) {}},
    Way{"by events", [](ReplayOptions& o) { o.ranks_ahead = false; }},
    Way{"every operation seen",
        [](ReplayOptions& o) { o.on_op = [](RankId, std::uint64_t, SimTime, SimTime) {}; }},
    Way{"an operation at a time", [](ReplayOptions& o) { o.join_computations = false; }},
    Way{"by events, an operation at a time",
        [](ReplayOptions& o) { o.ranks_ahead = o.join_computations = false; }},
    Way{"critical path", [](ReplayOptions& o) { o.critical_path = true; }},
    Way{"wait states", [](ReplayOptions& o) { o.wait_states = true; }},
};

inline ReplayResult replayed_by(const Way& way, testing::MemoryTrace& trace, const Setting& s) {
  ReplayOptions o = s.options;
  way.change(o);
  trace.rewind();
  auto r = replay(trace, s.platform, s.hosts, o);
  EXPECT_TRUE(r) << (r ? "" : r.error().message());
  return r ? std::move(r).value() : ReplayResult{};
}

inline void expect_same(const ReplayResult& r, const ReplayResult& as, const char* what) {
  EXPECT_EQ(r.finished, as.finished) << what;
  EXPECT_EQ(r.fingerprint, as.fingerprint) << what;
  ASSERT_EQ(r.ranks.size(), as.ranks.size()) << what;
  for (std::size_t k = 0; k < r.ranks.size(); ++k)
    EXPECT_EQ(times_of(r.ranks[k]), times_of(as.ranks[k])) << what << ", rank " << k;
}

// Replays `trace` in all ways, expects the same of each, and returns it.
inline ReplayResult expect_alike(testing::MemoryTrace& trace, const Setting& s) {
  ReplayResult plain = replayed_by(kWays[0], trace, s);
  for (const Way& way : kWays) expect_same(replayed_by(way, trace, s), plain, way.what);
  return plain;
}

}  // namespace weft::replay
