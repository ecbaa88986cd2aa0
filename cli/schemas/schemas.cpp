#include "cli/schemas/schemas.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "core/check.hpp"

namespace weft::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr SchemaRow kRows[] = {
#define WEFT_SCHEMA(verb, kind, file) {verb, kind, file},
#include "cli/schemas/schemas.def"
#undef WEFT_SCHEMA
};

constexpr std::string_view kDefinitions = "#/$defs/";

Json file_named(std::string_view name) {
  const auto files = schema_files();
  const auto found = std::ranges::find(files, name, &SchemaFile::name);
  WEFT_CHECK(found != files.end(), "no schema " + std::string(name));
  return Json::parse(found->text);
}

// What a reference is to: a definition of a file, or ("") the file itself.
struct Target {
  std::string file, definition;
  bool operator==(const Target&) const = default;
  // In the schema that is printed.
  [[nodiscard]] const std::string& name() const { return definition.empty() ? file : definition; }
};

// "common.json#/$defs/seconds", "compare.json", "#/$defs/own" within `home`.
Target target_of(const std::string& reference, const std::string& home) {
  constexpr std::string_view kEnding = ".json";
  const std::size_t hash = std::min(reference.find('#'), reference.size());
  Target to{home, {}};
  if (hash > 0) to.file = reference.substr(0, hash - kEnding.size());
  if (hash < reference.size()) to.definition = reference.substr(hash + kDefinitions.size());
  return to;
}

// Makes the references in `node`, which is of the file `home`, local ones; what they are to goes to `found`.
void localise(Json& node, const std::string& home, std::vector<Target>& found) {
  if (node.is_object() && node.contains("$ref")) {
    found.push_back(target_of(node["$ref"].get<std::string>(), home));
    node["$ref"] = std::string(kDefinitions) + found.back().name();
  }
  for (Json& below : node)
    if (below.is_structured()) localise(below, home, found);
}

}  // namespace

std::span<const SchemaRow> schema_rows() { return kRows; }

Json composed_schema(std::string_view file) {
  const std::string home(file);
  Json schema = file_named(home), defs = Json::object();
  schema.erase("$defs");
  std::vector<Target> found;
  localise(schema, home, found);
  std::map<std::string, Target> defined;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const Target to = found[i];  // `found` grows
    const auto [known, is_new] = defined.emplace(to.name(), to);
    WEFT_CHECK(known->second == to, "two definitions in " + home + " are called " + to.name());
    if (!is_new) continue;
    Json definition = file_named(to.file);
    if (to.definition.empty())
      for (const char* key : {"$schema", "$id", "$defs"}) definition.erase(key);
    else
      definition = Json(definition.at("$defs").at(to.definition));
    localise(definition, to.file, found);
    defs[to.name()] = std::move(definition);
  }
  if (!defs.empty()) schema["$defs"] = std::move(defs);
  return schema;
}

}  // namespace weft::cli
