#include "predict/link_sharers.hpp"

#include <algorithm>

#include "topology/routing/socket_routes.hpp"

namespace weft::predict {

void PairTraffic::add(RankId src, RankId dst, Bytes bytes) {
  if (bytes.value() <= 0 || overflow_) return;
  bytes_[std::uint64_t{src.index()} << 32 | dst.index()] += static_cast<std::uint64_t>(bytes.value());
  if (bytes_.size() <= kMaxPairs) return;
  overflow_ = true;
  bytes_ = {};
}

void PairTraffic::add_copy(HostId from, HostId to, Bytes bytes) {
  if (bytes.value() <= 0) return;
  copied_[std::uint64_t{from.index()} << 32 | to.index()] += static_cast<std::uint64_t>(bytes.value());
}

LinkSharers PairTraffic::sharers_of(LinkId link, const topology::Fabric& fabric,
                                    const std::vector<HostId>& placement) const {
  LinkSharers out;
  if (overflow_ || fabric.routing().scope() != topology::RouteScope::kPair) return out;
  out.known = true;
  const topology::SocketRoutes routes(fabric, placement);
  std::vector<LinkId> route;
  const auto is_crossed = [&] { return std::find(route.begin(), route.end(), link) != route.end(); };
  // The order of the tables does not show: sums are integers, and the list is sorted by distinct keys.
  for (const auto& [ends, bytes] : copied_) {
    const HostId from(static_cast<std::uint32_t>(ends >> 32)), to(static_cast<std::uint32_t>(ends));
    route.clear();
    if (fabric.routing().route(from, to, route) && is_crossed()) out.copied += bytes;
  }
  for (const auto& [pair, bytes] : bytes_) {
    const RankId src(static_cast<std::uint32_t>(pair >> 32)), dst(static_cast<std::uint32_t>(pair));
    route.clear();
    if (!routes.route(src.index(), dst.index(), route) || !is_crossed()) continue;
    ++out.pairs;
    out.bytes += bytes;
    out.most.push_back({src, dst, bytes});
  }
  std::sort(out.most.begin(), out.most.end(), [](const LinkSharer& a, const LinkSharer& b) {
    if (a.bytes != b.bytes) return a.bytes > b.bytes;
    return a.src != b.src ? a.src < b.src : a.dst < b.dst;
  });
  if (out.most.size() > kSharersShown) out.most.resize(kSharersShown);
  return out;
}

}  // namespace weft::predict
