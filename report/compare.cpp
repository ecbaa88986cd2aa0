#include "report/compare.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>
#include <utility>

#include "core/quantity_text.hpp"
#include "network/sharing.hpp"
#include "report/assumed.hpp"
#include "report/explain.hpp"
#include "report/json_text.hpp"
#include "report/names.hpp"
#include "report/table.hpp"
#include "report/verification.hpp"
#include "report/why/path_difference.hpp"

namespace weft::report {

CompareRow compare_row(const predict::RunFacts& run, const predict::RunFacts* best) {
  CompareRow row;
  row.trace = run.trace;
  row.platform = run.platform->name;
  row.label = run.platform->label;
  row.changes = run.changes;
  row.map = run.map;
  row.routing = run.routing;
  row.model = network::model_name(run.options->model, run.platform->fabric);
  row.makespan_s = to_seconds(run.result->makespan);
  const auto& fabric = run.platform->fabric;
  row.hosts = fabric.host_count();
  row.switches = fabric.switch_count();
  row.links = fabric.wired_links();
  row.cables = fabric.cable_count();
  row.links_per_host = row.hosts > 0 ? static_cast<double>(row.cables) / row.hosts : 0;
  row.sharers = run.worst_link_sharers;
  row.mean_hops = predict::mean_hops(run);
  const predict::RunDigest digest = predict::digest_of(run);
  if (digest.worst.link.valid()) {
    row.worst_link = fabric.link_name(digest.worst.link);
    row.worst_link_utilization = predict::utilization(run, digest.worst);
  }
  row.warnings = run.result->warnings;
  row.assumed = predict::assumed_of(run);
  row.error = run.finding();
  row.verified = run.verified;
  if (const auto& most = digest.most_waited; most.link.valid()) {
    row.most_waited_link = fabric.link_name(most.link);
    row.most_waited_s = to_seconds(most.use.waited);
  }
  if (!run.result->finished) {
    row.why = row.error;
    return row;
  }
  row.finished = true;
  const Duration least = best->result->makespan;
  if (least.count() > 0)
    row.slowdown = run.result->makespan / std::chrono::duration<double, std::pico>(least);
  if (run.result->makespan == least) row.slowdown = 1.0;
  row.why = &run == best ? explain_alone(run) : explain_slower(run, *best);
  return row;
}

void tell_path(CompareRow& row, const predict::RunFacts& run, const predict::RunFacts* other,
               std::string_view than) {
  if (!run.result->finished) return;
  row.path = predict::path_digest_of(run).parts;
  if (other == nullptr || !other->result->finished) {
    row.why = explain_path(run);
    return;
  }
  row.path_more = path_difference(run, *other);
  row.why = explain_path_difference(run, *other, than);
}

void RunsThatFound::add(const CompareRow& row) {
  ++runs_;
  if (row.error.empty()) return;
  if (!row.finished)
    ++deadlocks_;
  else if (row.verified && row.verified->wrong > 0)
    ++wrong_;
  else
    ++unmatched_;
}

std::string RunsThatFound::text() const {
  std::string out;
  const auto tell = [&](std::size_t n, const char* one, const char* several) {
    if (n > 0) out += fmt::format("; {} of {} runs {}", n, runs_, n == 1 ? one : several);
  };
  tell(deadlocks_, "ends in a deadlock", "end in a deadlock");
  tell(unmatched_, "leaves messages or receives unmatched", "leave messages or receives unmatched");
  tell(wrong_, "is found wrong", "are found wrong");
  return out;
}

std::vector<CompareRow> rank_runs(const std::vector<predict::RunFacts>& runs, bool by_path) {
  std::vector<std::string> traces;
  for (const auto& r : runs)
    if (std::find(traces.begin(), traces.end(), r.trace) == traces.end()) traces.push_back(r.trace);
  std::vector<CompareRow> rows;
  for (const auto& trace : traces) {
    std::vector<const predict::RunFacts*> group;
    for (const auto& r : runs)
      if (r.trace == trace) group.push_back(&r);
    std::stable_sort(group.begin(), group.end(), [](const predict::RunFacts* a, const predict::RunFacts* b) {
      if (a->result->finished != b->result->finished) return a->result->finished;
      return a->result->makespan < b->result->makespan;
    });
    for (const predict::RunFacts* r : group) {
      rows.push_back(compare_row(*r, group.front()));
      rows.back().run = static_cast<std::size_t>(r - runs.data());
      if (by_path) tell_path(rows.back(), *r, r == group.front() ? nullptr : group.front(), "the fastest");
    }
  }
  return rows;
}

namespace {

// Of what the link carried.
double share_of(const predict::LinkSharers& s, std::uint64_t bytes) {
  const std::uint64_t all = s.bytes + s.copied;
  return all > 0 ? static_cast<double>(bytes) / static_cast<double>(all) : 0;
}

nlohmann::ordered_json sharers_json(const predict::LinkSharers& s) {
  using Json = nlohmann::ordered_json;
  if (!s.known || (s.pairs == 0 && s.copied == 0)) return nullptr;
  Json most = Json::array();
  for (const predict::LinkSharer& one : s.most)
    most.push_back(Json{{"src", one.src.index()},
                        {"dst", one.dst.index()},
                        {"bytes", one.bytes},
                        {"share", share_of(s, one.bytes)}});
  return Json{{"pairs", s.pairs}, {"bytes", s.bytes}, {"most", std::move(most)}};
}

// "12 pairs of ranks share it, most: 0->5 25 %, 1->6 25 %; copies 12 %"
std::string sharers_text(const predict::LinkSharers& s, std::size_t limit) {
  if (!s.known || (s.pairs == 0 && s.copied == 0)) return {};
  if (s.pairs == 0) return "copies alone use it";
  std::string out = s.pairs == 1 ? "one pair of ranks uses it: "
                                 : fmt::format("{} pairs of ranks share it, most: ", s.pairs);
  for (std::size_t i = 0; i < std::min(limit, s.most.size()); ++i)
    out += fmt::format("{}{}->{} {}", i == 0 ? "" : ", ", s.most[i].src.index(), s.most[i].dst.index(),
                       show_percent(share_of(s, s.most[i].bytes)));
  if (s.copied > 0) out += "; copies " + show_percent(share_of(s, s.copied));
  return out;
}

constexpr std::size_t kTextSharers = 3;

// How links were shared: by one model everywhere, or by which where.
std::string models_line(const std::vector<CompareRow>& rows, std::size_t from, std::size_t to) {
  const auto same = [&](const CompareRow& r) { return r.model == rows[from].model; };
  if (std::all_of(rows.begin() + static_cast<std::ptrdiff_t>(from),
                  rows.begin() + static_cast<std::ptrdiff_t>(to), same))
    return fmt::format("model: {} sharing\n", rows[from].model);
  std::string out;
  for (std::size_t k = from; k < to; ++k)
    out += fmt::format("{}{} sharing in {}", out.empty() ? "model: " : ", ", rows[k].model, k - from + 1);
  return out + "\n";
}

}  // namespace

nlohmann::ordered_json compare_row_json(const CompareRow& r) {
  using Json = nlohmann::ordered_json;
  Json row{{"trace", r.trace},
           {"platform", r.platform},
           {"map", r.map},
           {"routing", r.routing},
           {"model", r.model},
           {"makespan_s", r.makespan_s},
           {"slowdown", r.slowdown ? Json(*r.slowdown) : Json(nullptr)},
           {"hosts", r.hosts},
           {"switches", r.switches},
           {"links", r.links},
           {"mean_hops", r.mean_hops},
           {"worst_link", r.worst_link.empty() ? Json(nullptr) : Json(r.worst_link)},
           {"worst_link_utilization", r.worst_link_utilization},
           {"why", r.why},
           {"cables", r.cables},
           {"links_per_host", r.links_per_host},
           {"worst_link_pairs", sharers_json(r.sharers)},
           {"most_waited_link", r.most_waited_link.empty() ? Json(nullptr) : Json(r.most_waited_link)},
           {"most_waited_s", r.most_waited_s}};
  if (!r.label.empty()) row["label"] = r.label;
  if (!r.changes.empty()) row["changes"] = r.changes;
  row["assumed"] = r.assumed;
  if (!r.error.empty()) row["error"] = r.error;
  if (r.verified) row["verification"] = verification_json({*r.verified, 0});
  if (r.path) row["critical_path"] = Json{{"parts", path_parts_json(*r.path)}};
  if (r.path_more) row["critical_path"]["difference"] = path_parts_json(*r.path_more);
  return row;
}

std::vector<std::string> all_warnings(const std::vector<CompareRow>& rows) {
  const TraceNames traces = traces_of(rows);
  std::vector<std::string> out;
  for (const CompareRow& r : rows)
    for (const std::string& w : r.warnings) {
      std::string text = traces.of(r.trace) + ": " + w;
      if (std::find(out.begin(), out.end(), text) == out.end()) out.push_back(std::move(text));
    }
  return out;
}

std::string compare_json(const std::vector<CompareRow>& rows, const std::string& error) {
  using Json = nlohmann::ordered_json;
  Json list = Json::array();
  for (const auto& r : rows) list.push_back(compare_row_json(r));
  Json j;
  j["schema"] = "weft.compare/1";
  j["rows"] = std::move(list);
  j["warnings"] = all_warnings(rows);
  if (!error.empty()) j["error"] = error;
  return json_text(j);
}

void PathColumns::name(std::vector<std::string>& head) const {
  if (!any_) return;
  for (const char* const what : {"parts", "difference"})
    for (const std::string_view part : replay::kPathPartNames)
      head.push_back(fmt::format("critical_path.{}.{}_s", what, part));
}

void PathColumns::add(std::vector<std::string>& cells, const CompareRow& row) const {
  if (!any_) return;
  for (const auto& parts : {row.path, row.path_more})
    for (std::size_t p = 0; p < replay::kPathPartCount; ++p)
      cells.push_back(parts ? predict::exact_number(to_seconds((*parts)[p])) : "");
}

std::string compare_csv(const std::vector<CompareRow>& rows) {
  const PathColumns path(std::ranges::any_of(rows, [](const CompareRow& r) { return r.path.has_value(); }));
  std::vector<std::string> head{"trace",
                                "platform",
                                "map",
                                "routing",
                                "makespan_s",
                                "slowdown",
                                "hosts",
                                "switches",
                                "links",
                                "mean_hops",
                                "worst_link",
                                "worst_link_utilization",
                                "why",
                                "error",
                                "cables",
                                "links_per_host",
                                "worst_link_pairs",
                                "model",
                                "most_waited_link",
                                "most_waited_s",
                                "label"};
  path.name(head);
  std::string out = csv_line(head);
  for (const auto& r : rows) {
    std::vector<std::string> cells{r.trace,
                                   r.platform,
                                   r.map,
                                   r.routing,
                                   predict::exact_number(r.makespan_s),
                                   r.slowdown ? predict::exact_number(*r.slowdown) : "",
                                   std::to_string(r.hosts),
                                   std::to_string(r.switches),
                                   std::to_string(r.links),
                                   predict::exact_number(r.mean_hops),
                                   r.worst_link,
                                   predict::exact_number(r.worst_link_utilization),
                                   r.why,
                                   r.error,
                                   std::to_string(r.cables),
                                   predict::exact_number(r.links_per_host),
                                   sharers_text(r.sharers, predict::PairTraffic::kSharersShown),
                                   r.model,
                                   r.most_waited_link,
                                   predict::exact_number(r.most_waited_s),
                                   r.label};
    path.add(cells, r);
    out += csv_line(cells);
  }
  return out;
}

namespace {

const std::string& name_of(const CompareRow& r, const PlatformNames& names) {
  return names.of(r.label, r.platform);
}

// What tells runs of one trace apart: "torus-16 with map random", only what is not the same for all.
struct Differences {
  bool platform = false, map = false, routing = false;

