// A verb of the command line: one file each, one row in verbs.def.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/outputs.hpp"
#include "core/progress.hpp"
#include "core/result.hpp"
#include "core/units.hpp"

namespace weft::cli {

// Flags that every verb takes, and the outputs that they and the verb's own flags name.
struct CommonOptions {
  std::string json;  // path, "-" = stdout, empty = none
  std::string csv;
  bool quiet = false;
  std::string progress = "auto";
  std::uint64_t seed = 0;
  unsigned threads = 1;
  std::string command;                        // as the JSON tells it
  const CLI::App* app = nullptr;              // whose options they are
  const CLI::Option* trace_output = nullptr;  // of add_trace_output()
  std::shared_ptr<Outputs> outputs = std::make_shared<Outputs>();

  [[nodiscard]] ProgressMode progress_mode() const;
  // Prints `text` for people unless --quiet or stdout is taken by an output ("-").
  void print(const std::string& text) const;
  // Writes the machine-readable outputs that were asked for. The JSON is an object, as report::json_text() writes it;
  // "command", "version" and, where it has none, an empty "warnings" are added here, for every verb.
  [[nodiscard]] Result<void> write_json(const std::string& text) const;
  [[nodiscard]] Result<void> write_csv(const std::string& text) const;
};

// What a verb does once its options are parsed and its outputs are open: the exit code 0, or an error.
// A finding (exit code 1) is an Error of kind kFinding returned after the outputs were written.
using Work = std::function<Result<void>()>;
// The same with everything around it; `words` are the command line.
using Action = std::function<Result<void>(const std::vector<std::string>& words)>;
// Opens the outputs, works, and tells when standard output did not take what was printed. `common` must live as long
// as what `work` owns.
[[nodiscard]] Action with_outputs(CommonOptions& common, Work work);

// Adds the common flags to a verb.
void add_common(CLI::App& app, CommonOptions& common);
// An output of the verb's own: `flags` as "-o,--output". Write it with common.outputs->write("--output", text), the
// last of the names.
CLI::Option* add_output(CLI::App& app, CommonOptions& common, const std::string& flags, std::string& path,
                        const std::string& help, Outputs::Opened opened = Outputs::Opened::kHere);
// "-o,--output" of a verb that is there to write a trace: required, and the one output that its command tells.
CLI::Option* add_trace_output(CLI::App& app, CommonOptions& common, std::string& path,
                              const std::string& help);

// Refuses those of `flags` that were given, as `what` has no use for them: an accepted flag acts. `expected`: what would give
// them something to do.
[[nodiscard]] Result<void> refuse_unused(const CLI::App& app, const std::vector<std::string>& flags,
                                         const std::string& what, const std::string& expected = {});

// Says on stderr that fewer threads work than were asked for, if so (core/threads/parallel.hpp).
void tell_fewer_threads(unsigned started, unsigned wanted);

// Every WEFT_VERB row of verbs.def declares a namespace verb_<id>, which the verb has to itself, with `Action setup(CLI::App& app)`:
// it adds the verb's options to `app` (storage owned by the returned closure) and returns what to do.
#define WEFT_VERB(id, name, summary) \
  namespace verb_##id {              \
    Action setup(CLI::App& app);     \
  }
#define WEFT_VERB_LATER(name, summary)
#include "cli/verbs/verbs.def"
#undef WEFT_VERB
#undef WEFT_VERB_LATER

}  // namespace weft::cli
