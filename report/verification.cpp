#include "report/verification.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/counted.hpp"

namespace weft::report {

namespace {

constexpr std::size_t kMostTold = 10;  // of many runs

// Up to the verdict. `where`: "" or " in 6 runs".
std::string checks_text(const replay::Verification& v, const std::string& where) {
  return fmt::format(
      "\nverified{}: {} of {} ({}), bytes of {} and of {}, {}, {} in order: {}", where,
      counted(v.solves, "solve"), counted(v.rates, "rate"), v.conditions, counted(v.messages, "message"),
      counted(v.links, "link"), counted(v.matches, "match"), counted(v.events, "event"),
      v.wrong == 0 ? "all right" : fmt::format("{} wrong", show_count(static_cast<double>(v.wrong))));
}

std::string told_text(const replay::Verification& v) {
  std::string out = "\n";
  for (const std::string& what : v.told) out += "  " + what + '\n';
  return out;
}

}  // namespace

void VerifiedRuns::add(const std::string& run, const replay::Verification& checks) {
  ++runs_;
  if (sum_.conditions.find(checks.conditions) == std::string::npos)
    sum_.conditions += (sum_.conditions.empty() ? "" : " or ") + checks.conditions;
  sum_.solves += checks.solves;
  sum_.rates += checks.rates;
  sum_.messages += checks.messages;
  sum_.links += checks.links;
  sum_.worst_bytes_error = std::max(sum_.worst_bytes_error, checks.worst_bytes_error);
  sum_.matches += checks.matches;
  sum_.instants += checks.instants;
  sum_.events += checks.events;
  sum_.wrong += checks.wrong;
  for (const std::string& what : checks.told)
    if (sum_.told.size() < kMostTold) sum_.told.push_back(fmt::format("{}: {}", run, what));
}

std::string VerifiedRuns::text() const {
  if (runs_ == 0) return {};
  return checks_text(sum_, fmt::format(" in {}", counted(runs_, "run"))) + told_text(sum_);
}

std::string verification_text(const VerifiedRun& run) {
  const replay::Verification& v = run.checks;
  std::string out = checks_text(v, "");
  if (run.time_ratio > 0) out += fmt::format("; it took {:.1f} times as long", run.time_ratio);
  return out + told_text(v);
}

nlohmann::ordered_json verification_json(const VerifiedRun& run) {
  const replay::Verification& v = run.checks;
  return {{"conditions", v.conditions}, {"solves", v.solves},     {"rates", v.rates},
          {"messages", v.messages},     {"links", v.links},       {"worst_bytes_error", v.worst_bytes_error},
          {"matches", v.matches},       {"instants", v.instants}, {"events", v.events},
          {"wrong", v.wrong},           {"findings", v.told},     {"time_ratio", run.time_ratio}};
}

}  // namespace weft::report
