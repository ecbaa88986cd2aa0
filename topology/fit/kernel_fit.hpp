// Kernel coefficients of a platform from measured calls: what `weft fit dgemm` does.
//
// Two kinds of input, told apart by their columns:
//  1. calls: m, n, k (absent ones count 1) and seconds, duration or time; with node and cpu columns every CPU is fitted
//     alone. Least squares relative to the fit: weights 1/fit^2, found by repeating, so that small calls count as large
//     ones do. 1/t^2 would count slow calls less than fast ones and come out below their mean, which is what a replay
//     scatters around. An intercept that would be below 0 is 0. Calls far from the others of their shape (calls.hpp) are
//     left out and told. Calls of one k may have a fit of their own (KernelFitOptions::parts). Noise is how far calls of the same shape scatter;
//     what the fit is off by beyond that is misfit, and no noise: where every shape was called once, nobody can tell.
//  2. regressions: intercept, mnk (and what there is of mn, mk, nk, intercept_residual, mnk_residual), one row per CPU
//     and day. A CPU's coefficients are the medians over its rows: one bad day moves nothing.
// Nodes become hosts in ascending order, whatever their numbers, which the fragment names in comments; `hosts` counts them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "topology/fit/measurements.hpp"
#include "topology/platform/compute_model.hpp"

namespace weft::topology::fit {

enum class KernelModel : std::uint8_t {
  kLinear,  // intercept + mnk
  kFull,    // intercept + mnk + mn + mk + nk
  kRate,    // intercept + flops / rate
};

// Calls with this k are fitted alone, for all calls with k in `bounds`.
struct FitPart {
  std::int64_t k = 0;
  ShapeBounds::Range bounds;
};

struct KernelFitOptions {
  std::string kernel = "dgemm";
  std::string dimensions = "mnk";  // which of them the kernel has
  KernelModel model = KernelModel::kLinear;
  std::function<double(double m, double n, double k)>
      flops;                                   // of the kernel; for kRate and for printed rates
  std::string cluster;                         // rows of others are left out; empty = all
  double from_time = -1e300, to_time = 1e300;  // start_time, Unix seconds: [from, to)
  bool mean = false;                           // regressions: mean over rows, not median
  std::vector<FitPart> parts;                  // calls; ascending, bounds do not overlap
};

// A shape that the fit misses.
struct ShapeMiss {
  double m = 1, n = 1, k = 1;
  double deviation = 0;  // of the mean of its calls from the fit, relative to the fit
};

// A call that is far from the others of its shape, left out.
struct FarCall {
  std::string where;  // its row
  double m = 1, n = 1, k = 1;
  double times = 1;       // the median of its shape
  std::size_t calls = 0;  // of that shape
};

// One CPU, or the mean of all.
struct CpuFit {
  std::int64_t node = 0, cpu = 0;
  std::uint32_t host = 0, socket = 0;
  std::size_t rows = 0;
  KernelPolynomial time;        // seconds
  double per_flop = 0;          // seconds
  KernelPolynomial noise_time;  // standard deviation of a call, seconds
  double noise = 0;             // ... and as a part of the time
  ShapeBounds bounds;           // of the calls that it is for
  std::vector<CpuFit> parts;  // one for each of the options' parts; this is for calls that none of them holds
  // Calls: shapes, those called more than once, mean over these of their relative standard deviation (not too low
  // where calls are few), root mean square over all of what the fit is off by, and the worst.
  std::size_t shapes = 0, repeated = 0;
  double scatter = 0, misfit = 0;
  std::vector<ShapeMiss> worst;
  // Calls: quality of the fit. Regressions: relative spread of mnk over the rows (1.4826 MAD / median).
  double r2 = 0, mean_relative = 0, max_relative = 0, spread = 0;
};

struct KernelFit {
  KernelFitOptions options;
  bool from_regressions = false;
  bool per_cpu = false;
  std::vector<CpuFit> cpus;  // by host, then socket
  CpuFit mean;               // of the coefficients over CPUs
  bool named_nodes = false;  // the file has a column of nodes
  std::vector<FarCall> far;  // counted by left_out
  std::vector<std::string> warnings;
  std::uint32_t hosts = 0, sockets = 1;
  std::size_t rows = 0, left_out = 0;
  double first_time = 0, last_time = 0;  // of the rows used; 0 without start_time

  // Seconds of a call by the fit of `c`.
  [[nodiscard]] double seconds(const CpuFit& c, double m, double n, double k) const;
  // Platform fragment: host { sockets kernel { } group { } ... }.
  [[nodiscard]] std::string textproto() const;
};

[[nodiscard]] Result<KernelFit> fit_kernel(const Measurements& data, const KernelFitOptions& options);
// "2019-11-27" -> Unix seconds of its midnight UTC.
[[nodiscard]] Result<double> parse_date(const std::string& text, const std::string& where);

}  // namespace weft::topology::fit
