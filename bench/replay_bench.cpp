// What the engine's parts cost alone: event queues, matching, route lookup, and a whole replay from memory.
//   replay_bench --benchmark_filter=Replay
#include <benchmark/benchmark.h>

#include <vector>

#include "core/rng.hpp"
#include "network/completion_queue.hpp"
#include "network/event_queue.hpp"
#include "replay/engine.hpp"
#include "replay/event_kind.hpp"
#include "replay/messages/matcher.hpp"
#include "tests/support/memory_trace.hpp"
#include "topology/routing/route_cache.hpp"

namespace weft::replay {
namespace {

using testing::MemoryTrace;
using traces::OpKind;

// A random length below 1 us.
Elapsed step(Rng& rng) { return Elapsed(Duration(static_cast<std::int64_t>(rng.below(1'000'000)))); }

// One pending event per rank, random steps: pop the first, push its successor.
void EventQueueHold(benchmark::State& state) {
  const auto n = static_cast<std::uint32_t>(state.range(0));
  network::EventQueue<EventKind> queue;
  Rng rng(1);
  std::uint64_t sequence = 0;
  for (std::uint32_t i = 0; i < n; ++i)
    queue.push({Instant() + step(rng), sequence++, EventKind::kRankTimer, i});
  for (auto _ : state) {
    network::Event<EventKind> e = queue.top();
    queue.pop();
    e.time = e.time + step(rng);
    e.sequence = sequence++;
    queue.push(e);
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(EventQueueHold)->Arg(256)->Arg(1024)->Arg(16384)->Arg(262144);

// Completions that move because rates changed.
void CompletionMove(benchmark::State& state) {
  const auto n = static_cast<std::uint32_t>(state.range(0));
  network::CompletionQueue queue;
  Rng rng(1);
  std::uint64_t sequence = 0;
  const auto when = [&] { return Instant() + step(rng); };
  for (std::uint32_t i = 0; i < n; ++i) queue.set(FlowId(i), when(), sequence++);
  for (auto _ : state) queue.set(FlowId(static_cast<std::uint32_t>(rng.below(n))), when(), sequence++);
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(CompletionMove)->Arg(64)->Arg(1024)->Arg(16384);

// Messages and receives of `depth` tags outstanding per pair, matched in posting order.
void Matching(benchmark::State& state) {
  const auto ranks = static_cast<std::uint32_t>(state.range(0));
  Pool<Message> messages;
  Matcher matcher(messages, ranks);
  Rng rng(1);
  for (auto _ : state) {
    const auto src = static_cast<std::uint32_t>(rng.below(ranks)),
               dst = static_cast<std::uint32_t>(rng.below(ranks));
    const std::uint32_t m = messages.take();
    messages[m] = Message{};
    messages[m].src = src;
    messages[m].dst = dst;
    benchmark::DoNotOptimize(matcher.deliver(m));
    const std::uint32_t r = matcher.receives().take();
    matcher.receives()[r] = PostedRecv{dst, 0, static_cast<std::int32_t>(src), 0, 0, {}, 0, kNone, kNone};
    const std::uint32_t got = matcher.post(r);
    matcher.receives().give(r);
    messages.give(got);
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(Matching)->Arg(256)->Arg(4096);

void RouteLookup(benchmark::State& state) {
  const auto p = topology::load_platform("crossbar:n=1024").value();
  topology::RouteCache cache(p.fabric);
  Rng rng(1);
  std::vector<std::pair<HostId, HostId>> pairs;
  for (int i = 0; i < 4096; ++i)
    pairs.emplace_back(static_cast<std::uint32_t>(rng.below(1024)),
                       static_cast<std::uint32_t>(rng.below(1024)));
  std::size_t i = 0;
  for (auto _ : state) {
    const auto& [a, b] = pairs[i++ & 4095u];
    benchmark::DoNotOptimize(cache.find(a, b).links.data());
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(RouteLookup);

// Rings of messages with computation between, raw eager: no reading from disk.
void ReplayRing(benchmark::State& state) {
  const auto ranks = static_cast<std::uint32_t>(state.range(0));
  constexpr int kSteps = 64;
  MemoryTrace t(ranks);
  for (int s = 0; s < kSteps; ++s)
    for (std::uint32_t r = 0; r < ranks; ++r) {
      t.compute(r, Duration(1'000'000 + 1000 * ((r * 7 + static_cast<std::uint32_t>(s) * 13) % 101)));
      t.p2p(r, OpKind::send, static_cast<std::int32_t>((r + 1) % ranks), s, 8192);
      t.p2p(r, OpKind::recv, static_cast<std::int32_t>((r + ranks - 1) % ranks), s, 8192);
    }
  const auto p = topology::load_platform("crossbar:n=" + std::to_string(ranks)).value();
  std::vector<HostId> hosts;
  for (std::uint32_t r = 0; r < ranks; ++r) hosts.emplace_back(r);
  ReplayOptions o;
  o.raw = RawMode::kEager;
  std::uint64_t events = 0;
  for (auto _ : state) events += replay(t, p, hosts, o).value().engine.events;
  state.SetItemsProcessed(state.iterations() * ranks * kSteps * 3);
  state.counters["events/s"] = benchmark::Counter(static_cast<double>(events), benchmark::Counter::kIsRate);
}
BENCHMARK(ReplayRing)->Arg(64)->Arg(1024)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace weft::replay
