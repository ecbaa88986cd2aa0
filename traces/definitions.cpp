#include "traces/definitions.hpp"

#include <fmt/format.h>

#include "traces/trace.pb.h"
#include "traces/weft_format.hpp"

namespace weft::traces {
namespace {

void encode_members(const std::vector<std::int32_t>& m, pb::Communicator& out) {
  for (std::size_t i = 0; i < m.size();) {
    std::size_t n = 1;
    const std::int32_t step = i + 1 < m.size() ? m[i + 1] - m[i] : 1;
    while (i + n < m.size() && m[i + n] - m[i + n - 1] == step) ++n;
    out.add_first(m[i]);
    out.add_step(step);
    out.add_count(static_cast<std::uint32_t>(n));
    i += n;
  }
}

Result<void> decode_members(const pb::Communicator& c, std::uint32_t ranks, std::uint64_t room,
                            std::vector<std::int32_t>& out) {
  const int runs = c.first_size();
  if (c.step_size() != runs || c.count_size() != runs)
    return bad_input({}, "the member runs of a communicator differ in length", c.name());
  std::uint64_t total = 0;
  for (const std::uint32_t n : c.count()) total += n;
  if (total > ranks || total > room)
    return bad_input({}, "a communicator has more members than the trace has ranks", std::to_string(total),
                     fmt::format("at most {}", std::min<std::uint64_t>(ranks, room)));
  out.reserve(total);
  for (int i = 0; i < runs; ++i) {
    std::int64_t m = c.first(i);
    for (std::uint32_t k = 0; k < c.count(i); ++k, m += c.step(i)) {
      if (m < 0 || m >= ranks)
        return bad_input({}, "a member of a communicator is not a rank", std::to_string(m),
                         fmt::format("0 to {}", ranks - 1));
      out.push_back(static_cast<std::int32_t>(m));
    }
  }
  std::vector<bool> seen(ranks);
  for (const std::int32_t m : out) {
    if (seen[static_cast<std::size_t>(m)])
      return bad_input({}, "a rank is a member of a communicator twice", std::to_string(m));
    seen[static_cast<std::size_t>(m)] = true;
  }
  return {};
}

}  // namespace

void encode_header(const TraceHeader& h, pb::Header& out) {
  out.set_ranks(h.ranks);
  for (const auto& n : h.hostnames) out.add_hostnames(n);
  out.set_recorder(h.recorder);
  out.set_mpi_version(h.mpi_version);
  out.set_command_line(h.command_line);
  out.set_hpl_dat(h.hpl_dat);
  out.set_clock_resolution_ps(h.clock_resolution_ps);
  for (const auto& n : h.notes) out.add_notes(n);
  for (const auto& w : h.warnings) out.add_warnings(w);
  const RecordingFacts& r = h.recording;
  for (const NotRecorded& n : r.not_recorded) {
    pb::NotRecorded& to = *out.add_not_recorded();
    to.set_group(n.group);
    to.set_call(n.call);
    to.set_count(n.count);
  }
  out.set_thread_level(r.thread_level);
  out.set_threads(r.threads);
  out.set_concurrent_calls(r.concurrent_calls);
  out.set_compute_clock(static_cast<pb::ComputeClock>(r.clock));
  for (const std::int64_t t : r.cpu_ps) out.add_cpu_ps(t);
  for (const std::int64_t t : r.wall_ps) out.add_wall_ps(t);
}

namespace {

// The numbers of a recording decide sentences, not sizes: what is out of range is the file's fault all the same.
Result<RecordingFacts> decode_recording(const pb::Header& m) {
  RecordingFacts r;
  for (const pb::NotRecorded& n : m.not_recorded())
    r.not_recorded.push_back({n.group(), n.call(), n.count()});
  if (m.thread_level() > 4)
    return bad_input({}, "the thread level is out of range", std::to_string(m.thread_level()), "0 to 4");
  r.thread_level = m.thread_level();
  r.threads = m.threads();
  r.concurrent_calls = m.concurrent_calls();
  // A clock of a newer version is one that this one does not know.
  if (m.compute_clock() == pb::CLOCK_CPU || m.compute_clock() == pb::CLOCK_WALL)
    r.clock = static_cast<ComputeClock>(m.compute_clock());
  if (m.cpu_ps_size() != m.wall_ps_size() ||
      (m.cpu_ps_size() != 0 && static_cast<std::uint32_t>(m.cpu_ps_size()) != m.ranks()))
    return bad_input({}, "the header has the clocks of some ranks only",
                     fmt::format("{} CPU times and {} wall times", m.cpu_ps_size(), m.wall_ps_size()),
                     fmt::format("none, or {} of each", m.ranks()));
  for (const auto* times : {&m.cpu_ps(), &m.wall_ps()})
    for (const std::int64_t t : *times)
      if (t < 0) return bad_input({}, "a rank's time outside MPI is negative", std::to_string(t));
  r.cpu_ps.assign(m.cpu_ps().begin(), m.cpu_ps().end());
  r.wall_ps.assign(m.wall_ps().begin(), m.wall_ps().end());
  return r;
}

}  // namespace

Result<TraceHeader> decode_header(const pb::Header& m) {
  TraceHeader h;
  if (m.ranks() == 0 || m.ranks() > format::kMaxRanks)
    return bad_input({}, "the number of ranks is out of range", std::to_string(m.ranks()),
                     fmt::format("1 to {}", format::kMaxRanks));
  if (m.hostnames_size() != 0 && static_cast<std::uint32_t>(m.hostnames_size()) != m.ranks())
    return bad_input({}, "the header names a host for some ranks only", std::to_string(m.hostnames_size()),
                     fmt::format("0 or {}", m.ranks()));
  h.ranks = m.ranks();
  h.hostnames.assign(m.hostnames().begin(), m.hostnames().end());
  h.recorder = m.recorder();
  h.mpi_version = m.mpi_version();
  h.command_line = m.command_line();
  h.hpl_dat = m.hpl_dat();
  h.clock_resolution_ps = m.clock_resolution_ps();
  h.notes.assign(m.notes().begin(), m.notes().end());
  h.warnings.assign(m.warnings().begin(), m.warnings().end());
  WEFT_ASSIGN(h.recording, decode_recording(m));
  return h;
}

void encode_definitions(const std::vector<Communicator>& communicators, std::size_t from_comm,
                        const std::vector<std::string>& regions, std::size_t from_region,
                        pb::Definitions& out) {
  out.set_first_communicator(static_cast<std::uint32_t>(from_comm));
  for (std::size_t i = from_comm; i < communicators.size(); ++i) {
    pb::Communicator& c = *out.add_communicators();
    c.set_name(communicators[i].name);
    for (std::size_t j = 0; j < i && c.same_as() == 0; ++j)
      if (communicators[j].members == communicators[i].members)
        c.set_same_as(static_cast<std::uint32_t>(j) + 1);
    if (c.same_as() == 0) encode_members(communicators[i].members, c);
  }
  out.set_first_region(static_cast<std::uint32_t>(from_region));
  for (std::size_t i = from_region; i < regions.size(); ++i) out.add_regions(regions[i]);
}

Result<void> decode_definitions(const pb::Definitions& m, std::uint32_t ranks,
                                std::vector<Communicator>& communicators, std::vector<std::string>& regions) {
  if (m.first_communicator() > communicators.size() || m.first_region() > regions.size())
    return bad_input({}, "a definition is missing before this one");
  std::uint64_t members = 0;
  for (const auto& c : communicators) members += c.members.size();
  for (int i = 0; i < m.communicators_size(); ++i) {
    if (m.first_communicator() + static_cast<std::uint64_t>(i) < communicators.size()) continue;
    const pb::Communicator& from = m.communicators(i);
    Communicator c;
    c.name = from.name();
    const std::uint64_t room = format::kMaxMembers - std::min<std::uint64_t>(members, format::kMaxMembers);
    if (from.same_as() != 0) {
      if (from.same_as() > communicators.size())
        return bad_input({}, "a communicator repeats one that is not defined",
                         std::to_string(from.same_as() - 1));
      const auto& source = communicators[from.same_as() - 1].members;
      if (source.size() > room) return bad_input({}, "the communicators have too many members in all");
      c.members = source;
    } else {
      WEFT_TRY(decode_members(from, ranks, room, c.members));
    }
    members += c.members.size();
    communicators.push_back(std::move(c));
  }
  for (int i = 0; i < m.regions_size(); ++i)
    if (m.first_region() + static_cast<std::uint64_t>(i) >= regions.size()) regions.push_back(m.regions(i));
  return {};
}

}  // namespace weft::traces
