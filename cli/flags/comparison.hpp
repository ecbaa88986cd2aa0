// Traces x platforms x routings x maps, replayed and ranked: what `compare` prints and `report` draws.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cli/flags/journal_flags.hpp"
#include "cli/flags/matrix_flags.hpp"
#include "cli/flags/report_flag.hpp"
#include "cli/verb.hpp"

namespace weft::cli {

struct Comparison {
  CommonOptions common;
  ReplayFlags flags;
  MatrixFlags matrix;
  std::vector<std::string> routings;  // empty: each platform's own
  bool sensitivity = false;
  ReportFlag report;
  JournalFlags journal;

  // All but the flags of `report` and `journal`.
  void add(CLI::App& app);
  // `verb`: as progress and the page name it. Errors: a run's; kFinding after everything was written.
  [[nodiscard]] Result<void> run(const char* verb);
};

}  // namespace weft::cli
