// KernelPolynomial: c0 + c1*(m n k) + c2*(m n) + c3*(m k) + c4*(n k), seconds of a call by the dimensions of its
// matrices.
//
// The one place that lists the coefficients: what a call costs, how far it scatters and what it moves to a device are
// each one of these. Files name a coefficient by its term ("mnk"), scatter by "noise_mnk" (platform.proto), the
// columns of regressions by "mnk_residual" (topology/fit/kernel_fit.hpp). Equations: docs/kernels.md.
#pragma once

#include <array>
#include <string_view>

namespace weft::topology {

struct KernelPolynomial {
  bool operator==(const KernelPolynomial&) const = default;
  double intercept = 0, mnk = 0, mn = 0, mk = 0, nk = 0;

  [[nodiscard]] double operator()(double m, double n, double k) const {
    return intercept + mnk * (m * n * k) + mn * (m * n) + mk * (m * k) + nk * (n * k);
  }

  struct Term {
    std::string_view name;
    double KernelPolynomial::*coefficient;
    double (*factor)(double m, double n, double k);  // what the coefficient is multiplied by
  };
  static const std::array<Term, 5> kTerms;
};

// In the order in which they are added, read and written.
inline constexpr std::array<KernelPolynomial::Term, 5> KernelPolynomial::kTerms = {{
    {"intercept", &KernelPolynomial::intercept, [](double, double, double) { return 1.0; }},
    {"mnk", &KernelPolynomial::mnk, [](double m, double n, double k) { return m * n * k; }},
    {"mn", &KernelPolynomial::mn, [](double m, double n, double) { return m * n; }},
    {"mk", &KernelPolynomial::mk, [](double m, double, double k) { return m * k; }},
    {"nk", &KernelPolynomial::nk, [](double, double n, double k) { return n * k; }},
}};

}  // namespace weft::topology
