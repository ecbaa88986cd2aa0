// The phase model against closed forms, and against every measured accelerated HPL run at hand. No constant in here was
// chosen by looking at a row that it predicts: one rate of 15 + 8 rows is calibrated, on the row 1N1G of the P100 cluster.
#include "hpl_gen/phase_model.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <strings.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/atomic_file.hpp"
#include "core/csv.hpp"
#include "hpl_gen/grid.hpp"

namespace weft::hpl_gen {
namespace {

using Row = std::map<std::string, std::string>;

std::vector<Row> read_csv(const std::filesystem::path& path) {
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

std::filesystem::path measured(const char* name) {
  return std::filesystem::path(WEFT_SOURCE_DIR) / ".." / "shared" / "data" / name;
}

// P100 16 GB PCIe cluster: PCIe Gen3 x16 shared by the node's GPUs (11.6 GiB/s measured on such a link, SC'16), one
// FDR port a node (56 Gb/s with 64b/66b coding: 6.8 GB/s), 1.5 us (assumed; no result moves by 0.1 % for 0.7 us).
// NB = 384: the greatest common divisor of the model sizes that the paper prints.
PhaseMachine p100_node(FlopRate gemm, std::int64_t gpus_per_node) {
  return {.gemm = gemm,
          .ranks_per_node = static_cast<std::uint32_t>(gpus_per_node),
          .injection = Bandwidth(6.8e9),
          .latency = from_seconds(1.5e-6),
          .host_link = Bandwidth(11.6 * 1024 * 1024 * 1024),
          .ranks_per_host_link = static_cast<std::uint32_t>(gpus_per_node),
          .device_memory = Bytes(16'000'000'000)};
}

constexpr double kP100Peak = 4.7e12;  // the paper's figure for the PCIe card

FlopRate p100_gemm() {
  const PhaseRun run{.n = 44000, .nb = 384};
  return gemm_from_run(p100_node(FlopRate(1), 1), run, 3882);  // row 1N1G, measured
}

TEST(PhaseModel, OneRankIsTheSumOfItsUpdates) {
  const PhaseMachine machine{.gemm = FlopRate(1e12), .injection = Bandwidth(1e9)};
  const PhaseRun run{.n = 10 * 64, .nb = 64};
  double flop = 0;
  for (int k = 1; k <= 10; ++k) flop += 2.0 * (64.0 * k) * (64.0 * k) * 64 + 64.0 * k * 64 * 64;
  const PhaseTimes t = phase_model(machine, run);
  EXPECT_NEAR(t.time_s, flop / 1e12, 1e-15);
  EXPECT_EQ(t.swap_s, 0);
  EXPECT_EQ(t.bcast_s, 0);
}

TEST(PhaseModel, WithoutOverlapTheTermsAreNetlibsWithTheirOwnSwapFactor) {
  // alpha = 0, one rank a node, row-major: broadcast N^2 / 2P words, swap 2 (P-1)/P N^2 / 2Q words (eq. 3 of netlib
  // has N^2 / 2P and 3 N^2 / 2Q). Sums over panels tend to these as NB / N -> 0.
  const PhaseMachine machine{.gemm = FlopRate(1e12), .injection = Bandwidth(1e9)};
  const PhaseRun run{.n = 64000, .nb = 8, .p = 4, .q = 8, .overlap = Overlap::kNone};
  const PhaseTimes t = phase_model(machine, run);
  const double n = 64000, word_s = 8 / 1e9;
  EXPECT_NEAR(t.bcast_s / (n * n / (2 * 4) * word_s), 1, 1e-3);
  EXPECT_NEAR(t.swap_s / (2 * 0.75 * n * n / (2 * 8) * word_s), 1, 1e-3);
  EXPECT_NEAR(t.update_s / (2 * n * n * n / (3 * 32 * 1e12)), 1, 1e-3);
}

TEST(PhaseModel, OverlapOnlyHides) {
  const PhaseMachine machine{.gemm = FlopRate(5e12),
                             .ranks_per_node = 4,
                             .injection = Bandwidth(12.5e9),
                             .latency = from_seconds(2e-6)};
  PhaseRun run{.n = 200000, .nb = 384, .p = 8, .q = 8};
  double last = INFINITY;
  for (const Overlap overlap : {Overlap::kNone, Overlap::kPanel, Overlap::kSwap}) {
    run.overlap = overlap;
    const PhaseTimes t = phase_model(machine, run);
    EXPECT_LE(t.time_s, last);
    EXPECT_NEAR(t.time_s, t.update_s + t.stream_s + t.swap_s + t.bcast_s, 1e-9 * t.time_s);
    last = t.time_s;
  }
}

TEST(PhaseModel, AMatrixThatDoesNotFitIsStreamed) {
  PhaseMachine machine{.gemm = FlopRate(7e12), .injection = Bandwidth(25e9), .host_link = Bandwidth(50e9)};
  const PhaseRun run{.n = 100000, .nb = 512};
  EXPECT_EQ(phase_model(machine, run).stream_s, 0) << "no limit given";
  machine.device_memory = Bytes(80'000'000'000);
  EXPECT_EQ(phase_model(machine, run).stream_s, 0) << "it fits: 8 N^2 = 80 GB";
  machine.device_memory = Bytes(16'000'000'000);
  machine.host_link = Bandwidth(12e9);
  EXPECT_GT(phase_model(machine, run).stream_s, 0);
}

TEST(PhaseModel, CalibrationGivesTheRunBack) {
  const PhaseRun run{.n = 44000, .nb = 384};
  const FlopRate gemm = p100_gemm();
  EXPECT_NEAR(phase_model(p100_node(gemm, 1), run).gflops, 3882, 1e-6);
  EXPECT_GT(gemm.value() / kP100Peak, 0.8);
  EXPECT_LT(gemm.value() / kP100Peak, 0.9);
}

// Fourteen rows from one calibrated rate. The rows with one GPU a node and a grid of one row (2N2G, 3N3G) are off by a
// third: nothing published explains why they are slower than the rows with twice the GPUs on the same network.
TEST(PhaseModel, P100ClusterFromOneRow) {
  const auto rows = read_csv(measured("gpu_cluster_table5.csv"));
  if (rows.empty()) GTEST_SKIP() << "the measured runs (gpu_cluster_table5.csv) are not here";
  ASSERT_EQ(rows.size(), 15u);
  fmt::print("{:<6} {:>5} {:>9} {:>9} {:>8} {:>8} {:>8}\n", "row", "PxQ", "measured", "GFLOP/s", "error",
             "hidden", "layered");
  double sum = 0, sum_hidden = 0, sum_layered = 0;
  for (const Row& row : rows) {
    const std::int64_t gpus = std::stoll(row.at("gpus")), nodes = std::stoll(row.at("nodes"));
    const auto [p, q] = most_square(static_cast<int>(gpus));
    PhaseRun run{.n = std::stoll(row.at("n")), .nb = 384, .p = p, .q = q};
    const double truth = std::stod(row.at("measured_gflops"));
    const PhaseMachine machine = p100_node(p100_gemm(), gpus / nodes);
    const double ours = phase_model(machine, run).gflops;
    run.overlap = Overlap::kSwap;
    const double hidden = phase_model(machine, run).gflops;
    const double layered = std::stod(row.at("mcl_estimate_gflops"));
    fmt::print("{:<6} {:>5} {:>9.0f} {:>9.0f} {:>+7.1f}% {:>+7.1f}% {:>+7.1f}%\n", row.at("configuration"),
               fmt::format("{}x{}", p, q), truth, ours, 100 * (ours / truth - 1), 100 * (hidden / truth - 1),
               100 * (layered / truth - 1));
    if (gpus == 1) continue;  // calibrated on it
    sum += std::abs(ours / truth - 1);
    sum_hidden += std::abs(hidden / truth - 1);
    sum_layered += std::abs(layered / truth - 1);
  }
  fmt::print("mean of 14 rows: {:.1f} %; swap hidden {:.1f} %; layered model {:.1f} %\n", 100 * sum / 14,
             100 * sum_hidden / 14, 100 * sum_layered / 14);
  EXPECT_LT(sum / 14, 0.12) << "worse than what docs/validation.md records";
}

// Eight systems of the TOP500 of June 2020, one rule: R = (P100's measured fraction of peak) x the list's Rpeak per
// device; the most square grid; NB = 512 (no NB is published; rocHPL's documented one); netlib's order (panel hidden,
// swap exposed); published injection and host link rates.
struct System {
  const char* name;
  std::uint32_t nics;
  double nic_gbs;    // one direction
  double host_gbs;   // per device, one direction; 0: none
  double memory_gb;  // per device; 0: the matrix lives where the cores read it
  const char* source;
};
constexpr System kSystems[] = {
    {"Fugaku", 6, 6.8, 0, 0, "6 Tofu network interfaces a node, 6.8 GB/s each"},
    {"Summit", 2, 12.5, 50, 16, "dual EDR; NVLink2 to the CPU 2 x 25 GB/s a GPU (OLCF guide)"},
    {"Sierra", 2, 12.5, 75, 16, "dual EDR; NVLink2 to the CPU 3 x 25 GB/s a GPU (4-GPU AC922)"},
    {"HPC5", 1, 25, 15.75, 16, "HDR; PCIe Gen3 x16 to the CPU; memory assumed"},
    {"Selene", 8, 25, 0, 40, "8 HDR ports a DGX A100, GPUDirect"},
    {"Marconi100", 2, 12.5, 75, 16, "dual EDR; NVLink2 3 x 25 GB/s a GPU (4-GPU AC922)"},
    {"Piz Daint", 1, 10.2, 15.75, 16, "Aries peak injection; PCIe Gen3 x16"},
    {"DGX SuperPOD", 8, 12.5, 0, 32, "8 compute EDR ports a DGX-2H, GPUDirect"},
};

TEST(PhaseModel, EightTop500SystemsFromOneRule) {
  const auto systems = read_csv(measured("systems.csv"));
  const auto table = read_csv(measured("top500_tables_1_2.csv"));
  if (systems.empty() || table.empty()) GTEST_SKIP() << "the measured systems (systems.csv) are not here";
  const double fraction = p100_gemm().value() / kP100Peak;
  fmt::print(
      "gemm = {:.4f} of Rpeak per device\n{:<13} {:>8} {:>9} {:>9} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8}\n",
      fraction, "system", "PxQ", "Rmax TF", "TFLOP/s", "error", "NB 384", "NB 768", "hidden", "none",
      "layered");
  double sum = 0, sum_layered = 0;
  double sum_variant[4] = {};
  for (const System& system : kSystems) {
    const auto find = [&](const std::vector<Row>& rows) {
      for (const Row& row : rows)
        if (strcasecmp(row.at("system").c_str(), system.name) == 0) return row;
      ADD_FAILURE() << system.name << " is missing";
      return Row{};
    };
    const Row row = find(systems), printed = find(table);
    const std::int64_t per = std::stoll(row.at("devices_per_node"));
    const std::int64_t ranks = std::stoll(row.at("nodes")) * per;
    const auto [p, q] = most_square(static_cast<int>(ranks));
    const PhaseMachine machine{
        .gemm = FlopRate(fraction * 1e12 * std::stod(row.at("rpeak_per_device_tflops_derived"))),
        .ranks_per_node = static_cast<std::uint32_t>(per),
        .injection = Bandwidth(system.nics * system.nic_gbs * 1e9),
        .latency = from_seconds(1.5e-6),
        .host_link = system.host_gbs > 0 ? std::optional(Bandwidth(system.host_gbs * 1e9)) : std::nullopt,
        .device_memory = Bytes(static_cast<std::int64_t>(system.memory_gb * 1e9))};
    PhaseRun run{.n = std::stoll(row.at("nmax")), .nb = 512, .p = p, .q = q};
    const double truth = std::stod(row.at("rmax_tflops"));
    const auto error = [&] { return phase_model(machine, run).gflops / 1e3 / truth - 1; };
    const double ours = error();
    run.nb = 384;
    const double small = error();
    run.nb = 768;
    const double large = error();
    run.nb = 512;
    run.overlap = Overlap::kSwap;
    const double hidden = error();
    run.overlap = Overlap::kNone;
    const double none = error();
    const double layered =
        std::stod(printed.at("mcl_multi_layer_pflops")) / std::stod(printed.at("rmax_pflops")) - 1;
    fmt::print(
        "{:<13} {:>8} {:>9.0f} {:>9.0f} {:>+7.1f}% {:>+7.1f}% {:>+7.1f}% {:>+7.1f}% {:>+7.1f}% {:>+7.1f}%\n",
        system.name, fmt::format("{}x{}", p, q), truth, truth * (1 + ours), 100 * ours, 100 * small,
        100 * large, 100 * hidden, 100 * none, 100 * layered);
    sum += std::abs(ours);
    sum_layered += std::abs(layered);
    const double variants[4] = {small, large, hidden, none};
    for (int i = 0; i < 4; ++i) sum_variant[i] += std::abs(variants[i]);
  }
  fmt::print("{:<13} {:>8} {:>9} {:>9} {:>7.1f}% {:>7.1f}% {:>7.1f}% {:>7.1f}% {:>7.1f}% {:>7.1f}%\n",
             "mean |error|", "", "", "", 100 * sum / 8, 100 * sum_variant[0] / 8, 100 * sum_variant[1] / 8,
             100 * sum_variant[2] / 8, 100 * sum_variant[3] / 8, 100 * sum_layered / 8);
  EXPECT_LT(sum / 8, 0.075) << "the layered model's figure";
}

}  // namespace
}  // namespace weft::hpl_gen
