// Text of a file or a command line in a message for a person: what a terminal would act on becomes visible, and a text
// of megabytes becomes its beginning.
#pragma once

#include <string>
#include <string_view>

namespace weft {

// `text` with control characters (C0, DEL, and C1 as UTF-8) and bytes that are no UTF-8 written \n, \t, \r or \xNN; at
// most `limit` bytes of it, then "... (N bytes)".
[[nodiscard]] std::string printable(std::string_view text, std::size_t limit = std::string_view::npos);

// The same line by line: ends of lines stay.
[[nodiscard]] std::string printable_lines(std::string_view text);

}  // namespace weft
