#include "traces/recorder/merge/merge.hpp"

#include <dirent.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "core/files/atomic_file.hpp"
#include "core/files/input_file.hpp"
#include "core/quantity_text.hpp"
#include "core/source_pos.hpp"
#include "traces/recorder/merge/overlaps.hpp"
#include "traces/recorder/merge/program.hpp"
#include "traces/recorder/merge/spool_reader.hpp"
#include "traces/send_counter.hpp"
#include "traces/trace_warnings.hpp"
#include "traces/weft/format.hpp"
#include "traces/weft/writer.hpp"

namespace weft::recorder {
namespace {

using traces::Communicator;
using traces::Op;

struct Counted {
  const char* group;
  const char* name;
};
constexpr const char* kGroupText[] = {
#define WEFT_X(id, text) text,
    WEFT_NOT_RECORDED_GROUPS(WEFT_X)
#undef WEFT_X
};
enum class Group : std::size_t {
#define WEFT_X(id, text) id,
  WEFT_NOT_RECORDED_GROUPS(WEFT_X)
#undef WEFT_X
};
// By NotRecorded.
constexpr Counted kCounted[] = {
#define WEFT_COUNTED(group, name, params, args) {kGroupText[static_cast<std::size_t>(Group::group)], #name},
#include "traces/recorder/not_recorded.def"
#undef WEFT_COUNTED
};
enum class Weight : std::uint8_t { kLost, kPart, kNote };
struct Other {
  Weight weight;
  const char* noun;
  const char* text;
};
constexpr Other kOthers[] = {
#define WEFT_X(id, weight, noun, text) {Weight::weight, noun, text},
    WEFT_NOT_RECORDED_OTHERS(WEFT_X)
#undef WEFT_X
};
static_assert(std::size(kCounted) == kCountedFunctions);
static_assert(std::size(kCounted) + std::size(kOthers) == kNotRecordedCount);

// What is kept of a spool that is not being read: a process may map some 65,000 files, so one at a time is open.
struct Spool {
  std::string path;
  SpoolHeader header;
};

Result<SpoolReader> reopen(const Spool& spool) {
  WEFT_ASSIGN(SpoolReader reader, SpoolReader::open(spool.path));
  if (!reader.started()) return bad_input(spool.path, "the spool changed while it was read");
  return reader;
}

// One MPI_COMM_WORLD of the recorded command: its spools by rank; null: it left none.
struct Job {
  std::int64_t start_ns = 0;
  std::vector<std::unique_ptr<const Spool>> ranks;
};

// What the first pass over a job's spools finds.
struct Survey {
  std::vector<Communicator> communicators;   // index = trace id
  std::vector<std::vector<CommId>> of_rank;  // [rank][local id]
  std::vector<std::uint64_t> end;            // [rank] offset of the first damage
  std::vector<std::string> inside;           // [rank] name of the call it ended in, if it did
  std::vector<std::optional<Error>> damage;  // [rank]
  Overlaps overlaps;                         // empty if no threads of a rank were inside MPI at once
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
  std::map<std::uint64_t, std::vector<std::unique_ptr<const Spool>>> by_id;
  for (const std::string& file : files) {
    WEFT_ASSIGN(const SpoolReader spool, SpoolReader::open(file));
    if (spool.started())
      by_id[spool.header().job].push_back(std::make_unique<Spool>(Spool{file, spool.header()}));
  }
  std::vector<Job> jobs;
  for (auto& [id, spools] : by_id) {
    const std::int32_t size = spools.front()->header.world_size;
    const auto at_size = [](const Spool& s) {
      return BytePos{s.path, offsetof(SpoolHeader, world_size)}.text();
    };
    if (static_cast<std::uint64_t>(size) > std::max<std::uint64_t>(traces::format::kFreeRanks, spools.size()))
      return bad_input(
          at_size(*spools.front()),
          fmt::format("more than {} ranks, and not all left a spool", traces::format::kFreeRanks),
          fmt::format("{} ranks, {} spools", size, spools.size()));
    Job job;
    job.start_ns = spools.front()->header.start_time_ns;
    job.ranks.resize(static_cast<std::size_t>(size));
    for (auto& spool : spools) {
      const SpoolHeader& h = spool->header;
      if (h.world_size != size)
        return bad_input(at_size(*spool), "spools of one job disagree on the number of ranks",
                         std::to_string(h.world_size), std::to_string(size));
      job.start_ns = std::min(job.start_ns, h.start_time_ns);
      job.ranks[static_cast<std::size_t>(h.world_rank)] = std::move(spool);  // one file for each (job, rank)
    }
    jobs.push_back(std::move(job));
  }
  std::stable_sort(jobs.begin(), jobs.end(),
                   [](const Job& a, const Job& b) { return a.start_ns < b.start_ns; });
  return jobs;
}

// Null, or why the list of a kCommDefine cannot be. `seen` marks members: one entry a rank, all 0 in between.
const char* communicator_fault(std::span<const std::int64_t> list, std::size_t rank,
                               std::vector<char>& seen) {
  if (list.size() < 4) return "a communicator without members";
  const auto members = list.subspan(3);
  const char* fault = nullptr;
  std::size_t n = 0;
  for (; n < members.size() && fault == nullptr; ++n) {
    const std::int64_t m = members[n];
    if (m < 0 || m >= static_cast<std::int64_t>(seen.size())) {
      fault = "a member of a communicator is not a rank";
      break;
    }
    if (seen[static_cast<std::size_t>(m)] != 0) fault = "a rank is a member of a communicator twice";
    seen[static_cast<std::size_t>(m)] = 1;
  }
  if (fault == nullptr && seen[rank] == 0) fault = "a communicator that the rank is no member of";
  for (std::size_t i = 0; i < n; ++i) seen[static_cast<std::size_t>(members[i])] = 0;
  return fault;
}

class Surveyor {
 public:
  explicit Surveyor(const Job& job) : job_(job), seen_(job.ranks.size(), 0) {
    Communicator world{"world", {}};
    for (std::size_t r = 0; r < job.ranks.size(); ++r) world.members.push_back(static_cast<std::int32_t>(r));
    out_.communicators.push_back(std::move(world));
    out_.of_rank.assign(job.ranks.size(), {CommId(0)});
    out_.end.assign(job.ranks.size(), UINT64_MAX);
    out_.inside.resize(job.ranks.size());
    out_.damage.resize(job.ranks.size());
  }
  Result<Survey> run() {
    for (std::size_t rank = 0; rank < job_.ranks.size(); ++rank) {
      if (!job_.ranks[rank]) continue;
      WEFT_ASSIGN(const SpoolReader spool, reopen(*job_.ranks[rank]));
      look_at(rank, spool);
    }
    for (std::size_t rank = 0; rank < job_.ranks.size(); ++rank) {
      if (!job_.ranks[rank] || !overlap(job_.ranks[rank]->header)) continue;
      WEFT_ASSIGN(const SpoolReader spool, reopen(*job_.ranks[rank]));
      out_.overlaps.calls.resize(job_.ranks.size());
      find_overlaps(rank, spool, out_.of_rank[rank], out_.end[rank], out_.overlaps);
    }
    return std::move(out_);
  }

