// The built-in platforms: platforms/*.textproto, compiled in, so that the program needs no files beside it.
#pragma once

#include <span>
#include <string_view>

namespace weft::topology {

struct CatalogueEntry {
  std::string_view name;  // file name without .textproto
  std::string_view text;
};

// In order of name.
[[nodiscard]] std::span<const CatalogueEntry> catalogue();

// The name that a built-in platform has today; other names come back as they are. Platforms that became one keep both
// names.
[[nodiscard]] constexpr std::string_view catalogue_name(std::string_view name) {
  return name == "dahu-2020" ? "dahu" : name;
}

}  // namespace weft::topology
