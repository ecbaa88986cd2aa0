#include "report/explain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/quantity_text.hpp"

namespace weft::report {
namespace {

constexpr double kSame = 1e-9;        // relative difference of makespans that is no difference
constexpr double kSecondCause = 0.5;  // of the first
constexpr double kSpreads = 1.0;      // late-sender growth beyond the cause itself that is worth saying

double per_rank(const RunFacts& run, double sum) { return run.ranks > 0 ? sum / run.ranks : 0; }

double per_message(const RunFacts& run, Duration d) {
  const auto n = run.result->network.count;
  return n > 0 ? to_seconds(d) / static_cast<double>(n) : 0;
}

std::string worst_link(const RunFacts& run) {
  const auto links = busiest_links(run, 1);
  if (links.empty()) return "no link is used";
  const LinkId l = links.front();
  const auto& use = run.result->links[l.index()];
  return fmt::format("worst link {}: {} used, up to {} message{} at once", run.platform->fabric.link_name(l),
                     show_percent(utilization(run, l)), use.peak_flows, use.peak_flows == 1 ? "" : "s");
}

std::string instead(const std::string& now, const std::string& then) {
  return now == then ? now + " as well" : now + " instead of " + then;
}

struct Cause {
  double growth;  // seconds per rank
  std::string text;
};

}  // namespace

std::string explain_alone(const RunFacts& run) {
  const TimeSums t = time_sums(*run.result);
  if (t.finish <= 0) return "nothing takes time";
  const auto share = [&](double part) { return show_percent(part / t.finish); };
  std::string s = fmt::format("{} of the ranks' time is computation, {} is spent in MPI", share(t.compute),
                              share(t.blocked()));
  const auto& n = run.result->network;
  if (n.count == 0) return s;
  struct Part {
    const char* name;
    Duration sum;
  };
  std::array<Part, 5> parts{{{"latency", n.latency},
                             {"moving data", n.transfer},
                             {"contention", n.contention},
                             {"late senders", n.late_sender},
                             {"late receivers", n.late_receiver}}};
  std::stable_sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.sum > b.sum; });
  if (parts[0].sum.count() <= 0) return s;
  s += fmt::format("; messages: {} {} per rank", parts[0].name,
                   show_seconds(per_rank(run, to_seconds(parts[0].sum))));
  if (parts[1].sum.count() > 0)
    s += fmt::format(", {} {}", parts[1].name, show_seconds(per_rank(run, to_seconds(parts[1].sum))));
  return s;
}

std::string explain_slower(const RunFacts& run, const RunFacts& best) {
  const double mine = to_seconds(run.result->makespan);
  const double least = to_seconds(best.result->makespan);
  if (mine - least <= kSame * least) return "as fast as the best";
  const auto& a = run.result->network;
  const auto& b = best.result->network;
  const auto grew = [&](double now, double then) { return per_rank(run, now) - per_rank(best, then); };
  const auto grew_by = [&](Duration now, Duration then) { return grew(to_seconds(now), to_seconds(then)); };

  std::vector<Cause> causes;
  const double compute = grew(time_sums(*run.result).compute, time_sums(*best.result).compute);
  const std::string speed = show(run.platform->speed(HostId(0)));
  const std::string best_speed = show(best.platform->speed(HostId(0)));
  causes.push_back(
      {compute, fmt::format("computation takes {} more per rank{}", show_seconds(compute),
                            speed == best_speed ? "" : " (hosts of " + instead(speed, best_speed) + ")")});
  const double overhead = grew(overhead_seconds(run), overhead_seconds(best));
  causes.push_back(
      {overhead, fmt::format("message overheads take {} more per rank", show_seconds(overhead))});
  const double latency = grew_by(a.latency, b.latency);
  causes.push_back(
      {latency,
       fmt::format(
           "latency takes {} more per rank ({} a message, {} hops)", show_seconds(latency),
           instead(show_seconds(per_message(run, a.latency)), show_seconds(per_message(best, b.latency))),
           instead(fmt::format("{:.2f}", mean_hops(run)), fmt::format("{:.2f}", mean_hops(best))))});
  const double transfer = grew_by(a.transfer, b.transfer);
  causes.push_back(
      {transfer,
       fmt::format("moving the data takes {} more per rank (narrowest link used: {})", show_seconds(transfer),
                   instead(show(Bandwidth(narrowest_used(run))), show(Bandwidth(narrowest_used(best)))))});
  const double contention = grew_by(a.contention, b.contention);
  causes.push_back({contention, fmt::format("contention takes {} more per rank ({})",
                                            show_seconds(contention), worst_link(run))});
  std::stable_sort(causes.begin(), causes.end(),
                   [](const Cause& x, const Cause& y) { return x.growth > y.growth; });

  const double late_sender = grew_by(a.late_sender, b.late_sender);
  const double late_receiver = grew_by(a.late_receiver, b.late_receiver);
  std::string s = show_seconds(mine - least) + " slower: ";
  // Half a picosecond: below it the growth is rounding.
  if (causes[0].growth <= 0.5e-12) {
    s += "no message costs more, but ";
    if (late_sender <= 0 && late_receiver <= 0) return s + "the critical path is another one";
    return s + (late_sender >= late_receiver
                    ? fmt::format("ranks wait {} longer for late senders", show_seconds(late_sender))
                    : fmt::format("data wait {} longer for late receivers", show_seconds(late_receiver)));
  }
  s += causes[0].text;
  if (causes[1].growth >= kSecondCause * causes[0].growth) s += "; " + causes[1].text;
  if (late_sender > kSpreads * causes[0].growth)
    s += fmt::format("; it adds up along the ranks: they wait {} longer for late senders",
                     show_seconds(late_sender));
  return s;
}

}  // namespace weft::report
