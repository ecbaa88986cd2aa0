#include "topology/pcie/copy_ends.hpp"

#include <map>

#include "topology/pcie/forest.hpp"

namespace weft::topology {
namespace {

// The first of those that are fewest links away; none: there are none.
HostId nearest(const PcieForest& forest, HostId to, const std::vector<HostId>& among) {
  HostId best;
  std::size_t least = 0;
  std::vector<LinkId> path;
  for (const HostId h : among) {
    path.clear();
    forest.path(VertexId(to.index()), VertexId(h.index()), path);
    if (best.valid() && path.size() >= least) continue;
    best = h;
    least = path.size();
  }
  return best;
}

}  // namespace

Result<std::vector<CopyEnds>> copy_ends(const Fabric& fabric, const std::vector<HostId>& placement) {
  const PcieForest* forest = fabric.pcie();
  std::map<std::uint32_t, std::vector<HostId>> memories;  // by root of their tree
  std::vector<HostId> memory_of(fabric.host_count());     // by GPU
  std::map<std::uint32_t, std::vector<HostId>> gpus_of;   // by memory
  if (forest != nullptr) {
    for (std::uint32_t h = 0; h < fabric.host_count(); ++h)
      if (forest->kind[h] == PcieKind::kMemory) memories[forest->root(VertexId(h)).index()].emplace_back(h);
    for (std::uint32_t h = 0; h < fabric.host_count(); ++h) {
      if (forest->kind[h] != PcieKind::kGpu) continue;
      const auto tree = memories.find(forest->root(VertexId(h)).index());
      if (tree == memories.end()) continue;
      memory_of[h] = nearest(*forest, HostId(h), tree->second);
      gpus_of[memory_of[h].index()].emplace_back(h);
    }
  }
  std::map<std::uint32_t, std::size_t> dealt;  // by memory
  std::vector<CopyEnds> out;
  out.reserve(placement.size());
  for (const HostId h : placement) {
    if (const auto gpus = gpus_of.find(h.index()); gpus != gpus_of.end())
      out.push_back({gpus->second[dealt[h.index()]++ % gpus->second.size()], h});
    else if (memory_of[h.index()].valid())
      out.push_back({h, memory_of[h.index()]});
    else
      return bad_input({}, "copies over links by a rank that has no accelerator and host memory",
                       fabric.host_name(h), "a PCIe tree with GPUs and mem=on, and ranks on either of them");
  }
  return out;
}

}  // namespace weft::topology
