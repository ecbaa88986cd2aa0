#include "topology/fit/kernel_fit.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <map>
#include <numbers>
#include <span>
#include <tuple>

#include "core/numbers/least_squares.hpp"
#include "topology/fit/calls.hpp"
#include "topology/fit/median.hpp"
#include "topology/platform/compute_reader.hpp"

namespace weft::topology::fit {
namespace {

using Key = std::pair<std::int64_t, std::int64_t>;  // node, cpu
constexpr double kMaxIndex = 1e9;
constexpr std::size_t kWorstShapes = 3;

double centre(const std::vector<double>& v, bool mean) {
  if (!mean || v.empty()) return median(v);
  double sum = 0;
  for (const double x : v) sum += x;
  return sum / static_cast<double>(v.size());
}

// Terms of the polynomial that a model has, from the first.
std::size_t terms_of(KernelModel m) {
  switch (m) {
    case KernelModel::kLinear:
      return 2;
    case KernelModel::kFull:
      return KernelPolynomial::kTerms.size();
    case KernelModel::kRate:
      return 1;
  }
  return 0;
}

// c4(n): the standard deviation of a sample of n normal numbers on the mean, in theirs (E. E. Cureton, "Unbiased
// estimation of the standard deviation", The American Statistician 22(1), 1968): c4(n) c4(n + 1) = sqrt((n - 1) / n).
double mean_deviation(std::size_t n) {
  double c4 = std::sqrt(2 / std::numbers::pi);
  for (std::size_t i = 2; i < n; ++i)
    c4 = std::sqrt(static_cast<double>(i - 1) / static_cast<double>(i)) / c4;
  return c4;
}

// Noise is what calls of one shape scatter by: a constant and a part of the time, least squares over the standard
// deviations of the shapes, which say the more the more calls they have. What the means of the shapes are off by is
// misfit. All are relative to `time`, a call's.
void split_residual(const std::vector<Call>& calls, const std::vector<double>& fitted,
                    const std::vector<double>& time, CpuFit& c) {
  struct Sums {
    std::size_t n = 0;
    double time = 0, sum = 0, squares = 0;  // the last two of (seconds - fit) / time: no cancellation
  };
  std::map<std::tuple<double, double, double>, Sums> shapes;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    Sums& s = shapes[calls[i].shape()];
    const double off = (calls[i].seconds - fitted[i]) / time[i];
    s.time = time[i];
    ++s.n;
    s.sum += off;
    s.squares += off * off;
  }
  double between = 0;
  std::vector<std::vector<double>> columns(2);
  std::vector<double> deviation, weight;
  for (const auto& [shape, s] : shapes) {
    const auto n = static_cast<double>(s.n);
    const double off = s.sum / n;
    between += off * off;
    const auto& [m, nn, k] = shape;
    c.worst.push_back({m, nn, k, off});
    if (s.n < 2) continue;
    columns[0].push_back(1);
    columns[1].push_back(s.time);
    const double sample = std::sqrt(std::max(0.0, s.squares - n * off * off) / (n - 1));
    deviation.push_back(s.time * sample / mean_deviation(s.n));
    weight.push_back((n - 1) / (s.time * s.time));
  }
  c.shapes = shapes.size();
  c.repeated = deviation.size();
  c.misfit = std::sqrt(between / static_cast<double>(shapes.size()));
  for (std::size_t i = 0; i < deviation.size(); ++i)
    c.scatter += deviation[i] / columns[1][i] / static_cast<double>(deviation.size());
  if (c.repeated >= 2) {
    LinearFit f = solve_least_squares(columns, deviation, weight);
    for (std::size_t j = 0; j < columns.size(); ++j) {
      if (f.coefficient[j] >= 0) continue;
      std::fill(columns[j].begin(), columns[j].end(), 0.0);
      f = solve_least_squares(columns, deviation, weight);
    }
    c.noise_time.intercept = f.coefficient[0];
    c.noise = f.coefficient[1];
  } else {
    c.noise = c.scatter;
  }
  const std::size_t kept = std::min(kWorstShapes, c.worst.size());
  std::partial_sort(
      c.worst.begin(), c.worst.begin() + static_cast<std::ptrdiff_t>(kept), c.worst.end(),
      [](const ShapeMiss& a, const ShapeMiss& b) { return std::abs(a.deviation) > std::abs(b.deviation); });
  c.worst.resize(kept);
}

// What is fitted to calls: the terms of the model, and the flops if there is a rate.
using Columns = std::vector<std::vector<double>>;
std::size_t column_count(const KernelFitOptions& o) {
  return terms_of(o.model) + (o.model == KernelModel::kRate ? 1 : 0);
}
std::string_view column_name(std::size_t j, const KernelFitOptions& o) {
  return j < terms_of(o.model) ? KernelPolynomial::kTerms[j].name : "flops";
}
void add_shape(Columns& columns, double m, double n, double k, const KernelFitOptions& o) {
  const std::size_t terms = terms_of(o.model);
  columns.resize(column_count(o));
  for (std::size_t j = 0; j < terms; ++j) columns[j].push_back(KernelPolynomial::kTerms[j].factor(m, n, k));
  if (columns.size() > terms) columns[terms].push_back(o.flops(m, n, k));
}

// Small calls would take less than no time with an intercept below 0.
LinearFit solve_from_zero(const Columns& columns, const std::vector<double>& y,
                          const std::vector<double>& w) {
  LinearFit f = solve_least_squares(columns, y, w);
  if (f.coefficient.front() >= 0) return f;
  Columns without = columns;
  std::fill(without.front().begin(), without.front().end(), 0.0);
  return solve_least_squares(without, y, w);
}

// Shapes with the mean of their calls: these have the same least squares as the calls, and are fewer.
struct Shapes {
  Columns columns;
  std::vector<double> mean, calls;
  std::map<std::tuple<double, double, double>, std::size_t> index;
};
Shapes shapes_of(const std::vector<Call>& calls, const KernelFitOptions& o) {
  Shapes s;
  for (const Call& c : calls) {
    const auto [at, added] = s.index.try_emplace(c.shape(), s.mean.size());
    if (added) {
      s.mean.push_back(0);
      s.calls.push_back(0);
      add_shape(s.columns, c.m, c.n, c.k, o);
    }
    s.mean[at->second] += c.seconds;
    ++s.calls[at->second];
  }
  for (std::size_t i = 0; i < s.mean.size(); ++i) s.mean[i] /= s.calls[i];
  return s;
}

// What the errors of each shape are relative to: its fit, which depends on them. First the mean of its calls.
std::vector<double> scales_of(const Shapes& s) {
  constexpr int kRounds = 40;
  constexpr double kSettled = 1e-9;
  constexpr double kLeast = 1.0 / 16;  // of the mean: where a fit falls to nothing a weight has an end
  std::vector<double> scale = s.mean, weight(s.mean.size());
  double change = 1;
  for (int round = 0; round < kRounds && change > kSettled; ++round) {
    for (std::size_t i = 0; i < weight.size(); ++i) weight[i] = s.calls[i] / (scale[i] * scale[i]);
    const LinearFit f = solve_from_zero(s.columns, s.mean, weight);
    change = 0;
    for (std::size_t i = 0; i < scale.size(); ++i) {
      double fitted = 0;
      for (std::size_t j = 0; j < s.columns.size(); ++j) fitted += f.coefficient[j] * s.columns[j][i];
      fitted = std::max(fitted, kLeast * s.mean[i]);
      change = std::max(change, std::fabs(fitted / scale[i] - 1));
      scale[i] = fitted;
    }
  }
  return scale;
}

// Which columns no shapes of the kernel can tell apart: it has not all dimensions, or the fit is for one k.
std::vector<bool> same_by_nature(const KernelFitOptions& o, double one_k) {
  const auto sizes = [&](char name) {
    const bool has = o.dimensions.find(name) != std::string::npos;
    if (name == 'k' && one_k > 0) return std::vector<double>{one_k};
    return has ? std::vector<double>{30, 200, 1100} : std::vector<double>{1};
  };
  Columns columns;
  for (const double m : sizes('m'))
    for (const double n : sizes('n'))
      for (const double k : sizes('k')) add_shape(columns, m, n, k, o);
  const std::vector<double> one(columns.front().size(), 1);
  return solve_least_squares(columns, one, one).explained;
}

void warn_once(std::string w, std::vector<std::string>& warnings) {
  if (std::find(warnings.begin(), warnings.end(), w) == warnings.end()) warnings.push_back(std::move(w));
}

// Names of the columns that explain the j-th.
std::vector<std::string_view> explaining(const Shapes& s, std::size_t j, const KernelFitOptions& o) {
  const Columns before(s.columns.begin(), s.columns.begin() + static_cast<std::ptrdiff_t>(j));
  std::vector<double> weight;
  for (const double y : s.columns[j]) weight.push_back(y > 0 ? 1 / (y * y) : 1);
  const LinearFit f = solve_least_squares(before, s.columns[j], weight);
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < j; ++i) {
    const double part = f.coefficient[i] * s.columns[i].front() / std::max(s.columns[j].front(), 1e-300);
    if (std::fabs(part) > 1e-6) names.push_back(column_name(i, o));
  }
  return names;
}

