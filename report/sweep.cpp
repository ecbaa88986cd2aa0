#include "report/sweep.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <string_view>
#include <tuple>

#include "core/printable.hpp"
#include "core/quantity_text.hpp"
#include "report/explain.hpp"
#include "report/json_text.hpp"
#include "report/names.hpp"
#include "report/table.hpp"

namespace weft::report {
namespace {

using Json = nlohmann::ordered_json;

std::string words(const Setting& set) {
  std::string out;
  for (const auto& [key, value] : set) out += fmt::format("{}{}={}", out.empty() ? "" : ",", key, value);
  return out;
}

Json set_json(const Setting& set) {
  Json j = Json::object();
  for (const auto& [key, value] : set) j[key] = value;
  return j;
}

double gap(const predict::RunFacts& a, const predict::RunFacts& b) {
  return to_seconds(a.result->makespan - b.result->makespan);
}

Setting setting_of(const std::vector<SweepAxis>& axes, const std::vector<std::size_t>& choice,
                   std::size_t without) {
  Setting set;
  for (std::size_t k = 0; k < axes.size(); ++k)
    if (k != without) set.emplace_back(axes[k].key, axes[k].values[choice[k]]);
  return set;
}

// A warning for each trace whose replays do not depend on axis `k`: the same messages at the same times, for every pair
// of runs that differ in this key only. None without such a pair.
std::vector<std::string> idle_warnings(const SweepAxis& axis, std::size_t k,
                                       const std::vector<SweepRun>& runs) {
  std::vector<std::string> out;
  if (axis.values.size() < 2) return out;
  // First run by what it has in common with those that differ in the key only.
  std::map<std::tuple<std::string, std::string, std::string, std::vector<std::size_t>>, const SweepRun*>
      first;
  std::map<std::string, bool> idle;  // by trace, of those with two values to compare
  std::map<std::string, bool> computes;
  for (const SweepRun& r : runs) {
    auto choice = r.choice;
    choice[k] = 0;
    const auto& mine = *r.facts.result;
    const auto at = first.try_emplace({r.facts.trace, r.facts.map, r.platform, choice}, &r).first;
    const auto& other = *at->second->facts.result;
    const bool same = mine.finished == other.finished && mine.makespan == other.makespan &&
                      mine.fingerprint == other.fingerprint;
    if (at->second->choice[k] != r.choice[k]) idle.try_emplace(r.facts.trace, true).first->second &= same;
    computes[r.facts.trace] |= predict::digest_of(r.facts).sums.compute > 0;
  }
  TraceNames traces;
  for (const auto& [trace, any] : computes) traces.add(trace);
  for (const auto& [trace, nothing] : idle) {
    if (!nothing) continue;
    std::string text = fmt::format("{} changes nothing for {}", axis.key, traces.of(trace));
    if (axis.key == "speed" || axis.key == "host.speed")
      text +=
          computes[trace]
              ? ": none of its computations is a number of flops; --compute-scale multiplies those that were "
                "recorded as times, the platform's kernels decide those that are calls"
              : ": it computes nothing";
    out.push_back(std::move(text));
  }
  return out;
}

std::string called(const SweepRun& r) {
  const topology::Platform& p = *r.facts.platform;
  return p.label.empty() ? p.name : p.label;
}

// As its rows have it; where those of both have the same name, as the user wrote it: what follows "LABEL=".
std::string name_beside(const SweepRun& r, const SweepRun& other) {
  const topology::Platform& p = *r.facts.platform;
  if (p.name != other.facts.platform->name) return p.name;
  return p.label.empty() || !r.platform.starts_with(p.label + "=") ? r.platform
                                                                   : r.platform.substr(p.label.size() + 1);
}

}  // namespace

namespace {

// Whether the ranking of platforms can be said to be the same everywhere.
bool ranked_alike(const std::vector<SweepAxis>& axes, const std::vector<SweepRun>& runs) {
  using Of = std::pair<std::string, std::string>;  // trace and map
  std::set<std::pair<Of, std::string>> series;     // ... of a platform
  std::map<std::pair<Of, std::vector<std::size_t>>, std::vector<const SweepRun*>> finished;
  for (const SweepRun& r : runs) {
    const Of of{r.facts.trace, r.facts.map};
    series.insert({of, r.platform});
    if (r.facts.result->finished) finished[{of, r.choice}].push_back(&r);
  }
  std::size_t settings = 1;
  for (const SweepAxis& a : axes) settings *= a.values.size();
  if (runs.size() != settings * series.size()) return false;
  std::map<Of, std::size_t> several;
  std::set<std::tuple<Of, std::string, std::string>> faster;  // the first somewhere than the second
  for (const auto& [key, together] : finished) {
    if (together.size() > 1) ++several[key.first];
    for (const SweepRun* a : together)
      for (const SweepRun* b : together)
        if (a->facts.result->makespan < b->facts.result->makespan)
          faster.insert({key.first, a->platform, b->platform});
  }
  for (const auto& [of, a, b] : faster)
    if (faster.contains({of, b, a})) return false;
  return std::ranges::any_of(several, [](const auto& s) { return s.second > 1; });
}

}  // namespace

Sweep sweep_runs(const std::vector<SweepAxis>& axes, const std::vector<SweepRun>& runs, bool by_path,
                 bool whole) {
  Sweep out;
  out.ranked_alike = whole && ranked_alike(axes, runs);
  std::vector<std::string> traces;
  for (const auto& r : runs)
    if (std::find(traces.begin(), traces.end(), r.facts.trace) == traces.end())
      traces.push_back(r.facts.trace);
  for (const auto& trace : traces) {
    std::vector<const SweepRun*> group;
    for (const auto& r : runs)
      if (r.facts.trace == trace) group.push_back(&r);
    const predict::RunFacts* best = nullptr;
    for (const SweepRun* r : group)
      if (r->facts.result->finished &&
          (best == nullptr || r->facts.result->makespan < best->result->makespan))
        best = &r->facts;
    std::stable_sort(group.begin(), group.end(), [](const SweepRun* a, const SweepRun* b) {
      if (a->choice != b->choice) return a->choice < b->choice;
      if (a->facts.result->finished != b->facts.result->finished) return a->facts.result->finished;
      return a->facts.result->makespan < b->facts.result->makespan;
    });
    std::map<std::pair<std::string, std::string>, const SweepRun*> before;  // by platform and map
    for (const SweepRun* r : group) {
      SweepRow row{compare_row(r->facts, best), setting_of(axes, r->choice, axes.size())};
      row.row.run = static_cast<std::size_t>(r - runs.data());
      if (by_path) {
        const SweepRun*& last = before[{r->platform, r->facts.map}];
        tell_path(row.row, r->facts, last == nullptr ? nullptr : &last->facts,
                  last == nullptr ? "" : "with " + words(setting_of(axes, last->choice, axes.size())));
        if (r->facts.result->finished) last = r;
      }
      out.rows.push_back(std::move(row));
    }
  }

  for (std::size_t k = 0; whole && k < axes.size(); ++k)
    for (const auto& w : idle_warnings(axes[k], k, runs)) out.warnings.push_back(w);

  // Runs of one trace, map and choice of values: those of all platforms, in the order of the runs.
  using Place = std::tuple<std::string_view, std::string_view, std::vector<std::size_t>>;
  std::map<Place, std::vector<const SweepRun*>> places;
  for (const auto& r : runs) places[{r.facts.trace, r.facts.map, r.choice}].push_back(&r);
  // On `platform` with the value of `axis` so many steps further on.
  const auto at = [&](const SweepRun& like, const std::string& platform, std::size_t axis,
                      std::size_t step) -> const SweepRun* {
    auto choice = like.choice;
    choice[axis] += step;
    const auto place = places.find({like.facts.trace, like.facts.map, std::move(choice)});
    if (place == places.end()) return nullptr;
    for (const SweepRun* r : place->second)
      if (r->platform == platform) return r->facts.result->finished ? r : nullptr;
    return nullptr;
  };
  for (const auto& a : runs)
    for (const SweepRun* other : places.at({a.facts.trace, a.facts.map, a.choice})) {
      const SweepRun& b = *other;
      if (!a.facts.result->finished || !b.facts.result->finished ||
          a.facts.result->makespan >= b.facts.result->makespan)
        continue;
      for (std::size_t k = 0; k < axes.size(); ++k) {
        // The next value at which they do not tie.
        const SweepRun* a2 = nullptr;
        const SweepRun* b2 = nullptr;
        std::size_t to = a.choice[k] + 1;
        for (; to < axes[k].values.size(); ++to) {
          a2 = at(a, a.platform, k, to - a.choice[k]);
          b2 = at(a, b.platform, k, to - a.choice[k]);
          if (a2 == nullptr || b2 == nullptr || a2->facts.result->makespan != b2->facts.result->makespan)
            break;
        }
        if (to == axes[k].values.size() || a2 == nullptr || b2 == nullptr ||
            a2->facts.result->makespan < b2->facts.result->makespan)
          continue;
        out.flips.push_back({a.facts.trace,
                             a.facts.map,
                             axes[k].key,
                             axes[k].values[a.choice[k]],
                             axes[k].values[to],
                             a.platform,
                             b.platform,
                             name_beside(a, b),
                             name_beside(b, a),
                             called(a),
                             called(b),
                             setting_of(axes, a.choice, k),
                             gap(a.facts, b.facts),
                             gap(a2->facts, b2->facts),
                             {},
                             0});
        Flip& f = out.flips.back();
        if (const auto ends = parse_axis_interval(f.from, f.to))
          f.at = crossing(ends->first, f.gap_from, ends->second, f.gap_to);
      }
    }
  return out;
}

Result<void> refine_flip(
    Flip& flip, unsigned steps,
    const std::function<Result<std::optional<double>>(const std::string&, const std::string&)>& time) {
  if (!flip.at) return {};
  const auto ends = parse_axis_interval(flip.from, flip.to);
  if (!ends) return {};
  auto [low, high] = *ends;
  double below = flip.gap_from, above = flip.gap_to;
  for (unsigned i = 0; i < steps; ++i) {
    const AxisValue mid = axis_at(low.kind, (axis_coordinate(low) + axis_coordinate(high)) / 2);
    if (mid.value == low.value || mid.value == high.value) break;
    const std::string value = axis_text(mid);
    WEFT_ASSIGN(const auto a, time(flip.faster_before, value));
    WEFT_ASSIGN(const auto b, time(flip.faster_after, value));
    if (!a || !b) break;
    ++flip.replays;
    const double d = *a - *b;
    if (d == 0) {
      flip.at = mid;
      return {};
    }
    (d < 0 ? low : high) = mid;
    (d < 0 ? below : above) = d;
    flip.at = crossing(low, below, high, above);
    if (!flip.at) flip.at = high;  // neighbouring whole numbers: the first at which the other is faster
  }
  return {};
}

namespace {

std::vector<CompareRow> compared_rows(const Sweep& sweep) {
  std::vector<CompareRow> rows;
  rows.reserve(sweep.rows.size());
  for (const auto& r : sweep.rows) rows.push_back(r.row);
  return rows;
}

std::vector<std::string> sweep_warnings(const Sweep& sweep) {
  std::vector<std::string> out = sweep.warnings;
  for (std::string& w : all_warnings(compared_rows(sweep))) out.push_back(std::move(w));
  return out;
}

// Calls `f` with the rows of every trace.
template <class F>
void for_each_swept_trace(const Sweep& sweep, F f) {
  const std::span<const SweepRow> rows(sweep.rows);
  for (std::size_t i = 0, end = 0; i < rows.size(); i = end) {
    while (end < rows.size() && rows[end].row.trace == rows[i].row.trace) ++end;
    f(rows.subspan(i, end - i));
  }
}

// What is fastest, of the rows of one trace.
std::string sweep_headline(std::span<const SweepRow> rows, const TraceNames& traces,
                           const PlatformNames& names) {
  const SweepRow *best = nullptr, *worst = nullptr;
  std::size_t finished = 0;
  RunsThatFound found;
  for (const SweepRow& r : rows) {
    found.add(r.row);
    if (!r.row.finished) continue;
    ++finished;
    if (best == nullptr || r.row.makespan_s < best->row.makespan_s) best = &r;
    if (worst == nullptr || r.row.makespan_s > worst->row.makespan_s) worst = &r;
  }
  const std::string trace = traces.of(rows.front().row.trace);
  if (best == nullptr) return fmt::format("{}: deadlock in every run", trace);
  if (finished > 1 && is_as_fast(worst->row.makespan_s, best->row.makespan_s))
    return fmt::format("{}: as long in {}, {}{}", trace,
                       finished == rows.size() ? fmt::format("all {} runs", finished)
                                               : fmt::format("the {} runs that end", finished),
                       show_seconds(best->row.makespan_s), found.text());
  const bool several_maps =
      std::ranges::any_of(rows, [&](const SweepRow& r) { return r.row.map != best->row.map; });
  return fmt::format("{}: fastest with {}{} on {}, {}{}", trace, words(best->set),
                     several_maps ? " and map " + best->row.map : "",
                     names.of(best->row.label, best->row.platform), show_seconds(best->row.makespan_s),
                     found.text());
}

}  // namespace

std::string sweep_json(const Sweep& sweep, const std::string& error) {
  Json rows = Json::array();
  for (const auto& r : sweep.rows) {
    Json row = compare_row_json(r.row);
    row["set"] = set_json(r.set);
    rows.push_back(std::move(row));
  }
  Json flips = Json::array();
  for (const auto& f : sweep.flips)
    flips.push_back(Json{{"key", f.key},
                         {"from", f.from},
                         {"to", f.to},
                         {"platforms", {f.name_before, f.name_after}},
                         {"trace", f.trace},
                         {"map", f.map},
                         {"set", set_json(f.others)},
                         {"at", f.at ? Json(f.at->value) : Json(nullptr)},
                         {"at_text", f.at ? Json(axis_text(*f.at)) : Json(nullptr)},
                         {"how", !f.at ? Json(nullptr) : Json(f.replays > 0 ? "bisected" : "interpolated")}});
  Json j;
  j["schema"] = "weft.sweep/1";
  j["rows"] = std::move(rows);
  j["flips"] = std::move(flips);
  j["warnings"] = sweep_warnings(sweep);
  if (!error.empty()) j["error"] = error;
  return json_text(j);
}

std::string sweep_csv(const Sweep& sweep) {
  const PathColumns path(
      std::ranges::any_of(sweep.rows, [](const SweepRow& r) { return r.row.path.has_value(); }));
  std::vector<std::string> head{"trace",      "set",      "platform",  "map",        "routing",
                                "makespan_s", "slowdown", "mean_hops", "worst_link", "worst_link_utilization",
                                "why",        "error",    "model",     "label"};
  path.name(head);
  std::string out = csv_line(head);
  for (const auto& [r, set] : sweep.rows) {
    std::vector<std::string> cells{r.trace,
                                   words(set),
                                   r.platform,
                                   r.map,
                                   r.routing,
                                   predict::exact_number(r.makespan_s),
                                   r.slowdown ? predict::exact_number(*r.slowdown) : "",
                                   predict::exact_number(r.mean_hops),
                                   r.worst_link,
                                   predict::exact_number(r.worst_link_utilization),
                                   r.why,
                                   r.error,
                                   r.model,
                                   r.label};
    path.add(cells, r);
    out += csv_line(cells);
  }
  return out;
}

std::vector<std::string> sweep_answers(const Sweep& sweep) {
  const std::vector<CompareRow> all = compared_rows(sweep);
  const PlatformNames names = platforms_of(all, PlatformNames::LongNames::kWhole);
  const TraceNames traces = traces_of(all);
  std::vector<std::string> out;
  for_each_swept_trace(
      sweep, [&](std::span<const SweepRow> rows) { out.push_back(sweep_headline(rows, traces, names)); });
  return out;
}

std::string sweep_text(const Sweep& sweep, std::size_t width) {
  std::string out;
  const std::vector<CompareRow> all = compared_rows(sweep);
  const PlatformNames names = platforms_of(all, PlatformNames::LongNames::kNumbered);
  const TraceNames traces = traces_of(all);
  for_each_swept_trace(sweep, [&](std::span<const SweepRow> rows) {
    if (!out.empty()) out += "\n";
    out += wrap(sweep_headline(rows, traces, names) + "\n", width, 2) + "\n";
    Table table({{"#"},
                 {"set", Table::Align::kLeft},
                 {"platform", Table::Align::kLeft},
                 {"map", Table::Align::kLeft},
                 {"time"},
                 {"slowdown"},
                 {"worst link", Table::Align::kLeft},
                 {"used"}});
    for (std::size_t k = 0; k < rows.size(); ++k) {
      const auto& [r, set] = rows[k];
      table.add({std::to_string(k + 1), words(set), names.of(r.label, r.platform), r.map,
                 r.finished ? show_seconds(r.makespan_s) : "deadlock",
                 r.slowdown ? fmt::format("{:.3f}", *r.slowdown) : "-",
                 r.worst_link.empty() ? "-" : r.worst_link, show_percent(r.worst_link_utilization)});
    }
    out += table.text(width, 3) + "\n";
    for (std::size_t k = 0; k < rows.size(); ++k)
      out += wrap(fmt::format("{}. {}\n", k + 1, rows[k].row.why), width, 3);
  });
  out += verified_text(all) + wrap(assumed_text(all, names), width, 2) + "\n";
  for (const std::string& w : sweep_warnings(sweep)) out += wrap("warning: " + w + "\n", width, 3);
  if (sweep.ranked_alike) out += "the ranking of the platforms is the same everywhere\n";
  const auto in_flip = [&](const std::string& called, const std::string& name) {
    return printable(called != name ? called : names.spelled(name));
  };
  for (const auto& f : sweep.flips) {
    const std::string at =
        !f.at ? std::string()
              : fmt::format("; equal at {}{} ({})", f.replays > 0 ? "" : "about ", show_axis(*f.at),
                            f.replays == 1  ? "bisected, 1 step"
                            : f.replays > 1 ? fmt::format("bisected, {} steps", f.replays)
                                            : "interpolated; --bisect N replays between the values");
    out +=
        wrap(fmt::format("flip: {} is faster with {}={}, {} with {}={}{} ({}, map {}){}\n",
                         in_flip(f.called_before, f.name_before), f.key, f.from,
                         in_flip(f.called_after, f.name_after), f.key, f.to,
                         f.others.empty() ? "" : " (" + words(f.others) + ")", traces.of(f.trace), f.map, at),
             width, 2);
  }
  if (!names.legend().empty()) out.append("\n").append(wrap(names.legend(), width, 5));
  if (!sweep.rows.empty() && !sweep.rows[0].row.changes.empty())
    out.append("\n").append(
        wrap(fmt::format("all with {}\n", fmt::join(sweep.rows[0].row.changes, " ")), width, 2));
  return out;
}

}  // namespace weft::report
