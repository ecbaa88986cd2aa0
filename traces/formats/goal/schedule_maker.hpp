// The program of one rank as a GOAL schedule: each operation starts when the program would have come to it.
//
// The program is a chain: an operation requires the one before, if the rank waits for that, or else that it has started
// (irequires); behind a wait it requires also what was waited for. A collective is its messages, round after round; a
// non-blocking one goes on beside the chain, and so do tasks, each with the dependencies that it has. Times are rounded to nanoseconds so that their sum is off by half of one at most.
// Complexity: O(1) an operation, O(requests) where it names several.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/result.hpp"
#include "traces/exports/cancelled_receives.hpp"
#include "traces/exports/export.hpp"
#include "traces/exports/tags.hpp"
#include "traces/formats/goal/schedule.hpp"
#include "traces/request_book.hpp"
#include "traces/trace.hpp"

namespace weft::traces::goal {

class ScheduleMaker {
 public:
  // All references outlive it.
  ScheduleMaker(const TraceReader& trace, RankId rank, Tags& tags, const ExportOptions& options)
      : trace_(trace), rank_(rank), tags_(tags), options_(options) {}

  // Adds what operation `index` of the rank becomes to schedule(). Errors: kNotSupported, kBadInput, with its position.
  [[nodiscard]] Result<void> add(const Op& op, std::span<const std::int64_t> list, std::uint64_t index);

  // After the last operation. Errors: kNotSupported.
  [[nodiscard]] Result<void> finish() const;

  // Sends of segments so far (CollectiveMessage::paced): a send of GOAL is over when its protocol says.
  [[nodiscard]] std::uint64_t paced_sends() const { return paced_sends_; }

  // What was added since the last forget(); the first of its operations has the number first().
  [[nodiscard]] const Schedule& schedule() const { return schedule_; }
  [[nodiscard]] std::uint32_t first() const { return first_; }
  void forget() {
    first_ += static_cast<std::uint32_t>(schedule_.ops.size());
    schedule_.clear();
  }

 private:
  using Ends =
      std::vector<std::uint32_t>;  // operations, with Dependency::kAtStart where their start is enough

  struct UnderWay {
    Ends ends;
    bool receive = false;
  };

  Result<std::uint32_t> start(const Operation& op, const Ends& after);
  Result<void> go_on_after(Result<std::uint32_t> operation, bool at_start);
  [[nodiscard]] Result<void> received(std::uint32_t comm, std::int32_t tag);
  Result<std::uint32_t> message(const Op& op, bool send, const Ends& after);
  Result<void> compute(std::int64_t picoseconds);
  Result<void> post(const Op& op, std::uint32_t slot, std::span<const std::int64_t> list);
  Result<void> collective(const Op& op, std::span<const std::int64_t> list);
  Result<void> wait(const Op& op, std::span<const std::int64_t> list);
  Result<void> task(const Op& op, std::span<const std::int64_t> list);
  void wait_for_tasks();
  Result<void> join();
  Result<void> write(const Op& op, std::span<const std::int64_t> list);
  [[nodiscard]] Error refuse(const std::string& what) const;
  [[nodiscard]] Error withdrawn(std::uint64_t cancel) const;

  const TraceReader& trace_;
  RankId rank_;
  Tags& tags_;
  const ExportOptions& options_;
  Schedule schedule_;
  std::uint32_t first_ = 0;
  std::uint64_t index_ = 0;  // of the operation that is being added
  // What the next operation starts after, each once; that of which the start is enough comes first, and is the only one.
  Ends after_;
  bool many_after_ = false;  // of a task_wait: they are required by what comes next, if something does
  Ends before_half_;         // the same for the send half of a sendrecv
  bool half_open_ = false;   // its receive half comes next
  std::int64_t rest_ = 0;    // picoseconds of computation that no nanosecond was written for
  ReceivedContexts contexts_;
  RequestBook requests_;                                   // of persistent ones
  std::unordered_map<std::uint32_t, UnderWay> under_way_;  // by slot; never iterated
  std::vector<std::uint32_t> tasks_;                       // operations, since the last task_wait
  CancelledReceives cancelled_;
  std::uint64_t paced_sends_ = 0;
  std::vector<std::uint32_t> calls_;  // of collectives, by communicator
  std::vector<CollectiveMessage> messages_;
};

}  // namespace weft::traces::goal
