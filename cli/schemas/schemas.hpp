// The JSON Schemas (draft 2020-12) of the outputs: schemas/*.json, one for each, and what several share in common.json.
//
// A file may refer to another as "common.json#/$defs/NAME" or "compare.json". What is printed stands alone: definitions that
// are referred to are copied into its own $defs.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string_view>

namespace weft::cli {

struct SchemaRow {
  std::string_view verb, kind;  // "platform", "list"; kind "" = every kind
  std::string_view file;        // "platform_list"
};
[[nodiscard]] std::span<const SchemaRow> schema_rows();

// Precondition: `file` is that of a row.
[[nodiscard]] nlohmann::ordered_json composed_schema(std::string_view file);

// The files as they are in the repository, built in.
struct SchemaFile {
  std::string_view name, text;
};
[[nodiscard]] std::span<const SchemaFile> schema_files();

}  // namespace weft::cli
