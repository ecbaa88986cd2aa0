#include "topology/placement/host_lookup.hpp"

#include <fmt/format.h>

namespace weft::topology {
namespace {

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

HostLookup::HostLookup(const Fabric& fabric) : fabric_(fabric) {}

bool HostLookup::numbers_are_names() {
  if (!numbers_are_names_) {
    numbers_are_names_ = false;
    for (std::uint32_t h = 0; h < fabric_.host_count() && !*numbers_are_names_; ++h)
      numbers_are_names_ = is_number(fabric_.host_name(HostId(h)));
  }
  return *numbers_are_names_;
}

Result<HostId> HostLookup::find(std::string_view text, std::string where) {
  const std::uint32_t hosts = fabric_.host_count();
  const bool names_only = is_number(text) && numbers_are_names();
  if (is_number(text) && !names_only) {
    std::uint64_t v = 0;
    for (const char ch : text)
      if (v < hosts) v = v * 10 + static_cast<std::uint64_t>(ch - '0');
    if (v < hosts) return HostId(static_cast<std::uint32_t>(v));
  } else {
    if (by_name_.empty())
      for (std::uint32_t h = 0; h < hosts; ++h) by_name_.emplace(fabric_.host_name(HostId(h)), h);
    if (const auto it = by_name_.find(std::string(text)); it != by_name_.end()) return HostId(it->second);
  }
  const std::string names =
      fmt::format("a name from {} to {}", fabric_.host_name(HostId(0)), fabric_.host_name(HostId(hosts - 1)));
  return bad_input(std::move(where), "unknown host", std::string(text),
                   names_only ? names + " (numbers are names here)"
                              : fmt::format("an index from 0 to {} or {}", hosts - 1, names));
}

}  // namespace weft::topology
