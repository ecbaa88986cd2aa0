#include "traces/synthetic/pattern.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <utility>

#include "core/check.hpp"
#include "core/of_flag.hpp"
#include "core/quantity_text.hpp"
#include "traces/info.hpp"
#include "traces/op_rules.hpp"
#include "traces/send_counter.hpp"

namespace weft::traces {
namespace {

std::string option(std::string_view key) { return "--" + std::string(key); }

constexpr double kMaxSteps = 4e9;  // of all ranks

}  // namespace

const std::string* PatternArgs::find(std::string_view key) const {
  const std::string* found = nullptr;
  for (const auto& [k, v] : values_)
    if (k == key) found = &v;
  return found;
}

Result<void> PatternArgs::take_keys(std::string_view kind, std::span<const PatternKey> keys) {
  for (const auto& entry : values_) {
    const std::string& key = entry.first;  // a binding is not captured by clang 14
    if (std::any_of(keys.begin(), keys.end(), [&](const PatternKey& k) { return k.name == key; })) continue;
    std::string known;
    for (const PatternKey& k : keys) known += fmt::format("{}--{}", known.empty() ? "" : ", ", k.name);
    return usage_error(fmt::format("unknown option of {}", kind), option(key), known);
  }
  keys_ = keys;
  return {};
}

Result<std::string_view> PatternArgs::text(std::string_view key) const {
  const auto listed =
      std::find_if(keys_.begin(), keys_.end(), [&](const PatternKey& k) { return k.name == key; });
  WEFT_CHECK(listed != keys_.end(), "a pattern reads a key that it does not list");
  if (const std::string* given = find(key)) return std::string_view(*given);
  if (listed->fallback == "required") return usage_error(option(key) + " is required");
  return listed->fallback;
}

Result<std::int64_t> PatternArgs::integer(std::string_view key, std::int64_t lo, std::int64_t hi) const {
  WEFT_ASSIGN(const std::string_view given, text(key));
  return of_flag(parse_integer(given, lo, hi, option(key)));
}

Result<std::vector<std::uint64_t>> PatternArgs::extents(std::string_view key, std::size_t least,
                                                        std::size_t most, std::uint64_t hi) const {
  WEFT_ASSIGN(const std::string_view given, text(key));
  std::vector<std::uint64_t> out;
  std::string_view rest = given;
  while (true) {
    const std::size_t end = std::min(rest.find('x'), rest.size());
    WEFT_ASSIGN(const std::int64_t v,
                of_flag(parse_integer(rest.substr(0, end), 1, static_cast<std::int64_t>(hi), option(key))));
    out.push_back(static_cast<std::uint64_t>(v));
    if (end == rest.size()) break;
    rest.remove_prefix(end + 1);
  }
  if (out.size() < least || out.size() > most)
    return usage_error(fmt::format("{} has {} extents", option(key), out.size()), std::string(given),
                       least == most ? fmt::format("{}, joined by x", least)
                                     : fmt::format("{} to {}, joined by x", least, most));
  return out;
}

Result<std::int64_t> PatternArgs::bytes(std::string_view key) const {
  WEFT_ASSIGN(const std::string_view given, text(key));
  WEFT_ASSIGN(const Bytes b, of_flag(parse_bytes(given, option(key))));
  if (b.value() > kMaxPatternBytes)
    return usage_error(option(key) + " is too large", std::string(given), "at most 1TiB");
  return b.value();
}

Result<Duration> PatternArgs::duration(std::string_view key) const {
  WEFT_ASSIGN(const std::string_view given, text(key));
  return of_flag(parse_duration(given, option(key)));
}

Result<double> PatternArgs::number(std::string_view key) const {
  WEFT_ASSIGN(const std::string_view given, text(key));
  WEFT_ASSIGN(const double v, of_flag(parse_ratio(given, option(key))));
  if (v < 0) return usage_error(option(key) + " is negative", std::string(given), "0 or more");
  return v;
}

Result<bool> PatternArgs::on_off(std::string_view key) const {
  WEFT_ASSIGN(const std::string_view given, text(key));
  if (given == "on") return true;
  if (given == "off") return false;
  return usage_error("bad " + option(key), std::string(given), "on or off");
}

Result<std::string> PatternArgs::choice(std::string_view key, std::span<const std::string_view> names) const {
  WEFT_ASSIGN(const std::string_view given, text(key));
  if (std::find(names.begin(), names.end(), given) != names.end()) return std::string(given);
  std::string known;
  for (const auto n : names) known += fmt::format("{}{}", known.empty() ? "" : ", ", n);
  return usage_error("unknown " + option(key), std::string(given), known);
}

std::vector<Communicator> Pattern::communicators() const {
  Communicator world{"world", {}};
  world.members.resize(ranks());
  for (std::uint32_t r = 0; r < ranks(); ++r) world.members[r] = static_cast<std::int32_t>(r);
  return {std::move(world)};
}

std::vector<PatternKind> pattern_kinds() {
  return {
#define WEFT_PATTERN(id, name, summary) {name, summary, pattern_##id::keys(), &pattern_##id::make},
#include "traces/synthetic/patterns.def"
#undef WEFT_PATTERN
  };
}

namespace {

class SyntheticTrace final : public TraceReader {
 public:
  SyntheticTrace(std::unique_ptr<Pattern> pattern, std::string command)
      : pattern_(std::move(pattern)),
        communicators_(pattern_->communicators()),
        cursors_(pattern_->ranks()),
        ops_(pattern_->ranks(), 0) {
    header_.ranks = pattern_->ranks();
    header_.recorder = "weft generate";
    header_.command_line = std::move(command);
    header_.notes.push_back("synthetic: every operation follows from the parameters of the command line");
    OpBlock block;
    for (std::uint32_t r = 0; r < header_.ranks; ++r)
      for (std::uint64_t k = 0; k < steps(); ++k) {
        block.clear();
        write(r, k, block);
        ops_[r] += block.ops.size();
        for (const Op& op : block.ops) {
          counter_.add(RankId(r), op, block.list(op));
          sums_.add(op);
        }
      }
  }
  // Whether all that there is to tell of it are figures.
  [[nodiscard]] Result<void> can_be_told() const {
    WEFT_TRY(sums_.can_be_told());
    return traces::can_be_told(totals());
  }

