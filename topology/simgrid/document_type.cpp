#include "topology/simgrid/document_type.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/suggest.hpp"

namespace weft::topology::simgrid {
namespace {

// Names with blanks between them; an attribute that has to be there ends in "!".
struct Row {
  std::string_view elements, attributes;
  std::string_view children;  // "*": its reader knows
};

constexpr std::array<Row, 22> kRows = {{
    {"platform", "version!", "*"},
    {"zone AS", "id! routing!", "*"},
    {"config", "id", "prop"},
    {"prop", "id! value!", ""},
    {"trace", "id! file periodicity!", ""},
    {"trace_connect", "kind trace! element!", ""},
    {"host", "id! speed! core speed_file availability_file state_file coordinates pstate", "disk prop mount"},
    {"disk", "id read_bw! write_bw!", "prop"},
    {"mount", "storageId! name!", ""},
    {"host_link", "id! up! down!", ""},
    {"cluster",
     "id! prefix! suffix! radical! speed! core bw! lat! sharing_policy topology topo_parameters bb_bw bb_lat "
     "bb_sharing_policy router_id limiter_link loopback_bw loopback_lat",
     "prop"},
    {"cabinet", "id! prefix! suffix! radical! speed! bw! lat!", ""},
    {"peer", "id! speed! bw_in! bw_out! lat coordinates speed_file availability_file state_file", ""},
    {"router", "id! coordinates", ""},
    {"backbone", "id! bandwidth! latency! bandwidth_file latency_file state_file sharing_policy", "prop"},
    {"link", "id! bandwidth! bandwidth_file latency latency_file state_file sharing_policy", "prop"},
    {"route", "src! dst! symmetrical", "link_ctn"},
    {"zoneRoute ASroute", "src! dst! gw_src! gw_dst! symmetrical", "link_ctn"},
    {"bypassRoute bypassZoneRoute bypassASroute", "src! dst! gw_src gw_dst", "link_ctn"},
    {"link_ctn", "id! direction", ""},
    {"actor process", "host! function! start_time kill_time on_failure", "argument prop"},
    {"argument", "value!", ""},
}};

std::vector<std::string_view> words(std::string_view text) {
  std::vector<std::string_view> out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    out.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

// A row as it is asked for.
struct Rule {
  std::vector<std::string_view> attributes, children;
  std::vector<std::string> required;
  bool any_child = false;
};
using Rules = std::unordered_map<std::string_view, Rule>;

Rules make_rules() {
  Rules out;
  for (const Row& row : kRows) {
    Rule rule;
    for (std::string_view a : words(row.attributes)) {
      if (a.ends_with('!')) {
        a.remove_suffix(1);
        rule.required.emplace_back(a);
      }
      rule.attributes.push_back(a);
    }
    rule.any_child = row.children == "*";
    rule.children = words(row.children);
    for (const std::string_view name : words(row.elements)) out.emplace(name, rule);
  }
  return out;
}

bool has(const std::vector<std::string_view>& list, std::string_view name) {
  return std::ranges::find(list, name) != list.end();
}

Result<void> check(const Rules& rules, const XmlElement& e) {
  const auto at = rules.find(e.name());
  if (at == rules.end()) return {};  // its reader refuses it
  const Rule& rule = at->second;
  for (const std::string_view name : e.attribute_names())
    if (!has(rule.attributes, name))
      return bad_input(e.place(), fmt::format("unknown attribute of a <{}>", e.name()), std::string(name),
                       one_of(name, rule.attributes));
  for (const std::string& name : rule.required)
    if (auto value = e.required(name.c_str()); !value) return value.error();
  if (e.name() != "trace")
    if (std::string text = e.text(); !text.empty())
      return bad_input(e.place(), fmt::format("text in a <{}>", e.name()), std::move(text), "no text");
  return e.each([&](const XmlElement& child) -> Result<void> {
    if (!rule.any_child && !has(rule.children, child.name()))
      return bad_input(child.place(), fmt::format("an element that a <{}> does not have", e.name()),
                       std::string(child.name()),
                       rule.children.empty() ? "nothing in it" : one_of(child.name(), rule.children));
    return check(rules, child);
  });
}

}  // namespace

Result<void> check_document(const XmlElement& platform) {
  static const Rules rules = make_rules();
  return check(rules, platform);
}

}  // namespace weft::topology::simgrid
