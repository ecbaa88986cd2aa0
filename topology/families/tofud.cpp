// Fujitsu Tofu interconnect D: 6-D, X x Y x Z of units of A x B x C = 2 x 3 x 2 nodes; ten ports a node: two in each of
// X, Y, Z and B, one in A and C (Ajima et al., CLUSTER 2018). 28 Gb/s x 2 lanes x 64/66 = 6.8 GB/s per port and
// direction; six network interfaces, 40.8 GB/s injection; 0.49 us for a put to a neighbour. How that splits into ends
// and hop is not published: 100 ns a hop and 195 ns an end are assumed. X, Y and Z are rings here; `wrap=off` makes
// them lines.
#include "topology/families/grid.hpp"
#include "topology/registry.hpp"

namespace weft::topology::family_tofud {
namespace {

constexpr std::string_view kBandwidth = "40.8GB/sx6.8GB/s";
constexpr std::string_view kLatency = "195nsx100ns";
constexpr std::array<ParamInfo, 6> kParams = {{
    {"dims", "required", "X x Y x Z, like 24x23x24; A x B x C = 2x3x2 are implied, six values set all"},
    {"wrap", "on", "off: X, Y, Z are lines"},
    kTieParam,
    kRoutingParam<kGridRoutings>,
    {"bw", kBandwidth, "host, torus"},
    {"lat", kLatency, "host, torus"},
}};

Result<Fabric> build(const Params& params) {
  GridPlan g;
  const std::size_t given = params.list_length("dims") == 6 ? 6 : 3;
  WEFT_ASSIGN(g.k, params.list("dims", given, 6, 1, static_cast<std::int64_t>(kMaxVertices)));
  if (given == 3) g.k.insert(g.k.end(), {2, 3, 2});
  WEFT_ASSIGN(const bool wrap, params.on_off("wrap", true));
  g.cables.assign(6, 1);
  g.line.assign(6, 0);
  if (!wrap) std::fill_n(g.line.begin(), 3, 1);
  g.classes = {"torus"};
  g.class_of.assign(6, 0);
  g.bw_fallback = kBandwidth;
  g.lat_fallback = kLatency;
  return build_grid(params, std::move(g));
}

}  // namespace

Family family() { return {kParams, build, "dims=2x2x2"}; }

}  // namespace weft::topology::family_tofud