 private:
  void look_at(std::size_t rank, const SpoolReader& spool) {
    std::uint64_t offset = spool.first();
    SpoolReader::Record record;
    const SpoolRecord* last = nullptr;
    const char* fault = nullptr;
    for (;;) {
      const auto step = spool.next(offset, record);
      if (step == SpoolReader::Step::kDamaged) fault = "no whole record";
      if (step != SpoolReader::Step::kRecord) break;
      if (record.fixed->kind == kLeft) continue;
      if (record.fixed->kind != kCommDefine) {
        last = record.fixed;
        continue;
      }
      fault = define(rank, record);
      if (fault == nullptr) continue;
      offset = record.offset;
      break;
    }
    const SpoolHeader& h = spool.header();
    const bool finished = last != nullptr && kind_of(*last) == traces::OpKind::finalize;
    if (fault == nullptr && h.finalized != 0 && h.out_of_space == 0 && !finished)
      fault = "the end is missing: MPI_Finalize was recorded once";
    if (fault != nullptr) {
      out_.end[rank] = offset;
      out_.damage[rank] = bad_input(spool.position(offset), fmt::format("a damaged spool: {}", fault));
    }
    if (last != nullptr && (last->flags & kOpen) != 0) out_.inside[rank] = traces::op_name(kind_of(*last));
  }
  static traces::OpKind kind_of(const SpoolRecord& r) { return static_cast<traces::OpKind>(r.kind - 1); }

