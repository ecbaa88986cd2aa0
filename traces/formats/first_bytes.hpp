// What tells the format of a file.
#pragma once

#include <string>

#include "core/result.hpp"

namespace weft::traces {

// The first 4 KiB of a file, or as much more, up to 8 MiB, as its first line that is no comment stands behind: comments are
// those of TI text (#) and of GOAL (//, /* */). Errors: kBadInput.
[[nodiscard]] Result<std::string> first_bytes(const std::string& path);

}  // namespace weft::traces