// Terms that the shapes cannot tell apart are named; where the work is one of them there is nothing to fit.
Result<void> check_shapes(const Shapes& s, const std::vector<Call>& calls, const std::string& where,
                          const KernelFitOptions& o, double one_k, std::vector<std::string>& warnings) {
  if (s.mean.size() < column_count(o))
    return bad_input(where, "too few shapes for the model",
                     fmt::format("{} in {} calls", s.mean.size(), calls.size()),
                     fmt::format("calls of at least {} shapes per CPU", column_count(o)));
  std::vector<double> weight;
  for (const double t : s.mean) weight.push_back(1 / (t * t));
  const LinearFit f = solve_least_squares(s.columns, s.mean, weight);
  const std::vector<bool> natural = same_by_nature(o, one_k);
  const bool same_k =
      std::all_of(calls.begin(), calls.end(), [&](const Call& c) { return c.k == calls[0].k; });
  for (std::size_t j = 1; j < s.columns.size(); ++j) {
    if (!f.explained[j] || natural[j]) continue;
    const auto names = explaining(s, j, o);
    if (j == 1)
      return bad_input(where, "the shapes do not show how the time grows with the work",
                       fmt::format("the same {} in all", column_name(j, o)), "shapes of different size");
    std::string w =
        fmt::format("{} cannot be told from {}: {} is written as 0, {} as both", column_name(j, o),
                    fmt::join(names, ", "), column_name(j, o), fmt::join(names, ", "));
    w += same_k && column_name(j, o) == "mn"
             ? fmt::format(
                   ", which is right for k = {0:.0f} alone, the k of all calls; measure others, or say "
                   "--for-k {0:.0f}",
                   calls[0].k)
             : "; measure shapes whose m, n and k vary independently";
    warn_once(std::move(w), warnings);
  }
  return {};
}

