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

}  // namespace weft::topology
