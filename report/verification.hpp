// What --verify tells: what was checked, what it found, and what it cost.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "replay/verification.hpp"

namespace weft::report {

struct VerifiedRun {
  replay::Verification checks;
  double time_ratio = 0;  // of the wall-clock times with and without; 0: not known
};

// Several runs, told as one.
class VerifiedRuns {
 public:
  // `run`: what its findings are told of.
  void add(const std::string& run, const replay::Verification& checks);
  // As verification_text(); empty if there are none.
  [[nodiscard]] std::string text() const;

 private:
  std::uint64_t runs_ = 0;
  replay::Verification sum_;
};

[[nodiscard]] std::string verification_text(const VerifiedRun& run);
[[nodiscard]] nlohmann::ordered_json verification_json(const VerifiedRun& run);

}  // namespace weft::report
