#include "predict/hpl_choices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

#include "core/counted.hpp"
#include "core/quantity_text.hpp"
#include "hpl_gen/grid.hpp"
#include "hpl_gen/node_grid.hpp"
#include "topology/placement/locality.hpp"

namespace weft::predict {
namespace {

constexpr double kMostBytes = 9e18;  // that a number of Bytes holds; the largest orders take more

// How a run's ranks share out hosts.
struct HostsUsed {
  std::uint32_t fullest = 0;  // ranks of the host that has most
  std::size_t count = 0;
};

Result<HostsUsed> hosts_used(const topology::Platform& platform, int ranks, std::string_view map,
                             std::uint64_t seed) {
  WEFT_ASSIGN(const auto hosts,
              topology::place_ranks(platform, static_cast<std::uint32_t>(ranks), map, seed));
  std::unordered_map<std::uint32_t, std::uint32_t> of_host;
  HostsUsed out;
  for (const HostId h : hosts) out.fullest = std::max(out.fullest, ++of_host[h.index()]);
  out.count = of_host.size();
  return out;
}

// How many ranks each node has. Errors: nodes differ.
Result<int> ranks_on_each(const topology::Fabric& fabric, const std::vector<HostId>& placement) {
  std::unordered_map<std::uint32_t, int> of_node;
  for (const HostId h : placement) ++of_node[topology::node_of(fabric, h).index()];
  const int on_first = of_node[topology::node_of(fabric, placement.front()).index()];
  for (const HostId h : placement)
    if (const int here = of_node[topology::node_of(fabric, h).index()]; here != on_first)
      return bad_input({}, "nodes have different numbers of processes, on which rocHPL stops",
                       fmt::format("{} on that of {}, {} on that of {}", on_first,
                                   fabric.host_name(placement.front()), here, fabric.host_name(h)),
                       "so many ranks and such a --map that all nodes have alike");
  return on_first;
}

// Bytes of the matrix that each of the ranks holds.
double matrix_share(double order, int ranks) { return 8 * order * order / ranks; }

// What of that is in its host's memory: accelerators hold theirs themselves, as far as it is said that they have room.
double in_host_memory(const hpl_gen::HplConfig& c) {
  const double share = matrix_share(static_cast<double>(c.n), c.ranks());
  if (!hpl_gen::on_accelerators(c.program)) return share;
  const auto device = static_cast<double>(c.rochpl.device_memory);
  return device > 0 ? std::max(0.0, share - device) : 0;
}

}  // namespace

Result<std::int64_t> largest_order(const topology::Platform& platform, int ranks, std::int64_t nb,
                                   std::string_view map, std::uint64_t seed) {
  const std::int64_t host = platform.compute.memory_bytes;
  if (host <= 0)
    return usage_error("--n auto: the platform does not say how much memory a host has", platform.name,
                       "--n N, or host { memory: \"192GiB\" } in the platform file");
  WEFT_ASSIGN(const HostsUsed used, hosts_used(platform, ranks, map, seed));
  const double order =
      std::sqrt(kMemoryShare * static_cast<double>(host) / (matrix_share(1, ranks) * used.fullest));
  if (order < static_cast<double>(nb))
    return usage_error(fmt::format("--n auto: {:.0f} % of the memory holds less than one block of NB = {}",
                                   kMemoryShare * 100, nb),
                       fmt::format("{} on each of {}", show(Bytes(host)), counted(used.count, "host")),
                       "--n N, a smaller NB, or more memory");
  return static_cast<std::int64_t>(order) / nb * nb;
}

Result<int> ranks_on_node(const topology::Platform& platform, int ranks, std::string_view map,
                          std::uint64_t seed) {
  WEFT_ASSIGN(const auto hosts,
              topology::place_ranks(platform, static_cast<std::uint32_t>(ranks), map, seed));
  return ranks_on_each(platform.fabric, hosts);
}

Result<hpl_gen::HplConfig> laid_on_nodes(const hpl_gen::HplConfig& config, const topology::Fabric& fabric,
                                         const std::vector<HostId>& placement) {
  if (config.program != hpl_gen::Program::kRocHpl) return config;
  WEFT_ASSIGN(const int on_node, ranks_on_each(fabric, placement));
  return hpl_gen::with_node_grid(config, on_node);
}

Result<int> all_ranks(const topology::Platform& platform) {
  const std::uint64_t slots =
      std::uint64_t{platform.fabric.rank_hosts()} * std::max(1u, platform.ranks_per_host);
  if (slots > 1u << 24)
    return usage_error("the platform has too many ranks for a default grid", fmt::format("{}", slots),
                       "--p and --q");
  return static_cast<int>(slots);
}

Result<ChosenDat> complete_dat(hpl_gen::HplDat dat, const Open& open, const topology::Platform& platform,
                               std::string_view map, std::uint64_t seed) {
  ChosenDat out;
  out.dat = std::move(dat);
  if (open.nb) {
    out.dat.nb = {kDefaultNb};
    out.chosen.push_back(fmt::format("NB = {} (the default)", kDefaultNb));
  }
  if (open.grid) {
    WEFT_ASSIGN(const int slots, all_ranks(platform));
    int on_node = 0;
    if (out.dat.program == hpl_gen::Program::kRocHpl) {
      WEFT_ASSIGN(on_node, ranks_on_node(platform, slots, map, seed));
    }
    const auto g = hpl_gen::most_square(
        slots, [&](const hpl_gen::Grid& grid) { return hpl_gen::takes_grid(out.dat, grid, on_node); });
    if (!g) {
      const auto side = [](int said) { return said > 0 ? fmt::format("{}", said) : std::string("any"); };
      return usage_error(
          "no grid of all ranks is made of whole nodes of --local-p x --local-q",
          fmt::format("{} x {}, {}{}", side(out.dat.rochpl.local_p), side(out.dat.rochpl.local_q),
                      counted(static_cast<std::uint64_t>(slots), "rank"),
                      on_node > 0 ? fmt::format(", {} on a node", on_node) : std::string()),
          "--p and --q");
    }
    out.dat.grids = {*g};
    out.chosen.push_back(slots == 1 ? std::string("P x Q = 1 x 1 (the only rank)")
                                    : fmt::format("P x Q = {} x {} (all {} ranks)", g->p, g->q, slots));
  }
  if (open.n) {
    // What fits on every one of the grids.
    std::int64_t n = std::numeric_limits<std::int64_t>::max();
    for (const auto& g : out.dat.grids) {
      WEFT_ASSIGN(const std::int64_t most, largest_order(platform, g.p * g.q, out.dat.nb.front(), map, seed));
      n = std::min(n, most);
    }
    out.dat.n = {n};
    out.chosen.push_back(fmt::format("N = {} ({:.0f} % of memory)", n, kMemoryShare * 100));
  }
  return out;
}

std::vector<std::string> memory_warnings(const topology::Platform& platform,
                                         const std::vector<hpl_gen::HplConfig>& configs, std::string_view map,
                                         std::uint64_t seed) {
  const auto memory = static_cast<double>(platform.compute.memory_bytes);
  if (memory <= 0) return {};
  std::map<int, std::uint32_t> fullest;  // by ranks; 0 = they cannot be placed, which the run says
  std::set<std::tuple<std::int64_t, int, int>> sizes, too_large;
  const hpl_gen::HplConfig* worst = nullptr;
  double most = memory;
  for (const hpl_gen::HplConfig& c : configs) {
    if (!sizes.emplace(c.n, c.p, c.q).second) continue;
    const auto [of, first] = fullest.try_emplace(c.ranks(), 0);
    if (first) {
      const auto used = hosts_used(platform, c.ranks(), map, seed);
      if (used) of->second = used->fullest;
    }
    const double bytes = in_host_memory(c) * of->second;
    if (bytes <= memory) continue;
    too_large.emplace(c.n, c.p, c.q);
    if (bytes > most) most = bytes, worst = &c;
  }
  if (worst == nullptr) return {};
  return {fmt::format("N = {} on {} x {} does not fit: its matrix takes {} of a host that has {}{}", worst->n,
                      worst->p, worst->q, show(Bytes(static_cast<std::int64_t>(std::min(most, kMostBytes)))),
                      show(Bytes(platform.compute.memory_bytes)),
                      too_large.size() == 1 ? std::string()
                                            : fmt::format("; {} of {} do not fit", too_large.size(),
                                                          counted(sizes.size(), "size")))};
}

}  // namespace weft::predict
