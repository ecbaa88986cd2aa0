#include "report/search_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "core/counted.hpp"
#include "core/quantity_text.hpp"
#include "report/json_text.hpp"
#include "report/table.hpp"

namespace weft::report {
namespace {

using schedule::Mode;

constexpr std::size_t kBars = 16;
constexpr std::size_t kStepsForPeople = 40;

// An enumeration that was stopped: the statistics are of the schedules that come first, no sample.
bool partial(const schedule::SearchResult& r) { return r.interrupted && !r.exact; }

// Of the orders, or of the placements beside the best one.
bool was_interrupted(const SearchFacts& f) {
  return f.result->interrupted || (f.placement != nullptr && f.placement->interrupted);
}

// The order, and the placement where it was searched, too.
bool is_proven(const SearchFacts& f) {
  return f.result->proof != schedule::Proof::kNone && (f.placement == nullptr || f.placement->proven);
}

// Counts in equal intervals from the best to the worst.
struct Bar {
  double from_s;
  double to_s;
  std::uint64_t count;
};

std::vector<Bar> bars(const schedule::TimeStatistics& s) {
  std::vector<Bar> out;
  if (s.distinct.empty()) return out;
  const std::size_t n = s.distinct.size() == 1 ? 1 : kBars;
  const double width = (s.worst - s.best) / static_cast<double>(n);
  for (std::size_t i = 0; i < n; ++i) {
    out.push_back({s.best + width * static_cast<double>(i), s.best + width * static_cast<double>(i + 1), 0});
  }
  out.back().to_s = s.worst;
  for (const auto& b : s.distinct) {
    const double at = width > 0 ? (b.seconds - s.best) / width : 0;
    // What rounding puts just below an edge belongs above it.
    const auto i = std::min(n - 1, static_cast<std::size_t>(std::floor(at + 1e-6)));
    out[i].count += b.count;
  }
  return out;
}

// "u->v", or "u->v with the way back" where both directions together bound.
std::string bound_link(const SearchFacts& f) {
  const schedule::LinkBound& b = f.result->link;
  return f.platform->fabric.link_name(f.workload->link[b.link]) + (b.both ? " with the way back" : "");
}

double factor(const schedule::Workload& w, std::uint32_t message, double rate_Bps) {
  const auto route = w.links_of(message);
  return route.empty() ? 1 : rate_Bps / w.capacity[route.front()];
}

struct Span {
  double start_s = -1;
  double finish_s = 0;
};

std::vector<Span> spans(const SearchFacts& f) {
  std::vector<Span> out(f.workload->messages());
  for (const schedule::Phase& p : f.best) {
    for (std::uint32_t m : p.messages) {
      if (out[m].start_s < 0) out[m].start_s = p.from_s;
      out[m].finish_s = p.to_s;
    }
  }
  return out;
}

std::string times(double seconds, double unit_s) {
  return fmt::format("{} = {:.6g} T", show_seconds(seconds), seconds / unit_s);
}

std::string count_text(double n) {
  if (!std::isfinite(n)) return "over 10^308";
  return n < 1e7 ? show_count(n) : fmt::format("{:.3g}", n);
}

std::string schedules_text(double n) { return count_text(n) + (n == 1 ? " schedule" : " schedules"); }

// Null beyond the largest double, which the text has as "over 10^308".
nlohmann::ordered_json number(double n) {
  if (!std::isfinite(n)) return nullptr;
  if (n < 9e15) return static_cast<std::uint64_t>(n);
  return n;
}

nlohmann::ordered_json sends_json(const SearchFacts& f, const schedule::Order& order) {
  auto list = nlohmann::ordered_json::array();
  const auto& e = f.workload->exchange;
  for (std::uint32_t r = 0; r < e.ranks && !order.empty(); ++r) {
    auto sends = nlohmann::ordered_json::array();
    for (std::uint32_t i = e.first[r]; i < e.first[r + 1]; ++i) sends.push_back(e.messages[order[i]].dst);
    list.push_back({{"rank", r}, {"sends", std::move(sends)}});
  }
  return list;
}

// Every message of the best schedule: when it is on its way, at which rates, over which of `links`.
using Json = nlohmann::ordered_json;
nlohmann::ordered_json transfers_json(const SearchFacts& f) {
  const auto& w = *f.workload;
  const auto when = spans(f);
  std::vector<Json> rates(w.messages(), Json::array());
  for (const schedule::Phase& p : f.best) {
    for (std::size_t i = 0; i < p.messages.size(); ++i) {
      if (w.links_of(p.messages[i]).empty()) continue;  // within a host: no rate
      Json& list = rates[p.messages[i]];
      if (!list.empty() && list.back()[1] == p.from_s && list.back()[2] == p.rate_Bps[i]) {
        list.back()[1] = p.to_s;
      } else {
        list.push_back({p.from_s, p.to_s, p.rate_Bps[i]});
      }
    }
  }
  Json out = Json::array();
  for (std::uint32_t m = 0; m < w.messages(); ++m) {
    const auto& message = w.exchange.messages[m];
    const auto links = w.links_of(m);
    out.push_back({{"src", message.src},
                   {"dst", message.dst},
                   {"bytes", message.bytes.value()},
                   {"start_s", std::max(0.0, when[m].start_s)},
                   {"finish_s", when[m].finish_s},
                   {"links", std::vector<std::uint32_t>(links.begin(), links.end())},
                   {"rates", std::move(rates[m])}});
  }
  return out;
}

nlohmann::ordered_json links_json(const SearchFacts& f) {
  const auto& w = *f.workload;
  auto out = nlohmann::ordered_json::array();
  for (std::uint32_t l = 0; l < w.links(); ++l)
    out.push_back({{"name", f.platform->fabric.link_name(w.link[l])},
                   {"id", w.link[l].index()},
                   {"bandwidth_Bps", w.capacity[l]}});
  return out;
}

std::string proof_text(const SearchFacts& f, double unit_s) {
  const auto& r = *f.result;
  using schedule::Proof;
  std::string text;
  switch (r.proof) {
    case Proof::kExhaustion:
      text = "proven optimal: all schedules were looked at";
      break;
    case Proof::kLinkBound:
      text = "proven optimal: it meets the link bound";
      break;
    case Proof::kStepLoadBound:
      text = "proven optimal: it meets the step-load bound";
      break;
    case Proof::kBranchAndBound:
      text = "proven optimal: branch and bound found nothing sooner";
      break;
    case Proof::kNone:
      text = fmt::format("not proven optimal; no schedule is faster than {}", times(r.lower_s, unit_s));
      break;
  }
  if (r.proof == Proof::kExhaustion && !schedule::sooner(r.link.seconds, r.best_s))
    text += ", and it meets the link bound";
  if (f.placement != nullptr && !f.placement->proven) text += " (for this placement)";
  return text;
}

void add_placement_text(const SearchFacts& f, double unit_s, std::string& out) {
  const auto& p = *f.placement;
  std::size_t searched = 0;
  for (const auto& c : p.classes) searched += c.searched ? 1 : 0;
  if (p.enumerated) {
    out +=
        fmt::format("placements: {} in {} ({} under the platform's symmetry alone); {} searched\n",
                    count_text(p.placements), counted(p.classes.size(), "class"), p.host_classes, searched);
  } else {
    out += fmt::format("placements: {}; annealed by link bound, the best {} searched\n",
                       count_text(p.placements), searched);
  }
  Table table(
      {{"placement", Table::Align::kLeft}, {"members"}, {"link bound"}, {"best"}, {"mean"}, {"worst"}});
  std::size_t shown = 0;
  for (const auto& c : p.classes) {
    if (!c.searched || ++shown > 10) continue;
    std::string names;
    for (HostId h : c.host)
      names += fmt::format("{}{}", names.empty() ? "" : " ", f.platform->fabric.host_name(h));
    const auto t = [&](double s) { return fmt::format("{:.4f} T", s / unit_s); };
    table.add({names, std::to_string(c.members), t(c.link_s), t(c.best_s), c.mean_s > 0 ? t(c.mean_s) : "-",
               c.worst_s > 0 ? t(c.worst_s) : "-"});
  }
  out += table.text();
  if (shown > 10) out += fmt::format("... {} more; --json FILE lists all\n", shown - 10);
  out += p.proven ? "the best placement is proven: no other class has a lower time or bound\n\n"
                  : "the best placement is not proven\n\n";
}

// "3,561 distinct times"
std::string distinct_text(const schedule::TimeStatistics& s) {
  std::string times = counted(s.distinct.size(), "distinct time");
  if (s.apart == 0) return times;
  return fmt::format(
      "more than {}, those between the shortest and the longest told apart to {:.1g} of themselves", times,
      s.apart);
}

void add_distribution_text(const SearchFacts& f, double unit_s, std::string& out) {
  const auto& s = f.result->statistics;
  if (s.count == 0) return;
  out += fmt::format(
      "\n{} {}: best {} ({}), next {}, median {:.6f} T, mean {:.6f} T, worst {} ({}); "
      "{}\n",
      f.result->exact      ? (s.count == 1 ? "the only" : "all")
      : partial(*f.result) ? "the first"
                           : "a sample of",
      f.result->exact && s.count == 1 ? "schedule" : schedules_text(static_cast<double>(s.count)),
      fmt::format("{:.6g} T", s.best / unit_s), s.best_count,
      s.distinct.size() > 1 ? fmt::format("{:.6f} T", s.next_best / unit_s) : "none", s.median / unit_s,
      s.mean / unit_s, fmt::format("{:.6f} T", s.worst / unit_s), s.worst_count, distinct_text(s));
  const auto list = bars(s);
  std::uint64_t most = 1;
  for (const Bar& b : list) most = std::max(most, b.count);
  for (const Bar& b : list) {
    const auto length =
        static_cast<std::size_t>(std::ceil(48.0 * static_cast<double>(b.count) / static_cast<double>(most)));
    out += fmt::format("{:8.3f} .. {:7.3f} T {:>10}{}{}\n", b.from_s / unit_s, b.to_s / unit_s,
                       count_text(static_cast<double>(b.count)), length > 0 ? "  " : "",
                       std::string(length, '#'));
  }
}

}  // namespace

double message_time(const schedule::Workload& w) {
  double longest = 0;
  for (std::uint32_t m = 0; m < w.messages(); ++m) {
    for (std::uint32_t l : w.links_of(m)) longest = std::max(longest, w.seconds_on(m, l));
  }
  return longest;
}

std::vector<Step> steps_of(const SearchFacts& f) {
  std::vector<Step> steps;
  for (auto p = f.best.begin(); p != f.best.end();) {
    auto end = p + 1;
    while (end != f.best.end() && end->step == p->step) ++end;
    Step s{p->step, p->from_s, std::prev(end)->to_s, p->messages, p->rate_Bps, {}, {}};
    s.bytes.resize(s.messages.size());
    std::vector<double> taken_s(s.messages.size());
    std::vector<std::uint8_t> changes(s.messages.size());
    std::set<std::uint32_t> congested;
    for (; p != end; ++p) {
      const double lasts = p->to_s - p->from_s;
      // Messages that end together may do so within a rounding.
      if (lasts > schedule::kSameTime * (s.to_s - s.from_s)) {
        const auto full = congested_links(*f.workload, *p);
        congested.insert(full.begin(), full.end());
      }
      for (std::size_t i = 0; i < p->messages.size(); ++i) {
        // All are on their way when the step begins.
        const auto at = std::ranges::lower_bound(s.messages, p->messages[i]) - s.messages.begin();
        const auto k = static_cast<std::size_t>(at);
        s.bytes[k] += p->rate_Bps[i] * lasts;
        taken_s[k] += lasts;
        if (p->rate_Bps[i] != s.rate_Bps[k]) changes[k] = 1;
      }
    }
    for (std::size_t k = 0; k < s.messages.size(); ++k)
      if (changes[k] != 0 && taken_s[k] > 0) s.rate_Bps[k] = s.bytes[k] / taken_s[k];
    s.congested.assign(congested.begin(), congested.end());
    steps.push_back(std::move(s));
  }
  return steps;
}

std::vector<std::uint32_t> congested_links(const schedule::Workload& w, const schedule::Phase& p) {
  std::vector<double> load(w.lanes(), 0);
  std::vector<std::uint32_t> messages(w.lanes(), 0);
  for (std::size_t i = 0; i < p.messages.size(); ++i) {
    for (std::uint32_t l : w.lanes_of(p.messages[i])) {
      load[l] += p.rate_Bps[i];
      ++messages[l];
    }
  }
  const auto is_full = [&](std::uint32_t l) {
    return messages[l] > 1 && load[l] >= w.lane_capacity[l] * (1 - 1e-9);
  };
  std::vector<std::uint8_t> full(w.links(), 0);
  for (std::uint32_t l = 0; l < w.lanes(); ++l) {
    if (!is_full(l)) continue;
    if (w.lane_both[l] == 0) {
      full[w.lane_link[l]] = 1;
      continue;
    }
    for (std::uint32_t k = 0; k < w.links(); ++k)  // the lane of link k is k
      if (w.tie[k] == w.tie[w.lane_link[l]] && messages[k] > 0) full[k] = 1;
  }
  std::vector<std::uint32_t> out;
  for (std::uint32_t l = 0; l < w.links(); ++l)
    if (full[l] != 0) out.push_back(l);
  return out;
}

std::string search_text(const SearchFacts& f) {
  const auto& w = *f.workload;
  const auto& r = *f.result;
  const auto& e = w.exchange;
  const double unit = message_time(w);
  std::string out = fmt::format("{} on {}: {}, {}, {}, {}, model {}\n", f.pattern, f.platform->name,
                                counted(e.ranks, "rank"), counted(e.messages.size(), "message"),
                                schedules_text(r.schedules),
                                f.mode == Mode::kBarrier ? "barrier after each step" : "async", f.model);
  if (w.links() > 0)
    out += fmt::format("link bound {}: {} carries {}; T = {}, the longest message alone\n\n",
                       times(r.link.seconds, unit), bound_link(f), counted(r.link.messages, "message"),
                       show_seconds(unit));
  if (f.placement != nullptr) add_placement_text(f, unit, out);
  Table table({{"step"}, {"from"}, {"to"}, {"messages (congestion factor)", Table::Align::kLeft}});
  const auto steps = steps_of(f);
  for (std::size_t i = 0; i < steps.size() && i < kStepsForPeople; ++i) {
    const Step& p = steps[i];
    std::string messages;
    for (std::size_t k = 0; k < p.messages.size(); ++k) {
      const auto& m = e.messages[p.messages[k]];
      messages += fmt::format("{}{}>{} {:.3g}", messages.empty() ? "" : "  ", m.src, m.dst,
                              factor(w, p.messages[k], p.rate_Bps[k]));
    }
    table.add({std::to_string(p.step), fmt::format("{:.4f} T", p.from_s / unit),
               fmt::format("{:.4f} T", p.to_s / unit), messages});
  }
  out += table.text();
  if (steps.size() > kStepsForPeople)
    out += fmt::format("... {} more; --json FILE lists all\n", steps.size() - kStepsForPeople);
  Table sends({{"rank"}, {"host", Table::Align::kLeft}, {"sends in this order to", Table::Align::kLeft}});
  for (std::uint32_t rank = 0; rank < e.ranks && e.ranks <= 64; ++rank) {
    std::string list;
    for (std::uint32_t i = e.first[rank]; i < e.first[rank + 1]; ++i) {
      list += fmt::format("{}{}", list.empty() ? "" : " ", e.messages[r.best[i]].dst);
    }
    sends.add({std::to_string(rank), f.platform->fabric.host_name(f.host[rank]), list});
  }
  if (e.ranks <= 64) out += "\n" + sends.text();
  add_distribution_text(f, unit, out);
  out += fmt::format("\nbest {}{}, {}", times(r.best_s, unit),
                     !was_interrupted(f) ? ""
                     : is_proven(f)      ? " (interrupted)"
                                         : " so far (interrupted)",
                     proof_text(f, unit));
  const auto& s = r.statistics;
  if (s.count > 0 && r.best_s > 0 && !partial(r))
    out += fmt::format("; a {} schedule takes {:.2f} times as long, the worst {}{:.2f}",
                       r.exact ? "mean" : "random", s.mean / r.best_s, r.exact ? "" : "seen ",
                       s.worst / r.best_s);
  return out + "\n";
}

std::string search_json(const SearchFacts& f) {
  const auto& w = *f.workload;
  const auto& r = *f.result;
  const auto& fabric = f.platform->fabric;
  const auto& e = w.exchange;
  nlohmann::ordered_json j;
  j["schema"] = "weft.search/1";
  j["pattern"] = f.pattern;
  j["platform"] = f.platform->name;
  j["model"] = f.model;
  j["mode"] = f.mode == Mode::kBarrier ? "barrier" : "async";
  j["ranks"] = e.ranks;
  j["messages"] = e.messages.size();
  j["schedules_total"] = number(r.schedules);
  j["schedules_evaluated"] = number(r.evaluated);
  j["proved_optimal"] = is_proven(f);
  j["proof"] = schedule::proof_name(r.proof);
  j["interrupted"] = was_interrupted(f);
  j["best_s"] = r.best_s;
  const auto& s = r.statistics;
  const bool any = s.count > 0;
  j["worst_s"] = any ? nlohmann::ordered_json(s.worst) : nullptr;
  j["mean_s"] = any ? nlohmann::ordered_json(s.mean) : nullptr;
  j["median_s"] = any ? nlohmann::ordered_json(s.median) : nullptr;
  j["best_count"] = r.exact ? nlohmann::ordered_json(s.best_count) : nullptr;
  j["next_best_s"] = r.exact && s.distinct.size() > 1 ? nlohmann::ordered_json(s.next_best) : nullptr;
  j["worst_count"] = r.exact ? nlohmann::ordered_json(s.worst_count) : nullptr;
  j["distinct_times"] = r.exact && s.apart == 0 ? nlohmann::ordered_json(s.distinct.size()) : nullptr;
  j["distribution"] = !any ? "none" : r.exact ? "exact" : partial(r) ? "partial" : "sample";
  j["message_time_s"] = message_time(w);
  j["link_bound_s"] = r.link.seconds;
  j["link_bound_link"] = w.links() > 0 ? bound_link(f) : "";
  j["step_load_bound_s"] = r.step_load_s > 0 ? nlohmann::ordered_json(r.step_load_s) : nullptr;
  j["lower_bound_s"] = f.placement != nullptr ? f.placement->lower_s : r.lower_s;
  j["symmetries"] = number(r.symmetries);
  j["found_by"] = r.stage;
  j["best"] = sends_json(f, r.best);
  j["worst"] = sends_json(f, r.worst);
  auto hosts = nlohmann::ordered_json::array();
  for (HostId h : f.host) hosts.push_back(fabric.host_name(h));
  j["hosts"] = std::move(hosts);
  auto steps = nlohmann::ordered_json::array();
  for (const Step& p : steps_of(f)) {
    auto messages = nlohmann::ordered_json::array();
    auto factors = nlohmann::ordered_json::array();
    auto congested = nlohmann::ordered_json::array();
    for (std::size_t k = 0; k < p.messages.size(); ++k) {
      const auto& m = e.messages[p.messages[k]];
      messages.push_back({m.src, m.dst});
      factors.push_back(factor(w, p.messages[k], p.rate_Bps[k]));
    }
    for (std::uint32_t l : p.congested) congested.push_back(fabric.link_name(w.link[l]));
    steps.push_back({{"step", p.step},
                     {"start_s", p.from_s},
                     {"finish_s", p.to_s},
                     {"messages", std::move(messages)},
                     {"factors", std::move(factors)},
                     {"congested", std::move(congested)}});
  }
  j["steps"] = std::move(steps);
  j["links"] = links_json(f);
  j["transfers"] = transfers_json(f);
  auto histogram = nlohmann::ordered_json::array();
  for (const Bar& b : bars(s)) {
    histogram.push_back({{"from_s", b.from_s}, {"to_s", b.to_s}, {"count", b.count}});
  }
  j["histogram"] = std::move(histogram);
  if (f.placement != nullptr) {
    const auto& p = *f.placement;
    auto classes = nlohmann::ordered_json::array();
    for (const auto& c : p.classes) {
      auto names = nlohmann::ordered_json::array();
      for (HostId h : c.host) names.push_back(fabric.host_name(h));
      nlohmann::ordered_json one = {{"hosts", std::move(names)},
                                    {"members", c.members},
                                    {"link_bound_s", c.link_s},
                                    {"searched", c.searched}};
      if (c.searched) {
        one["best_s"] = c.best_s;
        one["mean_s"] = c.mean_s;
        one["worst_s"] = c.worst_s;
        one["proof"] = schedule::proof_name(c.proof);
      }
      classes.push_back(std::move(one));
    }
    j["placement"] = {{"placements", number(p.placements)}, {"enumerated", p.enumerated},
                      {"host_classes", p.host_classes},     {"proved_optimal", p.proven},
                      {"port_bound_s", p.port_s},           {"classes", std::move(classes)}};
  }
  j["warnings"] = f.warnings;
  if (!f.error.empty()) j["error"] = f.error;
  j["wall_s"] = f.wall_s;
  return json_text(j);
}

std::string search_csv(const SearchFacts& f) {
  const auto& w = *f.workload;
  const auto& e = w.exchange;
  const auto when = spans(f);
  std::string out = "rank,position,dst,bytes_B,start_s,finish_s,factor,src_host,dst_host\n";
  for (std::uint32_t r = 0; r < e.ranks; ++r) {
    for (std::uint32_t i = e.first[r]; i < e.first[r + 1]; ++i) {
      const std::uint32_t m = f.result->best[i];
      const double took = when[m].finish_s - when[m].start_s;
      const double rate = took > 0 ? static_cast<double>(e.messages[m].bytes.value()) / took : 0;
      out += csv_line({std::to_string(r), std::to_string(i - e.first[r] + 1),
                       std::to_string(e.messages[m].dst), std::to_string(e.messages[m].bytes.value()),
                       fmt::format("{}", when[m].start_s), fmt::format("{}", when[m].finish_s),
                       fmt::format("{}", factor(w, m, rate)), f.platform->fabric.host_name(f.host[r]),
                       f.platform->fabric.host_name(f.host[e.messages[m].dst])});
    }
  }
  return out;
}

std::string histogram_csv(const SearchFacts& f) {
  std::string out = "time_s,schedules\n";
  for (const auto& b : f.result->statistics.distinct) out += fmt::format("{},{}\n", b.seconds, b.count);
  return out;
}

}  // namespace weft::report