  const char* define(std::size_t rank, const SpoolReader::Record& record) {
    auto& local = out_.of_rank[rank];
    if (record.fixed->comm != local.size()) return "a communicator out of its order";
    if (const char* fault = communicator_fault(record.list, rank, seen_)) return fault;
    const auto members = record.list.subspan(3);
    const std::pair key{static_cast<std::uint64_t>(record.list[0]),
                        static_cast<std::uint64_t>(record.list[1])};
    const auto id = CommId(static_cast<std::uint32_t>(out_.communicators.size()));
    const auto [it, is_new] = by_key_.try_emplace(key, id);
    if (is_new) out_.communicators.push_back({"", std::vector<std::int32_t>(members.begin(), members.end())});
    Communicator& comm = out_.communicators[it->second.index()];
    if (!std::ranges::equal(comm.members, members))
      return "a communicator with other members on another rank";
    const std::int64_t order = record.list[2];
    if (is_new || comm.members.front() == static_cast<std::int32_t>(rank))
      comm.name = order == 0  ? "self"
                  : order > 0 ? fmt::format("split{}", order)
                              : fmt::format("persistent{}", -static_cast<std::uint64_t>(order));
    local.push_back(it->second);
    return nullptr;
  }

  const Job& job_;
  Survey out_;
  std::vector<char> seen_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, CommId> by_key_;
};

// "Rank 3", "Ranks 0-3, 7"; at most eight pieces.
std::string ranks_text(const std::vector<std::size_t>& ranks) {
  std::string text;
  std::size_t pieces = 0;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t j = i;
    while (j + 1 < ranks.size() && ranks[j + 1] == ranks[j] + 1) ++j;
    if (++pieces > 8) return fmt::format("{} and {} more", text, ranks.size() - i);
    text += fmt::format("{}{}", text.empty() ? "" : ", ", ranks[i]);
    if (j > i) text += fmt::format("-{}", ranks[j]);
    i = j + 1;
  }
  return (ranks.size() == 1 ? "Rank " : "Ranks ") + text;
}

// Sentences about ranks, each written once with all ranks that it is true of.
class RankSentences {
 public:
  void add(std::size_t rank, const std::string& what) { ranks_[what].push_back(rank); }
  void write(std::vector<std::string>& out) const {
    for (const auto& [what, ranks] : ranks_) out.push_back(fmt::format("{} {}", ranks_text(ranks), what));
  }

