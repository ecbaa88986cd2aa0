// weft compare T... --on P...: every trace x platform x map x routing, each run with a reader and an engine
// of its own, several at once with --threads. What comes out does not depend on how many.
#include <algorithm>
#include <atomic>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "cli/replay_flags.hpp"
#include "cli/verb.hpp"
#include "report/compare.hpp"

namespace weft::cli {
namespace {

struct Options {
  CommonOptions common;
  ReplayFlags flags;
  std::vector<std::string> traces;
  std::vector<std::string> on;
  std::vector<std::string> maps;
  std::vector<std::string> routings;  // empty: each platform's own
};

struct Run {
  std::string trace;
  std::size_t platform = 0;
  std::string map;
  report::RunFacts facts;
  replay::ReplayResult result;
  std::optional<Error> error;
};

Result<void> replay_one(const Options& o, const topology::Platform& platform,
                        const replay::ReplayOptions& options,
                        const std::function<void(std::uint64_t)>& on_done, Run& run) {
  WEFT_ASSIGN(auto trace, traces::open_trace({run.trace}, o.flags.from));
  const std::uint32_t ranks = trace->header().ranks;
  WEFT_ASSIGN(const auto placement, topology::place_ranks(platform, ranks, run.map, o.common.seed));
  auto mine = options;
  std::uint64_t counted = 0;
  mine.on_progress = [&](std::uint64_t done, std::uint64_t) {
    on_done(done - counted);
    counted = done;
  };
  WEFT_ASSIGN(run.result, replay::replay(*trace, platform, placement, mine));
  on_done(trace->totals().ops - std::min(counted, trace->totals().ops));
  run.facts.trace = run.trace;
  run.facts.map = run.map;
  run.facts.routing = std::string(platform.fabric.routing().name());
  run.facts.ranks = ranks;
  run.facts.totals = trace->totals();
  run.facts.platform = &platform;
  run.facts.options = &options;
  run.facts.result = &run.result;
  return {};
}

Result<void> run(const Options& o) {
  WEFT_ASSIGN(const auto options, o.flags.options(o.common.seed));
  std::vector<topology::Platform> platforms;
  const std::vector<std::string> own{""};
  for (const auto& spec : o.on)
    for (const auto& routing : o.routings.empty() ? own : o.routings) {
      auto set = o.flags.set;
      if (!routing.empty()) set.push_back("routing=" + routing);
      WEFT_ASSIGN(auto platform, topology::load_platform(spec, set));
      platforms.push_back(std::move(platform));
    }
  const std::vector<std::string> maps = o.maps.empty() ? std::vector<std::string>{"block"} : o.maps;
  std::vector<Run> runs;
  std::uint64_t total_ops = 0;
  for (const auto& path : o.traces) {
    WEFT_ASSIGN(const auto trace, traces::open_trace({path}, o.flags.from));
    total_ops += trace->totals().ops * platforms.size() * maps.size();
    for (std::size_t p = 0; p < platforms.size(); ++p)
      for (const auto& map : maps) {
        // Whether every rank finds a place is said before the first long run.
        WEFT_TRY(topology::place_ranks(platforms[p], trace->header().ranks, map, o.common.seed));
        runs.emplace_back();
        runs.back().trace = path;
        runs.back().platform = p;
        runs.back().map = map;
      }
  }

  Progress progress(o.common.progress_mode(), "compare", total_ops, "ops");
  std::mutex progress_mutex;
  std::uint64_t done_ops = 0;
  const auto on_done = [&](std::uint64_t ops) {
    const std::lock_guard lock(progress_mutex);
    done_ops += ops;
    progress.update(done_ops);
  };
  std::atomic<std::size_t> next{0};
  std::atomic<bool> failed{false};
  std::vector<std::exception_ptr> thrown(runs.size());
  const auto work = [&] {
    for (std::size_t i = next++; i < runs.size() && !failed; i = next++) {
      try {
        if (auto r = replay_one(o, platforms[runs[i].platform], options, on_done, runs[i]); !r) {
          runs[i].error = std::move(r.error());
          failed = true;
        }
      } catch (...) {
        thrown[i] = std::current_exception();
        failed = true;
      }
    }
  };
  std::vector<std::thread> workers;
  const std::size_t threads = std::min<std::size_t>(o.common.threads, runs.size());
  for (std::size_t t = 1; t < threads; ++t) workers.emplace_back(work);
  work();
  for (auto& w : workers) w.join();
  progress.finish();
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (thrown[i]) std::rethrow_exception(thrown[i]);
    if (runs[i].error) return std::move(*runs[i].error);
  }

  std::vector<report::RunFacts> facts;
  for (const Run& r : runs) facts.push_back(r.facts);
  const auto rows = report::rank_runs(facts);
  o.common.print(report::compare_text(rows));
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
  app.add_option("TRACE", o->traces, "traces, one file or folder each")->required();
  app.add_option("--on", o->on, "platform; give the flag once for each")
      ->type_name("PLATFORM")
      ->required()
      ->allow_extra_args(false);
  app.add_option("--map", o->maps, "placement, once for each: block, cyclic, random, file:PATH [block]")
      ->type_name("MAP")
      ->allow_extra_args(false);
  app.add_option("--routing", o->routings, "routing, once for each; every platform must know it [its own]")
      ->type_name("NAME")
      ->allow_extra_args(false);
  o->flags.add(app);
  add_common(app, o->common);
  return [o] { return run(*o); };
}

}  // namespace weft::cli
