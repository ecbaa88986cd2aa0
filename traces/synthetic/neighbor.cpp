// Nearest neighbour in rank order: every rank sends `messages` messages to each of rank +- 1 ... +- reach (modulo
// the ranks), or, with sides=one, only upwards: with reach 1 the nearest-neighbour traffic of section VI of the
// paper on interconnect models. They go in rounds of `window`, as in `random`.
//
// $ weft generate neighbor --ranks 4 --messages 1
//   1 irecv 0 1024 0 world
//   1 irecv 2 1024 1 world
//   1 isend 2 1024 0 world
//   1 isend 0 1024 1 world
//   1 waitall - - - -
#include <algorithm>

#include "traces/synthetic/pattern.hpp"

namespace weft::traces::pattern_neighbor {
namespace {

class Neighbor final : public Pattern {
 public:
  Neighbor(std::uint32_t ranks, std::uint64_t reach, bool both, std::uint64_t messages, std::uint64_t window,
           std::int64_t bytes, PatternWork work)
      : ranks_(ranks), messages_(messages), window_(window), bytes_(bytes), work_(work) {
    for (std::uint64_t d = 1; d <= reach; ++d) {
      shifts_.push_back(d);
      if (both) shifts_.push_back(ranks - d);
    }
  }
  std::uint32_t ranks() const override { return ranks_; }
  std::uint64_t steps() const override { return (messages_ + window_ - 1) / window_; }
  void step(std::uint32_t rank, std::uint64_t k, OpBlock& out) const override {
    const std::uint64_t p = ranks_;
    const std::uint64_t now = std::min(messages_, (k + 1) * window_) - k * window_;
    std::uint32_t slot = 0;
    for (std::uint64_t m = 0; m < now; ++m)
      for (std::size_t s = 0; s < shifts_.size(); ++s)
        put_irecv(out, (rank + p - shifts_[s]) % p, static_cast<std::int32_t>(s), bytes_, slot++);
    for (std::uint64_t m = 0; m < now; ++m)
      for (std::size_t s = 0; s < shifts_.size(); ++s)
        put_isend(out, (rank + shifts_[s]) % p, static_cast<std::int32_t>(s), bytes_, slot++);
    put_waitall(out, slot);
    work_.append(out);
  }

 private:
  std::uint32_t ranks_;
  std::uint64_t messages_, window_;
  std::int64_t bytes_;
  PatternWork work_;
  std::vector<std::uint64_t> shifts_;
};

constexpr PatternKey kKeys[] = {
    {"ranks", "required", "how many, at least 2"},
    {"reach", "1", "the farthest neighbour, in ranks"},
    {"sides", "both", "both or one (upwards only)"},
    {"messages", "100", "to each neighbour"},
    {"window", "1", "messages to a neighbour at a time"},
    {"bytes", "1KiB", "of a message"},
    {"compute", "0", "computation per round, a duration (20us)"},
    {"flops", "0", "computation per round, floating-point operations (1e6)"},
};

}  // namespace

std::span<const PatternKey> keys() { return kKeys; }

Result<std::unique_ptr<Pattern>> make(const PatternArgs& args, std::uint64_t) {
  WEFT_ASSIGN(const std::int64_t ranks, args.integer("ranks", 2, kMaxPatternRanks));
  constexpr std::string_view kSides[] = {"both", "one"};
  WEFT_ASSIGN(const std::string sides, args.choice("sides", kSides));
  WEFT_ASSIGN(const std::int64_t reach, args.integer("reach", 1, std::min<std::int64_t>(ranks - 1, 64)));
  WEFT_ASSIGN(const std::int64_t messages, args.integer("messages", 1, kMaxPatternIterations));
  WEFT_ASSIGN(const std::int64_t window, args.integer("window", 1, 1000));
  WEFT_ASSIGN(const std::int64_t bytes, args.bytes("bytes"));
  WEFT_ASSIGN(const PatternWork work, pattern_work(args));
  return std::unique_ptr<Pattern>(std::make_unique<Neighbor>(
      static_cast<std::uint32_t>(ranks), static_cast<std::uint64_t>(reach), sides == "both",
      static_cast<std::uint64_t>(messages), static_cast<std::uint64_t>(window), bytes, work));
}

}  // namespace weft::traces::pattern_neighbor
