#include "hpl_gen/steps/row_swap.hpp"

#include <algorithm>
#include <vector>

#include "hpl_gen/steps/collectives.hpp"

namespace weft::hpl_gen {
namespace {

using traces::Kernel;

// Sends the parts of the slots first .. last away from slot `source` along a binomial tree over those slots: towards
// higher slots, or towards lower ones. `prefix` has the rows of U before each slot.
void spread(const SwapSeat& s, std::span<const std::int32_t> prefix, int source, bool right,
            PanelBcast& bcast, OpSink& out) {
  const ProcessGrid& g = *s.grid;
  const int slot = s.moves->slot_of[static_cast<std::size_t>(s.row)];
  const int size = right ? g.p - source : source + 1;
  const int me = right ? slot - source : source - slot;
  if (me < 0 || size <= 1) return;
  const auto peer = [&](int distance) {
    const int at = right ? source + distance : source - distance;
    return g.rank_of(s.moves->row_at[static_cast<std::size_t>(at)], s.col);
  };
  // Rows of U for the receiver at distance `child` and its subtree of `width` distances. To the left the program
  // sends one slot more than the subtree has; so do we.
  const auto rows_for = [&](int child, int width) {
    const int low = right ? std::min(source + child, g.p) : std::max(source - child - width, 0);
    const int high = right ? std::min(source + child + width, g.p) : std::max(source - child + 1, 0);
    return std::int64_t{prefix[static_cast<std::size_t>(high)]} - prefix[static_cast<std::size_t>(low)];
  };
  const CommId comm = s.col_comm();
  int bit = floor_power(size - 1).value;
  int mask = 2 * bit - 1;
  while (bit > 0) {
    mask ^= bit;
    if ((me & mask) == 0) {
      const int partner = me ^ bit;
      const std::int64_t bytes = rows_for(me | bit, bit) * s.n * kDouble;
      if (bytes > 0) {
        if ((me & bit) != 0)
          out.recv(peer(partner), kTagSwap, bytes, comm);
        else if (partner < size)
          out.send(peer(partner), kTagSwap, bytes, comm);
      }
    }
    bit >>= 1;
    bcast.poll(out);
  }
}

// p - 1 exchanges with the two neighbours in turn; each part goes half way round either way.
void roll(const SwapSeat& s, std::span<const std::int32_t> prefix, PanelBcast& bcast, OpSink& out) {
  const ProcessGrid& g = *s.grid;
  const int p = g.p, me = s.moves->slot_of[static_cast<std::size_t>(s.row)];
  const CommId comm = s.col_comm();
  const auto bytes = [&](int slot) {
    return (std::int64_t{prefix[static_cast<std::size_t>(slot) + 1]} -
            prefix[static_cast<std::size_t>(slot)]) *
           s.n * kDouble;
  };
  for (int k = 0; k + 1 < p; ++k) {
    const int l = k / 2;
    const bool backward = ((me + k) & 1) != 0;
    const int sent = backward ? ring_add(me, l, p) : ring_sub(me, l, p);
    const int got = backward ? ring_sub(me, l + 1, p) : ring_add(me, l + 1, p);
    const int partner = backward ? ring_sub(me, 1, p) : ring_add(me, 1, p);
    const int peer = g.rank_of(s.moves->row_at[static_cast<std::size_t>(partner)], s.col);
    if (bytes(got) > 0) out.irecv(peer, kTagSwap, bytes(got), comm);
    if (bytes(sent) > 0) out.send(peer, kTagSwap, bytes(sent), comm);
    if (bytes(got) > 0) out.wait(peer, kTagSwap, bytes(got), comm);
    bcast.poll(out);
  }
}

}  // namespace

void spread_roll_swap(const SwapSeat& s, PanelBcast& bcast, OpSink& out) {
  const bool current = s.current();
  const std::vector<std::int32_t>& prefix = s.moves->u_prefix;
  if (current) out.kernel(Kernel::dlaswp01, s.moves->rows_from[static_cast<std::size_t>(s.row)], s.n);
  spread(s, prefix, 0, true, bcast, out);
  if (!current) {
    const auto slot = static_cast<std::size_t>(s.moves->slot_of[static_cast<std::size_t>(s.row)]);
    out.kernel(Kernel::dlaswp06, 2 * (prefix[slot + 1] - prefix[slot]), s.n);  // a swap moves both ways
  }
  if (s.equil) {
    const std::span<const std::int32_t> moved(s.moves->moved);
    for (const RowExchange::Spread& x : s.moves->spreads)
      spread(s, moved.subspan(x.moved_at, prefix.size()), x.slot, x.right, bcast, out);
  }
  roll(s, s.equil ? s.moves->even_prefix : prefix, bcast, out);
  out.kernel(Kernel::dlaswp10, s.panel.width, s.n);  // U into the order of the panel's rows
}

void binary_exchange_swap(const SwapSeat& s, PanelBcast& bcast, OpSink& out) {
  const int p = s.grid->p, cube = floor_power(p).value, beyond = p - cube;
  const int me = s.distance();
  const CommId comm = s.col_comm();
  const std::int64_t u_bytes = s.panel.width * s.n * kDouble;
  const std::int64_t row_bytes = (s.n + 1) * kDouble;
  // Rows that the process rows at each distance from the current one give; the current row sends U instead.
  const auto gives = [&](int d) -> std::int64_t {
    return d == 0 ? 0 : s.moves->rows_from[static_cast<std::size_t>(s.row_at(d))];
  };
  // Those of the distances below d, once process rows beyond the cube have folded in.
  std::vector<std::int64_t> below(static_cast<std::size_t>(cube) + 1);
  for (int d = 0; d < cube; ++d)
    below[static_cast<std::size_t>(d) + 1] =
        below[static_cast<std::size_t>(d)] + gives(d) + (d > 0 && d < beyond ? gives(d + cube) : 0);
  // Rows that have gathered at d after k exchanges: of the 2^k distances that differ from d in their last k bits at most.
  const auto held = [&](int d, int k) {
    const int first = d >> k << k, end = first + (1 << k);
    return below[static_cast<std::size_t>(end)] - below[static_cast<std::size_t>(first)];
  };
  const std::int64_t own = s.moves->rows_from[static_cast<std::size_t>(s.row)];
  out.kernel(me == 0 ? Kernel::dlaswp01 : Kernel::dlaswp02, own, s.n);
  bcast.poll(out);

  const int folded = me ^ cube;
  const bool folds = beyond > 0 && folded < p;
  if (folds) {
    if (me == 0) {
      out.exchange(s.rank_at(folded), kTagSwap, u_bytes, gives(folded) * row_bytes, comm);
      out.kernel(Kernel::dlaswp03, gives(folded), s.n);
    } else if (me == cube) {
      out.exchange(s.rank_at(folded), kTagSwap, gives(me) * row_bytes, u_bytes, comm);
    } else if (me > cube) {
      if (gives(me) > 0) out.send(s.rank_at(folded), kTagSwap, gives(me) * row_bytes, comm);
    } else if (gives(folded) > 0) {
      out.recv(s.rank_at(folded), kTagSwap, gives(folded) * row_bytes, comm);
    }
  }
  bcast.poll(out);

  if (me < cube) {
    for (int k = 0; (1 << k) < cube; ++k) {
      const int bit = 1 << k, partner = me ^ bit;
      const bool has = (me >> k) == 0, gets = !has && (me >> (k + 1)) == 0;
      out.exchange(s.rank_at(partner), kTagSwap, has ? u_bytes : held(me, k) * row_bytes,
                   gets ? u_bytes : held(partner, k) * row_bytes, comm);
      if (has) out.kernel(Kernel::dlaswp03, held(partner, k), s.n);
      if (gets) out.kernel(Kernel::dlaswp04, own + held(me, k), s.n);
      bcast.poll(out);
    }
  } else {
    if (beyond > 1) {
      // Beyond the cube U takes a tree of its own; its root got it in the fold.
      const int seat = me - cube;
      int bit = floor_power(beyond - 1).value;
      for (int mask = 2 * bit - 1; bit > 0; bit >>= 1) {
        mask ^= bit;
        if ((seat & mask) == 0) {
          const int partner = seat ^ bit;
          if ((seat & bit) != 0)
            out.recv(s.rank_at(cube + partner), kTagSwap, u_bytes, comm);
          else if (partner < beyond)
            out.send(s.rank_at(cube + partner), kTagSwap, u_bytes, comm);
        }
        bcast.poll(out);
      }
    }
    out.kernel(Kernel::dlaswp05, own, s.n);
  }
  if (folds) {
    if (me >= cube)
      out.recv(s.rank_at(folded), kTagSwap, u_bytes, comm);
    else
      out.send(s.rank_at(folded), kTagSwap, u_bytes, comm);
  }
  bcast.poll(out);
}

}  // namespace weft::hpl_gen
