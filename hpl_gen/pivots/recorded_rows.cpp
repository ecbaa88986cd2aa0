#include "hpl_gen/pivots/recorded_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>

#include "hpl_gen/steps/column_walk.hpp"
#include "hpl_gen/steps/panel_factor.hpp"
#include "hpl_gen/steps/row_swap.hpp"
#include "traces/trace_warnings.hpp"

namespace weft::hpl_gen {
namespace {

using traces::Op;
using traces::OpKind;

constexpr int kMaxAmbiguous = 10;

// One message of tag 1001 as a rank's program has it.
struct Message {
  OpKind kind{};
  std::int32_t peer = 0;
  std::int64_t bytes = 0;
  friend bool operator==(const Message&, const Message&) = default;
};

bool is_message(const Op& op) {
  return op.tag == kTagSwap &&
         (op.kind == OpKind::send || op.kind == OpKind::recv || op.kind == OpKind::irecv);
}

// A rank's messages of tag 1001, read when they are looked at.
class Queue {
 public:
  Queue(traces::TraceReader& trace, RankId rank) : trace_(&trace), rank_(rank) {}
  // The message `i` places on, or null at the end.
  Result<const Message*> at(std::size_t i) {
    while (front_.size() <= i && !end_) {
      WEFT_ASSIGN(const bool more, trace_->next_block(rank_, block_));
      end_ = !more;
      if (!more) break;
      for (const Op& op : block_.ops)
        if (is_message(op)) front_.push_back({op.kind, op.peer, op.amount});
    }
    return i < front_.size() ? &front_[i] : nullptr;
  }
  void drop(std::size_t n) {
    front_.erase(front_.begin(), front_.begin() + static_cast<std::ptrdiff_t>(n));
    dropped_ += n;
  }
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }

 private:
  traces::TraceReader* trace_;
  RankId rank_;
  traces::OpBlock block_;
  std::deque<Message> front_;
  bool end_ = false;
  std::uint64_t dropped_ = 0;
};

// Walks one process column.
class ColumnWalk {
 public:
  ColumnWalk(traces::TraceReader& trace, const std::string& name, const HplConfig& c, const ProcessGrid& grid,
             int column, RecordedRows& rows)
      : name_(name), c_(c), g_(grid), column_(column), rows_(rows) {
    for (int r = 0; r < c.p; ++r)
      queues_.emplace_back(trace, RankId(static_cast<std::uint32_t>(grid.rank_of(r, column))));
  }

  Result<void> run() {
    // One process row has no messages: nothing would bound the panels that its HPL.dat claims.
    if (c_.p > 1)
      WEFT_TRY(walk_column(
          c_, column_, [&](std::int64_t panel) { return factor(panel); },
          [&](std::int64_t panel, std::int64_t n) { return swap(panel, n); }));
    for (int r = 0; r < c_.p; ++r) {
      WEFT_ASSIGN(const Message* rest, queue(r).at(0));
      if (rest != nullptr) return mismatch(r, "messages are left over");
    }
    return {};
  }

 private:
  Queue& queue(int row) { return queues_[static_cast<std::size_t>(row)]; }
  [[nodiscard]] Error mismatch(int row, std::string what) {
    return bad_input(name_,
                     fmt::format("rank {}, message {} of tag {}: {}", g_.rank_of(row, column_),
                                 queue(row).dropped(), kTagSwap, what),
                     {}, "the messages of the HPL run in its header");
  }

  // How many messages at the front of the row's queue are those of `made_`; nothing if one is not.
  Result<std::optional<std::size_t>> matches(int row) {
    std::size_t n = 0;
    for (const Op& op : made_.ops) {
      if (!is_message(op)) continue;
      WEFT_ASSIGN(const Message* m, queue(row).at(n));
      if (m == nullptr || *m != Message{op.kind, op.peer, op.amount}) return std::optional<std::size_t>();
      ++n;
    }
    return std::optional<std::size_t>(n);
  }

  Result<void> factor(std::int64_t panel) {
    for (int r = 0; r < c_.p; ++r) {
      made_.clear();
      OpSink sink(made_);
      const PanelSeat seat = seat_of(c_, g_, r, column_, panel);
      emit_pivot_exchange(seat, {seat.panel.width, false}, sink);
      for (std::int64_t column = seat.panel.first; column < seat.panel.end(); ++column) {
        WEFT_ASSIGN(const auto count, matches(r));
        if (!count) return mismatch(r, fmt::format("not the pivot exchange of column {}", column));
        queue(r).drop(*count);
      }
    }
    return {};
  }

