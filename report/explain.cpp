#include "report/explain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "core/counted.hpp"
#include "core/quantity_text.hpp"

namespace weft::report {
namespace {

using replay::Cause;

constexpr double kSecondCause = 0.5;   // of the first
constexpr double kRounding = 0.5e-12;  // seconds: growth below it is rounding

double per_message(const predict::RunFacts& run, TimeSum d) {
  const auto n = run.result->network.count;
  return n > 0 ? to_seconds(d) / static_cast<double>(n) : 0;
}

// "", or which link held messages back longest.
std::string held_back(const predict::RunFacts& run, const predict::RunDigest& digest) {
  const predict::UsedLink& most = digest.most_waited;
  if (!most.link.valid()) return {};
  const std::uint64_t alike = digest.waited_alike;
  const std::string others =
      alike > 1 ? fmt::format(" and about as much on {}",
                              alike == 2 ? std::string("one other") : fmt::format("{} others", alike - 1))
                : "";
  return fmt::format("messages lost {} in all, {} of it on {}{}, crossed by up to {} at once",
                     show(run.result->network.contention), show(most.use.waited),
                     run.platform->fabric.link_name(most.link), others,
                     counted(most.use.peak_flows, "message"));
}

// "6.00 instead of 3.00 hops", "3.00 hops as well".
std::string instead(const std::string& now, const std::string& then, const std::string& unit = {}) {
  return now == then ? now + unit + " as well" : now + " instead of " + then + unit;
}

std::string narrowest(const predict::RunDigest& digest) {
  return digest.narrowest_used > 0 ? show(Bandwidth(digest.narrowest_used)) : "none";
}

// " (hosts of 500 Mflop/s instead of 1 Gflop/s)", where that is a reason for more computation: each platform has hosts of
// one speed, none says by kernels how fast they are, and these are slower.
std::string other_hosts(const topology::Platform& now, const topology::Platform& then) {
  const auto speed = [](const topology::Platform& p) -> std::optional<FlopRate> {
    if (p.compute.has_kernels()) return std::nullopt;
    const auto other = std::ranges::find_if(p.host_speed, [&](double s) { return s != p.host_speed[0]; });
    if (other != p.host_speed.end()) return std::nullopt;
    return p.speed(HostId(0));
  };
  const auto mine = speed(now), other = speed(then);
  if (!mine || !other || mine->value() >= other->value()) return {};
  return " (hosts of " + instead(show(*mine), show(*other)) + ")";
}

// Seconds of a mean rank; they add up to the makespan.
struct Parts {
  double compute = 0, overhead = 0, latency = 0, transfer = 0, contention = 0;
  double late_sender = 0, late_receiver = 0, idle = 0;
};

Parts parts_of(const predict::RunFacts& run, const predict::RunDigest& digest) {
  const predict::TimeSums& t = digest.sums;
  const auto ranks = static_cast<double>(std::max<std::uint64_t>(digest.ranks, 1));
  Parts p;
  p.compute = t.compute / ranks;
  p.overhead =
      (t.cause(Cause::kSendOverhead) + t.cause(Cause::kRecvOverhead) + t.cause(Cause::kPolls)) / ranks;
  p.latency = (t.cause(Cause::kLatency) + t.cause(Cause::kHandshake)) / ranks;
  p.transfer = t.cause(Cause::kTransfer) / ranks;
  p.contention = t.cause(Cause::kContention) / ranks;
  p.late_sender = (t.cause(Cause::kLateSender) + t.cause(Cause::kInOrder)) / ranks;
  p.late_receiver = t.cause(Cause::kLateReceiver) / ranks;
  p.idle = to_seconds(run.result->makespan) - t.finish / ranks;
  return p;
}

struct Growth {
  double seconds;
  std::string text;
};

void largest_first(std::vector<Growth>& list) {
  std::stable_sort(list.begin(), list.end(),
                   [](const Growth& x, const Growth& y) { return x.seconds > y.seconds; });
}

// Of all messages, as their latency is; RunFacts' mean is of those that the trace has.
double hops_of_all(const predict::RunFacts& run) {
  const auto& all = run.result->network;
  return all.count == 0 ? 0 : static_cast<double>(all.hops) / static_cast<double>(all.count);
}

// What a platform can have: all but the waits of ranks for each other.
std::vector<Growth> own_causes(const predict::RunFacts& run, const predict::RunFacts& best, const Parts& now,
                               const Parts& then, const predict::RunDigest& mine,
                               const predict::RunDigest& other) {
  const auto& a = run.result->network;
  const auto& b = best.result->network;
  std::vector<Growth> out;
  const double compute = now.compute - then.compute;
  out.push_back({compute, fmt::format("computation takes {} more per rank{}", show_seconds(compute),
                                      other_hosts(*run.platform, *best.platform))});
  const double overhead = now.overhead - then.overhead;
  out.push_back({overhead, fmt::format("message overheads take {} more per rank", show_seconds(overhead))});
  const double latency = now.latency - then.latency;
  // A message within a host has a latency, too, but is none of the network's.
  const std::string ways =
      a.count == 0 || b.count == 0
          ? std::string()
          : fmt::format(" ({}, {})",
                        instead(show_seconds(per_message(run, a.latency)),
                                show_seconds(per_message(best, b.latency)), " a message"),
                        instead(fmt::format("{:.2f}", hops_of_all(run)),
                                fmt::format("{:.2f}", hops_of_all(best)), " hops"));
  out.push_back({latency, fmt::format("latency takes {} more per rank{}", show_seconds(latency), ways)});
  const double transfer = now.transfer - then.transfer;
  out.push_back({transfer, fmt::format("moving the data takes {} more per rank (narrowest link used: {})",
                                       show_seconds(transfer), instead(narrowest(mine), narrowest(other)))});
  const double contention = now.contention - then.contention;
  const std::string held = held_back(run, mine);
  out.push_back({contention, fmt::format("contention takes {} more per rank{}", show_seconds(contention),
                                         held.empty() ? "" : " (" + held + ")")});
  largest_first(out);
  return out;
}

}  // namespace

std::string explain_alone(const predict::RunFacts& run) {
  const predict::RunDigest digest = predict::digest_of(run);
  const predict::TimeSums& t = digest.sums;
  if (t.finish <= 0) return "nothing takes time";
  const auto share = [&](double part) { return show_percent(part / t.finish); };
  std::string s = fmt::format("{} of the ranks' time is computation, {} is spent in MPI", share(t.compute),
                              share(t.blocked()));
  const Parts p = parts_of(run, digest);
  std::vector<Growth> parts{{p.late_sender, "late senders"}, {p.late_receiver, "late receivers"},
                            {p.latency, "latency"},          {p.transfer, "moving data"},
                            {p.contention, "contention"},    {p.overhead, "message overheads"}};
  largest_first(parts);
  if (parts[0].seconds <= kRounding) return s;
  s += fmt::format(": {} {} per rank", parts[0].text, show_seconds(parts[0].seconds));
  if (parts[1].seconds > kRounding)
    s += fmt::format(", {} {}", parts[1].text, show_seconds(parts[1].seconds));
  const bool contended = parts[0].text == "contention" || parts[1].text == "contention";
  if (const std::string held = held_back(run, digest); contended && !held.empty()) s += " (" + held + ")";
  return s;
}

std::string explain_slower(const predict::RunFacts& run, const predict::RunFacts& best) {
  const double mine = to_seconds(run.result->makespan);
  const double least = to_seconds(best.result->makespan);
  const double slower = mine - least;
  if (is_as_fast(mine, least)) return "as fast as the best";
  const predict::RunDigest digest = predict::digest_of(run), of_best = predict::digest_of(best);
  const Parts now = parts_of(run, digest), then = parts_of(best, of_best);
  const std::vector<Growth> own = own_causes(run, best, now, then, digest, of_best);
  std::string s = show_seconds(slower) + " slower: ";
  double told = 0;
  if (own[0].seconds <= kRounding) {
    s += "no message costs more, but ";
  } else {
    s += own[0].text;
    told += own[0].seconds;
    if (own[1].seconds >= kSecondCause * own[0].seconds) {
      s += "; " + own[1].text;
      told += own[1].seconds;
    }
  }
  // What it does to others.
  const double sender = now.late_sender - then.late_sender;
  const double receiver = now.late_receiver - then.late_receiver;
  const double idle = now.idle - then.idle;
  std::vector<Growth> others{
      {sender, fmt::format("ranks wait {} longer for late senders", show_seconds(sender))},
      {receiver, fmt::format("ranks wait {} longer for late receivers", show_seconds(receiver))},
      {idle, fmt::format("ranks are done {} longer before the last one", show_seconds(idle))}};
  largest_first(others);
  const char* between = told > 0 ? "; " : "";
  for (const Growth& g : others) {
    if (g.seconds < kTold * slower) break;
    s += between + g.text;
    between = "; ";
    told += g.seconds;
  }
  if (told <= 0) return s + "its parts grow by less than a tenth of that each";
  const double rest = slower - told;
  if (std::abs(rest) >= kTold * slower)
    s += fmt::format("; all else takes {} {}", show_seconds(std::abs(rest)), rest > 0 ? "more" : "less");
  return s;
}

}  // namespace weft::report
