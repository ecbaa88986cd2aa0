#include "hpl_gen/closed_form/closed_form.hpp"

#include <algorithm>
#include <cmath>

#include "core/check.hpp"

namespace weft::hpl_gen {

namespace {

// A block is no wider than the matrix: HPL's one panel has N columns then.
ClosedFormRun fitted(ClosedFormRun run) {
  run.nb = std::min(run.nb, run.n);
  return run;
}

}  // namespace

double hpl_flops(std::int64_t n) {
  const auto x = static_cast<double>(n);
  return x * x * (2.0 / 3.0 * x + 1.5);
}

double hpl_gflops(std::int64_t n, double seconds) { return hpl_flops(n) / seconds * 1e-9; }

double netlib_seconds(const ClosedFormRun& given, double gamma, const NetworkParameters& net) {
  const ClosedFormRun run = fitted(given);
  const auto n = static_cast<double>(run.n), nb = static_cast<double>(run.nb);
  const auto p = static_cast<double>(run.p), q = static_cast<double>(run.q);
  return 2 * gamma * n * n * n / (3 * p * q) + net.alpha * n * ((nb + 1) * std::log2(p) + p) / nb +
         net.beta * n * n * (3 * p + q) / (2 * p * q);
}

double equivalent_bandwidth(const MemoryLayer& m) {
  return m.bytes_per_second / static_cast<double>(m.cores) * static_cast<double>(m.quad_words);
}

NetworkParameters memory_layer(const MemoryLayer& m, double bandwidth, const MclPrinted& printed) {
  return {printed.cycles_over_bandwidth ? m.cycles / bandwidth : m.cycles / m.clock_hz,
          printed.beta_per_byte ? 1 / bandwidth : seconds_per_word(bandwidth)};
}

double mcl_calculation_seconds(const ClosedFormRun& given, double gamma, const MclPrinted& printed) {
  const ClosedFormRun run = fitted(given);
  const auto n = static_cast<double>(run.n), nb = static_cast<double>(run.nb);
  const auto p = static_cast<double>(run.p), q = static_cast<double>(run.q);
  const double third = printed.third_term_squared ? n * n : n;
  const double shared = 2 * n * n * n / (3 * p * q);
  const double rest = nb * (3 * q + 3 * p + 6) * n * n / (6 * p * q) +
                      nb * nb * ((3 * p + 2) - (2 * p + 3) * q) * third / (6 * p * q);
  // With fewer blocks than some third of the rows or columns of processes the sums, which let a process own a fraction
  // of a block, take away more than there is.
  return gamma * (shared + (printed.third_term_squared ? rest : std::max(rest, 0.0)));
}

double mcl_communication_seconds(const ClosedFormRun& given, const NetworkParameters& net,
                                 const MclPrinted& printed) {
  const ClosedFormRun run = fitted(given);
  const auto n = static_cast<double>(run.n), nb = static_cast<double>(run.nb);
  const auto p = static_cast<double>(run.p), q = static_cast<double>(run.q);
  const double lg = std::log2(p);
  const double logs = (printed.log_without_p ? 4 * lg : 4 * p * lg) - 1;
  return net.alpha * n * ((nb + 1) * lg + p) / nb + net.beta * n * n * (q + 3 * p) / (2 * p * q) +
         net.beta * n * (nb * (logs * q + 3 * p) + 8 * p * q * lg) / (2 * p * q);
}

double mcl_seconds(const ClosedFormRun& given, double gamma, std::span<const MclLayer> layers,
                   const MclPrinted& printed, bool padded) {
  WEFT_CHECK(!layers.empty(), "no layers");
  ClosedFormRun run = fitted(given);
  if (padded) run.n = (run.n + run.nb - 1) / run.nb * run.nb;
  double t = mcl_calculation_seconds(run, gamma, printed);
  if (layers.size() == 1) return t + mcl_communication_seconds(run, layers[0].net, printed);
  const auto n = static_cast<double>(run.n), nb = static_cast<double>(run.nb);
  const auto p = static_cast<double>(run.p), q = static_cast<double>(run.q);
  const double lg = std::log2(p);
  // Columns up to which a layer that spans `part` of `whole` rows or columns of the grid reaches.
  const auto boundary = [&](std::int64_t part, double whole) {
    return std::min(n, nb * std::ceil(n * static_cast<double>(part) / (nb * whole)));
  };
  // Sum of (trailing size x NB) over the panels of [a, b), less half a panel each.
  const auto area = [&](double a, double b) {
    return printed.layers_restart ? (b - a) * (b - a) / 2 : ((n - a) * (n - a) - (n - b) * (n - b)) / 2;
  };
  double m0 = 0, n0 = 0;
  for (std::size_t j = 0; j < layers.size(); ++j) {
    const bool last = j + 1 == layers.size();
    const NetworkParameters& net = layers[j].net;
    const double m1 = last ? n : boundary(layers[j].p, p);
    const double n1 = last ? n : boundary(layers[j].q, q);
    t += (m1 - m0) * lg * (net.alpha + net.beta * (2 * nb + 4));                           // (27)
    t += net.alpha * (m1 - m0) / nb + net.beta * (area(m0, m1) - (m1 - m0) * nb / 2) / p;  // (28)
    t += net.alpha * (lg + p - 1) * (n1 - n0) / nb +
         3 * net.beta * (area(n0, n1) + (n1 - n0) * nb / 2) / q;  // (29)
    m0 = m1;
    n0 = n1;
  }
  return t;
}

double roofline_seconds(const ClosedFormRun& given, double peak_flops, double memory_bytes_per_second) {
  const ClosedFormRun run = fitted(given);
  const double compute = hpl_flops(run.n) / peak_flops;
  if (memory_bytes_per_second <= 0) return compute;
  const auto n = static_cast<double>(run.n), nb = static_cast<double>(run.nb);
  return std::max(compute, 16 * n * n * n / (3 * nb) / memory_bytes_per_second);
}

}  // namespace weft::hpl_gen
