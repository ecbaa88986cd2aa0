#include "report/replay_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/counted.hpp"
#include "core/quantity_text.hpp"
#include "network/sharing.hpp"
#include "report/assumed.hpp"
#include "report/table.hpp"
#include "report/why/critical_path.hpp"
#include "report/why/sensitivity.hpp"
#include "report/why/wait_states.hpp"

namespace weft::report {
namespace {

constexpr std::size_t kTextLinks = 10;
constexpr std::size_t kTextRegions = 20;
constexpr std::size_t kTextBlocked = 10;

struct RankPart {
  const char* name;
  Duration replay::RankTimes::*time;
  double predict::TimeSums::*sum;
};
constexpr RankPart kRankParts[] = {
    {"compute", &replay::RankTimes::compute, &predict::TimeSums::compute},
    {"send", &replay::RankTimes::send, &predict::TimeSums::send},
    {"receive", &replay::RankTimes::recv, &predict::TimeSums::recv},
    {"wait", &replay::RankTimes::wait, &predict::TimeSums::wait},
    {"collective", &replay::RankTimes::collective, &predict::TimeSums::collective},
};

std::string whole_percent(double ratio) { return fmt::format("{:.0f} %", ratio * 100); }

std::string headline(const predict::RunFacts& run, std::size_t width) {
  const auto& r = *run.result;
  return wrap(replay_answer(run) + "\n", width) + (r.finished ? "" : deadlock_text(r.deadlock, width));
}

std::string time_table(const predict::RunFacts& run) {
  const auto& ranks = run.result->ranks;
  if (ranks.empty()) return {};
  const predict::TimeSums t = predict::time_sums(*run.result);
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
  for (const RankPart& p : kRankParts) row(p.name, p.time, t.*p.sum);
  row("finish", &replay::RankTimes::finish, t.finish);
  // Beside the rank, hidden behind the rest or not: no part of its time.
  TimeSum device;
  for (const auto& r : ranks) device += r.device;
  if (const double sum = to_seconds(device); sum > 0) row("accelerator", &replay::RankTimes::device, sum);
  return table.text();
}

// A line of the table of causes: one or two of them, and what messages cost by it whether somebody waited or not.
struct CauseRow {
  const char* name;
  replay::Cause cause;
  replay::Cause other;  // added; the same: none
  TimeSum replay::MessageCosts::*of_messages;
};
constexpr CauseRow kCauseRows[] = {
    {"processor time of sends", replay::Cause::kSendOverhead, replay::Cause::kSendOverhead, nullptr},
    {"processor time of receives", replay::Cause::kRecvOverhead, replay::Cause::kRecvOverhead, nullptr},
    {"processor time of polls and tests", replay::Cause::kPolls, replay::Cause::kPolls, nullptr},
    {"latency and handshakes", replay::Cause::kLatency, replay::Cause::kHandshake,
     &replay::MessageCosts::latency},
    {"data at the narrowest link's rate", replay::Cause::kTransfer, replay::Cause::kTransfer,
     &replay::MessageCosts::transfer},
    {"contention: waiting for a share", replay::Cause::kContention, replay::Cause::kContention,
     &replay::MessageCosts::contention},
    {"late sender: its send not called yet", replay::Cause::kLateSender, replay::Cause::kLateSender, nullptr},
    {"late receiver: its receive not called yet", replay::Cause::kLateReceiver, replay::Cause::kLateReceiver,
     nullptr},
    {"order: a message sent before is not there", replay::Cause::kInOrder, replay::Cause::kInOrder, nullptr},
    {"what never came", replay::Cause::kNever, replay::Cause::kNever, nullptr},
};

std::string cost_table(const predict::RunFacts& run, std::size_t width) {
  const auto& n = run.result->network;
  const auto& p2p = run.result->point_to_point;
  const double messages = static_cast<double>(n.count);
  std::string out;
  if (n.count == 0) {
    out = "no message is sent\n";
  } else {
    const std::string written =
        p2p.count == n.count ? std::string("all written as point-to-point")
                             : fmt::format("{} of {} written as point-to-point",
                                           show_count(static_cast<double>(p2p.count)), show_bytes(p2p.bytes));
    out = wrap(fmt::format("{} of {} ({}), {:.2f} hops a message\n", counted(n.count, "message"),
                           show_bytes(n.bytes), written, static_cast<double>(n.hops) / messages),
               width);
  }
  const predict::TimeSums t = predict::time_sums(*run.result);
  Table table(
      {{"time in MPI", Table::Align::kLeft}, {"per rank"}, {"share"}, {"of all messages"}, {"per message"}});
  const double ranks = std::max(run.ranks, 1u);
  for (const CauseRow& row : kCauseRows) {
    const double waited = t.cause(row.cause) + (row.other != row.cause ? t.cause(row.other) : 0);
    const double sum = row.of_messages != nullptr ? to_seconds(n.*row.of_messages) : 0;
    if (waited <= 0 && sum <= 0) continue;
    const bool told = row.of_messages != nullptr && n.count > 0;
    table.add({row.name, show_seconds(waited / ranks),
               t.blocked() > 0 ? whole_percent(waited / t.blocked()) : "-", told ? show_seconds(sum) : "-",
               told ? show_seconds(sum / messages) : "-"});
  }
  return table.size() > 0 ? out + table.text(width) : out;
}

std::string link_table(const predict::RunFacts& run, const ReplayTextOptions& options) {
  const auto& fabric = run.platform->fabric;
  const auto links =
      predict::busiest_links(run, options.all_links ? fabric.link_count() : kTextLinks, options.link_order);
  if (links.empty()) return {};
  const bool by_wait = options.link_order == predict::LinkOrder::kWaited;
  Table table({{by_wait ? "links waited for" : "busiest links", Table::Align::kLeft},
               {"class", Table::Align::kLeft},
               {"bandwidth"},
               {"bytes"},
               {"busy"},
               {"used"},
               {"peak flows"},
               {"waited"}});
  const auto& columns = fabric.links();
  for (const LinkId l : links) {
    const auto& use = run.result->links[l.index()];
    table.add({fabric.link_name(l), columns.class_name(l), show(Bandwidth(columns.capacity[l.index()])),
               show_bytes(use.bytes), show(use.busy), show_percent(predict::utilization(run, l)),
               std::to_string(use.peak_flows), show(use.waited)});
  }
  return table.text(options.width);
}

std::string region_table(const predict::RunFacts& run, std::size_t width) {
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
  std::string out = table.text(width);
  if (regions.size() > kTextRegions)
    out += fmt::format("... and {} more\n", counted(regions.size() - kTextRegions, "region"));
  return out;
}

// To the byte, as long as that can be read: "65,536 B", "1 TB".
std::string limit_text(Bytes limit) {
  return limit.value() < 10'000'000 ? show_count(static_cast<double>(limit.value())) + " B" : show(limit);
}

std::string model_lines(const predict::RunFacts& run) {
  const auto& o = *run.options;
  std::string out = fmt::format("model: {} sharing{}, ranks placed {}, routing {}",
                                network::model_name(o.model, run.platform->fabric),
                                o.rtt_weights ? " weighted by 1 / latency" : "", run.map, run.routing);
  if (o.accuracy > 0)
    out += ", not exact: " +
           network::accuracy_text(network::model_name(o.model, run.platform->fabric), o.accuracy);
  if (o.compute_scale != 1.0) out += fmt::format(", recorded computation x {}", o.compute_scale);
  if (run.platform->compute.has_kernels()) out += ", kernels as the platform models them";
  if (o.noise) out += fmt::format(" with noise of seed {}", o.seed);
  if (o.recorded_matches) out += ", wildcards matched as recorded";
  if (o.header.value() > 0) out += fmt::format(", {} B of header a message", o.header.value());
  out += "\n";
  if (!run.platform->label.empty()) out += fmt::format("{}: {}\n", run.platform->label, run.platform->name);
  if (!run.changes.empty()) out += fmt::format("with {}\n", fmt::join(run.changes, " "));
  if (o.raw_switch) {
    out += fmt::format("protocol: raw, detached below {}, rendezvous from it on; no overheads\n",
                       limit_text(*o.raw_switch));
  } else if (o.raw != replay::RawMode::kOff) {
    out += fmt::format("protocol: raw {}; no overheads\n", predict::raw_name(o.raw));
  } else {
    const auto& mpi = run.platform->mpi;
    if (mpi.piecewise())
      out += fmt::format("protocol: eager up to {}, costs by message size\n", limit_text(mpi.eager_limit));
    else
      out += fmt::format("protocol: eager up to {}, overheads {} a send and {} a receive\n",
                         limit_text(mpi.eager_limit), show(mpi.send_overhead), show(mpi.recv_overhead));
  }
  Assumed assumed;
  assumed.add(run.platform->name, predict::assumed_of(run));
  out += assumed.text();
  for (const auto& w : run.result->warnings) out += "warning: " + w + "\n";
  return out;
}

}  // namespace

std::string deadlock_text(const replay::DeadlockReport& deadlock, std::size_t width) {
  const auto line = [&](std::size_t i) { return "  " + deadlock.blocked[i].text() + "\n"; };
  std::string out = fmt::format("{} {} forever", counted(deadlock.blocked.size(), "rank"),
                                deadlock.blocked.size() == 1 ? "waits" : "wait");
  if (!deadlock.cycle.empty()) {
    out += deadlock.cycle.size() == 1 ? "; this one waits for itself:\n"
                                      : "; each of these waits for the next, the last for the first:\n";
    for (const std::size_t i : deadlock.cycle) out += line(i);
    return wrap(out, width, 4);
  }
  out += "; no cycle among them:\n";
  const std::size_t shown = std::min(deadlock.blocked.size(), kTextBlocked);
  for (std::size_t i = 0; i < shown; ++i) out += line(i);
  if (deadlock.blocked.size() > shown)
    out += fmt::format("  ... and {} more\n", deadlock.blocked.size() - shown);
  return wrap(out, width, 4);
}

std::string replay_answer(const predict::RunFacts& run) {
  const auto& r = *run.result;
  const std::string ranks = counted(run.ranks, "rank");
  if (!r.finished)
    return fmt::format("{}: {} on {} deadlock{} after {}", predict::trace_label(run), ranks,
                       predict::platform_label(*run.platform), run.ranks == 1 ? "s" : "", show(r.makespan));
  const predict::TimeSums t = predict::time_sums(r);
  std::string split;
  if (t.finish > 0) {
    std::vector<std::pair<double, const char*>> parts;
    for (const RankPart& p : kRankParts)
      if (t.*p.sum / t.finish >= 0.005) parts.emplace_back(t.*p.sum, p.name);
    std::stable_sort(parts.begin(), parts.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    for (const auto& [sum, name] : parts)
      split += fmt::format("{}{} {}", split.empty() ? "; " : ", ", whole_percent(sum / t.finish), name);
  }
  return fmt::format("{}: {} take{} {} on {}{}", predict::trace_label(run), ranks, run.ranks == 1 ? "s" : "",
                     show(r.makespan), predict::platform_label(*run.platform), split);
}

std::string replay_text(const predict::RunFacts& run, const ReplayTextOptions& options) {
  const std::size_t width = options.width;
  std::string out = headline(run, width);
  if (options.jobs != nullptr) out += "\n" + jobs_text(run, *options.jobs, options.all_links, width);
  for (const std::string& part :
       {time_table(run), cost_table(run, width),
        run.result->path.known ? critical_path_text(run, width) : std::string(),
        run.sensitivity != nullptr ? sensitivity_text(run, width) : std::string(),
        run.result->wait_states.known ? wait_states_text(run, width) : std::string(),
        link_table(run, options), region_table(run, width), wrap(model_lines(run), width, 2)})
    if (!part.empty()) out += "\n" + part;
  return out;
}

}  // namespace weft::report
