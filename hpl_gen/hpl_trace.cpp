#include "hpl_gen/hpl_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "hpl_gen/node_grid.hpp"
#include "hpl_gen/panel.hpp"
#include "hpl_gen/steps/solve.hpp"
#include "hpl_gen/steps/start_end.hpp"
#include "hpl_gen/steps/update.hpp"

namespace weft::hpl_gen {
namespace {

constexpr std::size_t kRingSize = 64;  // panels that ranks work on at once: q and a few more
constexpr std::size_t kMaxRuns = 4096;
// A block ends after the step that passes the first number; a step is cut at the second. Small, because replay keeps
// a block for each rank and making one costs next to nothing.
constexpr std::size_t kEnoughOps = 128;
constexpr std::size_t kMaxOps = 512;
constexpr std::size_t kMaxKeptCapacity = 4096;
constexpr std::uint8_t kFactorPhase = 254;  // phases of a panel: early updates 0 .. depth-1, then these
constexpr std::uint8_t kUpdatePhase = 255;

// By kind: looked up for each operation.
constexpr auto kSends = [] {
  std::array<bool, traces::kOpKindCount> sends{};
  for (std::size_t k = 0; k < sends.size(); ++k) sends[k] = traces::is_send(static_cast<traces::OpKind>(k));
  return sends;
}();

// Numbers of the pool that the operations of the block need. Of pieces that come again the lists are the same.
std::size_t end_of_lists(const traces::OpBlock& block) {
  std::size_t end = 0;
  for (const traces::Op& op : block.ops)
    if (op.extra != traces::kNoList) end = std::max(end, op.extra + 1 + block.list(op).size());
  return end;
}

// Appends operations first .. end - 1 of another block with the lists that they need. These stand in the pool in the order in
// which they are needed first, so lists that are shared stay shared.
void copy_ops(const traces::OpBlock& from, std::size_t first, std::size_t end, traces::OpBlock& out) {
  constexpr std::size_t kRecent = 4;  // a piece has at most that many lists
  std::array<std::pair<std::uint32_t, std::uint32_t>, kRecent> recent;
  recent.fill({traces::kNoList, traces::kNoList});
  std::size_t next = 0;
  for (std::size_t i = first; i < end; ++i) {
    traces::Op op = from.ops[i];
    if (op.extra != traces::kNoList) {
      const auto known =
          std::find_if(recent.begin(), recent.end(), [&](const auto& r) { return r.first == op.extra; });
      if (known != recent.end()) {
        op.extra = known->second;
      } else {
        const std::uint32_t copy = out.add_list(from.list(op));
        // A poll has its own.
        if (op.kind == traces::OpKind::compute_kernel) recent[next++ % kRecent] = {op.extra, copy};
        op.extra = copy;
      }
    }
    out.ops.push_back(op);
  }
}

}  // namespace

struct HplTrace::Place : PanelSeat {
  std::uint32_t run = 0;
  const HplConfig* config = nullptr;
  // Local columns in from .. to-1 of [A | b].
  [[nodiscard]] std::int64_t columns(std::int64_t from, std::int64_t to) const {
    return local_count(from, to, config->nb, col, grid->q);
  }
};

HplTrace::~HplTrace() = default;

HplTrace::HplTrace(const HplDat& dat, const HplTraceOptions& options) : dat_(dat), options_(options) {}

Result<std::unique_ptr<HplTrace>> HplTrace::create(const HplDat& dat, const HplTraceOptions& options) {
  std::unique_ptr<HplTrace> t(new HplTrace(dat, options));
  WEFT_TRY(t->prepare());
  return t;
}

Result<void> HplTrace::prepare() {
  if (dat_.run_count() > kMaxRuns)
    return not_supported(fmt::format("{} runs in one HPL.dat", dat_.run_count()),
                         fmt::format("at most {}", kMaxRuns));
  runs_ = dat_.runs();
  for (const HplConfig& c : runs_) {
    WEFT_TRY(check_config(c));
    WEFT_TRY(with_node_grid(c, 0));
  }
  if (options_.window) {
    const PanelWindow w = *options_.window;
    if (runs_.size() != 1) return usage_error("a window of panels needs one run");
    if (w.first < 0 || w.last < w.first || w.last > runs_[0].panels())
      return usage_error("the window of panels is out of range", fmt::format("{} to {}", w.first, w.last),
                         fmt::format("within 0 to {}", runs_[0].panels()));
  }
  const int ranks = dat_.ranks();
  header_.ranks = static_cast<std::uint32_t>(ranks);
  header_.recorder = "weft generate hpl";
  header_.hpl_dat = write_hpl_dat(dat_);
  header_.notes = dat_.notes;
  if (on_accelerators(dat_.program))
    header_.notes.push_back(fmt::format("program {}, split {}", name_of(dat_.program), dat_.rochpl.split));

  traces::Communicator world{"world", {}};
  for (int r = 0; r < ranks; ++r) world.members.push_back(r);
  communicators_.push_back(world);
  std::uint32_t splits = 0;
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    const HplConfig& c = runs_[i];
    if (i > 0 && c.p == runs_[i - 1].p && c.q == runs_[i - 1].q &&
        i % (runs_.size() / dat_.grids.size()) != 0) {
      grids_.push_back(grids_.back());
      continue;
    }
    const ProcessGrid g = grid_of(c, static_cast<std::uint32_t>(communicators_.size()));
    traces::Communicator all{fmt::format("split{}", splits + 1), {}};
    for (int r = 0; r < g.size(); ++r) all.members.push_back(r);
    communicators_.push_back(std::move(all));
    for (int row = 0; row < g.p; ++row) {
      traces::Communicator m{fmt::format("split{}", splits + 2), {}};
      for (int col = 0; col < g.q; ++col) m.members.push_back(g.rank_of(row, col));
      communicators_.push_back(std::move(m));
    }
    for (int col = 0; col < g.q; ++col) {
      traces::Communicator m{fmt::format("split{}", splits + 3), {}};
      for (int row = 0; row < g.p; ++row) m.members.push_back(g.rank_of(row, col));
      communicators_.push_back(std::move(m));
    }
    splits += 3;
    grids_.push_back(g);
  }

