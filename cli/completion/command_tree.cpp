#include "cli/completion/command_tree.hpp"

#include <algorithm>
#include <string_view>

#include "topology/platform/catalogue.hpp"

namespace weft::cli {
namespace {

// Up to the first sentence's end, line or default.
std::string one_line(std::string text) {
  for (const std::string_view end : {"\n", ". ", "; ", " ["})
    if (const auto at = text.find(end); at != std::string::npos) text.resize(at);
  constexpr std::size_t kMost = 80;
  if (text.size() > kMost) text.resize(text.rfind(' ', kMost));
  return text;
}

bool is_choice(std::string_view word) {
  return !word.empty() && std::ranges::all_of(word, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
}

// From how the help page shows it: "max-min|pcie", "default|mpich|FILE", "I/N|slurm|merge", "FILE", "PLATFORM", and what a check
// adds to that, "TEXT:{a,b}".
Value value_of(const CLI::Option& option) {
  Value v;
  std::string type = option.get_type_name();
  v.optional = option.get_items_expected_min() == 0;
  if (v.optional && type.empty()) return {Value::Kind::kNone, {}};
  if (const auto check = type.find('{'); check != std::string::npos && type.ends_with('}')) {
    type = type.substr(check + 1, type.size() - check - 2);
    std::ranges::replace(type, ',', '|');
  }
  if (type == "PLATFORM") {
    v.kind = Value::Kind::kPlatform;
    for (const auto& entry : topology::catalogue()) v.choices.emplace_back(entry.name);
    return v;
  }
  constexpr std::string_view kFiles[] = {"FILE", "TRACE", "DIR", "OUT", "CSV", "T.weft"};
  for (std::size_t at = 0; at <= type.size();) {
    const std::size_t bar = std::min(type.find('|', at), type.size());
    const std::string word = type.substr(at, bar - at);
    if (std::ranges::find(kFiles, word) != std::end(kFiles))
      v.kind = Value::Kind::kFile;
    else if (is_choice(word))
      v.choices.push_back(word);
    at = bar + 1;
  }
  return v;
}

void add(const CLI::App& app, std::vector<std::string> path, std::vector<Command>& out) {
  Command c;
  c.path = path;
  c.about = one_line(app.get_description());
  c.positional = {Value::Kind::kNone, {}};
  for (const CLI::Option* o : app.get_options()) {
    if (o->get_positional()) {
      // Traces and other files, but for those that are one of some words.
      const Value v = value_of(*o);
      const bool words = v.kind == Value::Kind::kText && !v.choices.empty();
      if (!words || c.positional.kind == Value::Kind::kFile)
        c.positional.kind = Value::Kind::kFile;
      else
        c.positional.kind = Value::Kind::kText;
      c.positional.choices.insert(c.positional.choices.end(), v.choices.begin(), v.choices.end());
      continue;
    }
    const auto& names = o->get_lnames();
    const auto& letters = o->get_snames();
    c.options.push_back({names.empty() ? "" : names.front(), letters.empty() ? "" : letters.front(),
                         one_line(o->get_description()), value_of(*o)});
  }
  const auto below = app.get_subcommands([](const CLI::App*) { return true; });
  for (const CLI::App* sub : below) c.below.emplace_back(sub->get_name(), one_line(sub->get_description()));
  if (path == std::vector<std::string>{"help"})
    for (const CLI::App* verb : app.get_parent()->get_subcommands([](const CLI::App*) { return true; }))
      c.below.emplace_back(verb->get_name(), one_line(verb->get_description()));
  out.push_back(std::move(c));
  for (const CLI::App* sub : below) {
    path.push_back(sub->get_name());
    add(*sub, path, out);
    path.pop_back();
  }
}

}  // namespace

std::vector<Command> command_tree(const CLI::App& weft) {
  std::vector<Command> out;
  add(weft, {}, out);
  return out;
}

}  // namespace weft::cli
