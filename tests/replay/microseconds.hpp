// Programs whose every instant can be worked out by hand: a platform on which all that costs something costs whole
// microseconds, and sums of a replay as microseconds by name.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "replay/engine.hpp"
#include "tests/support/hosts.hpp"
#include "traces/trace.hpp"

namespace weft::replay {

constexpr std::int64_t kMicro = 1'000'000;                 // ticks
constexpr std::int64_t kSmall = 1000, kLarge = 1'000'000;  // bytes: eager, rendezvous

// 1 GB/s, 1 us from host to host, so that a KB takes 1 us. Send 3 us, receive 2 us, poll 5 us, test 7 us.
inline topology::Platform microsecond_platform() {
  auto p = topology::load_platform("crossbar:n=6,bw=1GB/s,lat=500ns").value();
  p.mpi.send_overhead = Duration(3 * kMicro);
  p.mpi.recv_overhead = Duration(2 * kMicro);
  p.mpi.iprobe_cost = Duration(5 * kMicro);
  p.mpi.test_cost = Duration(7 * kMicro);
  p.mpi.eager_limit = Bytes(65536);
  return p;
}

inline ReplayResult replayed(traces::TraceReader& t, const topology::Platform& p,
                             const ReplayOptions& options) {
  auto r = replay(t, p, weft::testing::first_hosts(t.header().ranks), options);
  EXPECT_TRUE(r) << (r ? "" : r.error().message());
  return r ? std::move(r).value() : ReplayResult{};
}

using Micros = std::map<std::string, double>;
// Those that are not 0.
template <class Durations, class Names>
Micros micros(const Durations& durations, const Names& names) {
  Micros out;
  for (std::size_t i = 0; i < std::size(durations); ++i)
    if (durations[i].count() != 0)
      out[std::string(names[i])] = static_cast<double>(durations[i].count()) / kMicro;
  return out;
}

}  // namespace weft::replay
