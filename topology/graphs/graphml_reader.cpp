#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/property_tree/xml_parser.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/source_pos.hpp"
#include "topology/graphs/graph_text.hpp"

namespace weft::topology {
namespace {

using Xml = boost::property_tree::ptree;

struct Spot {
  std::uint32_t line = 0, column = 0;
};

// Goes along a text and tells where an offset stands; offsets only grow.
class Lines {
 public:
  explicit Lines(std::string_view text) : text_(text) {}
  Spot at(std::size_t offset) {
    for (; seen_ < offset; ++seen_)
      if (text_[seen_] == '\n') {
        ++line_;
        begin_ = seen_ + 1;
      }
    return {line_, static_cast<std::uint32_t>(offset - begin_ + 1)};
  }

 private:
  std::string_view text_;
  std::size_t seen_ = 0, begin_ = 0;
  std::uint32_t line_ = 1;
};

// Where elements nest deeper than allowed (over-estimated in comments), else npos: the XML reader recurses into
// them.
std::size_t too_deep(std::string_view text) {
  std::size_t depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char next = i + 1 < text.size() ? text[i + 1] : ' ';
    const bool open = text[i] == '<' && next != '/' && next != '!' && next != '?';
    const bool close = (text[i] == '<' && next == '/') || (text[i] == '/' && next == '>');
    if (open && ++depth > kMaxGraphNesting) return i;
    if (close && depth > 0) --depth;
  }
  return std::string_view::npos;
}

// Where each element of a text that is XML begins, in their order: the XML reader knows no positions.
std::vector<Spot> places_of_elements(std::string_view text) {
  std::vector<Spot> out;
  Lines lines(text);
  const auto after = [&](std::string_view end, std::size_t from) {
    const std::size_t at = text.find(end, from);
    return at == std::string_view::npos ? text.size() : at + end.size();
  };
  for (std::size_t i = text.find('<'); i < text.size(); i = text.find('<', i)) {
    const std::string_view rest = text.substr(i);
    if (rest.starts_with("<!--")) {
      i = after("-->", i + 4);
    } else if (rest.starts_with("<![CDATA[")) {
      i = after("]]>", i);
    } else if (rest.starts_with("<?")) {
      i = after("?>", i);
    } else if (rest.starts_with("<!DOCTYPE")) {
      for (int depth = 0; i < text.size() && (depth > 0 || text[i] != '>'); ++i)
        depth += text[i] == '[' ? 1 : text[i] == ']' ? -1 : 0;
    } else if (rest.starts_with("</") || rest.starts_with("<!")) {
      i = after(">", i);
    } else {
      out.push_back(lines.at(i));
      while (i < text.size() && text[i] != '>')  // a value in quotes may hold one
        i = text[i] == '"' || text[i] == '\'' ? after(text.substr(i, 1), i + 1) : i + 1;
    }
  }
  return out;
}

struct Element {
  const Xml& tree;
  std::size_t number;  // of all elements, in their order
  [[nodiscard]] std::optional<std::string> attribute(const char* name) const {
    const auto value = tree.get_optional<std::string>(Xml::path_type(std::string("<xmlattr>/") + name, '/'));
    return value ? std::optional(*value) : std::nullopt;
  }
  [[nodiscard]] std::string text() const {
    constexpr const char* kBlanks = " \t\r\n";
    const std::string& all = tree.data();
    const std::size_t first = all.find_first_not_of(kBlanks);
    return first == std::string::npos ? "" : all.substr(first, all.find_last_not_of(kBlanks) - first + 1);
  }
};

// Of an element and what is in it.
std::size_t count_elements(const Xml& tree) {
  std::size_t n = 1;
  for (const auto& [name, child] : tree) n += name == "<xmlattr>" ? 0 : count_elements(child);
  return n;
}

// visit(name, element) for each element in `e`. Ends at the first error.
template <class Visit>
Result<void> for_children(const Element& e, const Visit& visit) {
  std::size_t number = e.number + 1;
  for (const auto& [name, child] : e.tree) {
    if (name == "<xmlattr>") continue;
    WEFT_TRY(visit(name, Element{child, number}));
    number += count_elements(child);
  }
  return {};
}

// From <graphml> to nodes and edges. Graphs within nodes and edges give theirs to the graph that they are in.
// Defaults of keys are for nodes, edges or both; a datum counts wherever it stands.
class GraphMl {
 public:
  GraphMl(const std::string& path, std::vector<Spot> places) : path_(path), places_(std::move(places)) {}

