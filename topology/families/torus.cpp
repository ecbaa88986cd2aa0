// n-dimensional torus: a ring in every dimension (grid.hpp).
#include "topology/families/grid.hpp"
#include "topology/registry.hpp"

namespace weft::topology::family_torus {
namespace {

constexpr std::array<ParamInfo, 5> kParams = {{
    {"dims", "required", "ring lengths joined by x, like 4x4x2"},
    {"cables", "1 each", "parallel cables between neighbours of each dimension"},
    {"host_links", "on", "off: host = router, no host cable"},
    kTieParam,
    kRoutingParam<kGridRoutings>,
}};

Result<Fabric> build(const Params& params) {
  WEFT_ASSIGN(GridPlan g, read_grid(params, "torus"));
  g.line.assign(g.k.size(), 0);
  return build_grid(params, std::move(g));
}

}  // namespace

Family family() { return {kParams, build, "dims=4x4"}; }

}  // namespace weft::topology::family_torus
