// simgrid_matrix [ORACLE_FOLDER]: the whole comparison with SimGrid as a Markdown table (docs/validation.md).
// ORACLE_FOLDER holds traces/hpl_ti_flops and tools/simgrid; without it the part in tests/oracle/data is
// used.
#include <cstdio>
#include <map>
#include <vector>

#include "tests/oracle/simgrid_oracle.hpp"
#include "tests/support/checkout.hpp"

int main(int argc, char** argv) {
  using weft::testing::SimgridOracle;
  const std::string data = weft::support::source_dir() + "/tests/oracle/data";
  const std::string traces = argc > 1 ? std::string(argv[1]) + "/traces/hpl_ti_flops" : data;
  const std::string hosts = argc > 1 ? std::string(argv[1]) + "/tools/simgrid" : data;
  auto oracle = SimgridOracle::open(traces, hosts);
  if (!oracle) {
    std::fprintf(stderr, "%s\n", oracle.error().message().c_str());
    return 3;
  }
  std::printf(
      "| trace | platform | latency | sharing | replays | worst, eager | worst, detached and rendezvous |\n");
  std::printf("| --- | --- | --- | --- | --- | --- | --- |\n");
  struct Over {
    weft::testing::OracleRow row;
    double moved;
  };
  std::vector<Over> over;
  std::size_t total = 0;
  bool unexplained = false;
  for (const auto& trace : oracle->traces()) {
    struct Cell {
      std::size_t replays = 0;
      double eager = 0;
      double others = 0;
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
      ++total;
      double& worst = c.model == "eager" ? cell.eager : cell.others;
      worst = std::max(worst, row->worst);
      unexplained = unexplained || row->deadlock != row->deadlock_expected;
      if (row->worst > 1e-6) {
        const auto moved = oracle->sensitivity(c, 3);
        if (!moved) return 3;
        over.push_back({*row, *moved});
        unexplained = unexplained || row->worst > 10 * *moved;
      }
    }
    const auto show = [](double x) {
      char text[32] = "-";
      if (x > 0) std::snprintf(text, sizeof text, "%.1e", x);
      return std::string(text);
    };
    for (const auto& [key, cell] : cells)
      std::printf("| %s | %s | %s | %s | %zu | %s | %s |\n", trace.c_str(), key.first.c_str(),
                  key.second ? "1 us" : "0", key.second && key.first != "crossbar" ? "1/latency" : "plain",
                  cell.replays, show(cell.eager).c_str(), show(cell.others).c_str());
  }
  std::printf("\n%zu replays, %zu over 1e-6:\n\n", total, over.size());
  std::printf("| case | error | moved by 1 ps a computation |\n| --- | --- | --- |\n");
  for (const auto& o : over)
    std::printf("| %s | %.1e | %.1e |\n", o.row.which.name().c_str(), o.row.worst, o.moved);
  return unexplained ? 1 : 0;
}
