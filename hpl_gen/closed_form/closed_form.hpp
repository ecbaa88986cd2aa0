// Closed forms of HPL's run time, to stand beside a simulation: netlib's, the layered one (MCL) and the roofline.
//
// Notation: N order, NB block, P x Q grid; gamma = seconds per flop of a process, alpha = seconds of an empty message,
// beta = seconds per 8-byte word; lg = log2. Sources: netlib's scalability page (equation 3 of the paper below); Kim,
// Oh, Park, "Multi-communication layered HPL model" (numbers of equations are its own); roofline: t >= flops / peak and
// t >= bytes / bandwidth.
//
// The printed layered equations have misprints; each can be switched on to see what it does. With none on, the sums of
// equations 1 and 2 over the panels are exact, and cutting the panels into layers with equal parameters changes
// nothing.
//
// NB > N counts as NB = N, and the layered calculation is at least 2 N^3 / 3PQ: as published it is less, down to below
// zero, where there are fewer blocks than about a third of P or Q.
//
// No error states: REQUIRES n, nb, p, q > 0 and rates > 0. Complexity O(layers).
#pragma once

#include <cstdint>
#include <span>

namespace weft::hpl_gen {

struct ClosedFormRun {
  std::int64_t n = 0;
  std::int64_t nb = 0;
  std::int64_t p = 0;
  std::int64_t q = 0;
};

// HPL's own count: 2/3 N^3 + 3/2 N^2.
[[nodiscard]] double hpl_flops(std::int64_t n);
[[nodiscard]] double hpl_gflops(std::int64_t n, double seconds);

struct NetworkParameters {
  double alpha = 0;  // seconds
  double beta = 0;   // seconds per 8-byte word
};
[[nodiscard]] constexpr double seconds_per_word(double bytes_per_second) { return 8 / bytes_per_second; }

// Equation 3: T = 2 gamma N^3 / 3PQ + alpha N ((NB+1) lg P + P) / NB + beta N^2 (3P+Q) / 2PQ.
[[nodiscard]] double netlib_seconds(const ClosedFormRun& run, double gamma, const NetworkParameters& net);

// Misprints, each as printed.
struct MclPrinted {
  bool cycles_over_bandwidth =
      false;                        // (8): alpha = cycles / bandwidth, not cycles / clock; see memory_layer()
  bool beta_per_byte = false;       // (9): beta = 1 / bandwidth where the sums count words
  bool third_term_squared = false;  // (11, 25): the NB^2 term of the calculation with N^2, not N
  bool log_without_p = false;       // (12): (4 lg P - 1) Q, not (4 P lg P - 1) Q; one layer only
  bool layers_restart = false;      // (22-24, 28, 29): each layer counts its own (m_j - m_j-1)^2 / 2
};

// The first layer: the memory of an accelerator as a network. Equations 6 to 9. Values of a P100: 732.2 GB/s over 3,584
// cores, 64 quad-words: 13.1 GB/s; 1,029 cycles at 1.3285 GHz.
struct MemoryLayer {
  double bytes_per_second = 0;
  std::int64_t cores = 0;
  std::int64_t quad_words = 0;  // of all controllers
  double cycles = 0;
  double clock_hz = 0;
};
// (6, 7): bandwidth / cores x quad-words.
[[nodiscard]] double equivalent_bandwidth(const MemoryLayer& memory);
[[nodiscard]] NetworkParameters memory_layer(const MemoryLayer& memory, double bandwidth,
                                             const MclPrinted& printed = {});

// A layer: its parameters and how many rows and columns of processes it spans. The first p/P of the columns of panels
// (q/Q for updates) belong to it and those below it; the last layer spans P x Q. Equations 18 to 21 with its own order.
struct MclLayer {
  NetworkParameters net;
  std::int64_t p = 1;
  std::int64_t q = 1;
};

// Sum of equations 1 and 2 over the panels, layers by equations 26 to 29. `padded`: N rounded up to NB (17).
// REQUIRES: layers not empty, p and q ascending, the last one = P, Q.
[[nodiscard]] double mcl_seconds(const ClosedFormRun& run, double gamma, std::span<const MclLayer> layers,
                                 const MclPrinted& printed = {}, bool padded = false);
// Equations 11 and 12 alone: one layer.
[[nodiscard]] double mcl_calculation_seconds(const ClosedFormRun& run, double gamma,
                                             const MclPrinted& printed = {});
[[nodiscard]] double mcl_communication_seconds(const ClosedFormRun& run, const NetworkParameters& net,
                                               const MclPrinted& printed = {});

// Least time by peak and memory: each panel's update reads and writes the trailing matrix once.
// `memory_bytes_per_second` of all processes together; 0 = not known, peak only.
[[nodiscard]] double roofline_seconds(const ClosedFormRun& run, double peak_flops,
                                      double memory_bytes_per_second);

}  // namespace weft::hpl_gen
