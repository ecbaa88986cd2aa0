// FabricBuilder: the mutable side of a Fabric. A family names its vertices' ports, joins them by cables, and
// build() turns that into the immutable CSR graph with its link columns.
//
// Invariants:
//  1. The ports of a vertex that are used are 0..degree-1, each once; build() checks it (a hole is a bug of
//  the family).
//  2. Port k of vertex v becomes link first_link(v) + k, so a family may compute LinkIds in closed form.
//  3. cable() makes both directions; link() makes one (routes files only).
// Memory: 40 bytes per directed link while building, 29 after. build() is O(links + vertices).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "topology/fabric.hpp"
#include "topology/pcie/forest.hpp"

namespace weft::topology {

enum class GraphWay : std::uint8_t;  // topology/routing/graph_routing.hpp

// Limits that keep an absurd parameter from eating the machine. The largest machine of 2026 has 2^18
// endpoints.
inline constexpr std::uint64_t kMaxVertices = 1ULL << 23;
inline constexpr std::uint64_t kMaxLinks = 1ULL << 25;

// Product that stops at 2^63 instead of wrapping, so that a check against a limit sees it.
[[nodiscard]] std::uint64_t saturating_mul(std::uint64_t a, std::uint64_t b);
// Error (kBadInput) that names the numbers if a fabric of that size is over the limits above.
[[nodiscard]] Result<void> check_size(std::uint64_t vertices, std::uint64_t cables);

// Bandwidth and latency of one class of links.
struct LinkValues {
  Bandwidth bandwidth;
  Duration latency;
};

class FabricBuilder {
 public:
  // Vertices 0..hosts-1 are hosts. `switches`: how many vertices switch (== vertices if hosts are routers).
  FabricBuilder(std::uint64_t hosts, std::uint64_t vertices, std::uint64_t switches);

  // That of kFatpipe, if it is one of them, is of links that are not shared.
  [[nodiscard]] std::uint8_t add_class(std::string name);
  void reserve_cables(std::uint64_t cables) { ends_.reserve(2 * cables); }
  // Joins port `port_a` of `a` with port `port_b` of `b`: one link each way.
  void cable(std::uint64_t a, std::uint64_t port_a, std::uint64_t b, std::uint64_t port_b,
             std::uint8_t link_class, LinkValues values);
  void link(std::uint64_t from, std::uint64_t port, std::uint64_t to, std::uint8_t link_class,
            LinkValues values);
  // The same at the next free port of each end. Not to be mixed with chosen ports on one vertex.
  void join(std::uint64_t a, std::uint64_t b, std::uint8_t link_class, LinkValues values);
  void join_one_way(std::uint64_t from, std::uint64_t to, std::uint8_t link_class, LinkValues values);

  void set_routing(std::shared_ptr<const Routing> routing) { fabric_.routing_ = std::move(routing); }
  // Shortest paths over the finished graph (graph_routing.hpp).
  void set_graph_routing(GraphWay way, std::uint64_t seed) {
    graph_routing_ = way;
    seed_ = seed;
  }
  void set_vertex_names(std::function<std::string(VertexId)> f) { fabric_.vertex_name_ = std::move(f); }
  void set_link_names(std::vector<std::string> names) { fabric_.explicit_link_names_ = std::move(names); }
  // The link keeps that number, though others of its parallel cables may not be here.
  void set_cable_number(LinkId l, std::uint32_t number) { fabric_.cable_numbers_[l.index()] = number; }
  // Cables so far between the two sides of the vertices: an actual cut, for set_bisection().
  [[nodiscard]] std::uint64_t cables_between(std::span<const std::uint8_t> side) const;
  void set_bisection(std::optional<std::uint64_t> cables) { fabric_.bisection_ = cables; }
  void set_rank_hosts(std::uint64_t hosts) { fabric_.rank_hosts_ = static_cast<std::uint32_t>(hosts); }
  // Where not told: the last class that some link between switches has (families list classes from the hosts outwards).
  void set_group_classes(std::span<const std::uint8_t> classes) {
    groups_are_told_ = true;
    fabric_.group_classes_.assign(classes.begin(), classes.end());
  }
  // Links of that class at a host are inside its node, not its network card's.
  void set_class_in_hosts(std::uint8_t link_class) { fabric_.class_in_hosts_ = link_class; }
  // The ends of links are not known: all are loops at one vertex.
  void set_wiring_unknown() { fabric_.wiring_known_ = false; }
  // Links that carry both directions together, each with its ends as one of them uses it; by LinkId, 1: it is one.
  void set_two_way(std::vector<std::uint8_t> links) { fabric_.two_way_ = std::move(links); }
  // Link l of `network` is link number[l] of this fabric, or gone: what its name has that its ends do not tell, which of
  // them are for both directions, and whether what they join is known.
  void take_over_links(const Fabric& network, std::span<const LinkId> number);
  // The PCIe trees, to be filled in before build(), which adds the numbers of the links. A routing may keep
  // it.
  [[nodiscard]] std::shared_ptr<PcieForest> pcie();

  // The builder is empty afterwards. `wrap` gets the routing that was set and returns the one to use.
  [[nodiscard]] Fabric build(
      const std::function<std::shared_ptr<const Routing>(std::shared_ptr<const Routing>)>& wrap = {});

 private:
  struct End {
    std::uint32_t from, port, to;
    std::uint8_t link_class;
    LinkValues values;
  };
  Fabric fabric_;
  std::shared_ptr<PcieForest> forest_;
  std::uint32_t vertices_;
  std::vector<std::uint32_t> next_port_;  // by vertex, once join() is used
  std::optional<GraphWay> graph_routing_;
  std::uint64_t seed_ = 0;
  bool groups_are_told_ = false;
  std::vector<End> ends_;
};

}  // namespace weft::topology