// `one_k`: the fit is for calls of this k; 0 = of any.
Result<CpuFit> fit_calls(const std::vector<Call>& calls, const std::string& where, const KernelFitOptions& o,
                         double one_k, std::vector<std::string>& warnings) {
  const Shapes shapes = shapes_of(calls, o);
  WEFT_TRY(check_shapes(shapes, calls, where, o, one_k, warnings));
  const std::vector<double> scale = scales_of(shapes);
  Columns columns;
  std::vector<double> y, w;
  for (const Call& c : calls) {
    add_shape(columns, c.m, c.n, c.k, o);
    y.push_back(c.seconds);
    const double relative_to = scale[shapes.index.at(c.shape())];
    w.push_back(1 / (relative_to * relative_to));
  }
  const LinearFit f = solve_from_zero(columns, y, w);
  const std::size_t terms = terms_of(o.model);
  CpuFit c;
  for (std::size_t j = 0; j < terms; ++j) c.time.*KernelPolynomial::kTerms[j].coefficient = f.coefficient[j];
  if (columns.size() > terms) c.per_flop = f.coefficient[terms];
  std::vector<double> fitted(y.size());
  for (std::size_t i = 0; i < y.size(); ++i)
    for (std::size_t j = 0; j < columns.size(); ++j) fitted[i] += f.coefficient[j] * columns[j][i];
  const auto least = std::min_element(fitted.begin(), fitted.end());
  if (*least > 0) {
    split_residual(calls, fitted, fitted, c);
  } else {
    // A fit that falls to nothing somewhere has nothing to be relative to: the mean of each shape is.
    std::vector<double> mean;
    mean.reserve(calls.size());
    for (const Call& call : calls) mean.push_back(shapes.mean[shapes.index.at(call.shape())]);
    split_residual(calls, fitted, mean, c);
    const Call& at = calls[static_cast<std::size_t>(least - fitted.begin())];
    warn_once(
        fmt::format("the fit is below 0 at {:.0f} x {:.0f} x {:.0f}, where a replay takes no time: fit fewer "
                    "sizes, or k alone with --for-k, or choose another --model",
                    at.m, at.n, at.k),
        warnings);
  }
  c.rows = calls.size();
  c.r2 = f.r2;
  c.mean_relative = f.mean_relative;
  c.max_relative = f.max_relative;
  return c;
}

