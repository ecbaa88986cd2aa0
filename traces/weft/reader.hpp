// Reader of .weft files (trace.proto, weft_format.hpp).
//
// Memory: the index (16 bytes per block), the definitions, one decode buffer; blocks are read with pread when
// asked for, so any number of ranks can be read interleaved. A file that was cut off is an error that names
// the byte where it ends; with allow_truncated its whole blocks are read instead and a note in the header
// says what is missing.
#pragma once

#include <memory>
#include <string>

#include "core/result.hpp"
#include "traces/trace.hpp"

namespace weft::traces {

struct WeftReaderOptions {
  bool allow_truncated = false;  // salvage: read the whole blocks of a file that was cut off
};

[[nodiscard]] bool sniff_weft(std::string_view first_bytes);
[[nodiscard]] Result<std::unique_ptr<TraceReader>> open_weft(const std::string& path,
                                                             const WeftReaderOptions& options = {});

}  // namespace weft::traces
