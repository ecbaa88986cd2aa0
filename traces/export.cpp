#include "traces/export.hpp"

#include "traces/formats.hpp"

namespace weft::traces {

Result<void> export_trace(TraceReader& trace, const std::string& format, const std::string& path) {
  trace.rewind();
#define WEFT_TRACE_EXPORT(id, name, what) \
  if (format == name) return export_##id(trace, path);
#define WEFT_TRACE_EXPORT_LATER(name, what) \
  if (format == name) return not_supported("export to " name " (" what ")", supported_names(trace_exports()));
#include "traces/exports.def"
#undef WEFT_TRACE_EXPORT
#undef WEFT_TRACE_EXPORT_LATER
  return usage_error("unknown export format", format, expected_names(trace_exports(), format));
}

}  // namespace weft::traces
