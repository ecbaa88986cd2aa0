// Where the checkout and the build stand, for tests that read files of the project or run what was built.
// One object file knows the paths: every other one is the same bytes in every checkout, so that a compiler cache serves
// them all.
#pragma once

#include <string>

namespace weft::support {

[[nodiscard]] std::string source_dir();  // root of the checkout, no slash at the end
[[nodiscard]] std::string binary_dir();  // root of the build
[[nodiscard]] std::string oracle_dir();  // recorded answers that every clone has: tests/oracle/data
// The larger recordings: beside the checkout, or where the environment variable WEFT_SHARED says. May not exist.
[[nodiscard]] std::string shared_dir();

}  // namespace weft::support
