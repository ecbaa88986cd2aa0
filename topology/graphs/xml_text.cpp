#include "topology/graphs/xml_text.hpp"

#include <fmt/format.h>

#include <boost/property_tree/xml_parser.hpp>
#include <sstream>
#include <utility>

#include "topology/graphs/graph_text.hpp"

namespace weft::topology {
namespace {

// Goes along a text and tells where an offset stands; offsets only grow.
class Lines {
 public:
  explicit Lines(std::string_view text) : text_(text) {}
  XmlPlace at(std::size_t offset) {
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
std::vector<XmlPlace> places_of_elements(std::string_view text) {
  std::vector<XmlPlace> out;
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

std::string place_of(const std::string& path, XmlPlace at) {
  return SourcePos{path, at.line, at.column}.text();
}

}  // namespace

std::optional<std::string> XmlElement::attribute(const char* name) const {
  const auto value = tree_->get_optional<std::string>(Tree::path_type(std::string("<xmlattr>/") + name, '/'));
  return value ? std::optional(*value) : std::nullopt;
}

Result<std::string> XmlElement::required(const char* name) const {
  if (auto value = attribute(name)) return *std::move(value);
  return bad_input(place(), fmt::format("no attribute {}", name), {}, fmt::format("{}=\"...\"", name));
}

std::string XmlElement::text() const {
  constexpr const char* kBlanks = " \t\r\n";
  const std::string& all = tree_->data();
  const std::size_t first = all.find_first_not_of(kBlanks);
  return first == std::string::npos ? "" : all.substr(first, all.find_last_not_of(kBlanks) - first + 1);
}

XmlPlace XmlElement::spot() const {
  return number_ < text_->places_.size() ? text_->places_[number_] : XmlPlace();
}

std::string XmlElement::place() const { return place_of(text_->path_, spot()); }

std::size_t XmlElement::count(const Tree& tree) {
  std::size_t n = 1;
  for (const auto& [name, child] : tree) n += name == kAttributes ? 0 : count(child);
  return n;
}

Result<std::unique_ptr<XmlText>> XmlText::read(const std::string& path, const std::string& text,
                                               std::string what) {
  if (const std::size_t at = too_deep(text); at != std::string_view::npos)
    return bad_input(place_of(path, Lines(text).at(at)), "nested too deeply", {},
                     fmt::format("at most {} levels", kMaxGraphNesting));
  auto out = std::make_unique<XmlText>();
  out->path_ = path;
  out->what_ = std::move(what);
  try {
    std::istringstream in(text);
    boost::property_tree::read_xml(in, out->document_, boost::property_tree::xml_parser::no_comments);
  } catch (const boost::property_tree::file_parser_error& e) {
    return bad_input(place_of(path, {static_cast<std::uint32_t>(e.line()), 1}), "not XML: " + e.message(), {},
                     out->what_);
  }
  out->places_ = places_of_elements(text);
  return out;
}

Result<XmlElement> XmlText::root(std::string_view name) const {
  if (document_.size() != 1 || document_.front().first != name)
    return bad_input(path_, fmt::format("no element <{}> that holds all others", name), {}, what_);
  return XmlElement(*this, document_.front().first, document_.front().second, 0);
}

}  // namespace weft::topology
