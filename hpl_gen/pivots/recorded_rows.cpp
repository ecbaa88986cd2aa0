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

// Ways to read a swap that are compared with its messages at most; the first one is right nearly always.
constexpr int kMostReadings = 1 << 14;

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
    readings_ = 0;
    WEFT_ASSIGN(const bool found, long_ ? read_spread() : read_gathered());
    if (found) {
      if (long_)
        rows_.set_u_rows(panel, counts_);
      else
        rows_.set_rows_from(panel, counts_);
      accept();
      return {};
    }
    return mismatch(
        worst_row_,
        fmt::format("not the swap of panel {}{}", panel,
                    readings_ < kMostReadings ? "" : fmt::format(" in {} ways to read it", kMostReadings)));
  }

  struct Range {
    int low = 0, high = 0;
    [[nodiscard]] int size() const { return high - low; }
  };
  // attempt(taken) for every `taken` with each taken[i] in its range, largest sum first, until it says true or kMostReadings
  // were tried: what comes first takes the fewest rows to have had none.
  template <class Attempt>
  Result<bool> try_all(const std::vector<Range>& ranges, Attempt&& attempt) {
    const std::size_t size = ranges.size();
    std::vector<int> taken(size);
    std::int64_t all = 0;
    for (const Range& r : ranges) all += r.size();
    // From place `from` on leave out n: the places at the end what they can.
    const auto leave_out = [&](std::size_t from, std::int64_t n) {
      for (std::size_t i = size; i-- > from;) {
        const auto here = static_cast<int>(std::min<std::int64_t>(n, ranges[i].size()));
        taken[i] = ranges[i].high - here;
        n -= here;
      }
    };
    for (std::int64_t left_out = 0; left_out <= all; ++left_out) {
      leave_out(0, left_out);
      for (bool more = true; more;) {
        if (++readings_ > kMostReadings) return false;
        WEFT_ASSIGN(const bool right, attempt(taken));
        if (right) return true;
        // The next one: the last place that can leave out one more of what those after it leave out.
        more = false;
        std::int64_t after = 0;
        for (std::size_t i = size; i-- > 0 && !more;) {
          if (after > 0 && taken[i] > ranges[i].low) {
            --taken[i];
            leave_out(i + 1, after - 1);
            more = true;
          }
          after += ranges[i].high - taken[i];
        }
      }
    }
    return false;
  }

  // Spread-roll: the rows of U go down the spread tree (row_exchange.hpp), a message to each process row whose subtree
  // has some, before anything else of the swap. No process row has more rows than one at a level above: so who has none
  // is at the deepest levels and has none below, and the places are known level by level for as long as levels are full.
  Result<bool> read_spread() {
    std::vector<Seen> seen(static_cast<std::size_t>(c_.p));
    for (int r = 0; r < c_.p; ++r) {
      if (r == seat_.panel.row) continue;
      WEFT_ASSIGN(const Message* m, queue(r).at(0));
      // The trace may have ranks beyond the grid, and receives from any source.
      const bool of_grid = m != nullptr && m->peer >= 0 && m->peer < g_.size();
      if (of_grid && m->kind == OpKind::recv && m->bytes % unit() == 0 &&
          m->bytes / unit() <= seat_.panel.width)
        seen[static_cast<std::size_t>(r)] = {m->bytes / unit(), g_.row_of(m->peer)};
    }
    counts_.assign(seen.size(), 0);
    const auto width = static_cast<std::int32_t>(seat_.panel.width);
    count_of(seat_.panel.row) = width;
    return read_below({{seat_.panel.row, 0}}, width, seen);
  }

  // What a process row's first message says, if it is of the spread: rows of its subtree, and who sent them.
  struct Seen {
    std::int64_t rows = 0;
    int parent = -1;
  };
  // A process row and its place in the spread tree.
  struct Placed {
    int row = 0, slot = 0;
  };
  [[nodiscard]] std::int64_t unit() const { return seat_.n * kDouble; }
  std::int32_t& count_of(int row) { return counts_[static_cast<std::size_t>(row)]; }

  // `level` is full; counts_ has the sums of its subtrees, what is above is known and is `least` rows or more. Was the
  // rest found?
  Result<bool> read_below(const std::vector<Placed>& level, std::int32_t least,
                          const std::vector<Seen>& seen) {
    std::vector<std::vector<Placed>> sent;  // by who may have sent to them
    std::size_t places = 0, filled = 0;
    for (const Placed& parent : level) {
      WEFT_ASSIGN(auto here, sent_down(parent, seen, places));
      filled += here.size();
      sent.push_back(std::move(here));
    }
    const std::vector<std::int32_t> sums = counts_;
    const auto rows_of = [&](const Placed& p) {
      return static_cast<std::int32_t>(seen[static_cast<std::size_t>(p.row)].rows);
    };
    if (places > 0 && filled == places) {
      std::vector<Placed> next;
      std::int32_t least_here = least;
      for (std::size_t i = 0; i < level.size(); ++i) {
        std::int32_t& own = count_of(level[i].row);
        for (const Placed& p : sent[i]) {
          own -= count_of(p.row) = rows_of(p);
          next.push_back(p);
        }
        // The root is where the panel is, however many rows it has.
        least_here = std::min(least_here, level[i].slot > 0 ? own : least);
        if (own < 0 || own > least) least_here = 0;
      }
      if (least_here > 0) {
        WEFT_ASSIGN(const bool found, read_below(next, least_here, seen));
        if (found) return true;
      }
    }
    // The level below is the last one with rows. Each parent sent to the first few of those, so that what is left to it
    // is no more than any has above and no less than each of them got.
    std::vector<Range> ranges;
    for (std::size_t i = 0; i < level.size(); ++i) {
      const bool root = level[i].slot == 0;
      std::int32_t own = sums[static_cast<std::size_t>(level[i].row)], most = 0;
      Range r{own <= least ? 0 : -1, 0};
      for (int k = 0; k < static_cast<int>(sent[i].size()); ++k) {
        const std::int32_t rows = rows_of(sent[i][static_cast<std::size_t>(k)]);
        own -= rows;
        most = std::max(most, rows);
        if (own < 0 || (!root && own < most)) break;
        if (r.low < 0 && own <= least) r.low = k + 1;
        r.high = k + 1;
      }
      if (r.low < 0) return false;
      ranges.push_back(r);
    }
    return try_all(ranges, [&](const std::vector<int>& taken) -> Result<bool> {
      counts_ = sums;
      std::int32_t most = 0, least_here = least;
      for (std::size_t i = 0; i < level.size(); ++i) {
        std::int32_t& own = count_of(level[i].row);
        for (int k = 0; k < taken[i]; ++k) {
          const Placed& p = sent[i][static_cast<std::size_t>(k)];
          own -= count_of(p.row) = rows_of(p);
          most = std::max(most, rows_of(p));
        }
        if (level[i].slot > 0) least_here = std::min(least_here, own);
      }
      if (least_here < most) return false;
      return fits();
    });
  }

  // The process rows that `parent` may have sent rows of U to, at their places if all before them got some: those sends
  // stand in front of all others, behind its own receive, and are the first that their receivers get. Adds the places to
  // `places`.
  Result<std::vector<Placed>> sent_down(const Placed& parent, const std::vector<Seen>& seen,
                                        std::size_t& places) {
    std::vector<Placed> out;
    bool more = true;
    // As spread() in row_swap.cpp: the subtrees of a slot, the largest first.
    const int lowest = parent.slot == 0 ? 2 * floor_power(c_.p - 1).value : parent.slot & -parent.slot;
    for (int bit = lowest / 2; bit > 0; bit /= 2) {
      if (parent.slot + bit >= c_.p) continue;
      ++places;
      if (!more) continue;
      WEFT_ASSIGN(const Message* m, queue(parent.row).at(out.size() + (parent.slot == 0 ? 0 : 1)));
      more = m != nullptr && m->kind == OpKind::send && m->peer >= 0 && m->peer < g_.size();
      if (!more) continue;
      const int row = g_.row_of(m->peer);
      const Seen& got = seen[static_cast<std::size_t>(row)];
      more = got.parent == parent.row && m->bytes == got.rows * unit() && got.rows > 0 &&
             std::none_of(out.begin(), out.end(), [&](const Placed& p) { return p.row == row; });
      if (more) out.push_back({row, parent.slot + bit});
    }
    return out;
  }

  // Binary exchange: the first thing a row sends is what it has, with what was folded into it. A row that has none shows a
  // later message in its place.
  Result<bool> read_gathered() {
    const auto size = static_cast<std::size_t>(c_.p);
    const int cube = floor_power(c_.p).value;
    const std::int64_t row_bytes = (seat_.n + 1) * kDouble;
    std::vector<std::int64_t> seen(size);
    for (int d = 1; d < c_.p; ++d) {
      const int r = seat_.row_at(d);
      const int to = d >= cube ? d - cube : d ^ 1;
      WEFT_ASSIGN(const Message* m, front(r, [](const Message& x) { return x.kind == OpKind::send; }));
      if (m == nullptr || m->peer != seat_.rank_at(to) || m->bytes <= 0 || m->bytes % row_bytes != 0 ||
          m->bytes / row_bytes > 2 * seat_.panel.width)
        continue;
      // Who gets it has at most a fold and a send of its own before.
      const Message got{{}, g_.rank_of(r, column_), m->bytes};
      WEFT_ASSIGN(const Message* there, front(seat_.row_at(to), [&](const Message& x) {
                    return x.kind != OpKind::send && x.peer == got.peer && x.bytes == got.bytes;
                  }));
      if (there == nullptr) continue;
      seen[static_cast<std::size_t>(r)] = got.bytes / row_bytes;
    }
    for (int d = cube + 1; d < c_.p; ++d) {
      // Who was folded into has at least as many.
      std::int64_t& folded = seen[static_cast<std::size_t>(seat_.row_at(d))];
      if (folded > seen[static_cast<std::size_t>(seat_.row_at(d - cube))]) folded = 0;
    }
    std::vector<std::size_t> open;
    for (std::size_t r = 0; r < size; ++r)
      if (seen[r] > 0) open.push_back(r);
    return try_all(
        std::vector<Range>(open.size(), {0, 1}), [&](const std::vector<int>& taken) -> Result<bool> {
          std::vector<std::int64_t> rows = seen;
          for (std::size_t i = 0; i < open.size(); ++i)
            if (taken[i] == 0) rows[open[i]] = 0;
          for (int d = cube + 1; d < c_.p; ++d)  // what distance d folded into d - cube
            rows[static_cast<std::size_t>(seat_.row_at(d - cube))] -=
                rows[static_cast<std::size_t>(seat_.row_at(d))];
          // Only a copy's size depends on the current row's own count: its block, and its share of the pivots.
          rows[static_cast<std::size_t>(seat_.panel.row)] = seat_.panel.width + seat_.panel.width / c_.p;
          if (std::any_of(rows.begin(), rows.end(), [](std::int64_t v) { return v < 0; })) return false;
          counts_.assign(rows.begin(), rows.end());
          return fits();
        });
  }
  // The first of the row's next three messages that is `right`, or null.
  template <class Right>
  Result<const Message*> front(int row, Right&& right) {
    for (std::size_t i = 0; i < 3; ++i) {
      WEFT_ASSIGN(const Message* m, queue(row).at(i));
      if (m == nullptr || right(*m)) return m;
    }
    return nullptr;
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
  int readings_ = 0;  // of this swap
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
