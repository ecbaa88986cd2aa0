#include "topology/pcie/forest.hpp"

namespace weft::topology {

VertexId PcieForest::root(VertexId v) const {
  while (parent[v.index()].valid()) v = parent[v.index()];
  return v;
}

void PcieForest::path(VertexId a, VertexId b, std::vector<LinkId>& out) const {
  const auto depth = [&](VertexId v) {
    std::uint32_t d = 0;
    for (; parent[v.index()].valid(); v = parent[v.index()]) ++d;
    return d;
  };
  std::uint32_t da = depth(a), db = depth(b);
  std::size_t descents = 0;
  VertexId top = b;  // where the descent begins
  for (; da > db; --da, a = parent[a.index()]) out.push_back(up[a.index()]);
  for (; db > da; --db, top = parent[top.index()]) ++descents;
  for (; a != top; a = parent[a.index()], top = parent[top.index()], ++descents) out.push_back(up[a.index()]);
  out.resize(out.size() + descents);
  for (std::size_t i = 0; i < descents; ++i, b = parent[b.index()]) out[out.size() - 1 - i] = down[b.index()];
}

}  // namespace weft::topology
