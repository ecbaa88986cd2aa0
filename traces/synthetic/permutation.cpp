// Permutation traffic: every rank has one destination, and no two the same. The classical ones that show what a
// network is bad at (Dally and Towles, "Principles and Practices of Interconnection Networks", chapter 3):
//   complement  p-1-r: all traffic crosses the middle
//   reverse     the bits of r in reverse order (ranks a power of two)
//   transpose   rank x + S y -> y + S x (ranks a square)
//   tornado     r + ceil(p/2) - 1: half way round each ring
//   random      a permutation drawn from the seed; a rank may be its own destination and then sends nothing
//
// $ weft generate permutation --ranks 4 --bytes 1KiB --iterations 1
//   1 sendrecv 2 1024 0 world
//   1 recv 2 1024 0 world
#include <fmt/format.h>

#include <bit>
#include <cmath>

#include "core/rng.hpp"
#include "traces/synthetic/pattern.hpp"

namespace weft::traces::pattern_permutation {
namespace {

class Permutation final : public Pattern {
 public:
  Permutation(std::vector<std::uint32_t> to, std::int64_t bytes, std::uint64_t iterations, PatternWork work)
      : to_(std::move(to)), from_(to_.size()), bytes_(bytes), iterations_(iterations), work_(work) {
    for (std::uint32_t r = 0; r < to_.size(); ++r) from_[to_[r]] = r;
  }
  std::uint32_t ranks() const override { return static_cast<std::uint32_t>(to_.size()); }
  std::uint64_t steps() const override { return iterations_; }
  void step(std::uint32_t rank, std::uint64_t, OpBlock& out) const override {
    if (to_[rank] != rank) put_sendrecv(out, to_[rank], from_[rank], 0, bytes_, bytes_);
    work_.append(out);
  }

 private:
  std::vector<std::uint32_t> to_, from_;
  std::int64_t bytes_;
  std::uint64_t iterations_;
  PatternWork work_;
};

constexpr PatternKey kKeys[] = {
    {"ranks", "required", "how many, at least 2"},
    {"pattern", "complement", "complement, reverse, transpose, tornado or random"},
    {"bytes", "64KiB", "of a message"},
    kIterationsKey,
    kComputeKey,
    kFlopsKey,
};

}  // namespace

std::span<const PatternKey> keys() { return kKeys; }

Result<std::unique_ptr<Pattern>> make(const PatternArgs& args, std::uint64_t seed) {
  WEFT_ASSIGN(const std::int64_t ranks, args.integer("ranks", 2, kMaxPatternRanks));
  constexpr std::string_view kPatterns[] = {"complement", "reverse", "transpose", "tornado", "random"};
  WEFT_ASSIGN(const std::string pattern, args.choice("pattern", kPatterns));
  WEFT_ASSIGN(const std::int64_t bytes, args.bytes("bytes"));
  WEFT_ASSIGN(const std::uint64_t iterations, pattern_iterations(args));
  WEFT_ASSIGN(const PatternWork work, pattern_work(args));
  const auto p = static_cast<std::uint32_t>(ranks);
  std::vector<std::uint32_t> to(p);
  for (std::uint32_t r = 0; r < p; ++r) to[r] = r;
  if (pattern == "complement") {
    for (std::uint32_t r = 0; r < p; ++r) to[r] = p - 1 - r;
  } else if (pattern == "reverse") {
    if (!std::has_single_bit(p))
      return usage_error("--pattern reverse needs a power of two", std::to_string(p), "--ranks 2, 4, 8, ...");
    const int bits = std::countr_zero(p);
    for (std::uint32_t r = 0; r < p; ++r) {
      to[r] = 0;
      for (int b = 0; b < bits; ++b) to[r] |= (r >> b & 1u) << (bits - 1 - b);
    }
  } else if (pattern == "transpose") {
    const auto side = static_cast<std::uint32_t>(std::lround(std::sqrt(static_cast<double>(p))));
    if (side * side != p)
      return usage_error("--pattern transpose needs a square", std::to_string(p), "--ranks 4, 9, 16, ...");
    for (std::uint32_t r = 0; r < p; ++r) to[r] = r % side * side + r / side;
  } else if (pattern == "tornado") {
    const std::uint32_t shift = (p + 1) / 2 - 1;
    for (std::uint32_t r = 0; r < p; ++r) to[r] = (r + shift) % p;
  } else {
    Rng(seed).shuffle(std::span<std::uint32_t>(to));
  }
  return std::unique_ptr<Pattern>(std::make_unique<Permutation>(std::move(to), bytes, iterations, work));
}

}  // namespace weft::traces::pattern_permutation
