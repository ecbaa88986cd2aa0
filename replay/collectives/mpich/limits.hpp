// The sizes at which MPICH changes its algorithm (src/mpi/coll/cvars.txt and maint/tuning/coll/mpir/generic.json, 4.1 to 5.0),
// which Weft's own defaults take over.
#pragma once

#include <cstdint>

namespace weft::replay::collectives::mpich {

constexpr std::int64_t kBcastShort = 12288;  // bytes, as all others but the last
constexpr std::int64_t kBcastLong = 524288;
constexpr std::int64_t kReduceShort = 2048;
constexpr std::int64_t kAllreduceShort = 8;
constexpr std::int64_t kAllgatherLong = 524288;  // of all ranks together, as the next two
constexpr std::int64_t kAllgatherBrucks = 81920;
constexpr std::int64_t kReduceScatterLong = 524288;
constexpr std::int64_t kAlltoallShort = 256;
constexpr std::int64_t kAlltoallMedium = 32768;
constexpr std::uint32_t kThrottle = 32;  // messages each way that the scattered algorithm has under way

}  // namespace weft::replay::collectives::mpich
