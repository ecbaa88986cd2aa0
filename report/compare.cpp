#include "report/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/quantity_text.hpp"
#include "replay/sharing.hpp"
#include "report/explain.hpp"
#include "report/json_text.hpp"
#include "report/table.hpp"

namespace weft::report {

CompareRow compare_row(const RunFacts& run, const RunFacts* best) {
  CompareRow row;
  row.trace = run.trace;
  row.platform = run.platform->name;
  row.map = run.map;
  row.routing = run.routing;
  row.model = replay::model_name(run.options->model, run.platform->fabric);
  row.makespan_s = to_seconds(run.result->makespan);
  const auto& fabric = run.platform->fabric;
  row.hosts = fabric.host_count();
  row.switches = fabric.switch_count();
  row.links = fabric.link_count();
  row.cables = fabric.cable_count();
  row.links_per_host = row.hosts > 0 ? static_cast<double>(row.cables) / row.hosts : 0;
  row.sharers = run.worst_link_sharers;
  row.mean_hops = mean_hops(run);
  if (const auto worst = busiest_links(run, 1); !worst.empty()) {
    row.worst_link = fabric.link_name(worst.front());
    row.worst_link_utilization = utilization(run, worst.front());
  }
  if (!run.result->finished) {
    row.error = run.result->deadlock.summary();
    row.why = row.error;
    return row;
  }
  const Duration least = best->result->makespan;
  row.slowdown =
      least.count() > 0 ? run.result->makespan / std::chrono::duration<double, std::pico>(least) : 1.0;
  row.why = &run == best ? explain_alone(run) : explain_slower(run, *best);
  return row;
}

std::vector<CompareRow> rank_runs(const std::vector<RunFacts>& runs) {
  std::vector<std::string> traces;
  for (const auto& r : runs)
    if (std::find(traces.begin(), traces.end(), r.trace) == traces.end()) traces.push_back(r.trace);
  std::vector<CompareRow> rows;
  for (const auto& trace : traces) {
    std::vector<const RunFacts*> group;
    for (const auto& r : runs)
      if (r.trace == trace) group.push_back(&r);
    std::stable_sort(group.begin(), group.end(), [](const RunFacts* a, const RunFacts* b) {
      if (a->result->finished != b->result->finished) return a->result->finished;
      return a->result->makespan < b->result->makespan;
    });
    for (const RunFacts* r : group) rows.push_back(compare_row(*r, group.front()));
  }
  return rows;
}

namespace {

double share_of(const LinkSharers& s, const LinkSharer& one) {
  return s.bytes > 0 ? static_cast<double>(one.bytes) / static_cast<double>(s.bytes) : 0;
}

nlohmann::ordered_json sharers_json(const LinkSharers& s) {
  using Json = nlohmann::ordered_json;
  if (!s.known || s.pairs == 0) return nullptr;
  Json most = Json::array();
  for (const LinkSharer& one : s.most)
    most.push_back(Json{{"src", one.src.index()},
                        {"dst", one.dst.index()},
                        {"bytes", one.bytes},
                        {"share", share_of(s, one)}});
  return Json{{"pairs", s.pairs}, {"bytes", s.bytes}, {"most", std::move(most)}};
}

// "12 pairs of ranks share it, most: 0->5 25 %, 1->6 25 %"
std::string sharers_text(const LinkSharers& s, std::size_t limit) {
  if (!s.known || s.pairs == 0) return {};
  std::string out = s.pairs == 1 ? "one pair of ranks uses it: "
                                 : fmt::format("{} pairs of ranks share it, most: ", s.pairs);
  for (std::size_t i = 0; i < std::min(limit, s.most.size()); ++i)
    out += fmt::format("{}{}->{} {}", i == 0 ? "" : ", ", s.most[i].src.index(), s.most[i].dst.index(),
                       show_percent(share_of(s, s.most[i])));
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
           {"worst_link_pairs", sharers_json(r.sharers)}};
  if (!r.error.empty()) row["error"] = r.error;
  return row;
}

std::string compare_json(const std::vector<CompareRow>& rows) {
  using Json = nlohmann::ordered_json;
  Json list = Json::array();
  for (const auto& r : rows) list.push_back(compare_row_json(r));
  Json j;
  j["schema"] = "weft.compare/1";
  j["rows"] = std::move(list);
  return json_text(j);
}

std::string compare_csv(const std::vector<CompareRow>& rows) {
  std::string out = csv_line({"trace", "platform", "map", "routing", "makespan_s", "slowdown", "hosts",
                              "switches", "links", "mean_hops", "worst_link", "worst_link_utilization", "why",
                              "error", "cables", "links_per_host", "worst_link_pairs", "model"});
  for (const auto& r : rows)
    out += csv_line({r.trace, r.platform, r.map, r.routing, exact_number(r.makespan_s),
                     r.slowdown ? exact_number(*r.slowdown) : "", std::to_string(r.hosts),
                     std::to_string(r.switches), std::to_string(r.links), exact_number(r.mean_hops),
                     r.worst_link, exact_number(r.worst_link_utilization), r.why, r.error,
                     std::to_string(r.cables), exact_number(r.links_per_host),
                     sharers_text(r.sharers, PairTraffic::kSharersShown), r.model});
  return out;
}

std::string compare_text(const std::vector<CompareRow>& rows) {
  std::string out;
  for (std::size_t i = 0; i < rows.size();) {
    std::size_t end = i;
    while (end < rows.size() && rows[end].trace == rows[i].trace) ++end;
    if (!out.empty()) out += "\n";
    const CompareRow& best = rows[i];
    if (best.slowdown) {
      out += fmt::format("{}: fastest on {}, {}", short_name(best.trace), short_name(best.platform),
                         show_seconds(best.makespan_s));
      const CompareRow* last = nullptr;
      for (std::size_t k = i; k < end; ++k)
        if (rows[k].slowdown) last = &rows[k];
      if (last != &best)
        out += fmt::format("; slowest on {}, {} ({:.2f} times as long)", short_name(last->platform),
                           show_seconds(last->makespan_s), *last->slowdown);
      out += "\n\n";
    } else {
      out += fmt::format("{}: deadlock on every platform\n\n", short_name(best.trace));
    }
    Table table({{"#"},
                 {"platform", Table::Align::kLeft},
                 {"map", Table::Align::kLeft},
                 {"routing", Table::Align::kLeft},
                 {"time"},
                 {"slowdown"},
                 {"hosts"},
                 {"switches"},
                 {"cables"},
                 {"per host"},
                 {"hops"},
                 {"worst link", Table::Align::kLeft},
                 {"used"}});
    for (std::size_t k = i; k < end; ++k) {
      const CompareRow& r = rows[k];
      table.add({std::to_string(k - i + 1), short_name(r.platform), r.map, r.routing,
                 r.slowdown ? show_seconds(r.makespan_s) : "deadlock",
                 r.slowdown ? fmt::format("{:.3f}", *r.slowdown) : "-", std::to_string(r.hosts),
                 std::to_string(r.switches), std::to_string(r.cables),
                 fmt::format("{:.2f}", r.links_per_host), fmt::format("{:.2f}", r.mean_hops),
                 r.worst_link.empty() ? "-" : r.worst_link, show_percent(r.worst_link_utilization)});
    }
    out += table.text() + "\n";
    for (std::size_t k = i; k < end; ++k) {
      out += fmt::format("{}. {}\n", k - i + 1, rows[k].why);
      if (const std::string s = sharers_text(rows[k].sharers, kTextSharers); !s.empty())
        out += fmt::format("   {}: {}\n", rows[k].worst_link, s);
    }
    out += models_line(rows, i, end);
    i = end;
  }
  return out;
}

}  // namespace weft::report