  explicit Differences(std::span<const CompareRow> rows) {
    for (const CompareRow& r : rows) {
      platform |= r.platform != rows[0].platform || r.label != rows[0].label;
      map |= r.map != rows[0].map;
      routing |= r.routing != rows[0].routing;
    }
    // Routing mostly follows the platform.
    if (platform) routing = false;
    std::map<std::pair<std::string_view, std::string_view>, std::string_view> first;  // of each platform
    for (const CompareRow& r : rows)
      routing |= first.try_emplace({r.platform, r.label}, r.routing).first->second != r.routing;
  }
  [[nodiscard]] std::string of(const CompareRow& r, const PlatformNames& names) const {
    std::vector<std::string> with;
    if (map) with.push_back("map " + r.map);
    if (routing) with.push_back("routing " + r.routing);
    std::string rest = with.empty() ? "" : fmt::format("with {}", fmt::join(with, " and "));
    if (!platform && !rest.empty()) return rest;
    return "on " + name_of(r, names) + (rest.empty() ? "" : " " + rest);
  }
};

std::string headline(std::span<const CompareRow> rows, const TraceNames& traces, const PlatformNames& names) {
  const CompareRow& best = rows[0];
  const Differences differ(rows);
  const bool one_platform = !differ.platform && (differ.map || differ.routing);
  const std::string trace = traces.of(best.trace) + (one_platform ? " on " + name_of(best, names) : "");
  if (!best.finished) return fmt::format("{}: deadlock in every run", trace);
  std::string out =
      fmt::format("{}: fastest {}, {}", trace, differ.of(best, names), show_seconds(best.makespan_s));
  const CompareRow* last = &best;
  std::size_t finished = 0;
  RunsThatFound found;
  for (const CompareRow& r : rows) {
    found.add(r);
    if (r.finished) {
      last = &r;
      ++finished;
    }
  }
  if (last != &best && is_as_fast(last->makespan_s, best.makespan_s))
    return fmt::format("{}: as long in {}, {}{}", trace,
                       finished == rows.size() ? fmt::format("all {} runs", finished)
                                               : fmt::format("the {} runs that end", finished),
                       show_seconds(best.makespan_s), found.text());
  if (last != &best)
    out += fmt::format("; slowest {}, {}{}", differ.of(*last, names), show_seconds(last->makespan_s),
                       last->slowdown ? fmt::format(" ({:.2f} times as long)", *last->slowdown) : "");
  return out + (rows.size() > 1 ? found.text() : "");
}

// Calls `f(first, end)` for the rows of every trace.
template <class F>
void for_each_trace(const std::vector<CompareRow>& rows, F f) {
  for (std::size_t i = 0; i < rows.size();) {
    std::size_t end = i;
    while (end < rows.size() && rows[end].trace == rows[i].trace) ++end;
    f(i, end);
    i = end;
  }
}

}  // namespace

TraceNames traces_of(const std::vector<CompareRow>& rows) {
  TraceNames names;
  for (const CompareRow& r : rows) names.add(r.trace);
  return names;
}

PlatformNames platforms_of(const std::vector<CompareRow>& rows, PlatformNames::LongNames long_names) {
  std::vector<const CompareRow*> asked;
  asked.reserve(rows.size());
  for (const CompareRow& r : rows) asked.push_back(&r);
  std::ranges::stable_sort(asked, {}, &CompareRow::run);
  std::vector<PlatformNames::Platform> platforms;
  platforms.reserve(rows.size());
  for (const CompareRow* r : asked) platforms.push_back({r->label, r->platform});
  return {platforms, long_names};
}

std::vector<std::string> compare_answers(const std::vector<CompareRow>& rows) {
  const PlatformNames names = platforms_of(rows, PlatformNames::LongNames::kWhole);
  const TraceNames traces = traces_of(rows);
  std::vector<std::string> out;
  for_each_trace(rows, [&](std::size_t i, std::size_t end) {
    out.push_back(headline(std::span(rows).subspan(i, end - i), traces, names));
  });
  return out;
}

std::string verified_text(const std::vector<CompareRow>& rows) {
  const TraceNames traces = traces_of(rows);
  const PlatformNames names = platforms_of(rows, PlatformNames::LongNames::kWhole);
  VerifiedRuns all;
  for (const CompareRow& r : rows)
    if (r.verified)
      all.add(fmt::format("{} on {}, map {}", traces.of(r.trace), names.of(r.label, r.platform), r.map),
              *r.verified);
  return all.text();
}

std::string assumed_text(const std::vector<CompareRow>& rows, const PlatformNames& names) {
  Assumed all;
  for (const CompareRow& r : rows) all.add(name_of(r, names), r.assumed);
  return all.text();
}

std::string compare_text(const std::vector<CompareRow>& rows, std::size_t width) {
  std::string out;
  const PlatformNames names = platforms_of(rows, PlatformNames::LongNames::kNumbered);
  const TraceNames traces = traces_of(rows);
  for_each_trace(rows, [&](std::size_t i, std::size_t end) {
    if (!out.empty()) out += "\n";
    out += wrap(headline(std::span(rows).subspan(i, end - i), traces, names) + "\n", width, 2) + "\n";
    Table table({{"#"},
                 {"platform", Table::Align::kLeft},
                 {"map", Table::Align::kLeft},
                 {"routing", Table::Align::kLeft},
                 {"time"},
                 {"slowdown"},
                 {"hops"},
                 {"worst link", Table::Align::kLeft},
                 {"used"},
                 {"most waited for", Table::Align::kLeft},
                 {"waited"},
                 {"hosts"},
                 {"switches"},
                 {"cables"},
                 {"per host"}});
    for (std::size_t k = i; k < end; ++k) {
      const CompareRow& r = rows[k];
      table.add({std::to_string(k - i + 1), name_of(r, names), r.map, r.routing,
                 r.finished ? show_seconds(r.makespan_s) : "deadlock",
                 r.slowdown ? fmt::format("{:.3f}", *r.slowdown) : "-", fmt::format("{:.2f}", r.mean_hops),
                 r.worst_link.empty() ? "-" : r.worst_link, show_percent(r.worst_link_utilization),
                 r.most_waited_link.empty() ? "-" : r.most_waited_link,
                 r.most_waited_link.empty() ? "-" : show_seconds(r.most_waited_s), std::to_string(r.hosts),
                 std::to_string(r.switches), std::to_string(r.cables),
                 fmt::format("{:.2f}", r.links_per_host)});
    }
    out += table.text(width, 2) + "\n";
    for (std::size_t k = i; k < end; ++k) {
      out += wrap(fmt::format("{}. {}\n", k - i + 1, rows[k].why), width, 3);
      if (const std::string s = sharers_text(rows[k].sharers, kTextSharers); !s.empty())
        out += wrap(fmt::format("   {}: {}\n", rows[k].worst_link, s), width, 5);
    }
    out += models_line(rows, i, end);
  });
  out += verified_text(rows) + wrap(assumed_text(rows, names), width, 2);
  for (const std::string& w : all_warnings(rows)) out += wrap("warning: " + w + "\n", width, 3);
  if (!names.legend().empty()) out += "\n" + wrap(names.legend(), width, 5);
  if (!rows.empty() && !rows[0].changes.empty())
    out += "\n" + wrap(fmt::format("all with {}\n", fmt::join(rows[0].changes, " ")), width, 2);
  return out;
}

}  // namespace weft::report
