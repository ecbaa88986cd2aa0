// An iterative solver on a regular grid (Jacobi, conjugate gradients): per iteration the halos are shifted one
// dimension after the other, both ways, by Sendrecv, then come the computation and a global sum of the residual.
// The shifts carry corners along, so 2d messages of a rank do what 3^d - 1 do when all are sent at once.
//
// $ weft generate stencil --dims 3 --bytes 1KiB --iterations 1
//   1 sendrecv 2 1024 0 world
//   1 recv 0 1024 0 world
//   1 sendrecv 0 1024 1 world
//   1 recv 2 1024 1 world
//   1 allreduce - 8 - world
#include "traces/synthetic/pattern.hpp"
#include "traces/synthetic/rank_grid.hpp"

namespace weft::traces::pattern_stencil {
namespace {

class Stencil final : public Pattern {
 public:
  Stencil(RankGrid grid, std::int64_t bytes, std::int64_t sum_bytes, std::uint64_t iterations,
          PatternWork work)
      : grid_(std::move(grid)), bytes_(bytes), sum_bytes_(sum_bytes), iterations_(iterations), work_(work) {}
  std::uint32_t ranks() const override { return static_cast<std::uint32_t>(grid_.ranks()); }
  std::uint64_t steps() const override { return iterations_; }
  void step(std::uint32_t rank, std::uint64_t, OpBlock& out) const override {
    std::vector<int> offset(grid_.dimensions(), 0);
    for (std::size_t d = 0; d < grid_.dimensions(); ++d) {
      for (const int way : {1, -1}) {
        offset[d] = way;
        const auto to = grid_.neighbor(rank, offset);
        offset[d] = -way;
        const auto from = grid_.neighbor(rank, offset);
        const auto tag = static_cast<std::int32_t>(2 * d + (way > 0 ? 0 : 1));
        if (to && from)
          put_sendrecv(out, *to, *from, tag, bytes_, bytes_);
        else if (to)
          put_send(out, *to, tag, bytes_);
        else if (from)
          put_recv(out, *from, tag, bytes_);
      }
      offset[d] = 0;
    }
    work_.append(out);
    if (sum_bytes_ > 0) put_collective(out, OpKind::allreduce, sum_bytes_);
  }

 private:
  RankGrid grid_;
  std::int64_t bytes_, sum_bytes_;
  std::uint64_t iterations_;
  PatternWork work_;
};

constexpr PatternKey kKeys[] = {
    kGridDimsKey,
    kGridPeriodicKey,
    {"bytes", "64KiB", "of every halo message"},
    {"sum-bytes", "8B", "of the global sum; 0 = none"},
    kIterationsKey,
    kComputeKey,
    kFlopsKey,
};

}  // namespace

std::span<const PatternKey> keys() { return kKeys; }

Result<std::unique_ptr<Pattern>> make(const PatternArgs& args, std::uint64_t) {
  WEFT_ASSIGN(RankGrid grid, read_rank_grid(args));
  WEFT_ASSIGN(const std::int64_t bytes, args.bytes("bytes"));
  WEFT_ASSIGN(const std::int64_t sum_bytes, args.bytes("sum-bytes"));
  WEFT_ASSIGN(const std::uint64_t iterations, pattern_iterations(args));
  WEFT_ASSIGN(const PatternWork work, pattern_work(args));
  return std::unique_ptr<Pattern>(
      std::make_unique<Stencil>(std::move(grid), bytes, sum_bytes, iterations, work));
}

}  // namespace weft::traces::pattern_stencil
