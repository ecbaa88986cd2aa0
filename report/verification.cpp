#include "report/verification.hpp"

#include <fmt/format.h>

#include "core/counted.hpp"

namespace weft::report {

std::string verification_text(const VerifiedRun& run) {
  const replay::Verification& v = run.checks;
  std::string out = fmt::format(
      "\nverified: {} of {} ({}), bytes of {} and of {}, {}, {} in order: {}", counted(v.solves, "solve"),
      counted(v.rates, "rate"), v.conditions, counted(v.messages, "message"), counted(v.links, "link"),
      counted(v.matches, "match"), counted(v.events, "event"),
      v.wrong == 0 ? "all right" : fmt::format("{} wrong", show_count(static_cast<double>(v.wrong))));
  if (run.time_ratio > 0) out += fmt::format("; it took {:.1f} times as long", run.time_ratio);
  out += '\n';
  for (const std::string& what : v.told) out += "  " + what + '\n';
  return out;
}

nlohmann::ordered_json verification_json(const VerifiedRun& run) {
  const replay::Verification& v = run.checks;
  return {{"conditions", v.conditions}, {"solves", v.solves},     {"rates", v.rates},
          {"messages", v.messages},     {"links", v.links},       {"worst_bytes_error", v.worst_bytes_error},
          {"matches", v.matches},       {"instants", v.instants}, {"events", v.events},
          {"wrong", v.wrong},           {"findings", v.told},     {"time_ratio", run.time_ratio}};
}

}  // namespace weft::report
