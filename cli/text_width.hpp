// How wide the text for people may be.
#pragma once

#include <cstddef>

namespace weft::cli {

// COLUMNS where it is a number of 20 or more, else the width of the terminal that stdout is, else 100.
[[nodiscard]] std::size_t text_width();

}  // namespace weft::cli