// One fit for each part, and one of what no part holds; of everything if they hold all.
Result<CpuFit> fit_parts(const Measurements& d, const std::vector<std::size_t>& rows,
                         const KernelFitOptions& o, KernelFit& out) {
  WEFT_ASSIGN(std::vector<Call> calls, read_calls(d, rows, o));
  for (FarCall& far : take_far_calls(d, calls)) out.far.push_back(std::move(far));
  const std::string where = d.where(rows.front(), 0);
  std::vector<CpuFit> parts;
  for (const FitPart& p : o.parts) {
    std::vector<Call> own;
    std::copy_if(calls.begin(), calls.end(), std::back_inserter(own),
                 [&](const Call& c) { return c.k == static_cast<double>(p.k); });
    if (own.empty())
      return bad_input(where, "no call has this k", fmt::format("{}", p.k), "a k that was measured");
    WEFT_ASSIGN(CpuFit part, fit_calls(own, where, o, static_cast<double>(p.k), out.warnings));
    part.bounds.k = p.bounds;
    parts.push_back(std::move(part));
  }
  std::vector<Call> rest;
  std::copy_if(calls.begin(), calls.end(), std::back_inserter(rest), [&](const Call& c) {
    return std::none_of(o.parts.begin(), o.parts.end(), [&](const FitPart& p) {
      return static_cast<double>(p.bounds.from) <= c.k && c.k <= static_cast<double>(p.bounds.to);
    });
  });
  // What no part holds was not measured: the fit of all is not one of these calls, and its terms are nobody's.
  std::vector<std::string> unheard;
  WEFT_ASSIGN(CpuFit all, rest.empty() ? fit_calls(calls, where, o, 0, unheard)
                                       : fit_calls(rest, where, o, 0, out.warnings));
  all.rows = calls.size();
  all.parts = std::move(parts);
  return all;
}