  Result<void> swap(std::int64_t panel, std::int64_t n) {
    seat_ = {seat_of(c_, g_, 0, column_, panel), &exchange_, n, c_.equil};
    long_ = c_.long_swap(n);
    const auto known = long_ ? rows_.u_rows(panel) : rows_.rows_from(panel);
    if (!known.empty()) {
      counts_.assign(known.begin(), known.end());
      WEFT_ASSIGN(const bool same, fits());
      if (!same) return mismatch(worst_row_, fmt::format("not the swap of panel {}", panel));
      accept();
      return {};
    }
    WEFT_ASSIGN(const auto seen, long_ ? subtree_sums() : own_rows());
    // A row that sent nothing shows a later message in its place: which ones, is found by trying.
    std::vector<std::size_t> open;
    for (std::size_t i = 0; i < seen.size(); ++i)
      if (seen[i].rows > 0) open.push_back(i);
    const auto tries = std::uint32_t{1} << std::min<std::size_t>(open.size(), kMaxAmbiguous);
    for (std::uint32_t without = 0; without < tries; ++without) {
      std::vector<Seen> assumed = seen;
      for (std::size_t b = 0; b < open.size() && b < kMaxAmbiguous; ++b)
        if ((without >> b & 1) != 0) assumed[open[b]].rows = 0;
      if (!counts_from(assumed)) continue;
      WEFT_ASSIGN(const bool same, fits());
      if (!same) continue;
      if (long_)
        rows_.set_u_rows(panel, counts_);
      else
        rows_.set_rows_from(panel, counts_);
      accept();
      return {};
    }
    return mismatch(worst_row_, fmt::format("not the swap of panel {}", panel));
  }

  // What a process row's first message says: rows, and who sent them.
  struct Seen {
    std::int64_t rows = 0;
    int parent = -1;
  };

  // Spread-roll: the first thing a row does is to receive its subtree's part.
  Result<std::vector<Seen>> subtree_sums() {
    std::vector<Seen> out(static_cast<std::size_t>(c_.p));
    for (int r = 0; r < c_.p; ++r) {
      if (r == seat_.panel.row) continue;
      WEFT_ASSIGN(const Message* m, queue(r).at(0));
      const std::int64_t unit = seat_.n * kDouble;
      // The trace may have ranks beyond the grid, and receives from any source.
      const bool of_grid = m != nullptr && m->peer >= 0 && m->peer < g_.size();
      if (of_grid && m->kind == OpKind::recv && m->bytes % unit == 0 && m->bytes / unit <= seat_.panel.width)
        out[static_cast<std::size_t>(r)] = {m->bytes / unit, g_.row_of(m->peer)};
    }
    return out;
  }

  // Binary exchange: the first thing a row sends is what it has, with what was folded into it.
  Result<std::vector<Seen>> own_rows() {
    std::vector<Seen> out(static_cast<std::size_t>(c_.p));
    const int cube = floor_power(c_.p).value;
    for (int d = 1; d < c_.p; ++d) {
      const int r = seat_.row_at(d);
      const int to = d >= cube ? d - cube : d ^ 1;
      const int target = seat_.rank_at(to);
      const std::int64_t unit = (seat_.n + 1) * kDouble;
      for (std::size_t i = 0; i < 3; ++i) {
        WEFT_ASSIGN(const Message* m, queue(r).at(i));
        if (m == nullptr) break;
        if (m->kind != OpKind::send) continue;
        if (m->peer == target && m->bytes % unit == 0 && m->bytes / unit <= 2 * seat_.panel.width)
          out[static_cast<std::size_t>(r)] = {m->bytes / unit, -1};
        break;
      }
    }
    return out;
  }

  // counts_ from what was seen; false if that can't be.
  bool counts_from(const std::vector<Seen>& seen) {
    const auto size = static_cast<std::size_t>(c_.p);
    const auto current = static_cast<std::size_t>(seat_.panel.row);
    std::vector<std::int64_t> rows(size);
    for (std::size_t r = 0; r < size; ++r) rows[r] = seen[r].rows;
    if (long_) {
      for (std::size_t r = 0; r < size; ++r)
        if (seen[r].rows > 0 && seen[r].parent >= 0 && seen[r].parent != seat_.panel.row)
          rows[static_cast<std::size_t>(seen[r].parent)] -= seen[r].rows;
      rows[current] = 0;
      std::int64_t others = 0;
      for (const std::int64_t v : rows) others += v;
      rows[current] = seat_.panel.width - others;
    } else {
      const int cube = floor_power(c_.p).value;
      for (int d = cube + 1; d < c_.p; ++d)  // what distance d folded into d - cube
        rows[static_cast<std::size_t>(seat_.row_at(d - cube))] -=
            rows[static_cast<std::size_t>(seat_.row_at(d))];
      // Only a copy's size depends on the current row's own count: its block, and its share of the pivots.
      rows[current] = seat_.panel.width + seat_.panel.width / c_.p;
    }
    counts_.clear();
    for (const std::int64_t v : rows) {
      if (v < 0) return false;
      counts_.push_back(static_cast<std::int32_t>(v));
    }
    return true;
  }

