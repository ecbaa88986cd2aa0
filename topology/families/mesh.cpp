// n-dimensional mesh: a line in every dimension (grid.hpp). Dimension order never turns back, so its channel
// dependencies have no cycle (Dally and Seitz, IEEE Trans. Computers 1987).
#include "topology/families/grid.hpp"
#include "topology/registry.hpp"

namespace weft::topology::family_mesh {
namespace {

constexpr std::array<ParamInfo, 4> kParams = {{
    {"dims", "required", "lengths joined by x, like 4x4x2"},
    {"cables", "1 each", "parallel cables between neighbours of each dimension"},
    {"host_links", "on", "off: host = router, no host cable"},
    kRoutingParam<kGridRoutings>,
}};

Result<Fabric> build(const Params& params) {
  WEFT_ASSIGN(GridPlan g, read_grid(params, "mesh"));
  g.line.assign(g.k.size(), 1);
  return build_grid(params, std::move(g));
}

}  // namespace

Family family() { return {kParams, build, "dims=4x4"}; }

}  // namespace weft::topology::family_mesh
