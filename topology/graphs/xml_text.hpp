// XmlText: an XML file as elements that know where they begin, read by pugixml.
//
// What the elements mean is its readers' (graphml_reader.cpp, topology/simgrid/platform_file.cpp). Comments, processing
// instructions and the document type are left out. Memory: the text, some 70 bytes an element, 40 an attribute.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "core/source_pos.hpp"

namespace pugi {
class xml_document;
struct xml_node_struct;
}  // namespace pugi

namespace weft::topology {

struct XmlPlace {
  std::uint32_t line = 0, column = 0;
};

class XmlText;

// As long as its XmlText lives.
class XmlElement {
 public:
  [[nodiscard]] std::string_view name() const;
  [[nodiscard]] std::optional<std::string> attribute(const char* name) const;
  // Error: there is none.
  [[nodiscard]] Result<std::string> required(const char* name) const;
  [[nodiscard]] std::vector<std::string_view> attribute_names() const;
  // Of its own, without the blanks around it.
  [[nodiscard]] std::string text() const;
  [[nodiscard]] XmlPlace spot() const;
  // FILE:LINE:COLUMN, for errors.
  [[nodiscard]] std::string place() const;
  // visit(element) for each element in it, in order; ends at the first error. One is an element that is deeper than a graph or a
  // platform needs: readers may recurse.
  template <class Visit>
  Result<void> each(const Visit& visit) const {
    for (std::optional<XmlElement> child = first(); child; child = child->next()) {
      WEFT_TRY(child->check_depth());
      WEFT_TRY(visit(*child));
    }
    return {};
  }

 private:
  friend class XmlText;
  XmlElement(const XmlText& text, pugi::xml_node_struct* node, std::size_t depth)
      : text_(&text), node_(node), depth_(depth) {}
  [[nodiscard]] std::optional<XmlElement> first() const;
  [[nodiscard]] std::optional<XmlElement> next() const;
  [[nodiscard]] Result<void> check_depth() const;

  const XmlText* text_;
  pugi::xml_node_struct* node_;
  std::size_t depth_;
};

class XmlText {
 public:
  // `path` is only for messages; `what`: what the file should be, for them, too. UTF-8, or ISO-8859-1 where the file says so.
  // Errors: kBadInput.
  [[nodiscard]] static Result<std::unique_ptr<XmlText>> read(const std::string& path, std::string text,
                                                             std::string what);
  ~XmlText();
  // The one element that all others are in. Error: it is not called `name`.
  [[nodiscard]] Result<XmlElement> root(std::string_view name) const;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  friend class XmlElement;
  XmlText();
  [[nodiscard]] XmlPlace place_at(std::ptrdiff_t offset) const;
  [[nodiscard]] Result<void> check_attributes() const;

  std::string path_, what_;
  std::string text_;  // that the document points into
  std::unique_ptr<pugi::xml_document> document_;
  std::vector<std::size_t> lines_;  // where they begin
};

}  // namespace weft::topology
