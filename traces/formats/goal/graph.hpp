// The dependencies of a rank's operations from both of their sides.
// Memory: 12 bytes an operation, 8 a dependency.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <span>
#include <vector>

#include "core/result.hpp"
#include "traces/formats/goal/schedule.hpp"

namespace weft::traces::goal {

template <class T>
using LeastFirst = std::priority_queue<T, std::vector<T>, std::greater<>>;

// Leaves one of several dependencies between the same two operations: that on the end, if there is one. Those that are left are in the
// order of those that depend, and of what these depend on.
void drop_doubles(std::vector<Dependency>& all);

// Who stands at the other end of each dependency of each operation. An end is the other operation, with kAtStart where
// a start is enough.
class Ends {
 public:
  Ends(const std::vector<Dependency>& all, std::size_t operations, bool of_later) : from_(operations + 1, 0) {
    const auto key = [of_later](const Dependency& d) {
      return of_later ? d.later : d.earlier & ~Dependency::kAtStart;
    };
    for (const Dependency& d : all) ++from_[key(d) + 1];
    for (std::size_t i = 1; i < from_.size(); ++i) from_[i] += from_[i - 1];
    ends_.resize(all.size());
    std::vector<std::uint32_t> next(from_.begin(), from_.end() - 1);
    for (const Dependency& d : all)
      ends_[next[key(d)]++] = of_later ? d.earlier : d.later | (d.earlier & Dependency::kAtStart);
  }
  [[nodiscard]] std::span<const std::uint32_t> of(std::uint32_t v) const {
    return {ends_.data() + from_[v], ends_.data() + from_[v + 1]};
  }

 private:
  std::vector<std::uint32_t> from_;
  std::vector<std::uint32_t> ends_;
};

struct Graph {
  // It takes the dependencies out of `s`: their memory is free before the rest is needed. REQUIRES: no doubles.
  explicit Graph(Schedule& s);

  Ends later, earlier;
  std::vector<std::uint32_t> required;  // by operation: how many dependencies it has
};

// That dependencies go round in a circle: `never` tells of each operation whether it could not start. REQUIRES: one could not.
[[nodiscard]] Error circle(const std::vector<Operation>& ops, const Graph& graph, const Place& place,
                           const std::function<bool(std::uint32_t)>& never);

}  // namespace weft::traces::goal
