// Measured runs of HPL on accelerators, and the node of the P100 cluster whose row 1N1G calibrates the phase model.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/files/csv.hpp"
#include "core/files/input_file.hpp"
#include "hpl_gen/closed_form/phase_model.hpp"
#include "tests/support/checkout.hpp"

namespace weft::hpl_gen {

using Row = std::map<std::string, std::string>;

inline std::vector<Row> read_csv(const std::filesystem::path& path) {
  const auto text = read_file(path.string(), 1 << 20);
  if (!text) return {};
  CsvReader csv("table", *text);
  std::vector<std::string> names;
  std::vector<Row> rows;
  while (csv.next_row().value()) {
    if (names.empty()) {
      for (const CsvCell& c : csv.cells()) names.push_back(c.text);
      continue;
    }
    Row& row = rows.emplace_back();
    for (std::size_t i = 0; i < std::min(csv.cells().size(), names.size()); ++i)
      row[names[i]] = csv.cells()[i].text;
  }
  return rows;
}

inline std::filesystem::path measured(const char* name) {
  return std::filesystem::path(support::shared_dir()) / "data" / name;
}

// P100 16 GB PCIe cluster: PCIe Gen3 x16 shared by the node's GPUs (11.6 GiB/s measured on such a link, SC'16), one
// FDR port a node (56 Gb/s with 64b/66b coding: 6.8 GB/s), 1.5 us (assumed; no result moves by 0.1 % for 0.7 us).
// NB = 384: the greatest common divisor of the model sizes that the paper prints.
inline PhaseMachine p100_node(FlopRate gemm, std::int64_t gpus_per_node) {
  return {.gemm = gemm,
          .ranks_per_node = static_cast<std::uint32_t>(gpus_per_node),
          .injection = Bandwidth(6.8e9),
          .latency = from_seconds(1.5e-6),
          .host_link = Bandwidth(11.6 * 1024 * 1024 * 1024),
          .ranks_per_host_link = static_cast<std::uint32_t>(gpus_per_node),
          .device_memory = Bytes(16'000'000'000)};
}

inline constexpr double kP100Peak = 4.7e12;  // the paper's figure for the PCIe card

inline FlopRate p100_gemm() {
  const PhaseRun run{.n = 44000, .nb = 384};
  return gemm_from_run(p100_node(FlopRate(1), 1), run, 3882);  // row 1N1G, measured
}

}  // namespace weft::hpl_gen
