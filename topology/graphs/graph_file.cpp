// Any network from a GraphML or DOT file (told apart by the first character), routed by shortest paths
// (graph_routing.hpp).
//
// Node attributes: kind = host | switch (or router); a DOT node may say shape=box for a host instead, as our own export
// does. name (or label) is its name, else its identifier. Where every node is a host, hosts pass messages on. A file of
// routers alone takes hosts_per_switch: that many hosts hang on each of them, named node-K.
// Edge attributes: bw ("100Gbps") or bandwidth_Bps (a number), lat ("500ns") or latency_s, class (link class in
// reports; default: host at a host, else link; fatpipe: each flow has all of it), cables (parallel ones). What an edge leaves out is the platform's bw
// and lat. An undirected edge is a cable, a directed one a link one way. Hosts are numbered in the order of the file
// (GraphML), in natural order of their identifiers (DOT: node2 before node10).
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>

#include "core/files/input_file.hpp"
#include "core/quantity_text.hpp"
#include "core/source_pos.hpp"
#include "topology/graphs/graph_text.hpp"
#include "topology/registry.hpp"
#include "topology/routing/graph_routing.hpp"

namespace weft::topology::family_graph_file {
namespace {

constexpr std::array<ParamInfo, 3> kGraphParams = {{
    {"path", "required", "GraphML or DOT file"},
    kRoutingParam<kGraphRoutings>,
    {"hosts_per_switch", "0", "hosts on every router of a file that has no hosts"},
}};

Result<GraphText> read_graph(const std::string& path, const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n\xef\xbb\xbf");
  if (first == std::string::npos) return bad_input(path, "the file is empty", {}, "a GraphML or DOT graph");
  return text[first] == '<' ? read_graphml(path, text) : read_dot(path, text);
}

const Attribute* value_of(const Attributes& a, std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (const auto it = a.find(name); it != a.end() && !it->second.text.empty()) return &it->second;
  return nullptr;
}

// Of an attribute, a node or an edge.
template <class Placed>
std::string place_in(const std::string& path, const Placed& at) {
  return SourcePos{path, at.line, at.column}.text();
}

Result<bool> is_host(const Attributes& a, const std::string& path, bool shapes) {
  if (const Attribute* kind = value_of(a, {"kind"})) {
    if (kind->text == "host" || kind->text == "node" || kind->text == "compute") return true;
    if (kind->text == "switch" || kind->text == "router") return false;
    return bad_input(place_in(path, *kind), "unknown kind of node", kind->text, "host, switch or router");
  }
  const Attribute* shape = value_of(a, {"shape"});
  return shapes && shape != nullptr && shape->text == "box";
}

// The number of an attribute that names its unit, with that unit.
Result<std::string> with_unit(const Attribute& a, const std::string& where, std::string_view unit) {
  WEFT_ASSIGN(const double n, parse_ratio(a.text, where));
  return fmt::format("{}{}", n, unit);
}

Result<LinkValues> values_of(const Attributes& a, LinkValues fallback, const std::string& path) {
  LinkValues v = fallback;
  if (const Attribute* bw = value_of(a, {"bw", "bandwidth"})) {
    WEFT_ASSIGN(v.bandwidth, parse_bandwidth(bw->text, place_in(path, *bw)));
  } else if (const Attribute* bps = value_of(a, {"bandwidth_Bps"})) {
    const std::string where = place_in(path, *bps);
    WEFT_ASSIGN(const std::string text, with_unit(*bps, where, "B/s"));
    WEFT_ASSIGN(v.bandwidth, parse_bandwidth(text, where));
  }
  if (const Attribute* lat = value_of(a, {"lat", "latency"})) {
    WEFT_ASSIGN(v.latency, parse_duration(lat->text, place_in(path, *lat)));
  } else if (const Attribute* s = value_of(a, {"latency_s"})) {
    const std::string where = place_in(path, *s);
    WEFT_ASSIGN(const std::string text, with_unit(*s, where, "s"));
    WEFT_ASSIGN(v.latency, parse_duration(text, where));
  }
  return v;
}

// What neither the link nor a key gives.
void note_defaults(const Attributes& a, const Params& params) {
  if (!params.has("bw") && value_of(a, {"bw", "bandwidth", "bandwidth_Bps"}) == nullptr)
    params.take_assumed("bw");
  if (!params.has("lat") && value_of(a, {"lat", "latency", "latency_s"}) == nullptr)
    params.take_assumed("lat");
}

struct Nodes {
  std::vector<std::uint64_t> vertex;  // of a node of the file
  std::vector<std::string> names;     // by vertex
  std::uint64_t hosts = 0;
  std::uint64_t added = 0;  // of them, those that the file does not have
};

// `per_switch`: hosts to hang on every router of a file without hosts; 0: the file has its own.
Result<Nodes> number_nodes(const GraphText& g, const std::string& path, std::uint64_t per_switch) {
  Nodes n;
  n.vertex.resize(g.nodes.size());
  bool kinds = false;
  for (const auto& node : g.nodes) kinds = kinds || value_of(node.attributes, {"kind"}) != nullptr;
  std::vector<bool> host(g.nodes.size());
  std::set<std::string> taken;
  std::vector<std::string> names(g.nodes.size());
  for (std::size_t i = 0; i < g.nodes.size(); ++i) {
    const GraphText::Node& node = g.nodes[i];
    const Attribute* id = value_of(node.attributes, {"name", "label", "id"});
    names[i] = id != nullptr ? id->text : fmt::format("node{}", i);
    if (!taken.insert(names[i]).second)
      return bad_input(id != nullptr ? place_in(path, *id) : place_in(path, node), "two nodes have one name",
                       names[i], "a name of its own");
    WEFT_ASSIGN(const bool is, is_host(node.attributes, path, !kinds));
    host[i] = is;
    n.hosts += is ? 1 : 0;
  }
  if (per_switch > 0) {
    if (n.hosts > 0)
      return bad_input(path, "the file has hosts of its own", fmt::format("hosts_per_switch={}", per_switch),
                       fmt::format("no hosts_per_switch, or none of {} hosts", n.hosts));
    n.added = saturating_mul(g.nodes.size(), per_switch);
    WEFT_TRY(check_size(g.nodes.size() + n.added, n.added));
    n.hosts = n.added;
  }
  if (n.hosts == 0)
    return bad_input(path, fmt::format("none of {} nodes is a host", g.nodes.size()), {},
                     "attribute kind=host on the nodes that ranks run on, kind=switch on the others, or "
                     "hosts_per_switch=N for N hosts on every router");
  std::uint64_t next_host = 0, next_switch = n.hosts;
  n.names.resize(g.nodes.size() + n.added);
  for (std::uint64_t h = 0; h < n.added; ++h) {
    n.names[h] = fmt::format("node-{}", h);
    if (taken.contains(n.names[h]))
      return bad_input(path, "a router has the name of a host that hosts_per_switch adds", n.names[h],
                       "other names than node-0, node-1, ...");
  }
  for (std::size_t i = 0; i < g.nodes.size(); ++i) {
    n.vertex[i] = host[i] ? next_host++ : next_switch++;
    n.names[n.vertex[i]] = std::move(names[i]);
  }
  return n;
}

// Edges of the network as the file has them: ends and class.
struct Wire {
  std::uint64_t a, b;
  std::uint8_t link_class;
};

// The class between switches that begins farthest from the hosts, of several the one that the file has last: it joins
// groups. None: no link joins two switches. Without hosts in the file no router is nearer than another. O(wires + vertices).
std::vector<std::uint8_t> outermost_class(const std::vector<Wire>& wires, std::uint64_t hosts,
                                          std::uint64_t vertices) {
  const std::uint64_t first_switch = hosts == vertices ? 0 : hosts;
  constexpr std::uint32_t kFar = ~0u;
  std::vector<std::vector<std::uint32_t>> near(vertices);
  for (const Wire& w : wires) {
    near[w.a].push_back(static_cast<std::uint32_t>(w.b));
    near[w.b].push_back(static_cast<std::uint32_t>(w.a));
  }
  std::vector<std::uint32_t> distance(vertices, kFar), queue(hosts);
  std::iota(queue.begin(), queue.end(), 0u);
  std::fill(distance.begin(), distance.begin() + static_cast<std::ptrdiff_t>(hosts), 0u);
  for (std::size_t i = 0; i < queue.size(); ++i)
    for (const std::uint32_t v : near[queue[i]])
      if (distance[v] == kFar) {
        distance[v] = distance[queue[i]] + 1;
        queue.push_back(v);
      }
  std::vector<std::optional<std::uint32_t>> begins(256);  // by class
  for (const Wire& w : wires) {
    if (std::min(w.a, w.b) < first_switch) continue;
    auto& at = begins[w.link_class];
    at = std::min(at.value_or(kFar), std::min(distance[w.a], distance[w.b]));
  }
  std::vector<std::uint8_t> out;
  std::uint32_t farthest = 0;
  for (std::size_t c = 0; c < begins.size(); ++c) {
    if (!begins[c] || *begins[c] < farthest) continue;
    farthest = *begins[c];
    out = {static_cast<std::uint8_t>(c)};
  }
  return out;
}

Result<Fabric> build_graph(const Params& params) {
  const Params::Entry* path = params.find("path");
  if (path == nullptr) return params.error("path", "key path is missing", "path=<GraphML or DOT file>");
  WEFT_ASSIGN(const GraphWay routing, params.choice("routing", kGraphRoutings));
  WEFT_ASSIGN(const std::uint64_t seed, params.seed());
  WEFT_ASSIGN(const LinkValues fallback, params.values_beside_file());
  WEFT_ASSIGN(const std::uint64_t per_switch,
              params.integer_or("hosts_per_switch", 1, static_cast<std::int64_t>(kMaxVertices), 0));
  WEFT_ASSIGN(const std::string text, read_text(path->value, 1ULL << 28));
  WEFT_ASSIGN(const GraphText g, read_graph(path->value, text));
  WEFT_TRY(params.placed(check_size(g.nodes.size(), g.edges.size())));
  WEFT_ASSIGN(const Nodes nodes, number_nodes(g, path->value, per_switch));

  const std::uint64_t vertices = nodes.names.size();
  FabricBuilder b(nodes.hosts, vertices, nodes.hosts == vertices ? vertices : vertices - nodes.hosts);
  std::map<std::string, std::uint8_t> classes;
  if (nodes.added > 0) {
    classes.emplace("host", b.add_class("host"));
    for (std::uint64_t h = 0; h < nodes.added; ++h) b.join(h, nodes.hosts + h / per_switch, 0, fallback);
    note_defaults({}, params);
  }
  std::uint64_t links = 2 * nodes.added;
  std::vector<Wire> wires;
  for (const GraphText::Edge& e : g.edges) {
    const std::uint64_t from = nodes.vertex[e.from], to = nodes.vertex[e.to];
    if (from == to)
      return bad_input(place_in(path->value, e), "an edge to itself", nodes.names[from],
                       "two different nodes");
    WEFT_ASSIGN(const LinkValues values, values_of(e.attributes, fallback, path->value));
    note_defaults(e.attributes, params);
    std::int64_t cables = 1;
    if (const Attribute* count = value_of(e.attributes, {"cables"})) {
      WEFT_ASSIGN(cables, parse_integer(count->text, 1, 1 << 16, place_in(path->value, *count)));
    }
    links += static_cast<std::uint64_t>(cables) * (g.directed ? 1 : 2);
    WEFT_TRY(params.placed(check_size(vertices, (links + 1) / 2)));
    const Attribute* given = value_of(e.attributes, {"class"});
    const std::string name =
        given != nullptr ? given->text
                         : (std::min(from, to) < nodes.hosts && nodes.hosts < vertices ? "host" : "link");
    auto known = classes.find(name);
    if (known == classes.end()) {
      if (classes.size() == 200)
        return bad_input(place_in(path->value, e), "too many classes of links", name, "at most 200");
      known = classes.emplace(name, b.add_class(name)).first;
    }
    wires.push_back({from, to, known->second});
    for (std::int64_t c = 0; c < cables; ++c) {
      if (g.directed)
        b.join_one_way(from, to, known->second, values);
      else
        b.join(from, to, known->second, values);
    }
  }
  b.set_group_classes(outermost_class(wires, nodes.hosts, vertices));
  b.set_graph_routing(routing, seed);
  b.set_vertex_names([names = std::make_shared<std::vector<std::string>>(nodes.names)](VertexId v) {
    return (*names)[v.index()];
  });
  return b.build();
}

}  // namespace

Family family() { return {kGraphParams, build_graph, "path=net.dot"}; }

}  // namespace weft::topology::family_graph_file
