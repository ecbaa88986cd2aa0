// weft compare T... --on P...: every trace x platform x routing x map, ranked.
#include <memory>

#include "cli/flags/matrix_flags.hpp"
#include "cli/text_width.hpp"
#include "cli/verb.hpp"
#include "report/compare.hpp"

namespace weft::cli {
namespace {

struct Options {
  CommonOptions common;
  ReplayFlags flags;
  MatrixFlags matrix;
  std::vector<std::string> routings;  // empty: each platform's own
};

Result<void> run(const Options& o) {
  WEFT_ASSIGN(predict::MatrixRequest request, matrix_request(o.matrix, o.flags, o.common, o.flags));
  const std::vector<std::string> own{""};
  for (const auto& spec : o.matrix.on)
    for (const auto& routing : o.routings.empty() ? own : o.routings) {
      request.platforms.push_back({spec, o.flags.changes(o.common.seed)});
      if (!routing.empty()) request.platforms.back().changes.routing = routing;
    }
  predict::Matrix matrix;
  WEFT_TRY(run_with_progress(std::move(request), "compare", o.common, matrix));
  const auto rows = report::rank_runs(matrix.facts());
  o.common.print(report::compare_text(rows, text_width()));
  if (!o.common.json.empty()) WEFT_TRY(o.common.write_json(report::compare_json(rows)));
  if (!o.common.csv.empty()) WEFT_TRY(o.common.write_csv(report::compare_csv(rows)));
  for (const auto& row : rows)
    if (!row.error.empty())
      return Error{ErrorCode::kFinding, row.trace, "on " + row.platform + ": " + row.error, {}, {}};
  return {};
}

}  // namespace

Action setup_compare(CLI::App& app) {
  auto o = std::make_shared<Options>();
  o->matrix.add(app);
  app.add_option("--routing", o->routings, "routing, once for each; every platform must know it [its own]")
      ->type_name("NAME")
      ->allow_extra_args(false);
  o->flags.add(app);
  add_common(app, o->common);
  return with_outputs(o->common, [o] { return run(*o); });
}

}  // namespace weft::cli