 private:
  std::map<std::string, std::vector<std::size_t>> ranks_;
};

std::int64_t outside_ns(const SpoolHeader& h) { return h.cpu_clock != 0 ? h.cpu_ns : h.wall_ns; }

// The rank with the most time around polls that said no, if some was much of its time outside MPI: a program that works a little
// between polls cannot be told from one that waits.
void tell_spinning(const Job& job, std::vector<std::string>& warnings) {
  constexpr std::int64_t kLeastNs = 10'000'000;
  const SpoolHeader* worst = nullptr;
  for (const auto& spool : job.ranks) {
    if (!spool) continue;
    const SpoolHeader& h = spool->header;
    if (h.spun_ns <= (worst == nullptr ? kLeastNs : worst->spun_ns)) continue;
    if (h.spun_ns > outside_ns(h) / 20) worst = &h;
  }
  if (worst == nullptr) return;
  warnings.push_back(fmt::format(
      "rank {} spent {} of {} outside MPI in pieces of 0.2 to 2 us between tests and probes that said "
      "no: taken for waiting, work in them is not in the trace",
      worst->world_rank, show(Duration(worst->spun_ns * 1000)), show(Duration(outside_ns(*worst) * 1000))));
}

// What the header says of the program beside its operations. `remarks` are also notes of the header.
void describe(const Job& job, const Survey& survey, traces::TraceHeader& header,
              std::vector<std::string>& remarks) {
  std::uint64_t counts[kNotRecordedCount] = {};
  std::set<std::string> programs;
  RankSentences sentences;
  traces::RecordingFacts& facts = header.recording;
  bool totals = true;
  for (std::size_t rank = 0; rank < job.ranks.size(); ++rank) {
    if (!job.ranks[rank]) {
      sentences.add(rank, "left no record");
      totals = false;
      continue;
    }
    const SpoolHeader& h = job.ranks[rank]->header;
    for (std::size_t i = 0; i < kNotRecordedCount; ++i) counts[i] += h.not_recorded[i];
    programs.insert(text_of(h.program, sizeof h.program));
    facts.clock = h.cpu_clock != 0 ? traces::ComputeClock::kCpu : traces::ComputeClock::kWall;
    facts.thread_level = std::max(facts.thread_level, h.thread_level + 1);
    facts.threads = std::max(facts.threads, static_cast<std::uint32_t>(std::min<std::uint64_t>(
                                                h.threads, std::numeric_limits<std::uint32_t>::max())));
    facts.concurrent_calls += h.concurrent;
    facts.cpu_ps.push_back(h.cpu_ns * 1000);
    facts.wall_ps.push_back(h.wall_ns * 1000);
    if (survey.damage[rank]) {
      sentences.add(rank, "left a damaged spool, the end is missing");
    } else if (h.out_of_space != 0) {
      sentences.add(rank, h.out_of_space == kFileLost ? "closed the file of its recording, the end is missing"
                          : h.out_of_space == kTooManyThreads
                              ? "had more than 65,535 threads at once that called MPI, the end is missing"
                              : "found the disk full, the end is missing");
    } else if (h.finalized == 0) {
      sentences.add(rank, survey.inside[rank].empty()
                              ? "ended without MPI_Finalize"
                              : fmt::format("ended without MPI_Finalize, inside {}", survey.inside[rank]));
    }
  }
  if (!totals) facts.cpu_ps.clear(), facts.wall_ps.clear();
  sentences.write(header.warnings);
  tell_spinning(job, header.warnings);
  for (std::size_t i = 0; i < kCountedFunctions; ++i)
    if (counts[i] != 0)
      facts.not_recorded.push_back({kCounted[i].group, fmt::format("MPI_{}", kCounted[i].name), counts[i]});
  for (std::size_t i = 0; i < std::size(kOthers); ++i) {
    const std::uint64_t n = counts[kCountedFunctions + i];
    if (n == 0) continue;
    if (kOthers[i].weight == Weight::kLost) {
      facts.not_recorded.push_back({fmt::format("{} {}", kOthers[i].noun, kOthers[i].text), "", n});
      continue;
    }
    const std::string sentence =
        fmt::format("{} {}{} {}", n, kOthers[i].noun, n == 1 ? "" : "s", kOthers[i].text);
    if (kOthers[i].weight == Weight::kPart) {
      header.warnings.push_back(sentence + ": not in the trace");
    } else {
      remarks.push_back(sentence);
    }
  }
  for (const std::string& r : remarks) header.notes.push_back(r + ".");
  header.notes.push_back(facts.clock == traces::ComputeClock::kWall
                             ? "Compute times are wall times between MPI calls."
                             : "Compute times are CPU times of the calling thread between MPI calls.");
  for (const std::string& p : programs) header.notes.push_back("Program: " + p + ".");
}

// Columns made of blanks and tabs (MPICH's "MPICH Version:\t4.0.2") become words of a line; lines stay.
std::string single_spaced(const std::string& text) {
  std::string words;
  for (const char c : text) {
    const bool blank = c == ' ' || c == '\t';
    if (!blank || (!words.empty() && words.back() != ' ')) words += blank ? ' ' : c;
  }
  return words;
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
    const SpoolHeader& s = spool->header;
    h.hostnames.push_back(text_of(s.hostname, sizeof s.hostname));
    h.clock_resolution_ps = s.clock_resolution_ns * 1000;
    h.mpi_version = single_spaced(text_of(s.mpi_version, sizeof s.mpi_version));
  }
  return h;
}

