// The third way to pivots: from a recording of a run. A trace has no pivots, but it has what they lead to: the sizes of
// the row swaps, and these give the counts that the swaps depend on (row_exchange.hpp).
//
// The recording's program is walked as the generator would make it, process column by process column, over the messages
// of tag 1001 (pivot exchanges and swaps). Where a panel's counts are met first they are read off:
//  - binary exchange: what a process row sends first is what it has; what the current row has shows in no message, and is
//    estimated;
//  - spread-roll: what a process row receives first is the sum over its subtree, and the senders are the tree.
// Then the messages that follow from the counts must be the recorded ones, all of them; else the walk stops with an
// error. So what is accepted reproduces the recording's messages. A process row without rows has no message, and shows a
// later one in its place: which rows those are is found by trying, the fewest first, up to a bound that the error names.
//
// Counts depend on N, NB and P only: a run with another Q, BCAST or DEPTH can use them. Memory: 8 P bytes a panel
// that was read; what the HPL.dat claims costs nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/result.hpp"
#include "hpl_gen/hpl_dat.hpp"
#include "traces/trace.hpp"

namespace weft::hpl_gen {

// By panel and process row.
class RecordedRows {
 public:
  RecordedRows(const HplConfig& config, std::string what);
  [[nodiscard]] const HplConfig& config() const { return config_; }
  [[nodiscard]] const std::string& describe() const { return what_; }
  // What the recording does not hold (traces/trace_warnings.hpp), each with the name of its trace.
  [[nodiscard]] const std::vector<std::string>& warnings() const { return warnings_; }
  void set_warnings(std::vector<std::string> warnings) { warnings_ = std::move(warnings); }
  // Moved rows that each process row had (current row: estimated), or rows of U by the process row that had them.
  // Empty = no swap of the panel was of the kind that tells.
  [[nodiscard]] std::span<const std::int32_t> rows_from(std::int64_t panel) const {
    return view(from_, panel);
  }
  [[nodiscard]] std::span<const std::int32_t> u_rows(std::int64_t panel) const { return view(u_, panel); }
  // All that is known, whatever its order.
  [[nodiscard]] std::span<const std::int32_t> all_rows_from() const { return from_; }
  [[nodiscard]] std::span<const std::int32_t> all_u_rows() const { return u_; }
  void set_rows_from(std::int64_t panel, std::span<const std::int32_t> rows) { set(from_, panel, rows); }
  void set_u_rows(std::int64_t panel, std::span<const std::int32_t> rows) { set(u_, panel, rows); }

 private:
  // Panel-major, up to the last panel that was set; -1 in the first place = unknown.
  using Table = std::vector<std::int32_t>;
  [[nodiscard]] std::span<const std::int32_t> view(const Table& t, std::int64_t panel) const;
  void set(Table& t, std::int64_t panel, std::span<const std::int32_t> rows);
  HplConfig config_;
  std::string what_;
  std::vector<std::string> warnings_;
  Table from_, u_;
};

// Reads `trace`, a recording (or a generated trace) of one run of HPL; its header must hold the run's HPL.dat.
// `name` is for messages. Errors: kBadInput if it is not such a trace, or its messages are not those of HPL.
[[nodiscard]] Result<std::shared_ptr<const RecordedRows>> read_recorded_rows(traces::TraceReader& trace,
                                                                             const std::string& name);

// Does the recording tell what every swap of `config` needs? Errors: kBadInput saying what is missing.
[[nodiscard]] Result<void> check_recorded(const HplConfig& config, const RecordedRows& rows);

}  // namespace weft::hpl_gen
