#include "hpl_gen/steps/panel_factor.hpp"

#include <algorithm>

#include "hpl_gen/steps/collectives.hpp"

namespace weft::hpl_gen {
namespace {

using Kind = PanelInstruction::Kind;
using traces::Kernel;

class ProgramMaker {
 public:
  explicit ProgramMaker(const HplConfig& c) : c_(c) {}

  // Columns begin .. begin + n - 1 of the panel, all before them factored.
  void factor(std::int32_t n, std::int32_t begin) {
    if (n <= c_.nbmin) {
      leaf(n, begin);
      return;
    }
    const auto part = static_cast<std::int32_t>(recursion_part(c_, n));
    for (std::int32_t done = 0; done < n; done += part)
      step(std::min(part, n - done), n - done - std::min(part, n - done), done, begin);
  }

  PanelProgram take() { return std::move(program_); }

 private:
  // A part of `width` columns with `done` before and `after` behind it in this level of the recursion.
  void step(std::int32_t width, std::int32_t after, std::int32_t done, std::int32_t begin) {
    const std::int32_t at = begin + done;
    switch (c_.rfact) {
      case Factor::kLeft:
        solve(done, width);
        rows(Kernel::dgemm, at, width, done);
        factor(width, at);
        break;
      case Factor::kCrout:
        rows(Kernel::dgemm, at, width, done);
        factor(width, at);
        if (after > 0) {
          // The rows of U to the right, replicated in every process row.
          if (c_.l1_transposed)
            fixed(Kernel::dgemm, after, width, done);
          else
            fixed(Kernel::dgemm, width, after, done);
          solve(width, after);
        }
        break;
      case Factor::kRight:
        factor(width, at);
        solve(width, after);
        rows(Kernel::dgemm, at + width, after, width);
        break;
    }
    current(c_.l1_transposed ? Kernel::dlatcpy : Kernel::dlacpy, at, width);
  }

  // Triangular solve with a triangle of `triangle` rows for `vectors` columns of U.
  void solve(std::int32_t triangle, std::int32_t vectors) {
    if (c_.l1_transposed)
      fixed(Kernel::dtrsm_right, vectors, triangle, 1);
    else
      fixed(Kernel::dtrsm_left, triangle, vectors, 1);
  }

  void leaf(std::int32_t n, std::int32_t begin) {
    rows(Kernel::idamax, begin, 1, 1);
    for (std::int32_t j = 0; j + 1 < n; ++j) {
      const std::int32_t at = begin + j, right = n - 1 - j;
      exchange(at);
      switch (c_.pfact) {
        case Factor::kLeft:
          fixed(Kernel::dtrsv, j + 1, 1, 1);
          rows(Kernel::dscal, at + 1, 1, 1);
          rows(Kernel::dgemv, at + 1, j + 1, 1);
          rows(Kernel::idamax, at + 1, 1, 1);
          current(Kernel::dcopy, j + 1, 1);
          break;
        case Factor::kCrout:
          if (c_.l1_transposed)
            fixed(Kernel::dgemv, right, j, 1);
          else
            fixed(Kernel::dgemv, j, right, 1);
          current(Kernel::dcopy, j > 0 ? right : 0, 1);
          rows(Kernel::dscal, at + 1, 1, 1);
          rows(Kernel::dgemv, at + 1, j + 1, 1);
          rows(Kernel::idamax, at + 1, 1, 1);
          break;
        case Factor::kRight:
          rows(Kernel::dscal, at + 1, 1, 1);
          rows(Kernel::daxpy, at + 1, 1, 1);
          rows(Kernel::idamax, at + 1, 1, 1);
          rows(Kernel::dger, at + 1, right - 1, 1);
          break;
      }
    }
    exchange(begin + n - 1);
    rows(Kernel::dscal, begin + n, 1, 1);
  }

