// Paraver traces (.prv) of Extrae -> operations: docs/dimemas.md says what becomes of what.
//
// The records of all tasks stand by turns in a file, in order of time: they are put in order by task (rows.hpp), become the records of
// a Dimemas trace (calls.hpp), and those operations (dimemas/translator.hpp): twice, as there. Operations are held in memory
// (memory_trace.hpp).
//
// Errors: kBadInput with FILE:LINE:COLUMN, or FILE:LINE of what only the records of a task together tell; kNotSupported.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "core/source_pos.hpp"
#include "traces/formats.hpp"
#include "traces/formats/dimemas/translator.hpp"
#include "traces/formats/paraver/calls.hpp"
#include "traces/memory_trace.hpp"
#include "traces/op_rules.hpp"

namespace weft::traces::paraver {
namespace {

using dimemas::Fields;
using dimemas::Losses;
using dimemas::Record;
using dimemas::RecordKind;
using dimemas::Translator;

// Values of the lists of a block before it ends, whatever its operations.
constexpr std::size_t kMostListedOfBlock = 1u << 17;

class ParaverImport {
 public:
  explicit ParaverImport(const std::string& path) : path_(path) {}
  Result<std::unique_ptr<TraceReader>> run();

 private:
  // Calls each(task, made) for the records of all tasks, task by task, and end(task) behind those of each.
  template <class Each, class End>
  Result<void> for_each_record(Losses* losses, Each each, End end);
  template <class Made>
  Result<void> add(Translator& translator, const Made& made, OpBlock& block);
  Result<void> survey();
  Result<void> untangle();
  Result<void> store(MemoryTrace& trace);

