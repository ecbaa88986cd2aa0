// SimGrid time-independent (TI) text -> operations. The format, action by action: docs/trace-format.md, "TI
// text".
//
// What the text does not say is resolved here: element counts become bytes, a wait finds its request slot,
// flops of a reduction become a compute operation after it. What it cannot say is noted in the header:
// communicators are lost (collectives are on the world), so are failed probes, and a test has no outcome (it
// is dropped; the wait counts).
//
// Speed (HPL, 256 ranks, 1.43 million lines of 24 bytes, one core): the parser alone about 20 million lines a
// second by profile; with unpacking the archive and storing the compact blocks 9 million; import to a .weft
// file 4.9 million.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "traces/trace.hpp"

namespace weft::traces {

[[nodiscard]] bool sniff_ti(const std::string& path, std::string_view first_bytes);
// Errors: kBadInput with FILE:LINE:COLUMN (ARCHIVE!MEMBER:LINE:COLUMN), kNotSupported for a receive of
// unknown size.
[[nodiscard]] Result<std::unique_ptr<TraceReader>> open_ti(const std::vector<std::string>& paths);

}  // namespace weft::traces
