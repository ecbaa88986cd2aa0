// The words that Weft understands, read from its own options: what shells complete with, so that it cannot go stale.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace weft::cli {

// What follows an option, or stands without one.
struct Value {
  enum class Kind {
    kNone,      // a flag without a value
    kText,      // anything
    kFile,      // a file of the user's
    kPlatform,  // a built-in name or a file
  };
  Kind kind = Kind::kText;
  std::vector<std::string> choices;  // with kText: these alone; with kFile and kPlatform: beside files
  bool optional = false;             // it stands behind "=" or not at all: the next word is another one
};

struct OptionWords {
  std::string name, letter;  // "on", "o"; each may be empty, not both
  std::string about;         // one line
  Value value;
};

struct Command {
  std::vector<std::string> path;  // {"generate", "hpl"}; empty: weft itself
  std::string about;              // one line
  std::vector<OptionWords> options;
  std::vector<std::pair<std::string, std::string>> below;  // verbs or kinds, and what they are
  Value positional;
};

// Weft first, then every verb, each followed by its kinds.
[[nodiscard]] std::vector<Command> command_tree(const CLI::App& weft);

}  // namespace weft::cli
