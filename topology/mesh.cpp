// n-dimensional mesh: a line in every dimension (grid.hpp). Dimension order never turns back, so its channel
// dependencies have no cycle (Dally and Seitz, IEEE Trans. Computers 1987).
#include "topology/grid.hpp"
#include "topology/registry.hpp"

namespace weft::topology {
namespace {

constexpr std::array<ParamInfo, 3> kParams = {{
    {"dims", "required", "lengths joined by x, like 4x4x2"},
    {"cables", "1 each", "parallel cables between neighbours of each dimension"},
    {"host_links", "on", "off: host = router, no host cable"},
}};

Result<Fabric> build(const Params& params) {
  GridPlan g;
  WEFT_ASSIGN(g.k, params.list("dims", 0, kMaxGridDims, 1, static_cast<std::int64_t>(kMaxVertices)));
  WEFT_ASSIGN(g.host_links, params.on_off("host_links", true));
  g.cables.assign(g.k.size(), 1);
  if (params.has("cables")) {
    WEFT_ASSIGN(g.cables, params.list("cables", g.k.size(), kMaxGridDims, 1, 1 << 16));
  }
  g.line.assign(g.k.size(), 1);
  set_grid_classes(params, "mesh", g);
  return build_grid(params, std::move(g));
}

}  // namespace

Family family_mesh() { return {kParams, build, {}, {}}; }

}  // namespace weft::topology
