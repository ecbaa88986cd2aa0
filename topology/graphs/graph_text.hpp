// GraphText: the nodes and edges of a graph file with their attributes as text, and where each stands in the file. What
// the attributes mean is graph_file.cpp's; the readers only read.
//
//   graphml_reader.cpp  GraphML, over Boost's XML reader
//   dot_reader.cpp      the DOT language
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace weft::topology {

struct Attribute {
  std::string text;
  std::uint32_t line = 0, column = 0;  // of the value; in GraphML of its <data> or <default>
};
using Attributes = std::map<std::string, Attribute, std::less<>>;

struct GraphText {
  struct Node {
    Attributes attributes;  // "id" is the identifier
    std::uint32_t line = 0, column = 0;
  };
  struct Edge {
    std::size_t from = 0, to = 0;  // indices of nodes
    Attributes attributes;
    std::uint32_t line = 0, column = 0;
  };
  bool directed = false;
  std::vector<Node> nodes;
  std::vector<Edge> edges;
};

// Deepest nesting of elements or blocks that the readers follow; a graph needs five levels.
inline constexpr std::size_t kMaxGraphNesting = 100;

// `path` is only for messages. Errors: FILE:LINE:COLUMN where one place is wrong.
[[nodiscard]] Result<GraphText> read_graphml(const std::string& path, const std::string& text);
// Nodes come in natural order of their identifiers (node2 before node10). O(n log n).
[[nodiscard]] Result<GraphText> read_dot(const std::string& path, std::string_view text);

}  // namespace weft::topology