  regions_ = {"pfact", "bcast", "swap", "update", "solve"};
  std::int64_t panels = 0;
  for (const HplConfig& c : runs_)
    panels = std::max(panels, std::max<std::int64_t>(c.panels(), c.look_ahead()));
  names_panels_ = panels <= options_.most_named_panels;
  if (!names_panels_) {
    header_.notes.push_back(fmt::format("{} panels share one region \"panel\"", panels));
    regions_.push_back("panel");
  }
  for (std::int64_t k = 0; names_panels_ && k < panels; ++k) regions_.push_back(fmt::format("panel {}", k));

  WEFT_TRY(prepare_pivots());
  ring_.resize(kRingSize);
  programs_.resize(4);
  rewind();
  return {};
}

Result<void> HplTrace::prepare_pivots() {
  if (options_.pivots == PivotKind::kRecorded) {
    if (on_accelerators(dat_.program))
      return not_supported(fmt::format("pivots of a recorded run for {}", name_of(dat_.program)),
                           "--pivots random or exact");
    WEFT_CHECK(options_.recorded != nullptr, "recorded pivots without a recording");
    for (const HplConfig& c : runs_) WEFT_TRY(check_recorded(c, *options_.recorded));
    header_.notes.push_back(options_.recorded->describe());
    return {};
  }
  const bool exact = options_.pivots == PivotKind::kExact;
  if (exact && options_.exact == nullptr)
    options_.exact = std::make_shared<ExactPivots>(options_.matrix_seed);
  std::map<std::int64_t, std::shared_ptr<const PivotSource>> by_order;
  for (const HplConfig& c : runs_) {
    auto& source = by_order[exact ? c.n : 0];
    if (source == nullptr) {
      if (exact) {
        WEFT_ASSIGN(source, options_.exact->of(c.n));
      } else {
        source = random_pivots(options_.seed);
      }
      header_.notes.push_back(source->describe());
    }
    pivots_.push_back(source);
  }
  return {};
}

void HplTrace::rewind() {
  cursors_.assign(header_.ranks, Cursor{});
  totals_ = {};
}

std::uint64_t HplTrace::ops_of(RankId rank) const {
  return counted_.empty() ? traces::kUnknownOps : counted_[rank.index()];
}

std::string HplTrace::position(RankId rank, std::uint64_t index) const {
  return fmt::format("generated HPL (rank {}, operation {})", rank.index(), index);
}

Result<void> HplTrace::count() {
  rewind();
  traces::OpBlock block;
  for (std::uint32_t r = 0; r < header_.ranks; ++r)
    for (bool more = true; more;) {
      WEFT_ASSIGN(more, next_block(RankId(r), block));
    }
  counted_.clear();
  for (const Cursor& c : cursors_) counted_.push_back(c.ops);
  const traces::TraceTotals totals = totals_;
  rewind();
  totals_ = totals;
  return {};
}

