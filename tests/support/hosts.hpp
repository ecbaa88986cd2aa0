// Where ranks run in tests that do not care.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/id.hpp"

namespace weft::testing {

// Rank r on host r.
inline std::vector<HostId> first_hosts(std::size_t ranks) {
  std::vector<HostId> h;
  h.reserve(ranks);
  for (std::uint32_t r = 0; r < ranks; ++r) h.emplace_back(r);
  return h;
}

}  // namespace weft::testing
