#include "traces/formats/goal/graph.hpp"

#include <algorithm>

namespace weft::traces::goal {
namespace {

// Files name the dependencies of an operation after it, so mostly they are in order but for those of one operation.
template <class Order>
void sort_dependencies(std::vector<Dependency>& all, Order order) {
  if (!std::ranges::is_sorted(all, {}, &Dependency::later)) {
    std::ranges::sort(all, order);
    return;
  }
  for (auto from = all.begin(); from != all.end();) {
    const auto end =
        std::find_if(from, all.end(), [&](const Dependency& d) { return d.later != from->later; });
    std::sort(from, end, order);
    from = end;
  }
}

}  // namespace

void drop_doubles(std::vector<Dependency>& all) {
  const auto key = [](const Dependency& d) {
    return static_cast<std::uint64_t>(d.later) << 32 | (d.earlier << 1 | d.earlier >> 31);
  };
  const auto order = [key](const Dependency& a, const Dependency& b) { return key(a) < key(b); };
  const auto not_before = [key](const Dependency& a, const Dependency& b) {
    return key(a) >> 1 >= key(b) >> 1;
  };
  if (std::ranges::adjacent_find(all, not_before) == all.end()) return;  // mostly
  sort_dependencies(all, order);
  const auto same = [key](const Dependency& a, const Dependency& b) { return key(a) >> 1 == key(b) >> 1; };
  all.erase(std::unique(all.begin(), all.end(), same), all.end());
}

Graph::Graph(Schedule& s)
    : later(s.dependencies, s.ops.size(), false),
      earlier(s.dependencies, s.ops.size(), true),
      required(s.ops.size(), 0) {
  for (const Dependency& d : s.dependencies) ++required[d.later];
  std::vector<Dependency>().swap(s.dependencies);
}

// From an operation that never started, back along what never started, one comes round.
Error circle(const std::vector<Operation>& ops, const Graph& graph, const Place& place,
             const std::function<bool(std::uint32_t)>& never) {
  std::uint32_t v = 0;
  while (!never(v)) ++v;
  std::vector<bool> seen(ops.size(), false);
  while (!seen[v]) {
    seen[v] = true;
    for (const std::uint32_t e : graph.earlier.of(v))
      if (never(e & ~Dependency::kAtStart)) {
        v = e & ~Dependency::kAtStart;
        break;
      }
  }
  return bad_input(place(ops[v]), "the operation requires, along others, itself", {},
                   "dependencies without a circle");
}

}  // namespace weft::traces::goal