Result<bool> HplTrace::next_block(RankId rank, traces::OpBlock& out) {
  Cursor& c = cursors_[rank.index()];
  const int r = static_cast<int>(rank.index());
  out.clear();
  // A panel's series is long and rare: its memory does not stay with every rank.
  if (out.lists.capacity() > kMaxKeptCapacity) std::vector<std::int64_t>().swap(out.lists);
  out.rank = rank;
  out.first_op = c.ops;
  while (c.stage != Stage::kDone && out.ops.size() < kEnoughOps) {
    Cursor next = c;
    next.given = 0;
    const std::size_t before = out.ops.size();
    if (c.given == 0) {
      OpSink sink(out);
      step(r, next, sink, kMaxOps);
      if (out.ops.size() > kMaxOps) {  // the rest is made again for the next block
        c.given = static_cast<std::uint32_t>(kMaxOps - before);
        out.ops.resize(kMaxOps);
        out.lists.resize(end_of_lists(out));
      } else {
        c = next;
      }
      continue;
    }
    scratch_.clear();
    OpSink sink(scratch_);
    step(r, next, sink, kMaxOps);
    const std::size_t end = std::min(scratch_.ops.size(), c.given + (kMaxOps - before));
    copy_ops(scratch_, c.given, end, out);
    if (end < scratch_.ops.size())
      c.given = static_cast<std::uint32_t>(end);
    else
      c = next;
  }
  // Thousands of ranks keep a block each: without the room that a step longer than a block took.
  if (out.ops.capacity() > kMaxOps + kEnoughOps) out.ops.shrink_to_fit();
  if (out.lists.capacity() > 2 * out.lists.size() + kEnoughOps) out.lists.shrink_to_fit();
  c.ops = out.first_op + out.ops.size();
  if (counted_.empty()) {
    totals_.ops += out.ops.size();
    for (const traces::Op& op : out.ops)
      if (kSends[static_cast<std::size_t>(op.kind)]) {
        ++totals_.messages;
        totals_.bytes += static_cast<std::uint64_t>(op.amount);
      }
  }
  return !out.ops.empty();
}

PanelWindow HplTrace::window_of(const HplConfig& c) const {
  return options_.window ? *options_.window : PanelWindow{0, c.panels()};
}

HplTrace::Place HplTrace::place_of(int rank, std::uint32_t run, std::int64_t panel) const {
  const ProcessGrid& grid = grids_[run];
  return {seat_of(runs_[run], grid, grid.row_of(rank), grid.col_of(rank), panel), run, &runs_[run]};
}

PanelBcast HplTrace::bcast_of(const Place& p, OpSink& out) const {
  if (p.grid->q == 1) return {};
  const std::int64_t below = p.below(), jb = p.panel.width;
  if (p.owns()) out.kernel(traces::Kernel::dlacpy, below, jb);  // L2 into one piece of memory
  const std::int64_t words = below * jb + jb * jb + jb + 1;
  // With look-ahead the program takes one tag more when its pipeline is full.
  const int depth = p.config->look_ahead();
  const std::int64_t k = p.panel.index, number = k + (depth > 0 && k >= depth ? 1 : 0);
  const auto tag = static_cast<std::int32_t>(kTagPanel + number % kTagRange);
  const PanelSeat& seat = p;
  return PanelBcast({seat, words, tag, p.config->bcast});
}

std::uint32_t HplTrace::panel_region(std::int64_t panel) const {
  return kFirstPanel + (names_panels_ ? static_cast<std::uint32_t>(panel) : 0);
}

const HplTrace::Factorisation& HplTrace::program_of(std::uint32_t run, std::int64_t jb) {
  for (const Factorisation& p : programs_)
    if (p.jb == jb && p.run == run) return p;
  Factorisation& p = programs_[next_program_];
  next_program_ = (next_program_ + 1) % programs_.size();
  p = {run, jb, make_panel_program(runs_[run], jb), {}, {}};
  p.current = make_panel_series(p.program, jb, true);
  p.others = make_panel_series(p.program, jb, false);
  return p;
}

const RowExchange& HplTrace::exchange_of(std::uint32_t run, std::int64_t panel) {
  RowExchange& x = ring_[static_cast<std::size_t>(panel) % ring_.size()];
  if (x.panel != panel || x.run != run) {
    const HplConfig& c = runs_[run];
    const Panel at = panel_of(c, panel);
    if (options_.pivots == PivotKind::kRecorded) {
      // Every kind of swap that the run has is there (check_recorded); the other counts are not looked at.
      const auto from = options_.recorded->rows_from(panel), u = options_.recorded->u_rows(panel);
      // The current row's own count is never sent; only a copy's size depends on it: its block and a share of the rest.
      none_.assign(static_cast<std::size_t>(c.p), 0);
      if (from.empty())
        none_[static_cast<std::size_t>(at.row)] = static_cast<std::int32_t>(at.width + at.width / c.p);
      builder_.from_counts(c.p, at.row, from.empty() ? std::span<const std::int32_t>(none_) : from,
                           u.empty() ? std::span<const std::int32_t>(none_) : u, x);
    } else {
      builder_.build(c, at, *pivots_[run], x);
    }
    x.panel = panel;
    x.run = run;
  }
  return x;
}

