// --model: how flows share links, in every verb that has flows. Names and default are the rows of
// congestion/models.def.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace weft::cli {

// `model` stays empty where nothing is asked for: the platform decides (network/sharing.hpp).
void add_model(CLI::App& app, std::string& model);

}  // namespace weft::cli
