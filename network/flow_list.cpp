#include "network/flow_list.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>

#include "core/files/csv.hpp"
#include "core/quantity_text.hpp"
#include "topology/placement/host_lookup.hpp"

namespace weft::network {
namespace {

enum class Column { kSrc, kDst, kBytes, kBytesBare, kStart, kStartBare };
struct ColumnName {
  std::string_view name;
  Column column;
};
constexpr std::array<ColumnName, 6> kColumns = {{{"src", Column::kSrc},
                                                 {"dst", Column::kDst},
                                                 {"bytes", Column::kBytes},
                                                 {"bytes_B", Column::kBytesBare},
                                                 {"start", Column::kStart},
                                                 {"start_s", Column::kStartBare}}};
constexpr std::string_view kHeaders = "src,dst,bytes,start or src,dst,bytes_B,start_s";

Result<double> bare_number(const std::string& text, std::string where, double most, std::string_view unit) {
  double v = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), v);
  if (code != std::errc() || end != text.data() + text.size() || !std::isfinite(v))
    return bad_input(std::move(where), "not a number", text, fmt::format("a number of {}", unit));
  if (v < 0 || v > most)
    return bad_input(std::move(where), "number out of range", text, fmt::format("0 to {:g} {}", most, unit));
  return v;
}

}  // namespace

Result<std::vector<FlowRequest>> parse_flow_list(std::string_view text, std::string_view file,
                                                 const topology::Fabric& fabric) {
  topology::HostLookup hosts(fabric);
  std::vector<FlowRequest> flows;
  std::vector<Column> columns;
  CsvReader csv(file, text);
  const auto at = [&](std::uint32_t column) { return csv.where(column); };
  while (true) {
    WEFT_ASSIGN(const bool row, csv.next_row());
    if (!row) break;
    const auto fields = csv.cells();

    if (columns.empty()) {
      std::array<bool, 4> have{};  // src, dst, bytes, start in one notation or the other
      for (const CsvCell& f : fields) {
        std::optional<Column> column;
        for (const ColumnName& c : kColumns)
          if (f.text == c.name) column = c.column;
        if (!column) return bad_input(at(f.column), "unknown column", f.text, std::string(kHeaders));
        const int c = static_cast<int>(*column);
        const auto slot = static_cast<std::size_t>(c < 2 ? c : 2 + (c - 2) / 2);
        if (have[slot]) return bad_input(at(f.column), "column given twice", f.text, std::string(kHeaders));
        have[slot] = true;
        columns.push_back(*column);
      }
      for (const bool h : have)
        if (!h)
          return bad_input(at(1), "a column is missing from the header line", std::string(csv.line_text()),
                           std::string(kHeaders));
      continue;
    }

    if (fields.size() != columns.size())
      return bad_input(
          at(fields.size() > columns.size() ? fields[columns.size()].column : fields.back().column),
          "wrong number of fields", fmt::format("{}", fields.size()), fmt::format("{}", columns.size()));
    FlowRequest flow;
    flow.line = csv.line();
    for (std::size_t i = 0; i < fields.size(); ++i) {
      const CsvCell& f = fields[i];
      switch (columns[i]) {
        case Column::kSrc: {
          WEFT_ASSIGN(flow.src, hosts.find(f.text, at(f.column)));
          break;
        }
        case Column::kDst: {
          WEFT_ASSIGN(flow.dst, hosts.find(f.text, at(f.column)));
          break;
        }
        case Column::kBytes: {
          WEFT_ASSIGN(flow.bytes, parse_bytes(f.text, at(f.column)));
          break;
        }
        case Column::kBytesBare: {
          WEFT_ASSIGN(const double v, bare_number(f.text, at(f.column), 9e18, "bytes"));
          if (v != std::floor(v))
            return bad_input(at(f.column), "not a whole number of bytes", f.text, "a whole number");
          flow.bytes = Bytes(static_cast<std::int64_t>(v));
          break;
        }
        case Column::kStart: {
          WEFT_ASSIGN(const Duration d, parse_duration(f.text, at(f.column)));
          flow.start = kTimeZero + d;
          break;
        }
        case Column::kStartBare: {
          WEFT_ASSIGN(const double v, bare_number(f.text, at(f.column), 9e6, "seconds"));
          flow.start = kTimeZero + from_seconds(v);
          break;
        }
      }
    }
    flows.push_back(flow);
  }
  if (columns.empty())
    return bad_input(std::string(file) + ":1:1", "no header line", {}, std::string(kHeaders));
  if (flows.empty())
    return bad_input(fmt::format("{}:{}:1", file, csv.line() + 1), "no flows", {},
                     "a line for each flow below the header line");
  return flows;
}

}  // namespace weft::network
