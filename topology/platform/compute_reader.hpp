// Reads what a platform file says about computation and the MPI library (platform.proto) into plain columns.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "core/result.hpp"
#include "topology/platform/compute_model.hpp"
#include "topology/platform/platform.hpp"
#include "topology/platform/platform_source.hpp"

namespace weft::topology {

// `speeds` (flop/s, by host, or one for all) and `ranks` of a host are those in force after overrides. Errors: kBadInput with the field's
// position. Names of kernels are not checked here. O(hosts x sockets + hosts named by groups).
[[nodiscard]] Result<ComputeModel> read_compute(const PlatformSource& source, std::span<const double> speeds,
                                                std::uint32_t ranks, std::uint32_t hosts);

// "128", "96-191", "192-" or "-95", ends included, and back. Errors (kBadInput at `where`): anything else.
[[nodiscard]] Result<ShapeBounds::Range> parse_size_range(const std::string& text, const std::string& where);
[[nodiscard]] std::string text_of(const ShapeBounds::Range& r);

// Defaults where the file is silent; `assumed` lists those.
[[nodiscard]] Result<MpiParameters> read_mpi(const PlatformSource& source);

}  // namespace weft::topology
