#include "replay/collectives/schedule.hpp"

namespace weft::replay {

std::span<const CollectiveAlgorithm> collective_algorithms() { return {}; }

}  // namespace weft::replay