bool HplTrace::factor(const Place& p, Cursor& c, OpSink& out, std::size_t budget) {
  if (p.owns() && p.panel.width > 0) {
    const Factorisation& made = program_of(p.run, p.panel.width);
    const PanelProgram& program = made.program;
    const PivotCalls calls = pivot_calls(*p.config, p.panel);
    if (c.sub == 0) out.begin(kPfact);
    if (options_.aggregate_pfact) {
      emit_panel_series(p.current() ? made.current : made.others, p, calls, series_, out);
      c.sub = static_cast<std::uint32_t>(program.size());
    }
    for (; c.sub < program.size(); ++c.sub) {
      if (out.size() >= budget) return false;
      emit_panel_instruction(program[c.sub], p, calls, out);
    }
    out.end(kPfact);
  }
  c.sub = 0;
  return true;
}

void HplTrace::update(const Place& p, std::int64_t columns, PanelBcast& bcast, OpSink& out) {
  const bool swaps = p.grid->p > 1 && columns > 0 && p.panel.width > 0;
  const RowExchange* const moves = swaps ? &exchange_of(p.run, p.panel.index) : nullptr;
  const PanelSeat& seat = p;
  const UpdateSeat u{{seat, moves, columns, p.config->equil}, options_.most_pieces, p.config};
  emit_update(u, bcast, out);
}

// Iteration c.item. Without look-ahead: factor, broadcast, update. With: the panel's own columns are brought up to
// date by the `depth` panels before it, it is factored and its broadcast overlaps the update with the oldest of them.
void HplTrace::panel_step(int rank, Cursor& c, OpSink& out, std::size_t budget) {
  if (on_accelerators(runs_[c.run].program)) return rochpl_panel_step(rank, c, out, budget);
  const Place me = place_of(rank, c.run, c.item);
  const HplConfig& config = *me.config;
  const PanelWindow w = window_of(config);
  const int depth = config.look_ahead();
  const bool filling = c.item < w.first + depth;  // the look-ahead's pipeline is not full yet
  const std::int64_t end = me.panel.end(), columns = config.n + 1;
  PanelBcast none;
  if (c.phase < depth && !filling) {
    if (c.phase == 0) out.begin(panel_region(c.item));
    if (me.owns()) update(place_of(rank, c.run, c.item - depth + c.phase), me.panel.width, none, out);
    ++c.phase;
    if (c.phase == depth) c.phase = kFactorPhase;
    return;
  }
  if (c.phase < kFactorPhase) {
    out.begin(panel_region(c.item));
    c.phase = kFactorPhase;
  }
  if (c.phase == kFactorPhase) {
    if (factor(me, c, out, budget)) c.phase = kUpdatePhase;
    return;
  }
  PanelBcast bcast = bcast_of(me, out);
  if (filling) {
    bcast.complete(out);
    const std::int64_t filled = std::min((w.first + depth) * config.nb, config.n);
    if (c.item + 1 < w.first + depth) update(me, me.columns(end, filled), none, out);
  } else if (depth == 0) {
    bcast.complete(out);
    update(me, me.columns(end, columns), none, out);
  } else {
    update(place_of(rank, c.run, c.item - depth), me.columns(end, columns), bcast, out);
  }
  out.end(panel_region(c.item));
  c.phase = 0;
  ++c.item;
}

RocHplPanel HplTrace::rochpl_panel_of(const Place& p) {
  const RowExchange* const moves =
      p.grid->p > 1 && p.panel.width > 0 ? &exchange_of(p.run, p.panel.index) : nullptr;
  return rochpl_panel(*p.config, p, moves);
}

