// weft export T --to FORMAT -o OUT: the trace for other tools; --salvage reads a .weft file that was cut off.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "cli/flags/collective_flags.hpp"
#include "cli/flags/replay_flags.hpp"
#include "cli/summary.hpp"
#include "cli/tell.hpp"
#include "cli/verb.hpp"
#include "core/counted.hpp"
#include "core/printable.hpp"
#include "replay/collective_calls.hpp"
#include "report/timeline/replay_export.hpp"
#include "traces/exports/export.hpp"
#include "traces/formats.hpp"
#include "traces/recorded/recorded_matches.hpp"
#include "traces/trace_warnings.hpp"
#include "traces/weft/copy.hpp"

namespace weft::cli::verb_export_trace {
namespace {

struct ExportOptions {
  CommonOptions common;
  std::vector<std::string> inputs;
  std::string output;
  std::string to;
  bool salvage = false, recorded_matches = false;
  CollectiveFlags collectives;
};

bool listed(const std::vector<traces::FormatName>& rows, const std::string& name) {
  return std::ranges::any_of(rows, [&name](const traces::FormatName& row) { return row.name == name; });
}

Result<void> run_export(const ExportOptions& o) {
  // Viewers show times, and only a replay has them.
  if (!listed(traces::trace_exports(), o.to) && listed(report::replay_exports(), o.to))
    return usage_error(
        "that format shows a replay", o.to,
        fmt::format("weft replay {} --on PLATFORM --export {}:{}", o.inputs[0], o.to, o.output));
  if (listed(traces::trace_exports(), o.to) && !listed(traces::message_exports(), o.to))
    WEFT_TRY(refuse_unused(*o.common.app, {"--collective", "--collectives"},
                           fmt::format("export --to {}, which keeps collectives,", o.to),
                           "--to " + traces::supported_names(traces::message_exports())));
  if (listed(traces::trace_exports(), o.to) && !listed(traces::program_exports(), o.to))
    WEFT_TRY(refuse_unused(
        *o.common.app, {"--recorded-matches"},
        fmt::format("export --to {}, which keeps what receives ask for and what they took,", o.to),
        "--to " + traces::supported_names(traces::program_exports())));
  WEFT_ASSIGN(const auto algorithms, o.collectives.algorithms());
  WEFT_ASSIGN(const auto trace, traces::open_trace_with(o.inputs, {{}, o.salvage}));
  // Ranks that share a node: as recorded. No platform says anything here.
  const auto rules = replay::name_of_rules(o.collectives.collective_rules, {}, trace->header());
  WEFT_ASSIGN(auto choices,
              replay::choose_collectives(rules.name, {&algorithms}, replay::recorded_hosts(trace->header())));
  replay::ExpandedCollectives expanded(*trace, std::move(choices));
  traces::RecordedMatches as_recorded(*trace);
  traces::TraceReader& program = o.recorded_matches ? static_cast<traces::TraceReader&>(as_recorded) : *trace;
  std::vector<std::string> warnings = traces::trace_warnings(trace->header());
  WEFT_TRY(traces::export_trace(program, o.to, o.output,
                                {.collectives = &expanded, .computation = {}, .warnings = &warnings}));
  if (auto open = as_recorded.warning()) warnings.push_back(std::move(*open));
  // On standard error: the trace itself may go to standard output.
  if (!o.common.quiet)
    for (const auto& w : warnings)
      tell("weft export: {}: warning: {}\n", printable(o.inputs[0]), printable(w));
  std::string text = fmt::format("{}: {}, {} as {}\n", o.output, counted(trace->header().ranks, "rank"),
                                 counted(trace->totals().ops, "operation"), o.to);
  std::vector<std::string> notes;
  if (o.salvage) notes = trace->header().notes;
  for (const auto& n : notes) text += "note: " + n + "\n";
  o.common.print(text);
  auto used = nlohmann::ordered_json::array();
  for (const replay::CollectiveUse& u : expanded.used())
    used.push_back({{"name", u.collective}, {"algorithm", u.algorithm}});
  const nlohmann::ordered_json j = {{"schema", "weft.export/1"},
                                    {"to", o.to},
                                    {"output", o.output},
                                    {"ranks", trace->header().ranks},
                                    {"ops", trace->totals().ops},
                                    {"messages", trace->totals().messages},
                                    {"bytes", trace->totals().bytes},
                                    {"recorded_matches", o.recorded_matches},
                                    {"collective_rules", rules.name.empty() ? "default" : rules.name},
                                    {"collectives", used},
                                    {"notes", notes},
                                    {"warnings", warnings}};
  return write_summary(o.common, j);
}

}  // namespace

Action setup(CLI::App& app) {
  auto o = std::make_shared<ExportOptions>();
  add_common(app, o->common);
  app.add_option("T", o->inputs, "the trace")->required();
  app.add_option("--to", o->to, "format: " + traces::described_names(traces::trace_exports()))
      ->required()
      ->type_name(traces::supported_names(traces::trace_exports(), "|"));
  add_trace_output(app, o->common, o->output, "where to (- = stdout, for formats that are one file)")
      ->type_name("OUT");
  o->collectives.add(app, "as the rules choose",
                     "the recorded library's, else default; for formats without collectives");
  app.add_flag("--recorded-matches", o->recorded_matches, kRecordedMatchesHelp);
  app.add_flag("--salvage", o->salvage, "read the whole blocks of a .weft file that was cut off");
  return with_outputs(o->common, [o] { return run_export(*o); });
}

}  // namespace weft::cli::verb_export_trace
