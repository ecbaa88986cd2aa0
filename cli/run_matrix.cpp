#include "cli/run_matrix.hpp"

#include <algorithm>
#include <mutex>

#include "cli/parallel.hpp"
#include "topology/placement.hpp"

namespace weft::cli {
namespace {

using OnDone = std::function<void(std::uint64_t)>;

Result<void> replay_one(const ReplayFlags& flags, std::uint64_t seed, const Matrix& matrix,
                        const OnDone& on_done, const std::vector<std::string>& changes, MatrixRun& run) {
  const topology::Platform& platform = matrix.platforms[run.platform];
  WEFT_ASSIGN(auto trace, traces::open_trace({run.trace}, flags.from));
  const std::uint32_t ranks = trace->header().ranks;
  WEFT_ASSIGN(const auto placement, topology::place(platform, ranks, run.map, seed));
  auto mine = matrix.options;
  report::PairTraffic traffic;
  mine.on_message = [&traffic](const replay::MessageSeen& m) { traffic.add(m.src, m.dst, Bytes(m.bytes)); };
  std::uint64_t counted = 0;
  mine.on_progress = [&](std::uint64_t done, std::uint64_t) {
    on_done(done - std::min(counted, done));
    counted = std::max(counted, done);
  };
  WEFT_ASSIGN(run.result, replay::replay(*trace, platform, placement.hosts, mine));
  run.result.warnings.insert(run.result.warnings.end(), placement.notes.begin(), placement.notes.end());
  on_done(trace->totals().ops - std::min(counted, trace->totals().ops));
  run.facts.trace = run.trace;
  run.facts.map = run.map;
  run.facts.routing = std::string(platform.fabric.routing().name());
  run.facts.changes = changes;
  run.facts.ranks = ranks;
  run.facts.totals = trace->totals();
  run.facts.platform = &platform;
  run.facts.options = &matrix.options;
  run.facts.result = &run.result;
  if (const auto worst = report::busiest_links(run.facts, 1); !worst.empty())
    run.facts.worst_link_sharers = traffic.sharers_of(worst.front(), platform.fabric, placement.hosts);
  return {};
}

}  // namespace

std::vector<report::RunFacts> Matrix::facts() const {
  std::vector<report::RunFacts> out;
  for (const MatrixRun& r : runs) out.push_back(r.facts);
  return out;
}

Result<void> run_matrix(const MatrixRequest& request, const ReplayFlags& flags, const CommonOptions& common,
                        Matrix& out) {
  WEFT_ASSIGN(out.options, flags.options(common.seed));
  for (const auto& p : request.platforms) {
    PlatformFlags changes;
    changes.set = p.set;
    changes.fail = flags.fail;
    WEFT_ASSIGN(auto platform, topology::load_platform(p.spec, changes.overrides(common.seed)));
    out.platforms.push_back(std::move(platform));
  }
  const std::vector<std::string> maps =
      request.maps.empty() ? std::vector<std::string>{"block"} : request.maps;
  std::uint64_t total_ops = 0;
  for (const auto& path : request.traces) {
    WEFT_ASSIGN(const auto trace, traces::open_trace({path}, flags.from));
    total_ops += trace->totals().ops * out.platforms.size() * maps.size();
    for (std::size_t p = 0; p < out.platforms.size(); ++p)
      for (const auto& map : maps) {
        // Whether every rank finds a place is said before the first long run.
        WEFT_TRY(topology::place_ranks(out.platforms[p], trace->header().ranks, map, common.seed));
        out.runs.emplace_back();
        out.runs.back().trace = path;
        out.runs.back().platform = p;
        out.runs.back().map = map;
      }
  }

  Progress progress(common.progress_mode(), request.label, total_ops, "ops");
  // --set is in every row of a sweep and --routing in every row of a comparison.
  ReplayFlags flags_of_all = flags;
  if (request.sets_are_rows) flags_of_all.set.clear();
  const std::vector<std::string> changes = flags_of_all.told(common.seed);
  std::mutex progress_mutex;
  std::uint64_t done_ops = 0;
  const OnDone on_done = [&](std::uint64_t ops) {
    const std::lock_guard lock(progress_mutex);
    done_ops += ops;
    progress.update(done_ops);
  };
  auto done = run_parallel(out.runs.size(), common.threads, [&](std::size_t i) {
    return replay_one(flags, common.seed, out, on_done, changes, out.runs[i]);
  });
  progress.finish();
  return done;
}

void add_matrix_options(CLI::App& app, MatrixRequest& request, std::vector<std::string>& on) {
  app.add_option("TRACE", request.traces, "traces, one file or folder each")->required();
  app.add_option("--on", on, "platform; give the flag once for each")
      ->type_name("PLATFORM")
      ->required()
      ->allow_extra_args(false);
  app.add_option("--map", request.maps,
                 "placement, once for each: " + std::string(topology::kMaps) + " [block]")
      ->type_name("MAP")
      ->allow_extra_args(false);
}

}  // namespace weft::cli
