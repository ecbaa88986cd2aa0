#include "predict/run_matrix.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>

#include "core/progress.hpp"
#include "predict/interrupted.hpp"
#include "predict/journal/run_point.hpp"
#include "topology/placement/placement.hpp"

namespace weft::predict {
namespace {

using OnDone = std::function<void(std::uint64_t)>;

// What a trace says of itself.
struct TraceFacts {
  std::uint32_t ranks = 0;
  traces::TraceTotals totals;
  std::string digest;  // with a journal
};

void fill_facts(const MatrixRequest& request, const Matrix& matrix, const TraceFacts& trace, MatrixRun& run) {
  const topology::Platform& platform = matrix.platforms[run.platform];
  run.facts.trace = run.trace;
  run.facts.map = run.map;
  run.facts.routing = std::string(platform.fabric.routing().name());
  run.facts.changes = request.changes;
  run.facts.ranks = trace.ranks;
  run.facts.totals = trace.totals;
  run.facts.platform = &platform;
  run.facts.options = &matrix.options;
  run.facts.result = &run.result;
}

// With its memory: v = {} keeps the capacity of a vector.
template <class T>
void drop(T& what) {
  what = T();
}

void drop_all_but(KeptOfRuns kept, replay::ReplayResult& r) {
  if (kept == KeptOfRuns::kAll) return;
  drop(r.path.segments);
  drop(r.wait_states);
  if (kept == KeptOfRuns::kRanksAndLinks) return;
  drop(r.ranks);
  drop(r.links);
  drop(r.regions);
}

Result<void> replay_one(const MatrixRequest& request, const Matrix& matrix, const OnDone& on_done,
                        std::size_t index, MatrixRun& run) {
  const topology::Platform& platform = matrix.platforms[run.platform];
  WEFT_ASSIGN(auto trace, traces::open_trace({run.trace}, request.format));
  const std::uint32_t ranks = trace->header().ranks;
  WEFT_ASSIGN(const auto placement, topology::place(platform, ranks, run.map, request.seed));
  auto mine = matrix.options;
  PairTraffic traffic;
  mine.on_message = [&traffic, header = mine.header](const replay::MessageSeen& m) {
    traffic.add(m.src, m.dst, Bytes(m.bytes) + header);  // what crosses links
  };
  mine.on_copy = [&traffic](const replay::CopySeen& c) { traffic.add_copy(c.from, c.to, Bytes(c.bytes)); };
  mine.on_again = [&traffic] { traffic = PairTraffic(); };
  if (request.on_start) request.on_start({index, *trace, platform, placement.hosts}, mine);
  Furthest counted;
  const std::atomic<bool>* stop = request.points.stop;
  mine.on_progress = [&](std::uint64_t done, std::uint64_t) {
    if (stop != nullptr && stop->load(std::memory_order_relaxed)) throw Interrupted();
    on_done(counted.more(done));
  };
  auto result = request.verify ? replay::replay_verified(*trace, platform, placement.hosts, mine,
                                                         run.facts.verified.emplace())
                               : replay::replay(*trace, platform, placement.hosts, mine);
  if (!result && result.error().where.empty())
    result.error().where = fmt::format("{} on {}", run.trace, platform_label(platform));
  WEFT_ASSIGN(run.result, std::move(result));
  if (request.ideal && run.result.ideal.known) {
    run.facts.ideal = run.result.ideal.makespan;
  } else if (request.ideal && run.result.finished) {
    trace->rewind();
    auto without = matrix.options;
    without.ideal_network = true;
    without.critical_path = false;
    WEFT_ASSIGN(const auto ideal, replay::replay(*trace, platform, placement.hosts, without));
    if (ideal.finished) run.facts.ideal = ideal.makespan;
  }
  run.result.warnings.insert(run.result.warnings.end(), placement.notes.begin(), placement.notes.end());
  on_done(counted.more(trace->totals().ops));
  fill_facts(request, matrix, {ranks, trace->totals(), {}}, run);
  if (const auto worst = busiest_links(run.facts, 1); !worst.empty())
    run.facts.worst_link_sharers = traffic.sharers_of(worst.front(), platform.fabric, placement.hosts);
  if (request.kept != KeptOfRuns::kAll) run.facts.digest = digest_of(run.facts);
  if (request.on_end) {
    trace->rewind();
    WEFT_TRY(request.on_end(index, *trace, run.facts));
  }
  drop_all_but(request.kept, run.result);
  return {};
}

// The runs as points: by what, and by what their results depend on.
std::vector<Point> points_of(const MatrixRequest& request, const Matrix& matrix,
                             const std::map<std::string, TraceFacts>& by_path) {
  Journal& journal = *request.points.journal;
  std::vector<Point> out;
  for (const MatrixRun& run : matrix.runs) {
    const PlatformRequest& platform = request.platforms[run.platform];
    const TraceFacts& trace = by_path.at(run.trace);
    KeyMaker key("run/2", journal.version(), journal.files());
    key.add("trace", run.trace).add("content", trace.digest).add("format", request.format);
    add_platform(key, platform.spec, platform.changes);
    key.add_map(run.map).add("placement_seed", request.seed);
    add_options(key, request.options);
    key.add("ideal", std::uint64_t{request.ideal});
    if (request.verify) key.add("verify", std::uint64_t{1});
    std::string what =
        fmt::format("{} on {}", short_path(run.trace), platform_label(matrix.platforms[run.platform]));
    for (const std::string& set : platform.changes.set) what += " " + set;
    if (!platform.changes.routing.empty()) what += " routing " + platform.changes.routing;
    out.push_back({key.key(), what + " map " + run.map, static_cast<double>(trace.totals.ops)});
  }
  return out;
}

Result<void> run_with_journal(const MatrixRequest& request, const OnDone& on_done,
                              const std::map<std::string, TraceFacts>& by_path, Matrix& out) {
  WEFT_CHECK(!request.on_start && !request.on_end, "runs that a journal holds are not seen");
  for (MatrixRun& run : out.runs) run.done = false;
  PointsWork work;
  std::vector<std::uint8_t> ran(out.runs.size(), 0);
  work.run = [&](std::size_t i) -> Result<Json> {
    MatrixRun run;
    run.trace = out.runs[i].trace;
    run.platform = out.runs[i].platform;
    run.map = out.runs[i].map;
    ran[i] = 1;
    try {
      WEFT_TRY(replay_one(request, out, on_done, i, run));
    } catch (const Interrupted&) {
      return Error{ErrorCode::kFinding, run.trace, "interrupted", {}, {}};
    }
    return run_point_json(run.facts);
  };
  work.take = [&](std::size_t i, const Json& json) {
    auto point = run_point_of(json);
    MatrixRun& run = out.runs[i];
    const auto links = out.platforms[run.platform].fabric.link_count();
    if (!point) return false;
    const LinkId on_path = point->digest.path ? point->digest.path->most_contended : LinkId();
    for (const LinkId l : {point->digest.worst.link, point->digest.most_waited.link, on_path})
      if (l.valid() && l.index() >= links) return false;
    if (request.verify != point->verified.has_value()) return false;
    if (request.options.critical_path && point->result.finished && !point->digest.path) return false;
    const TraceFacts& trace = by_path.at(run.trace);
    if (ran[i] == 0) on_done(trace.totals.ops);
    run.result = std::move(point->result);
    fill_facts(request, out, trace, run);
    run.facts.digest = point->digest;
    run.facts.worst_link_sharers = std::move(point->sharers);
    run.facts.ideal = point->ideal;
    run.facts.verified = std::move(point->verified);
    run.done = true;
    return true;
  };
  WEFT_ASSIGN(out.points, run_points(points_of(request, out, by_path), request.points, request.threads, work,
                                     request.on_fewer_threads));
  return {};
}

}  // namespace

std::vector<RunFacts> Matrix::facts() const {
  std::vector<RunFacts> out;
  for (const MatrixRun& r : runs)
    if (r.done) out.push_back(r.facts);
  return out;
}

Result<void> run_matrix(const MatrixRequest& request, Matrix& out) {
  out.options = request.options;
  // Before anything is read: a file that is not the same afterwards is then seen to have changed.
  FileDigests* files = request.points.journal != nullptr ? &request.points.journal->files() : nullptr;
  if (files != nullptr)
    for (const auto& path : request.traces)
      for (const std::string& file : traces::trace_files({path}, request.format)) files->watch(file);
  for (const PlatformRequest& p : request.platforms) {
    if (files != nullptr) (void)files->of_platform(p.spec, p.changes);
    WEFT_ASSIGN(auto platform, topology::load_platform(p.spec, p.changes));
    for (std::size_t i = 0; i < out.platforms.size(); ++i) {
      const PlatformRequest& other = request.platforms[i];
      if (other.changes.routing == p.changes.routing && other.changes.set == p.changes.set)
        WEFT_TRY(told_apart(other.spec, out.platforms[i], p.spec, platform));
    }
    out.platforms.push_back(std::move(platform));
  }
  const std::vector<std::string> maps =
      request.maps.empty() ? std::vector{std::string(topology::kDefaultMap)} : request.maps;
  std::uint64_t total_ops = 0;
  std::map<std::string, TraceFacts> by_path;
  for (const auto& path : request.traces) {
    WEFT_ASSIGN(const auto trace, traces::open_trace({path}, request.format));
    TraceFacts& known = by_path[path];
    known.ranks = trace->header().ranks;
    known.totals = trace->totals();
    total_ops += trace->totals().ops * out.platforms.size() * maps.size();
    for (std::size_t p = 0; p < out.platforms.size(); ++p)
      for (const auto& map : maps) {
        // Whether every rank finds a place is said before the first long run.
        WEFT_TRY(topology::place_ranks(out.platforms[p], trace->header().ranks, map, request.seed));
        out.runs.emplace_back();
        out.runs.back().trace = path;
        out.runs.back().platform = p;
        out.runs.back().map = map;
      }
  }

  std::mutex progress_mutex;
  std::uint64_t done_ops = 0;
  const OnDone on_done = [&](std::uint64_t ops) {
    if (!request.on_progress) return;
    const std::lock_guard lock(progress_mutex);
    done_ops += ops;
    request.on_progress(done_ops, total_ops);
  };
  if (files != nullptr) {
    for (auto& [path, known] : by_path) {
      WEFT_ASSIGN(const auto trace, traces::open_trace({path}, request.format));
      WEFT_ASSIGN(known.digest, trace_digest(*trace));
    }
    return run_with_journal(request, on_done, by_path, out);
  }
  return run_parallel(
      out.runs.size(), request.threads,
      [&](std::size_t i) { return replay_one(request, out, on_done, i, out.runs[i]); },
      request.on_fewer_threads);
}

}  // namespace weft::predict
