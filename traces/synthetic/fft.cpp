// 3-D FFT on pencils: R x C ranks; rank (i, j) = i C + j begins with whole lines of x. A forward transform turns
// x-pencils into y-pencils among the ranks of its row and y-pencils into z-pencils among those of its column, the
// backward one returns: four Alltoallv an iteration. A barrier stands before the first and after each.
//
// With the default 10 x 10 ranks and one iteration: 400 calls of Alltoallv and 500 of Barrier, as in the trace of
// the Big FFT mini-app on 100 processes that section VII of the paper on interconnect models replays. Its 20
// communicators are made by Comm_create over the world, 2,000 calls, unless comms=split.
//
// Blocks: x is dealt to columns j and y to rows i where they are not whole, z to columns j at first, to rows i at the
// end. From (x whole, y by i, z by j) to (y whole): in the COLUMN group of j the ranks swap x for y; then (x by i,
// y whole, z by j) to (z whole): in the ROW group of i they swap y for z.
//
// $ weft generate fft --grid 2x2 --cells 8x8x8
//   1 barrier - - - world
//   1 compute - 1920flop - -
//   1 alltoallv - 2048 - split2
//   1 barrier - - - world
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "traces/synthetic/pattern.hpp"
#include "traces/synthetic/rank_grid.hpp"

namespace weft::traces::pattern_fft {
namespace {

class Fft final : public Pattern {
 public:
  Fft(std::vector<std::uint64_t> cells, std::uint64_t rows, std::uint64_t cols, std::int64_t element,
      std::uint64_t iterations, bool split, bool barriers, bool computes)
      : n_(std::move(cells)),
        rows_(rows),
        cols_(cols),
        element_(element),
        iterations_(iterations),
        split_(split),
        barriers_(barriers),
        computes_(computes) {}
  std::uint32_t ranks() const override { return static_cast<std::uint32_t>(rows_ * cols_); }
  // The first step makes the communicators.
  std::uint64_t steps() const override { return iterations_ + 1; }
  std::vector<Communicator> communicators() const override {
    auto out = Pattern::communicators();
    for (std::uint64_t i = 0; i < rows_; ++i) {
      Communicator c{fmt::format("row{}", i), {}};
      for (std::uint64_t j = 0; j < cols_; ++j) c.members.push_back(static_cast<std::int32_t>(i * cols_ + j));
      out.push_back(std::move(c));
    }
    for (std::uint64_t j = 0; j < cols_; ++j) {
      Communicator c{fmt::format("col{}", j), {}};
      for (std::uint64_t i = 0; i < rows_; ++i) c.members.push_back(static_cast<std::int32_t>(i * cols_ + j));
      out.push_back(std::move(c));
    }
    return out;
  }
  void step(std::uint32_t rank, std::uint64_t k, OpBlock& out) const override {
    const std::uint64_t i = rank / cols_, j = rank % cols_;
    if (k == 0) return make_communicators(i, j, out);
    const CommId row(static_cast<std::uint32_t>(1 + i));
    const CommId col(static_cast<std::uint32_t>(1 + rows_ + j));
    const std::uint64_t x = block_size(n_[0], rows_, i);   // as y-pencil and z-pencil
    const std::uint64_t y = block_size(n_[1], rows_, i);   // as x-pencil
    const std::uint64_t yz = block_size(n_[1], cols_, j);  // as z-pencil
    const std::uint64_t z = block_size(n_[2], cols_, j);   // as x-pencil and y-pencil
    if (barriers_) put_collective(out, OpKind::barrier, 0);
    compute(n_[0], y * z, out);
    // Sent: my y and z, the x of the other. Received: my x and z, the y of the other.
    exchange(col, rows_, z, y, n_[0], x, n_[1], out);
    compute(n_[1], x * z, out);
    exchange(row, cols_, x, z, n_[1], yz, n_[2], out);
    compute(n_[2], x * yz, out);
    compute(n_[2], x * yz, out);
    exchange(row, cols_, x, yz, n_[2], z, n_[1], out);
    compute(n_[1], x * z, out);
    exchange(col, rows_, z, x, n_[1], y, n_[0], out);
    compute(n_[0], y * z, out);
  }

