// Kinds of `weft generate`: one file each, one row in generators.def.
#pragma once

#include <string>

#include "cli/verb.hpp"
#include "traces/trace.hpp"

namespace weft::cli {

#define WEFT_GENERATOR(id, name, summary) \
  namespace generator_##id {              \
    Action setup(CLI::App& app);          \
  }
#include "cli/verbs/generators.def"
#undef WEFT_GENERATOR

// Writes a generated trace to `path` and reports ranks, operations, messages, bytes. `kind` is for the JSON.
[[nodiscard]] Result<void> write_generated(traces::TraceReader& trace, const std::string& kind,
                                           const std::string& path, const CommonOptions& common);

}  // namespace weft::cli
