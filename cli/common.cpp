#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/command_line.hpp"
#include "cli/flags/values.hpp"
#include "cli/tell.hpp"
#include "cli/verb.hpp"
#include "core/printable.hpp"

namespace weft::cli {
namespace {

// The keys that every output has, added to the text of an object.
std::string with_common_keys(std::string text, const std::string& command) {
  const std::size_t end = text.rfind('}');
  WEFT_CHECK(end != std::string::npos && text.front() == '{', "a JSON output that is no object");
  nlohmann::ordered_json keys;
  // Two spaces in front of a key are those of the object itself; no string holds a line break.
  if (text.find("\n  \"warnings\":") == std::string::npos) keys["warnings"] = nlohmann::ordered_json::array();
  keys["command"] = command;
  keys["version"] = WEFT_VERSION;
  std::string more = keys.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  more = more.substr(1, more.rfind('\n') - 1);  // without its braces
  std::size_t last = end;
  while (last > 0 && (text[last - 1] == '\n' || text[last - 1] == ' ')) --last;
  return text.substr(0, last) + (text[last - 1] == '{' ? "" : ",") + more + "\n}\n";
}

}  // namespace

ProgressMode CommonOptions::progress_mode() const {
  if (quiet || progress == "off") return ProgressMode::kOff;
  return progress == "on" ? ProgressMode::kOn : ProgressMode::kAuto;
}

void CommonOptions::print(const std::string& text) const {
  if (quiet || outputs->take_standard_output()) return;
  outputs->print(printable_lines(text));  // a name from a file does not steer the terminal
}

Result<void> CommonOptions::write_json(const std::string& text) const {
  if (json.empty()) return {};
  return outputs->write("--json", with_common_keys(text, command));
}

Result<void> CommonOptions::write_csv(const std::string& text) const { return outputs->write("--csv", text); }

namespace {

// What was given to options that are no outputs.
std::vector<Outputs::Given> other_words(const CommonOptions& common) {
  std::vector<Outputs::Given> words;
  for (const CLI::Option* o : common.app->get_options()) {
    if (common.outputs->has(o->get_name())) continue;
    for (const std::string& word : o->results()) words.emplace_back(o->get_name(), word);
  }
  return words;
}

// Outputs, and what says only what is in them, by all their names: who asks names them, not what was asked (weft merge).
std::vector<std::string> outputs_beside(const CommonOptions& common) {
  std::vector<std::string> names;
  const auto is_output = [&](const CLI::Option* o) {
    return o != common.trace_output && common.outputs->has(o->get_name());
  };
  for (const CLI::Option* o : common.app->get_options()) {
    if (!is_output(o) && std::ranges::none_of(o->get_needs(), is_output)) continue;
    for (const std::string& name : o->get_snames()) names.push_back("-" + name);
    for (const std::string& name : o->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

}  // namespace

Action with_outputs(CommonOptions& common, Work work) {
  return [&common, work = std::move(work)](const std::vector<std::string>& words) -> Result<void> {
    common.command = told_command(words, outputs_beside(common));
    WEFT_TRY(common.outputs->open(other_words(common)));
    Result<void> done = work();
    WEFT_TRY(common.outputs->finish());
    return done;
  };
}

void add_common(CLI::App& app, CommonOptions& common) {
  common.app = &app;
  add_output(app, common, "--json", common.json, "write JSON to FILE (- = stdout)");
  add_output(app, common, "--csv", common.csv, "write CSV to FILE (- = stdout)");
  app.add_flag("--quiet", common.quiet, "no text output");
  app.add_option("--progress", common.progress,
                 with_default("auto: on a terminal, after 2 s", common.progress))
      ->check(word({"auto", "on", "off"}))
      ->type_name("auto|on|off");
  app.add_option("--seed", common.seed, with_default("seed of everything random", common.seed))
      ->transform(count(0))
      ->type_name("N");
  app.add_option("--threads", common.threads,
                 with_default("worker threads; the result does not depend on it", common.threads))
      ->transform(count(1, 1024))
      ->type_name("N");
}

CLI::Option* add_output(CLI::App& app, CommonOptions& common, const std::string& flags, std::string& path,
                        const std::string& help, Outputs::Opened opened) {
  const auto comma = flags.rfind(',');
  common.outputs->add(comma == std::string::npos ? flags : flags.substr(comma + 1), &path, opened);
  return app.add_option(flags, path, help)->type_name("FILE");
}

CLI::Option* add_trace_output(CLI::App& app, CommonOptions& common, std::string& path,
                              const std::string& help) {
  CLI::Option* const o =
      add_output(app, common, "-o,--output", path, help, Outputs::Opened::kByVerb)->required();
  common.trace_output = o;
  return o;
}

Result<void> refuse_unused(const CLI::App& app, const std::vector<std::string>& flags,
                           const std::string& what, const std::string& expected) {
  for (const std::string& flag : flags) {
    const CLI::Option* o = app.get_option(flag);
    if (o->count() == 0) continue;
    const bool has_value = o->get_expected_max() > 0;
    return usage_error(fmt::format("{} has no use for {}", what, flag),
                       has_value ? o->as<std::string>() : std::string(), expected);
  }
  return {};
}

void tell_fewer_threads(unsigned started, unsigned wanted) {
  if (started >= wanted) return;
  tell("note: {} of {} threads: the system starts no more; the result does not depend on it\n", started,
       wanted);
}

}  // namespace weft::cli
