// What weft selftest runs: small replays, flows and searches whose answers are known without Weft, as closed forms or as
// conditions that only the right answer fulfils.
#pragma once

#include <string>
#include <vector>

#include "core/result.hpp"

namespace weft::cli {

struct CheckedCase {
  std::string name;
  std::string witness;  // what it is held against
  std::string got, expected;
  bool passed = false;
};

// All cases, in a fixed order; the same ones, with the same answers, on every machine. `seed`: of what is drawn. Errors: a
// case could not be run.
[[nodiscard]] Result<std::vector<CheckedCase>> self_check(std::uint64_t seed);

}  // namespace weft::cli
