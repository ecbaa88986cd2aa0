// A trace for other tools. The formats are the rows of exports.def (formats.hpp).
#pragma once

#include <string>

#include "traces/trace.hpp"

namespace weft::traces {

// Writes `trace` to `path` ("-" = standard output where the format is one file). Streams rank by rank; memory
// is one block and the names of communicators. Files appear whole. Errors: kUsage (unknown format, with the
// known ones), kNotSupported (format, or an operation the format cannot say, with the operation's position),
// kBadInput.
[[nodiscard]] Result<void> export_trace(TraceReader& trace, const std::string& format,
                                        const std::string& path);

}  // namespace weft::traces
