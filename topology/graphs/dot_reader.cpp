// The DOT language as Graphviz defines it (graphviz.org, "DOT Language"):
//
//   graph net {                       strict, digraph and an identifier are understood
//     node [kind=switch];             defaults for nodes made from here on, within this block
//     subgraph cluster_a { s0; s1 }   a block: its nodes, and defaults of its own
//     h0 [kind=host, label="left"];
//     {h0 h1} -- s0 [bw="10Gbps"];    every node of one side with every node of the other
//     s0:n -- s1:s -- s2;             chains; ports are read and dropped
//   }
//
// Identifiers: letters, digits, _ and bytes above 127; numbers; "quoted", also joined with +; <HTML>. Comments: // /*
// */ and lines that begin with #. A number that runs into letters (5e-07) is an error, because Graphviz would take it
// for two words.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <unordered_map>

#include "core/source_pos.hpp"
#include "topology/fabric_builder.hpp"
#include "topology/graphs/graph_text.hpp"

namespace weft::topology {
namespace {

enum class TokenKind : std::uint8_t { kEnd, kId, kSign };

struct Token {
  TokenKind kind = TokenKind::kEnd;
  bool bare = false;  // an identifier without quotes: it may be a keyword
  std::string text;   // a sign: its characters, "--" and "->" included
  std::uint32_t line = 1, column = 1;
};

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || static_cast<unsigned char>(c) >= 128;
}
bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_word(const Token& t, std::string_view keyword) {
  return t.kind == TokenKind::kId && t.bare && t.text.size() == keyword.size() &&
         std::equal(keyword.begin(), keyword.end(), t.text.begin(), [](char k, char c) {
           return k == (c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c);
         });
}

class Lexer {
 public:
  Lexer(const std::string& path, std::string_view text) : path_(path), text_(text) {
    if (text_.starts_with("\xef\xbb\xbf")) at_ = 3;
    line_start_ = at_;
  }

  [[nodiscard]] std::string place(const Token& t) const { return SourcePos{path_, t.line, t.column}.text(); }

  Result<Token> next() {
    WEFT_TRY(skip_blank());
    Token t;
    t.line = line_;
    t.column = column();
    if (at_ >= text_.size()) return t;
    const char c = text_[at_];
    t.kind = TokenKind::kId;
    if (is_letter(c)) {
      t.bare = true;
      while (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]))) t.text += text_[at_++];
      return t;
    }
    if (is_digit(c) || c == '.' || (c == '-' && is_digit(peek(1))) || (c == '-' && peek(1) == '.'))
      return number(std::move(t));
    if (c == '"') return quoted(std::move(t));
    if (c == '<') return html(std::move(t));
    t.kind = TokenKind::kSign;
    if (c == '-' && (peek(1) == '-' || peek(1) == '>')) {
      t.text = text_.substr(at_, 2);
      at_ += 2;
      return t;
    }
    if (std::string_view("{}[]=;,:+").find(c) == std::string_view::npos)
      return bad_input(place(t), "not DOT", std::string(1, c), "a name, an edge, a block or an attribute");
    t.text = c;
    ++at_;
    return t;
  }

 private:
  [[nodiscard]] char peek(std::size_t ahead) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  [[nodiscard]] std::uint32_t column() const { return static_cast<std::uint32_t>(at_ - line_start_ + 1); }
  void advance() {
    if (text_[at_++] != '\n') return;
    ++line_;
    line_start_ = at_;
  }

  Result<void> skip_blank() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f' || c == '\v') {
        advance();
      } else if ((c == '#' && at_ == line_start_) || (c == '/' && peek(1) == '/')) {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else if (c == '/' && peek(1) == '*') {
        Token start;
        start.line = line_;
        start.column = column();
        const std::size_t end = text_.find("*/", at_ + 2);
        if (end == std::string_view::npos)
          return bad_input(place(start), "the comment does not end", {}, "*/");
        while (at_ < end + 2) advance();
      } else {
        break;
      }
    }
    return {};
  }

  Result<Token> number(Token t) {
    if (text_[at_] == '-') t.text += text_[at_++];
    bool digits = false, point = false;
    while (at_ < text_.size() && (is_digit(text_[at_]) || (text_[at_] == '.' && !point))) {
      digits = digits || is_digit(text_[at_]);
      point = point || text_[at_] == '.';
      t.text += text_[at_++];
    }
    if (!digits) return bad_input(place(t), "not DOT", t.text, "a number with a digit");
    if (at_ < text_.size() && (is_letter(text_[at_]) || text_[at_] == '.')) {
      const std::string number = t.text;
      while (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]) ||
                                    std::string_view(".+-").find(text_[at_]) != std::string_view::npos))
        t.text += text_[at_++];
      return bad_input(place(t), fmt::format("the number {} runs into other characters", number), t.text,
                       fmt::format("\"{}\" in quotes", t.text));
    }
    return t;
  }

  Result<Token> quoted(Token t) {
    ++at_;
    while (at_ < text_.size() && text_[at_] != '"') {
      if (text_[at_] == '\\' && (peek(1) == '"' || peek(1) == '\\'))
        ++at_;
      else if (text_[at_] == '\\' && peek(1) == '\n') {
        ++at_;
        advance();
        continue;
      }
      t.text += text_[at_];
      advance();
    }
    if (at_ >= text_.size()) return bad_input(place(t), "the quoted name does not end", {}, "\"");
    ++at_;
    return t;
  }

  Result<Token> html(Token t) {
    std::size_t depth = 0;
    do {
      if (at_ >= text_.size()) return bad_input(place(t), "the HTML name does not end", {}, ">");
      const char c = text_[at_];
      if (c == '<' && depth++ == 0) {
        advance();
        continue;
      }
      if (c == '>') --depth;
      if (depth > 0) t.text += c;
      advance();
    } while (depth > 0);
    return t;
  }

  const std::string& path_;
  std::string_view text_;
  std::size_t at_ = 0, line_start_ = 0;
  std::uint32_t line_ = 1;
};

