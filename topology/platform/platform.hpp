// Platform: a fabric plus what runs at its endpoints: host speed, ranks per host, MPI parameters.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "core/units.hpp"
#include "topology/fabric.hpp"
#include "topology/platform/compute_model.hpp"

namespace weft::topology {

// Seconds for payloads of `from` bytes and more, up to the next segment.
struct CostSegment {
  std::int64_t from = 0;
  double intercept = 0, per_byte = 0;
};
// Factors on a route for payloads of `from` bytes and more.
struct TransferSegment {
  std::int64_t from = 0;
  double latency_factor = 1, bandwidth_factor = 1;
};

// MPI library parameters of a platform (docs/kernels.md, "Messages"). Defaults are "assumed" and reported as
// such.
struct MpiParameters {
  Bytes eager_limit{65536};           // payloads up to and including it are sent eagerly
  Duration send_overhead{0};          // CPU time of a send call
  Duration recv_overhead{0};          // CPU time of completing a receive
  double send_overhead_per_byte = 0;  // seconds per byte, eager copies
  double recv_overhead_per_byte = 0;
  Duration local_latency{0};   // messages within a host
  double local_bandwidth = 0;  // bytes/s within a host; 0 = takes no time
  // By message size; each list starts at 0 bytes and ascends, or is empty: then the plain figures above hold.
  std::vector<CostSegment> send_cost, isend_cost, recv_cost;
  std::vector<TransferSegment> transfer;
  std::vector<CostSegment> local_transfer;  // time of a message within a host
  // Of messages that a rank polls for after a computation; ascending from any size, empty: as all others.
  std::vector<CostSegment> loaded_transfer, loaded_local_transfer;
  Duration iprobe_cost{0};                         // processor time of a poll
  Duration test_cost{0};                           // ... of a successful test
  std::map<std::string, std::string> collectives;  // collective -> algorithm name, over what the rules select
  std::string collective_rules;                    // whose rules select; empty = the default ones
  // Where they were read, for errors of who knows the names: by collective, the rules as "".
  std::map<std::string, std::string> chosen_where;
  std::vector<std::string> assumed;  // names of the parameters that nobody set
  [[nodiscard]] bool piecewise() const {
    return !(send_cost.empty() && recv_cost.empty() && transfer.empty() && local_transfer.empty());
  }
};

struct Platform {
  std::string name;   // as the user wrote it, or the textproto's name
  std::string label;  // short name for tables that the user gave; may be empty
  Fabric fabric;
  std::vector<double> host_speed;  // flop/s per host, mean over its sockets; size 1 = all equal
  bool speed_assumed = false;      // nobody gave it: kDefaultSpeed (params.hpp)
  std::vector<std::string>
      assumed_links;  // of bw and lat those that nobody gave: kDefaultBandwidth, kDefaultLatency
  std::uint32_t ranks_per_host = 1;
  MpiParameters mpi;
  ComputeModel compute;               // kernels; classes[0].speed = host_speed where all hosts are equal
  std::string family;                 // "fat-tree", "torus", ...
  std::string summary;                // one line for people; empty for shorthand
  std::vector<std::string> warnings;  // what its file says and nobody reads, one sentence each
  [[nodiscard]] FlopRate speed(HostId h) const {
    return FlopRate(host_speed.size() == 1 ? host_speed[0] : host_speed[h.index()]);
  }
};

// What is changed about a platform before it is built.
struct PlatformChanges {
  std::vector<std::string>
      set{};              // "key=value" each: a key of the topology or a dotted field of platform.proto
  std::string routing{};  // empty: the platform's
  std::vector<std::string> failures{};  // as with_failures() takes them (routing/failures.hpp)
  std::uint64_t seed = 0;               // of everything random, where the platform has none of its own
};

// `spec`: a .textproto file, a built-in name, or shorthand "family:key=value,..."; "LABEL=" before it names it in
// tables. Errors: kBadInput/kUsage with the known families, keys or names.
[[nodiscard]] Result<Platform> load_platform(std::string_view spec, const PlatformChanges& changes = {});

// The files that load_platform() opens for these arguments, and what a replay may open for the platform. Names as the
// platform gives them, each once: its own file, that of its node, and values of its keys and the rules of its
// collectives, which need not be files. Errors: the platform's, as far as they show before it is built.
[[nodiscard]] Result<std::vector<std::string>> platform_files(std::string_view spec,
                                                              const PlatformChanges& changes = {});

// Rank -> host, for one job on an empty machine; placement.hpp has the maps, the errors, and more than one
// job.
[[nodiscard]] Result<std::vector<HostId>> place_ranks(const Platform& platform, std::uint32_t ranks,
                                                      std::string_view map, std::uint64_t seed);

}  // namespace weft::topology