Result<std::int64_t> whole_number(const Measurements& d, std::size_t row, std::size_t column) {
  WEFT_ASSIGN(const double v, d.number(row, column, 0, kMaxIndex));
  if (v != std::floor(v))
    return bad_input(d.where(row, column), fmt::format("{} is not a whole number", d.columns()[column]),
                     std::string(d.text(row, column)), "a whole number");
  return static_cast<std::int64_t>(v);
}

void tell_far(KernelFit& f) {
  constexpr std::size_t kTold = 5;
  for (std::size_t i = 0; i < std::min(kTold, f.far.size()); ++i) {
    const FarCall& c = f.far[i];
    f.warnings.push_back(fmt::format(
        "{}: {:.0f} x {:.0f} x {:.0f} took {:.3g} times the median of the {} calls of its shape: left out",
        c.where, c.m, c.n, c.k, c.times, c.calls));
  }
  if (f.far.size() > kTold)
    f.warnings.push_back(
        fmt::format("{} calls more are far from the others of their shape: left out", f.far.size() - kTold));
}

Result<CpuFit> centre_of_regressions(const Measurements& d, const std::vector<std::size_t>& rows,
                                     const KernelFitOptions& o) {
  CpuFit c;
  const auto read = [&](std::string_view suffix, KernelPolynomial& to) -> Result<void> {
    for (const KernelPolynomial::Term& term : KernelPolynomial::kTerms) {
      const auto column = d.find({fmt::format("{}{}", term.name, suffix)});
      if (!column) continue;
      std::vector<double> v;
      for (const std::size_t r : rows) {
        WEFT_ASSIGN(const double x, d.number(r, *column, -1e3, 1e3));
        v.push_back(x);
      }
      const double value = to.*term.coefficient = centre(v, o.mean);
      if (&(to.*term.coefficient) != &c.time.mnk) continue;
      for (double& x : v) x = std::fabs(x - value);
      c.spread = value != 0 ? 1.4826 * median(std::move(v)) / std::fabs(value) : 0;
    }
    return {};
  };
  WEFT_TRY(read("", c.time));
  WEFT_TRY(read("_residual", c.noise_time));
  c.rows = rows.size();
  return c;
}

// A fit of calls or regressions that costs less the larger a call is, is none: the platform would refuse it.
Result<void> check_cost(const CpuFit& c, const KernelFitOptions& o, const std::string& where) {
  for (const CpuFit& part : c.parts) WEFT_TRY(check_cost(part, o, where));
  const auto by_flops = [&](double m, double n, double k) {
    return c.per_flop != 0 && o.flops ? c.per_flop * o.flops(m, n, k) : 0;
  };
  if (!falls_below_zero(c.time, c.bounds, by_flops)) return {};
  return bad_input(where, "fitted large calls take less than no time",
                   fmt::format("{:.4g} ps per mnk", 1e12 * (c.per_flop != 0 ? c.per_flop : c.time.mnk)),
                   "measurements whose time grows with the work, or another --model");
}

// " mn: \"...\"" of each coefficient that is not 0; those of `always` first terms in any case.
std::string polynomial_text(std::string_view prefix, const KernelPolynomial& p, std::size_t always) {
  std::string s;
  for (std::size_t j = 0; j < KernelPolynomial::kTerms.size(); ++j) {
    const auto& [name, coefficient, factor] = KernelPolynomial::kTerms[j];
    const double v = p.*coefficient;
    if (j >= always && v == 0) continue;
    s += j == 0 ? fmt::format(" {}{}: \"{:.6g}us\"", prefix, name, v * 1e6)
                : fmt::format(" {}{}: \"{:.6g}ps\"", prefix, name, v * 1e12);
  }
  return s;
}

