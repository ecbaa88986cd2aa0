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
}

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
