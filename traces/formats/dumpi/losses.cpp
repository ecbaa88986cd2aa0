#include "traces/formats/dumpi/losses.hpp"

#include <fmt/format.h>

#include "traces/formats/dumpi/layout.hpp"
#include "traces/formats/loss_notes.hpp"

namespace weft::traces::dumpi {
namespace {

constexpr std::string_view kGroups[] = {"one-sided communication",
                                        "file I/O",
                                        "dynamic process management",
                                        "communication on inter-communicators",
                                        "communication on communicators that nothing in the trace makes",
                                        "persistent communication"};

}  // namespace

void Losses::describe(TraceHeader& header) const {
  RecordingFacts& facts = header.recording;
  for (const auto& [what, n] : calls)
    facts.not_recorded.push_back({std::string(kGroups[static_cast<std::size_t>(what.first)]),
                                  fmt::format("MPI_{}", kLayouts[what.second].name), n});
  facts.thread_level = thread_level;
  facts.threads = threads;
  facts.concurrent_calls = concurrent;
  facts.clock = wall_ranks > 0  ? ComputeClock::kWall
                : cpu_ranks > 0 ? ComputeClock::kCpu
                                : ComputeClock::kUnknown;

  LossNotes say(header);
  if (!outside.empty()) {
    std::uint64_t all = 0;
    std::pair<std::uint64_t, std::uint16_t> most{0, 0};
    for (const auto& [call, n] : outside) {
      all += n;
      if (n > most.first) most = {n, call};
    }
    say.warn(true,
             fmt::format("{} (MPI_{} {} of them) made while DUMPI did not record: they are not in the trace",
                         counted(all, "call"), kLayouts[most.second].name, most.first));
  }
  say.requests(unknown_requests, shared_requests);
  say.warn(cancelled_assumed > 0,
           fmt::format("{} cancelled without a status that says that it took effect: taken as if it did",
                       counted(cancelled_assumed, "receive")));
  say.warn(clockless_ranks > 0, fmt::format("{} without times: their computation is not in the trace",
                                            counted(clockless_ranks, "rank")));
  say.warn(wall_ranks > 0 && cpu_ranks > 0,
           fmt::format("{} with the wall clock and {} with the CPU clock only: computation is of both",
                       counted(wall_ranks, "rank"), counted(cpu_ranks, "rank")));
  say.warn(
      untimed > 0 && clockless_ranks == 0,
      fmt::format("{} without the clock that their rank began with: the time in them counts as computation",
                  counted(untimed, "call")));
  say.warn(
      sends_to_minus_one > 0 && any_or_none > 0,
      fmt::format(
          "{} from -1 without a status: DUMPI writes any source and, for MPI libraries such as MPICH, no "
          "process the same way; taken as any source",
          counted(any_or_none, "receive")));
  say.warn(unknown_hits > 0,
           fmt::format("{} found a message, and no status says which: its source, tag or size is not known",
                       counted(unknown_hits, "poll")));
  say.warn(
      no_sizes > 0,
      fmt::format("{} without sizes of datatypes (DUMPI before 0.6.6): those of a 64-bit machine are taken",
                  counted(no_sizes, "rank")));
  say.warn(assumed_order > 0,
           fmt::format("{} made with reorder, and not all members asked for their rank: the "
                       "order of the ranks is taken to "
                       "be that of the old one",
                       counted(assumed_order, "communicator")));
  say.note(cancelled > 0, fmt::format("{} cancelled before anything matched: left out, with MPI_Cancel.",
                                      counted(cancelled, "receive")));
  say.note(backwards > 0,
           fmt::format("{} began before the one before ended, by the clock: no computation between them.",
                       counted(backwards, "call")));
  say.note(type_conflicts > 0,
           fmt::format("{} made with another size than the file says: the size that was made is taken.",
                       counted(type_conflicts, "datatype")));
  if (with_counters > 0) {
    std::string names;
    for (const std::string& c : counters) names += fmt::format("{}{}", names.empty() ? "" : ", ", c);
    say.note(true, fmt::format(
                       "{} with performance counters ({}): not used, computation is the time between calls.",
                       counted(with_counters, "call"), names.empty() ? "no names" : names));
  }
  say.note(facts.clock != ComputeClock::kUnknown, facts.clock == ComputeClock::kWall
                                                      ? "Compute times are wall times between MPI calls."
                                                      : "Compute times are CPU times between MPI calls.");
}

}  // namespace weft::traces::dumpi