std::string kernel_text(const KernelFit& f, const CpuFit& c) {
  const bool rate = f.options.model == KernelModel::kRate && !f.from_regressions;
  std::string s = fmt::format("kernel {{ name: \"{}\"", f.options.kernel);
  if (!c.bounds.all()) s += fmt::format(" for_k: \"{}\"", text_of(c.bounds.k));
  s += polynomial_text("", c.time, rate ? 1 : 2);
  if (rate) s += fmt::format(" rate: \"{:.6g}Gflops\"", c.per_flop > 0 ? 1e-9 / c.per_flop : 1e9);
  s += polynomial_text("noise_", c.noise_time, 0);
  if (c.noise != 0) s += fmt::format(" noise: \"{:.4g}\"", c.noise);
  return s + " }";
}

CpuFit mean_of(std::span<const CpuFit> fits) {
  CpuFit mean;
  const auto n = static_cast<double>(fits.size());
  for (const CpuFit& c : fits) {
    for (const auto& term : KernelPolynomial::kTerms) {
      mean.time.*term.coefficient += c.time.*term.coefficient / n;
      mean.noise_time.*term.coefficient += c.noise_time.*term.coefficient / n;
    }
    for (double CpuFit::*field :
         {&CpuFit::per_flop, &CpuFit::noise, &CpuFit::scatter, &CpuFit::misfit, &CpuFit::r2,
          &CpuFit::mean_relative, &CpuFit::max_relative, &CpuFit::spread})
      mean.*field += c.*field / n;
    mean.rows += c.rows;
    mean.shapes += c.shapes;
    mean.repeated += c.repeated;
  }
  mean.bounds = fits.front().bounds;
  for (std::size_t j = 0; j < fits.front().parts.size(); ++j) {
    std::vector<CpuFit> parts;
    parts.reserve(fits.size());
    for (const CpuFit& c : fits) parts.push_back(c.parts[j]);
    mean.parts.push_back(mean_of(parts));
  }
  return mean;
}

}  // namespace

double KernelFit::seconds(const CpuFit& c, double m, double n, double k) const {
  for (const CpuFit& part : c.parts)
    if (part.bounds.k.holds(static_cast<std::int64_t>(k))) return seconds(part, m, n, k);
  double t = c.time(m, n, k);
  if (c.per_flop != 0 && options.flops) t += c.per_flop * options.flops(m, n, k);
  return t;
}

std::string KernelFit::textproto() const {
  std::string s = "host {\n";
  if (per_cpu && sockets > 1) s += fmt::format("  sockets: {}\n", sockets);
  for (const CpuFit& part : mean.parts) s += "  " + kernel_text(*this, part) + "\n";
  s += "  " + kernel_text(*this, mean) + "\n";
  if (per_cpu)
    for (const CpuFit& c : cpus) {
      s += fmt::format("  group {{ hosts: \"{}\" ", c.host);
      if (sockets > 1) s += fmt::format("socket: {} ", c.socket);
      for (const CpuFit& part : c.parts) s += kernel_text(*this, part) + " ";
      s += kernel_text(*this, c) + " }";
      if (named_nodes) s += fmt::format("  # node {}", c.node);
      if (named_nodes && sockets > 1) s += fmt::format(", cpu {}", c.cpu);
      s += "\n";
    }
  return s + "}\n";
}

