// What a routes file says, line by line. Its format and rules: routes_file.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "core/units.hpp"

namespace weft::topology {

struct RoutesText {
  struct Link {
    std::string name;
    double capacity = 0;  // bytes/s
    Duration latency{0};
    bool seen = false;
    bool fatpipe = false;  // each flow has all of it
  };
  struct Route {
    std::uint32_t src, dst, line;
    std::uint32_t begin, end;  // in `used`
  };
  std::vector<Link> links;          // by the file's index
  std::vector<Route> routes;        // ascending by (src, dst), each pair once
  std::vector<std::uint32_t> used;  // links of the routes, one route after the other
  std::uint32_t hosts = 0;
};

// `bytes`: what stands in the file at `path`, plain or zstd. Errors: kBadInput, with line and column. O(bytes), and a sort where
// the routes are not in order.
[[nodiscard]] Result<RoutesText> read_routes_text(const std::string& path, std::string bytes);

}  // namespace weft::topology
