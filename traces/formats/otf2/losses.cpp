#include "traces/formats/otf2/losses.hpp"

#include <fmt/format.h>

#include "traces/formats/loss_notes.hpp"

namespace weft::traces::otf2 {
namespace {

constexpr std::string_view kGroups[] = {"one-sided communication",     "file I/O",
                                        "dynamic process management",  "communication on inter-communicators",
                                        "neighbourhood collectives",   "partitioned communication",
                                        "collectives without a record"};

// "MPI_Comm_split 40, MPI_Comm_free 40".
std::string names(const Definitions& d, const std::map<std::uint32_t, std::uint64_t>& calls,
                  std::uint64_t& all) {
  std::map<std::string, std::uint64_t> by_name;
  for (const auto& [region, n] : calls) by_name[d.region_name(region)] += n, all += n;
  std::string out;
  for (const auto& [name, n] : by_name) out += fmt::format("{}{} {}", out.empty() ? "" : ", ", name, n);
  return out;
}

}  // namespace

void Losses::describe(const Definitions& d, TraceHeader& header) const {
  RecordingFacts& facts = header.recording;
  std::map<std::pair<Lost, std::string>, std::uint64_t> by_name;
  for (const auto& [what, n] : calls)
    by_name[{what.first, what.second == kUndefined32 ? std::string() : d.region_name(what.second)}] += n;
  for (const auto& [what, n] : by_name)
    facts.not_recorded.push_back(
        {std::string(kGroups[static_cast<std::size_t>(what.first)]), what.second, n});
  facts.clock = ComputeClock::kWall;

  LossNotes say(header);
  std::uint64_t all = 0;
  if (const std::string text = names(d, probes, all); !probes.empty())
    say.warn(true, fmt::format("{} without a record of what was found: left out ({})", counted(all, "probe"),
                               text));
  all = 0;
  if (const std::string text = names(d, unmade, all); !unmade.empty())
    say.warn(true, fmt::format(
                       "{} that make or free communicators without a record of which (OTF2 before 3.0): left "
                       "out, the communicators are there ({})",
                       counted(all, "call"), text));
  all = 0;
  if (const std::string text = names(d, unknown, all); !unknown.empty())
    say.warn(true,
             fmt::format("{} of MPI by names that are not known, with messages or collectives: their time "
                         "counts as computation ({})",
                         counted(all, "call"), text));
  say.warn(thread_events > 0, fmt::format("{} of MPI by {} beside the one that MPI's groups name: left out",
                                          counted(thread_events, "event"), counted(threads, "thread")));
  say.warn(off > 0, fmt::format("the tracer was switched off {}: what ran meanwhile counts as computation",
                                counted(off, "time")));
  say.warn(never_received > 0,
           fmt::format("{} that nothing completed: left out", counted(never_received, "receive")));
  say.warn(never_sent > 0,
           fmt::format("{} that nothing completed: taken as freed", counted(never_sent, "send")));
  say.requests(unknown_requests, shared_requests);
  say.warn(
      vectors > 0,
      fmt::format("{} with counts of their own for each peer: OTF2 has sums only, sizes averaged where these "
                  "do not tell them",
                  counted(vectors, "call")));
  say.warn(plain_sums > 0, fmt::format("{} whose sum is no multiple of the members: taken as it stands",
                                       counted(plain_sums, "size of collectives")));
  say.warn(unbalanced > 0,
           fmt::format("{} entered and not left, or left and not entered", counted(unbalanced, "region")));
  say.note(receives > 0,
           fmt::format("{}: OTF2 says what came, not what was asked for: any source, any tag and larger "
                       "buffers are taken as what came.",
                       counted(receives, "receive")));
  say.note(waits_of_some > 0,
           fmt::format("{} for some of several requests: those that were not complete are not recorded.",
                       counted(waits_of_some, "wait")));
  say.note(persistent > 0,
           fmt::format("{} of persistent requests: taken as non-blocking calls of the standard mode.",
                       counted(persistent, "start")));
  say.note(cancelled > 0,
           fmt::format("{} cancelled: left out, with MPI_Cancel.", counted(cancelled, "request")));
  say.note(flushes > 0,
           fmt::format("{} of the tracer's buffer: their time is left out.", counted(flushes, "flush")));
  say.note(backwards > 0, fmt::format("{} before the one before, by the clock: no computation between them.",
                                      counted(backwards, "event")));
  const auto& s = d.skipped;
  std::string others;
  const auto skipped = [&others](std::uint64_t n, std::string_view what) {
    if (n > 0) others += fmt::format("{}{}", others.empty() ? "" : ", ", counted(n, what));
  };
  skipped(s.threads, "thread");
  skipped(s.gpus, "GPU stream");
  skipped(s.metrics, "set of metrics");
  skipped(s.others, "location of unknown type");
  say.note(!others.empty(), fmt::format("Locations that are no rank of MPI: {}; not read.", others));
  say.note(true, "Compute times are wall times between MPI calls.");
}

}  // namespace weft::traces::otf2
