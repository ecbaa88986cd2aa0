// HplTrace: a run of HPL as a trace, generated while it is read. Nothing is stored but a cursor for each rank.
//
// Memory: 40 bytes a rank, the row exchanges of the last 64 panels (shared by all ranks), the names of the panels'
// regions; with exact pivots N numbers. It does not grow with N otherwise, nor with the number of operations.
// Cost: about 25 ns an operation; a panel's pivots are drawn once for all ranks.
//
// Regions: "pfact", "bcast", "swap", "update", "solve", and "panel K" around all that iteration K of the main loop
// does; one region a panel, so ceil(N / NB) of them (above 100,000 panels: one region "panel" for all). "bcast" at the
// end of an update is the wait for a panel that was polled for (look-ahead); what a poll found earlier runs inside
// "swap" or "update".
//
// Of rocHPL a trace has what its clock covers, and the communicators; set-up, warm-up and checks are left out.
//
// The number of operations is not known before the end (kUnknownOps) unless count() was called; totals() are those of
// what was generated since the last rewind().
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "hpl_gen/hpl_dat.hpp"
#include "hpl_gen/pivots/pivots.hpp"
#include "hpl_gen/pivots/recorded_rows.hpp"
#include "hpl_gen/steps/panel_bcast.hpp"
#include "hpl_gen/steps/panel_factor.hpp"
#include "hpl_gen/steps/panel_series.hpp"
#include "hpl_gen/steps/rochpl_step.hpp"
#include "hpl_gen/steps/row_exchange.hpp"
#include "traces/trace.hpp"

namespace weft::hpl_gen {

enum class PivotKind : std::uint8_t { kRandom, kExact, kRecorded };

// Panels first .. last-1 of the main loop only.
struct PanelWindow {
  std::int64_t first = 0, last = 0;
};

struct HplTraceOptions {
  PivotKind pivots = PivotKind::kRandom;
  std::uint64_t seed = 0;                        // of random pivots
  std::int64_t matrix_seed = 100;                // of exact pivots: HPL's own matrix
  std::shared_ptr<ExactPivots> exact;            // exact pivots that traces share; none: made for this trace
  std::shared_ptr<const RecordedRows> recorded;  // kRecorded: of a run with the same N, NB and P
  // Only these panels, as if the run started at the first and stopped after the last. One run only.
  std::optional<PanelWindow> window;
  // Set-up, checks and solve; without them a trace has no communicator operations either.
  bool start_end = true;
  bool solve = true;
  // The factorisation of a panel as one exchange_series operation per process, not column by column.
  bool aggregate_pfact = false;
  // Regions "panel K" for runs of at most that many panels; those of more have one region "panel" for all.
  std::int64_t most_named_panels = 100'000;
  // Pieces of an update that polls: 0 = one for every NB columns, as the program; else at most this many.
  std::int64_t most_pieces = 0;
};

class HplTrace final : public traces::TraceReader {
 public:
  // All runs of `dat`, one after the other, on dat.ranks() ranks.
  // Errors: kBadInput for values that HPL can't run, kNotSupported for exact pivots of a large N.
  [[nodiscard]] static Result<std::unique_ptr<HplTrace>> create(const HplDat& dat,
                                                                const HplTraceOptions& options = {});
  ~HplTrace() override;

  const traces::TraceHeader& header() const override { return header_; }
  const traces::TraceTotals& totals() const override { return totals_; }
  const std::vector<traces::Communicator>& communicators() const override { return communicators_; }
  const std::vector<std::string>& regions() const override { return regions_; }
  std::uint64_t ops_of(RankId rank) const override;
  Result<bool> next_block(RankId rank, traces::OpBlock& out) override;
  bool well_formed() const override { return true; }
  void rewind() override;
  std::string position(RankId rank, std::uint64_t index) const override;

  // Generates everything once to know ops_of() and totals(); then rewinds.
  [[nodiscard]] Result<void> count();
  [[nodiscard]] const std::vector<HplConfig>& runs() const { return runs_; }

 private:
  enum class Stage : std::uint8_t {
    kStart,
    kGridStart,
    kRunStart,
    kPanel,
    kLast,
    kSolve,
    kRunEnd,
    kGridEnd,
    kEnd,
    kDone
  };
  // Where a rank is: the step to generate next, and how many of its operations were given already.
  struct Cursor {
    Stage stage = Stage::kStart;
    std::uint8_t phase = 0;  // within a panel
    RocHplLaunches launched = 0;
    std::uint32_t run = 0;
    std::uint32_t sub = 0;    // instruction of a panel factorisation
    std::uint32_t given = 0;  // operations of this step already handed out
    std::int64_t item = 0;    // panel or solve step
    std::uint64_t ops = 0;    // handed out in all
  };
  struct Place;  // a panel as one rank sees it

  explicit HplTrace(const HplDat& dat, const HplTraceOptions& options);
  [[nodiscard]] Result<void> prepare();
  [[nodiscard]] Result<void> prepare_pivots();
  // Generates the step at `c` and moves `c` on. `budget`: operations after which a long step may stop.
  void step(int rank, Cursor& c, OpSink& out, std::size_t budget);
  void panel_step(int rank, Cursor& c, OpSink& out, std::size_t budget);
  void rochpl_panel_step(int rank, Cursor& c, OpSink& out, std::size_t budget);
  [[nodiscard]] RocHplPanel rochpl_panel_of(const Place& place);
  void last_updates(int rank, Cursor& c, OpSink& out);
  bool factor(const Place& place, Cursor& c, OpSink& out, std::size_t budget);
  void update(const Place& place, std::int64_t columns, PanelBcast& bcast, OpSink& out);
  [[nodiscard]] Place place_of(int rank, std::uint32_t run, std::int64_t panel) const;
  [[nodiscard]] PanelBcast bcast_of(const Place& place, OpSink& out) const;
  [[nodiscard]] const RowExchange& exchange_of(std::uint32_t run, std::int64_t panel);
  void next_run(Cursor& c) const;
  [[nodiscard]] PanelWindow window_of(const HplConfig& c) const;

  HplDat dat_;
  HplTraceOptions options_;
  traces::TraceHeader header_;
  traces::TraceTotals totals_;
  std::vector<traces::Communicator> communicators_;
  std::vector<std::string> regions_;
  bool names_panels_ = true;  // a region for each panel
  std::vector<HplConfig> runs_;
  std::vector<ProcessGrid> grids_;                          // by run
  std::vector<std::shared_ptr<const PivotSource>> pivots_;  // by run
  std::vector<Cursor> cursors_;
  std::vector<std::uint64_t> counted_;
  std::vector<RowExchange> ring_;
  RowExchangeBuilder builder_;
  std::vector<std::int32_t> none_;
  struct Factorisation {
    std::uint32_t run = 0;
    std::int64_t jb = -1;
    PanelProgram program;
    PanelSeries current, others;  // the same as series, on the current process row and elsewhere
  };
  [[nodiscard]] const Factorisation& program_of(std::uint32_t run, std::int64_t jb);
  [[nodiscard]] std::uint32_t panel_region(std::int64_t panel) const;
  std::vector<Factorisation> programs_;
  std::vector<std::int64_t> series_;
  std::size_t next_program_ = 0;
  traces::OpBlock scratch_;
};

}  // namespace weft::hpl_gen
