// The shape of an OTF2 definition file, walked before the library reads it (event_file.hpp says why).
//
//   file = 03, 'B' (little-endian) or '#', 16 bytes, records, 02      record = id length fields; length 255: u64 length follows
#pragma once

#include <string>

#include "core/result.hpp"

namespace weft::traces::otf2 {

// `global`: NAME.def, else that of a location. Memory: the file, once. Errors: kBadInput with the byte.
[[nodiscard]] Result<void> check_definitions(const std::string& path, bool global);

}  // namespace weft::traces::otf2
