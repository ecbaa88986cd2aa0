// What a makespan depends on, by replaying the same trace a little otherwise: how much latency it stands, whether the slopes
// that its critical path tells are right, and what each class of links would bring at twice the speed.
//
// Latency tolerance is that of LLAMP (S. Shen, L. Huang, M. Chrapek, T. Schneider, J. Dayal, M. Gajbe, R. Wisniewski,
// T. Hoefler, "LLAMP: Assessing Network Latency Tolerance of HPC Applications with Linear Programming", SC24): the most
// that the latency of every message can grow until the makespan has grown by a given ratio. Without contention the
// makespan is a convex, piecewise linear function of it, whose slope is the number of latencies on the critical path, so
// Newton's steps end at the answer, to the picosecond; with contention it is looked for between two replays on either
// side of it, which halves where a step does not help.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "core/threads/parallel.hpp"
#include "replay/engine.hpp"
#include "topology/platform/platform.hpp"
#include "traces/trace.hpp"

namespace weft::predict {

struct Tolerance {
  double ratio = 0;                 // of the makespan that may be lost
  std::optional<Duration> latency;  // more of every way between hosts; none: no amount costs that much
  std::uint32_t replays = 0;
  bool ends =
      true;  // with more than `latency` it takes longer; false: it stops, in a deadlock or past the end of time
};
// What a change by 1 % does to the makespan: as the critical path tells, and as two replays do.
struct Slope {
  std::string what;              // "latency", "bandwidth", "computation": time of it 1 % longer
  std::optional<Duration> told;  // longer by; none: the path has no slopes
  std::optional<Duration> more;  // replayed with 1 % more: longer by; none: it does not end
  std::optional<Duration> less;  // ... with 1 % less: shorter by
};
struct FasterClass {
  std::string name;  // of the class, all of whose links are twice as fast
  std::uint32_t links = 0;
  std::optional<Duration> makespan;  // none: it does not end
};
struct Sensitivity {
  std::vector<Tolerance> tolerances;  // of 1 %, 2 %, 5 %
  std::vector<Slope> slopes;
  std::vector<FasterClass> classes;  // that carried something, in the order of the fabric
};

// A replay to ask about; everything outlives the question.
struct Question {
  const topology::Platform& platform;
  const std::vector<HostId>& placement;
  const replay::ReplayOptions& options;  // without callbacks
  const replay::ReplayResult& base;      // what they gave, with its path
  std::function<Result<std::unique_ptr<traces::TraceReader>>()> open;
};
// REQUIRES: question.base.finished, its path known. Errors: those of a replay. What comes out does not depend on `threads`.
[[nodiscard]] Result<Sensitivity> sensitivity_of(const Question& question, unsigned threads,
                                                 const OnFewerThreads& on_fewer_threads);

// Every message has its links for itself; nothing is left to be approximated.
[[nodiscard]] replay::ReplayOptions without_contention(replay::ReplayOptions options);

// The largest added latency with a makespan of at most `most`, by replays. Memory: one replay.
[[nodiscard]] Result<Tolerance> tolerance_of(const Question& question, double ratio);

}  // namespace weft::predict
