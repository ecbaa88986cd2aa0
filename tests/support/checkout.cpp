#include "tests/support/checkout.hpp"

namespace weft::support {

std::string source_dir() { return WEFT_SOURCE_DIR; }
std::string binary_dir() { return WEFT_BINARY_DIR; }

}  // namespace weft::support
