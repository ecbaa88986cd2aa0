// GPUs of one node on an NVSwitch fabric: a crossbar that never blocks, one cable per GPU whose bandwidth is that of
// all its NVLinks together; the hub adds only latency. Bandwidth by generation, per direction: NVLink2 6 x 25 GB/s
// (V100, DGX-2), NVLink3 12 x 25 GB/s (A100), NVLink4 18 x 25 GB/s (H100). The latency is assumed.
#include <fmt/format.h>

#include <array>

#include "topology/registry.hpp"
#include "topology/routing/graph_routing.hpp"

namespace weft::topology::family_nvswitch {
namespace {

constexpr std::string_view kLatency = "200ns";
constexpr std::array<Word<GraphWay>, 1> kRoutings = {kGraphRoutings[0]};
constexpr std::array<ParamInfo, 5> kParams = {{
    {"n", "8", "GPUs"},
    {"gen", "3", "NVLink generation: 2, 3 or 4"},
    kRoutingParam<kRoutings>,
    {"bw", "150, 300 or 450 GB/s by gen", "of a GPU and direction"},
    {"lat", kLatency, "GPU to hub (assumed)"},
}};

Result<Fabric> build(const Params& params) {
  WEFT_ASSIGN(const std::uint64_t n, params.integer_or("n", 1, 1 << 20, 8));
  WEFT_ASSIGN(const std::uint64_t per_switch, params.integer_or("hosts_per_switch", 1, 1 << 20, n));
  if (per_switch != n)
    return params.error("hosts_per_switch", "all GPUs are on one switch", fmt::format("{}", n));
  WEFT_ASSIGN(const std::uint64_t gen, params.integer_or("gen", 2, 4, 3));
  WEFT_ASSIGN(const GraphWay routing, params.choice("routing", kRoutings));
  constexpr std::array<std::string_view, 1> classes = {"nvlink"};
  constexpr std::array<std::string_view, 3> bandwidth = {"150GB/s", "300GB/s", "450GB/s"};
  WEFT_ASSIGN(const std::vector<LinkValues> values,
              params.link_values(classes, bandwidth[gen - 2], kLatency));
  FabricBuilder b(n, n + 1, 1);
  const std::uint8_t nvlink = b.add_class("nvlink");
  for (std::uint64_t g = 0; g < n; ++g) b.join(g, n, nvlink, values[0]);
  b.set_graph_routing(routing, 0);
  b.set_vertex_names(
      [n](VertexId v) { return v.index() < n ? fmt::format("gpu-{}", v.index()) : "nvswitch"; });
  b.set_bisection(n >= 2 ? std::optional<std::uint64_t>(n / 2) : std::nullopt);
  return b.build();
}

}  // namespace

Family family() { return {kParams, build, "n=8"}; }

}  // namespace weft::topology::family_nvswitch
