#include "hpl_gen/steps/update.hpp"

#include <algorithm>

namespace weft::hpl_gen {
namespace {

using traces::Kernel;

// Columns [.., +n) of the solve and the multiplication.
void piece(const UpdateSeat& u, std::int64_t n, OpSink& out) {
  const std::int64_t jb = u.panel.width, below = u.below();
  if (u.grid->p == 1) {
    out.kernel(Kernel::dlaswp00, jb, n);
    out.kernel(Kernel::dtrsm_left, jb, n);
    out.kernel(Kernel::dgemm, below, n, jb);
    return;
  }
  const bool transposed = u.config->u_transposed;
  if (transposed)
    out.kernel(Kernel::dtrsm_right, n, jb);
  else
    out.kernel(Kernel::dtrsm_left, jb, n);
  out.kernel(Kernel::dgemm, below, n, jb);
  if (u.current()) out.kernel(transposed ? Kernel::dlatcpy : Kernel::dlacpy, jb, n);
}

}  // namespace

void emit_update(const UpdateSeat& u, PanelBcast& bcast, OpSink& out) {
  if (u.n <= 0 || u.panel.width <= 0) {
    bcast.complete(out);
    return;
  }
  bcast.start(out);
  if (u.grid->p > 1) {
    out.begin(kSwap);
    if (u.config->long_swap(u.n))
      spread_roll_swap(u, bcast, out);
    else
      binary_exchange_swap(u, bcast, out);
    out.end(kSwap);
  }
  out.begin(kUpdate);
  if (bcast.pending()) {
    std::int64_t width = u.config->nb;
    if (u.most_pieces > 0) width = std::max(width, (u.n + u.most_pieces - 1) / u.most_pieces);
    // All pieces but the last are one, made once.
    const std::int64_t before_last = (u.n - 1) / width;
    if (before_last > 0) {
      const std::size_t first = out.size();
      piece(u, width, out);
      bcast.poll(out);
      const std::size_t period = out.size() - first;
      const auto more = static_cast<std::size_t>(before_last - 1);
      out.again(first, more);
      bcast.polled_again(period, more);
    }
    piece(u, u.n - before_last * width, out);
  } else {
    piece(u, u.n, out);
  }
  out.end(kUpdate);
  bcast.finish(out);
}

}  // namespace weft::hpl_gen
