// Who belongs to a communicator of which only the ranks and sizes are known that its members have there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "traces/formats/liballprof/comm_log.hpp"

namespace weft::traces::allprof {

using Ranks = std::vector<std::int32_t>;

// What a member of the old communicator has in the new one; -1: it was not seen there.
struct Seen {
  std::int32_t rank = -1, size = -1;
};

// The new communicators, each as positions in the old one in the order of their ranks; none where more than one way would do.
// `hosts`: of the members of the old one, or none.
[[nodiscard]] std::vector<std::vector<std::size_t>> parts_of(CommMade::How how, bool reorder,
                                                             const std::vector<Seen>& seen,
                                                             const std::vector<std::string>& hosts);

}  // namespace weft::traces::allprof
