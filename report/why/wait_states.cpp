#include "report/why/wait_states.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "core/counted.hpp"
#include "core/quantity_text.hpp"
#include "report/table.hpp"
#include "report/why/shares.hpp"

namespace weft::report {
namespace {

using Json = nlohmann::ordered_json;
using replay::WaitTimes;

constexpr std::array<const char*, replay::kWaitKindCount> kKindTexts{
    "late sender: its send not called yet",   "late receiver: its receive not called yet",
    "barrier: the last one not there yet",    "all-to-all collective: the last one not there yet",
    "bcast, scatter: the root not there yet", "reduce, gather: the root, before anybody else",
    "scan: a rank below not there yet"};

// Indices of those that have something to tell, by what they waited, the longest first.
std::vector<std::size_t> ranking(const std::vector<WaitTimes>& all) {
  std::vector<std::size_t> list;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i].waited() + all[i].direct + all[i].propagated > Duration(0)) list.push_back(i);
  std::stable_sort(list.begin(), list.end(),
                   [&](std::size_t a, std::size_t b) { return all[a].waited() > all[b].waited(); });
  return list;
}

void add_times(Json& to, const WaitTimes& t) {
  to["total_s"] = to_seconds(t.waited());
  for (std::size_t k = 0; k < replay::kWaitKindCount; ++k)
    to[fmt::format("{}_s", replay::kWaitKindNames[k])] = to_seconds(t.kinds[k]);
  to["caused_direct_s"] = to_seconds(t.direct);
  to["caused_propagated_s"] = to_seconds(t.propagated);
}

// A row for each of the first `kTextRows`: waited, caused.
template <class Name>
std::string times_table(const char* title, const std::vector<WaitTimes>& all, TimeSum of, Name name,
                        std::size_t width) {
  Table table(
      {{title, Table::Align::kLeft}, {"waited"}, {"share"}, {"caused directly"}, {"propagated"}, {"share"}});
  const auto list = ranking(all);
  for (std::size_t i = 0; i < std::min(kTextRows, list.size()); ++i) {
    const WaitTimes& t = all[list[i]];
    table.add({name(list[i]), show(t.waited()), share(t.waited(), of), show(t.direct), show(t.propagated),
               share(t.direct + t.propagated, of)});
  }
  return table.text(width);
}

}  // namespace

std::string wait_states_text(const predict::RunFacts& run, std::size_t width) {
  const replay::WaitResult& w = run.result->wait_states;
  const TimeSum total = w.all.waited();
  if (w.count == 0) return "wait states: no rank waited for one that was late\n";
  TimeSum time;
  for (const auto& r : run.result->ranks) time += r.finish;
  std::string out = wrap(fmt::format("wait states: {} of {} in all, {} of the ranks' time\n",
                                     counted(w.count, "wait"), show(total), share(total, time)),
                         width, 2);
  Table kinds({{"ranks waited for", Table::Align::kLeft}, {"time"}, {"share"}});
  for (std::size_t k = 0; k < replay::kWaitKindCount; ++k)
    if (w.all.kinds[k].count() != 0)
      kinds.add({kKindTexts[k], show(w.all.kinds[k]), share(w.all.kinds[k], total)});
  out += kinds.text(width);
  out += times_table(
      "waits by rank", w.ranks, total, [](std::size_t i) { return fmt::format("{}", i); }, width);
  if (ranking(w.regions).size() > 1)
    out += times_table(
        "waits by region", w.regions, total,
        [&](std::size_t i) { return region_name(run, RegionId(static_cast<std::uint32_t>(i))); }, width);
  Table delays({{"delays that caused them", Table::Align::kLeft}, {"directly"}, {"propagated"}, {"share"}});
  for (std::size_t i = 0; i < std::min(kTextRows, w.delays.size()); ++i) {
    const auto& d = w.delays[i];
    const std::string where = d.region.valid() ? " in " + region_name(run, d.region) : std::string();
    delays.add({fmt::format("rank {}: {}{}", d.rank.index(),
                            d.communication ? "communication" : "computation", where),
                show(d.direct), show(d.propagated), share(d.cost(), total)});
  }
  out += delays.text(width);
  return out;
}

void add_wait_states_json(Json& to, const predict::RunFacts& run, std::size_t most_delays) {
  const replay::WaitResult& w = run.result->wait_states;
  Json all{{"waits", w.count}};
  add_times(all, w.all);
  Json ranks = Json::array();
  for (std::size_t i = 0; i < w.ranks.size(); ++i) {
    const WaitTimes& t = w.ranks[i];
    Json j{{"rank", i}};
    add_times(j, t);
    j["longest_for"] = t.longest_for.valid() ? Json(t.longest_for.index()) : Json(nullptr);
    j["longest_for_s"] = to_seconds(t.longest);
    ranks.push_back(std::move(j));
  }
  Json regions = Json::array();
  for (const std::size_t i : ranking(w.regions)) {
    Json j{{"name", i < run.result->regions.size()
                        ? Json(region_name(run, RegionId(static_cast<std::uint32_t>(i))))
                        : Json(nullptr)}};
    add_times(j, w.regions[i]);
    regions.push_back(std::move(j));
  }
  Json delays = Json::array();
  for (std::size_t i = 0; i < std::min(most_delays, w.delays.size()); ++i) {
    const auto& d = w.delays[i];
    delays.push_back(Json{{"rank", d.rank.index()},
                          {"region", d.region.valid() ? Json(region_name(run, d.region)) : Json(nullptr)},
                          {"what", d.communication ? "communication" : "computation"},
                          {"direct_s", to_seconds(d.direct)},
                          {"propagated_s", to_seconds(d.propagated)}});
  }
  all["by_rank"] = std::move(ranks);
  all["by_region"] = std::move(regions);
  all["delays_total"] = w.delays.size();
  all["delays"] = std::move(delays);
  to["wait_states"] = std::move(all);
}

}  // namespace weft::report
