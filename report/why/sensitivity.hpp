// What a makespan depends on (predict/sensitivity.hpp), for people and for programs.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "predict/run_facts.hpp"

namespace weft::report {

// REQUIRES of all: run.sensitivity.
[[nodiscard]] std::string sensitivity_text(const predict::RunFacts& run, std::size_t width);
// In short: a line each.
[[nodiscard]] std::string sensitivity_sentences(const predict::RunFacts& run);
// Adds latency_tolerance, slopes and classes to the key sensitivity of `to`.
void add_sensitivity_json(nlohmann::ordered_json& to, const predict::RunFacts& run);

}  // namespace weft::report
