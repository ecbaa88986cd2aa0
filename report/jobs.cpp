#include "report/jobs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>

#include "core/quantity_text.hpp"
#include "report/names.hpp"
#include "report/replay_json.hpp"
#include "report/table.hpp"

namespace weft::report {
namespace {

constexpr std::size_t kSharedLinksShown = 5;

// A job's bytes on a link are those of its run alone, which takes the same ways only where routes are those of pairs.
bool ways_are_known(const predict::RunFacts& together) {
  return together.platform->fabric.routing().scope() == topology::RouteScope::kPair;
}

// The most used links that more than one job crosses, or all of them.
std::vector<LinkId> shared_links(const predict::RunFacts& together, const std::vector<JobFacts>& jobs,
                                 std::size_t most, bool all) {
  std::vector<LinkId> out;
  for (const LinkId l : predict::busiest_links(together, together.result->links.size())) {
    if (out.size() == most && !all) break;
    const auto users = std::count_if(jobs.begin(), jobs.end(),
                                     [&](const JobFacts& j) { return j.alone->links[l.index()].bytes > 0; });
    if (users > 1) out.push_back(l);
  }
  return out;
}

// Ranks of it wait forever beside the others.
bool hangs(const predict::RunFacts& together, const JobFacts& job) {
  return std::ranges::any_of(together.result->deadlock.blocked, [&](const replay::BlockedRank& b) {
    return b.rank.index() >= job.first_rank && b.rank.index() - job.first_rank < job.ranks;
  });
}

std::string time_text(bool hangs, Duration time) { return hangs ? "deadlock" : show(time); }

}  // namespace

Duration job_makespan(const predict::RunFacts& together, const JobFacts& job) {
  Duration last{0};
  for (std::uint32_t r = job.first_rank; r < job.first_rank + job.ranks; ++r)
    last = std::max(last, together.result->ranks[r].finish);
  return last;
}

std::optional<double> job_slowdown(const predict::RunFacts& together, const JobFacts& job) {
  if (hangs(together, job) || !job.alone->finished) return std::nullopt;
  const Duration beside = job_makespan(together, job);
  if (beside == job.alone->makespan) return 1;
  if (job.alone->makespan == Duration(0)) return std::nullopt;
  return to_seconds(beside) / to_seconds(job.alone->makespan);
}

void add_jobs_json(nlohmann::ordered_json& replay, const predict::RunFacts& together,
                   const std::vector<JobFacts>& jobs, bool all_links) {
  using Json = nlohmann::ordered_json;
  Json list = Json::array();
  for (const JobFacts& j : jobs) {
    const auto slowdown = job_slowdown(together, j);
    list.push_back(Json{{"trace", j.trace},
                        {"map", j.map},
                        {"first_rank", j.first_rank},
                        {"ranks", j.ranks},
                        {"hosts", j.hosts},
                        {"makespan_s", to_seconds(job_makespan(together, j))},
                        {"alone_s", to_seconds(j.alone->makespan)},
                        {"slowdown", slowdown ? Json(*slowdown) : Json(nullptr)}});
  }
  replay["jobs"] = std::move(list);
  if (!ways_are_known(together)) {
    replay["shared_links"] = nullptr;
    return;
  }
  Json links = Json::array();
  for (const LinkId l : shared_links(together, jobs, kTopLinks, all_links)) {
    Json by_job = Json::array();
    for (const JobFacts& j : jobs) by_job.push_back(j.alone->links[l.index()].bytes);
    links.push_back(Json{{"name", together.platform->fabric.link_name(l)},
                         {"utilization", predict::utilization(together, l)},
                         {"bytes", together.result->links[l.index()].bytes},
                         {"by_job", std::move(by_job)}});
  }
  replay["shared_links"] = std::move(links);
}

std::string jobs_text(const predict::RunFacts& together, const std::vector<JobFacts>& jobs, bool all_links,
                      std::size_t width) {
  Table table({{"job", Table::Align::kLeft},
               {"map", Table::Align::kLeft},
               {"ranks"},
               {"hosts"},
               {"time"},
               {"alone"},
               {"slowdown"}});
  TraceNames traces;
  for (const JobFacts& j : jobs) traces.add(j.trace);
  for (const JobFacts& j : jobs) {
    const auto slowdown = job_slowdown(together, j);
    table.add({traces.of(j.trace), j.map, std::to_string(j.ranks), std::to_string(j.hosts),
               time_text(hangs(together, j), job_makespan(together, j)),
               time_text(!j.alone->finished, j.alone->makespan),
               slowdown ? fmt::format("{:.3f}", *slowdown) : "-"});
  }
  std::string out = table.text(width);
  if (!ways_are_known(together))
    return out + "which links the jobs share is not told: their messages choose ways one by one\n";
  const auto links = shared_links(together, jobs, kSharedLinksShown, all_links);
  if (links.empty()) return out + "no link is used by more than one job\n";
  std::vector<Table::Column> columns{{"links of several jobs", Table::Align::kLeft}, {"used"}};
  for (std::size_t k = 0; k < jobs.size(); ++k) columns.push_back({fmt::format("bytes of job {}", k + 1)});
  Table shared(std::move(columns));
  for (const LinkId l : links) {
    std::vector<std::string> cells{together.platform->fabric.link_name(l),
                                   show_percent(predict::utilization(together, l))};
    for (const JobFacts& j : jobs) cells.push_back(show_bytes(j.alone->links[l.index()].bytes));
    shared.add(std::move(cells));
  }
  return out + "\n" + shared.text(width);
}

}  // namespace weft::report
