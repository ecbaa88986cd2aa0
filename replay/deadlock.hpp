// When nothing can happen any more and ranks are left: who waits for whom, and the cycle if there is one.
//
// A rank waits for the other side of every message of its own that is not over and that it must wait for, for the
// source of a probe, for the members of a series that did not come. The cycle is the first that a depth-first search
// from the lowest rank finds. Complexity: O(n log n) of live messages + receives + waits, once a replay.
#pragma once

#include <string>
#include <vector>

#include "replay/communicators.hpp"
#include "replay/messages/matcher.hpp"
#include "replay/messages/message.hpp"
#include "replay/ranks/collective_runs.hpp"
#include "replay/ranks/ranks.hpp"
#include "replay/ranks/tasks.hpp"
#include "replay/ranks/waits.hpp"
#include "replay/results.hpp"
#include "replay/series/series_runs.hpp"

namespace weft::replay {

// Where everything stands. `ranks`, `matcher`: asking a program for an operation may read a block of it.
struct Standstill {
  Ranks& ranks;
  Matcher& matcher;
  const Communicators& comms;
  const Pool<Message>& messages;
  const Waits& waits;
  const Tasks& tasks;
  const CollectiveRuns& collectives;
  const SeriesRuns& series;
};

// Adds to `warnings` that a rank waits in a test of a send, where one does: MPI's own test would not.
[[nodiscard]] DeadlockReport explain_deadlock(const Standstill& at, std::vector<std::string>& warnings);

}  // namespace weft::replay
