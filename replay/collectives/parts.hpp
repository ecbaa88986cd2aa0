// Parts that several algorithms are made of. Internal to replay/collectives.
//
// Vocabulary: p ranks; a *relative* rank counts from the root; a *fold* lets p ranks run an algorithm for the
// largest power of two below p: the first 2 (p - pof2) ranks pair up, one of the two hands its data to the other
// and sits out (Thakur, Rabenseifner, Gropp, IJHPCA 2005, section 4.4). In the textbook forms here the odd one sits
// out; EvenFold is what MPICH and Open MPI do.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>

#include "replay/collectives/schedule.hpp"

namespace weft::replay::collectives {

// Bytes of an element of a vector: what the call says, else the largest of 8, 4 and 1 that divides it, because a
// trace holds bytes only.
[[nodiscard]] inline std::int64_t element_of(const CollectiveCall& c) {
  if (c.element > 0) return c.element;
  return c.bytes % 8 == 0 ? 8 : c.bytes % 4 == 0 ? 4 : 1;
}
[[nodiscard]] inline std::int64_t elements_of(const CollectiveCall& c) { return c.bytes / element_of(c); }

// Sizes of n blocks. A range [first, first + count) may run over the end: it goes on at block 0.
class Blocks {
 public:
  // n blocks of `each` bytes.
  static Blocks equal(std::int64_t each, std::uint32_t n) { return {kSpread, each, 0, 1, n, each * n, {}}; }
  // `total` bytes cut into n blocks of whole units; the first ones are one unit longer. `unit` divides `total`.
  static Blocks cut(std::int64_t total, std::uint32_t n, std::int64_t unit = 1) {
    const std::int64_t units = total / unit;
    return {kSpread, units / n * unit, units % n, unit, n, total, {}};
  }
  // n blocks of `each` bytes until the total is used up: the last ones may be short or empty, or the last one has all the rest.
  static Blocks filled(std::int64_t total, std::int64_t each, std::uint32_t n) {
    return {kFilled, each, 0, 1, n, total, {}};
  }
  // Halved again and again, the lower half rounded down to whole units. n is a power of two.
  static Blocks halved(std::int64_t total, std::uint32_t n, std::int64_t unit) {
    return {kHalved, 0, 0, unit, n, total, {}};
  }
  static Blocks listed(std::span<const std::int64_t> sizes) {
    return {kListed, 0, 0, 1, static_cast<std::uint32_t>(sizes.size()), 0, sizes};
  }
  // Bytes of a range. O(1), O(count) when listed, O(log n) when halved. Precondition: count <= n.
  [[nodiscard]] std::int64_t of(std::uint32_t first, std::uint32_t count = 1) const {
    if (first >= n_) first -= n_;
    const std::uint32_t straight = std::min(count, n_ - first);
    return range(first, straight) + range(0, count - straight);
  }
  [[nodiscard]] std::uint32_t count() const { return n_; }
  [[nodiscard]] std::int64_t total() const { return range(0, n_); }

