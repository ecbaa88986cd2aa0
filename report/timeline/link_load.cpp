#include "report/timeline/link_load.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "network/sharing.hpp"

namespace weft::report {
namespace {

constexpr std::uint32_t kNone = 0xffffffffu;
constexpr std::size_t kMostRoutes = 1u << 20;

// Moves what the bins of one stretch of use hold above their room to the nearest that have some left, the earlier of two at the
// same distance first. What finds no room stays.
void level(std::span<double> bytes, std::span<const double> room) {
  for (std::size_t b = 0; b < bytes.size(); ++b) {
    double over = bytes[b] - room[b];
    const auto move_to = [&](std::size_t to) {
      const double moved = std::min(over, std::max(0.0, room[to] - bytes[to]));
      bytes[b] -= moved;
      bytes[to] += moved;
      over -= moved;
    };
    for (std::size_t away = 1; over > 0 && away < bytes.size(); ++away) {
      if (away <= b) move_to(b - away);
      if (b + away < bytes.size()) move_to(b + away);
    }
  }
}

}  // namespace

LinkLoadCollector::LinkLoadCollector(const topology::Fabric& fabric, const std::vector<HostId>& placement,
                                     const replay::ReplayOptions& options)
    : fabric_(fabric),
      placement_(placement),
      sockets_(fabric, placement),
      header_(static_cast<double>(options.header.value())),
      shares_(network::shares_links(options.model, fabric)),
      full_(1 / (1 - options.accuracy)),
      row_of_(fabric.link_count(), kNone),
      carried_(fabric.link_count()) {
  if (fabric.routing().scope() != topology::RouteScope::kPair)
    unknown_ = fmt::format("routing {} chooses a route for every message", fabric.routing().name());
}

const std::vector<LinkId>& LinkLoadCollector::route(HostId from, HostId to) {
  auto& links = routes_[std::uint64_t{from.index()} << 32 | to.index()];
  if (links.empty() && from != to && !fabric_.routing().route(from, to, links)) links.clear();
  return links;
}

const std::vector<LinkId>& LinkLoadCollector::route(RankId src, RankId dst) {
  if (const LinkId own = sockets_.link(src.index(), dst.index()); own.valid()) {
    between_sockets_.assign(1, own);
    return between_sockets_;
  }
  return route(placement_[src.index()], placement_[dst.index()]);
}

// Twice as much time a bin.
void LinkLoadCollector::widen() {
  bin_ *= 2;
  for (auto& row : rows_)
    for (std::size_t i = 0; i < kBins; ++i) row[i] = i < kBins / 2 ? row[2 * i] + row[2 * i + 1] : 0.0f;
}

void LinkLoadCollector::add(const replay::MessageSeen& m) {
  const double bytes = static_cast<double>(m.bytes) + header_;
  if (counts(bytes))
    spread(bytes, route(m.src, m.dst), m.left.time_since_epoch(), m.arrived.time_since_epoch());
}

void LinkLoadCollector::add(const replay::CopySeen& c) {
  const auto bytes = static_cast<double>(c.bytes);
  if (counts(bytes))
    spread(bytes, route(c.from, c.to), c.left.time_since_epoch(), c.arrived.time_since_epoch());
}

bool LinkLoadCollector::counts(double bytes) {
  if (!unknown_.empty() || bytes <= 0) return false;
  if (routes_.size() < kMostRoutes) return true;
  unknown_ = "more pairs of hosts send to each other than are kept";
  return false;
}

void LinkLoadCollector::spread(double bytes, const std::vector<LinkId>& links, Duration left,
                               Duration arrived) {
  latest_ = std::max(latest_, arrived);
  while (arrived / kBins >= bin_) widen();
  const auto first = static_cast<std::size_t>(left / bin_), last = static_cast<std::size_t>(arrived / bin_);
  const double whole = static_cast<double>((arrived - left).count());
  for (const LinkId l : links) {
    carried_[l.index()] += bytes;
    std::uint32_t& at = row_of_[l.index()];
    if (at == kNone) {
      if (rows_.size() == kLinksKept) {
        unknown_ = fmt::format("more than {} links are used", kLinksKept);
        return;
      }
      at = static_cast<std::uint32_t>(rows_.size());
      rows_.emplace_back(kBins);
    }
    auto& row = rows_[at];
    for (std::size_t b = first; b <= last; ++b) {
      const Duration from = std::max(left, bin_ * static_cast<std::int64_t>(b));
      const Duration to = b == last ? arrived : bin_ * static_cast<std::int64_t>(b + 1);
      const double share = whole > 0 ? static_cast<double>((to - from).count()) / whole : 1;
      row[b] += static_cast<float>(bytes * share);
    }
  }
}

// By bin, from 0 to `end`.
std::vector<double> LinkLoadCollector::bytes_of(LinkId l, Duration end) const {
  const auto& row = rows_[row_of_[l.index()]];
  std::vector<double> bytes(row.begin(), row.begin() + end / bin_ + 1);
  if (!shares_ || fabric_.links().is_fatpipe(l)) return bytes;
  const double rate = full_ * fabric_.links().capacity[l.index()];
  std::vector<double> room(bytes.size(), rate * to_seconds(bin_));
  room.back() = rate * to_seconds(end % bin_);
  for (std::size_t first = 0; first < bytes.size();) {
    std::size_t last = first;
    while (last < bytes.size() && bytes[last] > 0) ++last;
    level(std::span(bytes).subspan(first, last - first), std::span(room).subspan(first, last - first));
    first = last + 1;
  }
  return bytes;
}

LinkLoad LinkLoadCollector::finish(Duration makespan) {
  LinkLoad load;
  load.unknown = unknown_;
  if (!unknown_.empty()) return load;
  load.end = std::max(makespan, latest_);
  // Bins follow the messages; what comes after the last of them is time, too.
  while (load.end / kBins >= bin_) widen();
  for (const double c : carried_) load.link_bytes.push_back(static_cast<std::uint64_t>(std::llround(c)));
  for (std::uint32_t l = 0; l < row_of_.size(); ++l)
    if (row_of_[l] != kNone) load.links.emplace_back(l);
  const topology::LinkTable& links = fabric_.links();
  std::stable_sort(load.links.begin(), load.links.end(), [&](LinkId a, LinkId b) {
    if (links.is_fatpipe(a) != links.is_fatpipe(b)) return links.is_fatpipe(b);
    return carried_[a.index()] / links.capacity[a.index()] > carried_[b.index()] / links.capacity[b.index()];
  });
  if (load.links.size() > kLinksShown) {
    load.left_out = load.links.size() - kLinksShown;
    load.links.resize(kLinksShown);
  }
  load.bin = bin_;
  load.bins = static_cast<std::uint32_t>(makespan / bin_ + 1);
  for (const LinkId l : load.links) {
    const double most = fabric_.links().capacity[l.index()] * to_seconds(bin_);
    const auto bytes = bytes_of(l, load.end);
    for (std::uint32_t b = 0; b < load.bins; ++b) load.used.push_back(bytes[b] / most);
  }
  return load;
}

}  // namespace weft::report
