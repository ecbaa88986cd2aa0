#include "traces/check/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "traces/check/doctor.hpp"
#include "traces/trace_warnings.hpp"

namespace weft::traces {
namespace {

struct Orders {
  std::size_t tried = 1;  // the first run was one
  bool all = false;       // there is no other one
  bool found = false;     // the last one tried is what was looked for,
  doctor::Faults faults;  // and these are its faults
};

// Runs the orders of arrival one after the other until one has a fault, of which it keeps `told`, or until one has none.
// `most`: steps of all; an order that would probably go beyond is not begun.
Result<Orders> try_orders(TraceReader& trace, bool until_faulty, std::uint64_t most, std::size_t told) {
  Orders out;
  doctor::Script script;
  std::uint64_t steps = 0;
  std::uint64_t last = 0;
  do {
    CheckReport scratch;
    doctor::Findings findings(trace, scratch, 0, told);
    doctor::RunOptions options;
    options.script = &script;
    options.most_steps = most - steps;
    doctor::Doctor run(trace, findings, options);
    WEFT_TRY(run.run());
    if (run.given_up()) return out;
    last = run.steps();
    steps += last;
    if (!run.repeated()) {
      ++out.tried;
      const bool faulty = run.faults().count > 0;
      out.found = until_faulty ? faulty && !run.corrected() : !faulty;
      if (out.found) {
        out.faults = run.faults();
        return out;
      }
    }
    out.all = !script.advance();
  } while (!out.all && steps + last <= most && out.tried < kMaxOrders);
  return out;
}

void add_order(doctor::Findings& findings, std::string_view in_which) {
  findings.add_global(Severity::kWarning, -1, -1,
                      fmt::format("what receives from any source take decides: there is an order of arrival "
                                  "in which the program ends {}",
                                  in_which));
}

Result<void> run_buffered(TraceReader& trace, const CheckOptions& options, CheckReport& report) {
  doctor::Findings findings(trace, report, options.max_findings);
  doctor::RunOptions first;
  first.on_progress = options.on_progress;
  doctor::Doctor run(trace, findings, first);
  WEFT_TRY(run.run());
  if (!run.uncertain()) {
    findings.add(Severity::kError, run.faults());
    return {};
  }
  if (run.faults().count == 0) {
    const std::uint64_t most = std::max(kMaxRaceSteps, run.steps() / 2 * 3);
    WEFT_ASSIGN(Orders orders, try_orders(trace, true, most, options.max_findings));
    if (!orders.found) return {};
    findings.add(Severity::kWarning, std::move(orders.faults));
    add_order(findings, "with these findings");
    return {};
  }
  WEFT_ASSIGN(const Orders orders, try_orders(trace, false, kMaxOrderSteps, 0));
  const bool certain = orders.all && !orders.found;
  findings.add(certain ? Severity::kError : Severity::kWarning, run.faults());
  if (certain) return {};
  if (orders.found)
    add_order(findings, "without these findings");
  else
    findings.add_global(Severity::kWarning, -1, -1,
                        fmt::format("what receives from any source take was not recorded: of its orders of "
                                    "arrival {} were tried, none without a finding",
                                    orders.tried));
  return {};
}

void warn_of_the_recording(const TraceReader& trace, const CheckOptions& options, CheckReport& report) {
  doctor::Findings findings(trace, report, options.max_findings);
  for (TraceWarning& w : find_trace_warnings(trace.header()))
    findings.add_global(w.another_program ? Severity::kError : Severity::kWarning, -1, -1, std::move(w.text));
}

}  // namespace

Result<CheckReport> check_trace(TraceReader& trace, const CheckOptions& options) {
  CheckReport report;
  WEFT_TRY(run_buffered(trace, options, report));
  // A program with errors would only repeat them.
  if (options.synchronous && report.errors == 0) {
    // All but the buffering is found a second time, and told nowhere.
    CheckReport again;
    doctor::Findings second(trace, again, 0, options.max_findings);
    doctor::RunOptions all_synchronous;
    all_synchronous.synchronous = true;
    doctor::Doctor synchronous(trace, second, all_synchronous);
    WEFT_TRY(synchronous.run());
    for (Finding f : synchronous.buffering().told) {
      f.severity = Severity::kWarning;
      report.findings.push_back(std::move(f));
    }
    report.warnings += synchronous.buffering().count;
  }
  warn_of_the_recording(trace, options, report);
  std::ranges::stable_sort(report.findings, [](const Finding& a, const Finding& b) {
    return std::tuple(a.severity, a.rank, a.op) < std::tuple(b.severity, b.rank, b.op);
  });
  trace.rewind();
  return report;
}

}  // namespace weft::traces
