// Several jobs on one fabric: how much each is slowed down by the others, and on which links they meet.
//
// Each job was replayed alone on the very hosts that it has beside the others, so the two times differ by the others'
// traffic only. What a job puts on a link is taken from its run alone: routes do not depend on the other jobs (with an
// adaptive routing they may, and then the shares are those of the quiet machine).
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "predict/run_facts.hpp"
#include "report/table.hpp"

namespace weft::report {

struct JobFacts {
  std::string trace, map;
  std::uint32_t first_rank = 0, ranks = 0;
  std::uint32_t hosts = 0;                      // that it occupies
  const replay::ReplayResult* alone = nullptr;  // borrowed
};

// Time of the job beside the others: when the last of its ranks finished, or, of ranks that wait forever, when nothing
// happened any more.
[[nodiscard]] Duration job_makespan(const predict::RunFacts& together, const JobFacts& job);
// makespan beside the others / alone; 1 if both are 0. Nothing if only the other is, and of a job that hangs, beside
// the others or alone: it has no time.
[[nodiscard]] std::optional<double> job_slowdown(const predict::RunFacts& together, const JobFacts& job);

// "jobs": [{trace, map, first_rank, ranks, hosts, makespan_s, alone_s, slowdown}...] and
// "shared_links": [{name, utilization, bytes, by_job: [bytes...]}...], the 20 most used that more than one job crosses,
// or all of them; null where messages choose their ways one by one.
void add_jobs_json(nlohmann::ordered_json& replay, const predict::RunFacts& together,
                   const std::vector<JobFacts>& jobs, bool all_links);
// The same as tables, with 5 links or all of them.
[[nodiscard]] std::string jobs_text(const predict::RunFacts& together, const std::vector<JobFacts>& jobs,
                                    bool all_links, std::size_t width = kNoWidth);

}  // namespace weft::report
