// The points of a study run once each: what the journal holds is taken from there, all others are run and kept.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "core/threads/parallel.hpp"
#include "predict/journal/journal.hpp"
#include "predict/journal/shard.hpp"

namespace weft::predict {

// Where finished points last, and which are run. Without a journal none of it applies.
struct PointsPlan {
  Journal* journal = nullptr;
  std::optional<Shard> shard;               // only those of this part
  bool take_others = false;                 // and of other parts what is there already
  bool run_missing = true;                  // false: a point that the journal does not hold is an error
  const std::atomic<bool>* stop = nullptr;  // true: begin no more, give up what is under way
};

struct Point {
  PointKey key;
  std::string what;   // "hpl.weft on torus-16, map block"
  double weight = 1;  // how long it takes, beside others
};

struct PointsDone {
  std::vector<bool> done;    // by point; below, those of other parts do not count
  std::size_t wanted = 0;    // of this shard, those that are needed
  std::size_t found = 0;     // in the journal, before they were run
  std::size_t finished = 0;  // of those wanted
  bool interrupted = false;  // the plan's stop was raised before all were finished
  // Counts of points that were run after these.
  PointsDone& operator+=(const PointsDone& more);
};

struct PointsWork {
  // Runs a point. An error that comes while `stop` is raised means that it was given up.
  std::function<Result<Json>(std::size_t)> run;
  // Takes a result out of the journal, whoever put it there; false: it is none of this version's. Like `run` from any
  // thread, once a point.
  std::function<bool(std::size_t, const Json&)> take;
  // Empty: all are. False once the results that were taken show that a point decides nothing: it is neither run nor
  // missing.
  std::function<bool(std::size_t)> needed;
};

// A point that another process holds is left to it; at the end it is waited for, and run here if that process is gone.
// A point whose run ends after a file of the journal's files() has changed is not kept: kBadInput.
// `threads` points at once. Errors: of the first point that fails, in their order, or of the journal; with !run_missing
// kBadInput with the points, and the shards, that are not there.
[[nodiscard]] Result<PointsDone> run_points(const std::vector<Point>& points, const PointsPlan& plan,
                                            unsigned threads, const PointsWork& work,
                                            const OnFewerThreads& on_fewer = {});

}  // namespace weft::predict
