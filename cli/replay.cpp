// weft replay T... --on PLATFORM: one trace on one platform.
#include <chrono>
#include <memory>

#include "cli/replay_flags.hpp"
#include "cli/verb.hpp"
#include "report/replay_json.hpp"
#include "report/replay_text.hpp"

namespace weft::cli {
namespace {

struct Options {
  CommonOptions common;
  ReplayFlags flags;
  std::vector<std::string> traces;
  std::string on;
  std::string map = "block";
  bool all_links = false;
  bool per_rank = false;
};

Result<void> run(const Options& o) {
  WEFT_ASSIGN(auto options, o.flags.options(o.common.seed));
  WEFT_ASSIGN(auto trace, traces::open_trace(o.traces, o.flags.from));
  WEFT_ASSIGN(const auto platform, topology::load_platform(o.on, o.flags.overrides(o.common.seed)));
  const std::uint32_t ranks = trace->header().ranks;
  WEFT_ASSIGN(const auto placement, topology::place_ranks(platform, ranks, o.map, o.common.seed));

  Progress progress(o.common.progress_mode(), "replay", trace->totals().ops, "ops");
  options.on_progress = [&](std::uint64_t done, std::uint64_t) { progress.update(done); };
  const auto start = std::chrono::steady_clock::now();
  WEFT_ASSIGN(const auto result, replay::replay(*trace, platform, placement, options));
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
  progress.finish();

  report::RunFacts facts;
  facts.trace = o.traces.front();
  facts.map = o.map;
  facts.routing = std::string(platform.fabric.routing().name());
  facts.ranks = ranks;
  facts.totals = trace->totals();
  facts.platform = &platform;
  facts.options = &options;
  facts.result = &result;
  facts.wall_s = wall.count();
  facts.peak_rss_bytes = peak_rss_bytes();

  o.common.print(report::replay_text(facts, {o.all_links}));
  if (!o.common.json.empty())
    WEFT_TRY(o.common.write_json(report::replay_json(facts, {o.all_links, o.per_rank})));
  if (!o.common.csv.empty()) WEFT_TRY(o.common.write_csv(report::replay_csv(result)));
  if (!result.finished)
    return Error{ErrorCode::kFinding, o.traces.front(), result.deadlock.summary(), {}, {}};
  return {};
}

}  // namespace

Action setup_replay(CLI::App& app) {
  auto o = std::make_shared<Options>();
  app.add_option("TRACE", o->traces, "a trace: one file, or all files of a format with one file per rank")
      ->required();
  app.add_option("--on", o->on, "platform: .textproto file, built-in name or family:key=value,...")
      ->type_name("PLATFORM")
      ->required();
  app.add_option("--map", o->map, "which rank runs where: block, cyclic, random, file:PATH [block]")
      ->type_name("MAP");
  o->flags.add(app);
  o->flags.add_routing(app);
  app.add_flag("--all-links", o->all_links, "all links, not the most used ones");
  app.add_flag("--per-rank", o->per_rank, "times of every rank in the JSON, even of more than 4096");
  add_common(app, o->common);
  return [o] { return run(*o); };
}

}  // namespace weft::cli
