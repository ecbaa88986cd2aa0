// The process grid and the communicators that HPL splits off the world.
//
// PMAP says how world ranks fill the P x Q grid: row by row or column by column. HPL splits the world into `all` (the
// ranks of the grid), then `all` into process rows and process columns; ranks beyond P x Q are in none.
//
// rocHPL fills nodes, local_p x local_q processes each, with PMAP column: ranks of a node go down its columns, nodes go
// down the columns of nodes. With PMAP row it fills the grid row by row whatever the nodes are, as HPL does.
//
// Ids of a trace with several grids: grid g has a first id f; `all` = f, row r = f + 1 + r, column c = f + 1 + P + c.
#pragma once

#include <cstdint>
#include <optional>

#include "core/id.hpp"
#include "hpl_gen/hpl_dat.hpp"

namespace weft::hpl_gen {

struct ProcessGrid {
  int p = 1, q = 1;
  ProcessMap pmap = ProcessMap::kRowMajor;
  std::uint32_t first_comm = 1;
  int local_p = 0, local_q = 0;  // of a node that is filled at a time; 0: the grid as one

  [[nodiscard]] int size() const { return p * q; }
  [[nodiscard]] int row_of(int rank) const {
    if (pmap == ProcessMap::kRowMajor) return rank / q;
    if (local_p == 0) return rank % p;
    return rank / (local_p * local_q) % (p / local_p) * local_p + rank % local_p;
  }
  [[nodiscard]] int col_of(int rank) const {
    if (pmap == ProcessMap::kRowMajor) return rank % q;
    if (local_p == 0) return rank / p;
    const int on_node = local_p * local_q;
    return rank / on_node / (p / local_p) * local_q + rank % on_node / local_p;
  }
  [[nodiscard]] int rank_of(int row, int col) const {
    if (pmap == ProcessMap::kRowMajor) return row * q + col;
    if (local_p == 0) return col * p + row;
    const int node = col / local_q * (p / local_p) + row / local_p;
    return node * local_p * local_q + col % local_q * local_p + row % local_p;
  }
  [[nodiscard]] CommId all_comm() const { return CommId(first_comm); }
  [[nodiscard]] CommId row_comm(int row) const {
    return CommId(first_comm + 1 + static_cast<std::uint32_t>(row));
  }
  [[nodiscard]] CommId col_comm(int col) const {
    return CommId(first_comm + 1 + static_cast<std::uint32_t>(p + col));
  }
};

// The grid of a run, as its program lays it on ranks: the one place for it.
[[nodiscard]] constexpr ProcessGrid grid_of(const HplConfig& c, std::uint32_t first_comm = 1) {
  ProcessGrid g{c.p, c.q, c.pmap, first_comm};
  const RocHplArguments& node = c.rochpl;
  if (on_accelerators(c.program) && (node.local_p > 0 || node.local_q > 0)) {
    g.local_p = node.local_p > 0 ? node.local_p : c.p;
    g.local_q = node.local_q > 0 ? node.local_q : c.q;
  }
  return g;
}

// P x Q = ranks of which takes(Grid) holds, as square as can be, rather wide than high; none where there is no such grid.
// O(sqrt(ranks)) calls. Precondition: ranks >= 1.
template <class Takes>
[[nodiscard]] constexpr std::optional<Grid> most_square(int ranks, const Takes& takes) {
  std::optional<Grid> best;
  for (int d = 1; d <= ranks / d; ++d)
    if (ranks % d == 0)
      for (const Grid& g : {Grid{ranks / d, d}, Grid{d, ranks / d}})
        if (takes(g)) best = g;
  return best;
}
// Of any grid: P <= Q.
[[nodiscard]] constexpr Grid most_square(int ranks) {
  return *most_square(ranks, [](const Grid&) { return true; });
}

// a + b and a - b around a ring of n. Preconditions: 0 <= a, b < n.
[[nodiscard]] constexpr int ring_add(int a, int b, int n) { return a + b < n ? a + b : a + b - n; }
[[nodiscard]] constexpr int ring_sub(int a, int b, int n) { return a >= b ? a - b : a - b + n; }

// The largest power of two <= n, and the smallest h with 2^h >= that. Precondition: n >= 1.
struct PowerOfTwo {
  int value = 1;
  int log2 = 0;
};
[[nodiscard]] constexpr PowerOfTwo floor_power(int n) {
  PowerOfTwo r;
  while (r.value * 2 <= n) r.value *= 2, ++r.log2;
  return r;
}

}  // namespace weft::hpl_gen
