// A replay of a trace for other tools: its operations at the times that the replay gave them. The formats are the rows of
// timed_exports.def; a format's own source file defines open_timed_<id>().
//
// Memory: 16 bytes for each operation of the trace, and what the format needs.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "traces/formats.hpp"
#include "traces/trace.hpp"

namespace weft::traces {

// Of an operation in the replay, in picoseconds; negative: it never ended.
struct OpTime {
  std::int64_t begin = -1, end = -1;
};
// By rank and index of the operation; what is beyond the end of a rank's vector never ended.
using OpTimes = std::vector<std::vector<OpTime>>;

class TimedExport {
 public:
  virtual ~TimedExport() = default;
  // The whole trace, from its start; the output appears whole.
  [[nodiscard]] virtual Result<void> write(TraceReader& trace, const OpTimes& times) = 0;
};

#define WEFT_TIMED_EXPORT(id, name, what) \
  [[nodiscard]] Result<std::unique_ptr<TimedExport>> open_timed_##id(const std::string& path);
#define WEFT_TIMED_EXPORT_LATER(name, what)
#include "traces/timed_exports.def"
#undef WEFT_TIMED_EXPORT
#undef WEFT_TIMED_EXPORT_LATER

// Before the replay, so that a place that is taken is told at once. Errors: kUsage, kNotSupported, kBadInput.
[[nodiscard]] Result<std::unique_ptr<TimedExport>> open_timed_export(const std::string& format,
                                                                     const std::string& path);
[[nodiscard]] const std::vector<FormatName>& timed_exports();

}  // namespace weft::traces
