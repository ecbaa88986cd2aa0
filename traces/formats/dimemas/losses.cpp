#include "traces/formats/dimemas/losses.hpp"

#include <fmt/format.h>

#include "core/counted.hpp"
#include "traces/formats/dimemas/mpi_calls.hpp"
#include "traces/formats/loss_notes.hpp"

namespace weft::traces::dimemas {
namespace {

// "MPI_Bcast 3, MPI_Reduce 1".
std::string by_name(const std::map<std::string_view, std::uint64_t>& calls) {
  std::string all;
  for (const auto& [name, count] : calls) all += fmt::format("{}{} {}", all.empty() ? "" : ", ", name, count);
  return all;
}

std::uint64_t sum(const std::map<std::string_view, std::uint64_t>& calls) {
  std::uint64_t all = 0;
  for (const auto& [name, count] : calls) all += count;
  return all;
}

}  // namespace

void Losses::describe(TraceHeader& header) const {
  LossNotes notes(header);
  for (const auto& [name, count] : collectives)
    header.recording.not_recorded.push_back({"collectives", std::string(name), count});
  for (const auto& [type, count] : calls)
    header.recording.not_recorded.push_back(
        {type == kOneSided ? "one-sided communication" : "file I/O", "", count});
  notes.warn(
      !messages.empty(),
      fmt::format("{} without a record of a message ({}): to or from MPI_PROC_NULL, or not matched when the "
                  "trace was made; left out",
                  counted(sum(messages), "call"), by_name(messages)));
  notes.warn(
      makes_comm > 0,
      fmt::format(
          "{} that made communicators, without a record: their messages and all waiting in them are gone",
          counted(makes_comm, "call")));
  notes.warn(outside > 0, fmt::format("{} of messages in no call that sends or receives them: left out",
                                      counted(outside, "end")));
  notes.warn(other_applications > 0, fmt::format("{} of other applications than the first: left out",
                                                 counted(other_applications, "record")));
  notes.requests(unknown_waits, 0);
  notes.warn(unposted > 0, fmt::format("{} for a message that no receive was posted for: receives",
                                       counted(unposted, "wait")));
  notes.warn(left_to_the_end > 0, fmt::format("{} that no wait names: waited for at the end of the task",
                                              counted(left_to_the_end, "request")));
  notes.warn(
      shared_out > 0,
      fmt::format("{} of which the trace has sums only: shared out in proportion to what each task receives",
                  counted(shared_out, "alltoallv")));
  notes.warn(without_records > 0, fmt::format("{} without a record", counted(without_records, "task")));
  notes.warn(cut_off,
             "the offsets that the header promises are not at the end: the file was cut off, or edited");
  notes.warn(communicators != defined, fmt::format("the header has {}, the file defines {}",
                                                   counted(communicators, "communicator"), defined));
  notes.note(unwaited_sends > 0,
             fmt::format("{}: no record says where the program waits for them; nobody waits, as in Dimemas.",
                         counted(unwaited_sends, "non-blocking send")));
  notes.note(own_tags > 0,
             fmt::format(
                 "{} of a source, destination and tag match otherwise than in their order: they have tags of "
                 "their own.",
                 counted(own_tags, "channel")));
  notes.note(events > 0, fmt::format("{} of no call of MPI (user functions, counters): passed over.",
                                     counted(events, "event")));
}

}  // namespace weft::traces::dimemas
