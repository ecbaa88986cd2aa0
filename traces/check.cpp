// Long file: one walk over a trace; its checks share what the walk knows.
#include "traces/check.hpp"

#include <algorithm>
#include <tuple>

#include "traces/doctor.hpp"

namespace weft::traces {

Result<CheckReport> check_trace(TraceReader& trace, const CheckOptions& options) {
  CheckReport report;
  doctor::Findings findings(trace, report, options.max_findings);
  {
    doctor::Doctor buffered(trace, findings, false);
    WEFT_TRY(buffered.run());
  }
  // A program with errors would only repeat them.
  if (options.synchronous && report.errors == 0) {
    CheckReport again;
    doctor::Findings second(trace, again, options.max_findings);
    doctor::Doctor synchronous(trace, second, true);
    WEFT_TRY(synchronous.run());
    if (synchronous.deadlocked()) {
      for (auto& f : again.findings)
        if (f.message.starts_with("depends on buffering")) {
          ++report.warnings;
          report.findings.push_back(std::move(f));
        }
    }
  }
  std::ranges::stable_sort(report.findings, [](const Finding& a, const Finding& b) {
    return std::tuple(a.severity, a.rank, a.op) < std::tuple(b.severity, b.rank, b.op);
  });
  trace.rewind();
  return report;
}

}  // namespace weft::traces
