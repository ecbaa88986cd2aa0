#include "report/run_facts.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace weft::report {

double utilization(const RunFacts& run, LinkId link) {
  const double could = run.platform->fabric.links().capacity[link.index()] * to_seconds(run.result->makespan);
  return could > 0 ? static_cast<double>(run.result->links[link.index()].bytes) / could : 0;
}

std::vector<LinkId> busiest_links(const RunFacts& run, std::size_t limit) {
  std::vector<std::pair<double, LinkId>> used;
  for (std::uint32_t l = 0; l < run.result->links.size(); ++l)
    if (run.result->links[l].bytes > 0) used.emplace_back(-utilization(run, LinkId(l)), LinkId(l));
  limit = std::min(limit, used.size());
  std::partial_sort(used.begin(), used.begin() + static_cast<std::ptrdiff_t>(limit), used.end());
  std::vector<LinkId> out;
  for (std::size_t i = 0; i < limit; ++i) out.push_back(used[i].second);
  return out;
}

double narrowest_used(const RunFacts& run) {
  double least = 0;
  const auto& capacity = run.platform->fabric.links().capacity;
  for (std::size_t l = 0; l < run.result->links.size(); ++l)
    if (run.result->links[l].bytes > 0 && (least == 0 || capacity[l] < least)) least = capacity[l];
  return least;
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
  }
  return s;
}

double overhead_seconds(const RunFacts& run) {
  if (run.options->raw != replay::RawMode::kOff || run.options->raw_switch) return 0;
  const auto& mpi = run.platform->mpi;
  const auto& n = run.result->network;
  return static_cast<double>(n.count) * to_seconds(mpi.send_overhead + mpi.recv_overhead) +
         static_cast<double>(n.bytes) * (mpi.send_overhead_per_byte + mpi.recv_overhead_per_byte);
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

std::string short_name(std::string_view name) {
  std::string out;
  std::size_t begin = 0;
  // Pieces between separators; a piece with two slashes or more is a path ("12.5GB/s" has one).
  for (std::size_t i = 0; i <= name.size(); ++i) {
    if (i < name.size() && name[i] != '=' && name[i] != ',') continue;
    std::string_view piece = name.substr(begin, i - begin);
    const std::size_t file = piece.rfind('/');
    if (file != std::string_view::npos && file > 0) {
      const std::size_t folder = piece.rfind('/', file - 1);
      if (folder != std::string_view::npos) piece.remove_prefix(folder + 1);
    }
    out += piece;
    if (i < name.size()) out += name[i];
    begin = i + 1;
  }
  return out;
}

std::string exact_number(double v) { return fmt::format("{}", v); }

}  // namespace weft::report
