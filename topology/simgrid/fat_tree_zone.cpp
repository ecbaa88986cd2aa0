// A generalised fat-tree (PGFT). Up by D-mod-K; down by the destination's digits, over the cable that the source's number names among parallel
// ones.
#include <fmt/format.h>

#include <algorithm>

#include "topology/fabric_builder.hpp"
#include "topology/platform/params.hpp"
#include "topology/simgrid/cluster_zones.hpp"

namespace weft::topology::simgrid {
namespace {

class FatTreeZone final : public Zone {
 public:
  using Counts = std::vector<std::uint32_t>;
  FatTreeZone(Counts down, Counts up, Counts cables, std::uint32_t first_position)
      : down_(std::move(down)), up_(std::move(up)), cables_(std::move(cables)), first_(first_position) {}

  [[nodiscard]] std::uint64_t nodes_at(std::size_t level) const {
    std::uint64_t n = 1;
    for (std::size_t i = 0; i < down_.size(); ++i) n = saturating_mul(n, i < level ? up_[i] : down_[i]);
    return n;
  }
  // Of the whole tree; more than any limit where it is more than that.
  [[nodiscard]] std::uint64_t all_nodes() const {
    std::uint64_t n = 0;
    for (std::size_t level = 0; level <= down_.size(); ++level) n += std::min(nodes_at(level), kPlenty);
    return n;
  }
  [[nodiscard]] std::uint64_t all_cables() const {
    std::uint64_t n = 0;
    for (std::size_t level = 0; level < down_.size(); ++level)
      n += std::min(saturating_mul(nodes_at(level), saturating_mul(up_[level], cables_[level])), kPlenty);
    return n;
  }

  void build(const std::string& cluster, const ClusterLinks& links, Network& net, ClusterCounts& counts) {
    std::uint64_t n = 0;
    for (std::size_t level = 0; level <= down_.size(); ++level) {
      begin_.push_back(n);
      n += nodes_at(level);
    }
    const std::uint64_t hosts = nodes_at(0);
    nodes_.resize(n);
    for (std::size_t level = 0; level <= down_.size(); ++level)
      for (std::uint64_t i = begin_[level]; i < (level < down_.size() ? begin_[level + 1] : n); ++i)
        set_up(i, level, cluster, links, net, hosts);
    for (std::size_t level = 0; level < down_.size(); ++level)
      for (std::uint64_t i = begin_[level]; i < begin_[level + 1]; ++i) {
        Node& child = nodes_[i];
        for (std::uint32_t u = 0; u < up_[level]; ++u) {
          const std::uint64_t p = parent_of(child, u);
          for (std::uint32_t c = 0; c < cables_[level]; ++c) {
            const Halves cable = add_duplex(
                net,
                fmt::format("link_from_{}_{}_{}", id_of(i, hosts), id_of(p, hosts), counts.fat_tree_links++),
                links);
            nodes_[p].children[child.digits[level] + c * down_[level]] = {i, cable};
            child.parents[u + c * up_[level]] = {p, cable};
          }
        }
      }
    counts.fat_tree_hosts += static_cast<std::uint32_t>(hosts);
  }

  bool leg(const Network& /*net*/, std::uint32_t src, std::uint32_t dst, Leg& out) const override {
    if (src >= nodes_at(0) || dst >= nodes_at(0)) return false;
    const auto limit = [&](const Node& node) {
      if (node.limiter != kNone) out.links.push_back(node.limiter);
    };
    const std::uint64_t to = first_ + std::uint64_t{dst}, from = first_ + std::uint64_t{src};
    std::uint64_t at = src;
    while (!above(nodes_[at], nodes_[dst])) {
      const Node& node = nodes_[at];
      std::uint64_t digit = to;
      for (std::size_t i = 0; i < node.level; ++i) digit /= up_[i];
      limit(node);
      const Cable& cable = node.parents[digit % node.parents.size()];
      out.links.push_back(cable.links.up);
      at = cable.node;
    }
    while (at != dst) {
      const std::size_t level = nodes_[at].level - 1;
      std::size_t port = from % cables_[level] * down_[level];
      // The search goes on behind the port taken, in the ports of the switch below, as in SimGrid.
      for (; port < nodes_[at].children.size(); ++port) {
        const std::size_t below = nodes_[at].level - 1;
        if (port % down_[below] != nodes_[dst].digits[below]) continue;
        const Cable& cable = nodes_[at].children[port];
        out.links.push_back(cable.links.down);
        limit(nodes_[at]);
        at = cable.node;
      }
    }
    limit(nodes_[dst]);
    return true;
  }

