// What the definitions of an OTF2 archive say, as far as a replay needs it: ranks, regions, communicators, the clock.
//
// Numbers ("references") are those of the archive; they need not be dense. Invariant after finish(): members of every
// communicator are world ranks below `ranks`.
// Memory: the definitions; of each group its members once.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/result.hpp"
#include "traces/formats/otf2/mpi_calls.hpp"

namespace weft::traces::otf2 {

inline constexpr std::uint32_t kUndefined32 = 0xffffffffu;

struct Region {
  std::uint32_t name = kUndefined32;  // a string
  std::uint32_t canonical = kUndefined32;
  bool mpi = false;
  MpiCall call;
  std::uint32_t order = 0;  // among the definitions
};

enum class CommKind : std::uint8_t { normal, self, inter, not_mpi, broken };

struct CommDef {
  std::uint32_t name = kUndefined32, group = kUndefined32;
  CommKind kind = CommKind::broken;
  const std::vector<std::int32_t>* members = nullptr;  // world ranks; null unless normal
  std::uint32_t order = 0;
};

struct Location {
  std::uint32_t name = kUndefined32, group = kUndefined32;
  std::uint8_t type = 0;
  std::uint64_t events = 0;
};

class Definitions {
 public:
  // As the library reads them. Ends a reading that found something wrong: `fault`.
  std::unordered_map<std::uint32_t, std::string> strings;
  std::unordered_map<std::uint32_t, Region> regions;
  std::unordered_map<std::uint32_t, CommDef> comms;
  std::unordered_map<std::uint64_t, Location> locations;
  std::vector<std::uint64_t> location_order;
  struct Process {
    std::uint32_t name = kUndefined32, node = kUndefined32;
  };
  std::unordered_map<std::uint32_t, Process> processes;         // location groups
  std::unordered_map<std::uint32_t, std::uint32_t> node_names;  // system tree: its name
  struct Group {
    std::uint8_t type = 0, paradigm = 0;
    bool global_members = false;
    std::vector<std::uint64_t> members;
  };
  std::unordered_map<std::uint32_t, Group> groups;
  std::vector<std::uint32_t> group_order;
  std::uint64_t ticks_per_second = 0;

  // Resolves names and members. Errors: kBadInput at `path`, the file of the definitions.
  Result<void> finish(const std::string& path);

  [[nodiscard]] std::uint32_t ranks() const { return static_cast<std::uint32_t>(rank_locations.size()); }
  [[nodiscard]] std::string text(std::uint32_t string) const {
    const auto it = strings.find(string);
    return it == strings.end() ? std::string() : it->second;
  }
  [[nodiscard]] std::string region_name(std::uint32_t region) const {
    const auto it = regions.find(region);
    return it == regions.end() ? "region " + std::to_string(region) : text(it->second.name);
  }

  // After finish().
  std::vector<std::uint64_t> rank_locations;  // by world rank
  std::vector<std::string> hostnames;
  std::uint32_t world = kUndefined32;  // the communicator that is the world, if one is
  struct Skipped {
    std::uint64_t threads = 0, gpus = 0, metrics = 0, others = 0;
  };
  Skipped skipped;  // locations that are no rank
  // Threads of ranks beside the one that MPI knows: (location, rank).
  std::vector<std::pair<std::uint64_t, std::uint32_t>> other_threads;

 private:
  std::unordered_map<std::uint32_t, std::vector<std::int32_t>> members_;  // of groups
};

}  // namespace weft::traces::otf2
