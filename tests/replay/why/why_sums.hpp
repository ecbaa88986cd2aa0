// What adds up in any replay: the parts of its critical path to the makespan, its wait states to the waits.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "replay/engine.hpp"

namespace weft::replay {

// Every instant of the makespan is in one segment, and of one part. REQUIRES: options.critical_path.
inline void expect_path_adds_up(const ReplayResult& r) {
  const PathResult& path = r.path;
  ASSERT_TRUE(path.known);
  Duration sum{0}, parts{0};
  SimTime at{};
  for (const PathSegment& s : path.segments) {
    EXPECT_EQ(s.from, at);
    EXPECT_GE(s.to, s.from);
    at = s.to;
    Duration own{0};
    for (const Duration d : s.parts) {
      EXPECT_GE(d, Duration(-1)) << "rounded as a whole, so that one of two parts may lose a tick";
      own += d;
    }
    EXPECT_EQ(own, s.to - s.from);
    parts += own;
  }
  for (const Duration d : path.parts) sum += d;
  EXPECT_EQ(sum, r.makespan);
  EXPECT_EQ(parts, r.makespan);
  EXPECT_EQ(at, SimTime(r.makespan));
  EXPECT_EQ(path.parts[static_cast<std::size_t>(PathPart::kOther)], Duration(0));
}

// Every picosecond of waiting is of one kind, rank and region, and is blamed on one delay. REQUIRES: options.wait_states.
inline void expect_waits_add_up(const ReplayResult& r) {
  const WaitResult& w = r.wait_states;
  ASSERT_TRUE(w.known);
  const auto add_up = [](const std::vector<WaitTimes>& list) {
    WaitTimes sum;
    for (const WaitTimes& t : list) {
      for (std::size_t k = 0; k < kWaitKindCount; ++k) {
        EXPECT_GE(t.kinds[k], Duration(0));
        sum.kinds[k] += t.kinds[k];
      }
      EXPECT_GE(t.direct, Duration(0));
      EXPECT_GE(t.propagated, Duration(0));
      sum.direct += t.direct;
      sum.propagated += t.propagated;
    }
    return sum;
  };
  TimeSum direct, propagated;
  for (const DelayCost& d : w.delays) {
    EXPECT_GE(d.direct, Duration(0));
    EXPECT_GE(d.propagated, Duration(0));
    direct += d.direct;
    propagated += d.propagated;
  }
  for (const WaitTimes& sum : {add_up(w.ranks), add_up(w.regions)}) {
    EXPECT_EQ(sum.kinds, w.all.kinds);
    EXPECT_EQ(sum.direct, direct);
    EXPECT_EQ(sum.propagated, propagated);
  }
  EXPECT_EQ(direct, w.all.direct);
  EXPECT_EQ(direct + propagated, w.all.waited());
  for (std::size_t i = 0; i < w.ranks.size(); ++i)
    EXPECT_LE(w.ranks[i].waited(), r.ranks[i].finish - r.ranks[i].compute);
}

}  // namespace weft::replay
