#include "traces/trace_warnings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "core/counted.hpp"
#include "core/quantity_text.hpp"

namespace weft::traces {
namespace {

constexpr std::size_t kShownCalls = 4;

// Groups in order of first appearance, their calls by falling count.
void not_recorded(const std::vector<NotRecorded>& all, std::vector<TraceWarning>& out) {
  std::vector<std::string_view> done;
  for (const NotRecorded& first : all) {
    if (first.count == 0 || std::ranges::find(done, first.group) != done.end()) continue;
    done.push_back(first.group);
    std::vector<const NotRecorded*> calls;
    std::uint64_t total = 0;
    for (const NotRecorded& n : all)
      if (n.group == first.group && n.count > 0) {
        total += n.count;
        if (!n.call.empty()) calls.push_back(&n);
      }
    std::ranges::stable_sort(calls, [](const auto* a, const auto* b) { return a->count > b->count; });
    std::string names;
    for (std::size_t i = 0; i < std::min(calls.size(), kShownCalls); ++i)
      names += fmt::format("{}{} {}", i == 0 ? " (" : ", ", calls[i]->call, calls[i]->count);
    if (!names.empty())
      names += calls.size() > kShownCalls ? fmt::format(" and {} more)", calls.size() - kShownCalls) : ")";
    out.push_back(
        {fmt::format(
             "{} of {}{} {} not in the trace: a replay leaves out their time and all waiting for them",
             counted(total, "call"), first.group, names, total == 1 ? "is" : "are"),
         true});
  }
}

void threads(const RecordingFacts& r, std::vector<TraceWarning>& out) {
  if (r.threads <= 1 && r.concurrent_calls == 0) return;
  std::string who = r.threads > 1 ? fmt::format("up to {} threads of a rank", r.threads)
                                  : std::string("several threads of a rank");
  if (r.concurrent_calls > 0)
    who += fmt::format(", {} while another thread was inside MPI", counted(r.concurrent_calls, "call"));
  out.push_back(
      {fmt::format(
           "MPI was called by {}: the trace holds one order of operations for each rank, that of the "
           "recording. A "
           "replay keeps it, so threads wait for each other where the program's do not; with more messages "
           "in "
           "rendezvous than in the recording it may stop in a deadlock that the program does not have",
           who),
       false});
}

void clocks(const RecordingFacts& r, std::vector<TraceWarning>& out) {
  constexpr std::int64_t kLeast = 10'000'000'000;  // ps: below, starting up and paging are most of it
  std::size_t worst = r.cpu_ps.size();
  std::int64_t most = kLeast;
  for (std::size_t i = 0; i < std::min(r.cpu_ps.size(), r.wall_ps.size()); ++i) {
    const std::int64_t apart = r.wall_ps[i] - r.cpu_ps[i];
    if (apart <= most || apart <= r.wall_ps[i] / 20) continue;
    most = apart;
    worst = i;
  }
  if (worst == r.cpu_ps.size()) return;
  const std::string rank = fmt::format("outside MPI rank {} used {} of CPU time in {}", worst,
                                       show(Duration(r.cpu_ps[worst])), show(Duration(r.wall_ps[worst])));
  if (r.clock == ComputeClock::kWall)
    out.push_back({rank + ": the trace has the longer time, with all that it slept or waited for a core; "
                          "weft record --clock cpu keeps the time it computed",
                   false});
  else
    out.push_back({rank + ": time that it slept, read files or waited for a core is not in the trace; "
                          "weft record --clock wall keeps it",
                   false});
}

}  // namespace

std::vector<TraceWarning> find_trace_warnings(const TraceHeader& header) {
  std::vector<TraceWarning> out;
  for (const std::string& w : header.warnings) out.push_back({w, false});
  not_recorded(header.recording.not_recorded, out);
  threads(header.recording, out);
  clocks(header.recording, out);
  return out;
}

std::vector<std::string> trace_warnings(const TraceHeader& header) {
  std::vector<std::string> out;
  for (TraceWarning& w : find_trace_warnings(header)) out.push_back(std::move(w.text));
  return out;
}

}  // namespace weft::traces
