// XmlText: an XML file as a tree of elements that know where they begin, over Boost's XML reader, which knows no positions.
//
// What the elements mean is its readers' (graphml_reader.cpp, topology/simgrid/platform_file.cpp). Comments, processing
// instructions and the document type are left out. Memory: some 300 bytes an element.
#pragma once

#include <boost/property_tree/ptree.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "core/source_pos.hpp"

namespace weft::topology {

struct XmlPlace {
  std::uint32_t line = 0, column = 0;
};

class XmlText;

// As long as its XmlText lives.
class XmlElement {
 public:
  using Tree = boost::property_tree::ptree;
  XmlElement(const XmlText& text, std::string_view name, const Tree& tree, std::size_t number)
      : text_(&text), name_(name), tree_(&tree), number_(number) {}

  [[nodiscard]] std::string_view name() const { return name_; }
  [[nodiscard]] std::optional<std::string> attribute(const char* name) const;
  // Error: there is none.
  [[nodiscard]] Result<std::string> required(const char* name) const;
  // Of its own, without the blanks around it.
  [[nodiscard]] std::string text() const;
  [[nodiscard]] XmlPlace spot() const;
  // FILE:LINE:COLUMN, for errors.
  [[nodiscard]] std::string place() const;
  // visit(element) for each element in it, in order; ends at the first error.
  template <class Visit>
  Result<void> each(const Visit& visit) const {
    std::size_t number = number_ + 1;
    for (const auto& [name, child] : *tree_) {
      if (name == kAttributes) continue;
      WEFT_TRY(visit(XmlElement(*text_, name, child, number)));
      number += count(child);
    }
    return {};
  }

 private:
  static constexpr std::string_view kAttributes = "<xmlattr>";
  static std::size_t count(const Tree& tree);  // of an element and what is in it
  const XmlText* text_;
  std::string_view name_;
  const Tree* tree_;
  std::size_t number_;  // of all elements, in their order
};

class XmlText {
 public:
  // `path` is only for messages; `what`: what the file should be, for them, too. Errors: kBadInput, also where elements nest
  // deeper than a graph or a platform needs.
  [[nodiscard]] static Result<std::unique_ptr<XmlText>> read(const std::string& path, const std::string& text,
                                                             std::string what);
  // The one element that all others are in. Error: it is not called `name`.
  [[nodiscard]] Result<XmlElement> root(std::string_view name) const;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  friend class XmlElement;
  std::string path_, what_;
  XmlElement::Tree document_;
  std::vector<XmlPlace> places_;  // of elements
};

}  // namespace weft::topology
