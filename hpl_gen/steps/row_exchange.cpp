#include "hpl_gen/steps/row_exchange.hpp"

#include <algorithm>
#include <bit>

namespace weft::hpl_gen {

void RowExchangeBuilder::build(const HplConfig& c, const Panel& panel, const PivotSource& source,
                               RowExchange& out) {
  const std::int64_t first = panel.first, jb = panel.width, end = panel.end();
  const int current = panel.row;
  pivots_.resize(static_cast<std::size_t>(jb));
  source.pivots(first, c.n, pivots_);

  outside_.clear();
  for (const auto r : pivots_)
    if (r >= end) outside_.push_back(r);
  std::sort(outside_.begin(), outside_.end());
  outside_.erase(std::unique(outside_.begin(), outside_.end()), outside_.end());

  const auto width = static_cast<std::size_t>(jb);
  content_.resize(width + outside_.size());
  for (std::size_t i = 0; i < width; ++i) content_[i] = first + static_cast<std::int64_t>(i);
  std::copy(outside_.begin(), outside_.end(), content_.begin() + static_cast<std::ptrdiff_t>(width));
  const auto place = [&](std::int64_t row) {
    if (row < end) return static_cast<std::size_t>(row - first);
    return width + static_cast<std::size_t>(std::lower_bound(outside_.begin(), outside_.end(), row) -
                                            outside_.begin());
  };
  for (std::size_t i = 0; i < width; ++i) std::swap(content_[i], content_[place(pivots_[i])]);

  const auto rows = static_cast<std::size_t>(c.p);
  out.rows_from.assign(rows, 0);
  counts_.assign(rows, 0);
  for (std::size_t i = 0; i < content_.size(); ++i) {
    const std::int64_t from = content_[i];
    const std::int64_t to = i < width ? first + static_cast<std::int64_t>(i) : outside_[i - width];
    const int source_row = owner_of(from, c.nb, c.p);
    ++out.rows_from[static_cast<std::size_t>(source_row)];
    // A row that leaves the panel's process row makes room there for a row of U from where it goes; one that moves
    // within it counts only if it becomes a row of U.
    if (source_row != current) continue;
    const int target_row = owner_of(to, c.nb, c.p);
    if (target_row != source_row || to < end) ++counts_[static_cast<std::size_t>(target_row)];
  }
  order_slots(c.p, current, counts_, out);
}

void RowExchangeBuilder::from_counts(int p, int current_row, std::span<const std::int32_t> rows_from,
                                     std::span<const std::int32_t> u_rows, RowExchange& out) {
  out.rows_from.assign(rows_from.begin(), rows_from.end());
  order_slots(p, current_row, u_rows, out);
}

void RowExchangeBuilder::order_slots(int p, int first_row, std::span<const std::int32_t> counts,
                                     RowExchange& out) {
  const auto size = static_cast<std::size_t>(p);
  out.row_at.resize(size);
  out.slot_of.resize(size);
  out.u_prefix.assign(size + 1, 0);
  lengths_.resize(size);
  depth_.resize(size);
  int deepest = 0;
  for (int s = 0; s < p; ++s) {
    const auto i = static_cast<std::size_t>(s);
    const int row = ring_add(s, first_row, p);
    out.row_at[i] = row;
    lengths_[i] = counts[static_cast<std::size_t>(row)];
    depth_[i] = std::popcount(static_cast<unsigned>(s));
    deepest = std::max(deepest, static_cast<int>(depth_[i]));
  }
  // Level by level: where a slot one or more levels deeper holds more, the two process rows change slots.
  for (int level = 1; level <= deepest; ++level)
    for (std::size_t j = 1; j < size; ++j) {
      if (depth_[j] != level) continue;
      for (std::size_t i = 2; i < size; ++i)
        if (depth_[i] > level && lengths_[j] < lengths_[i]) {
          std::swap(lengths_[i], lengths_[j]);
          std::swap(out.row_at[i], out.row_at[j]);
        }
    }
  for (std::size_t s = 0; s < size; ++s) {
    out.slot_of[static_cast<std::size_t>(out.row_at[s])] = static_cast<std::int32_t>(s);
    out.u_prefix[s + 1] = out.u_prefix[s] + lengths_[s];
  }
  equilibrate(p, out);
}

// Evens out the parts of U: every slot gets slen / p rows, the first slen mod p slots one more. Each slot in turn
// spreads what others should hold to its left and to its right.
void RowExchangeBuilder::equilibrate(int p, RowExchange& out) {
  out.spreads.clear();
  out.moved.clear();
  out.even_prefix = out.u_prefix;
  if (p <= 2) return;
  const std::vector<std::int32_t>& prefix = out.u_prefix;
  const std::int32_t total = prefix[static_cast<std::size_t>(p)];
  const std::int32_t small = total / p, large = (total + p - 1) / p, extra = total - p * small;
  const auto even = [&](int slot) { return slot < extra ? slot * large : slot * small + extra; };
  const auto length = [&](int slot) {
    return prefix[static_cast<std::size_t>(slot) + 1] - prefix[static_cast<std::size_t>(slot)];
  };
  // The program looks at all slots but the last.
  bool is_even = true;
  for (int i = 0; i + 1 < p; ++i) is_even = is_even && (length(i) == small || length(i) == large);
  if (is_even) return;
  for (int slot = 0; slot < p; ++slot) {
    const std::int32_t begin = prefix[static_cast<std::size_t>(slot)], held = length(slot);
    const std::int32_t target = even(slot), target_length = slot < extra ? large : small;
    const bool left = begin < target, right = target + target_length < begin + held;
    if (held <= 0 || !(left || right)) continue;
    const auto at_prefix = static_cast<std::uint32_t>(out.moved.size());
    // The slot's own rows, cut at the even boundaries.
    std::int32_t at = begin, rest = held;
    for (int i = 0; i < p; ++i) {
      const std::int32_t last = even(i) + (i < extra ? large : small) - 1;
      const std::int32_t part = last >= at && rest > 0 ? std::min(last - at + 1, rest) : 0;
      rest -= part;
      out.moved.push_back(at);
      at += part;
    }
    out.moved.push_back(at);
    if (left) out.spreads.push_back({slot, false, at_prefix});
    if (right) out.spreads.push_back({slot, true, at_prefix});
  }
  // The program leaves the last sum as it was.
  for (int i = 0; i < p; ++i) out.even_prefix[static_cast<std::size_t>(i)] = even(i);
}

}  // namespace weft::hpl_gen
