// GOAL's binary form, as LogGOPSim's txt2bin writes it and LogGOPSim reads it. All integers are little-endian, nothing is padded.
//
//   u64 magic            kMagic; kSpent where a simulation has used the file up
//   u32 ranks, u8 greatest cpu, u8 greatest nic, then for each rank u64 start, u64 end of its block, from byte 8 on
//   block: u32 nodes, u32 roots, u32 root[], nodes of 39 bytes, u32 appendix[]
//   node:  u32 dependencies, u8 kind, u32 peer, u64 size, u32 tag, u8 cpu, u8 nic,
//          u32 n, u32 first: appendix[first .. first + n) are the nodes that start when this one has ended,
//          u32 n, u32 first: those that start when it has started
//
// Roots are the nodes that depend on nothing. What is redundant is checked: it tells a broken file.
// Memory: one rank's schedule, and 16 bytes a node and 4 a dependency. Errors: kBadInput and kNotSupported with FILE@byte.
#pragma once

#include <string>

#include "core/result.hpp"
#include "traces/formats/goal/schedule.hpp"

namespace weft::traces::goal {

inline constexpr std::uint64_t kMagic = 4223, kSpent = 2342;
inline constexpr std::size_t kNodeBytes = 39;

[[nodiscard]] Result<void> read_binary(const std::string& path, const ScheduleSink& sink);

}  // namespace weft::traces::goal
