#include "report/why/sensitivity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/counted.hpp"
#include "core/quantity_text.hpp"
#include "predict/sensitivity.hpp"
#include "report/table.hpp"

namespace weft::report {
namespace {

constexpr const char* kNoEnd = "deadlock";  // or past the end of time

// Two of the three names say what is changed, not what takes longer for it.
std::string change(const std::string& what) {
  if (what == "latency") return "latency 1 % longer";
  if (what == "bandwidth") return "data 1 % longer on links";
  return what + " 1 % longer";
}

// "12.50 %"; of what rounds to nothing "0.00 %", without a sign.
std::string gain_text(Duration gain, Duration of) {
  const double percent = 100 * to_seconds(gain) / to_seconds(of);
  return fmt::format("{:.2f} %", std::fabs(percent) < 0.005 ? 0.0 : percent);
}

// Of what the path tells, where both are known.
std::optional<Duration> off_by(const predict::Slope& slope) {
  return slope.more && slope.told ? std::optional(*slope.more - *slope.told) : std::nullopt;
}

}  // namespace

std::string sensitivity_text(const predict::RunFacts& run, std::size_t width) {
  const predict::Sensitivity& s = *run.sensitivity;
  const Duration base = run.result->makespan;
  std::string out;
  Table tolerance({{"latency tolerance: a run longer by", Table::Align::kLeft}, {"more a message"}});
  for (const auto& t : s.tolerances)
    tolerance.add({fmt::format("{:g} %{}", 100 * t.ratio, t.ends ? "" : ", or a deadlock"),
                   t.latency ? show(*t.latency) : "any"});
  out += tolerance.text(width);
  Table slopes({{"what if", Table::Align::kLeft}, {"by the path"}, {"replayed"}, {"1 % less"}, {"off by"}});
  for (const auto& slope : s.slopes) {
    const auto off = off_by(slope);
    slopes.add({change(slope.what), slope.told ? show(*slope.told) : "-",
                slope.more ? show(*slope.more) : kNoEnd,
                slope.less ? show(Duration(0) - *slope.less) : kNoEnd, off ? show(*off) : "-"});
  }
  out += slopes.text(width);
  Table classes({{"links twice as fast", Table::Align::kLeft}, {"links"}, {"time"}, {"gain"}});
  for (const auto& c : s.classes)
    classes.add({c.name, std::to_string(c.links), c.makespan ? show(*c.makespan) : kNoEnd,
                 base.count() > 0 && c.makespan ? gain_text(base - *c.makespan, base) : "-"});
  if (classes.size() > 0) out += classes.text(width);
  return out;
}

std::string sensitivity_sentences(const predict::RunFacts& run) {
  const predict::Sensitivity& s = *run.sensitivity;
  const Duration base = run.result->makespan;
  std::string out;
  if (!s.tolerances.empty()) {
    const predict::Tolerance& t = s.tolerances.front();
    out += !t.latency ? std::string("No more latency makes it longer.\n")
           : t.ends   ? fmt::format("It is {:g} % longer with {} more latency a message.\n", 100 * t.ratio,
                                    show(*t.latency))
                      : fmt::format("With more than {} more latency a message it stops in a deadlock.\n",
                                    show(*t.latency));
  }
  const auto best = std::min_element(s.classes.begin(), s.classes.end(), [](const auto& a, const auto& b) {
    return a.makespan.value_or(Duration::max()) < b.makespan.value_or(Duration::max());
  });
  if (best != s.classes.end() && best->makespan && *best->makespan < base)
    out += fmt::format("Of all classes of links \"{}\" is worth doubling most: {} then.\n", best->name,
                       show(*best->makespan));
  else if (best != s.classes.end())
    out += "Faster links of any one class do not help.\n";
  return out;
}

void add_sensitivity_json(nlohmann::ordered_json& to, const predict::RunFacts& run) {
  using Json = nlohmann::ordered_json;
  const predict::Sensitivity& s = *run.sensitivity;
  const auto seconds_or_null = [](const std::optional<Duration>& d) {
    return d ? Json(to_seconds(*d)) : Json(nullptr);
  };
  Json tolerances = Json::array(), slopes = Json::array(), classes = Json::array();
  for (const auto& t : s.tolerances)
    tolerances.push_back(Json{{"ratio", t.ratio},
                              {"latency_s", t.latency ? Json(to_seconds(*t.latency)) : Json(nullptr)},
                              {"ends", t.ends},
                              {"replays", t.replays}});
  for (const auto& slope : s.slopes)
    slopes.push_back(Json{{"what", slope.what},
                          {"told_s", seconds_or_null(slope.told)},
                          {"one_percent_more_s", seconds_or_null(slope.more)},
                          {"one_percent_less_s", slope.less ? Json(to_seconds(-*slope.less)) : Json(nullptr)},
                          {"difference_s", seconds_or_null(off_by(slope))}});
  for (const auto& c : s.classes)
    classes.push_back(
        Json{{"name", c.name},
             {"links", c.links},
             {"makespan_s", seconds_or_null(c.makespan)},
             {"gain_s", c.makespan ? Json(to_seconds(run.result->makespan - *c.makespan)) : Json(nullptr)}});
  Json& j = to["sensitivity"];
  j["latency_tolerance"] = std::move(tolerances);
  j["slopes"] = std::move(slopes);
  j["twice_as_fast"] = std::move(classes);
}

}  // namespace weft::report
