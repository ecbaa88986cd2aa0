// What compare and sweep ask for alike, and their runs with a progress line.
#pragma once

#include <string>
#include <vector>

#include "cli/flags/replay_flags.hpp"
#include "cli/verb.hpp"
#include "predict/run_matrix.hpp"

namespace weft::cli {

struct MatrixFlags {
  std::vector<std::string> traces, on, maps;
  bool critical_path = false;
  bool verify = false;
  // TRACE, --on (platforms as they were written) and --map.
  void add(CLI::App& app);
};

// The first of them that stands there again; null: none does.
[[nodiscard]] const std::string* given_twice(const std::vector<std::string>& all);
// The matrix of `traces` on no platform yet: the caller adds those. `told`: which flags the rows show. Errors: a
// flag's, a trace or a map that is given twice.
[[nodiscard]] Result<predict::MatrixRequest> matrix_request(const MatrixFlags& matrix,
                                                            const ReplayFlags& flags,
                                                            const CommonOptions& common,
                                                            const ReplayFlags& told);
// predict::run_matrix with a progress line called `label`.
[[nodiscard]] Result<void> run_with_progress(predict::MatrixRequest request, const char* label,
                                             const CommonOptions& common, predict::Matrix& out);

}  // namespace weft::cli
