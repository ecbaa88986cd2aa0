// The outputs of a verb whose result is a file: one object that says what it is.
#pragma once

#include <nlohmann/json.hpp>

#include "cli/verb.hpp"

namespace weft::cli {

// --json writes `summary`; --csv its numbers and texts as one row under their keys (without schema, lists, objects).
[[nodiscard]] Result<void> write_summary(const CommonOptions& common, const nlohmann::ordered_json& summary);

}  // namespace weft::cli
