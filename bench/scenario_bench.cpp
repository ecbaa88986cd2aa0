// The scenarios of tests/work/scenarios.hpp, timed, with their counts beside the time; tests/work compares the counts.
//   scenario_bench --benchmark_filter=hpl
#include <benchmark/benchmark.h>

#include "tests/work/scenarios.hpp"

int main(int argc, char** argv) {
  for (const weft::work::Scenario& s : weft::work::scenarios())
    benchmark::RegisterBenchmark(s.name, [s](benchmark::State& state) {
      weft::work::Counts counts;
      for (auto _ : state) counts = s.run();
      for (const auto& [name, value] : counts) state.counters[name] = static_cast<double>(value);
      state.SetLabel(s.what);
    })->Unit(benchmark::kMillisecond);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