  const TraceHeader& header() const override { return header_; }
  const TraceTotals& totals() const override { return counter_.totals(); }
  const std::vector<Communicator>& communicators() const override { return communicators_; }
  const std::vector<std::string>& regions() const override { return regions_; }
  std::uint64_t ops_of(RankId rank) const override { return ops_.at(rank.index()); }

  Result<bool> next_block(RankId rank, OpBlock& out) override {
    Cursor& c = cursors_.at(rank.index());
    out.clear();
    out.rank = rank;
    out.first_op = c.op;
    const std::size_t room = block_ops_for(header_.ranks);
    while (c.step < steps() && out.ops.size() < room) {
      const std::pair here{rank, c.step};
      if (cut_step_ != here) {
        if (out.ops.empty()) {
          write(rank.index(), c.step, out);
          if (out.ops.size() <= room) {
            ++c.step;
            continue;
          }
          std::swap(out.ops, cut_.ops);
          std::swap(out.lists, cut_.lists);
          out.clear();
        } else {
          cut_.clear();
          write(rank.index(), c.step, cut_);
        }
        cut_step_ = here;
      }
      const std::size_t left = cut_.ops.size() - c.skip;
      const std::size_t take = std::min(left, room - out.ops.size());
      // What fits into a block stands in one.
      if (c.skip == 0 && take < left && !out.ops.empty()) break;
      for (std::size_t i = c.skip; i < c.skip + take; ++i) move(cut_, i, out);
      if (take < left) {
        c.skip += take;
        break;
      }
      c.skip = 0;
      ++c.step;
    }
    c.op += out.ops.size();
    return !out.ops.empty();
  }
  bool well_formed() const override { return true; }
  void rewind() override { std::fill(cursors_.begin(), cursors_.end(), Cursor{}); }
  std::string position(RankId rank, std::uint64_t index) const override {
    return fmt::format("{} (rank {}, operation {})", header_.command_line, rank.index(), index);
  }

 private:
  struct Cursor {
    std::uint64_t step = 0;
    std::uint64_t op = 0;
    std::size_t skip = 0;  // operations of `step` that were read
  };
  // init and finalize are the first and the last step.
  std::uint64_t steps() const { return pattern_->steps() + 2; }
  void write(std::uint32_t rank, std::uint64_t k, OpBlock& out) const {
    if (k > 0 && k + 1 < steps()) return pattern_->step(rank, k - 1, out);
    Op op;
    op.kind = k == 0 ? OpKind::init : OpKind::finalize;
    out.ops.push_back(op);
  }
  static void move(const OpBlock& from, std::size_t i, OpBlock& to) {
    Op op = from.ops[i];
    if (op.extra != kNoList) op.extra = to.add_list(from.list(op));
    to.ops.push_back(op);
  }

