// A trace for other tools: the rows of exports.def. A format is one source file that includes this header, one row, one test.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "traces/exports/collective_messages.hpp"
#include "traces/formats.hpp"
#include "traces/trace.hpp"

namespace weft::traces {

// What the trace does not say and some formats need.
struct ExportOptions {
  CollectiveMessages* collectives = nullptr;  // null: who asks refuses collectives
  // Picoseconds that operation `index` of `rank`, a computation that is no sleep, takes. Empty: what was recorded, and who asks
  // refuses flops and kernels.
  std::function<std::int64_t(RankId rank, std::uint64_t index)> computation = {};
  // Gets a sentence for each way in which what was written is another program than the trace. Null: nobody reads them.
  std::vector<std::string>* warnings = nullptr;
};

// export: the whole trace, from its start, to `path` ("-" = standard output where the format is one file).
#define WEFT_TRACE_EXPORT(id, name, as, what)                                         \
  [[nodiscard]] Result<void> export_##id(TraceReader& trace, const std::string& path, \
                                         const ExportOptions& options);
#define WEFT_TRACE_EXPORT_LATER(name, what)
#include "traces/exports/exports.def"
#undef WEFT_TRACE_EXPORT
#undef WEFT_TRACE_EXPORT_LATER

[[nodiscard]] const std::vector<FormatName>& trace_exports();
// Those that write collectives as messages, and so ask ExportOptions::collectives.
[[nodiscard]] const std::vector<FormatName>& message_exports();
// Those that hold a program, not all that a trace says of it: RecordedMatches makes another program of it, but no other trace.
[[nodiscard]] const std::vector<FormatName>& program_exports();

// Writes `trace` to `path` ("-" = standard output where the format is one file). Streams rank by rank; memory
// is one block and the names of communicators. Files appear whole. Errors: kUsage (unknown format, with the
// known ones), kNotSupported (format, or an operation the format cannot say, with the operation's position),
// kBadInput.
[[nodiscard]] Result<void> export_trace(TraceReader& trace, const std::string& format,
                                        const std::string& path, const ExportOptions& options = {});

}  // namespace weft::traces
