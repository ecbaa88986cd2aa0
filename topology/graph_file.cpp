// Any network from a GraphML or DOT file, read by Boost.Graph's readers (they are told apart by their first character),
// routed by shortest paths (graph_routing.hpp).
//
// Node attributes: kind = host | switch (or router); a DOT node may say shape=box for a host instead, as our own export
// does. name (or label) is its name, else its identifier. Where every node is a host, hosts pass messages on.
// Edge attributes: bw ("100Gbps") or bandwidth_Bps (a number), lat ("500ns") or latency_s, class (link class in reports;
// default: host at a host, else link), cables (parallel ones). What an edge leaves out is the platform's bw and lat. An
// undirected edge is a cable, a directed one a link one way. Hosts are numbered in the order of the file (GraphML), in
// natural order of their identifiers (DOT, whose reader sorts them: node2 before node10).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/graphml.hpp>
#include <boost/graph/graphviz.hpp>
#include <boost/property_tree/xml_parser.hpp>
#include <map>
#include <set>
#include <sstream>

#include "core/input_file.hpp"
#include "core/quantity_text.hpp"
#include "core/source_pos.hpp"
#include "topology/graph_routing.hpp"
#include "topology/registry.hpp"

namespace weft::topology {
namespace {

constexpr std::array<ParamInfo, 2> kParams = {{
    {"path", "required", "GraphML or DOT file"},
    {"routing", "shortest", "shortest, ecmp, random, adaptive"},
}};
// Both readers recurse into what is nested; a graph needs five levels.
constexpr std::size_t kMaxNesting = 100;

using Attributes = std::map<std::string, std::string>;
struct Edge {
  std::size_t from = 0, to = 0;
  Attributes attributes;
};
struct GraphText {
  bool directed = false;
  std::vector<Attributes> nodes;
  std::vector<Edge> edges;
};

// GraphML keeps every attribute as text: types are checked where it is used.
class GraphmlSink final : public boost::mutate_graph {
 public:
  explicit GraphmlSink(GraphText& out) : out_(out) {}
  bool is_directed() const override { return out_.directed; }
  boost::any do_add_vertex() override {
    out_.nodes.emplace_back();
    return out_.nodes.size() - 1;
  }
  std::pair<boost::any, bool> do_add_edge(boost::any source, boost::any target) override {
    out_.edges.push_back({boost::any_cast<std::size_t>(source), boost::any_cast<std::size_t>(target), {}});
    return {boost::any(out_.edges.size() - 1), true};
  }
  void set_graph_property(const std::string&, const std::string&, const std::string&) override {}
  void set_vertex_property(const std::string& name, boost::any v, const std::string& value,
                           const std::string&) override {
    out_.nodes[boost::any_cast<std::size_t>(v)][name] = value;
  }
  void set_edge_property(const std::string& name, boost::any e, const std::string& value,
                         const std::string&) override {
    out_.edges[boost::any_cast<std::size_t>(e)].attributes[name] = value;
  }

 private:
  GraphText& out_;
};

// One attribute of all nodes and edges of a DOT graph, whatever its name.
template <class G>
class DotColumn final : public boost::dynamic_property_map {
 public:
  DotColumn(G& g, std::string name) : g_(g), name_(std::move(name)) {}
  boost::any get(const boost::any&) override { return std::string(); }
  std::string get_string(const boost::any&) override { return {}; }
  void put(const boost::any& key, const boost::any& value) override {
    const auto* text = boost::any_cast<std::string>(&value);
    if (text == nullptr) return;
    if (const auto* v = boost::any_cast<typename G::vertex_descriptor>(&key)) g_[*v][name_] = *text;
    if (const auto* e = boost::any_cast<typename G::edge_descriptor>(&key)) g_[*e].attributes[name_] = *text;
  }
  const std::type_info& key() const override { return typeid(void); }
  const std::type_info& value() const override { return typeid(std::string); }

