// Cray Gemini: 3-D torus of routers with two nodes each, 2/1/2 parallel cables per direction in X/Y/Z (Alverson,
// Roweth and Kaplan, HOTI 2010). Defaults are Hopper's as measured (S4, PPT): a node's side of the router 0.635 us, a
// hop
// 0.10875 us, so 1.27 us between the nodes of one router and 3.88 us over the 24 hops of its diameter; 4.68 GB/s
// a cable, injection 6 GB/s. Titan: bw=6GB/sx5.87GB/sx3.47GB/sx5.87GB/s.
#include "topology/families/grid.hpp"
#include "topology/registry.hpp"

namespace weft::topology::family_gemini {
namespace {

constexpr std::string_view kBandwidth = "6GB/sx4.68GB/sx4.68GB/sx4.68GB/s";
constexpr std::string_view kLatency = "635nsx108.75nsx108.75nsx108.75ns";
constexpr std::array<ParamInfo, 7> kParams = {{
    {"dims", "required", "ring lengths X x Y x Z of Gemini routers, like 17x8x24"},
    {"cables", "2x1x2", "parallel cables per direction in X, Y, Z"},
    kTieParam,
    kRoutingParam<kGridRoutings>,
    {"hosts_per_switch", "2", "nodes on a router"},
    {"bw", kBandwidth, "host, x, y, z"},
    {"lat", kLatency, "host, x, y, z"},
}};

Result<Fabric> build(const Params& params) {
  GridPlan g;
  WEFT_ASSIGN(g.k, params.list("dims", 3, 3, 1, static_cast<std::int64_t>(kMaxVertices)));
  g.cables = {2, 1, 2};
  if (params.has("cables")) {
    WEFT_ASSIGN(g.cables, params.list("cables", 3, 3, 1, 1 << 16));
  }
  g.line.assign(3, 0);
  g.hosts_per_router = 2;
  g.classes = {"x", "y", "z"};
  g.class_of = {0, 1, 2};
  g.bw_fallback = kBandwidth;
  g.lat_fallback = kLatency;
  return build_grid(params, std::move(g));
}

}  // namespace

Family family() { return {kParams, build, "dims=2x2x2"}; }

}  // namespace weft::topology::family_gemini
