// weft check T: the trace doctor. Exit code 1 if it finds an error.
#include <fmt/format.h>

#include <memory>

#include "cli/verb.hpp"
#include "core/counted.hpp"
#include "core/quantity_text.hpp"
#include "report/json_text.hpp"
#include "report/table.hpp"
#include "traces/check/check.hpp"
#include "traces/trace_warnings.hpp"

namespace weft::cli::verb_check {
namespace {

struct CheckOptions {
  CommonOptions common;
  std::vector<std::string> inputs;
  bool salvage = false;
  bool synchronous = false;
};

Result<void> run_check(const CheckOptions& o) {
  WEFT_ASSIGN(const auto trace, traces::open_trace_with(o.inputs, {{}, o.salvage}));
  traces::CheckOptions options;
  options.synchronous = o.synchronous;
  Progress progress(o.common.progress_mode(), "check", trace->totals().ops, "ops");
  options.on_progress = [&](std::uint64_t done) { progress.update(done); };
  WEFT_ASSIGN(const traces::CheckReport report, traces::check_trace(*trace, options));
  progress.finish();
  nlohmann::ordered_json j = {{"schema", "weft.check/1"},
                              {"ok", report.ok()},
                              {"errors", report.errors},
                              {"warning_count", report.warnings},
                              {"findings", nlohmann::ordered_json::array()}};
  j["warnings"] = traces::trace_warnings(trace->header());
  std::string text, csv = report::csv_line({"severity", "rank", "op", "message"});
  for (const auto& f : report.findings) {
    const char* severity = f.severity == traces::Severity::kError ? "error" : "warning";
    nlohmann::ordered_json row = {
        {"severity", severity}, {"rank", nullptr}, {"op", nullptr}, {"message", f.message}};
    if (f.rank >= 0) row["rank"] = f.rank;
    if (f.op >= 0) row["op"] = f.op;
    csv += report::csv_line({severity, f.rank >= 0 ? std::to_string(f.rank) : "",
                             f.op >= 0 ? std::to_string(f.op) : "", f.message});
    j["findings"].push_back(std::move(row));
    text += fmt::format("{}: {}\n", severity, f.message);
  }
  const std::uint64_t shown = report.findings.size();
  if (report.errors + report.warnings > shown)
    text += fmt::format("... and {} more\n", report.errors + report.warnings - shown);
  text += fmt::format(
      "{}: {}, {}: {}\n", o.inputs[0], counted(trace->header().ranks, "rank"),
      counted(trace->totals().ops, "operation"),
      report.errors + report.warnings == 0
          ? std::string("nothing found")
          : fmt::format("{}, {}", counted(report.errors, "error"), counted(report.warnings, "warning")));
  o.common.print(text);
  WEFT_TRY(o.common.write_json(report::json_text(j)));
  WEFT_TRY(o.common.write_csv(csv));
  if (report.ok()) return {};
  return Error{ErrorCode::kFinding, o.inputs[0], "the trace has " + counted(report.errors, "error"), {}, {}};
}

}  // namespace

Action setup(CLI::App& app) {
  auto o = std::make_shared<CheckOptions>();
  add_common(app, o->common);
  app.add_option("T", o->inputs, "the trace")->required();
  app.add_flag("--salvage", o->salvage, "check the whole blocks of a .weft file that was cut off");
  app.add_flag("--synchronous", o->synchronous,
               "also look for deadlocks that only buffered sends avoid (warnings)");
  return with_outputs(o->common, [o] { return run_check(*o); });
}

}  // namespace weft::cli::verb_check
