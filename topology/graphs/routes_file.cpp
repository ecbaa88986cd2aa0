// Routes file: a network given as its links and the route of every pair, whoever computed them (SimGrid, a
// subnet manager, a script). Plain text or zstd.
//
//   L index name bandwidth_Bps latency_s ...   one directed link, shared; with "fatpipe" in the next field each flow has all of
//                                              it, whoever else is there; other fields are ignored
//   R src dst link link ...                    the route of a pair; hosts are 0..max index, named node-K
//
// Rules: link indices are 0..L-1, each once, in any order; a pair has at most one R line; a pair without one
// is unreachable; a host to itself has no links. `lat` and `bw` given beside `path` replace the file's.
//
// What it says: routes_network.hpp; how its wiring is inferred: wiring.hpp. What was made of a large file is kept for the next run
// (core/files/kept_copies.hpp): a text of 65,000 routes costs as much as the replay of 50,000 operations.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/files/input_file.hpp"
#include "core/files/kept_copies.hpp"
#include "topology/graphs/routes_network.hpp"
#include "topology/graphs/routes_text.hpp"
#include "topology/registry.hpp"

namespace weft::topology::family_routes_file {
namespace {

constexpr std::array<ParamInfo, 3> kRoutesParams = {{
    {"path", "required", "routes file, plain or zstd"},
    {"bw", "the file's", "replaces the bandwidth of every link"},
    {"lat", "the file's", "replaces the latency of every link"},
}};
// Files of less are read faster than a copy is found.
constexpr std::size_t kWorthKeeping = std::size_t{16} << 10;

// Routes of all pairs in one arena, found by binary search in the row of the source.
class TableRouting final : public Routing {
 public:
  explicit TableRouting(RouteTable table) : table_(std::move(table)) {}

  bool route(HostId src, HostId to, std::vector<LinkId>& out) const override {
    if (src == to) return true;
    const auto pairs =
        table_.dst.subspan(table_.row[src.index()], table_.row[src.index() + 1] - table_.row[src.index()]);
    const auto it = std::ranges::lower_bound(pairs, to.index());
    if (it == pairs.end() || *it != to.index()) return false;
    const std::size_t k = table_.row[src.index()] + static_cast<std::size_t>(it - pairs.begin());
    const auto links = table_.links.subspan(table_.offset[k], table_.offset[k + 1] - table_.offset[k]);
    out.insert(out.end(), links.begin(), links.end());
    return true;
  }
  std::string_view name() const override { return "table"; }
  std::optional<HopHistogram> hop_histogram() const override {
    HopHistogram h;
    std::uint64_t reached = 0;
    const auto& [row, dst, offset, links, owner] = table_;
    for (std::size_t s = 0; s + 1 < row.size(); ++s)
      for (std::uint32_t k = row[s]; k < row[s + 1]; ++k)
        if (dst[k] != s) {
          h.add(offset[k + 1] - offset[k], 1);
          ++reached;
        }
    const std::uint64_t n = row.size() - 1;
    h.unreachable = n * (n - 1) - reached;
    return h;
  }

 private:
  RouteTable table_;
};

Result<RoutesNetwork> read_network(const std::string& path) {
  WEFT_ASSIGN(std::string bytes, read_file(path));
  if (bytes.size() < kWorthKeeping) {
    WEFT_ASSIGN(const RoutesText text, read_routes_text(path, std::move(bytes)));
    return network_of(text);
  }
  const KeptCopy copy("routes", bytes);
  if (auto kept = copy.find())
    if (auto network = network_from(std::move(*kept))) return std::move(*network);
  WEFT_ASSIGN(const RoutesText text, read_routes_text(path, std::move(bytes)));
  RoutesNetwork network = network_of(text);
  copy.keep(to_bytes(network));
  return network;
}

Result<Fabric> build_routes(const Params& params) {
  const Params::Entry* entry = params.find("path");
  if (entry == nullptr || entry->value.empty())
    return bad_input(params.where(), "key path is missing", {}, "routes:path=FILE");
  for (const std::string_view key : {"hosts_per_switch", "routing"})
    if (params.has(key)) return params.error(key, "a routes file fixes this", "no such key");
  WEFT_ASSIGN(const LinkValues override_values, params.values_beside_file());

  WEFT_ASSIGN(RoutesNetwork n, read_network(entry->value));
  FabricBuilder b(n.hosts, n.vertices, n.hosts_pass_on ? n.vertices : n.vertices - n.hosts);
  const std::uint8_t link_class = b.add_class("link");
  std::uint8_t fatpipe_class = link_class;
  if (std::ranges::count(n.fatpipe, 1) > 0) {
    fatpipe_class = b.add_class(std::string(kFatpipe));
    const std::array<std::uint8_t, 2> all = {link_class, fatpipe_class};
    b.set_group_classes(all);
  }
  for (std::uint32_t l = 0, port = 0; l < n.from.size(); ++l) {
    port = l > 0 && n.from[l] == n.from[l - 1] ? port + 1 : 0;
    b.link(n.from[l], port, n.to[l], n.fatpipe[l] == 1 ? fatpipe_class : link_class,
           {params.has("bw") ? override_values.bandwidth : Bandwidth(n.capacity[l]),
            params.has("lat") ? override_values.latency : n.latency[l]});
  }
  b.set_routing(std::make_shared<TableRouting>(std::move(n.routes)));
  b.set_link_names(std::move(n.names));
  if (!n.wiring_known) b.set_wiring_unknown();
  b.set_vertex_names([hosts = n.hosts](VertexId v) {
    return v.index() < hosts ? fmt::format("node-{}", v.index())
                             : fmt::format("switch-{}", v.index() - hosts);
  });
  return b.build();
}

}  // namespace

Family family() { return {kRoutesParams, build_routes, "path=net.routes"}; }

}  // namespace weft::topology::family_routes_file
