// The built page of report/web, embedded by CMake: HTML, style and script, with a place for the data.
#pragma once

#include <string_view>

namespace weft::report {

[[nodiscard]] std::string_view page_bundle();
// Stands in the bundle once, where the data go.
inline constexpr std::string_view kDataPlace = "\"weft-data\"";

}  // namespace weft::report
