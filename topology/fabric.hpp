// Fabric: who is wired to whom, with what capacity and latency, and which links a message takes. Immutable.
//
// Invariants:
//  1. Vertices 0..hosts-1 are hosts, the rest are switches (or routers). A vertex is never both, except
//     where a family is asked for host_links=off: then host and router are one vertex and there is no host
//     cable.
//  2. Every link is directed; a cable is two links, one each way, made together. LinkId = edge index of the
//  CSR graph.
//  3. Links out of a vertex are numbered in the order of its ports, so LinkId order is deterministic.
//  4. Nothing here knows about flows or time; wiring never changes after build(), values only while it is set up.
//  5. Links between the sockets of a host (join_sockets) come behind those of the graph and are none of its edges: both ends
//  are the host, no route of the routing has them. Counts, cuts and pictures of the network stop at wired_links().
#pragma once

#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/id.hpp"
#include "core/result.hpp"
#include "core/units.hpp"
#include "topology/sockets.hpp"

namespace weft::topology {

struct PcieForest;

using Graph = boost::compressed_sparse_row_graph<boost::directedS, boost::no_property, boost::no_property,
                                                 boost::no_property, std::uint32_t, std::uint32_t>;

// The class of links that flows do not share: each has the whole bandwidth, whoever else is there (SimGrid's FATPIPE).
inline constexpr std::string_view kFatpipe = "fatpipe";

// Columns over LinkId.
struct LinkTable {
  std::vector<double> capacity;  // bytes/s
  std::vector<Duration> latency;
  std::vector<std::uint8_t> link_class;  // index into class_names
  std::vector<VertexId> from, to;
  std::vector<std::string> class_names;  // "host", "local", "global", "up1"...
  std::optional<std::uint8_t> fatpipes;  // the class kFatpipe, if there is one
  [[nodiscard]] std::size_t size() const { return capacity.size(); }
  // "" where links have no classes.
  [[nodiscard]] std::string class_name(LinkId l) const {
    const std::size_t c = link_class[l.index()];
    return c < class_names.size() ? class_names[c] : std::string();
  }
  [[nodiscard]] bool is_fatpipe(LinkId l) const { return fatpipes && link_class[l.index()] == *fatpipes; }
};

// How many ordered pairs of distinct hosts have a route of each length. pairs[k] = pairs k links apart.
struct HopHistogram {
  std::vector<std::uint64_t> pairs;
  std::uint64_t unreachable = 0;
  void add(std::size_t hops, std::uint64_t count) {
    if (count == 0) return;
    if (pairs.size() <= hops) pairs.resize(hops + 1);
    pairs[hops] += count;
  }
};

// What the links of a host carry, times their capacity, while the host exchanges messages with `peers` other hosts or more.
struct PortShare {
  std::uint32_t peers = 2;
  double factor = 1;
};

// What a routing looks at when a message starts.
//   kPair     one route per pair of hosts: computed once, kept
//   kMessage  a new draw for every message (Valiant, random, round robin): same seed and number, same route
//   kLoad     as kMessage, and how many messages are on each link decides (UGAL-U, adaptive)
enum class RouteScope : std::uint8_t { kPair, kMessage, kLoad };

// How many messages are on each link when a message starts, as a routing asks: by the numbers of its own links, which may
// be others than those of the fabric that it is part of.
class LinkLoad {
 public:
  LinkLoad() = default;  // an idle network
  // NOLINTNEXTLINE(google-explicit-constructor): a load is what the loop that counts has, by LinkId
  LinkLoad(std::span<const std::uint32_t> messages) : messages_(messages) {}
  // NOLINTNEXTLINE(google-explicit-constructor)
  LinkLoad(const std::vector<std::uint32_t>& messages) : messages_(messages) {}
  // That of a fabric whose link l is link now[l] of the one that `outer` is of, or none: there are `elsewhere` messages on
  // it. Both must outlive this.
  LinkLoad(const LinkLoad& outer, std::span<const LinkId> now, std::uint32_t elsewhere)
      : outer_(outer.empty() ? nullptr : &outer), now_(now), elsewhere_(elsewhere) {}
  [[nodiscard]] bool empty() const { return outer_ == nullptr && messages_.empty(); }
  std::uint32_t operator[](std::size_t link) const {
    if (outer_ == nullptr) return messages_[link];
    const LinkId l = now_[link];
    return l.valid() ? (*outer_)[l.index()] : elsewhere_;
  }

