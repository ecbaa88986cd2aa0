// SST DUMPI -> operations. The format: docs/dumpi.md; the bytes: rank_file.hpp, record.hpp, calls.def.
//
// A file is read twice. Opening reads all ranks once (survey): what is wrong with a stream is found there, and what only
// the whole of it tells is kept (Ahead, CommLog). Then communicators.hpp makes the communicators of all ranks, and each
// next_block() reads on where its rank stopped; so any number of ranks can be read interleaved, with one open file.
//
// Memory: per rank what a Translator holds, and what the survey found: 24 bytes for a receive with a wildcard that was
// not blocking, 4 for a poll place, 16 for kMaxBlockOps operations; not the operations.
//
// Errors: kBadInput with FILE@byte (record, rank); kNotSupported for what a version of DUMPI cannot say.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "core/byte_sum.hpp"
#include "core/source_pos.hpp"
#include "traces/conditional_steps.hpp"
#include "traces/formats.hpp"
#include "traces/formats/dumpi/communicators.hpp"
#include "traces/formats/dumpi/input.hpp"
#include "traces/formats/dumpi/translator.hpp"
#include "traces/op_rules.hpp"
#include "traces/send_counter.hpp"
#include "traces/weft/format.hpp"

namespace weft::traces {
namespace {

using namespace dumpi;

// Values of the lists of a block before it ends, whatever its operations.
constexpr std::size_t kBlockListValues = 1u << 17;
constexpr std::int64_t kMostSum = std::int64_t{1} << 62;

class DumpiReader final : public TraceReader {
 public:
  Result<void> open(const std::vector<std::string>& paths);

  const TraceHeader& header() const override { return header_; }
  const TraceTotals& totals() const override { return totals_; }
  const std::vector<Communicator>& communicators() const override { return comms_.all; }
  const std::vector<std::string>& regions() const override { return regions_; }
  std::uint64_t ops_of(RankId rank) const override { return ranks_.at(rank.index()).ops; }
  Result<bool> next_block(RankId rank, OpBlock& out) override;
  void rewind() override {
    for (Rank& r : ranks_) r.translator.reset();
  }
  std::string position(RankId rank, std::uint64_t index) const override;

 private:
  struct Rank {
    Ahead ahead;
    std::uint64_t ops = 0;
    // Of the reading that is under way; no translator: at the start.
    std::unique_ptr<Translator> translator;
    StreamPos pos;
    std::uint64_t next_op = 0;
    bool ended = false;
  };
  Result<void> survey(std::uint32_t rank, CommLog& log, Losses& losses);
  Result<void> survey_once(std::uint32_t rank, const Ahead& known, CommLog& log, Losses& losses, Ahead& found,
                           TraceTotals& totals);
  Result<void> globalize(std::uint32_t rank, OpBlock& block, std::size_t i);
  [[nodiscard]] Error fault(std::uint32_t rank, std::size_t i, std::string what, std::string got,
                            std::string expected) const;

