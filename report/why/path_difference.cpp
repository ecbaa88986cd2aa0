#include "report/why/path_difference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "core/quantity_text.hpp"
#include "report/why/critical_path.hpp"
#include "report/why/shares.hpp"

namespace weft::report {
namespace {

constexpr std::array<const char*, replay::kPathPartCount> kPartWords{"computation",
                                                                     "processor time of sends",
                                                                     "processor time of receives",
                                                                     "polls",
                                                                     "handshakes",
                                                                     "latency",
                                                                     "moving data",
                                                                     "contention",
                                                                     "order",
                                                                     "other"};
constexpr double kTold = 0.005;  // of all: parts below it are told as one

std::string with_sign(Duration d) { return (d < Duration(0) ? "-" : "+") + show(std::chrono::abs(d)); }

// Parts from the largest on, whatever its sign; the small ones as one.
std::vector<std::pair<std::string, Duration>> by_size(const replay::PathParts& parts, Duration all) {
  std::vector<std::pair<std::string, Duration>> list;
  Duration rest{0};
  for (std::size_t p = 0; p < replay::kPathPartCount; ++p) {
    if (parts[p] == Duration(0)) continue;
    if (to_seconds(std::chrono::abs(parts[p])) < kTold * to_seconds(std::chrono::abs(all)))
      rest += parts[p];
    else
      list.emplace_back(kPartWords[p], parts[p]);
  }
  std::stable_sort(list.begin(), list.end(), [](const auto& a, const auto& b) {
    return std::chrono::abs(a.second) > std::chrono::abs(b.second);
  });
  if (rest != Duration(0)) list.emplace_back("all else", rest);
  return list;
}

// ", most of it on LINK", or nothing.
std::string mostly_on(const predict::RunFacts& run) {
  const LinkId l = predict::path_digest_of(run).most_contended;
  return l.valid() ? fmt::format(" (most on {})", run.platform->fabric.link_name(l)) : std::string();
}

}  // namespace

replay::PathParts path_difference(const predict::RunFacts& run, const predict::RunFacts& other) {
  replay::PathParts out = predict::path_digest_of(run).parts;
  const replay::PathParts less = predict::path_digest_of(other).parts;
  for (std::size_t p = 0; p < out.size(); ++p) out[p] -= less[p];
  return out;
}

std::string explain_path(const predict::RunFacts& run) {
  const Duration all = run.result->makespan;
  if (all.count() <= 0) return "nothing takes time";
  std::string s = "the critical path is";
  const char* between = " ";
  for (const auto& [name, d] : by_size(predict::path_digest_of(run).parts, all)) {
    s += fmt::format("{}{} {} ({})", between, share(d, all), name, show(d));
    if (name == kPartWords[static_cast<std::size_t>(replay::PathPart::kContention)]) s += mostly_on(run);
    between = ", ";
  }
  return s;
}

std::string explain_path_difference(const predict::RunFacts& run, const predict::RunFacts& other,
                                    std::string_view than) {
  const Duration all = run.result->makespan - other.result->makespan;
  const replay::PathParts parts = path_difference(run, other);
  std::string s = all == Duration(0) ? fmt::format("as long as {}", than)
                                     : fmt::format("{} {} than {}", show(std::chrono::abs(all)),
                                                   all > Duration(0) ? "slower" : "faster", than);
  const char* between = ", on the critical path: ";
  for (const auto& [name, d] : by_size(parts, all)) {
    s += fmt::format("{}{} {}", between, name, with_sign(d));
    if (d > Duration(0) && name == kPartWords[static_cast<std::size_t>(replay::PathPart::kContention)])
      s += mostly_on(run);
    between = ", ";
  }
  return s;
}

nlohmann::ordered_json path_parts_json(const replay::PathParts& parts) {
  auto out = nlohmann::ordered_json::object();
  for (std::size_t p = 0; p < replay::kPathPartCount; ++p)
    out[fmt::format("{}_s", replay::kPathPartNames[p])] = to_seconds(parts[p]);
  return out;
}

}  // namespace weft::report