  Result<GraphText> read(const Xml& document) {
    if (document.size() != 1 || document.front().first != "graphml") return not_graphml();
    const Element root{document.front().second, 0};
    const auto key = [&](const std::string& name, const Element& e) {
      return name == "key" ? read_key(e) : Result<void>();
    };
    bool any = false;
    const auto graph = [&](const std::string& name, const Element& e) -> Result<void> {
      if (name != "graph") return {};
      if (any)
        return bad_input(place(e), "a second graph", e.attribute("id").value_or(""),
                         "one <graph>; others within its nodes");
      any = true;
      return read_graph(e);
    };
    WEFT_TRY(for_children(root, key));
    WEFT_TRY(for_children(root, graph));
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

  [[nodiscard]] Spot spot(const Element& e) const {
    return e.number < places_.size() ? places_[e.number] : Spot();
  }
  [[nodiscard]] std::string place(const Element& e) const {
    return SourcePos{path_, spot(e).line, spot(e).column}.text();
  }
  [[nodiscard]] Error not_graphml() const {
    return bad_input(path_, "not GraphML", {}, "<graphml> with one <graph>, its keys and nodes declared");
  }
  [[nodiscard]] Attribute value(const Element& e) const { return {e.text(), spot(e).line, spot(e).column}; }
  Result<std::string> required(const Element& e, const char* name) const {
    if (auto value = e.attribute(name)) return *std::move(value);
    return bad_input(place(e), fmt::format("no attribute {}", name), {}, fmt::format("{}=\"...\"", name));
  }

  Result<void> read_key(const Element& e) {
    WEFT_ASSIGN(const std::string id, required(e, "id"));
    const std::string domain = e.attribute("for").value_or("all");
    constexpr std::array<std::string_view, 8> kDomains = {"all",     "node", "edge",      "graph",
                                                          "graphml", "port", "hyperedge", "endpoint"};
    if (std::find(kDomains.begin(), kDomains.end(), domain) == kDomains.end())
      return bad_input(place(e), "unknown domain of a key", domain, "node, edge, all, graph or none");
    Key key;
    key.name = e.attribute("attr.name").value_or("");
    key.nodes = domain == "all" || domain == "node";
    key.edges = domain == "all" || domain == "edge";
    const auto fallback = [&](const std::string& name, const Element& child) -> Result<void> {
      if (name == "default") key.fallback = value(child);
      return {};
    };
    WEFT_TRY(for_children(e, fallback));
    if (!numbers_of_keys_.emplace(id, keys_.size()).second)
      return bad_input(place(e), "key declared twice", id, "each id once");
    keys_.push_back(std::move(key));
    return {};
  }

  // The data of a node or edge, over its keys' defaults.
  Result<void> read_data(const Element& e, Attributes& to) const {
    const auto datum = [&](const std::string& name, const Element& child) -> Result<void> {
      if (name != "data") return {};
      WEFT_ASSIGN(const std::string key, required(child, "key"));
      const auto known = numbers_of_keys_.find(key);
      if (known == numbers_of_keys_.end())
        return bad_input(place(child), "datum of a key that is not declared", key, "the id of a <key>");
      if (const std::string& attribute = keys_[known->second].name; !attribute.empty())
        to[attribute] = value(child);
      return {};
    };
    return for_children(e, datum);
  }

  Result<void> read_graph(const Element& e) {
    WEFT_ASSIGN(const std::string word, required(e, "edgedefault"));
    if (word != "directed" && word != "undirected")
      return bad_input(place(e), "unknown edgedefault", word, "directed or undirected");
    const auto child = [&](const std::string& name, const Element& c) -> Result<void> {
      if (name == "node") return read_node(c);
      if (name == "edge") return read_edge(c, word == "directed");
      if (name == "hyperedge")
        return bad_input(place(c), "a hyperedge", {}, "edges of two nodes; a switch joins more");
      return {};
    };
    return for_children(e, child);
  }
  Result<void> read_graphs_in(const Element& e) {
    const auto graph = [&](const std::string& name, const Element& child) {
      return name == "graph" ? read_graph(child) : Result<void>();
    };
    return for_children(e, graph);
  }

  Result<void> read_node(const Element& e) {
    WEFT_ASSIGN(const std::string id, required(e, "id"));
    if (!numbers_of_nodes_.emplace(id, out_.nodes.size()).second)
      return bad_input(place(e), "node declared twice", id, "each id once");
    GraphText::Node node{{}, spot(e).line, spot(e).column};
    for (const Key& key : keys_)
      if (key.nodes && key.fallback && !key.name.empty()) node.attributes[key.name] = *key.fallback;
    node.attributes["id"] = {id, node.line, node.column};
    WEFT_TRY(read_data(e, node.attributes));
    out_.nodes.push_back(std::move(node));
    return read_graphs_in(e);
  }

  Result<void> read_edge(const Element& e, bool directed) {
    WEFT_ASSIGN(const std::string source, required(e, "source"));
    WEFT_ASSIGN(const std::string target, required(e, "target"));
    if (const auto own = e.attribute("directed")) {
      if (*own != "true" && *own != "1" && *own != "false" && *own != "0")
        return bad_input(place(e), "unknown value of directed", *own, "true or false");
      directed = *own == "true" || *own == "1";
    }
    if (out_.edges.empty()) out_.directed = directed;
    if (out_.directed != directed)
      return bad_input(place(e), "the graph mixes directed and undirected edges", {}, "edges of one kind");
    GraphText::Edge edge{0, 0, {}, spot(e).line, spot(e).column};
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
  std::vector<Spot> places_;  // of elements
  std::vector<Key> keys_;
  std::unordered_map<std::string, std::size_t> numbers_of_keys_, numbers_of_nodes_;
  std::vector<std::array<std::string, 2>> ends_;  // of edges
  GraphText out_;
};

}  // namespace

Result<GraphText> read_graphml(const std::string& path, const std::string& text) {
  if (const std::size_t at = too_deep(text); at != std::string_view::npos) {
    const Spot spot = Lines(text).at(at);
    return bad_input(SourcePos{path, spot.line, spot.column}.text(), "nested too deeply", {},
                     fmt::format("at most {} levels", kMaxGraphNesting));
  }
  Xml document;
  try {
    std::istringstream in(text);
    boost::property_tree::read_xml(in, document, boost::property_tree::xml_parser::no_comments);
  } catch (const boost::property_tree::file_parser_error& e) {
    return bad_input(SourcePos{path, static_cast<std::uint32_t>(e.line()), 1}.text(),
                     "not XML: " + e.message(), {}, "a GraphML graph");
  }
  return GraphMl(path, places_of_elements(text)).read(document);
}

}  // namespace weft::topology
