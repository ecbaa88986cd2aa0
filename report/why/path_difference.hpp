// Two replays of a trace against each other by their critical paths: what of one makespan became more in the other, what
// less. Parts of a makespan add up to it, so the parts of a difference add up to the difference, to the picosecond.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "predict/run_facts.hpp"

namespace weft::report {

// What each part has more in `run` than in `other`. REQUIRES: both paths are known.
[[nodiscard]] replay::PathParts path_difference(const predict::RunFacts& run, const predict::RunFacts& other);
// What the makespan is made of, in a sentence.
[[nodiscard]] std::string explain_path(const predict::RunFacts& run);
// The difference, in a sentence whose numbers add up to it. `than`: what the other one is called there.
[[nodiscard]] std::string explain_path_difference(const predict::RunFacts& run,
                                                  const predict::RunFacts& other, std::string_view than);
// {part}_s of each part.
[[nodiscard]] nlohmann::ordered_json path_parts_json(const replay::PathParts& parts);

}  // namespace weft::report
