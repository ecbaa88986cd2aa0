#include "report/hpl/seed_spread.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

namespace weft::report {
namespace {

using predict::HplPrediction;
using Runs = std::span<const HplPrediction>;

template <class Value>
std::vector<double> values_of(Runs runs, const Value& value) {
  std::vector<double> out;
  out.reserve(runs.size());
  for (const HplPrediction& r : runs) out.push_back(std::invoke(value, r));
  return out;
}

nlohmann::ordered_json spread_json(const Spread& s) {
  return {{"mean", s.mean}, {"stddev", s.stddev}, {"least", s.least}, {"most", s.most}};
}

}  // namespace

Spread spread_of(std::span<const double> values) {
  Spread s;
  if (values.empty()) return s;
  const auto n = static_cast<double>(values.size());
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  s.least = *least;
  s.most = *most;
  // From the least on: equal values have themselves as their mean, to the last bit.
  double above = 0;
  for (const double v : values) above += v - s.least;
  s.mean = s.least + above / n;
  double squares = 0;
  for (const double v : values) squares += (v - s.mean) * (v - s.mean);
  if (values.size() > 1) s.stddev = std::sqrt(squares / (n - 1));
  return s;
}

std::vector<SeedGroup> seed_groups(std::span<const std::size_t> group) {
  std::vector<SeedGroup> out;
  for (std::size_t i = 0; i < group.size(); ++i) {
    if (i == 0 || group[i] != group[i - 1]) out.push_back({i, 0});
    ++out.back().count;
  }
  return out;
}

HplPrediction mean_of(Runs runs) {
  HplPrediction m = runs.front();
  m.panels.clear();
  for (double HplPrediction::*part :
       {&HplPrediction::time_s, &HplPrediction::gflops, &HplPrediction::efficiency, &HplPrediction::pfact_s,
        &HplPrediction::bcast_s, &HplPrediction::swap_s, &HplPrediction::update_s, &HplPrediction::solve_s,
        &HplPrediction::bcast_took_s})
    m.*part = spread_of(values_of(runs, part)).mean;
  for (const HplPrediction& r : runs) {
    if (!r.device_s) m.device_s = m.device_hidden_s = std::nullopt;
    if (!r.error_estimate) m.error_estimate.reset();
    if (m.error_estimate) m.error_estimate = std::max(*m.error_estimate, *r.error_estimate);
    if (r.busiest_utilization > m.busiest_utilization) {
      m.busiest_link = r.busiest_link;
      m.busiest_utilization = r.busiest_utilization;
    }
  }
  for (std::optional<double> HplPrediction::*part :
       {&HplPrediction::device_s, &HplPrediction::device_hidden_s})
    if (m.*part) m.*part = spread_of(values_of(runs, [part](const auto& r) { return *(r.*part); })).mean;
  return m;
}

Spread gflops_of(Runs runs) { return spread_of(values_of(runs, &HplPrediction::gflops)); }

nlohmann::ordered_json seed_spread_json(Runs runs) {
  const HplPrediction& r = runs.front();
  const auto& c = r.config;
  return {{"platform", r.platform},
          {"label", r.label},
          {"n", c.n},
          {"nb", c.nb},
          {"p", c.p},
          {"q", c.q},
          {"pfact", hpl_gen::name_of(c.pfact)},
          {"nbmin", c.nbmin},
          {"rfact", hpl_gen::name_of(c.rfact)},
          {"ndiv", c.ndiv},
          {"bcast", hpl_gen::name_of(c.bcast)},
          {"depth", c.depth},
          {"swap", hpl_gen::name_of(c.swap)},
          {"seeds", runs.size()},
          {"gflops", spread_json(gflops_of(runs))},
          {"time_s", spread_json(spread_of(values_of(runs, &HplPrediction::time_s)))}};
}

}  // namespace weft::report