 private:
  G& g_;
  std::string name_;
};

template <class Directed>
void read_dot(const std::string& text, GraphText& out) {
  using G = boost::adjacency_list<boost::vecS, boost::vecS, Directed, Attributes, Edge>;
  G g;
  std::map<std::string, boost::shared_ptr<boost::dynamic_property_map>> columns;
  boost::dynamic_properties properties([&](const std::string& name, const boost::any&, const boost::any&) {
    auto& column = columns[name];
    if (!column) column = boost::make_shared<DotColumn<G>>(g, name);
    return column;
  });
  boost::read_graphviz(text, g, properties, "id");
  const auto natural = [](const std::string& a, const std::string& b) {
    std::size_t i = 0, j = 0;
    const auto digit = [](const std::string& s, std::size_t k) {
      return k < s.size() && s[k] >= '0' && s[k] <= '9';
    };
    while (i < a.size() && j < b.size()) {
      if (digit(a, i) && digit(b, j)) {
        std::size_t x = i, y = j;
        while (digit(a, x)) ++x;
        while (digit(b, y)) ++y;
        const std::string na = a.substr(i, x - i), nb = b.substr(j, y - j);
        const auto strip = [](const std::string& s) {
          return s.substr(std::min(s.find_first_not_of('0'), s.size() - 1));
        };
        const std::string sa = strip(na), sb = strip(nb);
        if (sa.size() != sb.size()) return sa.size() < sb.size();
        if (sa != sb) return sa < sb;
        i = x;
        j = y;
      } else {
        if (a[i] != b[j]) return a[i] < b[j];
        ++i;
        ++j;
      }
    }
    return a.size() - i != b.size() - j ? a.size() - i < b.size() - j : a < b;
  };
  std::vector<std::size_t> order(boost::num_vertices(g)), place(order.size());
  for (std::size_t v = 0; v < order.size(); ++v) order[v] = v;
  std::sort(order.begin(), order.end(),
            [&](std::size_t x, std::size_t y) { return natural(g[x]["id"], g[y]["id"]); });
  for (std::size_t i = 0; i < order.size(); ++i) {
    place[order[i]] = i;
    out.nodes.push_back(g[order[i]]);
  }
  for (auto [e, end] = boost::edges(g); e != end; ++e)
    out.edges.push_back({place[boost::source(*e, g)], place[boost::target(*e, g)], g[*e].attributes});
}

// Line and column of a byte of `text`.
std::string place_of(const std::string& path, std::string_view text, std::size_t at) {
  const std::string_view before = text.substr(0, at);
  const auto line = static_cast<std::uint32_t>(1 + std::count(before.begin(), before.end(), '\n'));
  const std::size_t start = before.rfind('\n');
  return SourcePos{path, line,
                   static_cast<std::uint32_t>(start == std::string_view::npos ? at + 1 : at - start)}
      .text();
}

// Deepest nesting of elements or braces, over-estimated in comments; npos if it stays legal, else where it does not.
std::size_t too_deep(std::string_view text, bool xml) {
  std::size_t depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    bool open = text[i] == '{', close = text[i] == '}';
    if (xml) {
      const char next = i + 1 < text.size() ? text[i + 1] : ' ';
      open = text[i] == '<' && next != '/' && next != '!' && next != '?';
      close = text[i] == '<' && next == '/';
      if (text[i] == '/' && next == '>') close = true;
    }
    if (open && ++depth > kMaxNesting) return i;
    if (close && depth > 0) --depth;
  }
  return std::string_view::npos;
}

Result<GraphText> read_graph(const std::string& path, const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n\xef\xbb\xbf");
  if (first == std::string::npos) return bad_input(path, "the file is empty", {}, "a GraphML or DOT graph");
  const bool xml = text[first] == '<';
  if (const std::size_t at = too_deep(text, xml); at != std::string_view::npos)
    return bad_input(place_of(path, text, at), "nested too deeply", {},
                     fmt::format("at most {} levels", kMaxNesting));
  // The readers want to know beforehand whether edges have a direction; they refuse the wrong guess.
  std::string why;
  for (const bool directed : {false, true}) {
    GraphText out;
    out.directed = directed;
    try {
      if (xml) {
        std::istringstream in(text);
        GraphmlSink sink(out);
        boost::read_graphml(in, sink, 0);
      } else if (directed) {
        read_dot<boost::directedS>(text, out);
      } else {
        read_dot<boost::undirectedS>(text, out);
      }
      return out;
    } catch (const boost::directed_graph_error&) {
      why = "the graph mixes directed and undirected edges";
    } catch (const boost::undirected_graph_error&) {
      why = "the graph mixes directed and undirected edges";
    } catch (const boost::property_tree::file_parser_error& e) {
      return bad_input(SourcePos{path, static_cast<std::uint32_t>(e.line()), 1}.text(),
                       "not XML: " + e.message(), {}, "a GraphML graph");
    } catch (const std::exception& e) {
      return bad_input(path, xml ? "not GraphML" : "not DOT", e.what(),
                       xml ? "<graphml> with one <graph>, its keys and nodes declared"
                           : "graph { a -- b; } or digraph { a -> b; }");
    }
  }
  return bad_input(path, why, {}, "edges of one kind");
}

const std::string* value_of(const Attributes& a, std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (const auto it = a.find(name); it != a.end() && !it->second.empty()) return &it->second;
  return nullptr;
}

Result<bool> is_host(const Attributes& a, const std::string& where, bool shapes) {
  if (const std::string* kind = value_of(a, {"kind"})) {
    if (*kind == "host" || *kind == "node" || *kind == "compute") return true;
    if (*kind == "switch" || *kind == "router") return false;
    return bad_input(where, "unknown kind of node", *kind, "host, switch or router");
  }
  const std::string* shape = value_of(a, {"shape"});
  return shapes && shape != nullptr && *shape == "box";
}

// A number without a unit, for the attributes that name theirs. The bounds catch DOT's trap: without quotes its reader
// takes 5e-07 for 5, and says nothing.
Result<double> bare_number(const std::string& text, const std::string& where, double low, double high) {
  auto v = parse_ratio(text, where);
  if (!v) return v;
  if (*v < low || *v > high)
    return bad_input(where, "out of range", text,
                     fmt::format("{} to {}; in DOT a number with an exponent needs quotes", low, high));
  return v;
}

Result<LinkValues> values_of(const Attributes& a, LinkValues fallback, const std::string& where) {
  LinkValues v = fallback;
  if (const std::string* bw = value_of(a, {"bw", "bandwidth"})) {
    WEFT_ASSIGN(v.bandwidth, parse_bandwidth(*bw, where + ": bw"));
  } else if (const std::string* bps = value_of(a, {"bandwidth_Bps"})) {
    WEFT_ASSIGN(const double n, bare_number(*bps, where + ": bandwidth_Bps", 1000, 1e18));
    v.bandwidth = Bandwidth(n);
  }
  if (const std::string* lat = value_of(a, {"lat", "latency"})) {
    WEFT_ASSIGN(v.latency, parse_duration(*lat, where + ": lat"));
  } else if (const std::string* s = value_of(a, {"latency_s"})) {
    WEFT_ASSIGN(const double n, bare_number(*s, where + ": latency_s", 0, 1));
    v.latency = from_seconds(n);
  }
  return v;
}

struct Nodes {
  std::vector<std::uint64_t> vertex;  // of a node of the file
  std::vector<std::string> names;     // by vertex
  std::uint64_t hosts = 0;
};

Result<Nodes> number_nodes(const GraphText& g, const std::string& path) {
  Nodes n;
  n.vertex.resize(g.nodes.size());
  bool kinds = false;
  for (const Attributes& a : g.nodes) kinds = kinds || value_of(a, {"kind"}) != nullptr;
  std::vector<bool> host(g.nodes.size());
  std::set<std::string> taken;
  std::vector<std::string> names(g.nodes.size());
  for (std::size_t i = 0; i < g.nodes.size(); ++i) {
    const std::string* id = value_of(g.nodes[i], {"name", "label", "id"});
    names[i] = id != nullptr ? *id : fmt::format("node{}", i);
    const std::string where = fmt::format("{}: node {}", path, names[i]);
    if (!taken.insert(names[i]).second)
      return bad_input(where, "two nodes have one name", names[i], "a name of its own");
    WEFT_ASSIGN(const bool is, is_host(g.nodes[i], where, !kinds));
    host[i] = is;
    n.hosts += is ? 1 : 0;
  }
  if (n.hosts == 0)
    return bad_input(path, fmt::format("none of {} nodes is a host", g.nodes.size()), {},
                     "attribute kind=host on the nodes that ranks run on, kind=switch on the others");
  std::uint64_t next_host = 0, next_switch = n.hosts;
  n.names.resize(g.nodes.size());
  for (std::size_t i = 0; i < g.nodes.size(); ++i) {
    n.vertex[i] = host[i] ? next_host++ : next_switch++;
    n.names[n.vertex[i]] = std::move(names[i]);
  }
  return n;
}

Result<Fabric> build(const Params& params) {
  const Params::Entry* path = params.find("path");
  if (path == nullptr) return params.error("path", "key path is missing", "path=<GraphML or DOT file>");
  WEFT_ASSIGN(const std::string routing, params.choice("routing", kGraphRoutings));
  WEFT_ASSIGN(const std::uint64_t seed, params.seed());
  constexpr std::array<std::string_view, 1> one = {"link"};
  WEFT_ASSIGN(const std::vector<LinkValues> fallback, params.link_values(one));
  WEFT_ASSIGN(const std::string text, read_text(path->value, 1ULL << 28));
  WEFT_ASSIGN(const GraphText g, read_graph(path->value, text));
  WEFT_TRY(params.placed(check_size(g.nodes.size(), g.edges.size())));
  WEFT_ASSIGN(const Nodes nodes, number_nodes(g, path->value));

  const std::uint64_t vertices = g.nodes.size();
  FabricBuilder b(nodes.hosts, vertices, nodes.hosts == vertices ? vertices : vertices - nodes.hosts);
  std::map<std::string, std::uint8_t> classes;
  std::uint64_t links = 0;
  for (const Edge& e : g.edges) {
    const std::uint64_t from = nodes.vertex[e.from], to = nodes.vertex[e.to];
    const std::string where = fmt::format("{}: edge {} {} {}", path->value, nodes.names[from],
                                          g.directed ? "->" : "--", nodes.names[to]);
    if (from == to) return bad_input(where, "an edge to itself", {}, "two different nodes");
    WEFT_ASSIGN(const LinkValues values, values_of(e.attributes, fallback[0], where));
    std::int64_t cables = 1;
    if (const std::string* count = value_of(e.attributes, {"cables"})) {
      WEFT_ASSIGN(cables, parse_integer(*count, 1, 1 << 16, where + ": cables"));
    }
    links += static_cast<std::uint64_t>(cables) * (g.directed ? 1 : 2);
    WEFT_TRY(params.placed(check_size(vertices, (links + 1) / 2)));
    const std::string* given = value_of(e.attributes, {"class"});
    const std::string name =
        given != nullptr ? *given
                         : (std::min(from, to) < nodes.hosts && nodes.hosts < vertices ? "host" : "link");
    auto known = classes.find(name);
    if (known == classes.end()) {
      if (classes.size() == 200) return bad_input(where, "too many classes of links", name, "at most 200");
      known = classes.emplace(name, b.add_class(name)).first;
    }
    for (std::int64_t c = 0; c < cables; ++c) {
      if (g.directed)
        b.join_one_way(from, to, known->second, values);
      else
        b.join(from, to, known->second, values);
    }
  }
  b.set_graph_routing(routing, seed);
  b.set_vertex_names([names = std::make_shared<std::vector<std::string>>(nodes.names)](VertexId v) {
    return (*names)[v.index()];
  });
  return b.build();
}

}  // namespace

Family family_graph_file() { return {kParams, build, {}, {}}; }

}  // namespace weft::topology
