#include "hpl_gen/closed_form/flops.hpp"

#include <numeric>

#include "hpl_gen/panel.hpp"
#include "traces/exchange_series.hpp"

namespace weft::hpl_gen {
namespace {

// Pairs of columns within one leaf of the recursion over n columns, summed over the leaves.
double pairs_in_leaves(const HplConfig& c, std::int64_t n) {
  if (n <= c.nbmin) return static_cast<double>(n) * static_cast<double>(n - 1) / 2;
  const std::int64_t part = recursion_part(c, n);
  const std::int64_t whole = n / part;
  double sum = pairs_in_leaves(c, part) * static_cast<double>(whole);
  if (n % part > 0) sum += pairs_in_leaves(c, n % part);
  return sum;
}

double panel_flops(const HplConfig& c, std::int64_t rows, std::int64_t columns) {
  const auto m = static_cast<double>(rows), w = static_cast<double>(columns);
  const double sum_j = w * (w - 1) / 2, sum_jj = (w - 1) * w * (2 * w - 1) / 6;
  const double searches = w * m - sum_j;
  const double scalings = w * (m - 1) - sum_j;
  const double updates = 2 * (w * (m - 1) * (w - 1) - (m + w - 2) * sum_j + sum_jj);
  const double inside = pairs_in_leaves(c, columns);
  return searches + scalings + updates + (sum_j - inside) + (c.pfact == Factor::kLeft ? inside : 0);
}

}  // namespace

double KernelFlops::total() const { return std::accumulate(flops.begin(), flops.end(), 0.0); }

Result<std::vector<KernelFlops>> count_flops(traces::TraceReader& trace) {
  trace.rewind();
  std::vector<KernelFlops> out(trace.header().ranks);
  traces::OpBlock block;
  for (std::uint32_t r = 0; r < trace.header().ranks; ++r)
    while (true) {
      WEFT_ASSIGN(const bool more, trace.next_block(RankId(r), block));
      if (!more) break;
      for (const traces::Op& op : block.ops) {
        if (op.kind == traces::OpKind::compute_kernel || op.kind == traces::OpKind::launch) {
          const auto l = block.list(op);
          out[r].add({static_cast<traces::Kernel>(l[0]), l[1], l[2], l[3]});
        } else if (op.kind == traces::OpKind::exchange_series) {
          traces::SeriesCursor cursor(block.list(op));
          traces::SeriesSegment segment;
          while (cursor.next(segment))
            for (std::size_t i = 0; i < segment.size(); ++i)
              for (std::int64_t s = 0; s < segment.steps; ++s) {
                const traces::KernelShape shape = segment.kernel(i).at(s);
                if (!traces::is_empty(shape)) out[r].add(shape);
              }
        }
      }
    }
  trace.rewind();
  return out;
}

double one_process_flops(const HplConfig& c, bool with_check) {
  double sum = 0;
  for (std::int64_t k = 0; k < c.panels(); ++k) {
    const Panel panel = panel_of(c, k);
    const auto w = static_cast<double>(panel.width), below = static_cast<double>(c.n - panel.end()),
               above = static_cast<double>(panel.first);
    sum += panel_flops(c, c.n - panel.first, panel.width);
    sum +=
        w * w * (below + 1) + 2 * below * (below + 1) * w;  // solve and multiply; + 1 is the right-hand side
    sum += w * w + 2 * above * w;                           // back substitution
  }
  const auto n = static_cast<double>(c.n);
  // Four norms search 1 or n sums each, the right-hand side is searched, the residual multiplies and is searched.
  if (with_check && c.n > 0) sum += (n + n + n + 1) + n + 2 * n * n + n;
  return sum;
}

}  // namespace weft::hpl_gen
