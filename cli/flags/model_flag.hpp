// --model, --accuracy: how flows share links, in every verb that has flows. Names and default are the rows of
// congestion/models.def.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>

#include "core/result.hpp"

namespace weft::cli {

// `model` stays empty where nothing is asked for: the platform decides (network/sharing.hpp).
void add_model(CLI::App& app, std::string& model);

// --accuracy: how much of a change of rates need not be passed on; empty = 0: exact.
void add_accuracy(CLI::App& app, std::string& accuracy);
// The ratio. Errors: kUsage, also where nothing that it or `rtt_weights` changes is in `model` (empty: the platform's own).
[[nodiscard]] Result<double> read_accuracy(const std::string& accuracy, std::string_view model,
                                           bool rtt_weights = false);
// For people: what rates of `model` may be off by; empty where they are exact.
[[nodiscard]] std::string accuracy_note(std::string_view model, double accuracy);

}  // namespace weft::cli
