#include "traces/export.hpp"

namespace weft::traces {

std::string known_exports() {
  std::string all;
#define WEFT_TRACE_EXPORT(id, name, what) all += all.empty() ? name : ", " name;
#define WEFT_TRACE_EXPORT_LATER(name, what) all += ", " name " (not supported in this version)";
#include "traces/exports.def"
#undef WEFT_TRACE_EXPORT
#undef WEFT_TRACE_EXPORT_LATER
  return all;
}

Result<void> export_trace(TraceReader& trace, const std::string& format, const std::string& path) {
  trace.rewind();
#define WEFT_TRACE_EXPORT(id, name, what) \
  if (format == name) return export_##id(trace, path);
#define WEFT_TRACE_EXPORT_LATER(name, what) \
  if (format == name) return not_supported("export to " name " (" what ")", "text, ti or csv");
#include "traces/exports.def"
#undef WEFT_TRACE_EXPORT
#undef WEFT_TRACE_EXPORT_LATER
  return usage_error("unknown export format", format, "one of " + known_exports());
}

}  // namespace weft::traces
