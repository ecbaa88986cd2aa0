#include "traces/exports/export.hpp"

namespace weft::traces {

const std::vector<FormatName>& trace_exports() {
  static const std::vector<FormatName> rows = {
#define WEFT_TRACE_EXPORT(id, name, as, what) {name, what, true},
#define WEFT_TRACE_EXPORT_LATER(name, what) {name, what, false},
#include "traces/exports/exports.def"
#undef WEFT_TRACE_EXPORT
#undef WEFT_TRACE_EXPORT_LATER
  };
  return rows;
}

namespace {

enum As { kWhole, kCollectives, kMessages };

// The rows of one kind, or of none but it.
std::vector<FormatName> rows_as(As wanted, bool is) {
  std::vector<FormatName> out;
#define WEFT_TRACE_EXPORT(id, name, as, what) \
  if ((as == wanted) == is) out.push_back({name, what, true});
#define WEFT_TRACE_EXPORT_LATER(name, what)
#include "traces/exports/exports.def"
#undef WEFT_TRACE_EXPORT
#undef WEFT_TRACE_EXPORT_LATER
  return out;
}

}  // namespace

const std::vector<FormatName>& message_exports() {
  static const std::vector<FormatName> rows = rows_as(kMessages, true);
  return rows;
}

const std::vector<FormatName>& program_exports() {
  static const std::vector<FormatName> rows = rows_as(kWhole, false);
  return rows;
}

Result<void> export_trace(TraceReader& trace, const std::string& format, const std::string& path,
                          const ExportOptions& options) {
  trace.rewind();
#define WEFT_TRACE_EXPORT(id, name, as, what) \
  if (format == name) return export_##id(trace, path, options);
#define WEFT_TRACE_EXPORT_LATER(name, what) \
  if (format == name) return not_supported("export to " name " (" what ")", supported_names(trace_exports()));
#include "traces/exports/exports.def"
#undef WEFT_TRACE_EXPORT
#undef WEFT_TRACE_EXPORT_LATER
  return usage_error("unknown export format", format, expected_names(trace_exports(), format));
}

}  // namespace weft::traces
