#include "tests/support/checkout.hpp"

#include <cstdlib>

namespace weft::support {

std::string source_dir() { return WEFT_SOURCE_DIR; }
std::string binary_dir() { return WEFT_BINARY_DIR; }
std::string oracle_dir() { return source_dir() + "/tests/oracle/data"; }
std::string shared_dir() {
  const char* named = std::getenv("WEFT_SHARED");
  return named != nullptr ? named : source_dir() + "/../shared";
}

}  // namespace weft::support