  std::unique_ptr<Pattern> pattern_;
  TraceHeader header_;
  SendCounter counter_;
  OpSums sums_;
  std::vector<Communicator> communicators_;
  std::vector<std::string> regions_;
  std::vector<Cursor> cursors_;
  std::vector<std::uint64_t> ops_;
  // The step that stood last across the end of a block, or behind what filled it: whoever reads rank after rank has each
  // step written once.
  OpBlock cut_;
  std::optional<std::pair<RankId, std::uint64_t>> cut_step_;
};

}  // namespace

Result<std::unique_ptr<TraceReader>> synthetic_trace(std::string_view kind, const PatternArgs& args,
                                                     std::uint64_t seed) {
  std::string known;
  for (const PatternKind& k : pattern_kinds()) {
    known += fmt::format("{}{}", known.empty() ? "" : ", ", k.name);
    if (k.name != kind) continue;
    PatternArgs of_kind = args;
    WEFT_TRY(of_kind.take_keys(k.name, k.keys));
    WEFT_ASSIGN(auto pattern, k.make(of_kind, seed));
    if (static_cast<double>(pattern->steps()) * pattern->ranks() > kMaxSteps)
      return usage_error(fmt::format("{} is too long", kind),
                         fmt::format("{} ranks of {} steps", pattern->ranks(), pattern->steps()),
                         fmt::format("at most {:.0f} steps in all", kMaxSteps));
    std::string command = fmt::format("weft generate {}", kind);
    for (const auto& [key, value] : args.values()) command += fmt::format(" --{} {}", key, value);
    command += fmt::format(" --seed {}", seed);
    auto trace = std::make_unique<SyntheticTrace>(std::move(pattern), std::move(command));
    if (const auto told = trace->can_be_told(); !told)
      return usage_error(fmt::format("{} makes {}", kind, told.error().what), told.error().got,
                         "fewer or smaller ones");
    return std::unique_ptr<TraceReader>(std::move(trace));
  }
  return usage_error("unknown pattern", std::string(kind), known);
}

std::unique_ptr<TraceReader> trace_of_pattern(std::unique_ptr<Pattern> pattern, std::string command) {
  return std::make_unique<SyntheticTrace>(std::move(pattern), std::move(command));
}

// ---- helpers of the patterns

Result<PatternWork> pattern_work(const PatternArgs& args) {
  PatternWork w;
  WEFT_ASSIGN(w.time, args.duration("compute"));
  WEFT_ASSIGN(w.flops, args.number("flops"));
  return w;
}

Result<std::uint64_t> pattern_iterations(const PatternArgs& args) {
  WEFT_ASSIGN(const std::int64_t n, args.integer("iterations", 1, kMaxPatternIterations));
  return static_cast<std::uint64_t>(n);
}

void PatternWork::append(OpBlock& out) const {
  if (time.count() > 0) {
    Op op;
    op.kind = OpKind::compute_time;
    op.amount = time.count();
    out.ops.push_back(op);
  }
  put_compute_flops(out, flops);
}

void put_compute_flops(OpBlock& out, double flops) {
  if (flops <= 0) return;
  Op op;
  op.kind = OpKind::compute_flops;
  op.amount = std::bit_cast<std::int64_t>(flops);
  out.ops.push_back(op);
}

namespace {
Op message(OpKind kind, std::uint64_t peer, std::int32_t tag, std::int64_t bytes, std::uint32_t slot) {
  Op op;
  op.kind = kind;
  op.peer = static_cast<std::int32_t>(peer);
  op.tag = tag;
  op.amount = bytes;
  op.request = slot;
  return op;
}
}  // namespace

void put_isend(OpBlock& out, std::uint64_t peer, std::int32_t tag, std::int64_t bytes, std::uint32_t slot) {
  out.ops.push_back(message(OpKind::isend, peer, tag, bytes, slot));
}
void put_irecv(OpBlock& out, std::uint64_t peer, std::int32_t tag, std::int64_t bytes, std::uint32_t slot) {
  out.ops.push_back(message(OpKind::irecv, peer, tag, bytes, slot));
}
void put_send(OpBlock& out, std::uint64_t peer, std::int32_t tag, std::int64_t bytes) {
  out.ops.push_back(message(OpKind::send, peer, tag, bytes, kNoRequest));
}
void put_recv(OpBlock& out, std::uint64_t peer, std::int32_t tag, std::int64_t bytes) {
  out.ops.push_back(message(OpKind::recv, peer, tag, bytes, kNoRequest));
}
void put_sendrecv(OpBlock& out, std::uint64_t to, std::uint64_t from, std::int32_t tag,
                  std::int64_t bytes_out, std::int64_t bytes_in) {
  out.ops.push_back(message(OpKind::sendrecv, to, tag, bytes_out, kNoRequest));
  Op recv = message(OpKind::recv, from, tag, bytes_in, kNoRequest);
  recv.flags = kPairedRecv;
  out.ops.push_back(recv);
}
void put_waitall(OpBlock& out, std::uint32_t count) {
  if (count == 0) return;
  std::vector<std::int64_t> slots(count);
  for (std::uint32_t i = 0; i < count; ++i) slots[i] = i;
  Op op;
  op.kind = OpKind::waitall;
  op.extra = out.add_list(slots);
  out.ops.push_back(op);
}
void put_collective(OpBlock& out, OpKind kind, std::int64_t bytes, CommId comm,
                    std::span<const std::int64_t> list, std::int32_t root) {
  Op op;
  op.kind = kind;
  op.comm = comm;
  op.peer = root;
  op.amount = bytes;
  if (!list.empty()) op.extra = out.add_list(list);
  out.ops.push_back(op);
}

}  // namespace weft::traces
