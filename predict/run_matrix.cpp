#include "predict/run_matrix.hpp"

#include <algorithm>
#include <mutex>

#include "topology/placement/placement.hpp"

namespace weft::predict {
namespace {

using OnDone = std::function<void(std::uint64_t)>;

Result<void> replay_one(const MatrixRequest& request, const Matrix& matrix, const OnDone& on_done,
                        std::size_t index, MatrixRun& run) {
  const topology::Platform& platform = matrix.platforms[run.platform];
  WEFT_ASSIGN(auto trace, traces::open_trace({run.trace}, request.format));
  const std::uint32_t ranks = trace->header().ranks;
  WEFT_ASSIGN(const auto placement, topology::place(platform, ranks, run.map, request.seed));
  auto mine = matrix.options;
  PairTraffic traffic;
  mine.on_message = [&traffic](const replay::MessageSeen& m) { traffic.add(m.src, m.dst, Bytes(m.bytes)); };
  if (request.on_start) request.on_start({index, *trace, platform, placement.hosts}, mine);
  std::uint64_t counted = 0;
  mine.on_progress = [&](std::uint64_t done, std::uint64_t) {
    on_done(done - std::min(counted, done));
    counted = std::max(counted, done);
  };
  WEFT_ASSIGN(run.result, replay::replay(*trace, platform, placement.hosts, mine));
  if (request.ideal && run.result.finished) {
    trace->rewind();
    auto without = matrix.options;
    without.ideal_network = true;
    without.critical_path = false;
    WEFT_ASSIGN(const auto ideal, replay::replay(*trace, platform, placement.hosts, without));
    if (ideal.finished) run.facts.ideal = ideal.makespan;
  }
  run.result.warnings.insert(run.result.warnings.end(), placement.notes.begin(), placement.notes.end());
  on_done(trace->totals().ops - std::min(counted, trace->totals().ops));
  run.facts.trace = run.trace;
  run.facts.map = run.map;
  run.facts.routing = std::string(platform.fabric.routing().name());
  run.facts.changes = request.changes;
  run.facts.ranks = ranks;
  run.facts.totals = trace->totals();
  run.facts.platform = &platform;
  run.facts.options = &matrix.options;
  run.facts.result = &run.result;
  if (const auto worst = busiest_links(run.facts, 1); !worst.empty())
    run.facts.worst_link_sharers = traffic.sharers_of(worst.front(), platform.fabric, placement.hosts);
  if (!request.on_end) return {};
  trace->rewind();
  return request.on_end(index, *trace, run.facts);
}

}  // namespace

std::vector<RunFacts> Matrix::facts() const {
  std::vector<RunFacts> out;
  for (const MatrixRun& r : runs) out.push_back(r.facts);
  return out;
}

Result<void> run_matrix(const MatrixRequest& request, Matrix& out) {
  out.options = request.options;
  for (const PlatformRequest& p : request.platforms) {
    WEFT_ASSIGN(auto platform, topology::load_platform(p.spec, p.changes));
    out.platforms.push_back(std::move(platform));
  }
  const std::vector<std::string> maps =
      request.maps.empty() ? std::vector<std::string>{"block"} : request.maps;
  std::uint64_t total_ops = 0;
  for (const auto& path : request.traces) {
    WEFT_ASSIGN(const auto trace, traces::open_trace({path}, request.format));
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
  return run_parallel(
      out.runs.size(), request.threads,
      [&](std::size_t i) { return replay_one(request, out, on_done, i, out.runs[i]); },
      request.on_fewer_threads);
}

}  // namespace weft::predict
