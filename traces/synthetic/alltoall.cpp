// Every rank sends to every other. As the collective MPI_Alltoall, whose algorithm the platform chooses, or written
// out: "pairwise" meets one partner at a time (rank r sends to r+k and receives from r-k in step k), "spread" posts
// everything at once in that order.
//
// $ weft generate alltoall --ranks 3 --bytes 1KiB --iterations 1 --how pairwise
//   1 sendrecv 2 1024 0 world
//   1 recv 0 1024 0 world
//   1 sendrecv 0 1024 0 world
//   1 recv 2 1024 0 world
#include "traces/synthetic/pattern.hpp"

namespace weft::traces::pattern_alltoall {
namespace {

enum class How { kCollective, kPairwise, kSpread };

class Alltoall final : public Pattern {
 public:
  Alltoall(std::uint32_t ranks, std::int64_t bytes, How how, std::uint64_t iterations, PatternWork work)
      : ranks_(ranks), bytes_(bytes), how_(how), iterations_(iterations), work_(work) {}
  std::uint32_t ranks() const override { return ranks_; }
  std::uint64_t steps() const override { return iterations_; }
  void step(std::uint32_t rank, std::uint64_t, OpBlock& out) const override {
    const std::uint64_t p = ranks_;
    if (how_ == How::kCollective) {
      put_collective(out, OpKind::alltoall, bytes_);
    } else if (how_ == How::kPairwise) {
      for (std::uint64_t k = 1; k < p; ++k)
        put_sendrecv(out, (rank + k) % p, (rank + p - k) % p, 0, bytes_, bytes_);
    } else {
      std::uint32_t slot = 0;
      for (std::uint64_t k = 1; k < p; ++k) put_irecv(out, (rank + p - k) % p, 0, bytes_, slot++);
      for (std::uint64_t k = 1; k < p; ++k) put_isend(out, (rank + k) % p, 0, bytes_, slot++);
      put_waitall(out, slot);
    }
    work_.append(out);
  }

 private:
  std::uint32_t ranks_;
  std::int64_t bytes_;
  How how_;
  std::uint64_t iterations_;
  PatternWork work_;
};

constexpr PatternKey kKeys[] = {
    {"ranks", "required", "how many"},
    {"bytes", "64KiB", "from each rank to each other"},
    {"how", "collective", "collective, pairwise or spread"},
    kIterationsKey,
    kComputeKey,
    kFlopsKey,
};
// Written out, a step of a rank has 3 operations for each other rank.
constexpr std::int64_t kMaxWrittenOut = 100000;

}  // namespace

std::span<const PatternKey> keys() { return kKeys; }

Result<std::unique_ptr<Pattern>> make(const PatternArgs& args, std::uint64_t) {
  constexpr std::string_view kHow[] = {"collective", "pairwise", "spread"};
  WEFT_ASSIGN(const std::string how, args.choice("how", kHow));
  WEFT_ASSIGN(const std::int64_t ranks,
              args.integer("ranks", 1, how == "collective" ? kMaxPatternRanks : kMaxWrittenOut));
  WEFT_ASSIGN(const std::int64_t bytes, args.bytes("bytes"));
  WEFT_ASSIGN(const std::uint64_t iterations, pattern_iterations(args));
  WEFT_ASSIGN(const PatternWork work, pattern_work(args));
  return std::unique_ptr<Pattern>(std::make_unique<Alltoall>(static_cast<std::uint32_t>(ranks), bytes,
                                                             how == "collective" ? How::kCollective
                                                             : how == "pairwise" ? How::kPairwise
                                                                                 : How::kSpread,
                                                             iterations, work));
}

}  // namespace weft::traces::pattern_alltoall
