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
  bool clean = false;     // the last one tried has no fault
};

// Runs the orders of arrival one after the other until one has no fault.
Result<Orders> try_orders(TraceReader& trace) {
  Orders out;
  doctor::Script script;
  std::uint64_t ops = 0;
  do {
    CheckReport scratch;
    doctor::Findings findings(trace, scratch, 0);
    doctor::RunOptions options;
    options.script = &script;
    options.most_ops = kMaxOrderOps - ops;
    doctor::Doctor run(trace, findings, options);
    WEFT_TRY(run.run());
    if (run.given_up()) return out;
    ops += run.ops_done();
    ++out.tried;
    out.clean = run.faults().count == 0;
    if (out.clean) return out;
    out.all = !script.advance();
  } while (!out.all && out.tried < kMaxOrders);
  return out;
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
  if (run.faults().count == 0) return {};
  WEFT_ASSIGN(const Orders orders, try_orders(trace));
  const bool certain = orders.all && !orders.clean;
  findings.add(certain ? Severity::kError : Severity::kWarning, run.faults());
  if (certain) return {};
  findings.add_global(
      Severity::kWarning, -1, -1,
      orders.clean
          ? std::string(
                "what receives from any source take decides: there is an order of arrival in which the "
                "program ends without these findings")
          : fmt::format("what receives from any source take was not recorded: of its orders of arrival {} "
                        "were tried, "
                        "none without a finding",
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
    CheckReport again;
    doctor::Findings second(trace, again, options.max_findings);
    doctor::RunOptions all_synchronous;
    all_synchronous.synchronous = true;
    doctor::Doctor synchronous(trace, second, all_synchronous);
    WEFT_TRY(synchronous.run());
    if (synchronous.deadlocked()) {
      for (auto& f : again.findings)
        if (f.message.starts_with("depends on buffering")) {
          ++report.warnings;
          report.findings.push_back(std::move(f));
        }
    }
  }
  warn_of_the_recording(trace, options, report);
  std::ranges::stable_sort(report.findings, [](const Finding& a, const Finding& b) {
    return std::tuple(a.severity, a.rank, a.op) < std::tuple(b.severity, b.rank, b.op);
  });
  trace.rewind();
  return report;
}

}  // namespace weft::traces
