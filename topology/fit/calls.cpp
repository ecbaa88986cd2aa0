#include "topology/fit/calls.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "topology/fit/median.hpp"

namespace weft::topology::fit {
namespace {

constexpr std::size_t kFewestToJudge = 3;
constexpr std::size_t kMostFar = 10;  // one of so many
constexpr double kNormalMad =
    1.4826;  // deviation of normal numbers over the median of their distances from the median

// Of the calls of one shape: those that are far, and the median of all.
std::vector<std::size_t> far_of(const std::vector<Call>& calls, const std::vector<std::size_t>& shape,
                                double& usual) {
  std::vector<std::size_t> far;
  if (shape.size() < kFewestToJudge) return far;
  std::vector<double> logs;
  logs.reserve(shape.size());
  for (const std::size_t i : shape) logs.push_back(std::log(calls[i].seconds));
  const double centre = median(logs);
  usual = std::exp(centre);
  for (double& x : logs) x = std::fabs(x - centre);
  const double bound = std::max(std::log(kFarFactor), kFarDeviations * kNormalMad * median(logs));
  for (const std::size_t i : shape)
    if (std::fabs(std::log(calls[i].seconds) - centre) > bound) far.push_back(i);
  if (far.size() > std::max<std::size_t>(1, shape.size() / kMostFar)) far.clear();
  return far;
}

}  // namespace

std::string family_of_kernel(const std::string& kernel) {
  for (const std::string_view side : {"_left", "_right"})
    if (kernel.ends_with(side)) return kernel.substr(0, kernel.size() - side.size());
  if (kernel.starts_with("dlaswp")) return "dlaswp";
  return kernel;
}

Result<std::vector<Call>> read_calls(const Measurements& d, const std::vector<std::size_t>& rows,
                                     const KernelFitOptions& o) {
  auto cm = d.find({"m", "M", "n_elements"}), cn = d.find({"n", "N"});
  const auto ck = d.find({"k", "K"}), ct = d.find({"seconds", "duration", "time"});
  // A vector's length has either name.
  if (o.dimensions == "m" && !cm) std::swap(cm, cn);
  for (const auto& [name, column] : {std::pair('m', cm), std::pair('n', cn), std::pair('k', ck)})
    if (!column && o.dimensions.find(name) != std::string::npos)
      return bad_input(d.file() + ":1:1", fmt::format("{} has a dimension that the file has not", o.kernel),
                       fmt::format("{}", fmt::join(d.columns(), ",")), fmt::format("a column {}", name));
  std::vector<Call> out;
  out.reserve(rows.size());
  for (const std::size_t r : rows) {
    Call c;
    c.row = r;
    for (const auto& [column, value] : {std::pair(cm, &c.m), std::pair(cn, &c.n), std::pair(ck, &c.k)}) {
      if (!column) continue;
      WEFT_ASSIGN(*value, d.number(r, *column, 0, 1e12));
    }
    WEFT_ASSIGN(c.seconds, d.number(r, *ct, 1e-15, 1e9));
    out.push_back(c);
  }
  return out;
}

std::vector<FarCall> take_far_calls(const Measurements& d, std::vector<Call>& calls) {
  std::map<std::tuple<double, double, double>, std::vector<std::size_t>> shapes;
  for (std::size_t i = 0; i < calls.size(); ++i) shapes[calls[i].shape()].push_back(i);
  std::vector<FarCall> out;
  std::vector<bool> taken(calls.size(), false);
  for (const auto& [shape, list] : shapes) {
    double usual = 0;
    for (const std::size_t i : far_of(calls, list, usual)) {
      const Call& c = calls[i];
      out.push_back({d.where(c.row, 0), c.m, c.n, c.k, c.seconds / usual, list.size()});
      taken[i] = true;
    }
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < calls.size(); ++i)
    if (!taken[i]) calls[kept++] = calls[i];
  calls.resize(kept);
  return out;
}

}  // namespace weft::topology::fit