class Parser {
 public:
  Parser(const std::string& path, std::string_view text) : lexer_(path, text) {}

  Result<GraphText> run() {
    WEFT_TRY(step());
    strict_ = is_word(token_, "strict");
    if (strict_) WEFT_TRY(step());
    graph_.directed = is_word(token_, "digraph");
    if (!graph_.directed && !is_word(token_, "graph"))
      return expected("graph { a -- b; } or digraph { a -> b; }");
    WEFT_TRY(step());
    if (token_.kind == TokenKind::kId) WEFT_TRY(identifier("the graph's name"));
    WEFT_ASSIGN(const std::vector<std::size_t> all, block(Scope{}, 1));
    (void)all;
    if (token_.kind != TokenKind::kEnd) return expected("the end of the file after the graph");
    return std::move(graph_);
  }

 private:
  struct Scope {
    Attributes node, edge;
  };
  using Nodes = std::vector<std::size_t>;

  Result<void> step() {
    WEFT_ASSIGN(token_, lexer_.next());
    return {};
  }
  [[nodiscard]] bool at(std::string_view sign) const {
    return token_.kind == TokenKind::kSign && token_.text == sign;
  }
  [[nodiscard]] Error expected(std::string what) const {
    return bad_input(lexer_.place(token_), "not DOT",
                     token_.kind == TokenKind::kEnd ? "the end of the file" : token_.text, std::move(what));
  }

  // An identifier, parts joined with + included.
  Result<Token> identifier(const char* what) {
    if (token_.kind != TokenKind::kId) return expected(what);
    Token id = std::move(token_);
    WEFT_TRY(step());
    while (at("+")) {
      WEFT_TRY(step());
      if (token_.kind != TokenKind::kId) return expected("a quoted name after +");
      id.text += token_.text;
      WEFT_TRY(step());
    }
    return id;
  }

  // { statements }: the nodes that they name, each once.
  Result<Nodes> block(Scope scope, std::size_t depth) {
    if (!at("{")) return expected("{");
    if (depth > kMaxGraphNesting)
      return bad_input(lexer_.place(token_), "nested too deeply", {},
                       fmt::format("at most {} levels", kMaxGraphNesting));
    WEFT_TRY(step());
    Nodes named;
    while (!at("}")) {
      if (token_.kind == TokenKind::kEnd) return expected("} at the end of the block");
      WEFT_TRY(statement(scope, named, depth));
      if (at(";") || at(",")) WEFT_TRY(step());
    }
    WEFT_TRY(step());
    std::sort(named.begin(), named.end());
    named.erase(std::unique(named.begin(), named.end()), named.end());
    return named;
  }

