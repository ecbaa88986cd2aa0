// `weft generate KIND` for the synthetic patterns (traces/synthetic): one subcommand each, its options are the
// pattern's own keys.
#pragma once

#include <utility>
#include <vector>

#include "cli/verb.hpp"

namespace weft::cli {

// Adds the subcommands to `generate` and, to `commands`, what each does.
void add_pattern_commands(CLI::App& generate, std::vector<std::pair<const CLI::App*, Action>>& commands);

}  // namespace weft::cli
