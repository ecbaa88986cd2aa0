// Dimemas traces (.dim) -> operations: docs/dimemas.md says what becomes of what.
//
// A file is read twice. Opening reads it once: what is wrong with a line is found there, and what only the records of all tasks
// tell is kept (CollectiveLog, Channels; where messages do not match in their order the file is read once more). Then each
// next_block() reads on where its task stopped; so any number of tasks can be read interleaved, with one open file. The records of
// a task stand together, those of tasks in any order; where that is, is found: what the file says of it at its end may be
// missing, or of the file as it was before it was edited.
//
// Memory: per task what a Translator holds; not the operations.
//
// Errors: kBadInput with FILE:LINE:COLUMN; kNotSupported for what this version does not read.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "core/counted.hpp"
#include "core/source_pos.hpp"
#include "traces/formats.hpp"
#include "traces/formats/dimemas/head.hpp"
#include "traces/formats/dimemas/translator.hpp"
#include "traces/send_counter.hpp"

namespace weft::traces::dimemas {
namespace {

// Values of the lists of a block before it ends, whatever its operations.
constexpr std::size_t kMostListed = 1u << 17;

class DimemasReader final : public TraceReader {
 public:
  Result<void> open(const std::string& path);

  const TraceHeader& header() const override { return header_; }
  const TraceTotals& totals() const override { return totals_; }
  const std::vector<Communicator>& communicators() const override { return head_->groups.all(); }
  const std::vector<std::string>& regions() const override { return regions_; }
  std::uint64_t ops_of(RankId rank) const override { return tasks_.at(rank.index()).ops; }
  Result<bool> next_block(RankId rank, OpBlock& out) override;
  void rewind() override {
    for (Task& t : tasks_) t.translator.reset();
  }
  std::string position(RankId rank, std::uint64_t index) const override;

 private:
  struct Task {
    LinePos from;
    bool found = false;
    std::uint64_t ops = 0;
    // Of the reading that is under way; no translator: at the start.
    std::unique_ptr<Translator> translator;
    LinePos pos;
    std::uint64_t next_op = 0;
    bool ended = false;
  };
  // Calls each(record, its place, line, fields) for all records. Whether offsets follow. Errors are those of lines.
  template <class Each>
  Result<bool> for_each_record(LineReader& lines, Each each) const;
  Result<void> survey(LineReader& lines, Losses& losses);
  Result<void> untangle(LineReader& lines, Losses& losses);
  // Whether the next line is a record of this task.
  static Result<bool> next_record(LineReader& lines, std::uint32_t tasks, std::uint32_t task, Line& line,
                                  Record& r);

