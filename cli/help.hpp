// Help and the answers to a command line that does not parse.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "core/result.hpp"

namespace weft::cli {

// Help pages of 100 columns: descriptions are wrapped, verbs end in examples (examples.def).
[[nodiscard]] std::shared_ptr<CLI::Formatter> help_formatter();
// The examples of a verb ("" = of Weft) as the end of its help page.
[[nodiscard]] std::string examples_of(const std::string& verb);

// The error that the option parser threw, with the verb's help page to look at and, for a flag that does not exist,
// the one that was probably meant.
[[nodiscard]] Error parse_error(const CLI::App& app, const CLI::ParseError& error);

// The verbs and their kinds ("generate ring") that `words` begin with; those of `app` itself where there are none.
[[nodiscard]] const CLI::App& deepest(const CLI::App& app, const std::vector<std::string>& words);

}  // namespace weft::cli
