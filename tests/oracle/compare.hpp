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

inline void compare_with_simgrid(const std::string& folder, const std::string& hosts,
                                 const std::string& trace) {
  auto oracle = SimgridOracle::open(folder, hosts);
  ASSERT_TRUE(oracle) << oracle.error().message();
  const auto cases = oracle->cases(trace);
  ASSERT_FALSE(cases.empty());
  double worst = 0;
  std::string where;
  int deadlocks = 0;
  for (const auto& c : cases) {
    const auto row = oracle->run(c);
    ASSERT_TRUE(row) << c.name() << ": " << row.error().message();
    EXPECT_EQ(row->deadlock, row->deadlock_expected) << c.name();
    EXPECT_LT(row->worst, kTolerance) << c.name() << ", rank " << row->rank;
    deadlocks += row->deadlock ? 1 : 0;
    if (row->worst >= worst) {
      worst = row->worst;
      where = c.name() + " rank " + std::to_string(row->rank);
    }
  }
  std::printf(
      "ORACLE SimGrid 3.32 %s: %zu replays, %d deadlocks in both, worst relative error of a rank %.2g (%s)\n",
      trace.c_str(), cases.size(), deadlocks, worst, where.c_str());
}

}  // namespace weft::testing
