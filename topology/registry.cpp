#include "topology/registry.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace weft::topology {
namespace {
Family named(Family f, std::string_view name, std::string_view summary) {
  f.name = name;
  f.summary = summary;
  return f;
}
}  // namespace

std::vector<Family> families() {
  return {
#define WEFT_TOPOLOGY(id, name, summary) named(family_##id(), name, summary),
#define WEFT_TOPOLOGY_LATER(name, summary) named({}, name, summary),
#include "topology/families.def"
#undef WEFT_TOPOLOGY
#undef WEFT_TOPOLOGY_LATER
  };
}

bool is_family(std::string_view name) {
  for (const Family& f : families())
    if (f.name == name) return true;
  return false;
}

Result<Fabric> build_fabric(std::string_view family, const Params& params) {
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
    return f.build(params);
  }
  return bad_input(params.where(), "unknown topology", std::string(family),
                   fmt::format("one of {}", fmt::join(known, ", ")));
}

}  // namespace weft::topology
