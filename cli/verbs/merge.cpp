// weft merge DIR...: the journals of shards as the output of one run.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>

#include "cli/command_line.hpp"
#include "cli/flags/journal_flags.hpp"
#include "cli/run_verb.hpp"
#include "cli/verb.hpp"
#include "predict/journal/journal.hpp"

namespace weft::cli::verb_merge {
namespace {

struct Options {
  std::vector<std::string> folders;
  std::string json, csv, report;
  bool quiet = false;
};

// What the journals are of: the command that every shard was given.
Result<std::vector<std::string>> command_of(const Options& o) {
  using predict::Journal;
  WEFT_ASSIGN(const auto journal, Journal::open(o.folders, Journal::Access::kRead, {}, WEFT_VERSION));
  std::vector<std::string> commands;
  for (const predict::JournalHeader& h : journal->headers())
    if (std::find(commands.begin(), commands.end(), h.command) == commands.end())
      commands.push_back(h.command);
  if (commands.empty())
    return bad_input(o.folders.front(), "no journal is there", fmt::format("{}", fmt::join(o.folders, " ")),
                     "folders that --journal made");
  if (commands.size() > 1)
    return bad_input(o.folders.front(), "journals of several commands",
                     fmt::format("{}", fmt::join(commands, "; ")),
                     "one; that command itself with --journal DIR --shard merge tells its result");
  std::vector<std::string> words = words_of(commands.front());
  if (words.size() < 2 || words[1] == "merge")
    return bad_input(o.folders.front(), "no command of Weft", commands.front(), "one that --journal kept");
  words.erase(words.begin());
  return words;
}

Result<void> run(const Options& o) {
  WEFT_ASSIGN(auto words, command_of(o));
  // What stands behind "--" are no flags.
  auto behind = std::find(words.begin(), words.end(), "--");
  const std::vector<std::string> inputs(behind, words.end());
  words.erase(behind, words.end());
  const auto add = [&](const char* flag, const std::string& value) {
    if (!value.empty()) words.insert(words.end(), {flag, value});
  };
  for (const std::string& folder : o.folders) add(kJournalFlag, folder);
  add("--shard", kShardMerge);
  add("--json", o.json);
  add("--csv", o.csv);
  add("--report", o.report);
  if (o.quiet) words.emplace_back("--quiet");
  words.insert(words.end(), inputs.begin(), inputs.end());
  return run_verb(words);
}

}  // namespace

Action setup(CLI::App& app) {
  auto o = std::make_shared<Options>();
  app.add_option("DIR", o->folders, "journals of the shards; the same one if they shared it")->required();
  app.add_option("--json", o->json, "write JSON to FILE (- = stdout)")->type_name("FILE");
  app.add_option("--csv", o->csv, "write CSV to FILE (- = stdout)")->type_name("FILE");
  app.add_option("--report", o->report, "write the page to FILE, where the command has one")
      ->type_name("FILE");
  app.add_flag("--quiet", o->quiet, "no text output");
  app.footer(
      "Runs nothing: every point must be there, or those that are not are named (exit code 3). What comes\n"
      "out is what one run of the command writes, byte for byte. Traces and platforms are looked for where\n"
      "the command names them, so it is run in the same folder as the shards.");
  return [o](const std::vector<std::string>&) { return run(*o); };
}

}  // namespace weft::cli::verb_merge
