#include "schedule/link_colors.hpp"

#include <limits>

#include "core/check.hpp"
#include "network/sharing.hpp"
#include "schedule/symmetry.hpp"
#include "topology/pcie/forest.hpp"

namespace weft::schedule {

static_assert(kNoTie == congestion::LinkGroups::kNone && kNoTie == congestion::PortShares::kNone);

LinkColors::LinkColors(const topology::Fabric& fabric)
    : fabric_(fabric),
      groups_(network::link_groups(fabric)),
      host_of_port_(network::port_shares(fabric).host_of_link) {
  WEFT_CHECK(groups_.empty() || host_of_port_.empty(), "links that are tied in two ways");
  const topology::PcieForest* forest = fabric.pcie();
  if (forest == nullptr) return;
  above_card_.resize(fabric.vertex_count(), 0);
  for (std::uint32_t v = 0; v < fabric.vertex_count(); ++v)
    if (forest->kind[v] == topology::PcieKind::kNic)
      for (VertexId u(v); u.valid(); u = forest->parent[u.index()]) above_card_[u.index()] = 1;
}

std::uint32_t LinkColors::tie(LinkId link) const {
  if (!groups_.empty()) return groups_.of_link[link.index()];
  return host_of_port_.empty() ? kNoTie : host_of_port_[link.index()];
}

double LinkColors::together(LinkId link) const {
  const std::uint32_t group = groups_.empty() ? kNoTie : groups_.of_link[link.index()];
  return group == kNoTie ? std::numeric_limits<double>::infinity() : groups_.capacity[group];
}

std::uint32_t LinkColors::of(LinkId link) {
  const auto& t = fabric_.links();
  const std::uint32_t tied = tie(link);
  const double shared = tied == kNoTie ? 0 : groups_.empty() ? 1 : groups_.capacity[tied];
  std::vector<double> key{static_cast<double>(t.link_class[link.index()]), t.capacity[link.index()],
                          static_cast<double>(t.latency[link.index()].count()), shared};
  if (const topology::PcieForest* forest = fabric_.pcie()) {
    const auto describe = [&](VertexId node, bool down) {
      const VertexId above = forest->parent[node.index()];
      int depth = 0;
      for (VertexId v = node; forest->parent[v.index()].valid(); v = forest->parent[v.index()]) ++depth;
      for (double x :
           {down ? 1.0 : 0.0, static_cast<double>(depth), static_cast<double>(forest->kind[node.index()]),
            static_cast<double>(forest->kind[above.index()]), forest->tau[above.index()],
            forest->both[node.index()], static_cast<double>(above_card_[node.index()])}) {
        key.push_back(x);
      }
    };
    const VertexId from = t.from[link.index()];
    const VertexId to = t.to[link.index()];
    if (forest->up[from.index()] == link) describe(from, false);
    if (forest->down[to.index()] == link) describe(to, true);
  }
  return known_.try_emplace(key, static_cast<std::uint32_t>(known_.size())).first->second;
}

}  // namespace weft::schedule
