// A ring: in each iteration every rank sends to rank + stride and receives from rank - stride (Sendrecv, modulo the
// ranks). With one iteration less than ranks it is the ring allgather; with a large stride it crosses the machine.
//
// $ weft generate ring --ranks 4 --bytes 1KiB --iterations 1
//   1 sendrecv 2 1024 0 world
//   1 recv 0 1024 0 world
#include "traces/synthetic/pattern.hpp"

namespace weft::traces::pattern_ring {
namespace {

class Ring final : public Pattern {
 public:
  Ring(std::uint32_t ranks, std::uint64_t stride, std::int64_t bytes, std::uint64_t iterations,
       PatternWork work)
      : ranks_(ranks), stride_(stride), bytes_(bytes), iterations_(iterations), work_(work) {}
  std::uint32_t ranks() const override { return ranks_; }
  std::uint64_t steps() const override { return iterations_; }
  void step(std::uint32_t rank, std::uint64_t, OpBlock& out) const override {
    const std::uint64_t p = ranks_;
    put_sendrecv(out, (rank + stride_) % p, (rank + p - stride_) % p, 0, bytes_, bytes_);
    work_.append(out);
  }

 private:
  std::uint32_t ranks_;
  std::uint64_t stride_;
  std::int64_t bytes_;
  std::uint64_t iterations_;
  PatternWork work_;
};

constexpr PatternKey kKeys[] = {
    {"ranks", "required", "how many, at least 2"},
    {"stride", "1", "to whom: rank + stride"},
    {"bytes", "64KiB", "of a message"},
    kIterationsKey,
    kComputeKey,
    kFlopsKey,
};

}  // namespace

std::span<const PatternKey> keys() { return kKeys; }

Result<std::unique_ptr<Pattern>> make(const PatternArgs& args, std::uint64_t) {
  WEFT_ASSIGN(const std::int64_t ranks, args.integer("ranks", 2, kMaxPatternRanks));
  WEFT_ASSIGN(const std::int64_t stride, args.integer("stride", 1, ranks - 1));
  WEFT_ASSIGN(const std::int64_t bytes, args.bytes("bytes"));
  WEFT_ASSIGN(const std::uint64_t iterations, pattern_iterations(args));
  WEFT_ASSIGN(const PatternWork work, pattern_work(args));
  return std::unique_ptr<Pattern>(std::make_unique<Ring>(
      static_cast<std::uint32_t>(ranks), static_cast<std::uint64_t>(stride), bytes, iterations, work));
}

}  // namespace weft::traces::pattern_ring
