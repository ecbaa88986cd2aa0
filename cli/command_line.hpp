// The words that Weft was called with.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weft::cli {

// Quoted where needed, so that a shell reads back the same words.
[[nodiscard]] std::string shell_line(const std::vector<std::string>& words);

// The words of a line that shell_line() wrote.
[[nodiscard]] std::vector<std::string> words_of(std::string_view line);

// The command line as a result tells it: as typed, but without the path of the program and without what decides nothing
// about the result (where JSON and CSV go, threads, progress, quiet, journal and shard, and the flags `besides` with their
// values), so that equal runs give equal bytes.
[[nodiscard]] std::string told_command(const std::vector<std::string>& words,
                                       const std::vector<std::string>& besides);

}  // namespace weft::cli
