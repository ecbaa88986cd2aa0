// The comparison of one trace with all of SimGrid's answers for it, as GoogleTest expectations and one
// summary line.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "tests/oracle/simgrid_oracle.hpp"

namespace weft::testing {

// |ours - SimGrid| / SimGrid by rank. SimGrid's own precision is 1e-8; ours rounds every duration to 1 ps.
inline constexpr double kTolerance = 1e-6;
// An error over the tolerance must be explained by what a picosecond does to the case, times this.
inline constexpr double kIllPosed = 10;

inline void compare_with_simgrid(const std::string& folder, const std::string& hosts,
                                 const std::string& trace) {
  auto oracle = SimgridOracle::open(folder, hosts);
  ASSERT_TRUE(oracle) << oracle.error().message();
  const auto cases = oracle->cases(trace);
  ASSERT_FALSE(cases.empty());
  double worst = 0;
  std::string where;
  int deadlocks = 0;
  int ill_posed = 0;
  for (const auto& c : cases) {
    const auto row = oracle->run(c);
    ASSERT_TRUE(row) << c.name() << ": " << row.error().message();
    EXPECT_EQ(row->deadlock, row->deadlock_expected) << c.name();
    if (row->worst > kTolerance) {
      // Only where the case itself is ill-posed: our own answer moves as far when computations take up to 1
      // ps longer (and so does SimGrid's: docs/validation.md, "Picoseconds that grow").
      const auto moved = oracle->sensitivity(c, 3);
      ASSERT_TRUE(moved) << moved.error().message();
      EXPECT_EQ(c.model, "eager") << c.name();
      EXPECT_LT(row->worst, kIllPosed * *moved)
          << c.name() << ", rank " << row->rank << "; 1 ps moves it by " << *moved;
      EXPECT_LT(row->worst, 1e-3) << c.name();
      ++ill_posed;
    }
    deadlocks += row->deadlock ? 1 : 0;
    if (row->worst >= worst) {
      worst = row->worst;
      where = c.name() + " rank " + std::to_string(row->rank);
    }
  }
  std::printf(
      "ORACLE SimGrid 3.32 %s: %zu replays, %d deadlocks in both, %d ill-posed over 1e-6, worst relative "
      "error of a rank %.2g (%s)\n",
      trace.c_str(), cases.size(), deadlocks, ill_posed, worst, where.c_str());
}

}  // namespace weft::testing
