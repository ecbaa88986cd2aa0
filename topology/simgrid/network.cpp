#include "topology/simgrid/network.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace weft::topology::simgrid {

std::vector<std::uint32_t> Network::zones_around(std::uint32_t point) const {
  std::vector<std::uint32_t> out;
  for (std::uint32_t z = points[point].zone; z != kNone; z = zones[z]->parent) out.push_back(z);
  return out;
}

// Of a bypass between zones: those that hold the ends and are nearest to them, as SimGrid looks for it.
const Zone::Bypass* Network::bypass_of(const Zone& common, std::uint32_t src, std::uint32_t dst,
                                       std::pair<std::uint32_t, std::uint32_t>& ends) const {
  if (common.bypasses.empty()) return nullptr;
  const auto find = [&](std::uint32_t a, std::uint32_t b) -> const Zone::Bypass* {
    ends = {a, b};
    const auto at = common.bypasses.find(ends);
    return at == common.bypasses.end() ? nullptr : &at->second;
  };
  std::vector<std::uint32_t> from = zones_around(src), to = zones_around(dst);
  if (zones[from.front()].get() == &common && zones[to.front()].get() == &common) return find(src, dst);
  while (from.size() > 1 && to.size() > 1 && from.back() == to.back()) {
    from.pop_back();
    to.pop_back();
  }
  const auto between = [&](std::size_t i, std::size_t j) -> const Zone::Bypass* {
    return i < from.size() && j < to.size() ? find(zones[from[i]]->point, zones[to[j]]->point) : nullptr;
  };
  for (std::size_t most = 0; most < std::max(from.size(), to.size()); ++most) {
    for (std::size_t less = 0; less < most; ++less) {
      if (const Zone::Bypass* found = between(less, most)) return found;
      if (const Zone::Bypass* found = between(most, less)) return found;
    }
    if (const Zone::Bypass* found = between(most, most)) return found;
  }
  return nullptr;
}

bool Network::route(std::uint32_t src, std::uint32_t dst, std::vector<std::uint32_t>& out) const {
  std::vector<std::uint32_t> from = zones_around(src), to = zones_around(dst);
  std::uint32_t common = from.back();
  while (from.size() > 1 && to.size() > 1 && from.back() == to.back()) {
    common = from.back();
    from.pop_back();
    to.pop_back();
  }
  const bool one_zone = from.back() == to.back();
  if (one_zone) common = from.back();
  const Zone& zone = *zones[common];

  std::pair<std::uint32_t, std::uint32_t> ends;
  if (const Zone::Bypass* bypass = bypass_of(zone, src, dst, ends)) {
    if (bypass->begins != kNone && !route_if_apart(src, bypass->begins, out)) return false;
    out.insert(out.end(), bypass->links.begin(), bypass->links.end());
    return bypass->ends == kNone || route_if_apart(bypass->ends, dst, out);
  }

  Leg leg;
  if (one_zone) {
    // One end may be deeper: no leg of the zone is for that.
    if (points[src].zone != common || points[dst].zone != common) return false;
    if (!zone.leg(*this, points[src].number, points[dst].number, leg)) return false;
    out.insert(out.end(), leg.links.begin(), leg.links.end());
    return true;
  }
  const Point& first = points[zones[from.back()]->point];
  const Point& last = points[zones[to.back()]->point];
  if (!zone.leg(*this, first.number, last.number, leg) || leg.begins == kNone || leg.ends == kNone)
    return false;
  if (!route_if_apart(src, leg.begins, out)) return false;
  out.insert(out.end(), leg.links.begin(), leg.links.end());
  return route_if_apart(leg.ends, dst, out);
}

void Network::find_untold_ways() {
  std::size_t ways = 0;
  std::string first;
  const auto look = [&](std::vector<std::uint32_t>& gateways, bool out) {
    std::ranges::sort(gateways);
    gateways.erase(std::unique(gateways.begin(), gateways.end()), gateways.end());
    for (const std::uint32_t gateway : gateways) {
      const Zone& zone = *zones[points[gateway].zone];
      for (const std::uint32_t member : zone.members) {
        if (member == gateway || points[member].kind != PointKind::kHost) continue;
        const std::uint32_t src = out ? member : gateway, dst = out ? gateway : member;
        if (!zone.is_untold(points[src].number, points[dst].number)) continue;
        if (ways++ == 0) first = fmt::format("{} to {}", points[src].name, points[dst].name);
      }
    }
  };
  look(gateways_out, true);
  look(gateways_in, false);
  ways_are_untold = ways > 0;
  if (ways_are_untold)
    warnings.push_back(
        fmt::format("the platform does not tell {} between hosts and the gateways of their netzones: no "
                    "links, as in SimGrid; the first: {}",
                    ways == 1 ? "a way" : fmt::format("{} ways", ways), first));
}

}  // namespace weft::topology::simgrid