  std::vector<RankFile> files_;
  std::vector<Rank> ranks_;
  TraceHeader header_;
  TraceTotals totals_;
  Communicators comms_;
  std::vector<std::string> regions_;
  std::size_t block_ops_ = kMaxBlockOps;
  RecordReader reader_;
  Record record_;
  std::vector<StreamPos> from_;  // records of the operations of the block
};

Result<void> DumpiReader::open(const std::vector<std::string>& paths) {
  WEFT_ASSIGN(const auto files, rank_paths(paths));
  if (files.size() > format::kMaxRanks)
    return bad_input(paths[0], "the trace has too many ranks", std::to_string(files.size()),
                     fmt::format("at most {}", format::kMaxRanks));
  files_.reserve(files.size());
  for (const std::string& path : files) {
    WEFT_ASSIGN(RankFile f, open_rank_file(path));
    files_.push_back(std::move(f));
  }
  header_.ranks = static_cast<std::uint32_t>(files_.size());
  block_ops_ = block_ops_for(header_.ranks);
  ranks_.resize(files_.size());
  Losses losses;
  std::vector<CommLog> logs(files_.size());
  for (std::uint32_t r = 0; r < header_.ranks; ++r) {
    WEFT_TRY(survey(r, logs[r], losses));
    header_.hostnames.push_back(files_[r].host);
    losses.no_sizes += files_[r].type_sizes.empty() ? 1 : 0;
    losses.counters.insert(files_[r].counters.begin(), files_[r].counters.end());
    files_[r].called = {};
    files_[r].counters = {};
  }
  WEFT_ASSIGN(comms_, make_communicators(files_, std::move(logs), losses));
  if (totals_.ops == 0) return bad_input(files[0], "the trace holds no call of MPI");
  header_.recorder = "dumpi " + files_[0].version.text();
  header_.clock_resolution_ps = 1000;
  losses.describe(header_);
  return {};
}

Result<void> DumpiReader::survey_once(std::uint32_t rank, const Ahead& known, CommLog& log, Losses& losses,
                                      Ahead& found, TraceTotals& totals) {
  Translator translator(files_[rank], &known, &log, &losses);
  std::deque<std::uint32_t> polls;
  const auto keep = [&polls](std::uint64_t name, std::uint64_t value) {
    polls[name] = value <= UINT32_MAX ? static_cast<std::uint32_t>(value) : 0;
  };
  ConditionalSteps steps({keep, keep});
  SendCounter counter;
  std::vector<std::uint32_t> seen(kFooterCounters, 0);
  OpBlock block;
  const auto drain = [&] {
    for (const Op& op : block.ops) {
      const auto list = block.list(op);
      if (op.kind == OpKind::iprobe) polls.push_back(0);
      steps.add(counter.totals().ops, polls.size() - 1, op, list);
      counter.add(RankId(rank), op, list);
    }
    block.clear();
  };
  WEFT_TRY(reader_.seek(files_[rank], rank, {files_[rank].stream, 0}));
  for (;;) {
    WEFT_ASSIGN(const bool more, reader_.next(record_));
    if (!more) break;
    if (record_.call < seen.size()) ++seen[record_.call];
    WEFT_TRY(translator.add(record_, reader_, block));
    drain();
  }
  translator.finish(block);
  drain();
  steps.finish();
  found = std::move(translator.found());
  found.polls = std::move(polls);
  totals = counter.totals();
  const auto& called = files_[rank].called;
  for (std::uint16_t call = 0; call < called.size() && call < kCallNumbers; ++call)
    if (called[call] > seen[call] && kLayouts[call].cls != CallClass::local &&
        kLayouts[call].cls != CallClass::define && kLayouts[call].cls != CallClass::none)
      losses.outside[call] += called[call] - seen[call];
  return {};
}

Result<void> DumpiReader::survey(std::uint32_t rank, CommLog& log, Losses& losses) {
  Rank& r = ranks_[rank];
  std::uint64_t assumed = 0;
  for (;;) {
    Losses after = losses;
    CommLog fresh;
    Ahead known, found;
    known.cancelled = r.ahead.cancelled;
    TraceTotals totals;
    WEFT_TRY(survey_once(rank, known, fresh, after, found, totals));
    if (!found.cancelled.empty()) {
      // The receives that were cancelled never were: once more without them.
      assumed += after.cancelled_assumed - losses.cancelled_assumed;
      auto& all = r.ahead.cancelled;
      all.insert(all.end(), found.cancelled.begin(), found.cancelled.end());
      std::ranges::sort(all);
      continue;
    }
    losses = std::move(after);
    losses.cancelled_assumed += assumed;
    log = std::move(fresh);
    r.ahead.matched = std::move(found.matched);
    r.ahead.matched.shrink_to_fit();
    r.ahead.polls = std::move(found.polls);
    r.ops = totals.ops;
    totals_.ops += totals.ops;
    totals_.messages += totals.messages;
    totals_.bytes = add_bytes(totals_.bytes, totals.bytes);
    return {};
  }
}

Error DumpiReader::fault(std::uint32_t rank, std::size_t i, std::string what, std::string got,
                         std::string expected) const {
  return bad_input(BytePos{files_[rank].path, from_[i].offset, static_cast<std::int64_t>(from_[i].record),
                           static_cast<std::int64_t>(rank)}
                       .text(),
                   std::move(what), std::move(got), std::move(expected));
}

// From the rank's communicators and their ranks to those of the trace.
Result<void> DumpiReader::globalize(std::uint32_t rank, OpBlock& block, std::size_t i) {
  Op& op = block.ops[i];
  const CommHere here = comms_.here[rank][op.comm.index()];
  WEFT_CHECK(here.id != kNone, "an operation on a communicator that was not made");
  op.comm = CommId(here.id);
  const auto& members = comms_.all[here.id].members;
  const auto size = static_cast<std::int64_t>(members.size());
  const auto world = [&members](std::int64_t r) { return members[static_cast<std::size_t>(r)]; };
  std::int64_t* list = op.extra == kNoList ? nullptr : &block.lists[op.extra + 1];
  const std::int64_t values = list == nullptr ? 0 : block.lists[op.extra];
  const auto not_a_rank = [&](const char* what) {
    return fault(rank, i,
                 fmt::format("the {} is not a rank of communicator {}", what, comms_.all[here.id].name),
                 std::to_string(op.peer), fmt::format("0 to {}", size - 1));
  };
  // Where a status says what nobody can have sent, it is not that of this message.
  const auto matched = [&](std::int64_t* source) {
    if (*source < size) {
      *source = world(*source);
      return true;
    }
    return false;
  };
  switch (op.kind) {
    case OpKind::wait:
    case OpKind::test:
      if (op.peer >= size) op.peer = kAnySource, op.tag = kAnyTag, op.amount = 0;
      if (op.peer >= 0) op.peer = world(op.peer);
      return {};
    case OpKind::recv:
    case OpKind::irecv:
    case OpKind::probe:
      if (op.peer >= size) return not_a_rank("source");
      if (op.peer >= 0) op.peer = world(op.peer);
      if (list != nullptr && !matched(list)) op.extra = kNoList;
      return {};
    case OpKind::iprobe:
      if (op.peer >= size) return not_a_rank("source");
      if (op.peer >= 0) op.peer = world(op.peer);
      if ((op.flags & kHit) != 0 && list[2] >= 0 && !matched(list + 2)) list[2] = kAnySource;
      return {};
    default:
      break;
  }
  if (is_comm_create(op.kind)) {
    if (op.amount >= 0) op.amount = comms_.here[rank][static_cast<std::size_t>(op.amount)].id;
    return {};
  }
  if (is_send(op.kind) || is_send_init(op.kind) || op.kind == OpKind::recv_init) {
    if (op.peer >= size) return not_a_rank(op.kind == OpKind::recv_init ? "source" : "destination");
    if (op.peer >= 0) op.peer = world(op.peer);
  }
  if (!is_collective(op.kind)) return {};
  if (op.peer >= size) return not_a_rank("root");
  if (op.peer >= 0) op.peer = world(op.peer);
  if (list == nullptr) return {};
  const bool pairs = op.kind == OpKind::alltoallv || op.kind == OpKind::alltoallw;
  if (pairs ? list[0] != size || values != 2 * size + 1 : values != size)
    return fault(rank, i,
                 fmt::format("the counts of {} are not one for each rank of communicator {}",
                             op_name(op.kind), comms_.all[here.id].name),
                 std::to_string(pairs ? (list[0] != size ? list[0] : values - 1 - size) : values),
                 std::to_string(size));
  if (pairs || op.kind == OpKind::reduce_scatter) {
    std::int64_t sum = 0;
    for (std::int64_t k = 0; k < size; ++k) {
      sum += list[pairs ? k + 1 : k];
      if (sum > kMostSum)
        return fault(rank, i, "the messages of a collective are too large", {}, "at most 2^62 bytes");
    }
    op.amount = sum;
  } else {
    op.amount = list[here.rank];
  }
  return {};
}

Result<bool> DumpiReader::next_block(RankId id, OpBlock& out) {
  const std::uint32_t rank = id.index();
  Rank& r = ranks_.at(rank);
  out.clear();
  out.rank = id;
  if (!r.translator) {
    r.translator = std::make_unique<Translator>(files_[rank], &r.ahead, nullptr, nullptr);
    r.pos = {files_[rank].stream, 0};
    r.next_op = 0;
    r.ended = false;
  }
  out.first_op = r.next_op;
  if (r.ended) return false;
  from_.clear();
  WEFT_TRY(reader_.seek(files_[rank], rank, r.pos));
  while (out.ops.size() + Translator::kMostOps <= block_ops_ && out.lists.size() < kBlockListValues) {
    const StreamPos at = reader_.pos();
    WEFT_ASSIGN(const bool more, reader_.next(record_));
    if (more && !out.ops.empty() && out.ops.size() + Translator::most_ops(record_) > block_ops_) {
      WEFT_TRY(reader_.seek(files_[rank], rank, at));  // the next block begins with it
      break;
    }
    if (more) {
      WEFT_TRY(r.translator->add(record_, reader_, out));
    } else {
      r.translator->finish(out);
      r.ended = true;
    }
    from_.resize(out.ops.size(), at);
    if (!more) break;
  }
  r.pos = reader_.pos();
  for (std::size_t i = 0; i < out.ops.size(); ++i) WEFT_TRY(globalize(rank, out, i));
  r.next_op += out.ops.size();
  return !out.ops.empty();
}

// By reading the rank again up to there: seldom asked.
std::string DumpiReader::position(RankId id, std::uint64_t index) const {
  const RankFile& file = files_.at(id.index());
  Translator translator(file, &ranks_[id.index()].ahead, nullptr, nullptr);
  RecordReader reader;
  Record record;
  OpBlock block;
  if (!reader.seek(file, id.index(), {file.stream, 0})) return file.path;
  for (std::uint64_t ops = 0; ops <= index;) {
    const auto more = reader.next(record);
    if (!more || !*more || !translator.add(record, reader, block)) break;
    ops += block.ops.size();
    block.clear();
  }
  return BytePos{file.path, record.offset, static_cast<std::int64_t>(record.number),
                 static_cast<std::int64_t>(id.index())}
      .text();
}

}  // namespace

bool sniff_dumpi(const std::string& path, std::string_view first_bytes) {
  return dumpi::looks_like_dumpi(path, first_bytes);
}

std::vector<std::string> files_dumpi(const std::vector<std::string>& paths) {
  auto files = dumpi::rank_paths(paths);
  return files ? *std::move(files) : std::vector<std::string>();
}

Result<std::unique_ptr<TraceReader>> open_dumpi(const std::vector<std::string>& paths,
                                                const OpenOptions& /*options*/) {
  auto reader = std::make_unique<DumpiReader>();
  WEFT_TRY(reader->open(paths));
  return std::unique_ptr<TraceReader>(std::move(reader));
}

}  // namespace weft::traces
