#include "traces/recorder/merge.hpp"

#include <dirent.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <optional>
#include <set>

#include "traces/recorder/program.hpp"
#include "traces/recorder/spool_reader.hpp"
#include "traces/writer.hpp"

namespace weft::recorder {
namespace {

using traces::Communicator;
using traces::Op;

constexpr const char* kNotRecordedText[] = {
#define WEFT_X(id, text) text,
    WEFT_NOT_RECORDED(WEFT_X)
#undef WEFT_X
};

// One MPI_COMM_WORLD of the recorded command: its spools by rank; a rank may be missing.
struct Job {
  std::int64_t start_ns = 0;
  std::vector<std::optional<SpoolReader>> ranks;
};

// Communicators of a job: trace ids by local ids of each rank.
struct Communicators {
  std::vector<Communicator> all;             // index = trace id
  std::vector<std::vector<CommId>> of_rank;  // [rank][local id]
};

std::string text_of(const char* chars, std::size_t room) {
  return std::string(chars, ::strnlen(chars, room));
}

Result<std::vector<std::string>> spool_files(const std::string& directory) {
  DIR* dir = ::opendir(directory.c_str());
  if (dir == nullptr)
    return bad_input(directory, std::string("cannot read the spool directory: ") + std::strerror(errno));
  std::vector<std::string> files;
  while (const dirent* entry = ::readdir(dir)) {
    const std::string_view name = entry->d_name;
    if (name.ends_with(".spool")) files.push_back(directory + "/" + std::string(name));
  }
  ::closedir(dir);
  std::sort(files.begin(), files.end());
  return files;
}

Result<std::vector<Job>> open_jobs(const std::string& directory) {
  WEFT_ASSIGN(const auto files, spool_files(directory));
  std::map<std::uint64_t, Job> by_id;
  for (const std::string& file : files) {
    WEFT_ASSIGN(SpoolReader spool, SpoolReader::open(file));
    if (!spool.started()) continue;
    const SpoolHeader& h = spool.header();
    Job& job = by_id[h.job];
    if (job.ranks.empty()) {
      job.ranks.resize(static_cast<std::size_t>(h.world_size));
      job.start_ns = h.start_time_ns;
    }
    if (job.ranks.size() != static_cast<std::size_t>(h.world_size))
      return bad_input(file, "spools of one job disagree on the number of ranks",
                       std::to_string(h.world_size), std::to_string(job.ranks.size()));
    job.start_ns = std::min(job.start_ns, h.start_time_ns);
    job.ranks[static_cast<std::size_t>(h.world_rank)] = std::move(spool);
  }
  std::vector<Job> jobs;
  for (auto& [id, job] : by_id) jobs.push_back(std::move(job));
  std::stable_sort(jobs.begin(), jobs.end(),
                   [](const Job& a, const Job& b) { return a.start_ns < b.start_ns; });
  return jobs;
}

Communicators find_communicators(const Job& job) {
  Communicators c;
  Communicator world{"world", {}};
  for (std::size_t r = 0; r < job.ranks.size(); ++r) world.members.push_back(static_cast<std::int32_t>(r));
  c.all.push_back(std::move(world));
  c.of_rank.resize(job.ranks.size());
  std::map<std::pair<std::uint64_t, std::uint64_t>, CommId> by_key;
  for (std::size_t rank = 0; rank < job.ranks.size(); ++rank) {
    auto& local = c.of_rank[rank];
    local.push_back(CommId(0));
    if (!job.ranks[rank]) continue;
    const SpoolReader& spool = *job.ranks[rank];
    std::uint64_t offset = spool.first();
    SpoolReader::Record record;
    while (spool.next(offset, record)) {
      if (record.fixed->kind != kCommDefine) continue;
      if (record.list.size() < 4 || record.fixed->comm != local.size()) break;
      const std::pair key{static_cast<std::uint64_t>(record.list[0]),
                          static_cast<std::uint64_t>(record.list[1])};
      const auto [it, is_new] = by_key.try_emplace(key, CommId(static_cast<std::uint32_t>(c.all.size())));
      local.push_back(it->second);
      if (is_new) {
        Communicator comm;
        for (const std::int64_t m : record.list.subspan(3))
          comm.members.push_back(static_cast<std::int32_t>(m));
        c.all.push_back(std::move(comm));
      }
      Communicator& comm = c.all[it->second.index()];
      const std::int64_t order = record.list[2];
      if (is_new || comm.members.front() == static_cast<std::int32_t>(rank))
        comm.name = order == 0 ? "self" : fmt::format("split{}", order);
    }
  }
  return c;
}

std::vector<std::string> notes_of(const Job& job) {
  std::vector<std::string> notes;
  std::uint64_t counts[kNotRecordedCount] = {};
  std::set<std::string> programs;
  bool cpu = true;
  std::uint32_t level = 0;
  for (std::size_t rank = 0; rank < job.ranks.size(); ++rank) {
    if (!job.ranks[rank]) {
      notes.push_back(fmt::format("Rank {} left no record.", rank));
      continue;
    }
    const SpoolHeader& h = job.ranks[rank]->header();
    for (std::size_t i = 0; i < kNotRecordedCount; ++i) counts[i] += h.not_recorded[i];
    programs.insert(text_of(h.program, sizeof h.program));
    cpu = h.cpu_clock != 0;
    level = std::max(level, h.thread_level);
    if (h.out_of_space != 0)
      notes.push_back(fmt::format("Rank {}: the disk was full, the end is missing.", rank));
    if (h.finalized != 0) continue;
    const SpoolReader& spool = *job.ranks[rank];
    std::uint64_t offset = spool.first();
    SpoolReader::Record record;
    std::string inside;
    while (spool.next(offset, record))
      inside = (record.fixed->flags & kOpen) != 0 && record.fixed->kind != kCommDefine
                   ? fmt::format(", inside {}",
                                 traces::op_name(static_cast<traces::OpKind>(record.fixed->kind - 1)))
                   : "";
    notes.push_back(fmt::format("Rank {} ended without MPI_Finalize{}.", rank, inside));
  }
  for (std::size_t i = 0; i < kNotRecordedCount; ++i)
    if (counts[i] != 0)
      notes.push_back(fmt::format("Not recorded as such: {} {}.", counts[i], kNotRecordedText[i]));
  notes.push_back(cpu ? "Compute times are CPU times of the calling thread between MPI calls."
                      : "Compute times are wall times between MPI calls.");
  if (level > 0)
    notes.push_back(fmt::format("MPI thread level granted: {} (0 single .. 3 multiple).", level));
  for (const std::string& p : programs) notes.push_back("Program: " + p + ".");
  return notes;
}

traces::TraceHeader header_of(const Job& job, const RunInfo& info) {
  traces::TraceHeader h;
  h.ranks = static_cast<std::uint32_t>(job.ranks.size());
  h.recorder = info.recorder;
  h.command_line = info.command_line;
  h.hpl_dat = info.hpl_dat;
  for (const auto& spool : job.ranks) {
    if (!spool) {
      h.hostnames.emplace_back();
      continue;
    }
    const SpoolHeader& s = spool->header();
    h.hostnames.push_back(text_of(s.hostname, sizeof s.hostname));
    h.clock_resolution_ps = s.clock_resolution_ns * 1000;
    h.mpi_version = text_of(s.mpi_version, sizeof s.mpi_version);
  }
  h.notes = notes_of(job);
  return h;
}

void append_program(traces::TraceWriter& writer, RankId rank, const RankProgram& program) {
  traces::OpBlock block;
  block.rank = rank;
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    Op op = program.ops[i];
    if (op.extra != traces::kNoList) op.extra = block.add_list(program.list(op));
    block.ops.push_back(op);
    if (block.ops.size() < traces::kMaxBlockOps && i + 1 < program.ops.size()) continue;
    writer.append(block);
    block.first_op += block.ops.size();
    block.clear();
  }
}

// "T.weft" -> "T.2.weft".
std::string numbered(const std::string& path, std::size_t number) {
  if (number == 1) return path;
  const std::size_t slash = path.rfind('/');
  const std::size_t dot = path.rfind('.');
  const bool has_extension = dot != std::string::npos && (slash == std::string::npos || dot > slash + 1);
  const std::size_t at = has_extension ? dot : path.size();
  return path.substr(0, at) + "." + std::to_string(number) + path.substr(at);
}

Result<RecordedTrace> merge_job(const Job& job, const std::string& path, const RunInfo& info) {
  RecordedTrace made;
  made.path = path;
  made.ranks = static_cast<std::uint32_t>(job.ranks.size());
  traces::TraceHeader header = header_of(job, info);
  const Communicators comms = find_communicators(job);
  made.notes = header.notes;
  WEFT_ASSIGN(auto writer, traces::TraceWriter::create(path, header));
  for (std::size_t i = 1; i < comms.all.size(); ++i) {
    const CommId id = writer.add_communicator(comms.all[i]);
    WEFT_CHECK(id.index() == i, "the writer numbers communicators in the order they come");
  }
  for (std::size_t rank = 0; rank < job.ranks.size(); ++rank) {
    if (!job.ranks[rank]) continue;
    bool whole = true;
    const RankProgram program = translate(*job.ranks[rank], comms.of_rank[rank], &whole);
    if (!whole) made.notes.push_back(fmt::format("Rank {}: the spool is damaged, the end is missing.", rank));
    for (const Op& op : program.ops) {
      ++made.totals.ops;
      if (!traces::is_send(op.kind)) continue;
      ++made.totals.messages;
      made.totals.bytes += static_cast<std::uint64_t>(op.amount);
    }
    append_program(writer, RankId(static_cast<std::uint32_t>(rank)), program);
  }
  WEFT_TRY(writer.finish());
  return made;
}

}  // namespace

Result<std::vector<RecordedTrace>> merge_spools(const std::string& directory, const std::string& output,
                                                const RunInfo& info) {
  WEFT_ASSIGN(const auto jobs, open_jobs(directory));
  std::vector<RecordedTrace> made;
  for (const Job& job : jobs) {
    WEFT_ASSIGN(auto trace, merge_job(job, numbered(output, made.size() + 1), info));
    made.push_back(std::move(trace));
  }
  return made;
}

}  // namespace weft::recorder
