#include "predict/run_facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "core/check.hpp"
#include "core/printable.hpp"

namespace weft::predict {

std::string RunFacts::finding() const {
  std::string found = result->finding();
  return found.empty() && verified ? verified->finding() : found;
}

double utilization(const RunFacts& run, const UsedLink& link) {
  const topology::LinkTable& links = run.platform->fabric.links();
  const double times = links.is_fatpipe(link.link) ? std::max(link.use.peak_flows, 1u) : 1;
  const double could = times * links.capacity[link.link.index()] * to_seconds(run.result->makespan);
  return could > 0 ? static_cast<double>(link.use.bytes) / could : 0;
}

double utilization(const RunFacts& run, LinkId link) {
  return utilization(run, UsedLink{link, run.result->links[link.index()]});
}

std::vector<LinkId> busiest_links(const RunFacts& run, std::size_t limit, LinkOrder order) {
  const topology::LinkTable& columns = run.platform->fabric.links();
  std::vector<std::tuple<bool, double, LinkId>> used;
  for (std::uint32_t l = 0; l < run.result->links.size(); ++l) {
    const auto& use = run.result->links[l];
    if (use.bytes == 0) continue;
    used.emplace_back(columns.is_fatpipe(LinkId(l)),
                      order == LinkOrder::kWaited ? -to_seconds(use.waited) : -utilization(run, LinkId(l)),
                      LinkId(l));
  }
  limit = std::min(limit, used.size());
  std::partial_sort(used.begin(), used.begin() + static_cast<std::ptrdiff_t>(limit), used.end());
  std::vector<LinkId> out;
  for (std::size_t i = 0; i < limit; ++i) out.push_back(std::get<LinkId>(used[i]));
  return out;
}

RunDigest digest_of(const RunFacts& run) {
  if (run.digest) return *run.digest;
  RunDigest d;
  const auto& links = run.result->links;
  d.ranks = run.result->ranks.size();
  d.sums = time_sums(*run.result);
  const auto first = [&](LinkOrder order) {
    const auto list = busiest_links(run, 1, order);
    return list.empty() ? UsedLink{} : UsedLink{list.front(), links[list.front().index()]};
  };
  d.worst = first(LinkOrder::kUtilization);
  d.most_waited = first(LinkOrder::kWaited);
  if (d.most_waited.use.waited.count() <= 0) d.most_waited = {};
  if (d.most_waited.link.valid())
    d.waited_alike = static_cast<std::uint64_t>(std::count_if(links.begin(), links.end(), [&](const auto& l) {
      return to_seconds(l.waited) >= kWaitedAlike * to_seconds(d.most_waited.use.waited);
    }));
  const auto& capacity = run.platform->fabric.links().capacity;
  for (std::size_t l = 0; l < links.size(); ++l)
    if (links[l].bytes > 0 && (d.narrowest_used == 0 || capacity[l] < d.narrowest_used))
      d.narrowest_used = capacity[l];
  if (run.result->path.known) d.path = path_digest_of(run);
  return d;
}

PathDigest path_digest_of(const RunFacts& run) {
  if (run.digest) {
    WEFT_CHECK(run.digest->path.has_value(), "a digest without the path that is asked for");
    return *run.digest->path;
  }
  WEFT_CHECK(run.result->path.known, "a run without the path that is asked for");
  const auto links = contention_on_path(run.result->path);
  return {run.result->path.parts, links.empty() ? LinkId() : links.front().link};
}

std::vector<PathLink> contention_on_path(const replay::PathResult& path) {
  std::map<LinkId, PathLink> by_link;
  for (const replay::PathSegment& s : path.segments) {
    const Duration d = s.parts[static_cast<std::size_t>(replay::PathPart::kContention)];
    if (!s.held_by.valid() || d.count() <= 0) continue;
    PathLink& l = by_link[s.held_by];
    l.link = s.held_by;
    l.contention += d;
    ++l.messages;
  }
  std::vector<PathLink> out;
  out.reserve(by_link.size());
  for (const auto& [link, l] : by_link) out.push_back(l);
  std::stable_sort(out.begin(), out.end(),
                   [](const PathLink& a, const PathLink& b) { return a.contention > b.contention; });
  return out;
}

double mean_hops(const RunFacts& run) {
  const auto& p2p = run.result->point_to_point;
  const auto& c = p2p.count > 0 ? p2p : run.result->network;
  return c.count > 0 ? static_cast<double>(c.hops) / static_cast<double>(c.count) : 0;
}

TimeSums time_sums(const replay::ReplayResult& result) {
  TimeSums s;
  for (const auto& r : result.ranks) {
    s.finish += to_seconds(r.finish);
    s.compute += to_seconds(r.compute);
    s.send += to_seconds(r.send);
    s.recv += to_seconds(r.recv);
    s.wait += to_seconds(r.wait);
    s.collective += to_seconds(r.collective);
    for (std::size_t c = 0; c < replay::kCauseCount; ++c) s.causes[c] += to_seconds(r.causes[c]);
  }
  return s;
}

std::vector<std::string> assumed_of(const topology::Platform& platform, bool used_speed, bool by_mpi) {
  std::vector<std::string> out = platform.assumed_links;
  if (used_speed && platform.speed_assumed) out.emplace_back("speed");
  if (by_mpi) out.insert(out.end(), platform.mpi.assumed.begin(), platform.mpi.assumed.end());
  return out;
}

std::vector<std::string> assumed_of(const RunFacts& run) {
  return assumed_of(*run.platform, run.result->used_speed, run.options->raw == replay::RawMode::kOff);
}

std::string_view raw_name(replay::RawMode mode) {
  switch (mode) {
    case replay::RawMode::kOff:
      return "off";
    case replay::RawMode::kEager:
      return "eager";
    case replay::RawMode::kDetached:
      return "detached";
    case replay::RawMode::kRendezvous:
      return "rendezvous";
  }
  return "off";
}

std::string trace_label(const RunFacts& run) {
  return printable(run.joined ? run.trace : short_path(run.trace));
}

std::string platform_label(const topology::Platform& platform) {
  return printable(platform.label.empty() ? short_name(platform.name) : platform.label);
}

Result<void> told_apart(std::string_view on_a, const topology::Platform& a, std::string_view on_b,
                        const topology::Platform& b) {
  const std::string& name = a.label.empty() ? a.name : a.label;
  if (name != (b.label.empty() ? b.name : b.label)) return {};
  return usage_error(fmt::format("two platforms are called {}", name),
                     fmt::format("--on {} and --on {}", on_a, on_b),
                     "--on LABEL=PLATFORM with a label of its own for each");
}

std::string_view short_path(std::string_view path) {
  const std::size_t file = path.rfind('/');
  if (file == std::string_view::npos || file == 0) return path;
  const std::size_t folder = path.rfind('/', file - 1);
  return folder == std::string_view::npos ? path : path.substr(folder + 1);
}

std::string short_name(std::string_view name) {
  std::string out;
  std::size_t begin = 0;
  // Pieces between separators; a piece with two slashes or more is a path ("12.5GB/s" has one).
  for (std::size_t i = 0; i <= name.size(); ++i) {
    if (i < name.size() && name[i] != '=' && name[i] != ',') continue;
    out += short_path(name.substr(begin, i - begin));
    if (i < name.size()) out += name[i];
    begin = i + 1;
  }
  return out;
}

std::string exact_number(double v) { return fmt::format("{}", v); }

}  // namespace weft::predict
