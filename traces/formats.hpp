// The rows of formats.def: what each must define, and names of formats for messages and help pages.
//
// A format is one source file that includes this header, one row, one test. Nothing else names it: who opens a trace
// goes through trace.hpp, who writes one through exports/export.hpp, and help pages list the rows.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "traces/trace.hpp"

namespace weft::traces {

// sniff: cheap, from the path and what first_bytes.hpp reads (none of a directory). True: this format's reader gives the
// better error, too, if the file turns out to be broken.
// files: those that open reads besides the paths; none where it would end in an error. Nothing is unpacked for it.
// open: of one path or more. It honours what `options` says as far as the format can, all formats are asked alike.
#define WEFT_TRACE_FORMAT(id, name, packed, what)                                                     \
  [[nodiscard]] bool sniff_##id(const std::string& path, std::string_view first_bytes);               \
  [[nodiscard]] std::vector<std::string> files_##id(const std::vector<std::string>& paths);           \
  [[nodiscard]] Result<std::unique_ptr<TraceReader>> open_##id(const std::vector<std::string>& paths, \
                                                               const OpenOptions& options);
#include "traces/formats.def"
#undef WEFT_TRACE_FORMAT

// The name of the first row, but for `other_than`, that takes what begins with these bytes (of first_bytes.hpp) as its own; empty =
// none. `path` need not be there: what an archive holds has none.
[[nodiscard]] std::string_view sniffed_format(const std::string& path, std::string_view first_bytes,
                                              std::string_view other_than = {});

// Whether its reader takes a compressed file, too.
[[nodiscard]] bool reads_packed(std::string_view format);

// A row of formats.def, exports.def or another table of formats, for people.
struct FormatName {
  std::string_view name;
  std::string_view what;
  bool supported = true;
};
[[nodiscard]] const std::vector<FormatName>& trace_formats();

// "a, b, c (not supported in this version)".
[[nodiscard]] std::string known_names(const std::vector<FormatName>& rows);
// Those of this version: "a, b or c"; with a separator "a|b|c".
[[nodiscard]] std::string supported_names(const std::vector<FormatName>& rows);
[[nodiscard]] std::string supported_names(const std::vector<FormatName>& rows, std::string_view separator);
// "a (what it is), b (what it is)": of this version.
[[nodiscard]] std::string described_names(const std::vector<FormatName>& rows);
// What is expected in place of the unknown name `got`: "one of <known>; did you mean a?".
[[nodiscard]] std::string expected_names(const std::vector<FormatName>& rows, std::string_view got);

}  // namespace weft::traces
