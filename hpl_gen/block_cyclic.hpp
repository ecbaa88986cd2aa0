// Block-cyclic ownership in one dimension: index i lies in block i / nb, and block b belongs to process b mod p.
//
// A two-dimensional distribution is this rule applied to rows (nb, P) and to columns (nb, Q) independently. The first
// block is process 0's, as in HPL.
//
// Invariant: for every p the blocks cover 0..n-1 once: sum over processes of local_count(n, ...) = n. All O(1).
#pragma once

#include <algorithm>
#include <cstdint>

namespace weft::hpl_gen {

// The process that owns index `i`. Preconditions: i >= 0, nb > 0, p > 0.
[[nodiscard]] constexpr int owner_of(std::int64_t i, std::int64_t nb, int p) {
  return static_cast<int>((i / nb) % p);
}

// How many of the indices 0 .. n-1 process `me` owns.
[[nodiscard]] constexpr std::int64_t local_count(std::int64_t n, std::int64_t nb, int me, int p) {
  if (n <= 0) return 0;
  const std::int64_t whole = n / nb;
  const std::int64_t rounds = whole / p;
  const int left = static_cast<int>(whole % p);
  return rounds * nb + (me < left ? nb : me == left ? n - whole * nb : 0);
}

// How many of the indices from .. to-1 process `me` owns; 0 if the range is empty.
[[nodiscard]] constexpr std::int64_t local_count(std::int64_t from, std::int64_t to, std::int64_t nb, int me,
                                                 int p) {
  return to <= from ? 0 : local_count(to, nb, me, p) - local_count(from, nb, me, p);
}

// The most indices that any process owns in the blocks from that of `from` to index to-1; 0 if the range is empty.
[[nodiscard]] constexpr std::int64_t most_local_count(std::int64_t from, std::int64_t to, std::int64_t nb,
                                                      int p) {
  if (from >= to) return 0;
  const std::int64_t first = from / nb, blocks = (to + nb - 1) / nb - first;
  const std::int64_t full = (blocks + p - 1) / p;
  // The last block may be short; it matters only if its process has as many blocks as any.
  const bool alone = (blocks - 1) % p == 0;
  return alone ? (full - 1) * nb + to - (first + blocks - 1) * nb : full * nb;
}

static_assert(local_count(10, 3, 0, 2) == 6 && local_count(10, 3, 1, 2) == 4);
static_assert(local_count(3, 7, 3, 0, 2) == 1 && owner_of(6, 3, 2) == 0);

}  // namespace weft::hpl_gen
