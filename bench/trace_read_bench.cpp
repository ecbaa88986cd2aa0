// How fast operations come out of a .weft file: guards the 20 ns an operation that the replay's budget leaves
// for it.
//   ReadInOrder      one rank after the other
//   ReadInterleaved  one block of each rank in turn, as a replay does
//   ParseTi          TI text of the same operations, lines a second
// The trace is HPL-like: computation, irecv, send, wait with the sizes of a shrinking panel.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "core/rng.hpp"
#include "traces/exports/export.hpp"
#include "traces/trace.hpp"
#include "traces/weft/writer.hpp"

namespace weft::traces {
namespace {

constexpr std::uint32_t kRanks = 64;
constexpr std::size_t kBlocksPerRank = 6;

std::string temporary(const char* suffix) {
  const char* dir = std::getenv("TMPDIR");
  return std::string(dir != nullptr ? dir : "/tmp") + "/weft_bench_" + std::to_string(::getpid()) + suffix;
}

const std::string& weft_file() {
  static const std::string path = [] {
    const std::string p = temporary(".weft");
    TraceHeader h;
    h.ranks = kRanks;
    auto w = TraceWriter::create(p, h).value();
    Rng rng(1);
    for (std::uint32_t r = 0; r < kRanks; ++r)
      for (std::size_t b = 0; b < kBlocksPerRank; ++b) {
        OpBlock block;
        block.rank = RankId(r);
        block.first_op = b * kMaxBlockOps;
        for (std::size_t i = 0; i < kMaxBlockOps; i += 4) {
          const auto peer = static_cast<std::int32_t>((r + 1 + rng.below(7)) % kRanks);
          const auto bytes = static_cast<std::int64_t>(8 * (1 + rng.below(20000)));
          const double flops = static_cast<double>(rng.below(1u << 30));
          block.ops.push_back({.kind = OpKind::compute_flops, .amount = std::bit_cast<std::int64_t>(flops)});
          block.ops.push_back(
              {.kind = OpKind::irecv, .peer = peer, .tag = 1001, .amount = bytes, .request = 0});
          block.ops.push_back({.kind = OpKind::send, .peer = peer, .tag = 1001, .amount = bytes});
          block.ops.push_back(
              {.kind = OpKind::wait, .peer = peer, .tag = 1001, .amount = bytes, .request = 0});
        }
        w.append(block);
      }
    w.finish().value();
    return p;
  }();
  return path;
}

void per_op(benchmark::State& state, std::uint64_t ops) {
  state.SetItemsProcessed(static_cast<std::int64_t>(ops));
  state.counters["ns_per_op"] = benchmark::Counter(static_cast<double>(ops) * 1e-9,
                                                   benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void read_in_order(benchmark::State& state) {
  auto t = open_trace({weft_file()}).value();
  OpBlock block;
  std::uint64_t ops = 0;
  for (auto _ : state) {
    t->rewind();
    for (std::uint32_t r = 0; r < kRanks; ++r)
      while (t->next_block(RankId(r), block).value()) ops += block.ops.size();
  }
  per_op(state, ops);
}
BENCHMARK(read_in_order)->Name("ReadInOrder");

void read_interleaved(benchmark::State& state) {
  auto t = open_trace({weft_file()}).value();
  std::vector<OpBlock> blocks(kRanks);
  std::uint64_t ops = 0;
  for (auto _ : state) {
    t->rewind();
    for (std::size_t b = 0; b < kBlocksPerRank; ++b)
      for (std::uint32_t r = 0; r < kRanks; ++r)
        if (t->next_block(RankId(r), blocks[r]).value()) ops += blocks[r].ops.size();
  }
  per_op(state, ops);
}
BENCHMARK(read_interleaved)->Name("ReadInterleaved");

void parse_ti(benchmark::State& state) {
  static const std::string path = [] {
    const std::string p = temporary(".ti");
    auto t = open_trace({weft_file()}).value();
    export_trace(*t, "ti", p).value();
    return p;
  }();
  std::uint64_t lines = 0;
  for (auto _ : state) lines += open_trace({path}).value()->totals().ops;
  per_op(state, lines);
}
BENCHMARK(parse_ti)->Name("ParseTi")->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace weft::traces
