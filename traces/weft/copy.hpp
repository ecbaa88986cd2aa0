// Any trace -> a .weft file.
#pragma once

#include <functional>
#include <string>

#include "traces/trace.hpp"

namespace weft::traces {

// Copies header, definitions and all operations, rank by rank. Memory: one block. Returns the bytes written.
// `progress(ops done)` is called once a block. Errors: those of the reader and of the output file.
[[nodiscard]] Result<std::uint64_t> copy_to_weft(TraceReader& from, const std::string& path,
                                                 const std::function<void(std::uint64_t)>& progress = {});

}  // namespace weft::traces