 private:
  void make_communicators(std::uint64_t i, std::uint64_t j, OpBlock& out) const {
    const auto put = [&](OpKind kind, std::int64_t id) {
      Op op;
      op.kind = kind;
      op.amount = id;
      out.ops.push_back(op);
    };
    const auto row_id = static_cast<std::int64_t>(1 + i), col_id = static_cast<std::int64_t>(1 + rows_ + j);
    if (split_) {
      put(OpKind::comm_split, row_id);
      put(OpKind::comm_split, col_id);
      return;
    }
    for (std::int64_t id = 1; id <= static_cast<std::int64_t>(rows_ + cols_); ++id)
      put(OpKind::comm_create, id == row_id || id == col_id ? id : -1);
  }
  // An Alltoallv among `members`: every rank holds `kept` lines x `mine` of one extent and all of `given`, and wants
  // `wanted` of `given` and all of `taken`.
  void exchange(CommId comm, std::uint64_t members, std::uint64_t kept, std::uint64_t mine,
                std::uint64_t given, std::uint64_t wanted, std::uint64_t taken, OpBlock& out) const {
    std::vector<std::int64_t> list{static_cast<std::int64_t>(members)};
    std::int64_t sum = 0;
    for (std::uint64_t m = 0; m < members; ++m) {
      list.push_back(static_cast<std::int64_t>(kept * mine * block_size(given, members, m)) * element_);
      sum += list.back();
    }
    for (std::uint64_t m = 0; m < members; ++m)
      list.push_back(static_cast<std::int64_t>(kept * wanted * block_size(taken, members, m)) * element_);
    put_collective(out, OpKind::alltoallv, sum, comm, list);
    if (barriers_) put_collective(out, OpKind::barrier, 0);
  }
  // `lines` transforms of length n: 5 n log2 n operations each.
  void compute(std::uint64_t n, std::uint64_t lines, OpBlock& out) const {
    if (!computes_) return;
    const auto length = static_cast<double>(n);
    put_compute_flops(out, 5 * length * std::log2(length) * static_cast<double>(lines));
  }

  std::vector<std::uint64_t> n_;
  std::uint64_t rows_, cols_;
  std::int64_t element_;
  std::uint64_t iterations_;
  bool split_, barriers_, computes_;
};

constexpr PatternKey kKeys[] = {
    {"grid", "10x10", "ranks: rows x columns of pencils"},
    {"cells", "200x200x200", "points of the transform in x, y, z"},
    {"element-bytes", "16", "of a point, a number (16 = complex double)"},
    {"iterations", "1", "forward and backward transforms"},
    {"comms", "create", "create (Comm_create of every row and column over the world) or split"},
    {"barriers", "on", "on or off"},
    {"flops", "on", "on: 5 n log2 n operations for every line of n points; off: no computation"},
};
constexpr std::uint64_t kMaxSide = 4096;  // rows, columns: an Alltoallv lists them twice

}  // namespace

std::span<const PatternKey> keys() { return kKeys; }

Result<std::unique_ptr<Pattern>> make(const PatternArgs& args, std::uint64_t) {
  WEFT_ASSIGN(const auto grid, args.extents("grid", 2, 2, kMaxSide));
  WEFT_ASSIGN(auto cells, args.extents("cells", 3, 3, 1u << 17));
  WEFT_ASSIGN(const std::int64_t element, args.integer("element-bytes", 1, 1024));
  WEFT_ASSIGN(const std::uint64_t iterations, pattern_iterations(args));
  constexpr std::string_view kComms[] = {"create", "split"};
  WEFT_ASSIGN(const std::string comms, args.choice("comms", kComms));
  WEFT_ASSIGN(const bool barriers, args.on_off("barriers"));
  WEFT_ASSIGN(const bool computes, args.on_off("flops"));
  if (grid[0] * grid[1] > kMaxPatternRanks)
    return usage_error("--grid has too many ranks", std::to_string(grid[0] * grid[1]),
                       fmt::format("at most {}", kMaxPatternRanks));
  return std::unique_ptr<Pattern>(std::make_unique<Fft>(std::move(cells), grid[0], grid[1], element,
                                                        iterations, comms == "split", barriers, computes));
}

}  // namespace weft::traces::pattern_fft