 private:
  enum Form : std::uint8_t { kSpread, kFilled, kHalved, kListed };
  Blocks(Form form, std::int64_t each, std::int64_t extra, std::int64_t unit, std::uint32_t n,
         std::int64_t total, std::span<const std::int64_t> sizes)
      : form_(form), each_(each), extra_(extra), unit_(unit), n_(n), total_(total), sizes_(sizes) {}
  [[nodiscard]] std::int64_t range(std::uint32_t first, std::uint32_t count) const {
    if (form_ != kListed) return start(first + count) - start(first);
    std::int64_t sum = 0;
    for (std::uint32_t i = 0; i < count; ++i) sum += sizes_[first + i];
    return sum;
  }
  [[nodiscard]] std::int64_t start(std::uint32_t i) const {
    if (form_ == kSpread) return each_ * i + std::min(static_cast<std::int64_t>(i), extra_) * unit_;
    if (i == n_) return total_;
    if (form_ == kFilled) return each_ != 0 && i > total_ / each_ ? total_ : each_ * i;
    std::int64_t from = 0;
    std::int64_t units = total_ / unit_;
    for (std::uint32_t half = n_ / 2; half > 0; half /= 2) {
      const std::int64_t lower = units / 2;
      from += (i & half) != 0 ? lower : 0;
      units = (i & half) != 0 ? units - lower : lower;
    }
    return from * unit_;
  }
  Form form_;
  std::int64_t each_;
  std::int64_t extra_;
  std::int64_t unit_;
  std::uint32_t n_;
  std::int64_t total_;
  std::span<const std::int64_t> sizes_;
};

// Blocks that the ranks contribute (allgather) or receive (reduce_scatter): from the list of the v-form, else
// equal.
[[nodiscard]] inline Blocks rank_blocks(const CollectiveCall& c) {
  return c.counts.empty() ? Blocks::equal(c.bytes, c.ranks) : Blocks::listed(c.counts.first(c.ranks));
}

struct Relative {
  std::uint32_t p;
  std::uint32_t root = 0;
  [[nodiscard]] std::uint32_t of(std::uint32_t rank) const {
    return rank >= root ? rank - root : rank + p - root;
  }
  [[nodiscard]] std::uint32_t rank(std::uint32_t rel) const {
    return rel < p - root ? rel + root : rel - (p - root);
  }
};

// (a + b) mod p and (a - b) mod p for a, b < p.
[[nodiscard]] constexpr std::uint32_t plus(std::uint32_t a, std::uint32_t b, std::uint32_t p) {
  return b < p - a ? a + b : b - (p - a);
}
[[nodiscard]] constexpr std::uint32_t minus(std::uint32_t a, std::uint32_t b, std::uint32_t p) {
  return a >= b ? a - b : p - (b - a);
}

struct Fold {
  explicit Fold(std::uint32_t ranks) : p(ranks), pof2(std::bit_floor(ranks)), rem(p - pof2) {}
  std::uint32_t p;
  std::uint32_t pof2;
  std::uint32_t rem;
  [[nodiscard]] bool paired(std::uint32_t r) const { return r < 2 * rem; }
  [[nodiscard]] bool sits_out(std::uint32_t r) const { return paired(r) && r % 2 == 1; }
  [[nodiscard]] std::uint32_t folded(std::uint32_t r) const { return paired(r) ? r / 2 : r - rem; }
  // First rank of folded rank f; p for f = pof2, so that [first(f), first(f + 1)) are the ranks that f stands
  // for.
  [[nodiscard]] std::uint32_t first(std::uint32_t f) const { return f < rem ? 2 * f : f + rem; }
};

// The same with the even rank of each pair sitting out.
struct EvenFold {
  explicit EvenFold(std::uint32_t ranks) : pof2(std::bit_floor(ranks)), rem(ranks - pof2) {}
  std::uint32_t pof2;
  std::uint32_t rem;
  [[nodiscard]] bool paired(std::uint32_t r) const { return r < 2 * rem; }
  [[nodiscard]] bool sits_out(std::uint32_t r) const { return paired(r) && r % 2 == 0; }
  [[nodiscard]] std::uint32_t folded(std::uint32_t r) const { return paired(r) ? r / 2 : r - rem; }
  // The rank that runs as folded rank f, and the first of those that it stands for (their number below f's).
  [[nodiscard]] std::uint32_t runs(std::uint32_t f) const { return f < rem ? 2 * f + 1 : f + rem; }
  [[nodiscard]] std::uint32_t first(std::uint32_t f) const { return f < rem ? 2 * f : f + rem; }
};

// Blocks [first, first + blocks) of `b` between `me` and `peer`.
inline void send_blocks(RankSchedule& out, const Blocks& b, std::uint32_t to, std::uint32_t first,
                        std::uint32_t blocks) {
  out.send(to, b.of(first, blocks), first, blocks);
}
inline void recv_blocks(RankSchedule& out, const Blocks& b, std::uint32_t from, std::uint32_t first,
                        std::uint32_t blocks) {
  out.recv(from, b.of(first, blocks), first, blocks);
}

// Binomial tree from relative rank 0 downwards: parent(rel, subtree) once except on the root, then child(rel,
// subtree) for each child, the largest subtree first. A subtree is the relative ranks [rel, rel + subtree).
template <class Parent, class Child>
void walk_binomial(std::uint32_t rel, std::uint32_t p, Parent parent, Child child) {
  const std::uint32_t low = rel == 0 ? std::bit_ceil(p) : rel & (~rel + 1);
  if (rel != 0) parent(rel - low, std::min(low, p - rel));
  for (std::uint32_t m = low / 2; m >= 1; m /= 2)
    if (m < p - rel) child(rel + m, std::min(m, p - rel - m));
}

// Turns the messages from index `from` on (of rounds `first_round`...) round: last first, sends become
// receives. A broadcast becomes a reduction, a scatter a gather.
inline void reverse(RankSchedule& s, std::size_t from, std::uint32_t first_round) {
  std::reverse(s.messages.begin() + static_cast<std::ptrdiff_t>(from), s.messages.end());
  for (std::size_t i = from; i < s.messages.size(); ++i) {
    s.messages[i].send = !s.messages[i].send;
    s.messages[i].round = first_round + (s.rounds - 1 - s.messages[i].round);
  }
}

// Appended to what is there already; each ends its last round.
// Block = relative rank: of a communicator with more ranks than blocks, the first ones. REQUIRES: `me` is among them.
void append_scatter_binomial(const Blocks& b, Relative r, std::uint32_t me, RankSchedule& out);
void append_bcast_binomial(std::int64_t bytes, Relative r, std::uint32_t me, RankSchedule& out);
void append_bcast_linear(std::int64_t bytes, Relative r, std::uint32_t me, RankSchedule& out);
void append_reduce_binomial(std::int64_t bytes, Relative r, std::uint32_t me, RankSchedule& out);
void append_reduce_linear(std::int64_t bytes, Relative r, std::uint32_t me, RankSchedule& out);
// p - 1 rounds around the ring: each relative rank i sends block (i + first) mod p to the next one, and from then on
// what has just come to it.
void append_ring_pass(const Blocks& b, Relative r, std::uint32_t first, std::uint32_t me, RankSchedule& out);
// Relative rank i starts with block (i + shift) mod p and ends with all.
inline void append_allgather_ring(const Blocks& b, Relative r, std::uint32_t shift, std::uint32_t me,
                                  RankSchedule& out) {
  append_ring_pass(b, r, shift, me, out);
}
// Every rank starts with a partial sum of all blocks; relative rank i ends with block (i + shift) mod p, which is what
// its last round brings.
inline void append_reduce_scatter_ring(const Blocks& b, Relative r, std::uint32_t shift, std::uint32_t me,
                                       RankSchedule& out) {
  append_ring_pass(b, r, minus(shift, 1, r.p), me, out);
}
// Vector halving with distance doubling among the pof2 folded ranks; the range that is left is returned.
struct HalvedRange {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};
template <class Runs>  // Runs: folded rank -> the rank that runs as it
HalvedRange append_vector_halving(const Blocks& b, std::uint32_t pof2, std::uint32_t folded, Runs runs,
                                  RankSchedule& out) {
  HalvedRange mine{0, pof2};
  for (std::uint32_t mask = 1; mask < pof2; mask *= 2) {
    const std::uint32_t half = mine.count / 2;
    const std::uint32_t peer = runs(folded ^ mask);
    const std::uint32_t lower = mine.first;
    const std::uint32_t upper = mine.first + half;
    const bool keep_lower = (folded & mask) == 0;
    send_blocks(out, b, peer, keep_lower ? upper : lower, half);
    recv_blocks(out, b, peer, keep_lower ? lower : upper, half);
    out.next_round();
    mine = {keep_lower ? lower : upper, half};
  }
  return mine;
}
// From the range that is left back to all, along the same pairs.
template <class Runs>
void append_halving_back(const Blocks& b, std::uint32_t pof2, std::uint32_t folded, Runs runs,
                         HalvedRange mine, RankSchedule& out) {
  for (std::uint32_t mask = pof2 / 2; mask >= 1; mask /= 2) {
    const std::uint32_t peer = runs(folded ^ mask);
    const bool lower = (folded & mask) == 0;
    const std::uint32_t theirs = lower ? mine.first + mine.count : mine.first - mine.count;
    send_blocks(out, b, peer, mine.first, mine.count);
    recv_blocks(out, b, peer, theirs, mine.count);
    out.next_round();
    mine = {std::min(mine.first, theirs), 2 * mine.count};
  }
}
// The reduce-scatter and the gather to the root of Rabenseifner's reduction, as MPICH and Open MPI have them, after
// the odd ranks of the fold have handed their data over: a root that sat out takes the place, and the piece, of rank 0.
void append_reduce_by_halving(const Blocks& b, const Fold& f, std::uint32_t root, std::uint32_t me,
                              RankSchedule& out);
// Relative rank i starts with block i. Ranges double; a rank whose partner does not exist gets the data from one of its
// own half.
void append_allgather_doubling(const Blocks& b, Relative r, std::uint32_t me, RankSchedule& out);
// Binomial scatter of p blocks of `each` bytes (the last ones short or empty, which nobody sends), and an allgather of
// them by recursive doubling.
void append_bcast_scatter_doubling(std::int64_t bytes, std::int64_t each, Relative r, std::uint32_t me,
                                   RankSchedule& out);
// ... or by a ring.
void append_bcast_scatter_ring(std::int64_t bytes, std::int64_t each, Relative r, std::uint32_t me,
                               RankSchedule& out);
// Exchanges of the whole vector; of a pair of the fold the even rank sits out.
void append_even_fold_doubling(std::int64_t bytes, std::uint32_t p, std::uint32_t me, RankSchedule& out);
void append_allreduce_recursive_doubling(std::int64_t bytes, std::uint32_t p, std::uint32_t me,
                                         RankSchedule& out);
void append_allgather_bruck(const Blocks& b, std::uint32_t me, RankSchedule& out);

}  // namespace weft::replay::collectives