 private:
  std::span<const std::uint32_t> messages_;
  const LinkLoad* outer_ = nullptr;
  std::span<const LinkId> now_;
  std::uint32_t elsewhere_ = 0;
};

// Which links a message takes. Implementations are immutable and thread-safe; route() is called once per distinct
// pair, route_message() once per message where scope() is not kPair.
class Routing {
 public:
  virtual ~Routing() = default;
  // Appends the links from src to dst in order; nothing if src == dst. False: unreachable.
  [[nodiscard]] virtual bool route(HostId src, HostId dst, std::vector<LinkId>& out) const = 0;
  [[nodiscard]] virtual std::string_view name() const = 0;
  [[nodiscard]] virtual RouteScope scope() const { return RouteScope::kPair; }
  // With which others a message is numbered for `message` below: those of one counter, a small number such as that of the host
  // that sends; nullopt: all that have none.
  [[nodiscard]] virtual std::optional<std::uint32_t> counter(HostId src, HostId dst) const {
    (void)src;
    (void)dst;
    return std::nullopt;
  }
  // The route of message number `message`. `load`: messages on each link now, by LinkId; empty = an idle network.
  // route() is what it gives as the pair's typical route (a draw by the pair's number, on an idle network).
  [[nodiscard]] virtual bool route_message(HostId src, HostId dst, std::uint64_t message,
                                           const LinkLoad& load, std::vector<LinkId>& out) const {
    (void)message;
    (void)load;
    return route(src, dst, out);
  }
  // Exact route lengths by the family's own closed form; nullopt if it has none (then routes are enumerated).
  [[nodiscard]] virtual std::optional<HopHistogram> hop_histogram() const { return std::nullopt; }
  // Links that may be looked at before the first route to a host is known, beside its own; routes to it that follow need
  // no more. 0: none.
  [[nodiscard]] virtual std::uint64_t search_steps() const { return 0; }
};

class Fabric {
 public:
  [[nodiscard]] std::uint32_t host_count() const { return hosts_; }
  [[nodiscard]] std::uint32_t vertex_count() const {
    return static_cast<std::uint32_t>(boost::num_vertices(graph_));
  }
  // Vertices that switch: all but the hosts, or all where a host is its own router.
  [[nodiscard]] std::uint32_t switch_count() const { return switches_; }
  [[nodiscard]] std::uint32_t link_count() const { return static_cast<std::uint32_t>(links_.size()); }
  // Those that wire hosts and switches; what follows joins sockets.
  [[nodiscard]] std::uint32_t wired_links() const {
    return static_cast<std::uint32_t>(graph_.m_forward.m_column.size());
  }
  // A link for both directions is a cable of its own.
  [[nodiscard]] std::uint32_t cable_count() const;
  // False: links are there and routes over them, but what they join is not told; all are loops at one vertex.
  [[nodiscard]] bool wiring_known() const { return wiring_known_; }
  // Whether routes take the link in both directions, which share what it carries.
  [[nodiscard]] bool is_two_way(LinkId l) const {
    return l.index() < two_way_.size() && two_way_[l.index()] != 0;
  }
  [[nodiscard]] const Graph& graph() const { return graph_; }
  [[nodiscard]] const LinkTable& links() const { return links_; }
  // Bytes/s by LinkId for who shares links out: those of links(), of a fatpipe more than flows no faster than that link can fill.
  // Until values change.
  [[nodiscard]] std::span<const double> shared_capacity() const {
    return links_.fatpipes ? std::span<const double>(shared_capacity_) : links_.capacity;
  }
  [[nodiscard]] const Routing& routing() const { return *routing_; }
  [[nodiscard]] std::string vertex_name(VertexId v) const { return vertex_name_(v); }
  [[nodiscard]] std::string host_name(HostId h) const { return vertex_name_(VertexId(h.index())); }
  // "<from>-><to>", and "#<k>" for the k-th of parallel cables; those that a file gives its links, where it does;
  // "<host>: socket <s> -> <t>".
  [[nodiscard]] std::string link_name(LinkId l) const;
  // Which of parallel cables from one vertex to another it is; nullopt: there is but one.
  [[nodiscard]] std::optional<std::uint32_t> cable_number(LinkId l) const;
  // Cables of the best known equal cut; nullopt if unknown.
  [[nodiscard]] std::optional<std::uint64_t> bisection_cables() const { return bisection_; }
  // The PCI Express trees in it; nullptr where it has none.
  [[nodiscard]] const PcieForest* pcie() const { return pcie_.get(); }
  // Placement deals ranks to hosts 0..rank_hosts()-1; the others (host memories, network cards of a PCIe tree)
  // take ranks only where a map names them.
  [[nodiscard]] std::uint32_t rank_hosts() const { return rank_hosts_ == 0 ? hosts_ : rank_hosts_; }
  // Classes of the links that join groups of switches (dragonfly: global; a tree: those to its top), for placement. In a
  // lattice all between routers.
  [[nodiscard]] std::span<const std::uint8_t> group_classes() const { return group_classes_; }
  // Ascending by peers; empty: the same for any number of peers.
  [[nodiscard]] const std::vector<PortShare>& port_shares() const { return port_shares_; }
  // Whether links join the sockets of a host; then how ranks are dealt to them, `ranks_on_sockets` of them to a host.
  [[nodiscard]] bool sockets_joined() const { return link_count() > wired_links(); }
  [[nodiscard]] const SocketRule& socket_rule() const { return sockets_; }
  [[nodiscard]] std::uint32_t ranks_on_sockets() const { return ranks_on_sockets_; }
  // REQUIRES: sockets_joined(), from != to, both below socket_rule().sockets.
  [[nodiscard]] LinkId socket_link(HostId h, std::uint32_t from, std::uint32_t to) const {
    const std::uint32_t n = sockets_.sockets;
    return LinkId(wired_links() + (h.index() * n + from) * (n - 1) + (to > from ? to - 1 : to));
  }
  // Every vertex is a host and passes on messages of others (host_links=off).
  [[nodiscard]] bool hosts_are_routers() const { return switches_ == vertex_count(); }
  // The first link out of a vertex: port k of v is LinkId(first_link(v) + k). Precondition: v <
  // vertex_count().
  [[nodiscard]] std::uint32_t first_link(VertexId v) const { return graph_.m_forward.m_rowstart[v.index()]; }
  [[nodiscard]] std::uint32_t degree(VertexId v) const {
    return graph_.m_forward.m_rowstart[v.index() + 1] - graph_.m_forward.m_rowstart[v.index()];
  }

