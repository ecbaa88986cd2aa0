#include "cli/flags/journal_flags.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <utility>

#include "cli/tell.hpp"

namespace weft::cli {
namespace {

// A variable of the environment that is a count.
std::optional<std::uint32_t> count_of(const char* name) {
  const char* text = std::getenv(name);
  if (text == nullptr) return std::nullopt;
  const std::string_view digits(text);
  std::uint32_t n = 0;
  const auto [at, code] = std::from_chars(digits.data(), digits.data() + digits.size(), n);
  if (code != std::errc{} || at != digits.data() + digits.size()) return std::nullopt;
  return n;
}

// The task of a Slurm job array that this is: its tasks are counted from the first, in steps of --array=0-9:STEP.
Result<predict::Shard> slurm_shard() {
  const auto id = count_of("SLURM_ARRAY_TASK_ID"), count = count_of("SLURM_ARRAY_TASK_COUNT");
  if (!id || !count)
    return usage_error("--shard slurm outside a Slurm job array", {},
                       "SLURM_ARRAY_TASK_ID and SLURM_ARRAY_TASK_COUNT (sbatch --array=1-N), or --shard I/N");
  const std::uint32_t first = count_of("SLURM_ARRAY_TASK_MIN").value_or(*id < *count ? 0 : 1);
  const std::uint32_t step = std::max(1u, count_of("SLURM_ARRAY_TASK_STEP").value_or(1));
  if (*id < first || (*id - first) % step != 0 || (*id - first) / step >= *count)
    return usage_error("--shard slurm: the tasks are not an even range",
                       fmt::format("task {} of {} from {}", *id, *count, first), "sbatch --array=1-N");
  return predict::parse_shard(fmt::format("{}/{}", (*id - first) / step + 1, *count));
}

// Which of the processes that a launcher started this is. Open MPI, MPICH and those that descend from it, Slurm; the
// innermost launcher's word counts, and mpirun runs inside of an allocation of Slurm.
Result<std::uint32_t> launched_rank() {
  for (const auto& [rank, size] :
       {std::pair("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"), std::pair("PMI_RANK", "PMI_SIZE"),
        std::pair("SLURM_PROCID", "SLURM_NTASKS")}) {
    const auto r = count_of(rank), n = count_of(size);
    if (r && n && *r < *n) return *r;
  }
  return usage_error(
      "--spread without a launcher", {},
      "mpirun -n N weft ... or srun -n N weft ... (OMPI_COMM_WORLD_RANK, PMI_RANK or SLURM_PROCID "
      "with its size)");
}

}  // namespace

void JournalFlags::add(CLI::App& app) {
  app.add_option(kJournalFlag, folders_,
                 "keep every finished point in DIR (made if it is not there); started again, what is there "
                 "is not run again; once more for folders that are only read")
      ->type_name("DIR")
      ->allow_extra_args(false);
  app.add_option("--shard", shard_,
                 "with --journal: run only part I of N of the points; slurm: the part that the task of a "
                 "Slurm job array is; merge: run none, all must be there (as weft merge) [all points]")
      ->type_name("I/N|slurm|merge");
  app.add_flag(
      "--spread", spread_,
      "with --journal, under mpirun or srun: all processes take points, the first one tells the result "
      "when all are done, the others write nothing");
}

Result<void> JournalFlags::open(const CommonOptions& common, bool outputs) {
  if (!wanted()) {
    if (!shard_.empty())
      return usage_error("--shard without --journal", shard_, "--journal DIR, which keeps its points");
    if (spread_)
      return usage_error("--spread without --journal", {}, "--journal DIR, through which points are shared");
    return {};
  }
  if (spread_ && !shard_.empty())
    return usage_error("--spread with --shard", shard_,
                       "one of them: processes of --spread share all points");
  if (spread_) {
    WEFT_ASSIGN(rank_, launched_rank());
  }
  const bool merge = shard_ == kShardMerge;
  if (asks_for_part()) {
    WEFT_ASSIGN(plan_.shard, shard_ == "slurm" ? slurm_shard() : predict::parse_shard(shard_));
    if (outputs || !common.json.empty() || !common.csv.empty())
      return usage_error("a shard has some of the points only", "an output",
                         "weft merge DIR --json FILE, when all are done");
  }
  using predict::Journal;
  WEFT_ASSIGN(journal_,
              Journal::open(folders_, merge ? Journal::Access::kRead : Journal::Access::kAppend,
                            {common.command, plan_.shard ? plan_.shard->text() : ""}, WEFT_VERSION));
  if (const std::string odd = journal_->oddities(); !odd.empty()) tell("note: {}\n", odd);
  interrupt_.emplace();
  plan_.journal = journal_.get();
  plan_.run_missing = !merge;
  plan_.stop = interrupt_->flag();
  return {};
}

std::string JournalFlags::shard_text(const predict::PointsDone& done, std::size_t awaited) const {
  if (!sharded()) return {};
  const std::string then =
      awaited == 0 ? fmt::format("when all shards are, weft merge {} tells the result", folders_.front())
                   : fmt::format(
                         "its next ones depend on {} of other shards: run those, then this again, until weft "
                         "merge {} tells the result",
                         awaited, folders_.front());
  return fmt::format("shard {}: {} of {} points done, {} of them before; {}\n", plan_.shard->text(),
                     done.finished, done.wanted, done.found, then);
}

std::string JournalFlags::stopped(const predict::PointsDone& done) const {
  return done.interrupted ? stopped(done.finished, done.wanted) : std::string();
}

std::string JournalFlags::stopped(std::size_t finished, std::size_t wanted) const {
  return fmt::format("interrupted after {} of {} points: journal {} keeps them for the same command",
                     finished, wanted, folders_.front());
}

}  // namespace weft::cli
