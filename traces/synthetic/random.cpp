// Random destination: every rank sends `messages` messages, each to another rank drawn uniformly (section VI of
// the paper on interconnect models uses it to compare fat-tree simulators). They go in rounds of `window`: in a
// round a rank posts its receives, then its sends, then waits for all of both.
//
// A receiver must know who sends to it, so the draws are kept: 8 bytes a message.
//
// $ weft generate random --ranks 4 --messages 2
//   0 irecv 2 1024 0 world
//   0 isend 3 1024 0 world
//   0 waitall - - - -
#include <fmt/format.h>

#include <algorithm>

#include "core/rng.hpp"
#include "traces/synthetic/pattern.hpp"

namespace weft::traces::pattern_random {
namespace {

class Random final : public Pattern {
 public:
  Random(std::uint32_t ranks, std::uint64_t messages, std::uint64_t window, std::int64_t bytes,
         PatternWork work, std::uint64_t seed)
      : ranks_(ranks), messages_(messages), window_(window), bytes_(bytes), work_(work) {
    Rng rng(seed);
    to_.resize(messages * ranks);
    // Message by message, rank by rank: the first messages do not depend on how many follow.
    for (std::uint64_t m = 0; m < messages; ++m)
      for (std::uint32_t r = 0; r < ranks; ++r) {
        const auto d = static_cast<std::uint32_t>(rng.below(ranks - 1));
        to_[m * ranks + r] = d < r ? d : d + 1;
      }
    // Senders by (round, receiver), in the order in which they send.
    const std::uint64_t rounds = steps();
    begin_.assign(rounds * ranks + 1, 0);
    for (std::uint64_t i = 0; i < to_.size(); ++i) ++begin_[round_of(i) * ranks + to_[i] + 1];
    for (std::size_t i = 1; i < begin_.size(); ++i) begin_[i] += begin_[i - 1];
    from_.resize(to_.size());
    auto next = begin_;
    for (std::uint64_t i = 0; i < to_.size(); ++i)
      from_[next[round_of(i) * ranks + to_[i]]++] = static_cast<std::uint32_t>(i % ranks);
  }
  std::uint32_t ranks() const override { return ranks_; }
  std::uint64_t steps() const override { return (messages_ + window_ - 1) / window_; }
  void step(std::uint32_t rank, std::uint64_t k, OpBlock& out) const override {
    std::uint32_t slot = 0;
    const std::uint64_t cell = k * ranks_ + rank;
    for (std::uint64_t i = begin_[cell]; i < begin_[cell + 1]; ++i)
      put_irecv(out, from_[i], 0, bytes_, slot++);
    const std::uint64_t end = std::min(messages_, (k + 1) * window_);
    for (std::uint64_t m = k * window_; m < end; ++m)
      put_isend(out, to_[m * ranks_ + rank], 0, bytes_, slot++);
    put_waitall(out, slot);
    work_.append(out);
  }

 private:
  std::uint64_t round_of(std::uint64_t i) const { return i / ranks_ / window_; }
  std::uint32_t ranks_;
  std::uint64_t messages_, window_;
  std::int64_t bytes_;
  PatternWork work_;
  std::vector<std::uint32_t> to_;     // [message x ranks + sender]
  std::vector<std::uint64_t> begin_;  // [round x ranks + receiver] -> into from_
  std::vector<std::uint32_t> from_;
};

constexpr std::int64_t kMaxDraws = 100'000'000;
constexpr PatternKey kKeys[] = {
    {"ranks", "required", "how many, at least 2"},
    {"messages", "100", "that each rank sends"},
    {"window", "1", "messages of a rank at a time"},
    {"bytes", "1KiB", "of a message"},
    {"compute", "0", "computation per round, a duration (20us)"},
    {"flops", "0", "computation per round, floating-point operations (1e6)"},
};

}  // namespace

std::span<const PatternKey> keys() { return kKeys; }

Result<std::unique_ptr<Pattern>> make(const PatternArgs& args, std::uint64_t seed) {
  WEFT_ASSIGN(const std::int64_t ranks, args.integer("ranks", 2, kMaxPatternRanks));
  WEFT_ASSIGN(const std::int64_t messages, args.integer("messages", 1, kMaxDraws / ranks));
  WEFT_ASSIGN(const std::int64_t window, args.integer("window", 1, 1000));
  WEFT_ASSIGN(const std::int64_t bytes, args.bytes("bytes"));
  WEFT_ASSIGN(const PatternWork work, pattern_work(args));
  return std::unique_ptr<Pattern>(
      std::make_unique<Random>(static_cast<std::uint32_t>(ranks), static_cast<std::uint64_t>(messages),
                               static_cast<std::uint64_t>(window), bytes, work, seed));
}

}  // namespace weft::traces::pattern_random
