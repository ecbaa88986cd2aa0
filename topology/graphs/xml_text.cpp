#include "topology/graphs/xml_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <pugixml.hpp>
#include <utility>

#include "topology/graphs/graph_text.hpp"

namespace weft::topology {
namespace {

// Text on the outermost level is seen, too: there may be none.
constexpr unsigned kHow = pugi::parse_default | pugi::parse_fragment;

// The declaration's encoding, if it is Latin 1.
bool says_latin_1(std::string_view text) {
  if (!text.starts_with("<?xml")) return false;
  std::string declaration(text.substr(0, text.find("?>")));
  std::ranges::transform(declaration, declaration.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return declaration.find("iso-8859-1") != std::string::npos ||
         declaration.find("latin1") != std::string::npos;
}

std::string from_latin_1(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) {
      out += c;
    } else {
      out += static_cast<char>(0xc0 | byte >> 6);
      out += static_cast<char>(0x80 | (byte & 0x3f));
    }
  }
  return out;
}

pugi::xml_node next_element(pugi::xml_node node) {
  while (node && node.type() != pugi::node_element) node = node.next_sibling();
  return node;
}

bool is_text(pugi::xml_node node) {
  return node.type() == pugi::node_pcdata || node.type() == pugi::node_cdata;
}

// Attributes of one element that have one name.
class DoubledAttribute final : public pugi::xml_tree_walker {
 public:
  bool for_each(pugi::xml_node& node) override {
    for (pugi::xml_attribute a = node.first_attribute(); a; a = a.next_attribute())
      for (pugi::xml_attribute b = a.next_attribute(); b; b = b.next_attribute())
        if (std::string_view(a.name()) == b.name()) {
          found = node;
          name = a.name();
          return false;
        }
    return true;
  }
  pugi::xml_node found;
  std::string name;
};

}  // namespace

std::string_view XmlElement::name() const { return pugi::xml_node(node_).name(); }

std::optional<std::string> XmlElement::attribute(const char* name) const {
  const pugi::xml_attribute value = pugi::xml_node(node_).attribute(name);
  return value ? std::optional<std::string>(value.value()) : std::nullopt;
}

Result<std::string> XmlElement::required(const char* name) const {
  if (auto value = attribute(name)) return *std::move(value);
  return bad_input(place(), fmt::format("no attribute {}", name), {}, fmt::format("{}=\"...\"", name));
}

std::vector<std::string_view> XmlElement::attribute_names() const {
  std::vector<std::string_view> out;
  for (const pugi::xml_attribute a : pugi::xml_node(node_).attributes()) out.emplace_back(a.name());
  return out;
}

std::string XmlElement::text() const {
  constexpr const char* kBlanks = " \t\r\n";
  std::string all;
  for (const pugi::xml_node child : pugi::xml_node(node_).children())
    if (is_text(child)) all += child.value();
  const std::size_t first = all.find_first_not_of(kBlanks);
  return first == std::string::npos ? "" : all.substr(first, all.find_last_not_of(kBlanks) - first + 1);
}

// The name begins behind the "<".
XmlPlace XmlElement::spot() const { return text_->place_at(pugi::xml_node(node_).offset_debug() - 1); }

std::string XmlElement::place() const {
  const XmlPlace at = spot();
  return SourcePos{text_->path_, at.line, at.column}.text();
}

std::optional<XmlElement> XmlElement::first() const {
  const pugi::xml_node child = next_element(pugi::xml_node(node_).first_child());
  return child ? std::optional(XmlElement(*text_, child.internal_object(), depth_ + 1)) : std::nullopt;
}

std::optional<XmlElement> XmlElement::next() const {
  const pugi::xml_node sibling = next_element(pugi::xml_node(node_).next_sibling());
  return sibling ? std::optional(XmlElement(*text_, sibling.internal_object(), depth_)) : std::nullopt;
}

Result<void> XmlElement::check_depth() const {
  if (depth_ <= kMaxGraphNesting) return {};
  return bad_input(place(), "nested too deeply", {}, fmt::format("at most {} levels", kMaxGraphNesting));
}

XmlText::XmlText() : document_(std::make_unique<pugi::xml_document>()) {}
XmlText::~XmlText() = default;

Result<std::unique_ptr<XmlText>> XmlText::read(const std::string& path, std::string text, std::string what) {
  std::unique_ptr<XmlText> out(new XmlText);
  out->path_ = path;
  out->what_ = std::move(what);
  out->text_ = says_latin_1(text) ? from_latin_1(text) : std::move(text);
  out->lines_ = {0};
  for (std::size_t at = out->text_.find('\n'); at != std::string::npos; at = out->text_.find('\n', at + 1))
    out->lines_.push_back(at + 1);
  const auto refused = [&](std::ptrdiff_t offset, const std::string& why) {
    const XmlPlace at = out->place_at(offset);
    return bad_input(SourcePos{path, at.line, at.column}.text(), "not XML: " + why, {}, out->what_);
  };
  // To the reader a zero is the end of the text.
  if (const std::size_t zero = out->text_.find('\0'); zero != std::string::npos)
    return refused(static_cast<std::ptrdiff_t>(zero), "a byte of zero");
  const pugi::xml_parse_result read =
      out->document_->load_buffer_inplace(out->text_.data(), out->text_.size(), kHow, pugi::encoding_utf8);
  if (!read) return refused(read.offset, read.description());
  WEFT_TRY(out->check_attributes());
  return out;
}

XmlPlace XmlText::place_at(std::ptrdiff_t offset) const {
  const std::size_t at =
      std::min(static_cast<std::size_t>(std::max<std::ptrdiff_t>(offset, 0)), text_.size());
  const auto line = std::upper_bound(lines_.begin(), lines_.end(), at) - 1;
  return {static_cast<std::uint32_t>(line - lines_.begin() + 1), static_cast<std::uint32_t>(at - *line + 1)};
}

Result<void> XmlText::check_attributes() const {
  DoubledAttribute doubled;
  if (document_->traverse(doubled)) return {};
  return bad_input(XmlElement(*this, doubled.found.internal_object(), 0).place(),
                   "not XML: two attributes of one name", doubled.name, "each name once");
}

Result<XmlElement> XmlText::root(std::string_view name) const {
  const pugi::xml_node first = next_element(document_->first_child());
  const bool text_beside = std::ranges::any_of(document_->children(), is_text);
  if (!first || text_beside || next_element(first.next_sibling()) || first.name() != name)
    return bad_input(path_, fmt::format("no element <{}> that holds all others", name), {}, what_);
  return XmlElement(*this, first.internal_object(), 0);
}

}  // namespace weft::topology