  Result<void> statement(Scope& scope, Nodes& named, std::size_t depth) {
    for (const auto& [keyword, defaults] : {std::pair("node", &scope.node), std::pair("edge", &scope.edge),
                                            std::pair("graph", static_cast<Attributes*>(nullptr))}) {
      if (!is_word(token_, keyword)) continue;
      WEFT_TRY(step());
      if (!at("[")) return expected("[ and attributes");
      Attributes given;
      WEFT_TRY(attributes(given));
      if (defaults != nullptr) overlay(*defaults, given);
      return {};
    }
    if (at(";")) return {};
    // A name may also be the left side of an attribute of the graph.
    bool single = false;
    WEFT_ASSIGN(Nodes left, side(scope, depth, &single));
    if (single && at("=")) {
      WEFT_TRY(step());
      WEFT_ASSIGN(const Token value, identifier("the attribute's value"));
      (void)value;
      pending_.reset();
      return {};
    }
    WEFT_TRY(make_pending(scope, left));
    named.insert(named.end(), left.begin(), left.end());
    if (!at("--") && !at("->")) {
      if (!at("[")) return {};
      if (!single) return expected("an edge or the end of the statement after a block");
      Attributes given;
      WEFT_TRY(attributes(given));
      overlay(graph_.nodes[left.front()].attributes, given);
      return {};
    }
    const std::size_t first = graph_.edges.size();
    std::vector<std::size_t> merged;  // edges of a strict graph that were there
    while (at("--") || at("->")) {
      if (at("->") != graph_.directed) return expected(graph_.directed ? "-> in a digraph" : "-- in a graph");
      const Token sign = token_;
      WEFT_TRY(step());
      WEFT_ASSIGN(Nodes right, side(scope, depth, nullptr));
      WEFT_TRY(make_pending(scope, right));
      named.insert(named.end(), right.begin(), right.end());
      for (const std::size_t a : left)
        for (const std::size_t b : right) WEFT_TRY(join(a, b, scope, sign, merged));
      left = std::move(right);
    }
    if (!at("[")) return {};
    Attributes given;
    WEFT_TRY(attributes(given));
    for (std::size_t e = first; e < graph_.edges.size(); ++e) overlay(graph_.edges[e].attributes, given);
    for (const std::size_t e : merged) overlay(graph_.edges[e].attributes, given);
    return {};
  }

  // One end of an edge: a node, or a block's nodes. A node is only looked up: `name = value` is no node, so that
  // make_pending() makes it when that is known.
  Result<Nodes> side(const Scope& scope, std::size_t depth, bool* single) {
    pending_.reset();
    if (at("{") || is_word(token_, "subgraph")) {
      std::string name;
      if (!at("{")) {
        WEFT_TRY(step());
        if (token_.kind == TokenKind::kId) {
          WEFT_ASSIGN(const Token id, identifier("a name"));
          name = id.text;
        }
      }
      if (!at("{")) {  // named before
        if (const auto known = blocks_.find(name); !name.empty() && known != blocks_.end())
          return known->second;
        return expected("{ and the nodes of the block");
      }
      WEFT_ASSIGN(Nodes nodes, block(scope, depth + 1));
      pending_.reset();
      if (!name.empty()) {
        Nodes& all = blocks_[name];
        all.insert(all.end(), nodes.begin(), nodes.end());
      }
      return nodes;
    }
    WEFT_ASSIGN(Token id, identifier("a node, an edge, a block or }"));
    for (int port = 0; port < 2 && at(":"); ++port) {
      WEFT_TRY(step());
      WEFT_ASSIGN(const Token dropped, identifier("a port after :"));
      (void)dropped;
    }
    if (single != nullptr) *single = true;
    pending_ = std::move(id);
    return Nodes{};
  }

