// What this program has on the heap. Who links weft_test_heap counts all that is allocated and not given back.
#pragma once

#include <cstddef>

namespace weft::support {

[[nodiscard]] std::size_t heap_most();  // bytes, since the last restart_heap_most()
// Returns what is held now.
std::size_t restart_heap_most();

}  // namespace weft::support
