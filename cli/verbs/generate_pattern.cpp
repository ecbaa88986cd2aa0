#include "cli/verbs/generate_pattern.hpp"

#include <fmt/format.h>

#include <map>
#include <memory>

#include "cli/tell.hpp"
#include "cli/verbs/generate.hpp"
#include "traces/synthetic/pattern.hpp"

namespace weft::cli {
namespace {

struct Options {
  CommonOptions common;
  std::string kind;
  std::string output;
  std::map<std::string, std::string> values;  // by key; empty = not given
  std::vector<std::string> keys;              // in the pattern's order
};

Result<void> run(const Options& o, const CLI::App& app) {
  traces::PatternArgs args;
  for (const std::string& key : o.keys)
    if (const CLI::Option* given = app.get_option("--" + key); given->count() > 0) {
      const std::string& value = o.values.at(key);
      // A switch is on by being there; a value of it is how it was said once.
      const bool named = given->get_expected_min() == 0 && !value.empty();
      if (named) tell("note: \"--{} on\" is called \"--{}\"; without it is off\n", key, key);
      args.set(key, value.empty() && given->get_expected_min() == 0 ? "on" : value);
    }
  WEFT_ASSIGN(const auto trace, traces::synthetic_trace(o.kind, args, o.common.seed));
  return write_generated(*trace, o.kind, o.output, o.common);
}

}  // namespace

void add_pattern_commands(CLI::App& generate, std::vector<std::pair<const CLI::App*, Action>>& commands) {
  for (const traces::PatternKind& kind : traces::pattern_kinds()) {
    CLI::App* sub = generate.add_subcommand(std::string(kind.name), std::string(kind.summary));
    auto o = std::make_shared<Options>();
    o->kind = std::string(kind.name);
    for (const traces::PatternKey& key : kind.keys) {
      o->keys.emplace_back(key.name);
      CLI::Option* option = sub->add_option("--" + std::string(key.name), o->values[std::string(key.name)],
                                            fmt::format("{} [{}]", key.help, key.fallback));
      if (key.fallback == "off") option->expected(0, 1)->type_name("");
    }
    add_trace_output(*sub, o->common, o->output, "the .weft file to write (- = stdout)");
    add_common(*sub, o->common);
    commands.emplace_back(sub, with_outputs(o->common, [o, sub] { return run(*o, *sub); }));
  }
}

}  // namespace weft::cli
