// Which files a trace is read from, for who asks whether they are still what they were.
#pragma once

#include <string>
#include <vector>

namespace weft::traces {

// The paths, and what open_trace() of them reads besides: the files of a folder, and those that an index, a .meta file
// or an anchor stands for. Where that ends in an error, the paths alone. `from`: as open_trace() has it.
[[nodiscard]] std::vector<std::string> trace_files(const std::vector<std::string>& paths,
                                                   const std::string& from = {});

}  // namespace weft::traces
