#include "topology/placement/host_lookup.hpp"

#include <fmt/format.h>

namespace weft::topology {
HostLookup::HostLookup(const Fabric& fabric) : fabric_(fabric) {}

Result<HostId> HostLookup::find(std::string_view text, std::string where) {
  const std::uint32_t hosts = fabric_.host_count();
  if (!text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos) {
    std::uint64_t v = 0;
    for (const char ch : text)
      if (v < hosts) v = v * 10 + static_cast<std::uint64_t>(ch - '0');
    if (v < hosts) return HostId(static_cast<std::uint32_t>(v));
  } else {
    if (by_name_.empty())
      for (std::uint32_t h = 0; h < hosts; ++h) by_name_.emplace(fabric_.host_name(HostId(h)), h);
    if (const auto it = by_name_.find(std::string(text)); it != by_name_.end()) return HostId(it->second);
  }
  return bad_input(std::move(where), "unknown host", std::string(text),
                   fmt::format("an index from 0 to {} or a name from {} to {}", hosts - 1,
                               fabric_.host_name(HostId(0)), fabric_.host_name(HostId(hosts - 1))));
}

}  // namespace weft::topology
