// Crossbar: n hosts on one switch that never blocks inside; a message crosses two links. Host h is port h.
#include <fmt/format.h>

#include <array>

#include "topology/registry.hpp"

namespace weft::topology::family_crossbar {
namespace {

constexpr std::array<std::string_view, 1> kRoutings = {"direct"};
constexpr std::array<ParamInfo, 2> kParams = {{
    {"n", "required", "number of hosts"},
    kRoutingParam<kRoutings>,
}};

class CrossbarRouting final : public Routing {
 public:
  explicit CrossbarRouting(std::uint32_t n) : n_(n) {}
  bool route(HostId src, HostId dst, std::vector<LinkId>& out) const override {
    if (src == dst) return true;
    out.push_back(LinkId(src.index()));       // each host has one link: number = host
    out.push_back(LinkId(n_ + dst.index()));  // the switch's ports follow
    return true;
  }
  std::string_view name() const override { return kRoutings.front(); }
  std::optional<HopHistogram> hop_histogram() const override {
    HopHistogram h;
    h.add(2, std::uint64_t{n_} * (n_ - 1));
    return h;
  }

 private:
  std::uint32_t n_;
};

Result<Fabric> build(const Params& params) {
  constexpr std::int64_t kTop = static_cast<std::int64_t>(kMaxVertices) - 1;
  const std::string_view key = params.has("n") ? "n" : "hosts_per_switch";
  WEFT_ASSIGN(const std::uint64_t n,
              params.has(key) ? params.integer(key, 1, kTop) : params.integer("n", 1, kTop));
  WEFT_ASSIGN(const std::uint64_t per_switch, params.integer_or("hosts_per_switch", 1, kTop, n));
  if (per_switch != n)
    return params.error("hosts_per_switch", "a crossbar has one switch", fmt::format("{}", n));
  WEFT_TRY([&]() -> Result<void> {
    WEFT_ASSIGN([[maybe_unused]] const std::string r, params.choice("routing", kRoutings));
    return {};
  }());
  constexpr std::array<std::string_view, 1> classes = {"host"};
  WEFT_ASSIGN(const std::vector<LinkValues> values, params.link_values(classes));

  FabricBuilder b(n, n + 1, 1);
  b.reserve_cables(n);
  const std::uint8_t host = b.add_class("host");
  for (std::uint64_t h = 0; h < n; ++h) b.cable(h, 0, n, h, host, values[0]);
  b.set_routing(std::make_shared<CrossbarRouting>(static_cast<std::uint32_t>(n)));
  b.set_vertex_names(
      [n](VertexId v) { return v.index() < n ? fmt::format("node-{}", v.index()) : "switch"; });
  b.set_bisection(n >= 2 ? std::optional<std::uint64_t>(n / 2) : std::nullopt);
  return b.build();
}

}  // namespace

Family family() { return {kParams, build, "n=4"}; }

}  // namespace weft::topology::family_crossbar
