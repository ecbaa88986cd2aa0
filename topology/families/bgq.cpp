// IBM Blue Gene/Q: 5-D torus, one node per router, ten torus ports: two per dimension, so that the E dimension of
// length 2 has two cables between its two nodes (Chen et al., SC 2011). 2 GB/s per link and direction, 40 ns a hop; end
// to end 718 ns to the nearest node (S4), that is 678 ns for both ends and 40 ns a hop: L = 718 - 40 + 40 hops. A node
// injects on all its links at once: its own side is not the limit (20 GB/s assumed, ten links).
#include "topology/families/grid.hpp"
#include "topology/registry.hpp"

namespace weft::topology::family_bgq {
namespace {

constexpr std::string_view kBandwidth = "20GB/sx2GB/s";
constexpr std::string_view kLatency = "339nsx40ns";
constexpr std::array<ParamInfo, 6> kParams = {{
    {"dims", "required", "ring lengths A x B x C x D x E, like 16x12x16x16x2"},
    {"cables", "1, or 2 where a dimension has length 2", "parallel cables per direction"},
    kTieParam,
    kRoutingParam<kGridRoutings>,
    {"bw", kBandwidth, "host, torus"},
    {"lat", kLatency, "host, torus"},
}};

Result<Fabric> build(const Params& params) {
  GridPlan g;
  WEFT_ASSIGN(g.k, params.list("dims", 5, 5, 1, static_cast<std::int64_t>(kMaxVertices)));
  for (const std::uint64_t k : g.k) g.cables.push_back(k == 2 ? 2 : 1);
  if (params.has("cables")) {
    WEFT_ASSIGN(g.cables, params.list("cables", 5, 5, 1, 1 << 16));
  }
  g.line.assign(5, 0);
  g.classes = {"torus"};
  g.class_of.assign(5, 0);
  g.bw_fallback = kBandwidth;
  g.lat_fallback = kLatency;
  return build_grid(params, std::move(g));
}

}  // namespace

Family family() { return {kParams, build, "dims=2x2x2x2x2"}; }

}  // namespace weft::topology::family_bgq
