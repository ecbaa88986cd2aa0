#include "topology/routing/no_route.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <utility>
#include <vector>

#include "topology/pcie/forest.hpp"

namespace weft::topology {
namespace {

constexpr std::size_t kCardsNamed = 8;

// Those of the tree that a host is in, as a list for people.
std::string cards_beside(const Fabric& f, HostId host) {
  const PcieForest& forest = *f.pcie();
  const VertexId root = forest.root(VertexId(host.index()));
  std::vector<std::string> names;
  for (std::uint32_t v = 0; v < f.vertex_count() && names.size() <= kCardsNamed; ++v)
    if (forest.kind[v] == PcieKind::kNic && forest.root(VertexId(v)) == root)
      names.push_back(names.size() < kCardsNamed ? f.vertex_name(VertexId(v)) : "...");
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

Error no_route(const Fabric& f, HostId from, HostId to, std::string where) {
  std::string expected = "hosts that the platform connects";
  if (f.pcie() != nullptr)
    expected = fmt::format("a network that joins a card of the one ({}) to one of the other ({})",
                           cards_beside(f, from), cards_beside(f, to));
  return bad_input(std::move(where), "no route", fmt::format("{} to {}", f.host_name(from), f.host_name(to)),
                   expected);
}

}  // namespace weft::topology
