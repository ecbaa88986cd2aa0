#include "topology/registry.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/check.hpp"
#include "core/quantity_text.hpp"
#include "core/suggest.hpp"
#include "topology/pcie/tree.hpp"
#include "topology/routing/failures.hpp"
#include "topology/routing/multi_nic.hpp"

namespace weft::topology {
namespace {
Family named(Family f, std::string_view name, std::string_view summary) {
  f.name = name;
  f.summary = summary;
  return f;
}
// What is set of the keys that every family takes. A key that the family lists as its own means what the family says
// and is none of these: pcie's nics, nic and nic_bw are its network cards, not those of a host.
Params common_ones(const Params& params, std::span<const ParamInfo> own) {
  Params common(params.where());
  for (const Params::Entry& e : params.entries())
    if (std::none_of(own.begin(), own.end(), [&](const ParamInfo& p) { return p.name == e.key; }))
      common.set(e.key, e.value, e.where);
  return common;
}

// What the common keys change in a finished fabric.
Result<Fabric> adjusted(Fabric fabric, const Params& params, const HostNames& hosts) {
  WEFT_ASSIGN(const std::uint64_t seed, params.seed());  // a number where nothing is drawn, too
  for (const std::string_view key : {"switch_lat", "nic_bw", "nics"})
    if (params.has(key) && !fabric.wiring_known())
      return params.error(key, "what links join is not told here", "a file whose routes use links one way");
  if (const Params::Entry* e = params.find("switch_lat")) {
    WEFT_ASSIGN(const Duration d, parse_duration(e->value, e->where + ": switch_lat"));
    fabric.add_switch_latency(d);
  }
  if (const Params::Entry* e = params.find("nic_bw")) {
    WEFT_ASSIGN(const Bandwidth b, parse_bandwidth(e->value, e->where + ": nic_bw"));
    if (fabric.hosts_are_routers())
      return params.error("nic_bw", "hosts have no cable of their own here", "host_links=on");
    fabric.limit_host_links(b);
  }
  WEFT_ASSIGN(const std::uint64_t nics, params.integer_or("nics", 1, 1 << 16, 1));
  WEFT_ASSIGN(const NicChoice choice, params.choice("nic", kNicChoices));
  if (nics > 1) {
    if (fabric.hosts_are_routers())
      return params.error("nics", "hosts have no cable of their own here", "host_links=on");
    if (fabric.host_count() % nics != 0)
      return params.error("nics", fmt::format("{} endpoints do not make whole hosts", fabric.host_count()),
                          "a divisor of the number of endpoints");
    fabric = with_nics(std::move(fabric), static_cast<std::uint32_t>(nics), choice);
  }
  if (const Params::Entry* e = params.find("fail")) {
    if (fabric.pcie() != nullptr) return no_failures_within(e->where);
    return with_failures(std::move(fabric), e->value, seed, e->where, hosts);
  }
  return fabric;
}

}  // namespace

std::vector<Family> families() {
  return {
#define WEFT_TOPOLOGY(id, name, summary) named(family_##id::family(), name, summary),
#define WEFT_TOPOLOGY_LATER(name, summary) named({}, name, summary),
#include "topology/families/families.def"
#undef WEFT_TOPOLOGY
#undef WEFT_TOPOLOGY_LATER
  };
}

bool is_family(std::string_view name) {
  for (const Family& f : families())
    if (f.name == name) return true;
  return false;
}

Family family_of(std::string_view name) {
  for (Family& f : families())
    if (f.name == name) return f;
  WEFT_CHECK(false, "no family of that name");
}

Result<Fabric> build_fabric(std::string_view family, const Params& params, const HostNames& hosts) {
  std::vector<std::string_view> known;
  for (const Family& f : families()) {
    if (f.build != nullptr) known.push_back(f.name);
    if (f.name != family) continue;
    if (f.build == nullptr) {
      Error e = not_supported(fmt::format("topology {} ({})", f.name, f.summary), "a later version");
      e.where = params.where();
      return e;
    }
    WEFT_TRY(params.check_known(f.name, f.params));
    WEFT_ASSIGN(Fabric fabric, f.build(params));
    return adjusted(std::move(fabric), common_ones(params, f.params), hosts);
  }
  return bad_input(params.where(), "unknown topology", std::string(family), one_of(family, known));
}

}  // namespace weft::topology
