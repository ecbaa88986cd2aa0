// weft schema [VERB [KIND]]: the JSON Schema of what a verb writes with --json; alone, which there are.
#include <algorithm>
#include <memory>

#include "cli/schemas/schemas.hpp"
#include "cli/text_width.hpp"
#include "cli/verb.hpp"
#include "core/files/atomic_file.hpp"
#include "core/suggest.hpp"
#include "report/json_text.hpp"
#include "report/table.hpp"

namespace weft::cli::verb_schema {
namespace {

std::string list_of_schemas() {
  using report::Table;
  Table table({{"weft schema", Table::Align::kLeft},
               {"id", Table::Align::kLeft},
               {"describes", Table::Align::kLeft}});
  for (const SchemaRow& row : schema_rows()) {
    const auto schema = composed_schema(row.file);
    const std::string title = schema.at("title");  // "weft route --json: the links that a message takes"
    table.add({std::string(row.verb) + (row.kind.empty() ? "" : " ") + std::string(row.kind),
               schema.at("$id").get<std::string>(), title.substr(title.find(": ") + 2)});
  }
  return table.text(text_width());
}

// The row of these words; `weft` knows the kinds of verbs whose outputs are alike.
Result<SchemaRow> row_of(const std::string& verb, const std::string& kind, const CLI::App& weft) {
  std::vector<std::string_view> verbs, kinds;
  for (const SchemaRow& row : schema_rows()) {
    if (verbs.empty() || verbs.back() != row.verb) verbs.push_back(row.verb);
    if (row.verb == verb && !row.kind.empty()) kinds.push_back(row.kind);
    if (row.verb == verb && row.kind == kind) return row;
    if (row.verb != verb || !row.kind.empty()) continue;
    const auto below = weft.get_subcommand(verb)->get_subcommands([](const CLI::App*) { return true; });
    for (const CLI::App* known : below) kinds.push_back(known->get_name());
    if (std::ranges::find(kinds, kind) != kinds.end()) return row;
  }
  if (std::ranges::find(verbs, verb) == verbs.end())
    return usage_error("no JSON output has a schema of this name", verb, one_of(verb, verbs));
  if (kinds.empty())
    return usage_error("weft schema: one schema is for all of weft " + verb, kind, "nothing behind " + verb);
  return usage_error("weft schema: which output of weft " + verb + "?", kind, one_of(kind, kinds));
}

}  // namespace

Action setup(CLI::App& app) {
  auto words = std::make_shared<std::vector<std::string>>(2);
  std::string verbs, kinds;
  std::string_view before;
  for (const SchemaRow& row : schema_rows()) {
    if (row.verb != before) verbs += (verbs.empty() ? "" : "|") + std::string(row.verb);
    if (!row.kind.empty()) kinds += (kinds.empty() ? "" : "|") + std::string(row.kind);
    before = row.verb;
  }
  app.add_option("VERB", words->at(0), "the verb whose --json is described [none: all are listed]")
      ->type_name(verbs);
  app.add_option("KIND", words->at(1), "of a verb whose kinds have outputs of their own [any]")
      ->type_name(kinds);
  app.footer(
      "A JSON Schema (draft 2020-12) that stands alone. Its $id holds the version that the output tells "
      "under\n"
      "\"schema\". It describes what this version of Weft writes: a later one may add keys.");
  return [words, &app](const std::vector<std::string>&) -> Result<void> {
    if (words->at(0).empty()) return write_output("-", list_of_schemas());
    WEFT_ASSIGN(const SchemaRow row, row_of(words->at(0), words->at(1), *app.get_parent()));
    return write_output("-", report::json_text(composed_schema(row.file)));
  };
}

}  // namespace weft::cli::verb_schema
