// What the pivots of one panel mean for the row swaps: how many rows each process row gives and gets.
//
// The jb exchanges of a panel permute the set S = {rows of the panel} + {pivot rows}. The jb rows that end in the
// panel's own block row form U, which every process row needs; the rows they displace go where they came from. Two
// counts drive the two swap algorithms:
//  - `rows_from[p]`: members of S that process row p owned before (binary exchange: what p contributes);
//  - `u_of_slot`: rows of U by the process row that owned them, as a prefix sum over "slots" (spread-roll). Slots are
//    the process rows in the order of the spread tree: slot 0 owns the panel; slots that are deeper in the binomial
//    tree (more one bits) get the process rows with fewer rows, so that long messages travel few hops.
// Both depend on the pivots only through these counts, not on which rows they are.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hpl_gen/panel.hpp"
#include "hpl_gen/pivots/pivots.hpp"

namespace weft::hpl_gen {

struct RowExchange {
  std::int64_t panel = -1;
  std::uint32_t run = 0;
  std::vector<std::int32_t> rows_from;  // by process row
  std::vector<std::int32_t> u_prefix;   // p + 1 values: rows of U in slots before s
  std::vector<std::int32_t> slot_of;    // by process row
  std::vector<std::int32_t> row_at;     // by slot
  // Equilibration: slots that hold rows which others should hold spread them, in this order; none: already even.
  // Each has p + 1 prefix sums in `moved`, at `moved_at`: its rows cut at the even boundaries.
  struct Spread {
    int slot = 0;
    bool right = false;
    std::uint32_t moved_at = 0;
  };
  std::vector<Spread> spreads;
  std::vector<std::int32_t> moved;
  std::vector<std::int32_t> even_prefix;  // u_prefix after equilibration
};

// Fills `out` for a panel of jb columns. O(jb log jb + p^2 log p); no allocation once warm. Scratch is kept in the
// builder.
class RowExchangeBuilder {
 public:
  void build(const HplConfig& config, const Panel& panel, const PivotSource& source, RowExchange& out);
  // The same from counts that are known: `rows_from` and rows of U, by process row.
  void from_counts(int p, int current_row, std::span<const std::int32_t> rows_from,
                   std::span<const std::int32_t> u_rows, RowExchange& out);

 private:
  // Orders the slots; `counts` by process row.
  void order_slots(int p, int first_row, std::span<const std::int32_t> counts, RowExchange& out);
  static void equilibrate(int p, RowExchange& out);
  std::vector<std::int64_t> pivots_;
  std::vector<std::int64_t> outside_;  // pivot rows below the panel, sorted
  std::vector<std::int64_t> content_;  // row that now stands at: panel positions, then outside_ positions
  std::vector<std::int32_t> counts_;
  std::vector<std::int32_t> lengths_;
  std::vector<std::int32_t> depth_;
};

}  // namespace weft::hpl_gen
