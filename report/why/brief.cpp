#include "report/why/brief.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "core/quantity_text.hpp"
#include "predict/path_details.hpp"
#include "report/replay_text.hpp"
#include "report/table.hpp"
#include "report/why/critical_path.hpp"
#include "report/why/path_difference.hpp"
#include "report/why/sensitivity.hpp"
#include "report/why/shares.hpp"

namespace weft::report {
namespace {

constexpr int kWorthTelling = 200;  // one part in so many of the makespan

// The kernel that takes most of the path, and whose messages were in its way most.
std::string details_sentence(const predict::PathDetails& d, Duration makespan) {
  std::string out;
  if (d.kernels.size() > 1)
    out = fmt::format("most of its computation is {} ({}, {} of the time)", d.kernels.front().name,
                      show(d.kernels.front().time), share(d.kernels.front().time, makespan));
  if (!d.rivals.empty() && d.rivals.front().contention >= makespan / kWorthTelling) {
    const auto& worst = d.rivals.front();
    const std::string what = worst.are_copies() ? fmt::format("copies of rank {}", worst.src.index())
                                                : fmt::format("messages of rank {} to rank {}",
                                                              worst.src.index(), worst.dst.index());
    out += fmt::format("{}what it waits for most on links are {} ({}, {})", out.empty() ? "" : "; ", what,
                       show(worst.contention), share(worst.contention, makespan));
  }
  if (out.empty()) return out;
  out.front() = out.front() == 'm' ? 'M' : 'W';
  return out + ".\n";
}

// The factor that costs most, and what it means.
std::string efficiency_sentence(const Efficiency& e) {
  const std::pair<double, const char*> factors[] = {
      {e.load_balance, "load balance: some ranks compute longer than others"},
      {e.serialisation, "serialisation: ranks wait for each other even where messages take no time"},
      {e.transfer, "transfer: messages take time"}};
  const auto* const least = std::min_element(std::begin(factors), std::end(factors));
  const std::string split = e.split ? fmt::format(" = contention {:.3f} x latency {:.3f} x all else {:.3f}",
                                                  e.split->contention, e.split->latency, e.split->bandwidth)
                                    : "";
  constexpr double kNothingLost = 0.9995;  // rounds to 1.000
  return fmt::format(
      "On average ranks compute during {:.1f} % of the makespan "
      "(load balance {:.3f} x serialisation {:.3f} x transfer {:.3f}{}){}.\n",
      100 * e.parallel, e.load_balance, e.serialisation, e.transfer, split,
      least->first < kNothingLost ? fmt::format("; most is lost to {}", least->second) : "");
}

std::string waits_sentence(const predict::RunFacts& run) {
  const replay::WaitResult& w = run.result->wait_states;
  if (w.count == 0) return "No rank waited for one that was late.\n";
  const auto most = static_cast<std::size_t>(std::max_element(w.all.kinds.begin(), w.all.kinds.end()) -
                                             w.all.kinds.begin());
  const replay::DelayCost& d = w.delays.front();
  std::string kind(replay::kWaitKindNames[most]);
  std::replace(kind.begin(), kind.end(), '_', ' ');
  return fmt::format(
      "Ranks waited {} in all for others that were late, {:.1f} % of it as {}; the most costly delay is {} "
      "of rank {}{} "
      "({:.1f} %).\n",
      show(w.all.waited()), 100 * to_seconds(w.all.kinds[most]) / to_seconds(w.all.waited()), kind,
      d.communication ? "communication" : "computation", d.rank.index(),
      d.region.valid() ? " in " + run.result->regions[d.region.index()].name : "",
      100 * to_seconds(d.cost()) / to_seconds(w.all.waited()));
}

}  // namespace

std::string brief_text(const predict::RunFacts& run, std::size_t width) {
  const auto& r = *run.result;
  std::string out = replay_answer(run) + "\n";
  if (!r.finished) return wrap(out, width) + deadlock_text(r.deadlock, width);
  std::string path = explain_path(run) + ".\n";
  path.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(path.front())));
  out += path;
  if (r.makespan == Duration(0)) {
    for (const auto& w : r.warnings) out += "warning: " + w + "\n";
    return wrap(out, width);
  }
  if (run.path_details != nullptr) out += details_sentence(*run.path_details, r.makespan);
  if (const auto e = efficiency(run)) out += efficiency_sentence(*e);
  if (r.path.has_slopes()) {
    out += fmt::format(
        "By this path computation 1 % faster is worth {}, links 1 % faster {}; 1 us more latency a message "
        "costs {}.\n",
        show(r.path.computed() / 100), show(r.path.on_links() / 100),
        show(Duration(static_cast<std::int64_t>(r.path.trips) * 1'000'000)));
  } else {
    out += "What a change is worth this path does not tell, for a series of exchanges is on it.\n";
  }
  if (r.wait_states.known) out += waits_sentence(run);
  if (run.sensitivity != nullptr) out += sensitivity_sentences(run);
  for (const auto& w : r.warnings) out += "warning: " + w + "\n";
  return wrap(out, width);
}

}  // namespace weft::report
