// The topology families: one row each in families.def, one file each. Adding one touches its file, that list and
// its tests; nothing else.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "topology/fabric.hpp"
#include "topology/platform/params.hpp"
#include "topology/routing/failures.hpp"

namespace weft::topology {

// What a family's file says of hosts, beside their network.
struct HostFacts {
  std::vector<double> speed;          // flop/s, by host
  std::vector<std::string> warnings;  // what it says and nobody reads, one sentence each
};

struct Family {
  std::span<const ParamInfo> params;                        // own keys; common_params() are known besides
  Result<Fabric> (*build)(const Params& params) = nullptr;  // nullptr: known, not in this version
  std::string_view example = {};                            // key=value,... of a small one
  std::string_view name = {};                               // filled in by the registry
  std::string_view summary = {};
  Result<HostFacts> (*host_facts)(const Params& params) = nullptr;  // nullptr: it says nothing of them
};

#define WEFT_TOPOLOGY(id, name, summary) \
  namespace family_##id {                \
    Family family();                     \
  }
#define WEFT_TOPOLOGY_LATER(name, summary)
#include "topology/families/families.def"
#undef WEFT_TOPOLOGY
#undef WEFT_TOPOLOGY_LATER

// In the order of families.def.
[[nodiscard]] std::vector<Family> families();

// Checks the keys, then builds. Errors: unknown family (with the known ones), kNotSupported for a later one,
// what the family says about its values. `hosts`: as in with_failures().
[[nodiscard]] Result<Fabric> build_fabric(std::string_view family, const Params& params,
                                          const HostNames& hosts = {});

[[nodiscard]] bool is_family(std::string_view name);
// The one of that name; REQUIRES: is_family(name).
[[nodiscard]] Family family_of(std::string_view name);

}  // namespace weft::topology