  // Instructions with an empty shape stay in the program: they cost nothing, and columns keep the same form.
  void rows(Kernel k, std::int32_t done, std::int32_t n, std::int32_t depth) {
    program_.push_back({Kind::kRowsKernel, k, done, 1, n, depth});
  }
  void fixed(Kernel k, std::int32_t m, std::int32_t n, std::int32_t depth) {
    program_.push_back({Kind::kFixedKernel, k, 0, m, n, depth});
  }
  void current(Kernel k, std::int32_t m, std::int32_t n) {
    program_.push_back({Kind::kCurrentKernel, k, 0, m, n, 1});
  }
  void exchange(std::int32_t done) { program_.push_back({Kind::kExchange, Kernel::dcopy, done, 1, 1, 1}); }

  const HplConfig& c_;
  PanelProgram program_;
};

}  // namespace

PanelProgram make_panel_program(const HplConfig& config, std::int64_t jb) {
  ProgramMaker maker(config);
  if (jb > 0) maker.factor(static_cast<std::int32_t>(jb), 0);
  return maker.take();
}

void emit_pivot_exchange(const PanelSeat& s, const PivotCalls& calls, OpSink& out) {
  const int p = s.grid->p;
  if (p <= 1) return;
  const CommId comm = s.col_comm();
  const int cube = floor_power(p).value;
  const int beyond = p - cube;
  const int me = s.distance();
  const std::int64_t row = calls.columns * kDouble;
  const std::int64_t candidate = row + 4 * kDouble;
  const std::int64_t both = candidate + row;
  const auto exchange = [&](int peer, std::int64_t sent, std::int64_t received) {
    if (calls.sendrecv)
      out.sendrecv(peer, kTagSwap, sent, received, comm);
    else
      out.exchange(peer, kTagSwap, sent, received, comm);
  };
  const int folded = me ^ cube;  // partner across the largest power of two
  const bool folds = beyond > 0 && folded < p;
  if (folds) {
    const int peer = s.rank_at(folded);
    if (me == cube)
      exchange(peer, candidate, row);
    else if (me > cube)
      out.send(peer, kTagSwap, candidate, comm);
    else if (me == 0)
      exchange(peer, row, candidate);
    else
      out.recv(peer, kTagSwap, candidate, comm);
  }
  if (me < cube) {
    for (int k = 0; (1 << k) < cube; ++k) {
      // The displaced row spreads from process 0: who has it sends it along to who has not.
      const bool has = (me >> k) == 0, gets = !has && (me >> (k + 1)) == 0;
      exchange(s.rank_at(me ^ (1 << k)), has ? both : candidate, gets ? both : candidate);
    }
  } else {
    // Beyond the cube the displaced row takes a tree of its own; its root got it in the fold.
    binomial_down(me - cube, beyond, [&](int partner, bool receives) {
      if (receives)
        out.recv(s.rank_at(cube + partner), kTagSwap, row, comm);
      else
        out.send(s.rank_at(cube + partner), kTagSwap, row, comm);
    });
  }
  if (folds) {
    if (me >= cube)
      out.recv(s.rank_at(folded), kTagSwap, candidate, comm);
    else
      out.send(s.rank_at(folded), kTagSwap, candidate, comm);
  }
}

void emit_panel_instruction(const PanelInstruction& i, const PanelSeat& s, const PivotCalls& calls,
                            OpSink& out) {
  const bool current = s.current();
  const std::int64_t left = s.rows - (current ? i.done : 0);
  switch (i.kind) {
    case Kind::kRowsKernel:
      out.kernel(i.kernel, left, i.n, i.k);
      break;
    case Kind::kFixedKernel:
      out.kernel(i.kernel, i.m, i.n, i.k);
      break;
    case Kind::kCurrentKernel:
      if (current) out.kernel(i.kernel, i.m, i.n, i.k);
      break;
    case Kind::kExchange:
      // The candidate row (and on the current row the one it displaces) is copied out, then the pivot row in.
      if (left > 0) out.kernel(Kernel::dcopy, current ? 2 * s.panel.width : s.panel.width);
      emit_pivot_exchange(s, calls, out);
      out.kernel(Kernel::dcopy, current ? 2 * s.panel.width : s.panel.width);
      break;
  }
}

}  // namespace weft::hpl_gen
