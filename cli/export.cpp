// weft export T --to FORMAT -o OUT: the trace for other tools; --salvage reads a .weft file that was cut off.
#include <fmt/format.h>

#include <memory>

#include "cli/verb.hpp"
#include "traces/copy.hpp"
#include "traces/export.hpp"
#include "traces/trace_warnings.hpp"

namespace weft::cli {
namespace {

struct ExportOptions {
  CommonOptions common;
  std::vector<std::string> inputs;
  std::string output;
  std::string to;
  bool salvage = false;
};

Result<void> run_export(const ExportOptions& o) {
  WEFT_ASSIGN(const auto trace, traces::open_trace_with(o.inputs, {{}, o.salvage}));
  if (o.to == "weft") {
    WEFT_TRY(traces::copy_to_weft(*trace, o.output));
  } else {
    WEFT_TRY(traces::export_trace(*trace, o.to, o.output));
  }
  // On standard error: the trace itself may go to standard output.
  if (!o.common.quiet)
    for (const auto& w : traces::trace_warnings(trace->header()))
      fmt::print(stderr, "weft export: {}: warning: {}\n", o.inputs[0], w);
  if (o.output != "-") {
    std::string text = fmt::format("{}: {} ranks, {} operations as {}\n", o.output, trace->header().ranks,
                                   trace->totals().ops, o.to);
    if (o.salvage)
      for (const auto& n : trace->header().notes) text += "note: " + n + "\n";
    o.common.print(text);
  }
  return {};
}

}  // namespace

Action setup_export_trace(CLI::App& app) {
  auto o = std::make_shared<ExportOptions>();
  add_common(app, o->common);
  app.add_option("T", o->inputs, "the trace")->required();
  app.add_option("--to", o->to, "format: " + traces::known_exports() + "; weft rewrites the trace")
      ->required()
      ->type_name("FORMAT");
  app.add_option("-o,--output", o->output,
                 "where to (- = stdout, text and csv only; ti also makes OUT_files/)")
      ->required()
      ->type_name("OUT");
  app.add_flag("--salvage", o->salvage, "read the whole blocks of a .weft file that was cut off");
  return [o] { return run_export(*o); };
}

}  // namespace weft::cli
