#include "tests/fuzz/replay_some.hpp"

#include <algorithm>

#include "replay/engine.hpp"
#include "tests/fuzz/target.hpp"
#include "tests/support/memory_trace.hpp"
#include "topology/placement/placement.hpp"

namespace weft::fuzz {
namespace {

constexpr std::uint32_t kMaxRanks = 24;
constexpr std::uint64_t kMaxOps = 4000;
constexpr std::uint64_t kMaxSteps = 20'000;

struct StepLimit {};

void run(traces::TraceReader& trace, const topology::Platform& platform, replay::ReplayOptions options,
         bool each_op) {
  const auto hosts = topology::place_ranks(platform, trace.header().ranks, "block", 0);
  if (!hosts) return;
  std::uint64_t steps = 0;
  const auto count = [&steps] {
    if (++steps > kMaxSteps) throw StepLimit();
  };
  options.on_message = [&](const replay::MessageSeen&) { count(); };
  if (each_op) options.on_op = [&](RankId, std::uint64_t, SimTime, SimTime) { count(); };
  trace.rewind();
  try {
    (void)replay::replay(trace, platform, *hosts, options);
  } catch (const StepLimit&) {
  }
}

}  // namespace

void replay_some(traces::TraceReader& trace) {
  static const topology::Platform torus =
      topology::load_platform(
          "torus:dims=3x3,hosts_per_switch=1,ranks_per_host=3,bw=10Gbps,lat=1us,speed=1Gflops")
          .value();
  if (trace.header().ranks > kMaxRanks) return;
  std::uint64_t ops = 0;
  for (std::uint32_t r = 0; r < trace.header().ranks; ++r) {
    const std::uint64_t n = trace.ops_of(RankId(r));
    ops += n == traces::kUnknownOps ? 0 : n;
  }
  if (ops > kMaxOps) return;
  run(trace, torus, {}, false);
  replay::ReplayOptions raw;
  raw.raw = replay::RawMode::kRendezvous;
  run(trace, torus, raw, true);
}

void replay_ring(const topology::Platform& platform) {
  const auto ranks = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(6, std::uint64_t{platform.fabric.host_count()} * platform.ranks_per_host));
  if (ranks < 2) return;
  weft::testing::MemoryTrace t(ranks);
  for (std::uint32_t r = 0; r < ranks; ++r) {
    const auto next = static_cast<std::int32_t>((r + 1) % ranks),
               last = static_cast<std::int32_t>((r + ranks - 1) % ranks);
    t.p2p(r, traces::OpKind::irecv, last, 1, 100'000, CommId(0), 0);
    t.p2p(r, traces::OpKind::send, next, 1, 100'000);
    t.wait(r, 0);
    t.flops(r, 1e6);
    t.collective(r, traces::OpKind::allreduce, -1, 64, CommId(0));
  }
  run(t, platform, {}, false);
}

}  // namespace weft::fuzz
