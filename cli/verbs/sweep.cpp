// weft sweep T... --on P... --set key=v1,v2,...: every combination of the values.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "cli/flags/journal_flags.hpp"
#include "cli/flags/matrix_flags.hpp"
#include "cli/flags/report_flag.hpp"
#include "cli/flags/values.hpp"
#include "cli/interrupt.hpp"
#include "cli/text_width.hpp"
#include "cli/verb.hpp"
#include "report/axis_value.hpp"
#include "report/sweep.hpp"
#include "topology/platform/platform_source.hpp"

namespace weft::cli::verb_sweep {
namespace {

constexpr std::size_t kMaxCombinations = 100000;

struct Options {
  CommonOptions common;
  ReportFlag report;
  ReplayFlags flags;
  MatrixFlags matrix;
  JournalFlags journal;
  unsigned bisect = 0;
};

// Makespan of one run of a flip, at a value of its key that is not on the axis. None: the platform does not take it.
Result<std::optional<double>> replay_between(const Options& o, const report::Flip& flip,
                                             const std::string& platform, const std::string& value) {
  MatrixFlags run;
  run.traces = {flip.trace};
  run.maps = {flip.map};
  run.verify = o.matrix.verify;
  WEFT_ASSIGN(predict::MatrixRequest request, matrix_request(run, o.flags, o.common, o.flags));
  predict::PlatformRequest p{platform, o.flags.changes(o.common.seed)};
  p.changes.set = {flip.key + "=" + value};
  for (const auto& [key, other] : flip.others) p.changes.set.push_back(fmt::format("{}={}", key, other));
  if (!topology::load_platform(p.spec, p.changes)) return std::optional<double>();
  request.platforms.push_back(std::move(p));
  request.points = o.journal.plan();
  predict::Matrix matrix;
  WEFT_TRY(run_with_progress(std::move(request), "bisect", o.common, matrix));
  if (matrix.points.interrupted) return interrupted("interrupted between two values of " + flip.key);
  const auto& result = matrix.runs.front().result;
  const predict::RunFacts& facts = matrix.runs.front().facts;
  if (!result.finished) return std::optional<double>();
  if (const std::string wrong = facts.verified ? facts.verified->finding() : ""; !wrong.empty())
    return Error{ErrorCode::kFinding,
                 flip.trace,
                 fmt::format("on {} with {}={}: {}",
                             platform == flip.faster_before ? flip.called_before : flip.called_after,
                             flip.key, value, wrong),
                 {},
                 {}};
  return std::optional<double>(to_seconds(result.makespan));
}

// Places of flips by replays. What ends it early leaves the others interpolated.
Result<void> bisect(const Options& o, std::vector<report::Flip>& flips) {
  for (report::Flip& flip : flips)
    WEFT_TRY(report::refine_flip(flip, o.bisect, [&](const std::string& platform, const std::string& value) {
      return replay_between(o, flip, platform, value);
    }));
  return {};
}

// Values of an axis, of which no two may be one: equal as texts, or as quantities of one kind.
class SeenValues {
 public:
  // False: it was there.
  [[nodiscard]] bool add(const std::string& text) {
    using Kind = report::AxisValue::Kind;
    if (!texts_.insert(text).second) return false;
    const auto v = report::parse_axis_value(text);
    if (!v) return true;
    // 1 and 1.5 are both plain numbers; 0, 0us and 0B are one value.
    const bool plain = v->kind == Kind::kWholeNumber || v->value == 0;
    return quantities_.emplace(plain ? Kind::kNumber : v->kind, v->value).second;
  }