// Iteration c.item of rocHPL factors that panel while the accelerators update with the one before.
void HplTrace::rochpl_panel_step(int rank, Cursor& c, OpSink& out, std::size_t budget) {
  const Place me = place_of(rank, c.run, c.item);
  if (c.phase == kFactorPhase) {
    if (factor(me, c, out, budget)) c.phase = kUpdatePhase;
    return;
  }
  const bool first = c.item == window_of(*me.config).first;
  const RocHplPanel next = rochpl_panel_of(me);
  const RocHplPanel before = first ? next : rochpl_panel_of(place_of(rank, c.run, c.item - 1));
  const RocHplPanel* const curr = first ? nullptr : &before;
  if (c.phase == 0) {
    out.begin(panel_region(c.item));
    emit_rochpl_until_factor(curr, next, c.launched, out);
    c.phase = kFactorPhase;
    return;
  }
  emit_rochpl_after_factor(curr, next, c.launched, out);
  out.end(panel_region(c.item));
  c.phase = 0;
  ++c.item;
}

// After the loop the last `depth` panels have not reached the right-hand side yet.
void HplTrace::last_updates(int rank, Cursor& c, OpSink& out) {
  const HplConfig& config = runs_[c.run];
  if (on_accelerators(config.program)) {
    const RocHplPanel last = rochpl_panel_of(place_of(rank, c.run, config.panels() - 1));
    return emit_rochpl_end(last, c.launched, out);
  }
  const int depth = config.look_ahead();
  const std::int64_t end = std::max<std::int64_t>(config.panels(), depth);
  PanelBcast none;
  for (std::int64_t k = end - depth; k < end; ++k) {
    const Place p = place_of(rank, c.run, k);
    update(p, p.columns(config.n, config.n + 1), none, out);
  }
}

// To the next run of this grid; after the last one the grid ends.
void HplTrace::next_run(Cursor& c) const {
  const std::uint32_t grid = grids_[c.run].first_comm;
  ++c.run;
  c.item = 0;
  const bool same = c.run < runs_.size() && grids_[c.run].first_comm == grid;
  c.stage = same ? Stage::kRunStart : Stage::kGridEnd;
  if (!same) --c.run;
}

void HplTrace::step(int rank, Cursor& c, OpSink& out, std::size_t budget) {
  const HplConfig& config = runs_[c.run];
  const ProcessGrid& grid = grids_[c.run];
  const bool netlib = config.program == Program::kNetlib;
  switch (c.stage) {
    case Stage::kStart:
      if (options_.start_end && netlib)
        emit_program_start(dat_, static_cast<int>(header_.ranks), rank, out);
      else if (options_.start_end)
        out.simple(traces::OpKind::init);
      c.stage = Stage::kGridStart;
      break;
    case Stage::kGridStart:
      if (options_.start_end) emit_grid_start(grid, rank, out);
      c.stage = Stage::kRunStart;
      if (rank >= grid.size()) {
        while (c.run + 1 < runs_.size() && grids_[c.run + 1].first_comm == grid.first_comm) ++c.run;
        c.stage = Stage::kGridEnd;
      }
      break;
    case Stage::kRunStart:
      if (options_.start_end && netlib) emit_run_start(grid, rank, out);
      c.stage = Stage::kPanel;
      c.item = window_of(config).first;
      break;
    case Stage::kPanel: {
      const PanelWindow w = window_of(config);
      const std::int64_t last =
          options_.window ? w.last : std::max<std::int64_t>(w.last, config.n > 0 ? config.look_ahead() : 0);
      if (c.item < last)
        panel_step(rank, c, out, budget);
      else
        c.stage = Stage::kLast;
      break;
    }
    case Stage::kLast:
      if (config.n > 0 && window_of(config).last == config.panels() && !options_.window)
        last_updates(rank, c, out);
      c.item = 0;
      c.stage = options_.solve && config.n > 0 ? Stage::kSolve : Stage::kRunEnd;
      if (c.stage == Stage::kSolve) out.begin(kSolve);
      break;
    case Stage::kSolve:
      emit_solve_step(config, grid, rank, c.item, out);
      c.item = next_solve_step(config, grid, rank, c.item);
      if (c.item >= config.panels()) {
        out.end(kSolve);
        c.stage = Stage::kRunEnd;
      }
      break;
    case Stage::kRunEnd:
      if (options_.start_end && netlib) emit_run_end(config, grid, rank, out);
      next_run(c);
      break;
    case Stage::kGridEnd:
      if (options_.start_end) emit_grid_end(grid, rank, out);
      ++c.run;
      c.stage = c.run < runs_.size() ? Stage::kGridStart : Stage::kEnd;
      if (c.stage == Stage::kEnd) c.run = 0;
      break;
    case Stage::kEnd:
      if (options_.start_end) out.simple(traces::OpKind::finalize);
      c.stage = Stage::kDone;
      break;
    case Stage::kDone:
      break;
  }
}

}  // namespace weft::hpl_gen
