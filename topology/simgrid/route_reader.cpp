#include "topology/simgrid/route_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace weft::topology::simgrid {

std::string lower(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

std::string value_of(const XmlElement& e, const char* name, std::string fallback) {
  return e.attribute(name).value_or(std::move(fallback));
}

Result<std::uint32_t> RouteReader::point_named(const XmlElement& e, const char* attribute) const {
  WEFT_ASSIGN(const std::string name, e.required(attribute));
  const auto at = names_.points.find(name);
  if (at == names_.points.end())
    return bad_input(e.place(), fmt::format("{} of a <{}>", attribute, e.name()), name,
                     "a host, router or netzone of the platform");
  return at->second;
}

Result<std::uint32_t> RouteReader::end_of(const XmlElement& e, const char* attribute, std::uint32_t zone,
                                          bool netzone) const {
  WEFT_ASSIGN(const std::uint32_t point, point_named(e, attribute));
  const Point& p = net_.points[point];
  if (p.zone != zone || (p.kind == PointKind::kZone) != netzone)
    return bad_input(
        e.place(), fmt::format("{} of a <{}>", attribute, e.name()), p.name,
        fmt::format("a {} of netzone {}", netzone ? "netzone" : "host or router", net_.zones[zone]->name));
  return point;
}

bool RouteReader::within(std::uint32_t point, std::uint32_t zone) const {
  for (std::uint32_t z = net_.points[point].zone; z != kNone; z = net_.zones[z]->parent)
    if (z == zone) return true;
  return false;
}

Result<std::uint32_t> RouteReader::gateway_of(const XmlElement& e, const char* attribute, std::uint32_t in) {
  WEFT_ASSIGN(const std::uint32_t point, point_named(e, attribute));
  if (net_.points[point].kind == PointKind::kZone || !within(point, net_.points[in].is))
    return bad_input(e.place(), fmt::format("{} of a <{}>", attribute, e.name()), net_.points[point].name,
                     fmt::format("a host or router in netzone {}", net_.points[in].name));
  net_.hosts_pass_on = net_.hosts_pass_on || net_.points[point].kind == PointKind::kHost;
  return point;
}

void RouteReader::add_gateways(std::uint32_t begins, std::uint32_t ends, bool symmetrical) {
  for (const auto& [out, in] : {std::pair(begins, ends), std::pair(ends, begins)}) {
    if (out != kNone) net_.gateways_out.push_back(out);
    if (in != kNone) net_.gateways_in.push_back(in);
    if (!symmetrical) return;
  }
}

Result<RouteReader::Step> RouteReader::step_of(const XmlElement& e) const {
  if (e.name() != "link_ctn")
    return bad_input(e.place(), fmt::format("<{}> in a route", e.name()), {}, "<link_ctn id=\"...\"/>");
  WEFT_ASSIGN(const std::string id, e.required("id"));
  const std::string direction = value_of(e, "direction", "NONE");
  const auto split = names_.split.find(id);
  if (direction == "UP" || direction == "DOWN") {
    if (split == names_.split.end())
      return bad_input(e.place(), "a direction on a link that is not split", id,
                       "a link of sharing_policy=\"SPLITDUPLEX\"");
    return Step{direction == "UP" ? split->second.up : split->second.down, true};
  }
  if (direction != "NONE") return bad_input(e.place(), "direction", direction, "UP, DOWN or NONE");
  if (split != names_.split.end())
    return bad_input(e.place(), "a split link without a direction", id, "direction=\"UP\" or \"DOWN\"");
  const auto at = names_.links.find(id);
  if (at == names_.links.end())
    return bad_input(e.place(), "route over an unknown link", id, "the id of a link of the platform");
  return Step{at->second, false};
}

Result<std::vector<RouteReader::Step>> RouteReader::steps_of(const XmlElement& route) const {
  std::vector<Step> out;
  WEFT_TRY(route.each([&](const XmlElement& e) -> Result<void> {
    WEFT_ASSIGN(const Step step, step_of(e));
    if (std::ranges::find(out, step.link, &Step::link) != out.end()) {
      Error no = not_supported(fmt::format("a route that takes link {} twice", net_.links[step.link].name));
      no.where = e.place();
      return no;
    }
    out.push_back(step);
    return {};
  }));
  if (out.empty()) return bad_input(route.place(), "route without links", {}, "<link_ctn id=\"...\"/>");
  return out;
}

std::vector<std::uint32_t> RouteReader::forwards(const std::vector<Step>& steps) {
  std::vector<std::uint32_t> out;
  out.reserve(steps.size());
  for (const Step& s : steps) out.push_back(s.link);
  return out;
}

std::vector<std::uint32_t> RouteReader::backwards(const std::vector<Step>& steps) const {
  std::vector<std::uint32_t> out;
  for (auto s = steps.rbegin(); s != steps.rend(); ++s)
    out.push_back(s->turns ? names_.other_half.at(s->link) : s->link);
  return out;
}

Result<void> RouteReader::read(std::uint32_t number, const XmlElement& e,
                               std::optional<std::uint32_t> backbone) {
  const std::string_view name = e.name();
  if (name == "host_link") return read_host_link(number, e, backbone);
  const bool between_zones = name != "route" && name != "bypassRoute";
  if (name.starts_with("bypass")) return read_bypass(number, e, between_zones);
  const std::string sides = lower(value_of(e, "symmetrical", "YES"));
  if (sides != "yes" && sides != "no") return bad_input(e.place(), "symmetrical", sides, "YES or NO");
  Zone* zone = net_.zones[number].get();
  if (auto* star = dynamic_cast<StarZone*>(zone))
    return read_star_route(*star, number, e, between_zones, sides == "yes");
  return read_leg(static_cast<RoutedZone&>(*zone), number, e, between_zones, sides == "yes");
}

Result<void> RouteReader::read_leg(RoutedZone& zone, std::uint32_t number, const XmlElement& e,
                                   bool between_zones, bool symmetrical) {
  WEFT_ASSIGN(const std::uint32_t src, end_of(e, "src", number, between_zones));
  WEFT_ASSIGN(const std::uint32_t dst, end_of(e, "dst", number, between_zones));
  Leg leg;
  WEFT_ASSIGN(const std::vector<Step> steps, steps_of(e));
  leg.links = forwards(steps);
  if (between_zones) {
    WEFT_ASSIGN(leg.begins, gateway_of(e, "gw_src", src));
    WEFT_ASSIGN(leg.ends, gateway_of(e, "gw_dst", dst));
  }
  if (src == dst) return {};  // a loopback
  add_gateways(leg.begins, leg.ends, symmetrical);
  Leg back{backwards(steps), leg.ends, leg.begins};
  WEFT_TRY(add_leg(zone, src, dst, std::move(leg), e));
  return symmetrical ? add_leg(zone, dst, src, std::move(back), e) : Result<void>();
}

Result<void> RouteReader::add_leg(RoutedZone& zone, std::uint32_t src, std::uint32_t dst, Leg leg,
                                  const XmlElement& e) {
  if (zone.add(net_.points[src].number, net_.points[dst].number, std::move(leg))) return {};
  return bad_input(e.place(), "a second route between two points",
                   fmt::format("{} to {}", net_.points[src].name, net_.points[dst].name),
                   "one; symmetrical=\"NO\" where the way back has its own");
}

Result<void> RouteReader::read_bypass(std::uint32_t number, const XmlElement& e, bool between_zones) {
  WEFT_ASSIGN(const std::uint32_t src, point_named(e, "src"));
  WEFT_ASSIGN(const std::uint32_t dst, point_named(e, "dst"));
  for (const auto& [point, attribute] : {std::pair(src, "src"), std::pair(dst, "dst")})
    if ((net_.points[point].kind == PointKind::kZone) != between_zones)
      return bad_input(e.place(), fmt::format("{} of a <{}>", attribute, e.name()), net_.points[point].name,
                       between_zones ? "a netzone" : "a host or router");
  Zone::Bypass bypass;
  WEFT_ASSIGN(const std::vector<Step> steps, steps_of(e));
  bypass.links = forwards(steps);
  if (between_zones) {
    WEFT_ASSIGN(bypass.begins, gateway_of(e, "gw_src", src));
    WEFT_ASSIGN(bypass.ends, gateway_of(e, "gw_dst", dst));
    add_gateways(bypass.begins, bypass.ends, false);
  }
  if (net_.zones[number]->bypasses.emplace(std::pair(src, dst), std::move(bypass)).second) return {};
  return bad_input(e.place(), "a second bypass between two points",
                   fmt::format("{} to {}", net_.points[src].name, net_.points[dst].name), "one");
}

// In a netzone of routing="Cluster" a route leads from one member to the middle, or from there to one.
Result<void> RouteReader::read_star_route(StarZone& zone, std::uint32_t number, const XmlElement& e,
                                          bool between_zones, bool symmetrical) {
  const std::string src = value_of(e, "src"), dst = value_of(e, "dst");
  WEFT_ASSIGN(const std::vector<Step> steps, steps_of(e));
  if (!src.empty() && src == dst) return {};  // a loopback
  if (src.empty() == dst.empty())
    return bad_input(e.place(), "a route in a netzone of routing=\"Cluster\"", {},
                     "src or dst alone: to all, or from all");
  const bool from = !src.empty();
  WEFT_ASSIGN(const std::uint32_t end, end_of(e, from ? "src" : "dst", number, between_zones));
  StarZone::Ways& ways = zone.of(net_.points[end].number);
  if (between_zones) {
    WEFT_ASSIGN(ways.gateway, gateway_of(e, from ? "gw_src" : "gw_dst", end));
    add_gateways(from ? ways.gateway : kNone, from ? kNone : ways.gateway, symmetrical);
  }
  if (!from || symmetrical) {
    ways.down = from ? backwards(steps) : forwards(steps);
    ways.has_down = true;
  }
  if (from) {
    ways.up = forwards(steps);
    ways.has_up = true;
  }
  return {};
}

Result<void> RouteReader::read_host_link(std::uint32_t number, const XmlElement& e,
                                         std::optional<std::uint32_t> backbone) {
  WEFT_ASSIGN(const std::uint32_t host, end_of(e, "id", number, false));
  Halves halves;
  for (const auto& [attribute, half] : {std::pair("up", &halves.up), std::pair("down", &halves.down)}) {
    WEFT_ASSIGN(const std::string id, e.required(attribute));
    const auto at = names_.links.find(id);
    if (at == names_.links.end())
      return bad_input(e.place(), fmt::format("{} of a <host_link>", attribute), id,
                       "the id of a link of the platform");
    *half = at->second;
  }
  static_cast<StarZone&>(*net_.zones[number])
      .join(net_.points[host].number, halves.up, halves.down, backbone);
  return {};
}

}  // namespace weft::topology::simgrid
