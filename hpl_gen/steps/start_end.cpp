#include "hpl_gen/steps/start_end.hpp"

#include "hpl_gen/block_cyclic.hpp"
#include "hpl_gen/steps/collectives.hpp"

namespace weft::hpl_gen {

using traces::Kernel;
using traces::OpKind;

void emit_program_start(const HplDat& dat, int world_size, int rank, OpSink& out) {
  out.simple(OpKind::init);
  const Members world{world_size, rank, CommId(0), nullptr, Members::Shape::kWorld, 0};
  all_reduce(out, world, kInt);         // did the file open and parse?
  all_reduce(out, world, kDouble);      // machine precision
  broadcast(out, world, kDouble, 0);    // threshold
  broadcast(out, world, 15 * kInt, 0);  // counts and single values
  const std::size_t values = dat.n.size() + dat.nb.size() + 2 * dat.grids.size() + dat.pfact.size() +
                             dat.nbmin.size() + dat.ndiv.size() + dat.rfact.size() + dat.bcast.size() +
                             dat.depth.size() + 1;
  broadcast(out, world, static_cast<std::int64_t>(values) * kInt, 0);
}

void emit_grid_start(const ProcessGrid& g, int rank, OpSink& out) {
  if (rank >= g.size()) {
    out.simple(OpKind::comm_split, -1);
    return;
  }
  out.simple(OpKind::comm_split, g.all_comm().index());
  out.simple(OpKind::comm_split, g.row_comm(g.row_of(rank)).index(), g.all_comm());
  out.simple(OpKind::comm_split, g.col_comm(g.col_of(rank)).index(), g.all_comm());
}

void emit_grid_end(const ProcessGrid& g, int rank, OpSink& out) {
  if (rank >= g.size()) return;
  out.simple(OpKind::comm_free, 0, g.row_comm(g.row_of(rank)));
  out.simple(OpKind::comm_free, 0, g.col_comm(g.col_of(rank)));
  out.simple(OpKind::comm_free, 0, g.all_comm());
}

void emit_run_start(const ProcessGrid& g, int rank, OpSink& out) {
  const Members all = all_of(g, rank);
  all_reduce(out, all, 3 * kInt);  // could everyone allocate?
  barrier(out, all);
}

namespace {

// A norm of a matrix of m x n: sums along one direction, maximum along the other, and everyone is told.
void norm(const HplConfig& c, const ProcessGrid& g, int rank, bool column_sums, std::int64_t m,
          std::int64_t n, OpSink& out) {
  if (m == 0 || n == 0) return;
  const Members row = row_members(g, rank), col = col_members(g, rank);
  if (column_sums) {
    const std::int64_t sums = local_count(n, c.nb, row.me, g.q);
    reduce(out, col, sums * kDouble);
    if (col.me == 0) {
      out.kernel(Kernel::idamax, sums);
      reduce(out, row, kDouble);
    }
  } else {
    const std::int64_t sums = local_count(m, c.nb, col.me, g.p);
    reduce(out, row, sums * kDouble);
    if (row.me == 0) {
      out.kernel(Kernel::idamax, sums);
      reduce(out, col, kDouble);
    }
  }
  broadcast(out, all_of(g, rank), kDouble, 0);
}

}  // namespace

void emit_run_end(const HplConfig& c, const ProcessGrid& g, int rank, OpSink& out) {
  all_reduce(out, all_of(g, rank), kDouble);  // the slowest process's time
  if (c.threshold <= 0) return;
  const Members row = row_members(g, rank), col = col_members(g, rank);
  const std::int64_t mp = local_count(c.n, c.nb, col.me, g.p);
  const std::int64_t nq = local_count(c.n, c.nb, row.me, g.q);
  norm(c, g, rank, true, c.n, c.n, out);
  norm(c, g, rank, false, c.n, c.n, out);
  norm(c, g, rank, true, 1, c.n, out);  // x, which lies along the process rows
  norm(c, g, rank, false, 1, c.n, out);
  const int b_col = owner_of(c.n, c.nb, g.q);
  if (row.me == b_col) {
    out.kernel(Kernel::idamax, mp);
    all_reduce(out, col, kDouble);
  }
  broadcast(out, row, kDouble, b_col);
  out.kernel(Kernel::dgemv, mp, nq);
  reduce(out, row, mp * kDouble);
  norm(c, g, rank, false, c.n, 1, out);
}

}  // namespace weft::hpl_gen