 private:
  std::set<std::string> texts_;
  std::set<std::pair<report::AxisValue::Kind, double>> quantities_;
};

// "bw=25Gbps,50Gbps": a comma separates the values to try, but not within quotes, which go.
Result<report::SweepAxis> parse_axis(const std::string& text) {
  const auto eq = text.find('=');
  if (eq == std::string::npos || eq == 0)
    return usage_error("--set without \"=\"", text, "KEY=VALUE,VALUE...");
  report::SweepAxis axis{text.substr(0, eq), {}};
  SeenValues seen;
  std::string value;
  bool quoted = false;
  for (std::size_t i = eq + 1; i <= text.size(); ++i) {
    if (i < text.size() && text[i] == '"') {
      quoted = !quoted;
      continue;
    }
    if (i < text.size() && (quoted || text[i] != ',')) {
      value += text[i];
      continue;
    }
    if (quoted) return usage_error("--set with a quote that is not closed", text, "KEY=\"VALUE\",VALUE...");
    if (value.empty()) return usage_error("--set with an empty value", text, "KEY=VALUE,VALUE...");
    if (!seen.add(value)) return usage_error("--set with a value twice", text, fmt::format("{} once", value));
    axis.values.push_back(std::move(value));
    value.clear();
  }
  return axis;
}

Result<void> run(Options& o) {
  std::vector<report::SweepAxis> axes;
  std::size_t combinations = 1;
  for (const auto& text : o.flags.set) {
    WEFT_ASSIGN(auto axis, parse_axis(text));
    for (const auto& other : axes)
      if (topology::setting_name(other.key) == topology::setting_name(axis.key))
        return usage_error("--set twice for one key", text, "all values in one --set");
    combinations *= axis.values.size();
    if (combinations > kMaxCombinations)
      return usage_error("too many combinations of values", std::to_string(combinations), "at most 100000");
    axes.push_back(std::move(axis));
  }
  if (axes.empty()) return usage_error("nothing to sweep", {}, "--set KEY=VALUE,VALUE...");
  // Without a ranking that may flip from one value to the next there is no place to narrow down.
  if (o.bisect > 0 && (combinations == 1 || o.matrix.on.size() == 1))
    WEFT_TRY(refuse_unused(*o.common.app, {"--bisect"},
                           combinations == 1 ? "sweep of one value" : "sweep on one platform",
                           combinations == 1 ? "--set KEY=VALUE,VALUE..." : "--on PLATFORM twice or more"));

  if (o.bisect > 0 && o.journal.asks_for_part())
    return not_supported("--bisect in shards, as it needs the points of all of them",
                         "--journal without --shard, in one process or several");

  // Every row shows what --set says there.
  ReplayFlags told = o.flags;
  told.set.clear();
  WEFT_ASSIGN(predict::MatrixRequest request, matrix_request(o.matrix, o.flags, o.common, told));
  std::vector<std::vector<std::size_t>> choices;  // by platform of the request
  for (std::size_t n = 0; n < combinations; ++n) {
    std::vector<std::size_t> choice(axes.size());
    std::size_t rest = n;
    for (std::size_t k = axes.size(); k-- > 0;) {
      choice[k] = rest % axes[k].values.size();
      rest /= axes[k].values.size();
    }
    for (const auto& spec : o.matrix.on) {
      request.platforms.push_back({spec, o.flags.changes(o.common.seed)});
      auto& set = request.platforms.back().changes.set;
      set.clear();
      for (std::size_t k = 0; k < axes.size(); ++k)
        set.push_back(axes[k].key + "=" + axes[k].values[choice[k]]);
      choices.push_back(choice);
    }
  }
  WEFT_TRY(o.journal.open(o.common, o.report.wanted()));
  request.points = o.journal.plan();
  predict::Matrix matrix;
  WEFT_TRY(run_with_progress(request, "sweep", o.common, matrix));
  std::string stopped = o.journal.stopped(matrix.points);
  if (o.journal.silent()) {
    o.common.print(o.journal.shard_text(matrix.points));
    if (!stopped.empty()) return interrupted(stopped);
    return {};
  }
  std::vector<report::SweepRun> runs;
  for (const predict::MatrixRun& r : matrix.runs)
    if (r.done) runs.push_back({r.facts, request.platforms[r.platform].spec, choices[r.platform]});
  auto sweep = report::sweep_runs(axes, runs, o.matrix.critical_path, stopped.empty());
  std::optional<Error> ended;
  if (!stopped.empty()) {
    ended = interrupted(stopped);
  } else if (auto bisected = bisect(o, sweep.flips); !bisected) {
    // An interrupt or a finding: all rows are there and are told.
    if (bisected.error().code != ErrorCode::kFinding) return bisected;
    ended = std::move(bisected).error();
    stopped = ended->what;
  }
  o.common.print(report::sweep_text(sweep, text_width()));
  if (!o.common.json.empty()) WEFT_TRY(o.common.write_json(report::sweep_json(sweep, stopped)));
  if (!o.common.csv.empty()) WEFT_TRY(o.common.write_csv(report::sweep_csv(sweep)));
  if (o.report.wanted())
    WEFT_TRY(o.report.write(
        report::page_of_document("sweep", report::sweep_answers(sweep), report::sweep_json(sweep, stopped))));
  if (ended) return *std::move(ended);
  for (const auto& [row, set] : sweep.rows)
    if (!row.error.empty()) {
      Error found = row.finding();
      for (const auto& [key, value] : set) found.what = fmt::format("{}={} {}", key, value, found.what);
      return found;
    }
  return {};
}

}  // namespace

Action setup(CLI::App& app) {
  auto o = std::make_shared<Options>();
  o->matrix.add(app);
  o->flags.add(app);
  app.get_option("--set")->description(
      "values of a platform key to try, comma between them, a value with commas in quotes; once for each "
      "key");
  app.add_option(
         "--bisect", o->bisect,
         with_default(
             "where the ranking flips between two values, narrow the place down by N bisections, two replays "
             "each; without it the place is interpolated",
             o->bisect))
      ->transform(count(0, 60))
      ->type_name("N");
  o->journal.add(app);
  o->report.add(app, o->common);
  add_common(app, o->common);
  return with_outputs(o->common, [o] { return run(*o); });
}

}  // namespace weft::cli::verb_sweep
