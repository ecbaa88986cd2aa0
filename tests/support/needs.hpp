// What a test needs of the machine: a tool, recordings beside the checkout. Where it is missing the test is skipped, and
// says so in the list that scripts/test.sh ends with; under the variable CI, whose machines have everything, it fails.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string_view>

namespace weft::support {

inline bool machine_has_everything() {
  const char* ci = std::getenv("CI");
  return ci != nullptr && std::string_view(ci) != "" && std::string_view(ci) != "false";
}

}  // namespace weft::support

// WEFT_NEEDS(fs::exists(path), path << " is not here");
#define WEFT_NEEDS(condition, missing)                                                       \
  do {                                                                                       \
    if (!(condition)) {                                                                      \
      if (weft::support::machine_has_everything()) FAIL() << "CI must have it: " << missing; \
      GTEST_SKIP() << missing;                                                               \
    }                                                                                        \
  } while (false)
