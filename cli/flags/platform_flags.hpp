// --set, --routing and --fail: what is changed about a platform before it is built, in every verb that takes one. --map: which
// rank runs where on it.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "topology/platform/platform.hpp"

namespace weft::cli {

struct PlatformFlags {
  std::vector<std::string> set;   // "key=value"
  std::vector<std::string> fail;  // "link=NAME", "switch=NAME", "2%", "3"
  std::string routing;            // empty: the platform's

  // All three; the parts are for verbs that have a list of routings, or none, of their own.
  void add(CLI::App& app);
  void add_set(CLI::App& app);
  void add_routing(CLI::App& app);
  void add_fail(CLI::App& app);
  [[nodiscard]] topology::PlatformChanges changes(std::uint64_t seed) const;
  // Those that were given, as a user would type them: "--fail 2%".
  [[nodiscard]] std::vector<std::string> told() const;
};

// Of verbs with one mapping; a matrix of runs has several.
void add_map(CLI::App& app, std::string& map);

}  // namespace weft::cli
