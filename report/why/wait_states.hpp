// Where ranks waited for others that were late, and whose delays that is due to, for people and for programs.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "predict/run_facts.hpp"

namespace weft::report {

// REQUIRES of both: run.result->wait_states.known.
[[nodiscard]] std::string wait_states_text(const predict::RunFacts& run, std::size_t width);
// Adds the key wait_states to `to`, with the `most_delays` that cost most.
void add_wait_states_json(nlohmann::ordered_json& to, const predict::RunFacts& run, std::size_t most_delays);

}  // namespace weft::report