Result<KernelFit> fit_kernel(const Measurements& d, const KernelFitOptions& o) {
  KernelFit out;
  out.options = o;
  if (d.format() != Measurements::Format::kCsv)
    return bad_input(d.file(), "not kernel measurements", "output of an MPI benchmark",
                     "CSV; weft fit network reads this file");
  out.from_regressions = d.find({"mnk"}).has_value() && d.find({"intercept"}).has_value();
  if (!out.from_regressions && (!d.find({"seconds", "duration", "time"}) || !d.find({"m", "M", "n", "N"})))
    return bad_input(
        d.file() + ":1:1", "columns of no known kind", fmt::format("{}", fmt::join(d.columns(), ",")),
        "m,n,k,seconds [,node,cpu] or intercept,mnk [,mn,mk,nk,...residual,node,cpu,start_time]");
  const auto node = d.find({"node"}), cpu = d.find({"cpu"}), start = d.find({"start_time"});
  const auto function = d.find({"function"}), cluster = d.find({"cluster"});
  if ((o.from_time > -1e300 || o.to_time < 1e300) && !start)
    return bad_input(d.file() + ":1:1", "rows have no dates to choose by",
                     fmt::format("{}", fmt::join(d.columns(), ",")), "a column start_time");
  if (!o.cluster.empty() && !cluster)
    return bad_input(d.file() + ":1:1", "rows have no cluster to choose by",
                     fmt::format("{}", fmt::join(d.columns(), ",")), "a column cluster");
  const std::string family = family_of_kernel(o.kernel);
  std::map<Key, std::vector<std::size_t>> groups;
  for (std::size_t r = 0; r < d.rows(); ++r) {
    const bool named = !function || d.text(r, *function) == o.kernel || d.text(r, *function) == family;
    if (!named || (cluster && !o.cluster.empty() && d.text(r, *cluster) != o.cluster)) {
      ++out.left_out;
      continue;
    }
    if (start) {
      WEFT_ASSIGN(const double t, d.number(r, *start));
      if (t < o.from_time || t >= o.to_time) {
        ++out.left_out;
        continue;
      }
      out.first_time = out.rows == 0 ? t : std::min(out.first_time, t);
      out.last_time = out.rows == 0 ? t : std::max(out.last_time, t);
    }
    Key key{0, 0};
    for (const auto& [column, number] : {std::pair(node, &key.first), std::pair(cpu, &key.second)}) {
      if (!column) continue;
      WEFT_ASSIGN(*number, whole_number(d, r, *column));
    }
    groups[key].push_back(r);
    ++out.rows;
  }
  if (groups.empty())
    return bad_input(d.file(), "no row is left to fit", fmt::format("{} left out", out.left_out),
                     fmt::format("rows of kernel {}{}, within the dates", o.kernel,
                                 o.cluster.empty() ? "" : " on cluster " + o.cluster));
  out.named_nodes = node.has_value();
  out.per_cpu = node.has_value() || cpu.has_value();
  std::map<std::int64_t, std::uint32_t> host_of, socket_of;
  for (const auto& [key, rows] : groups) {
    host_of.try_emplace(key.first, 0);
    socket_of.try_emplace(key.second, 0);
  }
  for (auto* map : {&host_of, &socket_of}) {
    std::uint32_t i = 0;
    for (auto& [number, index] : *map) index = i++;
  }
  out.hosts = static_cast<std::uint32_t>(host_of.size());
  out.sockets = static_cast<std::uint32_t>(socket_of.size());
  for (const auto& [key, rows] : groups) {
    WEFT_ASSIGN(CpuFit c,
                out.from_regressions ? centre_of_regressions(d, rows, o) : fit_parts(d, rows, o, out));
    WEFT_TRY(check_cost(c, o, d.where(rows.front(), 0)));
    c.node = key.first;
    c.cpu = key.second;
    c.host = host_of[key.first];
    c.socket = socket_of[key.second];
    out.cpus.push_back(std::move(c));
  }
  out.rows -= out.far.size();
  out.left_out += out.far.size();
  tell_far(out);
  out.mean = mean_of(out.cpus);
  out.mean.rows = out.rows;
  return out;
}

Result<double> parse_date(const std::string& text, const std::string& where) {
  int year = 0, end = 0;
  unsigned month = 0, day = 0;
  const bool read = std::sscanf(text.c_str(), "%4d-%2u-%2u%n", &year, &month, &day, &end) == 3 &&
                    static_cast<std::size_t>(end) == text.size();
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(month),
                                         std::chrono::day(day)};
  if (!read || !date.ok()) return bad_input(where, "not a date", text, "YYYY-MM-DD");
  return 86400.0 * static_cast<double>(std::chrono::sys_days(date).time_since_epoch().count());
}

}  // namespace weft::topology::fit
