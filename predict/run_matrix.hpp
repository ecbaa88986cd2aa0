// Every trace on every platform with every map: the runs of compare and sweep. Each run has a reader and an engine of
// its own; `threads` of them run at once. What comes out does not depend on how many.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "core/threads/parallel.hpp"
#include "predict/journal/points.hpp"
#include "predict/run_facts.hpp"
#include "replay/engine.hpp"
#include "topology/platform/platform.hpp"

namespace weft::predict {

struct PlatformRequest {
  std::string spec;  // as topology::load_platform takes it
  topology::PlatformChanges changes;
};

// A run that is about to begin.
struct RunStart {
  std::size_t run = 0;  // index into Matrix::runs
  const traces::TraceReader& trace;
  const topology::Platform& platform;
  const std::vector<HostId>& placement;  // of this call only
};

// What stays of the result of each run, beside a digest: memory is then up to the number of runs and their platforms, not
// to the size of the traces.
enum class KeptOfRuns : std::uint8_t {
  kAll,            // and no digest
  kRanksAndLinks,  // no stretches of the path, no wait states
  kDigest          // what comparisons ask for, no more
};

struct MatrixRequest {
  std::vector<std::string> traces;  // one path each
  std::string format;               // of all traces; empty: sniffed
  std::vector<PlatformRequest> platforms;
  std::vector<std::string> maps;  // empty: block
  replay::ReplayOptions options;  // of every run; its callbacks are replaced
  std::uint64_t seed = 0;         // of placements
  unsigned threads = 1;
  std::vector<std::string> changes;  // RunFacts::changes of every run
  bool ideal = false;                // every run once more on an ideal network: RunFacts::ideal
  bool verify = false;               // every run checks itself: RunFacts::verified
  KeptOfRuns kept = KeptOfRuns::kAll;
  // With a journal every run is a point: what it holds is not run, and of each run only its digest is kept.
  PointsPlan points;
  // Operations replayed so far and in all, from any thread, one call at a time.
  std::function<void(std::uint64_t done, std::uint64_t total)> on_progress;
  OnFewerThreads on_fewer_threads;
  // Before a run, from its thread: may add callbacks to its options (on_message and on_copy are taken, and to be called on).
  std::function<void(const RunStart&, replay::ReplayOptions&)> on_start;
  // After it, with its trace from the start.
  std::function<Result<void>(std::size_t run, traces::TraceReader&, const RunFacts&)> on_end;
};

struct MatrixRun {
  std::string trace;
  std::size_t platform = 0;  // index into MatrixRequest::platforms
  std::string map;
  replay::ReplayResult result;
  RunFacts facts;    // points into the matrix, which must outlive it
  bool done = true;  // false: of another shard, or the request was stopped before
};

// Not to be copied or moved once it is filled.
struct Matrix {
  replay::ReplayOptions options;
  std::deque<topology::Platform> platforms;
  std::deque<MatrixRun> runs;                         // trace by trace, platform by platform, map by map
  PointsDone points;                                  // with a journal
  [[nodiscard]] std::vector<RunFacts> facts() const;  // of the runs that are done
};

// Errors: whatever stops the first run that fails, in the order of the runs; before any of them runs, what is wrong
// with a trace's head, a platform or a placement. A run that ends in a deadlock is a result, no error. With a journal,
// those of run_points(), and of the traces' operations before any run. REQUIRES with a journal: neither on_start nor
// on_end, which see runs that are run here only.
[[nodiscard]] Result<void> run_matrix(const MatrixRequest& request, Matrix& out);

}  // namespace weft::predict
