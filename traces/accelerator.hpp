// What viewers call accelerators beside ranks, in one place for the archives and the pictures.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace weft::traces {

// Lanes of an accelerator, of which nothing overlaps: its kernels, copies at their own pace, copies over links. Behind the name of the
// rank.
inline constexpr std::array<const char*, 3> kLaneNames{"accelerator", "accelerator: copies",
                                                       "accelerator: copies over links"};
inline constexpr std::uint32_t kLanes = kLaneNames.size();

// A wait for a launched kernel. It is computation.
inline constexpr std::string_view kAcceleratorWait = "wait for accelerator";

}  // namespace weft::traces
