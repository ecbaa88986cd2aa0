// weft import IN... -o T.weft: a trace of another tool becomes a .weft file.
#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/summary.hpp"
#include "cli/verb.hpp"
#include "core/counted.hpp"
#include "core/quantity_text.hpp"
#include "traces/formats.hpp"
#include "traces/info.hpp"
#include "traces/trace_warnings.hpp"
#include "traces/weft/copy.hpp"

namespace weft::cli::verb_import {
namespace {

struct ImportOptions {
  CommonOptions common;
  std::vector<std::string> inputs;
  std::string output;
  traces::OpenOptions open;
};

Result<void> import_trace(const ImportOptions& o) {
  const auto start = std::chrono::steady_clock::now();
  WEFT_ASSIGN(const auto trace, traces::open_trace_with(o.inputs, o.open));
  if (auto told = traces::can_be_told(trace->totals()); !told) {
    told.error().where = o.inputs[0];
    return told;
  }
  Progress progress(o.common.progress_mode(), "import", trace->totals().ops, "ops");
  WEFT_ASSIGN(const std::uint64_t size,
              traces::copy_to_weft(*trace, o.output, [&](std::uint64_t done) { progress.update(done); }));
  progress.finish();
  const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const auto& t = trace->totals();
  const auto ops = static_cast<double>(t.ops);
  std::string text = fmt::format("{}: {}, {}, {}, {}; file {}, {:.2f} bytes/op, {} ops/s\n", o.output,
                                 counted(trace->header().ranks, "rank"), counted(t.ops, "op"),
                                 counted(t.messages, "message"), show_bytes(t.bytes), show_bytes(size),
                                 static_cast<double>(size) / std::max(ops, 1.0), show_count(ops / wall));
  for (const auto& n : trace->header().notes) text += "note: " + n + "\n";
  const auto warnings = traces::trace_warnings(trace->header());
  for (const auto& w : warnings) text += "warning: " + w + "\n";
  o.common.print(text);
  nlohmann::ordered_json j = {{"schema", "weft.import/1"},
                              {"output", o.output},
                              {"ranks", trace->header().ranks},
                              {"ops", t.ops},
                              {"messages", t.messages},
                              {"bytes", t.bytes},
                              {"file_bytes", size},
                              {"notes", trace->header().notes},
                              {"warnings", warnings},
                              {"engine", {{"wall_s", wall}}}};
  return write_summary(o.common, j);
}

}  // namespace

Action setup(CLI::App& app) {
  auto o = std::make_shared<ImportOptions>();
  add_common(app, o->common);
  app.add_option("IN", o->inputs, "the trace: " + traces::described_names(traces::trace_formats()))
      ->required();
  add_trace_output(app, o->common, o->output, "the .weft file to write (- = stdout)");
  app.add_option("--from", o->open.from, "format of IN [sniffed]")
      ->type_name(traces::supported_names(traces::trace_formats(), "|"));
  app.add_flag("--one-order", o->open.one_order,
               "GOAL: operations of each rank in one order, also where the schedule leaves it open");
  return with_outputs(o->common, [o] { return import_trace(*o); });
}

}  // namespace weft::cli::verb_import
