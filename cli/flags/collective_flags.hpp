// --collectives and --collective: which algorithms collectives take.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "replay/collective_calls.hpp"

namespace weft::cli {

struct CollectiveFlags {
  std::vector<std::string> collectives;  // "bcast=ring"
  std::string collective_rules;          // "openmpi4"; empty: as others say

  // `algorithm`, `rules`: whose word holds without the flag, for help.
  void add(CLI::App& app, const std::string& algorithm, const std::string& rules);
  // What --collective said, by collective. Wrong rules are an error, too. Errors: kUsage with what was wrong and the known
  // names; FILE:LINE:COLUMN of what is wrong in a file of rules.
  [[nodiscard]] Result<replay::AlgorithmNames> algorithms() const;
};

}  // namespace weft::cli
