// Discrete-ordinates transport sweep by the KBA method (Koch, Baker, Alcouffe 1992), as the SNAP mini-app does it
// (section VIII of the paper on interconnect models).
//
// Ranks form a PY x PZ grid over y and z, rank = iy + PY iz, and own whole lines of x, cut into chunks of `ichunk`
// cells. For each of the four (y, z) directions of travel, and each energy group, both x directions (an octant pair)
// are swept: chunk after chunk a rank receives the angular flux that enters its y and z faces from upstream, computes,
// and sends what leaves downstream. Blocking sends and receives, as SNAP has them.
//
// Message sizes: y face: ichunk x nz cells x angles x 8 B, z face: ichunk x ny cells x angles x 8 B, where ny, nz are
// the rank's own cells. Of one octant a rank at distance d from the corner begins after d chunks: the pipeline is
// PY + PZ - 2 + chunks long; the next octant pair enters while the last one drains.
//
// $ weft generate sweep --grid 2x2 --cells 8x4x4 --octants 2 --groups 1 --angles 10
//   1 recv 0 1280 0 world
//   1 compute - 12800flop - -
//   1 send 3 1280 1 world
#include <fmt/format.h>

#include <algorithm>

#include "traces/synthetic/pattern.hpp"
#include "traces/synthetic/rank_grid.hpp"

namespace weft::traces::pattern_sweep {
namespace {

class Sweep final : public Pattern {
 public:
  struct Size {
    std::uint64_t py = 1, pz = 1, nx = 1, ny = 1, nz = 1, ichunk = 1, angles = 1, groups = 1, iterations = 1;
    std::uint64_t octants = 8;
    double flops = 0;  // per cell, angle and group
  };
  explicit Sweep(Size s) : s_(s), chunks_((s.nx + s.ichunk - 1) / s.ichunk) {}
  std::uint32_t ranks() const override { return static_cast<std::uint32_t>(s_.py * s_.pz); }
  // One chunk of one octant of one group, in the order in which every rank does them.
  std::uint64_t steps() const override { return s_.iterations * s_.octants * s_.groups * chunks_; }
  void step(std::uint32_t rank, std::uint64_t k, OpBlock& out) const override {
    const std::uint64_t chunk = k % chunks_;
    // Octants 2c and 2c+1 are one corner's pair: both x directions of a group before the next group.
    const std::uint64_t pair = std::min<std::uint64_t>(s_.octants, 2);
    const std::uint64_t task = k / chunks_ % (s_.octants * s_.groups);
    const std::uint64_t corner = task / (pair * s_.groups);
    const bool up_y = (corner & 1) == 0, up_z = (corner & 2) == 0;
    const std::uint64_t iy = rank % s_.py, iz = rank / s_.py;
    const std::uint64_t ny = block_size(s_.ny, s_.py, iy), nz = block_size(s_.nz, s_.pz, iz);
    const std::uint64_t cells_x = std::min(s_.ichunk, s_.nx - chunk * s_.ichunk);
    const auto y_face = static_cast<std::int64_t>(cells_x * nz * s_.angles * 8);
    const auto z_face = static_cast<std::int64_t>(cells_x * ny * s_.angles * 8);
    const bool enters_y = up_y ? iy > 0 : iy + 1 < s_.py, leaves_y = up_y ? iy + 1 < s_.py : iy > 0;
    const bool enters_z = up_z ? iz > 0 : iz + 1 < s_.pz, leaves_z = up_z ? iz + 1 < s_.pz : iz > 0;
    const std::int64_t y_way = up_y ? 1 : -1, z_way = (up_z ? 1 : -1) * static_cast<std::int64_t>(s_.py);
    const auto at = [&](std::int64_t d) {
      return static_cast<std::uint64_t>(static_cast<std::int64_t>(rank) + d);
    };
    if (enters_y) put_recv(out, at(-y_way), 0, y_face);
    if (enters_z) put_recv(out, at(-z_way), 1, z_face);
    put_compute_flops(out, s_.flops * static_cast<double>(cells_x * ny * nz * s_.angles));
    if (leaves_y) put_send(out, at(y_way), 0, y_face);
    if (leaves_z) put_send(out, at(z_way), 1, z_face);
  }

 private:
  Size s_;
  std::uint64_t chunks_;
};

constexpr PatternKey kKeys[] = {
    {"grid", "required", "ranks in y and z: 4x6"},
    {"cells", "32x32x48", "spatial mesh in x, y, z"},
    {"ichunk", "8", "cells of a chunk in x"},
    {"angles", "192", "per octant"},
    {"groups", "8", "energy groups"},
    {"octants", "8", "8, or 1, 2, 4 for a part of a sweep"},
    {"iterations", "1", "sweeps of all octants"},
    {"flops", "40", "floating-point operations per cell, angle and group (assumed)"},
};

}  // namespace

std::span<const PatternKey> keys() { return kKeys; }

Result<std::unique_ptr<Pattern>> make(const PatternArgs& args, std::uint64_t) {
  WEFT_ASSIGN(const auto grid, args.extents("grid", 2, 2, kMaxPatternRanks));
  WEFT_ASSIGN(const auto cells, args.extents("cells", 3, 3, 1u << 16));
  WEFT_ASSIGN(const std::int64_t ichunk, args.integer("ichunk", 1, 1 << 16));
  WEFT_ASSIGN(const std::int64_t angles, args.integer("angles", 1, 1 << 16));
  WEFT_ASSIGN(const std::int64_t groups, args.integer("groups", 1, 1 << 16));
  constexpr std::string_view kOctants[] = {"8", "1", "2", "4"};
  WEFT_ASSIGN(const std::string octants, args.choice("octants", kOctants));
  WEFT_ASSIGN(const std::uint64_t iterations, pattern_iterations(args));
  WEFT_ASSIGN(const double flops, args.number("flops"));
  if (static_cast<double>(grid[0]) * static_cast<double>(grid[1]) > kMaxPatternRanks)
    return usage_error("--grid has too many ranks", fmt::format("{}x{}", grid[0], grid[1]),
                       fmt::format("at most {}", kMaxPatternRanks));
  if (grid[0] > cells[1] || grid[1] > cells[2])
    return usage_error("--grid has more ranks than the mesh has cells in y or z",
                       fmt::format("{}x{} ranks on {}x{} cells", grid[0], grid[1], cells[1], cells[2]),
                       "at least one cell each way for every rank");
  Sweep::Size s;
  s.py = grid[0];
  s.pz = grid[1];
  s.nx = cells[0];
  s.ny = cells[1];
  s.nz = cells[2];
  s.ichunk = static_cast<std::uint64_t>(ichunk);
  s.angles = static_cast<std::uint64_t>(angles);
  s.groups = static_cast<std::uint64_t>(groups);
  s.octants = static_cast<std::uint64_t>(octants[0] - '0');
  s.iterations = iterations;
  s.flops = flops;
  return std::unique_ptr<Pattern>(std::make_unique<Sweep>(s));
}

}  // namespace weft::traces::pattern_sweep
