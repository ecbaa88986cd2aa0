#include "traces/formats/otf2/definitions.hpp"

#include <fmt/format.h>
#include <otf2/otf2.h>

#include <algorithm>

#include "traces/weft/format.hpp"

namespace weft::traces::otf2 {

Result<void> Definitions::finish(const std::string& path) {
  if (ticks_per_second == 0)
    return bad_input(path, "the clock has no resolution", "0", "ticks per second in ClockProperties");

  // Ranks: the locations that MPI knows, in its order.
  const Group* world_group = nullptr;
  for (const std::uint32_t g : group_order) {
    const Group& group = groups.at(g);
    if (group.type == OTF2_GROUP_TYPE_COMM_LOCATIONS && group.paradigm == OTF2_PARADIGM_MPI) {
      world_group = &group;
      break;
    }
  }
  if (world_group == nullptr || world_group->members.empty())
    return bad_input(path, "the archive names no locations of MPI", {},
                     "a group of type COMM_LOCATIONS and paradigm MPI, as in an archive of an MPI program");
  if (world_group->members.size() > format::kMaxRanks)
    return bad_input(path, "the trace has too many ranks", std::to_string(world_group->members.size()),
                     fmt::format("at most {}", format::kMaxRanks));
  rank_locations = world_group->members;
  std::unordered_map<std::uint64_t, std::int32_t> rank_of;
  std::unordered_map<std::uint32_t, std::uint32_t> rank_of_process;
  bool hosts = false;
  for (std::size_t r = 0; r < rank_locations.size(); ++r) {
    const auto it = locations.find(rank_locations[r]);
    if (it == locations.end())
      return bad_input(path, fmt::format("rank {} of MPI is a location that is not defined", r),
                       std::to_string(rank_locations[r]), "a location of the archive");
    if (!rank_of.emplace(rank_locations[r], static_cast<std::int32_t>(r)).second)
      return bad_input(path, fmt::format("rank {} of MPI is a location that another rank has", r),
                       std::to_string(rank_locations[r]), "one location for each rank");
    rank_of_process.emplace(it->second.group, static_cast<std::uint32_t>(r));
    std::string host;
    if (const auto p = processes.find(it->second.group); p != processes.end())
      if (const auto n = node_names.find(p->second.node); n != node_names.end()) host = text(n->second);
    hosts |= !host.empty();
    hostnames.push_back(std::move(host));
  }
  if (!hosts) hostnames.clear();

  for (const std::uint64_t l : location_order) {
    if (rank_of.contains(l)) continue;
    const Location& location = locations.at(l);
    switch (location.type) {
      case OTF2_LOCATION_TYPE_CPU_THREAD:
        ++skipped.threads;
        if (const auto p = rank_of_process.find(location.group); p != rank_of_process.end())
          other_threads.emplace_back(l, p->second);
        break;
      case OTF2_LOCATION_TYPE_ACCELERATOR_STREAM:
        ++skipped.gpus;
        break;
      case OTF2_LOCATION_TYPE_METRIC:
        ++skipped.metrics;
        break;
      default:
        ++skipped.others;
    }
  }

  for (auto& [ref, region] : regions) {
    region.call = classify(text(region.name), region.mpi);
    // The canonical name is the function's where the name is for people.
    if (region.call.cls == CallClass::user || (region.mpi && region.call.cls == CallClass::local))
      if (const MpiCall c = classify(text(region.canonical), region.mpi); c.cls != CallClass::user)
        region.call = c;
  }

  for (auto& [ref, comm] : comms) {
    if (comm.kind == CommKind::inter) continue;
    const auto g = groups.find(comm.group);
    if (g == groups.end()) continue;
    const Group& group = g->second;
    if (group.paradigm != OTF2_PARADIGM_MPI) {
      comm.kind = CommKind::not_mpi;
      continue;
    }
    if (group.type == OTF2_GROUP_TYPE_COMM_SELF) {
      comm.kind = CommKind::self;
      continue;
    }
    if (group.type != OTF2_GROUP_TYPE_COMM_GROUP) continue;
    auto [at, fresh] = members_.try_emplace(comm.group);
    if (fresh) {
      std::vector<bool> seen(rank_locations.size());
      for (const std::uint64_t m : group.members) {
        std::uint64_t rank = m;
        if (group.global_members) {
          const auto r = rank_of.find(m);
          rank = r == rank_of.end() ? rank_locations.size() : static_cast<std::uint64_t>(r->second);
        }
        if (rank >= rank_locations.size() || seen[rank])
          return bad_input(
              path,
              fmt::format("a member of group {} {}", comm.group,
                          rank >= rank_locations.size() ? "is no rank of MPI" : "is there twice"),
              std::to_string(m), fmt::format("each of 0 to {} once", rank_locations.size() - 1));
        seen[rank] = true;
        at->second.push_back(static_cast<std::int32_t>(rank));
      }
    }
    if (at->second.empty()) continue;
    comm.kind = CommKind::normal;
    comm.members = &at->second;
  }

  // The world: by name, else the first communicator of all ranks in order.
  std::uint32_t first_named = kUndefined32, first_whole = kUndefined32;
  for (const auto& [ref, comm] : comms) {
    if (comm.kind != CommKind::normal || comm.members->size() != rank_locations.size() ||
        !std::ranges::is_sorted(*comm.members))
      continue;
    const auto before = [this, order = comm.order](std::uint32_t other) {
      return other == kUndefined32 || order < comms.at(other).order;
    };
    if (before(first_whole)) first_whole = ref;
    if (text(comm.name) == "MPI_COMM_WORLD" && before(first_named)) first_named = ref;
  }
  world = first_named != kUndefined32 ? first_named : first_whole;
  groups.clear();
  return {};
}

}  // namespace weft::traces::otf2
