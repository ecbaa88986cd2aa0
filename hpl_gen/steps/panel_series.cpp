#include "hpl_gen/steps/panel_series.hpp"

#include <array>
#include <span>

namespace weft::hpl_gen {
namespace {

using Kind = PanelInstruction::Kind;

struct Shape {
  traces::Kernel kernel{};
  bool rows = false;  // local rows are added to m
  std::array<std::int64_t, 3> size{};
  bool candidate = false;  // the copy of a candidate row: none where there are no rows
};

// Kernels up to an exchange.
struct Step {
  std::vector<Shape> kernels;
  bool exchange = false;
};

std::vector<Step> steps_of(const PanelProgram& program, std::int64_t jb, bool current) {
  std::vector<Step> steps(1);
  for (const PanelInstruction& i : program) {
    auto& kernels = steps.back().kernels;
    switch (i.kind) {
      case Kind::kRowsKernel:
        kernels.push_back({i.kernel, true, {current ? -i.done : 0, i.n, i.k}});
        break;
      case Kind::kFixedKernel:
        kernels.push_back({i.kernel, false, {i.m, i.n, i.k}});
        break;
      case Kind::kCurrentKernel:
        if (current) kernels.push_back({i.kernel, false, {i.m, i.n, i.k}});
        break;
      case Kind::kExchange: {
        // As emit_panel_instruction(): the candidate row is copied out before, the pivot row in after.
        const std::int64_t copied = current ? 2 * jb : jb;
        kernels.push_back({traces::Kernel::dcopy, false, {copied, 1, 1}, true});
        steps.back().exchange = true;
        steps.emplace_back();
        steps.back().kernels.push_back({traces::Kernel::dcopy, false, {copied, 1, 1}});
        break;
      }
    }
  }
  if (steps.back().kernels.empty()) steps.pop_back();
  return steps;
}

bool same_kernels(const Step& a, const Step& b) {
  if (a.exchange != b.exchange || a.kernels.size() != b.kernels.size()) return false;
  for (std::size_t i = 0; i < a.kernels.size(); ++i)
    if (a.kernels[i].kernel != b.kernels[i].kernel || a.kernels[i].rows != b.kernels[i].rows ||
        a.kernels[i].candidate != b.kernels[i].candidate)
      return false;
  return true;
}

// Is c - b the same as b - a in every size?
bool continues(const Step& a, const Step& b, const Step& c) {
  if (!same_kernels(b, c)) return false;
  for (std::size_t i = 0; i < a.kernels.size(); ++i)
    for (std::size_t d = 0; d < 3; ++d)
      if (c.kernels[i].size[d] - b.kernels[i].size[d] != b.kernels[i].size[d] - a.kernels[i].size[d])
        return false;
  return true;
}

}  // namespace

PanelSeries make_panel_series(const PanelProgram& program, std::int64_t jb, bool current) {
  const std::vector<Step> steps = steps_of(program, jb, current);
  PanelSeries out;
  for (std::size_t first = 0; first < steps.size();) {
    std::size_t end = first + 1;
    if (end < steps.size() && same_kernels(steps[first], steps[end])) {
      ++end;
      while (end < steps.size() && continues(steps[end - 2], steps[end - 1], steps[end])) ++end;
    }
    const Step& s = steps[first];
    const std::size_t second = end - first > 1 ? first + 1 : first;
    out.values.push_back(static_cast<std::int64_t>(end - first));
    out.values.push_back(s.exchange ? 1 : 0);
    const std::size_t count_at = out.values.size();
    out.values.push_back(0);
    for (std::size_t i = 0; i < s.kernels.size(); ++i) {
      const Shape& k = s.kernels[i];
      const auto& then = steps[second].kernels[i].size;
      const auto delta = [&](std::size_t d) { return then[d] - k.size[d]; };
      // A kernel that is empty at every step says nothing.
      bool empty = true;
      for (std::size_t t = first; t < end; ++t) {
        const auto& z = steps[t].kernels[i].size;
        if ((k.rows || z[0] > 0) && z[1] > 0 && z[2] > 0) empty = false;
      }
      if (empty) continue;
      ++out.values[count_at];
      out.values.push_back(static_cast<std::int64_t>(k.kernel));
      if (k.rows) out.rows_at.push_back(static_cast<std::uint32_t>(out.values.size()));
      if (k.candidate) out.candidates_at.push_back(static_cast<std::uint32_t>(out.values.size()));
      for (std::size_t d = 0; d < 3; ++d) {
        out.values.push_back(k.size[d]);
        out.values.push_back(delta(d));
      }
    }
    first = end;
  }
  return out;
}

void emit_panel_series(const PanelSeries& series, const PanelSeat& seat, const PivotCalls& calls,
                       std::vector<std::int64_t>& scratch, OpSink& out) {
  scratch.assign(1, calls.columns * kDouble);
  scratch.insert(scratch.end(), series.values.begin(), series.values.end());
  for (const std::uint32_t at : series.rows_at) scratch[at + 1] += seat.rows;
  if (seat.rows <= 0)
    for (const std::uint32_t at : series.candidates_at) scratch[at + 1] = 0;
  out.series(seat.rank_at(0), (4 + calls.columns) * kDouble, seat.col_comm(), scratch);
}

}  // namespace weft::hpl_gen
