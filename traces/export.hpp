// A trace for other tools. Formats are rows of exports.def; each file traces/formats/<id>_export.cpp defines
// one.
#pragma once

#include <string>

#include "traces/trace.hpp"

namespace weft::traces {

// Writes `trace` to `path` ("-" = standard output where the format is one text). Streams rank by rank; memory
// is one block and the names of communicators. Files appear whole. Errors: kUsage (unknown format, with the
// known ones), kNotSupported (format, or an operation the format cannot say, with the operation's position),
// kBadInput.
[[nodiscard]] Result<void> export_trace(TraceReader& trace, const std::string& format,
                                        const std::string& path);

// "text, ti, csv".
[[nodiscard]] std::string known_exports();

#define WEFT_TRACE_EXPORT(id, name, what) \
  [[nodiscard]] Result<void> export_##id(TraceReader& trace, const std::string& path);
#define WEFT_TRACE_EXPORT_LATER(name, what)
#include "traces/exports.def"
#undef WEFT_TRACE_EXPORT
#undef WEFT_TRACE_EXPORT_LATER

}  // namespace weft::traces
