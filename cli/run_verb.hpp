// A verb run by another one.
#pragma once

#include <string>
#include <vector>

#include "core/result.hpp"

namespace weft::cli {

// `words`: a command line without "weft". Errors: as on the command line.
[[nodiscard]] Result<void> run_verb(std::vector<std::string> words);

}  // namespace weft::cli
