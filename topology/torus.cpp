// n-dimensional torus: a ring in every dimension (grid.hpp).
#include "topology/grid.hpp"
#include "topology/registry.hpp"

namespace weft::topology {
namespace {

constexpr std::array<ParamInfo, 4> kParams = {{
    {"dims", "required", "ring lengths joined by x, like 4x4x2"},
    {"cables", "1 each", "parallel cables between neighbours of each dimension"},
    {"host_links", "on", "off: host = router, no host cable"},
    {"tie", "plus", "direction to the farthest point of an even ring: plus, minus, parity, simgrid"},
}};

Result<Fabric> build(const Params& params) {
  GridPlan g;
  WEFT_ASSIGN(g.k, params.list("dims", 0, kMaxGridDims, 1, static_cast<std::int64_t>(kMaxVertices)));
  WEFT_ASSIGN(g.host_links, params.on_off("host_links", true));
  g.cables.assign(g.k.size(), 1);
  if (params.has("cables")) {
    WEFT_ASSIGN(g.cables, params.list("cables", g.k.size(), kMaxGridDims, 1, 1 << 16));
  }
  g.line.assign(g.k.size(), 0);
  set_grid_classes(params, "torus", g);
  return build_grid(params, std::move(g));
}

}  // namespace

Family family_torus() { return {kParams, build, {}, {}}; }

}  // namespace weft::topology
