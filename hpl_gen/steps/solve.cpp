#include "hpl_gen/steps/solve.hpp"

#include <algorithm>

#include "hpl_gen/panel.hpp"
#include "hpl_gen/steps/collectives.hpp"

namespace weft::hpl_gen {

using traces::Kernel;

namespace {

// Where the solve's kernels run.
struct SolveKernels {
  Kernel dgemv, dtrsv, daxpy, dcopy;
};
constexpr SolveKernels kOnHost{Kernel::dgemv, Kernel::dtrsv, Kernel::daxpy, Kernel::dcopy};
constexpr SolveKernels kOnDevice{Kernel::device_dgemv, Kernel::device_dtrsv, Kernel::device_daxpy,
                                 Kernel::device_dlatcpy};

}  // namespace

void emit_solve_step(const HplConfig& c, const ProcessGrid& g, int rank, std::int64_t step, OpSink& out) {
  const int row = g.row_of(rank), col = g.col_of(rank), p = g.p, q = g.q;
  const bool rochpl = on_accelerators(c.program);
  // NVIDIA's program keeps the matrix with the host, too (docs/hpl.md, 12).
  const SolveKernels& on = c.program == Program::kRocHpl ? kOnDevice : kOnHost;
  // The blocks of x are the diagonal blocks of the panels; step 0 solves the last.
  const Panel block = panel_of(c, c.panels() - 1 - step);
  const CommId row_comm = g.row_comm(row), col_comm = g.col_comm(col);
  const auto local_rows = [&](std::int64_t end) { return local_count(end, c.nb, row, p); };

  if (step == 0) {
    // y stands in the process column that owns column n of [A | b].
    const int b_col = owner_of(c.n, c.nb, q);
    const std::int64_t rows = local_rows(c.n);
    if (rows > 0 && block.col != b_col) {
      if (col == b_col) out.send(g.rank_of(row, block.col), kTagSolve, rows * kDouble, row_comm);
      if (col == block.col) out.recv(g.rank_of(row, b_col), kTagSolve, rows * kDouble, row_comm);
    }
  } else {
    // Block `done` was solved in the step before; it updates the rows above it.
    const Panel done = panel_of(c, block.index + 1);
    // Tags advance by two for rows and columns; the first pair went to the transfer of y.
    const auto tag = [&](std::int64_t first) {
      return static_cast<std::int32_t>(kTagSolve + (first + 2 * (step - 1)) % kTagRange);
    };
    const std::int32_t row_tag = tag(2), col_tag = tag(1);
    const std::int64_t above = local_rows(done.first);
    const std::int64_t early_begin =
        std::max<std::int64_t>(0, done.first - std::max<std::int64_t>(q - 1, 1) * c.nb);
    const std::int64_t early = local_count(early_begin, done.first, c.nb, row, p);
    const int up = g.rank_of(ring_sub(row, 1, p), col), down = g.rank_of(ring_add(row, 1, p), col);
    if (col == done.col) {
      if (row == done.row) {
        if (p > 1) out.send(up, col_tag, done.width * kDouble, col_comm);
      } else {
        out.recv(down, col_tag, done.width * kDouble, col_comm);
      }
      if (early > 0) {
        out.kernel(on.dgemv, early, done.width);
        if (q > 1) out.send(g.rank_of(row, block.col), row_tag, early * kDouble, row_comm);
      }
      // x goes all the way round, but not back to its owner.
      if (row != done.row && row != ring_add(done.row, 1, p))
        out.send(up, col_tag, done.width * kDouble, col_comm);
    } else if (col == block.col && early > 0) {
      out.recv(g.rank_of(row, done.col), row_tag, early * kDouble, row_comm);
      out.kernel(on.daxpy, early);
    }
    if (col == block.col && row == block.row) {
      out.kernel(on.dtrsv, block.width);
      out.kernel(on.dcopy, block.width);
    }
    if (col == done.col) out.kernel(on.dgemv, above - early, done.width);
  }
  if (step == 0 && col == block.col && row == block.row) {
    out.kernel(on.dtrsv, block.width);
    out.kernel(on.dcopy, block.width);
  }
  if (block.index != 0 || col != block.col) return;
  if (rochpl)
    out.bcast(g.rank_of(block.row, col), block.width * kDouble, col_comm);
  else
    broadcast(out, col_members(g, rank), block.width * kDouble, block.row);
}

std::int64_t next_solve_step(const HplConfig& c, const ProcessGrid& g, int rank, std::int64_t step) {
  const std::int64_t q = g.q, last = c.panels() - 1;
  // Steps at which the rank's column owns the block that is solved, or the one that was solved before.
  const auto ahead = [&](std::int64_t residue) {
    const std::int64_t d = (residue - step) % q;
    return d > 0 ? d : d + q;
  };
  const std::int64_t own = last - g.col_of(rank);
  return step + std::min(ahead(own), ahead(own + 1));
}

}  // namespace weft::hpl_gen