  std::string path_;
  std::optional<Head> head_;
  std::unique_ptr<Shared> shared_;
  std::vector<Task> tasks_;
  TraceHeader header_;
  TraceTotals totals_;
  std::vector<std::string> regions_;
  std::size_t block_ops_ = kMaxBlockOps;
  LineReader lines_;
};

bool is_blank_line(const Line& line) { return line.text.empty(); }

template <class Each>
Result<bool> DimemasReader::for_each_record(LineReader& lines, Each each) const {
  Line line;
  Record r;
  bool offsets = false;
  lines.seek(head_->records);
  for (;;) {
    const LinePos at = lines.pos();
    WEFT_ASSIGN(const bool more, lines.next(line));
    if (!more) return offsets;
    if (is_blank_line(line)) continue;
    Fields f(line);
    if (line.text.starts_with("s:")) {
      offsets = true;
    } else if (offsets) {
      (void)f.fail("a line behind the offsets of the tasks", "the end of the file");
      return std::move(f.error());
    } else if (!read_record(f, head_->tasks, r) || !each(r, at, line, f)) {
      return std::move(f.error());
    }
  }
}

Result<void> DimemasReader::survey(LineReader& lines, Losses& losses) {
  SendCounter counter;
  OpBlock block;
  std::optional<Translator> translator;
  std::uint32_t task = 0;
  const auto drain = [&] {
    tasks_[task].ops += block.ops.size();
    for (const Op& op : block.ops) counter.add(RankId(task), op, block.list(op));
    block.clear();
  };
  const auto end_task = [&] {
    if (!translator) return;
    translator->finish(block);
    drain();
    translator.reset();
  };
  const auto each = [&](const Record& r, const LinePos& at, const Line& line, Fields& f) {
    if (!translator || r.task != task) {
      end_task();
      Task& t = tasks_[r.task];
      if (t.found)
        return f.fail_at(kTaskField, fmt::format("records of task {} stand in two places", r.task),
                         fmt::format("all of them from line {} on", t.from.number));
      t.found = true;
      t.from = at;
      task = r.task;
      translator.emplace(*shared_, task, &losses);
    }
    if (!translator->add(r, line.number, f, block)) return false;
    if (block.ops.size() + Translator::kMostOps > kMaxBlockOps) drain();
    return true;
  };
  WEFT_ASSIGN(const bool offsets, for_each_record(lines, each));
  end_task();
  losses.cut_off = head_->offsets && !offsets;
  totals_ = counter.totals();
  return {};
}

// Of messages that do not match in their order.
Result<void> DimemasReader::untangle(LineReader& lines, Losses& losses) {
  Channels& channels = shared_->channels;
  if (channels.ends_in_order()) return {};
  WEFT_TRY(for_each_record(lines, [&](const Record& r, const LinePos&, const Line&, Fields&) {
    const bool send = r.kind == RecordKind::send;
    if ((send || r.kind == RecordKind::receive) && channels.communicator(r) == CommId(0))
      channels.give(r, send);
    return true;
  }));
  channels.given();
  losses.own_tags = channels.channels_with_own_tags();
  if (!channels.out_of_tags()) return {};
  Error e =
      not_supported("a Dimemas trace in which more messages match out of their order than there are tags",
                    "tags that are smaller");
  e.where = path_;
  return e;
}

Result<void> DimemasReader::open(const std::string& path) {
  path_ = path;
  LineReader lines;
  WEFT_TRY(lines.open(path));
  lines_.open(lines);
  WEFT_ASSIGN(Head head, read_head(lines));
  head_.emplace(std::move(head));
  shared_ = std::make_unique<Shared>(head_->groups, "a Dimemas trace");
  header_.ranks = head_->tasks;
  header_.recorder = "dimemas";
  header_.clock_resolution_ps = 1000;
  block_ops_ = block_ops_for(header_.ranks);
  tasks_.resize(header_.ranks);

  Losses losses;
  WEFT_TRY(survey(lines, losses));
  WEFT_TRY(shared_->collectives.settle(path_));
  losses.shared_out = shared_->collectives.shared_out();
  WEFT_TRY(untangle(lines, losses));
  if (totals_.ops == 0) return bad_input(path_, "the trace holds no operation", {}, "records 1, 2, 3 or 10");
  losses.without_records = static_cast<std::uint64_t>(std::ranges::count(tasks_, false, &Task::found));
  losses.communicators = head_->communicators;
  losses.defined = head_->defined;
  losses.describe(header_);
  return {};
}

Result<bool> DimemasReader::next_record(LineReader& lines, std::uint32_t tasks, std::uint32_t task,
                                        Line& line, Record& r) {
  for (;;) {
    WEFT_ASSIGN(const bool more, lines.next(line));
    if (!more || line.text.starts_with("s:")) return false;
    if (is_blank_line(line)) continue;
    Fields f(line);
    if (!read_record(f, tasks, r)) return std::move(f.error());
    return r.task == task;
  }
}

Result<bool> DimemasReader::next_block(RankId id, OpBlock& out) {
  Task& t = tasks_.at(id.index());
  out.clear();
  out.rank = id;
  if (!t.translator) {
    t.translator = std::make_unique<Translator>(*shared_, id.index(), nullptr);
    t.pos = t.from;
    t.next_op = 0;
    t.ended = !t.found;
  }
  out.first_op = t.next_op;
  if (t.ended) return false;
  lines_.seek(t.pos);
  Line line;
  Record r;
  // With some operations of it a block is one of a record each that fits whatever it makes.
  const std::size_t most = std::max(block_ops_, 2 * Translator::kMostOps) - Translator::kMostOps;
  while (!t.ended && out.ops.size() < most && out.lists.size() < kMostListed) {
    WEFT_ASSIGN(const bool more, next_record(lines_, head_->tasks, id.index(), line, r));
    Fields f(line);
    if (!more) {
      t.translator->finish(out);
      t.ended = true;
    } else if (!t.translator->add(r, line.number, f, out)) {
      return std::move(f.error());
    }
  }
  t.pos = lines_.pos();
  t.next_op += out.ops.size();
  return !out.ops.empty();
}

// By reading the task again up to there: seldom asked.
std::string DimemasReader::position(RankId id, std::uint64_t index) const {
  const Task& t = tasks_.at(id.index());
  LineReader lines;
  if (!t.found) return path_;
  lines.open(lines_);
  lines.seek(t.from);
  Translator translator(*shared_, id.index(), nullptr);
  OpBlock block;
  Line line;
  Record r;
  for (std::uint64_t ops = 0; ops <= index; block.clear()) {
    const auto more = next_record(lines, head_->tasks, id.index(), line, r);
    if (!more || !*more) break;
    Fields f(line);
    if (!translator.add(r, line.number, f, block)) break;
    ops += block.ops.size();
  }
  return SourcePos{path_, static_cast<std::uint32_t>(std::min<std::uint64_t>(line.number, UINT32_MAX)), 0}
      .text();
}

}  // namespace
}  // namespace weft::traces::dimemas

namespace weft::traces {

bool sniff_dimemas(const std::string& /*path*/, std::string_view first_bytes) {
  return dimemas::looks_like_head(first_bytes);
}

std::vector<std::string> files_dimemas(const std::vector<std::string>& /*paths*/) { return {}; }

Result<std::unique_ptr<TraceReader>> open_dimemas(const std::vector<std::string>& paths,
                                                  const OpenOptions& /*options*/) {
  if (paths.size() != 1)
    return usage_error("a Dimemas trace is one file", fmt::format("{} paths", paths.size()), "one path");
  auto reader = std::make_unique<dimemas::DimemasReader>();
  WEFT_TRY(reader->open(paths[0]));
  return std::unique_ptr<TraceReader>(std::move(reader));
}

}  // namespace weft::traces
