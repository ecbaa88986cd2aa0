// Several traces as one: jobs that run side by side on one machine.
//
// Ranks of the k-th job follow those of the jobs before it. Every job keeps a world of its own, so its messages, its
// wildcard receives and its collectives meet only each other; communicator 0, all ranks, is used by nobody. Region
// names get "<label>: " in front. Operations are changed as they are read; nothing is kept. Positions are the jobs'
// own.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "traces/trace.hpp"

namespace weft::traces {

struct JobTrace {
  std::string label;  // in names of communicators and regions
  std::unique_ptr<TraceReader> reader;
};

class JoinedTrace final : public TraceReader {
 public:
  // `mpi_version`: that of the header, by whose library's rules the collectives of all jobs go.
  // Errors: more than 2^24 ranks or 2^26 communicator members in all. Precondition: at least one job.
  [[nodiscard]] static Result<std::unique_ptr<JoinedTrace>> join(std::vector<JobTrace> jobs,
                                                                 std::string mpi_version = {});

  [[nodiscard]] std::size_t jobs() const { return jobs_.size(); }
  [[nodiscard]] std::uint32_t first_rank(std::size_t job) const { return jobs_[job].first_rank; }
  [[nodiscard]] TraceReader& job(std::size_t job) { return *jobs_[job].trace.reader; }

  const TraceHeader& header() const override { return header_; }
  const TraceTotals& totals() const override { return totals_; }
  const std::vector<Communicator>& communicators() const override { return communicators_; }
  const std::vector<std::string>& regions() const override { return regions_; }
  std::uint64_t ops_of(RankId rank) const override;
  Result<bool> next_block(RankId rank, OpBlock& out) override;
  void rewind() override;
  std::string position(RankId rank, std::uint64_t index) const override;

 private:
  struct Job {
    JobTrace trace;
    std::uint32_t first_rank = 0;
    std::uint32_t first_comm = 0;  // id of its world
    std::uint32_t first_region = 0;
  };
  JoinedTrace() = default;
  [[nodiscard]] const Job& job_of(RankId rank) const;

  std::vector<Job> jobs_;
  TraceHeader header_;
  TraceTotals totals_;
  std::vector<Communicator> communicators_;
  std::vector<std::string> regions_;
};

}  // namespace weft::traces
