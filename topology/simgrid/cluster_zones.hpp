// Netzones of a <cluster> with a topology: fat-tree, torus, dragonfly, with the links, their names and the routes of SimGrid 3.32.
//
// Members 0..hosts-1 are the hosts in their order. A *limiter* is a link of a host or switch that all that it sends on takes too.
#pragma once

#include <memory>
#include <string>

#include "core/result.hpp"
#include "topology/simgrid/network.hpp"

namespace weft::topology::simgrid {

// What <cluster> says of its links.
struct ClusterLinks {
  double bytes_per_s = 0, latency_s = 0;
  bool fatpipe = false;
  bool split_duplex = true;  // a link each way, else one for both
  double limiter = 0;        // bytes/s; 0: none
};

// Numbers that SimGrid counts on from one cluster to the next: they are part of names, and of a fat-tree's routes.
struct ClusterCounts {
  std::uint32_t fat_tree_hosts = 0, fat_tree_links = 0, dragonfly_links = 0;
};

// `parameters`: "LEVELS;DOWN,...;UP,...;CABLES,...", "X,Y,Z" or "GROUPS,CABLES;CHASSIS,CABLES;ROUTERS,CABLES;NODES". Adds the links to `net`.
// `name`: of the cluster. `limiters`: of the hosts, empty without. Errors: kBadInput at `where`.
[[nodiscard]] Result<std::unique_ptr<Zone>> fat_tree_zone(const std::string& parameters, std::uint64_t hosts,
                                                          const std::string& name, const ClusterLinks& links,
                                                          const std::string& where, Network& net,
                                                          ClusterCounts& counts);
[[nodiscard]] Result<std::unique_ptr<Zone>> torus_zone(const std::string& parameters, std::uint64_t hosts,
                                                       const std::string& name, const ClusterLinks& links,
                                                       const std::string& where, Network& net);
[[nodiscard]] Result<std::unique_ptr<Zone>> dragonfly_zone(const std::string& parameters, std::uint64_t hosts,
                                                           const std::string& name, const ClusterLinks& links,
                                                           const std::string& where, Network& net,
                                                           ClusterCounts& counts);

// Of what these share.
[[nodiscard]] Halves add_duplex(Network& net, const std::string& name, const ClusterLinks& links,
                                double times = 1);
// kNone where the cluster has none.
[[nodiscard]] std::uint32_t add_limiter(Network& net, const std::string& cluster, std::uint64_t number,
                                        const ClusterLinks& links);
// "3,4": exactly `count` whole numbers from 1, any count for 0.
[[nodiscard]] Result<std::vector<std::uint32_t>> shape(std::string_view text, std::size_t count,
                                                       const std::string& where);
// Error: the cluster's radical does not name as many hosts as its shape has.
[[nodiscard]] Result<void> check_hosts(std::uint64_t wanted, std::uint64_t hosts, const std::string& where);
// Error: more of them than a fabric may have.
[[nodiscard]] Result<void> check_shape(std::uint64_t vertices, std::uint64_t cables,
                                       const std::string& where);

}  // namespace weft::topology::simgrid
