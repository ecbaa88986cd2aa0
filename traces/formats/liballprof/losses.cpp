#include "traces/formats/liballprof/losses.hpp"

#include <fmt/format.h>

#include "core/counted.hpp"
#include "core/quantity_text.hpp"
#include "traces/formats/loss_notes.hpp"

namespace weft::traces::allprof {
namespace {

constexpr std::string_view kReasons[] = {"one-sided communication", "file I/O", "dynamic process management",
                                         "communication on inter-communicators",
                                         "communication on communicators that the trace does not explain"};

}  // namespace

void Losses::describe(TraceHeader& header) const {
  for (const auto& [what, n] : calls)
    header.recording.not_recorded.push_back(
        {std::string(kReasons[static_cast<std::size_t>(what.first)]), "MPI_" + what.second, n});
  header.recording.clock = ComputeClock::kWall;
  LossNotes say(header);
  say.warn(copies,
           "all files say that they are of rank 0: taken for the ranks of their names, as schedgen does");
  say.warn(cut_off > 0,
           fmt::format("{} cut off in the middle of a line: read up to there", counted(cut_off, "rank")));
  say.warn(unfinished > 0, fmt::format("{} without MPI_Finalize: the trace ends before the program did",
                                       counted(unfinished, "rank")));
  say.warn(assumed_comms > 0,
           fmt::format("{} that more than one communicator could have: taken in the order in which other "
                       "members first use theirs, else in that in which they were made",
                       counted(assumed_comms, "handle")));
  say.warn(copied_frees > 0,
           fmt::format("{} freed by a copy of the handle: taken for the last that was made and is not "
                       "named right after",
                       counted(copied_frees, "communicator")));
  say.warn(polls > 0, fmt::format("{}: the trace does not say what they found, they leave nothing",
                                  counted(polls, "poll")));
  say.warn(
      unsure > 0,
      fmt::format("{} of requests by a test or a wait for any or some, which the trace does not tell: the "
                  "last call that names a request is taken to have completed it",
                  counted(unsure, "completion")));
  say.warn(copied > 0, fmt::format("{} of requests that were copied after their start: the oldest such "
                                   "requests are taken",
                                   counted(copied, "completion")));
  say.warn(foreign_waits > 0, fmt::format("{} where no line posts a request: of none, or of a function that "
                                          "the recorder's wrappers do not know; "
                                          "left out",
                                          counted(foreign_waits, "wait")));
  say.requests(unknown_requests, 0);
  say.warn(left_to_the_end > 0, fmt::format("{} that nothing completes: waited for at the end of the rank",
                                            counted(left_to_the_end, "request")));
  say.warn(cancelled > 0, fmt::format("{} cancelled: taken as if that took effect, left out with MPI_Cancel",
                                      counted(cancelled, "receive")));
  say.note(any_sources > 0, fmt::format("{} from any source: the trace does not say whose message they took.",
                                        counted(any_sources, "receive")));
  say.note(backwards > 0,
           fmt::format("{} began before the one before ended, by the clock: no computation between them.",
                       counted(backwards, "call")));
  // Shorter ones do not matter.
  say.note(before_finalize_ps >= 1'000'000'000,
           fmt::format("The computation before MPI_Finalize, up to {}, has the recorder's own "
                       "synchronisation of clocks in it.",
                       show_seconds(static_cast<double>(before_finalize_ps) * 1e-12)));
  say.note(true, "Compute times are wall times between MPI calls, in steps of a microsecond.");
}

}  // namespace weft::traces::allprof
