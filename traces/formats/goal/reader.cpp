// LogGOPSim's GOAL, text or binary -> operations. docs/goal.md says what becomes of what.
//
// A file is read once, rank by rank: schedule.hpp -> order.hpp -> MemoryTrace. Memory: the schedule of one rank, about 90 bytes
// an operation and its dependency, and the compact blocks of all.
#include <fmt/format.h>

#include <bitset>
#include <cstring>
#include <fstream>

#include "core/counted.hpp"
#include "core/files/input_file.hpp"
#include "traces/formats.hpp"
#include "traces/formats/goal/binary.hpp"
#include "traces/formats/goal/order.hpp"
#include "traces/formats/goal/text.hpp"

namespace weft::traces {
namespace {

constexpr std::string_view kFirstWord = "num_ranks";

bool is_binary(std::string_view first) {
  std::uint64_t magic = 0;
  if (first.size() < sizeof magic) return false;
  std::memcpy(&magic, first.data(), sizeof magic);
  return magic == goal::kMagic || magic == goal::kSpent;
}

// Comments and blanks, then num_ranks.
bool is_text(std::string_view first) {
  first = without_bom(first);
  for (;;) {
    first.remove_prefix(std::min(first.find_first_not_of(" \t\r\n"), first.size()));
    const bool line = first.starts_with("//");
    if (!line && !first.starts_with("/*")) return first.starts_with(kFirstWord);
    const std::size_t end = first.find(line ? "\n" : "*/", 2);
    if (end == std::string_view::npos) return false;
    first.remove_prefix(end + (line ? 1 : 2));
  }
}

class Import {
 public:
  Import(std::string path, bool binary) : path_(std::move(path)), binary_(binary) {}

  Result<std::unique_ptr<TraceReader>> run() {
    const goal::ScheduleSink sink{
        [this](std::uint32_t ranks) {
          begin(ranks);
          return Result<void>();
        },
        [this](std::uint32_t rank, goal::Schedule& schedule, const goal::Place& place) {
          return add(rank, schedule, place);
        },
    };
    WEFT_TRY(binary_ ? goal::read_binary(path_, sink) : goal::read_text(path_, sink));
    if (trace_->totals().ops == 0) return bad_input(path_, "the schedule holds no operation");
    describe();
    return std::unique_ptr<TraceReader>(std::move(trace_));
  }

 private:
  void begin(std::uint32_t ranks) {
    TraceHeader header;
    header.ranks = ranks;
    header.recorder = "goal";
    header.clock_resolution_ps = 1000;
    header.notes.emplace_back("Times of computations are nanoseconds.");
    trace_ = std::make_unique<MemoryTrace>(std::move(header));
    if (!binary_) (void)trace_->add_source(path_);
  }
  Result<void> add(std::uint32_t rank, goal::Schedule& schedule, const goal::Place& place) {
    std::bitset<256> cpus;
    for (const goal::Operation& op : schedule.ops) {
      cpus.set(op.cpu);
      other_nics_ += op.nic > 0 ? 1 : 0;
    }
    most_cpus_ = std::max(most_cpus_, cpus.count());
    const std::uint32_t source =
        binary_ ? trace_->add_source(fmt::format("{} (rank {}, node)", path_, rank)) : 0;
    goal::Program program(*trace_, RankId(rank), source);
    WEFT_ASSIGN(const goal::Open open, goal::put_in_order(schedule, place, program));
    if (open.places > 0 && open_.places == 0) first_open_ = place(open.first);
    open_.places += open.places;
    return {};
  }
  void describe() {
    if (open_.places > 0)
      trace_->add_warning(fmt::format(
          "{} where the schedule leaves open which operation of a cpu is next (the first: {}): the "
          "order of the file is taken, which may take longer",
          counted(open_.places, "place"), first_open_));
    if (most_cpus_ > 1)
      trace_->add_note(
          fmt::format("Up to {} cpus of a rank: their operations have one order, which the "
                      "dependencies make; calls of all take the rank's time.",
                      most_cpus_));
    if (other_nics_ > 0)
      trace_->add_note(fmt::format("{} on other cards than nic 0: the platform says which cards hosts have.",
                                   counted(other_nics_, "operation")));
  }

  std::string path_;
  bool binary_;
  std::unique_ptr<MemoryTrace> trace_;
  goal::Open open_;
  std::string first_open_;
  std::size_t most_cpus_ = 0;
  std::uint64_t other_nics_ = 0;
};

}  // namespace

bool sniff_goal(const std::string& /*path*/, std::string_view first_bytes) {
  return is_binary(first_bytes) || is_text(first_bytes);
}

Result<std::unique_ptr<TraceReader>> open_goal(const std::vector<std::string>& paths,
                                               const OpenOptions& /*options*/) {
  if (paths.size() != 1)
    return usage_error("a GOAL schedule is one file", fmt::format("{} paths", paths.size()), "one path");
  std::string first(8, '\0');
  std::ifstream in(paths[0], std::ios::binary);
  in.read(first.data(), 8);
  if (!in.is_open() || in.bad()) return bad_input(paths[0], "the file cannot be read");
  return Import(paths[0], is_binary(first)).run();
}

}  // namespace weft::traces
