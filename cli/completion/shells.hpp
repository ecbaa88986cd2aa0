// Scripts that make a shell complete the words of Weft: one row of shells.def each.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/completion/command_tree.hpp"

namespace weft::cli {

#define WEFT_SHELL(id, name, what) \
  [[nodiscard]] std::string completion_##id(const std::vector<Command>& commands);
#include "cli/completion/shells.def"
#undef WEFT_SHELL

// "replay", "generate hpl", "" = weft itself.
[[nodiscard]] std::string path_text(const Command& c);
// Between single quotes, with `quote` for a quote within: "'\\''" where a quoted string has to end and begin again.
[[nodiscard]] std::string single_quoted(const std::string& text, const std::string& quote);

}  // namespace weft::cli