  // Are the messages that follow from counts_ those at the front of all queues?
  Result<bool> fits() {
    RowExchangeBuilder builder;
    const std::vector<std::int32_t> none(static_cast<std::size_t>(c_.p));
    builder.from_counts(c_.p, seat_.panel.row, long_ ? none : counts_, long_ ? counts_ : none, exchange_);
    taken_.clear();
    for (int r = 0; r < c_.p; ++r) {
      made_.clear();
      OpSink sink(made_);
      PanelBcast bcast;
      static_cast<PanelSeat&>(seat_) = seat_of(c_, g_, r, column_, seat_.panel.index);
      if (long_)
        spread_roll_swap(seat_, bcast, sink);
      else
        binary_exchange_swap(seat_, bcast, sink);
      WEFT_ASSIGN(const auto count, matches(r));
      if (!count) {
        worst_row_ = r;
        return false;
      }
      taken_.push_back(*count);
    }
    return true;
  }
  void accept() {
    for (int r = 0; r < c_.p; ++r) queue(r).drop(taken_[static_cast<std::size_t>(r)]);
  }

  const std::string& name_;
  const HplConfig& c_;
  const ProcessGrid& g_;
  int column_;
  RecordedRows& rows_;
  std::vector<Queue> queues_;
  traces::OpBlock made_;
  SwapSeat seat_;
  RowExchange exchange_;
  bool long_ = false;
  int worst_row_ = 0;
  std::vector<std::int32_t> counts_;
  std::vector<std::size_t> taken_;
};

}  // namespace

Result<void> check_recorded(const HplConfig& c, const RecordedRows& rows) {
  const HplConfig& r = rows.config();
  if (c.n != r.n || c.nb != r.nb || c.p != r.p)
    return bad_input({}, "the recording is of another run",
                     fmt::format("N = {}, NB = {}, P = {}", r.n, r.nb, r.p),
                     fmt::format("N = {}, NB = {}, P = {}", c.n, c.nb, c.p));
  if (c.p == 1) return {};
  const auto swap = [&](std::int64_t panel, std::int64_t n) -> Result<void> {
    const bool spread_roll = c.long_swap(n);
    if (!(spread_roll ? rows.u_rows(panel) : rows.rows_from(panel)).empty()) return {};
    return bad_input({},
                     fmt::format("the recording does not tell what {} swap panel {} with {} local columns",
                                 spread_roll ? "a long" : "a binary-exchange", panel, n),
                     {}, "a recording with the same SWAP and threshold");
  };
  const auto factor = [](std::int64_t) { return Result<void>(); };
  for (int column = 0; column < c.q; ++column) WEFT_TRY(walk_column(c, column, factor, swap));
  return {};
}

RecordedRows::RecordedRows(const HplConfig& config, std::string what)
    : config_(config), what_(std::move(what)) {}

std::span<const std::int32_t> RecordedRows::view(const Table& t, std::int64_t panel) const {
  const auto p = static_cast<std::size_t>(config_.p);
  const std::size_t at = static_cast<std::size_t>(panel) * p;
  if (at >= t.size()) return {};
  const auto row = std::span(t).subspan(at, p);
  return row[0] < 0 ? std::span<const std::int32_t>() : row;
}

void RecordedRows::set(Table& t, std::int64_t panel, std::span<const std::int32_t> rows) {
  const std::size_t at = static_cast<std::size_t>(panel) * static_cast<std::size_t>(config_.p);
  if (at >= t.size()) t.resize(at + static_cast<std::size_t>(config_.p), -1);
  std::copy(rows.begin(), rows.end(), t.begin() + static_cast<std::ptrdiff_t>(at));
}

Result<std::shared_ptr<const RecordedRows>> read_recorded_rows(traces::TraceReader& trace,
                                                               const std::string& name) {
  if (trace.header().hpl_dat.empty())
    return bad_input(name, "the trace does not say which HPL run it is", {}, "a recording with its HPL.dat");
  WEFT_ASSIGN(const auto dat, parse_hpl_dat(trace.header().hpl_dat, name + " (its HPL.dat)"));
  if (dat.run_count() != 1)
    return not_supported(fmt::format("pivots from a recording of {} runs", dat.run_count()), "one run");
  const HplConfig c = dat.runs().front();
  WEFT_TRY(check_config(c));
  if (trace.header().ranks < static_cast<std::uint32_t>(c.ranks()))
    return bad_input(name, "the trace has fewer ranks than its HPL.dat",
                     fmt::format("{}", trace.header().ranks), fmt::format("{} x {}", c.p, c.q));
  auto rows = std::make_shared<RecordedRows>(
      c, fmt::format("pivots of the run recorded in {}: N = {}, NB = {}, P = {}", name, c.n, c.nb, c.p));
  std::vector<std::string> warnings;
  const std::vector<std::string> of_trace = traces::trace_warnings(trace.header());
  warnings.reserve(of_trace.size());
  for (const std::string& w : of_trace) warnings.push_back(fmt::format("{}: {}", name, w));
  rows->set_warnings(std::move(warnings));
  const ProcessGrid grid = grid_of(c);
  trace.rewind();
  if (c.n > 0)
    for (int column = 0; column < c.q; ++column)
      WEFT_TRY(ColumnWalk(trace, name, c, grid, column, *rows).run());
  return std::shared_ptr<const RecordedRows>(std::move(rows));
}

}  // namespace weft::hpl_gen
