// Every trace on every platform with every map: the runs of compare and sweep. Each run has a reader and an
// engine of its own; --threads of them run at once. What comes out does not depend on how many.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "cli/replay_flags.hpp"
#include "cli/verb.hpp"
#include "report/run_facts.hpp"

namespace weft::cli {

struct PlatformRequest {
  std::string spec;
  std::vector<std::string> set;  // "key=value" each
};

struct MatrixRequest {
  std::string label;  // of the progress line
  std::vector<std::string> traces;
  std::vector<PlatformRequest> platforms;
  std::vector<std::string> maps;  // empty: block
  bool sets_are_rows = false;     // what --set says differs from platform to platform
};

struct MatrixRun {
  std::string trace;
  std::size_t platform = 0;  // index into MatrixRequest::platforms
  std::string map;
  replay::ReplayResult result;
  report::RunFacts facts;  // points into the matrix, which must outlive it
};

// Not to be copied or moved once it is filled.
struct Matrix {
  replay::ReplayOptions options;
  std::deque<topology::Platform> platforms;
  std::deque<MatrixRun> runs;  // trace by trace, platform by platform, map by map
  [[nodiscard]] std::vector<report::RunFacts> facts() const;
};

// TRACE, --on and --map: what compare and sweep both ask for. `on` gets the platforms as they were written.
void add_matrix_options(CLI::App& app, MatrixRequest& request, std::vector<std::string>& on);

// Errors: whatever stops the first run that fails, in the order of the runs; before any of them runs, what is
// wrong with a flag, a trace's head, a platform or a placement.
[[nodiscard]] Result<void> run_matrix(const MatrixRequest& request, const ReplayFlags& flags,
                                      const CommonOptions& common, Matrix& out);

}  // namespace weft::cli
