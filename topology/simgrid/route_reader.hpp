// RouteReader: routes, bypasses and host links of a SimGrid platform file, once all names of it are known.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/result.hpp"
#include "topology/graphs/xml_text.hpp"
#include "topology/simgrid/network.hpp"
#include "topology/simgrid/routed_zones.hpp"

namespace weft::topology::simgrid {

struct Names {
  std::unordered_map<std::string, std::uint32_t> points, links;
  std::unordered_map<std::string, Halves> split;                // by the name without _UP and _DOWN
  std::unordered_map<std::uint32_t, std::uint32_t> other_half;  // of a half
};

[[nodiscard]] std::string lower(std::string text);
// The attribute, where it is absent `fallback`.
[[nodiscard]] std::string value_of(const XmlElement& e, const char* name, std::string fallback = {});

class RouteReader {
 public:
  RouteReader(Network& net, const Names& names) : net_(net), names_(names) {}
  // `e`: route, zoneRoute, ASroute, a bypass of these, or host_link, in the netzone `zone`; `backbone`: of that. Errors: kBadInput,
  // kNotSupported, with the place.
  [[nodiscard]] Result<void> read(std::uint32_t zone, const XmlElement& e,
                                  std::optional<std::uint32_t> backbone);

 private:
  Result<std::uint32_t> point_named(const XmlElement& e, const char* attribute) const;
  // A member of the zone, a netzone or not.
  Result<std::uint32_t> end_of(const XmlElement& e, const char* attribute, std::uint32_t zone,
                               bool netzone) const;
  [[nodiscard]] bool within(std::uint32_t point, std::uint32_t zone) const;
  // A host or router in the netzone `in`, however deep.
  Result<std::uint32_t> gateway_of(const XmlElement& e, const char* attribute, std::uint32_t in);
  // Of routes that begin, and end, there; kNone: none.
  void add_gateways(std::uint32_t begins, std::uint32_t ends, bool symmetrical);
  // A link as a route tells it: a split one by its name and a direction, which the way back turns round, or a half by its own
  // name, which both ways take, as SimGrid has it.
  struct Step {
    std::uint32_t link;
    bool turns;
  };
  Result<Step> step_of(const XmlElement& link_ctn) const;
  Result<std::vector<Step>> steps_of(const XmlElement& route) const;
  [[nodiscard]] static std::vector<std::uint32_t> forwards(const std::vector<Step>& steps);
  [[nodiscard]] std::vector<std::uint32_t> backwards(const std::vector<Step>& steps) const;
  Result<void> read_leg(RoutedZone& zone, std::uint32_t number, const XmlElement& e, bool between_zones,
                        bool symmetrical);
  Result<void> add_leg(RoutedZone& zone, std::uint32_t src, std::uint32_t dst, Leg leg, const XmlElement& e);
  Result<void> read_bypass(std::uint32_t zone, const XmlElement& e, bool between_zones);
  Result<void> read_star_route(StarZone& zone, std::uint32_t number, const XmlElement& e, bool between_zones,
                               bool symmetrical);
  Result<void> read_host_link(std::uint32_t zone, const XmlElement& e, std::optional<std::uint32_t> backbone);

  Network& net_;
  const Names& names_;
};

}  // namespace weft::topology::simgrid
