#include "report/why/critical_path.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "core/counted.hpp"
#include "core/quantity_text.hpp"
#include "predict/path_details.hpp"
#include "report/table.hpp"
#include "report/why/path_difference.hpp"
#include "report/why/shares.hpp"

namespace weft::report {
namespace {

using Json = nlohmann::ordered_json;
using replay::PathPart;

constexpr std::size_t at(PathPart p) { return static_cast<std::size_t>(p); }

constexpr std::array<const char*, replay::kPathPartCount> kPartTexts{
    "computation",
    "processor time of sends",
    "processor time of receives",
    "processor time of polls and tests",
    "handshakes of rendezvous",
    "latency",
    "data at the narrowest link's rate",
    "contention: waiting for a share",
    "order: a message sent before is not there",
    "other"};

struct RegionShare {
  Duration own{0}, messages{0};
  [[nodiscard]] Duration all() const { return own + messages; }
};

Duration time(const replay::PathSegment& s) { return s.to - s.from; }

// Largest first; equal ones by id.
template <class Key, class Value, class Size>
std::vector<std::pair<Key, Value>> ranking(const std::map<Key, Value>& all, Size size) {
  std::vector<std::pair<Key, Value>> list(all.begin(), all.end());
  std::stable_sort(list.begin(), list.end(),
                   [&](const auto& a, const auto& b) { return size(a.second) > size(b.second); });
  return list;
}

std::vector<std::pair<RegionId, RegionShare>> by_region(const replay::PathResult& path) {
  std::map<RegionId, RegionShare> shares;
  for (const auto& s : path.segments)
    (s.is_message() ? shares[s.region].messages : shares[s.region].own) += time(s);
  return ranking(shares, [](const RegionShare& r) { return r.all(); });
}

std::vector<std::pair<RankId, Duration>> by_rank(const replay::PathResult& path) {
  std::map<RankId, Duration> own;
  for (const auto& s : path.segments)
    if (!s.is_message()) own[s.rank] += time(s);
  return ranking(own, [](Duration d) { return d; });
}

// Segments that are ranks' own time. Not all others are messages of the path: of one that a probe waited for the request
// is a segment as well.
std::size_t own_segments(const replay::PathResult& path) {
  return static_cast<std::size_t>(std::count_if(path.segments.begin(), path.segments.end(),
                                                [](const auto& s) { return !s.is_message(); }));
}

// The part that a segment is mostly made of.
PathPart main_part(const replay::PathSegment& s) {
  return static_cast<PathPart>(std::max_element(s.parts.begin(), s.parts.end()) - s.parts.begin());
}

// Computation of all ranks and the most of one, how many they are, makespans with and without a network.
std::optional<Efficiency> efficiency_of(TimeSum sum, Duration most, std::size_t ranks, Duration t,
                                        Duration t0) {
  if (most <= Duration(0) || t <= Duration(0) || t0 <= Duration(0)) return std::nullopt;
  const double u = to_seconds(most), all = to_seconds(t), ideal = to_seconds(t0);
  const double mean = to_seconds(sum) / static_cast<double>(ranks);
  return Efficiency{mean / all, mean / u, u / all, u / ideal, ideal / all, {}};
}

// Regions with an efficiency, those in which ranks spend most first.
std::vector<std::pair<RegionId, Efficiency>> region_efficiencies(const predict::RunFacts& run) {
  std::vector<std::pair<RegionId, Efficiency>> out;
  for (std::uint32_t i = 0; i < run.result->regions.size(); ++i)
    if (const auto e = efficiency(run, RegionId(i))) out.emplace_back(RegionId(i), *e);
  std::stable_sort(out.begin(), out.end(), [&](const auto& a, const auto& b) {
    return run.result->regions[a.first.index()].total > run.result->regions[b.first.index()].total;
  });
  return out;
}

std::string details_text(const predict::PathDetails& d, Duration makespan, std::size_t width) {
  std::string out;
  if (d.kernels.size() > 1) {
    Table table({{"computation on the path", Table::Align::kLeft}, {"time"}, {"share"}});
    for (std::size_t i = 0; i < std::min(kTextRows, d.kernels.size()); ++i)
      table.add({d.kernels[i].name, show(d.kernels[i].time), share(d.kernels[i].time, makespan)});
    out += table.text(width);
  }
  if (!d.rivals.empty()) {
    Table table({{"contention by messages", Table::Align::kLeft}, {"time"}, {"share"}});
    for (std::size_t i = 0; i < std::min(kTextRows, d.rivals.size()); ++i)
      table.add({d.rivals[i].are_copies()
                     ? fmt::format("copies of {}", d.rivals[i].src.index())
                     : fmt::format("{}->{}", d.rivals[i].src.index(), d.rivals[i].dst.index()),
                 show(d.rivals[i].contention), share(d.rivals[i].contention, makespan)});
    out += table.text(width);
  }
  return out;
}

}  // namespace

std::optional<Efficiency> efficiency(const predict::RunFacts& run) {
  if (!run.ideal) return std::nullopt;
  TimeSum sum;
  Duration most{0};
  for (const auto& r : run.result->ranks) {
    sum += r.compute;
    most = std::max(most, r.compute);
  }
  auto e = efficiency_of(sum, most, run.result->ranks.size(), run.result->makespan, *run.ideal);
  if (e && run.uncontended && run.without_latency && run.without_latency->count() > 0) {
    const double tc = to_seconds(*run.uncontended), tl = to_seconds(*run.without_latency);
    e->split = Efficiency::Split{tc / to_seconds(run.result->makespan), tl / tc, to_seconds(*run.ideal) / tl};
  }
  return e;
}

std::optional<Efficiency> efficiency(const predict::RunFacts& run, RegionId region) {
  const auto& g = run.result->regions[region.index()];
  if (!g.by_rank || region.index() >= run.ideal_regions.size()) return std::nullopt;
  return efficiency_of(g.computed, g.most_computed, run.result->ranks.size(), g.longest,
                       run.ideal_regions[region.index()]);
}

std::string critical_path_text(const predict::RunFacts& run, std::size_t width) {
  const auto& r = *run.result;
  const replay::PathResult& path = r.path;
  const auto ranks = by_rank(path);
  std::string out =
      wrap(fmt::format("critical path: {} and {} of {}{}{}\n",
                       counted(own_segments(path), "stretch") + " of " + counted(ranks.size(), "rank"),
                       counted(path.messages, "message"), show_bytes(path.bytes),
                       path.copies == 0
                           ? ""
                           : fmt::format(", {} over links of {}",
                                         path.copies == 1 ? "1 copy" : fmt::format("{} copies", path.copies),
                                         show_bytes(path.copied)),
                       ranks.empty() ? ""
                                     : fmt::format(", longest on rank {} ({})", ranks.front().first.index(),
                                                   show(ranks.front().second))),
           width);
  Table parts({{"the makespan is", Table::Align::kLeft}, {"time"}, {"share"}});
  for (std::size_t p = 0; p < replay::kPathPartCount; ++p) {
    const bool data = p == at(PathPart::kTransfer);
    const Duration time = path.parts[p] - (data ? path.own_pace : Duration(0));
    if (time.count() != 0) parts.add({kPartTexts[p], show(time), share(time, r.makespan)});
    if (data && path.own_pace.count() != 0)
      parts.add({"data at their own pace", show(path.own_pace), share(path.own_pace, r.makespan)});
  }
  parts.add({"makespan", show(r.makespan), share(r.makespan, r.makespan)});
  out += parts.text(width);
  if (const auto regions = by_region(path); regions.size() > 1) {
    Table table({{"path by region", Table::Align::kLeft}, {"own time"}, {"messages"}, {"share"}});
    for (std::size_t i = 0; i < std::min(kTextRows, regions.size()); ++i)
      table.add({region_name(run, regions[i].first), show(regions[i].second.own),
                 show(regions[i].second.messages), share(regions[i].second.all(), r.makespan)});
    out += table.text(width);
  }
  if (const auto links = predict::contention_on_path(path); !links.empty()) {
    Table table({{"contention on the path", Table::Align::kLeft}, {"time"}, {"messages"}, {"share"}});
    for (std::size_t i = 0; i < std::min(kTextRows, links.size()); ++i)
      table.add({run.platform->fabric.link_name(links[i].link), show(links[i].contention),
                 std::to_string(links[i].messages), share(links[i].contention, r.makespan)});
    out += table.text(width);
  }
  if (run.path_details != nullptr) out += details_text(*run.path_details, r.makespan, width);
  out += wrap(
      !path.has_slopes()
          ? std::string(
                "along this path: what a change is worth is not known, for a series of exchanges is on "
                "it; --sensitivity replays changes\n")
          : fmt::format("along this path: 1 us more latency a message is {} more, computation 1 % faster {} "
                        "less, links 1 % faster {} less\n",
                        show(Duration(static_cast<std::int64_t>(path.trips) * 1'000'000)),
                        show(path.computed() / 100), show(path.on_links() / 100)),
      width, 2);
  if (const auto e = efficiency(run)) {
    out +=
        wrap(fmt::format("efficiency {:.3f} = load balance {:.3f} x serialisation {:.3f} x transfer {:.3f} "
                         "(on an ideal network: {})\n",
                         e->parallel, e->load_balance, e->serialisation, e->transfer, show(*run.ideal)),
             width, 2);
    if (e->split)
      out += wrap(
          fmt::format(
              "transfer {:.3f} = contention {:.3f} x latency {:.3f} x bandwidth and processor time {:.3f} "
              "(taken away in this order: {}, {}, {})\n",
              e->transfer, e->split->contention, e->split->latency, e->split->bandwidth,
              show(*run.uncontended), show(*run.without_latency), show(*run.ideal)),
          width, 2);
    const auto regions = region_efficiencies(run);
    Table table({{"efficiency by region", Table::Align::kLeft},
                 {"parallel"},
                 {"load balance"},
                 {"serialisation"},
                 {"transfer"}});
    for (std::size_t i = 0; i < std::min(kTextRows, regions.size()); ++i) {
      const Efficiency& g = regions[i].second;
      table.add({region_name(run, regions[i].first), fmt::format("{:.3f}", g.parallel),
                 fmt::format("{:.3f}", g.load_balance), fmt::format("{:.3f}", g.serialisation),
                 fmt::format("{:.3f}", g.transfer)});
    }
    if (!regions.empty()) out += table.text(width);
  }
  return out;
}

void add_critical_path_json(Json& to, const predict::RunFacts& run, std::size_t most_segments) {
  const auto& r = *run.result;
  const replay::PathResult& path = r.path;
  Json parts = path_parts_json(path.parts);
  Json links = Json::array();
  for (const predict::PathLink& l : predict::contention_on_path(path))
    links.push_back(Json{{"name", run.platform->fabric.link_name(l.link)},
                         {"contention_s", to_seconds(l.contention)},
                         {"messages", l.messages}});
  Json regions = Json::array();
  for (const auto& [region, g] : by_region(path))
    regions.push_back(Json{{"name", region.valid() ? Json(region_name(run, region)) : Json(nullptr)},
                           {"own_s", to_seconds(g.own)},
                           {"messages_s", to_seconds(g.messages)}});
  Json ranks = Json::array();
  for (const auto& [rank, own] : by_rank(path))
    ranks.push_back(Json{{"rank", rank.index()}, {"own_s", to_seconds(own)}});
  // The longest ones, in order of time.
  std::vector<std::size_t> shown(most_segments > 0 ? path.segments.size() : 0);
  for (std::size_t i = 0; i < shown.size(); ++i) shown[i] = i;
  if (shown.size() > most_segments) {
    std::stable_sort(shown.begin(), shown.end(), [&](std::size_t a, std::size_t b) {
      return time(path.segments[a]) > time(path.segments[b]);
    });
    shown.resize(most_segments);
    std::sort(shown.begin(), shown.end());
  }
  Json segments = Json::array();
  for (const std::size_t i : shown) {
    const auto& s = path.segments[i];
    Json j{{"rank", s.rank.index()},
           {"from_s", to_seconds(s.from.time_since_epoch())},
           {"to_s", to_seconds(s.to.time_since_epoch())},
           {"what", s.copy           ? "copy"
                    : s.is_message() ? "message"
                                     : "own"},
           {"mostly", replay::kPathPartNames[at(main_part(s))]}};
    if (s.is_message()) {
      j["receiver"] = s.receiver.index();
      j["bytes"] = s.bytes;
      if (s.held_by.valid()) j["held_by"] = run.platform->fabric.link_name(s.held_by);
    } else {
      j["op"] = s.op;
    }
    if (s.region.valid()) j["region"] = region_name(run, s.region);
    segments.push_back(std::move(j));
  }
  to["critical_path"] = Json{{"parts", std::move(parts)},
                             {"transfer_local_s", to_seconds(path.own_pace)},
                             {"messages", path.messages},
                             {"bytes", path.bytes},
                             {"copies", path.copies},
                             {"copied_bytes", path.copied},
                             {"by_region", std::move(regions)},
                             {"by_link", std::move(links)},
                             {"by_rank", std::move(ranks)},
                             {"segments_total", path.segments.size()},
                             {"segments_own", own_segments(path)}};
  if (most_segments > 0) to["critical_path"]["segments"] = std::move(segments);
  if (run.path_details != nullptr) {
    Json kernels = Json::array(), rivals = Json::array();
    for (const auto& k : run.path_details->kernels)
      kernels.push_back(Json{{"name", k.name}, {"compute_s", to_seconds(k.time)}});
    for (const auto& m : run.path_details->rivals)
      rivals.push_back(
          Json{{"src", m.src.index()}, {"dst", m.dst.index()}, {"contention_s", to_seconds(m.contention)}});
    to["critical_path"]["by_kernel"] = std::move(kernels);
    to["critical_path"]["by_messages"] = std::move(rivals);
    to["critical_path"]["by_nobody_s"] = to_seconds(run.path_details->nobody);
  }
  const auto slope = [&](auto value) { return path.has_slopes() ? Json(value) : Json(nullptr); };
  to["sensitivity"] = Json{{"dT_dL", slope(path.trips)},
                           {"dT_dL_link", slope(path.link_latencies)},
                           {"dT_dG", slope(path.bytes_on_links())},
                           {"dT_dcompute_s", slope(to_seconds(path.computed()))},
                           {"dT_dbandwidth_s", slope(to_seconds(-path.on_links()))}};
  const auto e = efficiency(run);
  if (!e) return;
  to["efficiency"] = Json{{"parallel", e->parallel},           {"load_balance", e->load_balance},
                          {"communication", e->communication}, {"serialisation", e->serialisation},
                          {"transfer", e->transfer},           {"ideal_network_s", to_seconds(*run.ideal)}};
  Json regions_json = Json::array();
  for (const auto& [region, g] : region_efficiencies(run))
    regions_json.push_back(Json{{"name", region_name(run, region)},
                                {"parallel", g.parallel},
                                {"load_balance", g.load_balance},
                                {"communication", g.communication},
                                {"serialisation", g.serialisation},
                                {"transfer", g.transfer}});
  to["efficiency"]["by_region"] = std::move(regions_json);
  if (!e->split) return;
  const auto without = [](const char* what, double efficiency, Duration makespan) {
    return Json{{"without", what}, {"efficiency", efficiency}, {"makespan_s", to_seconds(makespan)}};
  };
  to["efficiency"]["transfer_split"] =
      Json::array({without("contention", e->split->contention, *run.uncontended),
                   without("latency", e->split->latency, *run.without_latency),
                   without("bandwidth", e->split->bandwidth, *run.ideal)});
}

}  // namespace weft::report
