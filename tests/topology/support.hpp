// Helpers of the topology tests: load or fail, temporary files, route as names.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/rng.hpp"
#include "tests/support/files.hpp"
#include "tests/support/seed.hpp"
#include "topology/platform/platform.hpp"
#include "topology/registry.hpp"

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

// The example of a family of the registry as a platform that can be loaded while this lives: the files that examples
// name are written here.
class Examples {
 public:
  [[nodiscard]] std::string of(const Family& f) const {
    const auto file = files_.find(f.name);
    return std::string(f.name) + ":" +
           (file == files_.end() ? std::string(f.example) : "path=" + file->second->path());
  }
  // Of all families but those.
  [[nodiscard]] std::vector<std::string> but(std::initializer_list<std::string_view> left_out) const {
    std::vector<std::string> out;
    for (const Family& f : families())
      if (f.build != nullptr && std::ranges::find(left_out, f.name) == left_out.end()) out.push_back(of(f));
    return out;
  }

 private:
  TempFile graph_{"example.dot", "graph { a [kind=host]; b [kind=host]; a -- b; }"};
  TempFile routes_{"example.routes", "L 0 up 1e9 1e-6 shared\nL 1 down 1e9 1e-6 shared\nR 0 1 0 1\n"};
  TempFile simgrid_{"example.xml",
                    "<platform version=\"4.1\"><cluster id=\"c\" prefix=\"n\" suffix=\"\" radical=\"0-1\" "
                    "speed=\"1Gf\" bw=\"1GBps\" lat=\"1us\"/></platform>"};
  std::map<std::string_view, const TempFile*> files_{
      {"file", &graph_}, {"routes", &routes_}, {"simgrid", &simgrid_}};
};

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
