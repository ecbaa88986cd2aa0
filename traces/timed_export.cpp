#include "traces/timed_export.hpp"

namespace weft::traces {

const std::vector<FormatName>& timed_exports() {
  static const std::vector<FormatName> rows = {
#define WEFT_TIMED_EXPORT(id, name, what) {name, what, true},
#define WEFT_TIMED_EXPORT_LATER(name, what) {name, what, false},
#include "traces/timed_exports.def"
#undef WEFT_TIMED_EXPORT
#undef WEFT_TIMED_EXPORT_LATER
  };
  return rows;
}

Result<std::unique_ptr<TimedExport>> open_timed_export(const std::string& format, const std::string& path) {
#define WEFT_TIMED_EXPORT(id, name, what) \
  if (format == name) return open_timed_##id(path);
#define WEFT_TIMED_EXPORT_LATER(name, what) \
  if (format == name)                       \
    return not_supported("export of a replay to " name " (" what ")", supported_names(timed_exports()));
#include "traces/timed_exports.def"
#undef WEFT_TIMED_EXPORT
#undef WEFT_TIMED_EXPORT_LATER
  return usage_error("unknown export format", format, expected_names(timed_exports(), format));
}

}  // namespace weft::traces
