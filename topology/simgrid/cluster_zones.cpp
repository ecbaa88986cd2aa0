#include "topology/simgrid/cluster_zones.hpp"

#include <fmt/format.h>

#include "core/quantity_text.hpp"
#include "topology/fabric_builder.hpp"
#include "topology/platform/params.hpp"

namespace weft::topology::simgrid {

Halves add_duplex(Network& net, const std::string& name, const ClusterLinks& links, double times) {
  const auto add = [&](const std::string& of, bool two_way) {
    net.links.push_back({of, links.bytes_per_s * times, links.latency_s, links.fatpipe, two_way});
    return static_cast<std::uint32_t>(net.links.size() - 1);
  };
  if (!links.split_duplex) {
    const std::uint32_t both = add(name, true);
    return {both, both};
  }
  const std::uint32_t up = add(name + "_UP", false);
  return {up, add(name + "_DOWN", false)};
}

std::uint32_t add_limiter(Network& net, const std::string& cluster, std::uint64_t number,
                          const ClusterLinks& links) {
  if (links.limiter == 0) return kNone;
  net.links.push_back({fmt::format("{}_link_{}_limiter", cluster, number), links.limiter, 0, false, true});
  return static_cast<std::uint32_t>(net.links.size() - 1);
}

Result<std::vector<std::uint32_t>> shape(std::string_view text, std::size_t count, const std::string& where) {
  constexpr std::int64_t kMost = 1 << 20;
  const auto parts = split(text, ',');
  if (count != 0 && parts.size() != count)
    return bad_input(where, "topo_parameters", std::string(text), fmt::format("{} numbers", count));
  std::vector<std::uint32_t> out;
  for (std::string_view part : parts) {
    while (part.starts_with(' ')) part.remove_prefix(1);
    while (part.ends_with(' ')) part.remove_suffix(1);
    WEFT_ASSIGN(const std::int64_t n, parse_integer(part, 1, kMost, where));
    out.push_back(static_cast<std::uint32_t>(n));
  }
  return out;
}

Result<void> check_hosts(std::uint64_t wanted, std::uint64_t hosts, const std::string& where) {
  if (wanted == hosts) return {};
  return bad_input(where, fmt::format("topo_parameters for {} hosts", wanted),
                   fmt::format("radical with {}", hosts), "as many of them");
}

Result<void> check_shape(std::uint64_t vertices, std::uint64_t cables, const std::string& where) {
  auto fits = check_size(vertices, cables);
  if (!fits) fits.error().where = where;
  return fits;
}

}  // namespace weft::topology::simgrid
