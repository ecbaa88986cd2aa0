// Halo exchange: every rank owns a box of a regular grid and swaps the layers at its border with its neighbours,
// all at once: receives are posted, then the sends, then one wait for all, then the computation.
//
// Neighbours lie in 2d directions (faces), also those that differ in two dimensions (edges), or in all 3^d - 1
// (corners). A message holds width cells in each dimension in which its direction points, the whole extent of the
// box in the others.
//
// $ weft generate halo --dims 3 --bytes 1KiB --iterations 1
//   1 irecv 0 1024 1 world
//   1 irecv 2 1024 0 world
//   1 isend 0 1024 0 world
//   1 isend 2 1024 1 world
//   1 waitall - - - -
#include <fmt/format.h>

#include <algorithm>

#include "traces/synthetic/pattern.hpp"
#include "traces/synthetic/rank_grid.hpp"

namespace weft::traces::pattern_halo {
namespace {

struct Direction {
  std::vector<int> offset;
  std::int64_t bytes = 0;
};

// All directions that point in 1 to `order` dimensions, first dimension fastest, so that the opposite of the k-th
// of n is the (n-1-k)-th.
std::vector<Direction> directions(std::size_t dimensions, std::size_t order) {
  std::vector<Direction> out;
  std::size_t all = 1;
  for (std::size_t d = 0; d < dimensions; ++d) all *= 3;
  for (std::size_t i = 0; i < all; ++i) {
    Direction dir;
    std::size_t rest = i, points = 0;
    for (std::size_t d = 0; d < dimensions; ++d, rest /= 3) {
      dir.offset.push_back(static_cast<int>(rest % 3) - 1);
      points += dir.offset.back() != 0 ? 1 : 0;
    }
    if (points >= 1 && points <= order) out.push_back(std::move(dir));
  }
  return out;
}

class Halo final : public Pattern {
 public:
  Halo(RankGrid grid, std::vector<Direction> dirs, std::uint64_t iterations, PatternWork work)
      : grid_(std::move(grid)), dirs_(std::move(dirs)), iterations_(iterations), work_(work) {}
  std::uint32_t ranks() const override { return static_cast<std::uint32_t>(grid_.ranks()); }
  std::uint64_t steps() const override { return iterations_; }
  void step(std::uint32_t rank, std::uint64_t, OpBlock& out) const override {
    std::uint32_t slot = 0;
    // A message is tagged with the direction in which it travels: on a periodic extent of 2 both neighbours are
    // the same rank.
    for (std::size_t k = 0; k < dirs_.size(); ++k)
      if (const auto from = grid_.neighbor(rank, dirs_[k].offset))
        put_irecv(out, *from, static_cast<std::int32_t>(dirs_.size() - 1 - k), dirs_[k].bytes, slot++);
    for (std::size_t k = 0; k < dirs_.size(); ++k)
      if (const auto to = grid_.neighbor(rank, dirs_[k].offset))
        put_isend(out, *to, static_cast<std::int32_t>(k), dirs_[k].bytes, slot++);
    put_waitall(out, slot);
    work_.append(out);
  }

 private:
  RankGrid grid_;
  std::vector<Direction> dirs_;
  std::uint64_t iterations_;
  PatternWork work_;
};

constexpr PatternKey kKeys[] = {
    kGridDimsKey,
    kGridPeriodicKey,
    {"neighbors", "faces", "faces, edges or corners"},
    {"bytes", "64KiB", "of every message; or, instead, the box:"},
    {"cells", "-", "cells of a rank's box in each dimension: 64x64x64"},
    {"width", "1", "cells of a halo layer"},
    {"cell-bytes", "8", "bytes of a cell, a number"},
    kIterationsKey,
    kComputeKey,
    kFlopsKey,
};

}  // namespace

std::span<const PatternKey> keys() { return kKeys; }

Result<std::unique_ptr<Pattern>> make(const PatternArgs& args, std::uint64_t) {
  WEFT_ASSIGN(RankGrid grid, read_rank_grid(args));
  constexpr std::string_view kNeighbors[] = {"faces", "edges", "corners"};
  WEFT_ASSIGN(const std::string neighbors, args.choice("neighbors", kNeighbors));
  WEFT_ASSIGN(const std::int64_t bytes, args.bytes("bytes"));
  WEFT_ASSIGN(const std::int64_t width, args.integer("width", 1, 1 << 20));
  WEFT_ASSIGN(const std::int64_t cell_bytes, args.integer("cell-bytes", 1, 1 << 20));
  WEFT_ASSIGN(const std::uint64_t iterations, pattern_iterations(args));
  WEFT_ASSIGN(const PatternWork work, pattern_work(args));
  const std::size_t dimensions = grid.dimensions();
  const std::size_t order = neighbors == "faces" ? 1 : neighbors == "edges" ? 2 : dimensions;
  auto dirs = directions(dimensions, order);
  for (auto& d : dirs) d.bytes = bytes;
  for (const char* of_box : {"width", "cell-bytes"})
    if (args.has(of_box) && !args.has("cells"))
      return usage_error(fmt::format("--{} is of a box of cells", of_box), "no --cells", "--cells 64x64x64");
  if (args.has("cells")) {
    if (args.has("bytes")) return usage_error("--bytes and --cells both give the size of the messages");
    WEFT_ASSIGN(const auto cells, args.extents("cells", dimensions, dimensions, 1u << 20));
    for (auto& dir : dirs) {
      double volume = static_cast<double>(cell_bytes);
      for (std::size_t d = 0; d < dimensions; ++d)
        volume *= dir.offset[d] != 0 ? static_cast<double>(std::min<std::uint64_t>(width, cells[d]))
                                     : static_cast<double>(cells[d]);
      if (volume > static_cast<double>(kMaxPatternBytes))
        return usage_error("--cells makes messages that are too large", fmt::format("{:.0f} B", volume),
                           "at most 1TiB");
      dir.bytes = static_cast<std::int64_t>(volume);
    }
  }
  return std::unique_ptr<Pattern>(std::make_unique<Halo>(std::move(grid), std::move(dirs), iterations, work));
}

}  // namespace weft::traces::pattern_halo
