// A replay as a GOAL schedule: its computations take the time that they took there, its collectives are the messages that
// it sent. What a schedule adds to the trace itself (traces/formats/goal) is what only a platform says.
#include "replay/collective_calls.hpp"
#include "report/timeline/replay_export.hpp"
#include "traces/exports/export.hpp"
#include "traces/recorded/recorded_matches.hpp"

namespace weft::report {
namespace {

class Goal final : public ReplayExport {
 public:
  explicit Goal(std::string place) : place_(std::move(place)) {}
  [[nodiscard]] Shows shows() const override { return Shows::kTimes; }
  [[nodiscard]] std::vector<std::string> places() const override { return {place_}; }
  [[nodiscard]] Result<void> open() override {
    WEFT_TRY(AtomicFile::open(place_));  // whether it can be written
    return {};
  }
  [[nodiscard]] Result<void> write(const Replayed& run) override {
    const predict::RunFacts& f = run.facts;
    WEFT_ASSIGN(auto choices, replay::choose_collectives(
                                  f.result->collective_rules.name,
                                  {&f.platform->mpi.collectives, &f.options->collectives}, run.node_of_rank));
    replay::ExpandedCollectives expanded(run.trace, std::move(choices));
    const auto picoseconds = [&run](RankId rank, std::uint64_t index) -> std::int64_t {
      // What a deadlock kept from ending took no time.
      if (rank.index() >= run.ops.size()) return 0;
      const auto& of_rank = run.ops[rank.index()].times;
      if (index >= of_rank.size() || of_rank[index].end < 0) return 0;
      return of_rank[index].end - of_rank[index].begin;
    };
    traces::RecordedMatches as_recorded(run.trace);
    traces::TraceReader& program =
        f.options->recorded_matches ? static_cast<traces::TraceReader&>(as_recorded) : run.trace;
    return traces::export_trace(program, "goal", place_, {&expanded, picoseconds, run.warnings});
  }

 private:
  std::string place_;
};

}  // namespace

std::unique_ptr<ReplayExport> replay_export_goal(std::string place) {
  return std::make_unique<Goal>(std::move(place));
}

}  // namespace weft::report
