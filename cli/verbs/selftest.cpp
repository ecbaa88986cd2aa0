// weft selftest: does this installation compute right? Exit code 1 if a case fails.
#include <fmt/format.h>

#include <chrono>
#include <memory>

#include "cli/self_check.hpp"
#include "cli/verb.hpp"
#include "core/counted.hpp"
#include "core/quantity_text.hpp"
#include "report/json_text.hpp"
#include "report/table.hpp"

namespace weft::cli::verb_selftest {
namespace {

Result<void> run(const CommonOptions& common) {
  const auto start = std::chrono::steady_clock::now();
  WEFT_ASSIGN(const auto cases, self_check(common.seed));
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
  report::Table table({{"case", report::Table::Align::kLeft},
                       {"held against", report::Table::Align::kLeft},
                       {"got"},
                       {"expected"},
                       {""}});
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  std::string csv = report::csv_line({"case", "witness", "got", "expected", "passed"});
  std::uint64_t failed = 0;
  for (const CheckedCase& c : cases) {
    failed += c.passed ? 0 : 1;
    table.add({c.name, c.witness, c.got, c.expected, c.passed ? "ok" : "WRONG"});
    rows.push_back({{"case", c.name},
                    {"witness", c.witness},
                    {"got", c.got},
                    {"expected", c.expected},
                    {"passed", c.passed}});
    csv += report::csv_line({c.name, c.witness, c.got, c.expected, c.passed ? "1" : "0"});
  }
  common.print(fmt::format("{} of {} right, in {}\n\n{}", cases.size() - failed,
                           counted(cases.size(), "case"), show_seconds(wall.count()), table.text()));
  WEFT_TRY(common.write_json(report::json_text({{"schema", "weft.selftest/1"},
                                                {"ok", failed == 0},
                                                {"cases", std::move(rows)},
                                                {"engine", {{"wall_s", wall.count()}}}})));
  WEFT_TRY(common.write_csv(csv));
  if (failed == 0) return {};
  return Error{ErrorCode::kFinding, {}, counted(failed, "case") + " of the selftest failed", {}, {}};
}

}  // namespace

Action setup(CLI::App& app) {
  auto o = std::make_shared<CommonOptions>();
  add_common(app, *o);
  return with_outputs(*o, [o] { return run(*o); });
}

}  // namespace weft::cli::verb_selftest
