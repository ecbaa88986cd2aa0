// liballprof text -> operations. The format and what becomes of what: docs/liballprof.md; a line: line.hpp, calls.def.
//
// A file is read twice: a line says nothing of what follows it, and communicators are told by all ranks together. First each rank is
// surveyed (survey.hpp), then communicators.hpp makes those of the trace, then each rank is translated (translator.hpp).
//
// Memory: what MemoryTrace takes for the operations, of the survey the communicators and 16 bytes for each request that a test or a wait
// for any or some completed, 8 for each that was copied, and one rank's requests and where it posted them at a time.
//
// Errors: kBadInput with FILE:LINE:COLUMN; kNotSupported for functions whose lines do not say how much they move.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "core/source_pos.hpp"
#include "traces/formats.hpp"
#include "traces/formats/liballprof/communicators.hpp"
#include "traces/formats/liballprof/input.hpp"
#include "traces/formats/liballprof/survey.hpp"
#include "traces/formats/liballprof/translator.hpp"
#include "traces/memory_trace.hpp"
#include "traces/op_rules.hpp"
#include "traces/weft/format.hpp"

namespace weft::traces {
namespace {

using namespace allprof;

// What a comment says of the host: its name, of later recorders a point and its domain, "(none)" where it has none.
std::string host_of(std::string_view line) {
  for (const std::string_view begin : {"# host: ", "# hostname: "}) {
    if (!line.starts_with(begin)) continue;
    line.remove_prefix(begin.size());
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
    if (line.ends_with(".(none)")) line.remove_suffix(7);
    if (line.ends_with('.')) line.remove_suffix(1);
    return std::string(line);
  }
  return {};
}

class AllprofReader {
 public:
  AllprofReader(RankText input, bool salvage) : input_(std::move(input)), salvage_(salvage) {}
  Result<std::unique_ptr<TraceReader>> read();

 private:
  // What is done with the lines of a rank: each call of MPI, then its end.
  using Take = std::function<Result<void>(std::size_t part, const Line& line, const LineParser& parser)>;
  using End = std::function<Result<void>(std::size_t part)>;
  Result<void> each_line(const Take& take, const End& end);
  Result<void> survey();
  Result<void> translate(MemoryTrace& trace);
  [[nodiscard]] Result<void> first_is_own(std::size_t part) const;
  void number_copies();
  [[nodiscard]] Error too_many_named(std::size_t part, std::uint32_t line) const;

  const std::string& name_of(std::size_t part) const { return input_.parts()[part].name; }

