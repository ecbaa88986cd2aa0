// HPL's own collectives, made of Send and Recv: binomial broadcast from any root, binomial reduction to rank 0, and
// what is built of them. All messages carry tag 9001.
#pragma once

#include <cstdint>

#include "hpl_gen/grid.hpp"
#include "hpl_gen/steps/op_sink.hpp"

namespace weft::hpl_gen {

// The members of a communicator as a function: member(i) is the world rank of its rank i.
struct Members {
  int size = 1;
  int me = 0;
  CommId comm{0};
  const ProcessGrid* grid = nullptr;
  enum class Shape { kWorld, kAll, kRow, kCol } shape = Shape::kWorld;
  int fixed = 0;  // the row of a row communicator, the column of a column communicator

  [[nodiscard]] int world_rank(int i) const {
    switch (shape) {
      case Shape::kRow:
        return grid->rank_of(fixed, i);
      case Shape::kCol:
        return grid->rank_of(i, fixed);
      default:
        return i;
    }
  }
};

[[nodiscard]] inline Members all_of(const ProcessGrid& g, int rank) {
  return {g.size(), rank, g.all_comm(), &g, Members::Shape::kAll, 0};
}
[[nodiscard]] inline Members row_members(const ProcessGrid& g, int rank) {
  const int row = g.row_of(rank);
  return {g.q, g.col_of(rank), g.row_comm(row), &g, Members::Shape::kRow, row};
}
[[nodiscard]] inline Members col_members(const ProcessGrid& g, int rank) {
  const int col = g.col_of(rank);
  return {g.p, g.row_of(rank), g.col_comm(col), &g, Members::Shape::kCol, col};
}

// Visits the edges of `me` in a binomial tree over `size` ranks, root 0, widest edge first:
// edge(partner, receives). O(log size).
template <class Edge>
void binomial_down(int me, int size, Edge&& edge) {
  if (size <= 1) return;
  int bit = floor_power(size - 1).value;
  for (int mask = 2 * bit - 1; bit > 0; bit >>= 1) {
    mask ^= bit;
    if ((me & mask) != 0) continue;
    const int partner = me ^ bit;
    if ((me & bit) != 0)
      edge(partner, true);
    else if (partner < size)
      edge(partner, false);
  }
}

inline void broadcast(OpSink& out, const Members& c, std::int64_t bytes, int root) {
  if (bytes <= 0) return;
  binomial_down(ring_sub(c.me, root, c.size), c.size, [&](int partner, bool receives) {
    const int peer = c.world_rank(ring_add(root, partner, c.size));
    if (receives)
      out.recv(peer, kTagCollective, bytes, c.comm);
    else
      out.send(peer, kTagCollective, bytes, c.comm);
  });
}

// To rank 0; the nearest partner first, and rank 0 receives from 1, 2, 4, ...
inline void reduce(OpSink& out, const Members& c, std::int64_t bytes) {
  if (bytes <= 0 || c.size <= 1) return;
  const int rounds = floor_power(c.size - 1).log2 + 1;
  int mask = 0, bit = 1;
  for (int d = 0; d < rounds; ++d, mask ^= bit, bit <<= 1) {
    if ((c.me & mask) != 0) continue;
    const int partner = c.me ^ bit;
    if ((c.me & bit) != 0)
      out.send(c.world_rank(partner), kTagCollective, bytes, c.comm);
    else if (partner < c.size)
      out.recv(c.world_rank(partner), kTagCollective, bytes, c.comm);
  }
}

inline void all_reduce(OpSink& out, const Members& c, std::int64_t bytes) {
  reduce(out, c, bytes);
  broadcast(out, c, bytes, 0);
}

// HPL's barrier is the broadcast of one int from rank 0: the others wait for it, it does not wait for them.
inline void barrier(OpSink& out, const Members& c) { broadcast(out, c, kInt, 0); }

}  // namespace weft::hpl_gen
