// What weft replay --verify tells: what was checked, what it found, and what it cost.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "replay/verification.hpp"

namespace weft::report {

struct VerifiedRun {
  replay::Verification checks;
  double time_ratio = 0;  // of the wall-clock times with and without; 0: not known
};

[[nodiscard]] std::string verification_text(const VerifiedRun& run);
[[nodiscard]] nlohmann::ordered_json verification_json(const VerifiedRun& run);

}  // namespace weft::report
