#include "hpl_gen/steps/update.hpp"

#include <algorithm>

namespace weft::hpl_gen {
namespace {

using traces::Kernel;

// Columns [.., +n) of the solve and the multiplication.
void piece(const UpdateSeat& u, std::int64_t n, OpSink& out) {
  const SwapSeat& s = u.swap;
  const bool current = s.row == s.current_row;
  const std::int64_t below = u.rows - (current ? s.jb : 0);
  if (s.grid->p == 1) {
    out.kernel(Kernel::dlaswp00, s.jb, n);
    out.kernel(Kernel::dtrsm_left, s.jb, n);
    out.kernel(Kernel::dgemm, below, n, s.jb);
    return;
  }
  const bool transposed = u.config->u_transposed;
  if (transposed)
    out.kernel(Kernel::dtrsm_right, n, s.jb);
  else
    out.kernel(Kernel::dtrsm_left, s.jb, n);
  out.kernel(Kernel::dgemm, below, n, s.jb);
  if (current) out.kernel(transposed ? Kernel::dlatcpy : Kernel::dlacpy, s.jb, n);
}

}  // namespace

void emit_update(const UpdateSeat& u, PanelBcast& bcast, OpSink& out) {
  const SwapSeat& s = u.swap;
  if (s.n <= 0 || s.jb <= 0) {
    bcast.complete(out);
    return;
  }
  bcast.start(out);
  if (s.grid->p > 1) {
    const bool long_swap = u.config->swap == Swap::kSpreadRoll ||
                           (u.config->swap == Swap::kMix && s.n > u.config->swap_threshold);
    out.begin(kSwap);
    if (long_swap)
      spread_roll_swap(s, bcast, out);
    else
      binary_exchange_swap(s, bcast, out);
    out.end(kSwap);
  }
  out.begin(kUpdate);
  if (bcast.pending()) {
    std::int64_t width = u.nb;
    if (u.most_pieces > 0) width = std::max(width, (s.n + u.most_pieces - 1) / u.most_pieces);
    for (std::int64_t done = 0; done < s.n; done += width) {
      piece(u, std::min(width, s.n - done), out);
      if (done + width < s.n) bcast.poll(out);
    }
  } else {
    piece(u, s.n, out);
  }
  out.end(kUpdate);
  bcast.finish(out);
}

}  // namespace weft::hpl_gen
