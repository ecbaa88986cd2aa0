#include "report/replay_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/quantity_text.hpp"
#include "replay/sharing.hpp"
#include "report/table.hpp"

namespace weft::report {
namespace {

constexpr std::size_t kTextLinks = 10;
constexpr std::size_t kTextRegions = 20;
constexpr std::size_t kTextBlocked = 10;

struct Part {
  const char* name;
  Duration replay::RankTimes::*time;
  double TimeSums::*sum;
};
constexpr Part kParts[] = {
    {"compute", &replay::RankTimes::compute, &TimeSums::compute},
    {"send", &replay::RankTimes::send, &TimeSums::send},
    {"receive", &replay::RankTimes::recv, &TimeSums::recv},
    {"wait", &replay::RankTimes::wait, &TimeSums::wait},
    {"collective", &replay::RankTimes::collective, &TimeSums::collective},
};

std::string whole_percent(double ratio) { return fmt::format("{:.0f} %", ratio * 100); }

std::string headline(const RunFacts& run) {
  const auto& r = *run.result;
  const std::string ranks = fmt::format("{} rank{}", run.ranks, run.ranks == 1 ? "" : "s");
  if (!r.finished)
    return fmt::format("{}: {} on {} deadlock after {}\n{}", short_name(run.trace), ranks,
                       short_name(run.platform->name), show(r.makespan), deadlock_text(r.deadlock));
  const TimeSums t = time_sums(r);
  std::string split;
  if (t.finish > 0) {
    std::vector<std::pair<double, const char*>> parts;
    for (const Part& p : kParts)
      if (t.*p.sum / t.finish >= 0.005) parts.emplace_back(t.*p.sum, p.name);
    std::stable_sort(parts.begin(), parts.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    for (const auto& [sum, name] : parts)
      split += fmt::format("{}{} {}", split.empty() ? "; " : ", ", whole_percent(sum / t.finish), name);
  }
  return fmt::format("{}: {} take{} {} on {}{}\n", short_name(run.trace), ranks, run.ranks == 1 ? "s" : "",
                     show(r.makespan), short_name(run.platform->name), split);
}

std::string time_table(const RunFacts& run) {
  const auto& ranks = run.result->ranks;
  if (ranks.empty()) return {};
  const TimeSums t = time_sums(*run.result);
  Table table({{"per rank", Table::Align::kLeft}, {"min"}, {"mean"}, {"max"}, {"share"}});
  const auto row = [&](const char* name, Duration replay::RankTimes::*time, double sum) {
    Duration least = Duration::max();
    Duration most{0};
    for (const auto& r : ranks) {
      least = std::min(least, r.*time);
      most = std::max(most, r.*time);
    }
    table.add({name, show(least), show_seconds(sum / static_cast<double>(ranks.size())), show(most),
               t.finish > 0 ? whole_percent(sum / t.finish) : "-"});
  };
  for (const Part& p : kParts) row(p.name, p.time, t.*p.sum);
  row("finish", &replay::RankTimes::finish, t.finish);
  return table.text();
}

std::string cost_table(const RunFacts& run) {
  const auto& n = run.result->network;
  if (n.count == 0) return "no message crosses the network\n";
  const double messages = static_cast<double>(n.count);
  std::string out =
      fmt::format("{} messages, {} ({} messages, {} written as point-to-point), {:.2f} hops a message\n",
                  show_count(messages), show(Bytes(static_cast<std::int64_t>(n.bytes))),
                  show_count(static_cast<double>(run.result->point_to_point.count)),
                  show(Bytes(static_cast<std::int64_t>(run.result->point_to_point.bytes))),
                  static_cast<double>(n.hops) / messages);
  Table table({{"what messages cost", Table::Align::kLeft}, {"sum"}, {"per message"}, {"per rank"}});
  const auto row = [&](const char* name, Duration d) {
    const double s = to_seconds(d);
    table.add({name, show_seconds(s), show_seconds(s / messages), show_seconds(s / std::max(run.ranks, 1u))});
  };
  row("latency of the links", n.latency);
  row("data at the narrowest link's rate", n.transfer);
  row("contention: waiting for a share", n.contention);
  row("late sender: receive came first", n.late_sender);
  row("late receiver: data came first", n.late_receiver);
  return out + table.text();
}

std::string link_table(const RunFacts& run, const ReplayTextOptions& options) {
  const auto& fabric = run.platform->fabric;
  const auto links = busiest_links(run, options.all_links ? fabric.link_count() : kTextLinks);
  if (links.empty()) return {};
  Table table({{"busiest links", Table::Align::kLeft},
               {"class", Table::Align::kLeft},
               {"bandwidth"},
               {"bytes"},
               {"busy"},
               {"used"},
               {"peak flows"}});
  const auto& columns = fabric.links();
  for (const LinkId l : links) {
    const auto& use = run.result->links[l.index()];
    const std::size_t cls = columns.link_class[l.index()];
    table.add({fabric.link_name(l), cls < columns.class_names.size() ? columns.class_names[cls] : "",
               show(Bandwidth(columns.capacity[l.index()])),
               show(Bytes(static_cast<std::int64_t>(use.bytes))), show(use.busy),
               show_percent(utilization(run, l)), std::to_string(use.peak_flows)});
  }
  return table.text();
}

std::string region_table(const RunFacts& run) {
  if (run.result->regions.empty()) return {};
  std::vector<const replay::RegionTimes*> regions;
  for (const auto& g : run.result->regions)
    if (g.count > 0) regions.push_back(&g);
  std::stable_sort(regions.begin(), regions.end(), [](auto* a, auto* b) { return a->total > b->total; });
  if (regions.empty()) return {};
  Table table({{"region", Table::Align::kLeft}, {"count"}, {"per rank"}, {"sum over ranks"}});
  for (std::size_t i = 0; i < std::min(regions.size(), kTextRegions); ++i)
    table.add({regions[i]->name, std::to_string(regions[i]->count),
               show_seconds(to_seconds(regions[i]->total) / std::max(run.ranks, 1u)),
               show(regions[i]->total)});
  std::string out = table.text();
  if (regions.size() > kTextRegions)
    out += fmt::format("... and {} more regions\n", regions.size() - kTextRegions);
  return out;
}

std::string model_lines(const RunFacts& run) {
  const auto& o = *run.options;
  std::string out = fmt::format("model: {} sharing{}, ranks placed {}, routing {}",
                                replay::model_name(o.model, run.platform->fabric),
                                o.rtt_weights ? " weighted by 1 / latency" : "", run.map, run.routing);
  if (o.compute_scale != 1.0) out += fmt::format(", recorded computation x {}", o.compute_scale);
  if (run.platform->compute.has_kernels()) out += ", kernels as the platform models them";
  if (o.noise) out += fmt::format(" with noise of seed {}", o.seed);
  if (o.header.value() > 0) out += fmt::format(", {} B of header a message", o.header.value());
  out += "\n";
  if (o.raw_switch) {
    out += fmt::format("protocol: raw, detached below {} B, rendezvous from it on; no overheads\n",
                       o.raw_switch->value());
  } else if (o.raw != replay::RawMode::kOff) {
    out += fmt::format("protocol: raw {}; no overheads\n", raw_name(o.raw));
  } else {
    const auto& mpi = run.platform->mpi;
    if (mpi.piecewise())
      out += fmt::format("protocol: eager up to {} B, costs by message size\n", mpi.eager_limit.value());
    else
      out += fmt::format("protocol: eager up to {} B, overheads {} a send and {} a receive\n",
                         mpi.eager_limit.value(), show(mpi.send_overhead), show(mpi.recv_overhead));
    if (!mpi.assumed.empty()) {
      std::string names;
      for (const auto& a : mpi.assumed) names += (names.empty() ? "" : ", ") + a;
      out += "assumed, because neither platform nor command line says: " + names + "\n";
    }
  }
  for (const auto& w : run.result->warnings) out += "warning: " + w + "\n";
  return out;
}

}  // namespace

std::string deadlock_text(const replay::DeadlockReport& deadlock) {
  const auto line = [&](std::size_t i) {
    const auto& b = deadlock.blocked[i];
    std::string waits;
    for (std::size_t k = 0; k < std::min(b.waits_for.size(), kTextBlocked); ++k)
      waits += fmt::format("{}{}", waits.empty() ? "" : ", ", b.waits_for[k].index());
    if (b.waits_for.size() > kTextBlocked) waits += "...";
    return fmt::format("  rank {} in {} (operation {}{}{}) waits for {}\n", b.rank.index(), b.op, b.op_index,
                       b.position.empty() ? "" : ", ", b.position,
                       waits.empty() ? "something that never comes" : "rank " + waits);
  };
  std::string out = fmt::format("{} rank{} wait for ever", deadlock.blocked.size(),
                                deadlock.blocked.size() == 1 ? "" : "s");
  if (!deadlock.cycle.empty()) {
    out += "; each of these waits for the next, the last for the first:\n";
    for (const std::size_t i : deadlock.cycle) out += line(i);
    return out;
  }
  out += "; no cycle among them:\n";
  const std::size_t shown = std::min(deadlock.blocked.size(), kTextBlocked);
  for (std::size_t i = 0; i < shown; ++i) out += line(i);
  if (deadlock.blocked.size() > shown)
    out += fmt::format("  ... and {} more\n", deadlock.blocked.size() - shown);
  return out;
}

std::string replay_text(const RunFacts& run, const ReplayTextOptions& options) {
  std::string out = headline(run);
  if (options.jobs != nullptr) out += "\n" + jobs_text(run, *options.jobs);
  for (const std::string& part :
       {time_table(run), cost_table(run), link_table(run, options), region_table(run), model_lines(run)})
    if (!part.empty()) out += "\n" + part;
  return out;
}

}  // namespace weft::report
