// The network of a routes file: its links, what they seem to join, and the route of every pair, in the numbers of a Fabric.
// What its links join: wiring.hpp.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/files/input_file.hpp"
#include "core/id.hpp"
#include "core/units.hpp"
#include "topology/graphs/routes_text.hpp"

namespace weft::topology {

// Routes: pairs row[h] to row[h + 1] are those from host h, ascending by dst; offset[k] to offset[k + 1] in `links` is the
// route of pair k. 12 bytes per pair + 4 per link, where `owner` keeps them.
struct RouteTable {
  std::span<const std::uint32_t> row, dst, offset;
  std::span<const LinkId> links;
  std::shared_ptr<const void> owner;
};

struct RoutesNetwork {
  std::uint32_t hosts = 0, vertices = 0;  // vertices 0..hosts-1 are the hosts
  bool hosts_pass_on = false;             // some route crosses a host
  bool wiring_known = true;               // else all links are at one vertex, as loops
  // Columns over LinkId, ascending by `from`.
  std::vector<std::uint32_t> from, to;
  std::vector<double> capacity;  // bytes/s
  std::vector<Duration> latency;
  std::vector<std::uint8_t> fatpipe;  // 1: not shared
  std::vector<std::string> names;
  RouteTable routes;
};

// O(links + hops of all routes).
[[nodiscard]] RoutesNetwork network_of(const RoutesText& text);

// As bytes for the same program on the same kind of machine, and back: nothing if it is of another format or cannot be right.
// Its routes stay where the bytes are.
[[nodiscard]] std::string to_bytes(const RoutesNetwork& network);
[[nodiscard]] std::optional<RoutesNetwork> network_from(FileBytes bytes);

}  // namespace weft::topology
