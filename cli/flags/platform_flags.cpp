#include "cli/flags/platform_flags.hpp"

#include "cli/flags/values.hpp"
#include "topology/placement/placement.hpp"

namespace weft::cli {

void PlatformFlags::add(CLI::App& app) {
  add_set(app);
  add_routing(app);
  add_fail(app);
}

void PlatformFlags::add_set(CLI::App& app) {
  app.add_option("--set", set, "key=value: override a key or a dotted field of the platform")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
}

void PlatformFlags::add_routing(CLI::App& app) {
  app.add_option("--routing", routing, "routing algorithm [the platform's]")->type_name("NAME");
}

void PlatformFlags::add_fail(CLI::App& app) {
  app.add_option(
         "--fail", fail,
         "what is broken: link=NAME, switch=NAME, or 2% (or 3) of the cables between switches, drawn with "
         "--seed; once for each")
      ->type_name("FAILURE")
      ->allow_extra_args(false);
}

topology::PlatformChanges PlatformFlags::changes(std::uint64_t seed) const {
  return {set, routing, fail, seed};
}

std::vector<std::string> PlatformFlags::told() const {
  std::vector<std::string> out;
  for (const auto& s : set) out.push_back("--set " + s);
  if (!routing.empty()) out.push_back("--routing " + routing);
  for (const auto& f : fail) out.push_back("--fail " + f);
  return out;
}

void add_map(CLI::App& app, std::string& map) {
  app.add_option(
         "--map", map,
         with_default("which rank runs where: " + std::string(topology::kMaps), topology::kDefaultMap))
      ->type_name("MAP");
}

}  // namespace weft::cli
