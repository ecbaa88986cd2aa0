// simgrid_matrix [ORACLE_FOLDER]: the whole comparison with SimGrid as a Markdown table (docs/validation.md).
// ORACLE_FOLDER holds traces/hpl_ti_flops and tools/simgrid; without it the part in tests/oracle/data is
// used.
#include <cstdio>
#include <map>

#include "tests/oracle/simgrid_oracle.hpp"

int main(int argc, char** argv) {
  using weft::testing::SimgridOracle;
  const std::string data = WEFT_SOURCE_DIR "/tests/oracle/data";
  const std::string traces = argc > 1 ? std::string(argv[1]) + "/traces/hpl_ti_flops" : data;
  const std::string hosts = argc > 1 ? std::string(argv[1]) + "/tools/simgrid" : data;
  auto oracle = SimgridOracle::open(traces, hosts);
  if (!oracle) {
    std::fprintf(stderr, "%s\n", oracle.error().message().c_str());
    return 3;
  }
  std::printf("| trace | platform | latency | sharing | replays | worst rank error | over 1e-6 |\n");
  std::printf("| --- | --- | --- | --- | --- | --- | --- |\n");
  std::size_t total = 0;
  std::size_t over = 0;
  double worst_of_all = 0;
  for (const auto& trace : oracle->traces()) {
    struct Cell {
      std::size_t replays = 0;
      std::size_t over = 0;
      double worst = 0;
    };
    std::map<std::pair<std::string, bool>, Cell> cells;
    for (const auto& c : oracle->cases(trace)) {
      const auto row = oracle->run(c);
      if (!row) {
        std::fprintf(stderr, "%s: %s\n", c.name().c_str(), row.error().message().c_str());
        return 3;
      }
      Cell& cell = cells[{c.platform, c.lat1us}];
      ++cell.replays;
      cell.worst = std::max(cell.worst, row->worst);
      const bool bad = row->worst > 1e-6 || row->deadlock != row->deadlock_expected;
      cell.over += bad ? 1 : 0;
      if (bad)
        std::fprintf(stderr, "%s: %.3g at rank %u%s\n", c.name().c_str(), row->worst, row->rank,
                     row->deadlock ? " (deadlock)" : "");
    }
    for (const auto& [key, cell] : cells) {
      std::printf("| %s | %s | %s | %s | %zu | %.1e | %zu |\n", trace.c_str(), key.first.c_str(),
                  key.second ? "1 us" : "0", key.second && key.first != "crossbar" ? "1/latency" : "plain",
                  cell.replays, cell.worst, cell.over);
      total += cell.replays;
      over += cell.over;
      worst_of_all = std::max(worst_of_all, cell.worst);
    }
  }
  std::printf("\n%zu replays, %zu over 1e-6, worst %.2g\n", total, over, worst_of_all);
  return over == 0 ? 0 : 1;
}
