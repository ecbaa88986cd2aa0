#include "traces/formats.hpp"

#include <fmt/format.h>

#include "core/suggest.hpp"

namespace weft::traces {

const std::vector<FormatName>& trace_formats() {
  static const std::vector<FormatName> rows = {
#define WEFT_TRACE_FORMAT(id, name, packed, what) {name, what, true},
#include "traces/formats.def"
#undef WEFT_TRACE_FORMAT
  };
  return rows;
}

std::string known_names(const std::vector<FormatName>& rows) {
  std::string all;
  for (const FormatName& row : rows) {
    if (!all.empty()) all += ", ";
    all += row.name;
    if (!row.supported) all += " (not supported in this version)";
  }
  return all;
}

std::string supported_names(const std::vector<FormatName>& rows, std::string_view separator) {
  std::string all;
  for (const FormatName& row : rows) {
    if (!row.supported) continue;
    if (!all.empty()) all += separator;
    all += row.name;
  }
  return all;
}

std::string supported_names(const std::vector<FormatName>& rows) {
  std::string all = supported_names(rows, ", ");
  if (const auto last = all.rfind(", "); last != std::string::npos) all.replace(last, 2, " or ");
  return all;
}

std::string described_names(const std::vector<FormatName>& rows) {
  std::string all;
  for (const FormatName& row : rows) {
    if (!row.supported) continue;
    if (!all.empty()) all += ", ";
    all.append(row.name).append(" (").append(row.what).append(")");
  }
  return all;
}

std::string expected_names(const std::vector<FormatName>& rows, std::string_view got) {
  std::vector<std::string_view> names;
  names.reserve(rows.size());
  for (const FormatName& row : rows) names.push_back(row.name);
  return "one of " + known_names(rows) + did_you_mean(got, names);
}

}  // namespace weft::traces
