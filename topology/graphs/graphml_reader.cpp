#include <fmt/format.h>

#include <algorithm>
#include <boost/graph/graphml.hpp>
#include <boost/property_tree/xml_parser.hpp>
#include <sstream>
#include <string>
#include <unordered_set>
#include <vector>

#include "core/source_pos.hpp"
#include "topology/graphs/graph_text.hpp"

namespace weft::topology {
namespace {

// Every attribute is kept as text: types are checked where it is used.
class Sink final : public boost::mutate_graph {
 public:
  explicit Sink(GraphText& out) : out_(out) {}
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
    out_.nodes[boost::any_cast<std::size_t>(v)].attributes[name].text = value;
  }
  void set_edge_property(const std::string& name, boost::any e, const std::string& value,
                         const std::string&) override {
    out_.edges[boost::any_cast<std::size_t>(e)].attributes[name].text = value;
  }

 private:
  GraphText& out_;
};

std::string place_of(const std::string& path, std::string_view text, std::size_t at) {
  const std::string_view before = text.substr(0, at);
  const auto line = static_cast<std::uint32_t>(1 + std::count(before.begin(), before.end(), '\n'));
  const std::size_t start = before.rfind('\n');
  return SourcePos{path, line,
                   static_cast<std::uint32_t>(start == std::string_view::npos ? at + 1 : at - start)}
      .text();
}

// Where elements nest deeper than allowed (over-estimated in comments), else npos: Boost's reader recurses into them.
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

// Boost's reader makes a vertex of every name that an edge has, and takes the later of two nodes of one name.
class Declarations {
 public:
  // Nodes and edges of `tree`, also of graphs within nodes.
  void collect(const boost::property_tree::ptree& tree) {
    for (const auto& [element, child] : tree) {
      if (element == "node" && !nodes_.insert(child.get("<xmlattr>.id", "")).second && twice_.empty())
        twice_ = child.get("<xmlattr>.id", "");
      if (element == "edge")
        for (const char* end : {"<xmlattr>.source", "<xmlattr>.target"}) ends_.push_back(child.get(end, ""));
      if (element != "<xmlattr>") collect(child);
    }
  }
  [[nodiscard]] Result<void> check(const std::string& path) const {
    if (!twice_.empty()) return bad_input(path, "node declared twice", twice_, "each id once");
    for (const std::string& end : ends_)
      if (!nodes_.contains(end))
        return bad_input(path, "edge to a node that is not declared", end, "the id of a <node>");
    return {};
  }

 private:
  std::unordered_set<std::string> nodes_;
  std::vector<std::string> ends_;
  std::string twice_;
};

// Boost's reader does not tell what its vertices are called: so each node gets its identifier as its first datum, which one
// of the file's own with that name comes after.
using Tree = boost::property_tree::ptree;
constexpr const char* kIdKey = "weft-identifier";
void insert_first(Tree& tree, const char* element, const Tree& child) {
  const auto attributes = tree.find("<xmlattr>");
  tree.insert(attributes == tree.not_found() ? tree.begin() : std::next(tree.to_iterator(attributes)),
              {element, child});
}
Tree with_attributes(std::initializer_list<std::pair<const char*, const char*>> attributes) {
  Tree out;
  for (const auto& [name, value] : attributes)
    out.put(Tree::path_type(std::string("<xmlattr>/") + name, '/'), value);
  return out;
}
void tell_identifiers(Tree& tree) {
  for (auto& [element, child] : tree) {
    if (element == "<xmlattr>") continue;
    tell_identifiers(child);
    if (element != "node") continue;
    Tree datum = with_attributes({{"key", kIdKey}});
    datum.data() = child.get("<xmlattr>.id", "");
    insert_first(child, "data", datum);
  }
}
std::string with_identifiers(Tree tree) {
  tell_identifiers(tree);
  if (const auto root = tree.get_child_optional("graphml"))
    insert_first(
        *root, "key",
        with_attributes({{"id", kIdKey}, {"for", "node"}, {"attr.name", "id"}, {"attr.type", "string"}}));
  std::ostringstream out;
  boost::property_tree::write_xml(out, tree);
  return out.str();
}

}  // namespace

Result<GraphText> read_graphml(const std::string& path, const std::string& text) {
  if (const std::size_t at = too_deep(text); at != std::string_view::npos)
    return bad_input(place_of(path, text, at), "nested too deeply", {},
                     fmt::format("at most {} levels", kMaxGraphNesting));
  // The reader wants to know beforehand whether edges have a direction; it refuses the wrong guess.
  for (const bool directed : {false, true}) {
    GraphText out;
    out.directed = directed;
    try {
      Tree tree;
      std::istringstream given(text);
      boost::property_tree::read_xml(given, tree);
      Declarations declared;
      declared.collect(tree);
      std::istringstream in(with_identifiers(tree));
      Sink sink(out);
      boost::read_graphml(in, sink, 0);
      WEFT_TRY(declared.check(path));
      return out;
    } catch (const boost::directed_graph_error&) {
    } catch (const boost::undirected_graph_error&) {
    } catch (const boost::property_tree::file_parser_error& e) {
      return bad_input(SourcePos{path, static_cast<std::uint32_t>(e.line()), 1}.text(),
                       "not XML: " + e.message(), {}, "a GraphML graph");
    } catch (const std::exception& e) {
      return bad_input(path, "not GraphML", e.what(),
                       "<graphml> with one <graph>, its keys and nodes declared");
    }
  }
  return bad_input(path, "the graph mixes directed and undirected edges", {}, "edges of one kind");
}

}  // namespace weft::topology