  // The node that side() read, made if it is new.
  Result<void> make_pending(const Scope& scope, Nodes& nodes) {
    if (!pending_) return {};
    const auto [known, fresh] = by_id_.emplace(pending_->text, graph_.nodes.size());
    if (fresh) {
      if (graph_.nodes.size() >= kMaxVertices)
        return bad_input(lexer_.place(*pending_), "the network is too large", {},
                         fmt::format("at most {} nodes", kMaxVertices));
      graph_.nodes.push_back({scope.node, pending_->line, pending_->column});
      graph_.nodes.back().attributes["id"] = {pending_->text, pending_->line, pending_->column};
    }
    nodes.assign(1, known->second);
    pending_.reset();
    return {};
  }

  Result<void> join(std::size_t a, std::size_t b, const Scope& scope, const Token& sign,
                    std::vector<std::size_t>& merged) {
    if (strict_) {
      const std::uint64_t low = graph_.directed ? a : std::min(a, b),
                          high = graph_.directed ? b : std::max(a, b);
      const auto [known, fresh] = joined_.emplace(low << 32 | high, graph_.edges.size());
      if (!fresh) {
        merged.push_back(known->second);
        return {};
      }
    }
    if (graph_.edges.size() >= kMaxLinks / 2)
      return bad_input(lexer_.place(sign), "the network is too large", {},
                       fmt::format("at most {} edges", kMaxLinks / 2));
    graph_.edges.push_back({a, b, scope.edge, sign.line, sign.column});
    return {};
  }

  // [ name = value, ... ] [ ... ]
  Result<void> attributes(Attributes& out) {
    while (at("[")) {
      WEFT_TRY(step());
      while (!at("]")) {
        WEFT_ASSIGN(const Token name, identifier("an attribute's name or ]"));
        Attribute value{"true", name.line, name.column};  // [bold] means bold=true
        if (at("=")) {
          WEFT_TRY(step());
          const std::uint32_t line = token_.line, column = token_.column;
          WEFT_ASSIGN(Token given, identifier("the attribute's value"));
          value = {std::move(given.text), line, column};
        }
        out[name.text] = std::move(value);
        if (at(";") || at(",")) WEFT_TRY(step());
      }
      WEFT_TRY(step());
    }
    return {};
  }

  static void overlay(Attributes& base, const Attributes& given) {
    for (const auto& [name, value] : given) base[name] = value;
  }

  Lexer lexer_;
  Token token_;
  GraphText graph_;
  bool strict_ = false;
  std::optional<Token> pending_;
  std::unordered_map<std::string, std::size_t> by_id_;
  std::unordered_map<std::string, Nodes> blocks_;          // by the name of a subgraph
  std::unordered_map<std::uint64_t, std::size_t> joined_;  // strict: edge of a pair
};

// node2 before node10.
bool natural_less(std::string_view a, std::string_view b) {
  const auto run = [](std::string_view s, std::size_t i) {  // digits from i, without leading zeros
    std::size_t end = i;
    while (end < s.size() && is_digit(s[end])) ++end;
    while (i + 1 < end && s[i] == '0') ++i;
    return std::pair(s.substr(i, end - i), end);
  };
  std::size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (is_digit(a[i]) && is_digit(b[j])) {
      const auto [x, end_x] = run(a, i);
      const auto [y, end_y] = run(b, j);
      if (x.size() != y.size()) return x.size() < y.size();
      if (x != y) return x < y;
      i = end_x;
      j = end_y;
    } else {
      if (a[i] != b[j]) return a[i] < b[j];
      ++i;
      ++j;
    }
  }
  return a.size() - i != b.size() - j ? a.size() - i < b.size() - j : a < b;
}

}  // namespace

Result<GraphText> read_dot(const std::string& path, std::string_view text) {
  WEFT_ASSIGN(GraphText g, Parser(path, text).run());
  std::vector<std::size_t> order(g.nodes.size()), place(order.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto id = [&](std::size_t v) -> const std::string& {
    return g.nodes[v].attributes.find("id")->second.text;
  };
  std::sort(order.begin(), order.end(),
            [&](std::size_t x, std::size_t y) { return natural_less(id(x), id(y)); });
  GraphText out;
  out.directed = g.directed;
  out.nodes.reserve(g.nodes.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    place[order[i]] = i;
    out.nodes.push_back(std::move(g.nodes[order[i]]));
  }
  out.edges = std::move(g.edges);
  for (GraphText::Edge& e : out.edges) {
    e.from = place[e.from];
    e.to = place[e.to];
  }
  return out;
}

}  // namespace weft::topology
