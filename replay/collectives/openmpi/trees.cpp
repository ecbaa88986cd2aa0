#include "replay/collectives/openmpi/trees.hpp"

namespace weft::replay::collectives::openmpi {

Tree Tree::chain(std::uint32_t v, std::uint32_t p, std::uint32_t fan) {
  Tree t;
  if (p < 2) return t;
  fan = std::clamp(fan, 1u, std::min(kMaxFan, p - 1));
  const std::uint32_t shorter = (p - 1) / fan;
  const std::uint32_t longer_ones = (p - 1) % fan;
  // Chain i is the ranks [start(i), start(i + 1)).
  const auto start = [&](std::uint32_t i) { return 1 + i * shorter + std::min(i, longer_ones); };
  if (v == 0) {
    for (std::uint32_t i = 0; i < fan; ++i) t.add(start(i));
    return t;
  }
  std::uint32_t mine = 0;
  while (mine + 1 < fan && start(mine + 1) <= v) ++mine;
  t.parent_ = v == start(mine) ? 0 : v - 1;
  if (v + 1 < start(mine + 1)) t.add(v + 1);
  return t;
}

Tree Tree::binary(std::uint32_t v, std::uint32_t p) {
  Tree t;
  const std::uint32_t width = std::bit_floor(v + 1);  // of v's level, which starts at width - 1
  if (v > 0) t.parent_ = width / 2 - 1 + (v - (width - 1)) % (width / 2);
  for (const std::uint64_t child : {std::uint64_t{v} + width, v + 2 * std::uint64_t{width}})
    if (child < p) t.add(static_cast<std::uint32_t>(child));
  return t;
}

Tree Tree::binomial(std::uint32_t v, std::uint32_t p) {
  Tree t;
  if (v > 0) t.parent_ = v - std::bit_floor(v);
  for (std::uint64_t bit = v == 0 ? 1 : 2 * std::uint64_t{std::bit_floor(v)}; v + bit < p; bit *= 2)
    t.add(static_cast<std::uint32_t>(v + bit));
  return t;
}

Tree Tree::in_order_binomial(std::uint32_t v, std::uint32_t p) {
  Tree t;
  const std::uint64_t low = v == 0 ? std::uint64_t{std::bit_ceil(p)} : v & (~v + 1);
  if (v > 0) t.parent_ = v - static_cast<std::uint32_t>(low);
  for (std::uint64_t bit = 1; bit < low && v + bit < p; bit *= 2) t.add(static_cast<std::uint32_t>(v + bit));
  return t;
}

Tree Tree::knomial(std::uint32_t v, std::uint32_t p, std::uint32_t radix) {
  Tree t;
  radix = std::clamp(radix, 2u, kMaxFan);
  std::uint64_t weight = 1;
  while (weight < p && v % (weight * radix) == 0) weight *= radix;
  if (v > 0) t.parent_ = static_cast<std::uint32_t>(v - v % (weight * radix));
  for (weight /= radix; weight > 0; weight /= radix)
    for (std::uint32_t digit = 1; digit < radix; ++digit)
      if (v + weight * digit < p) t.add(static_cast<std::uint32_t>(v + weight * digit));
  return t;
}

Tree Tree::in_order_binary(std::uint32_t rank, std::uint32_t p) {
  Tree t;
  std::uint32_t first = 0;
  std::uint32_t top = p - 1;
  std::uint32_t above = kTop;
  while (true) {
    const std::uint32_t right = (top - first + 1) / 2;  // ranks of the right part, [first, first + right)
    // Two ranks have one child.
    const bool has_right = top - first >= 2;
    if (rank == top) {
      t.parent_ = above;
      if (top > first) t.add(top - 1);
      if (has_right) t.add(first + right - 1);
      return t;
    }
    above = top;
    if (has_right && rank < first + right) {
      top = first + right - 1;
    } else {
      first = has_right ? first + right : first;
      top = top - 1;
    }
  }
}

std::int64_t segment_elements(std::int64_t segment, std::int64_t element, std::int64_t count) {
  if (segment < element || segment >= element * count) return count;
  return segment / element + (segment % element > element / 2 ? 1 : 0);
}

Blocks segments_of(const CollectiveCall& c) {
  const std::int64_t element = element_of(c);
  return in_segments(c.bytes, segment_elements(c.segment, element, c.bytes / element) * element, element);
}

Blocks in_segments(std::int64_t bytes, std::int64_t each, std::int64_t element) {
  constexpr std::int64_t kMost = 65536;
  if (each < bytes / kMost) each = (bytes / kMost / element + 1) * element;
  if (each >= bytes) return Blocks::filled(bytes, bytes, 1);
  return Blocks::filled(bytes, each, static_cast<std::uint32_t>((bytes + each - 1) / each));
}

void append_down(const Blocks& segments, Relative r, const Tree& t, RankSchedule& out) {
  const std::uint32_t n = segments.count();
  const std::uint32_t lag = t.is_top() ? 0 : 1;
  const RankSchedule::Pace pace(out, n > 1);
  out.steps(0, n + lag, [&](std::uint32_t s) {
    if (lag == 1 && s < n) recv_blocks(out, segments, r.rank(t.parent()), s, 1);
    if (s >= lag)
      for (const std::uint32_t child : t.children()) send_blocks(out, segments, r.rank(child), s - lag, 1);
    out.next_round();
  });
}

void append_up(const Blocks& segments, Relative r, const Tree& t, RankSchedule& out) {
  const std::uint32_t n = segments.count();
  const std::uint32_t lag = t.children().empty() ? 0 : 1;
  const RankSchedule::Pace pace(out, n > 1);
  out.steps(0, n + lag, [&](std::uint32_t s) {
    if (s >= lag && !t.is_top()) send_blocks(out, segments, r.rank(t.parent()), s - lag, 1);
    if (s < n)
      for (const std::uint32_t child : t.children()) {
        recv_blocks(out, segments, r.rank(child), s, 1);
        out.next_round();
      }
    out.next_round();
  });
}

}  // namespace weft::replay::collectives::openmpi
