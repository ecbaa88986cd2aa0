// A verb of the command line: one file each, one row in verbs.def.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/progress.hpp"
#include "core/result.hpp"
#include "core/units.hpp"

namespace weft::cli {

// What a verb does once its options are parsed: the exit code 0, or an error.
// A finding (exit code 1) is an Error of kind kFinding returned after the outputs were written.
using Action = std::function<Result<void>()>;

// Flags that every verb takes.
struct CommonOptions {
  std::string json;  // path, "-" = stdout, empty = none
  std::string csv;
  bool quiet = false;
  std::string progress = "auto";
  std::uint64_t seed = 0;
  unsigned threads = 1;

  [[nodiscard]] ProgressMode progress_mode() const;
  // Prints `text` for people unless --quiet or stdout is taken by --json - / --csv -.
  void print(const std::string& text) const;
  // Writes the machine-readable outputs that were asked for.
  [[nodiscard]] Result<void> write_json(const std::string& text) const;
  [[nodiscard]] Result<void> write_csv(const std::string& text) const;
};

// Adds the common flags to a verb.
void add_common(CLI::App& app, CommonOptions& common);

// Every WEFT_VERB row of verbs.def declares `Action setup_<id>(CLI::App& app)`: it adds the verb's options to `app`
// (storage owned by the returned closure) and returns what to do.
#define WEFT_VERB(id, name, summary) Action setup_##id(CLI::App& app);
#define WEFT_VERB_LATER(name, summary)
#include "cli/verbs.def"
#undef WEFT_VERB
#undef WEFT_VERB_LATER

}  // namespace weft::cli
