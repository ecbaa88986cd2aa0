// Why a replay takes as long as it does, in a few sentences: what `replay --explain` prints instead of its tables.
#pragma once

#include <string>

#include "predict/run_facts.hpp"

namespace weft::report {

// REQUIRES: run.result->path.known, unless it did not finish.
[[nodiscard]] std::string brief_text(const predict::RunFacts& run, std::size_t width);

}  // namespace weft::report
