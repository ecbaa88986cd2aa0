// Helpers of the topology tests: load or fail, temporary files, route as names.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/rng.hpp"
#include "tests/support/files.hpp"
#include "tests/support/seed.hpp"
#include "topology/platform/platform.hpp"

namespace weft::topology {

inline Platform load(const std::string& spec, const std::vector<std::string>& overrides = {}) {
  auto p = load_platform(spec, {.set = overrides});
  if (!p) ADD_FAILURE() << spec << ": " << p.error().message();
  return p ? std::move(*p) : Platform();
}

inline std::string error_of(const std::string& spec, const std::vector<std::string>& overrides = {}) {
  auto p = load_platform(spec, {.set = overrides});
  EXPECT_FALSE(p.has_value()) << spec << " was accepted";
  return p ? std::string() : p.error().message();
}

using support::TempFile;

inline std::vector<LinkId> route_of(const Fabric& f, std::uint32_t src, std::uint32_t dst) {
  std::vector<LinkId> out;
  EXPECT_TRUE(f.routing().route(HostId(src), HostId(dst), out)) << src << " cannot reach " << dst;
  return out;
}

// The vertices a route crosses between its ends.
inline std::vector<std::string> via(const Fabric& f, std::uint32_t src, std::uint32_t dst) {
  std::vector<std::string> names;
  const auto links = route_of(f, src, dst);
  for (std::size_t i = 0; i + 1 < links.size(); ++i)
    names.push_back(f.vertex_name(f.links().to[links[i].index()]));
  return names;
}

using support::seed_or;

}  // namespace weft::topology
