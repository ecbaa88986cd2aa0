#include "traces/weft/definitions.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <numeric>

#include "traces/weft/format.hpp"
#include "traces/weft/trace.pb.h"
#include "traces/weft/wire.hpp"

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

// `seen` says of each rank the last communicator that it was found in: `id`, from 1, is this one's.
Result<void> decode_members(const pb::Communicator& c, std::uint32_t id, std::vector<std::uint32_t>& seen,
                            std::vector<std::int32_t>& out) {
  const auto ranks = static_cast<std::int64_t>(seen.size());
  for (int i = 0; i < c.first_size(); ++i) {
    std::int64_t m = c.first(i);
    for (std::uint32_t k = 0; k < c.count(i); ++k, m += c.step(i)) {
      if (m < 0 || m >= ranks)
        return bad_input({}, "a member of a communicator is not a rank", std::to_string(m),
                         fmt::format("0 to {}", ranks - 1));
      if (seen[static_cast<std::size_t>(m)] == id)
        return bad_input({}, "a rank is a member of a communicator twice", std::to_string(m));
      seen[static_cast<std::size_t>(m)] = id;
      out.push_back(static_cast<std::int32_t>(m));
    }
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

Result<TraceHeader> decode_header(std::string_view message) {
  // What a header names is counted before anything is made of it.
  std::uint64_t ranks = 0, hostnames = 0, notes = 0;
  WireScanner scan(message);
  while (scan.next()) {
    if (scan.field() == pb::Header::kRanksFieldNumber) ranks = scan.number();
    hostnames += scan.field() == pb::Header::kHostnamesFieldNumber;
    notes += scan.field() == pb::Header::kNotesFieldNumber ||
             scan.field() == pb::Header::kWarningsFieldNumber ||
             scan.field() == pb::Header::kNotRecordedFieldNumber;
  }
  if (!scan.ok()) return bad_input({}, "the first frame is not a header");
  if (ranks == 0 || ranks > format::kMaxRanks)
    return bad_input({}, "the number of ranks is out of range", std::to_string(ranks),
                     fmt::format("1 to {}", format::kMaxRanks));
  if (hostnames != 0 && hostnames != ranks)
    return bad_input({}, "the header names a host for some ranks only", std::to_string(hostnames),
                     fmt::format("0 or {}", ranks));
  if (notes > format::kMaxNotes)
    return bad_input({}, "the header has too many notes", std::to_string(notes),
                     fmt::format("at most {}", format::kMaxNotes));
  pb::Header m;
  if (!m.ParseFromArray(message.data(), static_cast<int>(message.size())) || m.ranks() != ranks)
    return bad_input({}, "the first frame is not a header");
  TraceHeader h;
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

std::uint32_t SameMembers::of(const std::vector<Communicator>& communicators, std::size_t i) {
  for (std::size_t next = same_as_.size(); next <= i; ++next) {
    const std::vector<std::int32_t>& members = communicators[next].members;
    const std::uint64_t hash = XXH64(members.data(), members.size() * sizeof members[0], 0);
    std::uint32_t same = 0;
    const auto [begin, end] = firsts_.equal_range(hash);
    for (auto first = begin; first != end; ++first)
      if (communicators[first->second].members == members) same = first->second + 1;
    if (same == 0) firsts_.emplace(hash, static_cast<std::uint32_t>(next));
    same_as_.push_back(same);
  }
  return same_as_[i];
}

void encode_definitions(const std::vector<Communicator>& communicators, std::size_t from_comm,
                        SameMembers& same_members, const std::vector<std::string>& regions,
                        std::size_t from_region, bool kernels, pb::Definitions& out) {
  out.set_first_communicator(static_cast<std::uint32_t>(from_comm));
  for (std::size_t i = from_comm; i < communicators.size(); ++i) {
    pb::Communicator& c = *out.add_communicators();
    c.set_name(communicators[i].name);
    c.set_same_as(same_members.of(communicators, i));
    if (c.same_as() == 0) encode_members(communicators[i].members, c);
  }
  out.set_first_region(static_cast<std::uint32_t>(from_region));
  for (std::size_t i = from_region; i < regions.size(); ++i) out.add_regions(regions[i]);
  if (kernels)
    for (const std::string_view name : kKernelNames) out.add_kernels(name.data(), name.size());
}

Definitions::Definitions(std::uint32_t ranks, std::uint64_t file_bytes)
    : ranks_(ranks), most_(format::most_definition_bytes(file_bytes)) {
  communicators_.push_back({"world", {}});
  communicators_[0].members.resize(ranks);
  std::iota(communicators_[0].members.begin(), communicators_[0].members.end(), 0);
  members_ = ranks;
}

Result<void> Definitions::pay(std::uint64_t cost) {
  if (cost > most_ - cost_)
    return bad_input({}, "communicators, regions and kernels are too many for a file of this size", {},
                     fmt::format("at most {} bytes of them", most_));
  cost_ += cost;
  return {};
}

Result<void> Definitions::add_communicator(std::string_view message) {
  // Members and name are paid for before they are made.
  std::uint64_t values = 0, name = 0;
  WireScanner scan(message);
  while (scan.next()) {
    if (scan.field() == pb::Communicator::kNameFieldNumber) name += scan.bytes().size();
    if (scan.field() >= pb::Communicator::kFirstFieldNumber &&
        scan.field() <= pb::Communicator::kCountFieldNumber)
      values += scan.varints();
  }
  pb::Communicator from;
  if (!scan.ok()) return bad_input({}, "the frame is not a Definitions message");
  WEFT_TRY(pay(format::definition_cost(name)));
  if (values > 3 * static_cast<std::uint64_t>(ranks_) ||
      !from.ParseFromArray(message.data(), static_cast<int>(message.size())) ||
      from.step_size() != from.first_size() || from.count_size() != from.first_size())
    return bad_input({}, "the member runs of a communicator differ in length or are more than its ranks");
  Communicator c;
  c.name = from.name();
  std::uint64_t total = 0;
  if (from.same_as() != 0) {
    if (from.same_as() > communicators_.size())
      return bad_input({}, "a communicator repeats one that is not defined",
                       std::to_string(from.same_as() - 1));
    total = communicators_[from.same_as() - 1].members.size();
  } else {
    for (const std::uint32_t n : from.count()) total += n;
    if (total > ranks_)
      return bad_input({}, "a communicator has more members than the trace has ranks", std::to_string(total),
                       fmt::format("at most {}", ranks_));
  }
  if (total > format::kMaxMembers - std::min(members_, format::kMaxMembers))
    return bad_input({}, "the communicators have too many members in all");
  WEFT_TRY(pay(4 * total));
  members_ += total;
  if (from.same_as() != 0) {
    c.members = communicators_[from.same_as() - 1].members;
  } else {
    seen_.resize(ranks_);
    c.members.reserve(total);
    WEFT_TRY(decode_members(from, static_cast<std::uint32_t>(communicators_.size()), seen_, c.members));
  }
  communicators_.push_back(std::move(c));
  return {};
}

Result<void> Definitions::add(std::string_view message) {
  std::uint64_t next_communicator = 0, next_region = 0;
  WireScanner first(message);
  while (first.next()) {
    if (first.field() == pb::Definitions::kFirstCommunicatorFieldNumber) next_communicator = first.number();
    if (first.field() == pb::Definitions::kFirstRegionFieldNumber) next_region = first.number();
  }
  if (!first.ok()) return bad_input({}, "the frame is not a Definitions message");
  if (next_communicator > communicators_.size() || next_region > regions_.size())
    return bad_input({}, "a definition is missing before this one");
  std::vector<std::string> kernels;
  WireScanner scan(message);
  while (scan.next()) {
    switch (scan.field()) {
      case pb::Definitions::kCommunicatorsFieldNumber:
        if (next_communicator++ >= communicators_.size()) WEFT_TRY(add_communicator(scan.bytes()));
        break;
      case pb::Definitions::kRegionsFieldNumber:
        if (next_region++ < regions_.size()) break;
        WEFT_TRY(pay(format::definition_cost(scan.bytes().size())));
        regions_.emplace_back(scan.bytes());
        break;
      case pb::Definitions::kKernelsFieldNumber:
        WEFT_TRY(pay(format::definition_cost(scan.bytes().size())));
        kernels.emplace_back(scan.bytes());
        break;
      default:
        break;  // of a newer minor version
    }
  }
  if (kernels.empty()) return {};
  if (!kernels_.names().empty() && kernels_.names() != kernels)
    return bad_input({}, "the file names its kernels twice, and not alike");
  WEFT_ASSIGN(kernels_, KernelNumbers::of(std::move(kernels)));
  return {};
}

}  // namespace weft::traces