  RankText input_;
  bool salvage_;
  Losses losses_;
  std::vector<std::string> hosts_;
  std::vector<CommLog> logs_;
  std::vector<std::uint32_t> first_named_;  // the line of each rank's first communicator
  std::vector<Ahead> ahead_;
  Communicators comms_;
  std::uint64_t cut_off_ = 0;
};

Result<void> AllprofReader::each_line(const Take& take, const End& end) {
  LineSplitter splitter;
  Line line;
  std::optional<LineParser> parser;
  cut_off_ = 0;
  std::size_t part = 0;
  const LineSplitter::Take one = [&](std::string_view text, std::uint32_t number,
                                     bool ended) -> Result<void> {
    if (hosts_[part].empty()) hosts_[part] = host_of(text);
    const auto call = parser->parse(text, number, line);
    if (!call && !ended && salvage_) {
      ++cut_off_;
      return {};
    }
    if (!call) return call.error();
    // The recorder ends each line; what is left of one may read as a whole one.
    if (*call && !ended && line.call != kFinalize) ++cut_off_;
    return *call ? take(part, line, *parser) : Result<void>{};
  };
  return input_.read([&](std::size_t of, std::string_view text, bool last) -> Result<void> {
    part = of;
    if (!parser) parser.emplace(name_of(part));
    WEFT_TRY(splitter.feed(name_of(part), text, last, one));
    if (!last) return {};
    splitter = {};
    parser.reset();
    return end(part);
  });
}

// The first communicator that a program names is the world, or its own.
Result<void> AllprofReader::first_is_own(std::size_t part) const {
  const CommLog& log = logs_[part];
  if (log.uses.empty()) return {};
  const CommUse& first = log.uses[0];
  const auto ranks = static_cast<std::int64_t>(logs_.size());
  if (first.size == ranks ? first.rank == static_cast<std::int64_t>(part)
                          : first.size == 1 && first.rank == 0)
    return {};
  return bad_input(SourcePos{name_of(part), first_named_[part], 0}.text(), "the file is not that of its rank",
                   fmt::format("rank {} of {}", first.rank, first.size),
                   fmt::format("rank {} of {}, and a file for each", part, ranks));
}

// Samples that were made by hand are copies of one file, and say that all ranks are rank 0. schedgen does not look.
void AllprofReader::number_copies() {
  const auto ranks = static_cast<std::int32_t>(logs_.size());
  const auto is_copy = [ranks](const CommLog& log) {
    return !log.uses.empty() &&
           std::ranges::all_of(log.uses, [&](const CommUse& u) { return u.rank == 0 && u.size == ranks; });
  };
  if (ranks < 2 || !std::ranges::all_of(logs_, is_copy)) return;
  losses_.copies = true;
  for (std::int32_t r = 0; r < ranks; ++r)
    for (CommUse& u : logs_[static_cast<std::size_t>(r)].uses) u.rank = r;
}

Error AllprofReader::too_many_named(std::size_t part, std::uint32_t line) const {
  Error e = not_supported("calls that name so many requests so often",
                          fmt::format("at most {} by all calls of a rank", kMostNamed));
  e.where = SourcePos{name_of(part), line, 0}.text();
  return e;
}

Result<void> AllprofReader::survey() {
  std::optional<Survey> rank;
  WEFT_TRY(each_line(
      [&](std::size_t part, const Line& line, const LineParser&) -> Result<void> {
        if (!rank) rank.emplace();
        rank->add(line);
        if (rank->too_many_named()) return too_many_named(part, line.number);
        if (first_named_[part] == 0 && !rank->comms().uses.empty()) first_named_[part] = line.number;
        return {};
      },
      [&](std::size_t part) -> Result<void> {
        if (!rank) return bad_input(name_of(part), "the file holds no call of MPI");
        rank->finish();
        logs_[part] = std::move(rank->comms());
        ahead_[part] = std::move(rank->ahead());
        rank.reset();
        return {};
      }));
  number_copies();
  for (std::size_t part = 0; part < logs_.size(); ++part) WEFT_TRY(first_is_own(part));
  WEFT_ASSIGN(comms_, make_communicators(logs_, hosts_, name_of(0), losses_));
  logs_ = {};
  return {};
}

Result<void> AllprofReader::translate(MemoryTrace& trace) {
  const OpLimits limits{trace.header().ranks, &trace.communicators(), 0};
  std::optional<Translator> rank;
  OpBlock block;
  std::vector<std::uint32_t> lines;
  std::uint32_t source = 0;
  const auto flush = [&](std::size_t part) {
    block.rank = RankId(static_cast<std::uint32_t>(part));
    if (!block.ops.empty()) trace.append(block, source, lines);
    block.clear();
    lines.clear();
  };
  const auto begin = [&](std::size_t part) {
    rank.emplace(static_cast<std::uint32_t>(part), comms_, std::move(ahead_[part]), losses_);
    source = trace.add_source(name_of(part));
  };
  return each_line(
      [&](std::size_t part, const Line& line, const LineParser& parser) -> Result<void> {
        if (!rank) begin(part);
        const std::size_t before = block.ops.size();
        WEFT_TRY(rank->add(line, parser, block));
        lines.resize(block.ops.size(), line.number);
        for (std::size_t i = before; i < block.ops.size(); ++i) {
          const Op& op = block.ops[i];
          if (surely_well_formed(op, limits.ranks, limits.communicators->size())) continue;
          if (const char* what = op_fault(op, block.list(op), limits))
            return bad_input(parser.position(), what, std::string(op_name(op.kind)));
        }
        if (block.ops.size() + 8 > kMaxBlockOps || block.lists.size() > Translator::kBlockListValues)
          flush(part);
        return {};
      },
      [&](std::size_t part) -> Result<void> {
        if (rank) rank->finish(block);
        flush(part);
        rank.reset();
        return {};
      });
}

Result<std::unique_ptr<TraceReader>> AllprofReader::read() {
  const std::size_t ranks = input_.parts().size();
  if (ranks > format::kMaxRanks)
    return bad_input(name_of(0), "the trace has too many ranks", std::to_string(ranks),
                     fmt::format("at most {}", format::kMaxRanks));
  hosts_.resize(ranks);
  logs_.resize(ranks);
  first_named_.resize(ranks);
  ahead_.resize(ranks);
  WEFT_TRY(survey());
  TraceHeader header;
  header.ranks = static_cast<std::uint32_t>(ranks);
  header.recorder = "liballprof";
  header.clock_resolution_ps = 1'000'000;
  if (std::ranges::none_of(hosts_, &std::string::empty)) header.hostnames = hosts_;
  auto trace = std::make_unique<MemoryTrace>(std::move(header));
  for (std::size_t c = 1; c < comms_.all.size(); ++c) trace->add_communicator(comms_.all[c]);
  WEFT_TRY(translate(*trace));
  losses_.cut_off = cut_off_;
  losses_.describe(trace->building_header());
  for (const auto& f : input_.ignored())
    trace->add_note(fmt::format("{} was ignored: not a rank's file.", f));
  return std::unique_ptr<TraceReader>(std::move(trace));
}

}  // namespace

bool sniff_liballprof(const std::string& path, std::string_view first_bytes) {
  return allprof::looks_like_ours(path, first_bytes);
}

std::vector<std::string> files_liballprof(const std::vector<std::string>& paths) {
  std::vector<std::string> out;
  if (const auto input = allprof::open_input(paths))
    for (const RankText::Part& p : input->parts())
      if (p.member.empty()) out.push_back(p.path);
  return out;
}

Result<std::unique_ptr<TraceReader>> open_liballprof(const std::vector<std::string>& paths,
                                                     const OpenOptions& options) {
  WEFT_ASSIGN(RankText input, allprof::open_input(paths));
  return AllprofReader(std::move(input), options.allow_truncated).read();
}

}  // namespace weft::traces