void append_program(traces::TraceWriter& writer, RankId rank, const RankProgram& program,
                    std::size_t block_ops) {
  traces::OpBlock block;
  block.rank = rank;
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    Op op = program.ops[i];
    if (op.extra != traces::kNoList) op.extra = block.add_list(program.list(op));
    block.ops.push_back(op);
    if (block.ops.size() < block_ops && i + 1 < program.ops.size()) continue;
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

Result<RecordedTrace> merge_job(const Job& job, const std::string& directory, const std::string& path,
                                const RunInfo& info) {
  RecordedTrace made;
  made.path = path;
  made.ranks = static_cast<std::uint32_t>(job.ranks.size());
  WEFT_ASSIGN(Survey survey, Surveyor(job).run());
  const traces::OpLimits limits{made.ranks, &survey.communicators, 0};
  // A header cannot be written after the operations: with salvage every rank is translated twice.
  const auto program_of = [&](std::size_t rank, std::optional<Error>& damage) -> Result<RankProgram> {
    WEFT_ASSIGN(const SpoolReader spool, reopen(*job.ranks[rank]));
    const Overlaps* overlaps = survey.overlaps.calls.empty() ? nullptr : &survey.overlaps;
    return translate(spool, {survey.of_rank[rank], limits, survey.end[rank], overlaps, rank}, damage);
  };
  for (std::size_t rank = 0; rank < job.ranks.size(); ++rank) {
    if (!job.ranks[rank]) continue;
    if (info.salvage && !survey.damage[rank]) WEFT_TRY(program_of(rank, survey.damage[rank]));
    if (survey.damage[rank] && !info.salvage) return *survey.damage[rank];
  }
  traces::TraceHeader header = header_of(job, info);
  describe(job, survey, header, made.remarks);
  if (std::ranges::any_of(job.ranks, [](const auto& r) { return !r; }))
    for (const std::string& why : {lost_program(directory), wrong_mpi(directory)})
      if (!why.empty()) header.warnings.push_back(why);
  made.warnings = traces::trace_warnings(header);
  made.notes = header.notes;
  WEFT_ASSIGN(auto writer, traces::TraceWriter::create(path, header));
  for (std::size_t i = 1; i < survey.communicators.size(); ++i) {
    const CommId id = writer.add_communicator(survey.communicators[i]);
    WEFT_CHECK(id.index() == i, "the writer numbers communicators in the order they come");
  }
  traces::SendCounter counter;
  for (std::size_t rank = 0; rank < job.ranks.size(); ++rank) {
    if (!job.ranks[rank]) continue;
    const RankId id(static_cast<std::uint32_t>(rank));
    std::optional<Error> damage;
    WEFT_ASSIGN(const RankProgram program, program_of(rank, damage));
    if (damage && !info.salvage) return std::move(*damage);
    if (program.ops.empty() && made.ranks > traces::format::kFreeRanks) {
      const Spool& spool = *job.ranks[rank];
      return bad_input(BytePos{spool.path, spool.header.header_bytes, -1, spool.header.world_rank}.text(),
                       "a spool without an operation");
    }
    for (const Op& op : program.ops) counter.add(id, op, program.list(op));
    append_program(writer, id, program, traces::block_ops_for(made.ranks));
  }
  made.totals = counter.totals();
  WEFT_TRY(writer.finish());
  return made;
}

}  // namespace

namespace {
std::string left_in(const std::string& path) {
  auto text = read_file(path, 1 << 16);
  return text ? std::move(text).value() : std::string();
}
}  // namespace

std::string lost_program(const std::string& directory) { return left_in(directory + "/" + kLostFile); }

std::string program_with_sessions(const std::string& directory) {
  return left_in(directory + "/" + kSessionFile);
}

std::string wrong_mpi(const std::string& directory) { return left_in(directory + "/" + kWrongMpiFile); }

Result<std::vector<RecordedTrace>> merge_spools(const std::string& directory, const std::string& output,
                                                const RunInfo& info) {
  WEFT_ASSIGN(const auto jobs, open_jobs(directory));
  std::vector<RecordedTrace> made;
  std::size_t number = 1;
  for (const Job& job : jobs) {
    // Only the first has the name that was asked for: the others take one that is free.
    std::string path = numbered(output, number++);
    while (!made.empty() && std::filesystem::exists(path)) path = numbered(output, number++);
    WEFT_ASSIGN(auto trace, merge_job(job, directory, path, info));
    made.push_back(std::move(trace));
  }
  return made;
}

}  // namespace weft::recorder
