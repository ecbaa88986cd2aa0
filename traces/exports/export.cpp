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

const std::vector<FormatName>& message_exports() {
  enum As { kCollectives, kMessages };
  static const std::vector<FormatName> rows = [] {
    std::vector<FormatName> out;
#define WEFT_TRACE_EXPORT(id, name, as, what) \
  if constexpr (as == kMessages) out.push_back({name, what, true});
#define WEFT_TRACE_EXPORT_LATER(name, what)
#include "traces/exports/exports.def"
#undef WEFT_TRACE_EXPORT
#undef WEFT_TRACE_EXPORT_LATER
    return out;
  }();
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
