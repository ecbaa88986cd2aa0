// The result of one replay for machines: JSON ("weft.replay/1") and CSV.
//
// Keys are listed in docs/reports.md; more are added, none is renamed. Times in seconds, sizes in bytes, rates
// in bytes/s. Numbers are printed so that they read back exactly; the order of keys is fixed, so equal
// results are equal bytes (what is under "engine" about this machine excepted).
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "predict/run_facts.hpp"
#include "report/jobs.hpp"
#include "report/verification.hpp"

namespace weft::report {

struct ReplayJsonOptions {
  bool all_links = false;  // else the first 20 of link_order, and of those that several jobs cross
  predict::LinkOrder link_order = predict::LinkOrder::kUtilization;
  bool per_rank = false;                        // "ranks" even above 4096 of them
  const std::vector<JobFacts>* jobs = nullptr;  // several jobs on one fabric: adds "jobs" and "shared_links"
  const VerifiedRun* verified = nullptr;        // adds "verification"
  std::size_t most_segments = 10'000;           // of the critical path, the longest; 0: without them
  std::size_t most_delays = 10'000;             // of the wait states, the costliest
};
inline constexpr std::size_t kTopLinks = 20;
inline constexpr std::size_t kMaxListedRanks = 4096;

[[nodiscard]] nlohmann::ordered_json replay_document(const predict::RunFacts& run,
                                                     const ReplayJsonOptions& options);
// The same as text.
[[nodiscard]] std::string replay_json(const predict::RunFacts& run, const ReplayJsonOptions& options);
// One line per rank: rank,finish_s,compute_s,send_s,recv_s,wait_s,collective_s, then a column for each cause of time in
// MPI (replay::kCauseNames), and device_s where accelerators worked.
[[nodiscard]] std::string replay_csv(const replay::ReplayResult& result);

// Shared with compare.
[[nodiscard]] nlohmann::ordered_json deadlock_json(const replay::DeadlockReport& deadlock);
[[nodiscard]] nlohmann::ordered_json costs_json(const replay::MessageCosts& costs);

}  // namespace weft::report
