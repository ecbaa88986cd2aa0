#include <gtest/gtest.h>

#include "tests/congestion/checks.hpp"

namespace weft::congestion {
namespace {

using problems::base_seed;

TEST(MaxMinSlow, TenThousandProblemsOfUpTo2000FlowsEqualTheReferenceTo1em12) {
  const std::uint64_t base = base_seed(100000);
  for (std::uint64_t seed = base; seed < base + 10000; ++seed) {
    problems::check_problem(seed, 2000);
    if (HasFailure()) return;
  }
}

TEST(MaxMinSlow, LongIncrementalSequencesEqualFromScratch) {
  const std::uint64_t base = base_seed(100000);
  for (std::uint64_t seed = base; seed < base + 300; ++seed) {
    SCOPED_TRACE("WEFT_SEED=" + std::to_string(seed));
    Rng rng(seed * 77);
    problems::check_incremental(seed, 400, static_cast<std::uint32_t>(2 + rng.below(400)));
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace weft::congestion
