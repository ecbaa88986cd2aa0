// Binary n-cube: 2^n routers, neighbours differ in one bit; dimension order corrects the bits from the lowest on
// (e-cube). The grid of n dimensions of length 2 (grid.hpp).
#include "topology/families/grid.hpp"
#include "topology/registry.hpp"

namespace weft::topology::family_hypercube {
namespace {

constexpr std::array<ParamInfo, 4> kParams = {{
    {"n", "required", "dimensions: 2^n routers"},
    {"cables", "1", "parallel cables between neighbours"},
    {"host_links", "on", "off: host = router, no host cable"},
    kRoutingParam<kGridRoutings>,
}};

Result<Fabric> build(const Params& params) {
  GridPlan g;
  WEFT_ASSIGN(const std::uint64_t n, params.integer("n", 1, 23));
  WEFT_ASSIGN(const std::uint64_t cables, params.integer_or("cables", 1, 1 << 16, 1));
  WEFT_ASSIGN(g.host_links, params.on_off("host_links", true));
  g.k.assign(n, 2);
  g.cables.assign(n, cables);
  g.line.assign(n, 0);
  set_grid_classes(params, "cube", g);
  return build_grid(params, std::move(g));
}

}  // namespace

Family family() { return {kParams, build, "n=3"}; }

}  // namespace weft::topology::family_hypercube