  std::string path_;
  std::optional<Head> head_;
  Rows rows_;
  std::vector<std::int64_t> last_events_;  // by task
  std::unique_ptr<dimemas::Shared> shared_;
  Losses losses_;
  std::uint64_t ops_ = 0;
  bool has_calls_ = false;
};

template <class Each, class End>
Result<void> ParaverImport::for_each_record(Losses* losses, Each each, End end) {
  auto row = rows_.reader();
  std::vector<Calls::Made> made;
  const auto hand_over = [&](std::uint32_t task) -> Result<void> {
    for (const auto& m : made) WEFT_TRY(each(task, m));
    made.clear();
    return {};
  };
  for (std::uint32_t task = 0; task < head_->tasks; ++task) {
    Calls calls(*head_, task, losses);
    for (; row.more() && row.row().task == task; row.next()) {
      if (!calls.add(row.row(), made))
        return bad_input(SourcePos{path_, static_cast<std::uint32_t>(row.row().line), 0}.text(),
                         fmt::format("task {} has too many records at one time", task + 1), {},
                         fmt::format("at most {}", Calls::kMostRows));
      WEFT_TRY(hand_over(task));
    }
    if (!row.status()) break;
    calls.finish(last_events_[task], made);
    WEFT_TRY(hand_over(task));
    end(task);
  }
  return row.status();
}

template <class Made>
Result<void> ParaverImport::add(Translator& translator, const Made& made, OpBlock& block) {
  Fields f = Fields::of_whole_line({&path_, made.line, {}});
  if (!translator.add(made.record, made.line, f, block)) return std::move(f.error());
  return {};
}

Result<void> ParaverImport::survey() {
  std::optional<Translator> translator;
  OpBlock block;
  std::vector<bool> found(head_->tasks, false);
  const auto count = [&] {
    ops_ += block.ops.size();
    block.clear();
  };
  const auto each = [&](std::uint32_t task, const auto& made) -> Result<void> {
    if (!translator) translator.emplace(*shared_, task, &losses_);
    found[task] = true;
    has_calls_ |= made.record.kind == RecordKind::event;
    auto added = add(*translator, made, block);
    count();
    return added;
  };
  const auto end = [&](std::uint32_t /*task*/) {
    if (translator) translator->finish(block);
    count();
    translator.reset();
  };
  WEFT_TRY(for_each_record(&losses_, each, end));
  losses_.without_records = static_cast<std::uint64_t>(std::ranges::count(found, false));
  WEFT_TRY(shared_->collectives.settle(path_));
  losses_.shared_out = shared_->collectives.shared_out();
  return {};
}

Result<void> ParaverImport::untangle() {
  dimemas::Channels& channels = shared_->channels;
  if (channels.ends_in_order()) return {};
  const auto give = [&](std::uint32_t /*task*/, const auto& made) -> Result<void> {
    const bool send = made.record.kind == RecordKind::send;
    if ((send || made.record.kind == RecordKind::receive) && channels.communicator(made.record) == CommId(0))
      channels.give(made.record, send);
    return {};
  };
  WEFT_TRY(for_each_record(nullptr, give, [](std::uint32_t) {}));
  channels.given();
  losses_.own_tags = channels.channels_with_own_tags();
  if (!channels.out_of_tags()) return {};
  Error e =
      not_supported("a Paraver trace in which more messages match out of their order than there are tags",
                    "tags that are smaller");
  e.where = path_;
  return e;
}

Result<void> ParaverImport::store(MemoryTrace& trace) {
  const std::size_t block_ops = std::max(block_ops_for(head_->tasks), 2 * Translator::kMostOps);
  std::optional<Translator> translator;
  OpBlock block;
  std::vector<std::uint32_t> lines;
  const auto hand_over = [&] {
    if (!block.ops.empty()) trace.append(block, 0, lines);
    block.clear();
    lines.clear();
  };
  const auto each = [&](std::uint32_t task, const auto& made) -> Result<void> {
    if (!translator) translator.emplace(*shared_, task, nullptr);
    block.rank = RankId(task);
    WEFT_TRY(add(*translator, made, block));
    lines.resize(block.ops.size(),
                 static_cast<std::uint32_t>(std::min<std::uint64_t>(made.line, UINT32_MAX)));
    if (block.ops.size() + Translator::kMostOps > block_ops || block.lists.size() > kMostListedOfBlock)
      hand_over();
    return {};
  };
  const auto end = [&](std::uint32_t task) {
    if (!translator) return;
    block.rank = RankId(task);
    translator->finish(block);
    lines.resize(block.ops.size(), lines.empty() ? 0 : lines.back());
    hand_over();
    translator.reset();
  };
  return for_each_record(nullptr, each, end);
}

Result<std::unique_ptr<TraceReader>> ParaverImport::run() {
  {
    dimemas::LineReader lines;
    WEFT_TRY(lines.open(path_));
    WEFT_ASSIGN(Head head, paraver::read_head(lines));  // not the one that `lines` brings
    head_.emplace(std::move(head));
    WEFT_ASSIGN(last_events_, read_rows(lines, *head_, rows_, losses_));
  }
  shared_ = std::make_unique<dimemas::Shared>(head_->groups, "a Paraver trace");
  losses_.communicators = head_->communicators;
  losses_.defined = head_->defined;
  WEFT_TRY(survey());
  if (ops_ == 0 && has_calls_)
    return bad_input(path_, "no call of MPI in the trace has a message, and none is a collective", {},
                     "messages whose ends lie in the calls that they are of");
  if (ops_ == 0) return bad_input(path_, "the trace holds no call of MPI", {}, "events 50000001 to 50000003");
  WEFT_TRY(untangle());
  TraceHeader header;
  header.ranks = head_->tasks;
  header.recorder = "paraver";
  header.clock_resolution_ps = head_->picoseconds;
  losses_.describe(header);
  auto trace = std::make_unique<MemoryTrace>(std::move(header));
  trace->set_communicators(head_->groups.all());
  (void)trace->add_source(path_);
  WEFT_TRY(store(*trace));
  return std::unique_ptr<TraceReader>(std::move(trace));
}

}  // namespace
}  // namespace weft::traces::paraver

namespace weft::traces {

bool sniff_paraver(const std::string& /*path*/, std::string_view first_bytes) {
  return paraver::looks_like_head(first_bytes);
}

std::vector<std::string> files_paraver(const std::vector<std::string>& /*paths*/) { return {}; }

Result<std::unique_ptr<TraceReader>> open_paraver(const std::vector<std::string>& paths,
                                                  const OpenOptions& /*options*/) {
  if (paths.size() != 1)
    return usage_error("a Paraver trace is one .prv file", fmt::format("{} paths", paths.size()), "one path");
  return paraver::ParaverImport(paths[0]).run();
}

}  // namespace weft::traces
