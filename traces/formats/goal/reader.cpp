// LogGOPSim's GOAL, text or binary -> operations. docs/goal.md says what becomes of what.
//
// A file is read rank by rank: schedule.hpp -> order.hpp -> MemoryTrace. Memory: the schedule of one rank, about 90 bytes
// an operation and its dependency, and the compact blocks of all. Where it leaves the order open it is read once more, and all
// ranks are put in order together (together.hpp): these bytes for all of them, so up to kMostTogether operations.
#include <fmt/format.h>

#include <bitset>
#include <cstring>
#include <fstream>
#include <optional>

#include "core/counted.hpp"
#include "core/files/input_file.hpp"
#include "traces/formats.hpp"
#include "traces/formats/goal/as_tasks.hpp"
#include "traces/formats/goal/binary.hpp"
#include "traces/formats/goal/file_order.hpp"
#include "traces/formats/goal/order.hpp"
#include "traces/formats/goal/text.hpp"
#include "traces/formats/goal/together.hpp"

namespace weft::traces {
namespace {

constexpr std::string_view kFirstWord = "num_ranks";
constexpr std::uint64_t kMostTogether = 1u << 24;

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
  // `one_order`: as OpenOptions has it.
  Import(std::string path, bool binary, bool one_order)
      : path_(std::move(path)), binary_(binary), one_order_(one_order) {}

  Result<std::unique_ptr<TraceReader>> run() {
    WEFT_TRY(read({
        [this](std::uint32_t ranks) {
          begin(ranks);
          return Result<void>();
        },
        [this](std::uint32_t rank, goal::Schedule& schedule, const goal::Place& place) {
          return add(rank, schedule, place);
        },
    }));
    if (open_.places > 0) WEFT_TRY(put_together());
    describe();
    return std::unique_ptr<TraceReader>(std::move(trace_));
  }

 private:
  Result<void> read(const goal::ScheduleSink& sink) {
    return binary_ ? goal::read_binary(path_, sink) : goal::read_text(path_, sink);
  }
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
    operations_ += schedule.ops.size();
    goal::drop_doubles(schedule.dependencies);
    goal::Program program(*trace_, RankId(rank), source_of(rank));
    if (!one_order_) return add_as_it_is(rank, schedule, place, program, cpus.count());
    WEFT_ASSIGN(const goal::Open open, goal::put_in_order(schedule, place, program));
    if (open.places > 0 && open_.places == 0) first_open_ = place(open.first);
    open_.places += open.places;
    return {};
  }
  // In its order, if it has one and needs one cpu, else as a graph: messages take processor time, each of its cpu.
  Result<void> add_as_it_is(std::uint32_t rank, goal::Schedule& schedule, const goal::Place& place,
                            goal::Program& program, std::size_t cpus) {
    program.hold_back();
    if (cpus <= 1 && goal::put_in_file_order(schedule, program)) {
      program.hand_over();
      return {};
    }
    program.throw_away();
    const goal::Graph graph(schedule);
    if (cpus <= 1) {
      program.hold_back();
      WEFT_ASSIGN(const bool one, goal::put_in_its_order(schedule.ops, graph, place, program));
      if (one) {
        program.hand_over();
        return {};
      }
      program.throw_away();
    }
    if (graphs_++ == 0) first_graph_ = rank;
    return goal::put_as_tasks(schedule.ops, graph, place, program);
  }
  std::uint32_t source_of(std::uint32_t rank) {
    return binary_ ? trace_->add_source(fmt::format("{} (rank {}, node)", path_, rank)) : 0;
  }
  // Takes the order of all ranks instead, if there is one that ends.
  Result<void> put_together() {
    if (operations_ > kMostTogether) return {};
    std::vector<goal::Schedule> schedules(trace_->header().ranks);
    std::vector<std::uint32_t> sources(schedules.size(), 0);
    auto in_file_order = std::move(trace_);
    WEFT_TRY(read({
        [this](std::uint32_t ranks) {
          begin(ranks);
          return Result<void>();
        },
        [&](std::uint32_t rank, goal::Schedule& schedule, const goal::Place& /*place*/) {
          if (rank >= schedules.size())
            return Result<void>(bad_input(path_, "the file changed while it was read"));
          sources[rank] = source_of(rank);
          std::swap(schedules[rank], schedule);
          return Result<void>();
        },
    }));
    together_ = goal::put_in_order_together(schedules, sources, *trace_);
    if (!together_) trace_ = std::move(in_file_order);
    return {};
  }
  [[nodiscard]] std::string order_taken() const {
    if (!together_ && operations_ > kMostTogether)
      return "the order of the file is taken, which may take longer, or wait for ever where another one "
             "would not";
    if (!together_)
      return "the order of the file is taken, which may take longer; none was found in which every operation "
             "is executed";
    if (*together_ == 0) return "the order of the file is taken, which may take longer";
    return fmt::format(
        "the order of the file is taken but for {}, where ranks would wait for each other in it; this may "
        "take longer",
        counted(*together_, "wait"));
  }
  void describe() {
    if (trace_->totals().ops == 0) trace_->add_warning("The schedule holds no operation.");
    if (open_.places > 0)
      trace_->add_warning(fmt::format(
          "{} where the schedule leaves open which operation of a cpu is next (the first: {}): {}",
          counted(open_.places, "place"), first_open_, order_taken()));
    if (graphs_ > 0)
      trace_->add_note(
          fmt::format("The operations of {} have no one order and are tasks, as their dependencies have them "
                      "(the first: rank {}).",
                      counted(graphs_, "rank"), first_graph_));
    if (most_cpus_ > 1 && graphs_ == 0)
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
  bool one_order_;
  std::unique_ptr<MemoryTrace> trace_;
  goal::Open open_;
  std::string first_open_;
  std::uint64_t operations_ = 0;
  std::optional<std::uint64_t> together_;  // waits in another order than that of the file
  std::size_t most_cpus_ = 0;
  std::uint64_t other_nics_ = 0;
  std::uint64_t graphs_ = 0;  // ranks whose operations are tasks
  std::uint32_t first_graph_ = 0;
};

}  // namespace

bool sniff_goal(const std::string& /*path*/, std::string_view first_bytes) {
  return is_binary(first_bytes) || is_text(first_bytes);
}

std::vector<std::string> files_goal(const std::vector<std::string>& /*paths*/) { return {}; }

Result<std::unique_ptr<TraceReader>> open_goal(const std::vector<std::string>& paths,
                                               const OpenOptions& options) {
  if (paths.size() != 1)
    return usage_error("a GOAL schedule is one file", fmt::format("{} paths", paths.size()), "one path");
  std::string first(8, '\0');
  std::ifstream in(paths[0], std::ios::binary);
  in.read(first.data(), 8);
  if (!in.is_open() || in.bad()) return bad_input(paths[0], "the file cannot be read");
  return Import(paths[0], is_binary(first), options.one_order).run();
}

}  // namespace weft::traces