  void walk(const Network& /*net*/, Places& places) const override {
    std::vector<std::uint32_t> place(nodes_.size());
    for (std::uint64_t i = 0; i < nodes_.size(); ++i) place[i] = i < begin_[1] ? members[i] : places.add();
    const auto cross = [&](std::uint64_t a, std::uint64_t b, std::uint32_t link) {
      std::vector<std::uint32_t> links;
      if (nodes_[a].limiter != kNone) links.push_back(nodes_[a].limiter);
      links.push_back(link);
      if (nodes_[b].limiter != kNone) links.push_back(nodes_[b].limiter);
      places.walk(place[a], place[b], links);
    };
    for (std::uint64_t i = 0; i < nodes_.size(); ++i)
      for (const Cable& cable : nodes_[i].parents) {
        cross(i, cable.node, cable.links.up);
        cross(cable.node, i, cable.links.down);
      }
  }

 private:
  struct Cable {
    std::uint64_t node = 0;  // at the other end
    Halves links;
  };
  struct Node {
    std::size_t level = 0;
    Counts digits;
    std::vector<Cable> parents, children;
    std::uint32_t limiter = kNone;
  };

  // Digit j of a node at a level counts those below the level in `up_`, the others in `down_`; digit 0 counts fastest.
  [[nodiscard]] std::uint32_t radix(std::size_t level, std::size_t j) const {
    return j < level ? up_[j] : down_[j];
  }
  void set_up(std::uint64_t i, std::size_t level, const std::string& cluster, const ClusterLinks& links,
              Network& net, std::uint64_t hosts) {
    Node& node = nodes_[i];
    node.level = level;
    std::uint64_t position = i - begin_[level];
    for (std::size_t j = 0; j < down_.size(); ++j) {
      node.digits.push_back(static_cast<std::uint32_t>(position % radix(level, j)));
      position /= radix(level, j);
    }
    if (level < down_.size()) node.parents.resize(std::size_t{up_[level]} * cables_[level]);
    if (level > 0) node.children.resize(std::size_t{down_[level - 1]} * cables_[level - 1]);
    node.limiter = add_limiter(net, cluster, static_cast<std::uint64_t>(id_of(i, hosts)), links);
  }
  // The one whose digits differ in the one of the level, which is `u`.
  [[nodiscard]] std::uint64_t parent_of(const Node& child, std::uint32_t u) const {
    std::uint64_t position = 0, stride = 1;
    for (std::size_t j = 0; j < down_.size(); ++j) {
      position += stride * (j == child.level ? u : child.digits[j]);
      stride *= radix(child.level + 1, j);
    }
    return begin_[child.level + 1] + position;
  }
  // SimGrid's number: hosts count up, switches down from twice the hosts, maybe below 0.
  [[nodiscard]] std::int64_t id_of(std::uint64_t i, std::uint64_t hosts) const {
    const auto h = static_cast<std::int64_t>(hosts), n = static_cast<std::int64_t>(i);
    return n < h ? n : 2 * h - 1 - (n - h);
  }
  // Whether ways down lead from one to the other.
  [[nodiscard]] bool above(const Node& root, const Node& node) const {
    if (root.level <= node.level) return false;
    for (std::size_t j = 0; j < down_.size(); ++j)
      if ((j < node.level || j >= root.level) && root.digits[j] != node.digits[j]) return false;
    return true;
  }

  static constexpr std::uint64_t kPlenty = std::uint64_t{1} << 40;
  Counts down_, up_, cables_;
  std::uint32_t first_;               // hosts of the fat-trees before it
  std::vector<std::uint64_t> begin_;  // of each level, in nodes_
  std::vector<Node> nodes_;           // by level, then position
};

}  // namespace

Result<std::unique_ptr<Zone>> fat_tree_zone(const std::string& parameters, std::uint64_t hosts,
                                            const std::string& name, const ClusterLinks& links,
                                            const std::string& where, Network& net, ClusterCounts& counts) {
  const auto parts = split(parameters, ';');
  if (parts.size() != 4)
    return bad_input(where, "topo_parameters of a fat-tree", parameters, "LEVELS;DOWN,...;UP,...;CABLES,...");
  constexpr std::uint32_t kMostLevels = 16;
  WEFT_ASSIGN(const auto levels, shape(parts[0], 1, where));
  if (levels[0] > kMostLevels)
    return bad_input(where, "levels of a fat-tree", std::string(parts[0]),
                     fmt::format("at most {}", kMostLevels));
  WEFT_ASSIGN(auto down, shape(parts[1], levels[0], where));
  WEFT_ASSIGN(auto up, shape(parts[2], levels[0], where));
  WEFT_ASSIGN(auto cables, shape(parts[3], levels[0], where));
  auto zone =
      std::make_unique<FatTreeZone>(std::move(down), std::move(up), std::move(cables), counts.fat_tree_hosts);
  WEFT_TRY(check_hosts(zone->nodes_at(0), hosts, where));
  WEFT_TRY(check_shape(zone->all_nodes(), zone->all_cables(), where));
  zone->build(name, links, net, counts);
  return std::unique_ptr<Zone>(std::move(zone));
}

}  // namespace weft::topology::simgrid
