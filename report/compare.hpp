// Traces x platforms x mappings x routings in one ranked table: text, JSON ("weft.compare/1"), CSV.
//
// Besides what docs/reports.md lists a row has what the network costs (cables, links_per_host = cables / hosts;
// switches is among those) and who shares the worst link: worst_link_pairs {pairs, bytes, most: [{src, dst, bytes,
// share}]}, ranks of the pairs that put most on it, shares of all that it carried; null where they are not known. The text
// tells of copies between accelerators and hosts, too.
//
// Rows are grouped by trace in the order given and ranked by makespan within; equal ones keep the order
// given. `slowdown` is the makespan over the smallest one of the same trace; of nothing, 1 for those that take nothing
// too, and none for the others. A run that deadlocks comes last
// in its group, without a slowdown, with `error`; one with unmatched messages keeps its place and has `error` too.
// `warnings`: what the traces do not hold and what the replays met, each once with the name of its trace.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "predict/run_facts.hpp"
#include "report/names.hpp"
#include "report/table.hpp"

namespace weft::report {

struct CompareRow {
  std::size_t run = 0;  // index into the runs that the rows are made of
  std::string trace, platform, map, routing;
  std::string model;      // that shared the links
  std::string label;      // of the platform; empty: the user gave none
  bool finished = false;  // else a deadlock
  double makespan_s = 0;
  std::optional<double> slowdown;  // none: deadlock, or the fastest takes no time and this one some
  std::uint32_t hosts = 0, switches = 0, links = 0;
  std::uint32_t cables = 0;
  double links_per_host = 0;  // cables / hosts: what a host's share of the network costs
  double mean_hops = 0;
  std::string worst_link;  // empty: no link was used
  double worst_link_utilization = 0;
  std::string most_waited_link;  // that held messages back longest; empty: none was held back
  double most_waited_s = 0;      // what messages lost on it
  predict::LinkSharers sharers;  // of the worst link
  std::string why;
  // Where rows tell critical paths: parts of this one, and what they have more than those of the row that it is held
  // against, if it is.
  std::optional<replay::PathParts> path, path_more;
  std::string error;  // deadlock, unmatched messages, a replay that is wrong: in one line
  std::optional<replay::Verification> verified;  // where it was asked for
  std::vector<std::string> warnings;
  std::vector<std::string> assumed;  // predict::assumed_of()
  std::vector<std::string> changes;  // flags that are not at their defaults

  // With which a study ends that this row is of. REQUIRES: an error.
  [[nodiscard]] Error finding() const {
    return {ErrorCode::kFinding, trace, "on " + (label.empty() ? platform : label) + ": " + error, {}, {}};
  }
};

// How many runs of a trace found something, which no time says: for the end of the sentence that tells the fastest.
class RunsThatFound {
 public:
  void add(const CompareRow& row);
  // "; 2 of 9 runs end in a deadlock"; empty where none found anything.
  [[nodiscard]] std::string text() const;

 private:
  std::size_t runs_ = 0, deadlocks_ = 0, unmatched_ = 0, wrong_ = 0;
};

// `runs` may come in any order of completion; the order here is the order asked for. O(runs log runs +
// links).
// `by_path`: why by their critical paths, which are known of all that finished.
[[nodiscard]] std::vector<CompareRow> rank_runs(const std::vector<predict::RunFacts>& runs,
                                                bool by_path = false);

// One run against the fastest of its group (null only if none finished).
[[nodiscard]] CompareRow compare_row(const predict::RunFacts& run, const predict::RunFacts* best);
// Says why by the critical path, against that of `other` (null: alone), which the text calls `than`. REQUIRES: they are
// known of those that finished.
void tell_path(CompareRow& row, const predict::RunFacts& run, const predict::RunFacts* other,
               std::string_view than);
// The columns of CSV that only rows with critical paths have: the keys of JSON, joined by dots. None where `rows` have none.
class PathColumns {
 public:
  explicit PathColumns(bool any) : any_(any) {}
  void name(std::vector<std::string>& head) const;
  // Empty cells for what `row` has not.
  void add(std::vector<std::string>& cells, const CompareRow& row) const;

 private:
  bool any_;
};
[[nodiscard]] nlohmann::ordered_json compare_row_json(const CompareRow& row);
// The warnings of all rows, "TRACE: sentence", each once in order of the rows.
[[nodiscard]] std::vector<std::string> all_warnings(const std::vector<CompareRow>& rows);
// What is assumed of the platforms, one line, these called as tables call them.
[[nodiscard]] std::string assumed_text(const std::vector<CompareRow>& rows, const PlatformNames& names);
// What was verified, in all rows together; empty where nothing was.
[[nodiscard]] std::string verified_text(const std::vector<CompareRow>& rows);
// What tables and sentences call the traces and the platforms of the rows; these are numbered in the order of the runs.
[[nodiscard]] TraceNames traces_of(const std::vector<CompareRow>& rows);
[[nodiscard]] PlatformNames platforms_of(const std::vector<CompareRow>& rows,
                                         PlatformNames::LongNames long_names);
// What is fastest and what slowest, a sentence a trace, with the whole names of platforms.
[[nodiscard]] std::vector<std::string> compare_answers(const std::vector<CompareRow>& rows);
// `error`: why some rows are not there; empty: all are.
[[nodiscard]] std::string compare_json(const std::vector<CompareRow>& rows, const std::string& error = {});
[[nodiscard]] std::string compare_csv(const std::vector<CompareRow>& rows);
// Names of platforms that are too long for the table are numbered in the order of the runs, with a legend below.
[[nodiscard]] std::string compare_text(const std::vector<CompareRow>& rows, std::size_t width = kUsualWidth);

}  // namespace weft::report
