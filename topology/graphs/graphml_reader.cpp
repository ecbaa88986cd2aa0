#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/source_pos.hpp"
#include "topology/graphs/graph_text.hpp"
#include "topology/graphs/xml_text.hpp"

namespace weft::topology {
namespace {

// From <graphml> to nodes and edges. Graphs within nodes and edges give theirs to the graph that they are in.
// Defaults of keys are for nodes, edges or both; a datum counts wherever it stands.
class GraphMl {
 public:
  explicit GraphMl(const std::string& path) : path_(path) {}

  Result<GraphText> read(const XmlText& document) {
    auto found = document.root("graphml");
    if (!found) return not_graphml();
    const XmlElement root = *found;
    const auto key = [&](const XmlElement& e) { return e.name() == "key" ? read_key(e) : Result<void>(); };
    bool any = false;
    const auto graph = [&](const XmlElement& e) -> Result<void> {
      if (e.name() != "graph") return {};
      if (any)
        return bad_input(e.place(), "a second graph", e.attribute("id").value_or(""),
                         "one <graph>; others within its nodes");
      any = true;
      return read_graph(e);
    };
    WEFT_TRY(root.each(key));
    WEFT_TRY(root.each(graph));
    if (!any) return not_graphml();
    WEFT_TRY(join_edges());
    return std::move(out_);
  }

 private:
  struct Key {
    std::string name;  // of the attribute; empty: none of ours
    bool nodes = false, edges = false;
    std::optional<Attribute> fallback;
  };

  [[nodiscard]] Error not_graphml() const {
    return bad_input(path_, "not GraphML", {}, "<graphml> with one <graph>, its keys and nodes declared");
  }
  [[nodiscard]] static Attribute value(const XmlElement& e) {
    return {e.text(), e.spot().line, e.spot().column};
  }

  Result<void> read_key(const XmlElement& e) {
    WEFT_ASSIGN(const std::string id, e.required("id"));
    const std::string domain = e.attribute("for").value_or("all");
    constexpr std::array<std::string_view, 8> kDomains = {"all",     "node", "edge",      "graph",
                                                          "graphml", "port", "hyperedge", "endpoint"};
    if (std::find(kDomains.begin(), kDomains.end(), domain) == kDomains.end())
      return bad_input(e.place(), "unknown domain of a key", domain, "node, edge, all, graph or none");
    Key key;
    key.name = e.attribute("attr.name").value_or("");
    key.nodes = domain == "all" || domain == "node";
    key.edges = domain == "all" || domain == "edge";
    const auto fallback = [&](const XmlElement& child) -> Result<void> {
      if (child.name() == "default") key.fallback = value(child);
      return {};
    };
    WEFT_TRY(e.each(fallback));
    if (!numbers_of_keys_.emplace(id, keys_.size()).second)
      return bad_input(e.place(), "key declared twice", id, "each id once");
    keys_.push_back(std::move(key));
    return {};
  }

  // The data of a node or edge, over its keys' defaults.
  Result<void> read_data(const XmlElement& e, Attributes& to) const {
    const auto datum = [&](const XmlElement& child) -> Result<void> {
      if (child.name() != "data") return {};
      WEFT_ASSIGN(const std::string key, child.required("key"));
      const auto known = numbers_of_keys_.find(key);
      if (known == numbers_of_keys_.end())
        return bad_input(child.place(), "datum of a key that is not declared", key, "the id of a <key>");
      if (const std::string& attribute = keys_[known->second].name; !attribute.empty())
        to[attribute] = value(child);
      return {};
    };
    return e.each(datum);
  }

  Result<void> read_graph(const XmlElement& e) {
    WEFT_ASSIGN(const std::string word, e.required("edgedefault"));
    if (word != "directed" && word != "undirected")
      return bad_input(e.place(), "unknown edgedefault", word, "directed or undirected");
    const auto child = [&](const XmlElement& c) -> Result<void> {
      if (c.name() == "node") return read_node(c);
      if (c.name() == "edge") return read_edge(c, word == "directed");
      if (c.name() == "hyperedge")
        return bad_input(c.place(), "a hyperedge", {}, "edges of two nodes; a switch joins more");
      return {};
    };
    return e.each(child);
  }
  Result<void> read_graphs_in(const XmlElement& e) {
    const auto graph = [&](const XmlElement& child) {
      return child.name() == "graph" ? read_graph(child) : Result<void>();
    };
    return e.each(graph);
  }

  Result<void> read_node(const XmlElement& e) {
    WEFT_ASSIGN(const std::string id, e.required("id"));
    if (!numbers_of_nodes_.emplace(id, out_.nodes.size()).second)
      return bad_input(e.place(), "node declared twice", id, "each id once");
    GraphText::Node node{{}, e.spot().line, e.spot().column};
    for (const Key& key : keys_)
      if (key.nodes && key.fallback && !key.name.empty()) node.attributes[key.name] = *key.fallback;
    node.attributes["id"] = {id, node.line, node.column};
    WEFT_TRY(read_data(e, node.attributes));
    out_.nodes.push_back(std::move(node));
    return read_graphs_in(e);
  }

  Result<void> read_edge(const XmlElement& e, bool directed) {
    WEFT_ASSIGN(const std::string source, e.required("source"));
    WEFT_ASSIGN(const std::string target, e.required("target"));
    if (const auto own = e.attribute("directed")) {
      if (*own != "true" && *own != "1" && *own != "false" && *own != "0")
        return bad_input(e.place(), "unknown value of directed", *own, "true or false");
      directed = *own == "true" || *own == "1";
    }
    if (out_.edges.empty()) out_.directed = directed;
    if (out_.directed != directed)
      return bad_input(e.place(), "the graph mixes directed and undirected edges", {}, "edges of one kind");
    GraphText::Edge edge{0, 0, {}, e.spot().line, e.spot().column};
    for (const Key& key : keys_)
      if (key.edges && key.fallback && !key.name.empty()) edge.attributes[key.name] = *key.fallback;
    WEFT_TRY(read_data(e, edge.attributes));
    out_.edges.push_back(std::move(edge));
    ends_.push_back({source, target});
    return read_graphs_in(e);
  }

  // Nodes may come after their edges.
  Result<void> join_edges() {
    for (std::size_t i = 0; i < ends_.size(); ++i) {
      GraphText::Edge& edge = out_.edges[i];
      std::size_t* const at[] = {&edge.from, &edge.to};
      for (std::size_t end = 0; end < 2; ++end) {
        const auto node = numbers_of_nodes_.find(ends_[i][end]);
        if (node == numbers_of_nodes_.end())
          return bad_input(SourcePos{path_, edge.line, edge.column}.text(),
                           "edge to a node that is not declared", ends_[i][end], "the id of a <node>");
        *at[end] = node->second;
      }
    }
    return {};
  }

  const std::string& path_;
  std::vector<Key> keys_;
  std::unordered_map<std::string, std::size_t> numbers_of_keys_, numbers_of_nodes_;
  std::vector<std::array<std::string, 2>> ends_;  // of edges
  GraphText out_;
};

}  // namespace

Result<GraphText> read_graphml(const std::string& path, const std::string& text) {
  WEFT_ASSIGN(const auto xml, XmlText::read(path, text, "a GraphML graph"));
  return GraphMl(path).read(*xml);
}

}  // namespace weft::topology