  // Changes of values, not of wiring, before anyone has seen the fabric. Latency of every link that ends at a
  // switch grows by `d`; what a host's network cards carry is at most `most`; one link is `factor` > 0 times as fast,
  // to see what that would bring.
  void add_switch_latency(Duration d);
  void limit_host_links(Bandwidth most);
  void scale_link(LinkId link, double factor);
  // Errors (kNotSupported): links from host to host, fatpipes at hosts, PCIe trees. REQUIRES: peers > 1 and ascending, 0 < factor <= 1.
  [[nodiscard]] Result<void> share_ports(std::vector<PortShare> shares);
  // From each socket of a host to each other of its sockets leads a link of that bandwidth and no latency. After everything
  // else that changes links. Errors: PCIe trees (kNotSupported), too many links. REQUIRES: rule.sockets > 1, called once.
  [[nodiscard]] Result<void> join_sockets(const SocketRule& rule, std::uint32_t ranks_per_host,
                                          Bandwidth each);

 private:
  friend class FabricBuilder;
  void find_shared_capacity();
  void find_shared_capacity(LinkId link);
  Graph graph_;
  LinkTable links_;
  std::vector<double> shared_capacity_;  // empty without fatpipes
  std::uint32_t hosts_ = 0;
  std::uint32_t switches_ = 0;
  std::shared_ptr<const Routing> routing_;
  std::function<std::string(VertexId)> vertex_name_;
  std::vector<std::string> explicit_link_names_;
  std::map<std::uint32_t, std::uint32_t> cable_numbers_;  // by LinkId; of others: by their ports
  std::optional<std::uint64_t> bisection_;
  std::shared_ptr<const PcieForest> pcie_;
  std::uint32_t rank_hosts_ = 0;
  std::vector<std::uint8_t> group_classes_;
  std::optional<std::uint8_t>
      class_in_hosts_;  // links at hosts that are none of their network cards' (NVLink)
  std::vector<PortShare> port_shares_;
  bool wiring_known_ = true;
  std::vector<std::uint8_t> two_way_;  // empty: none
  SocketRule sockets_;
  std::uint32_t ranks_on_sockets_ = 0;
};

}  // namespace weft::topology
