// LinksAt: the links that join a vertex to others, in whichever direction. A link for both directions (Fabric::is_two_way) is among
// those of both its ends, though Fabric::first_link() and degree() count it at the one where it begins.
#pragma once

#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "topology/fabric.hpp"

namespace weft::topology {

class LinksAt {
 public:
  // `fabric` must outlive this. O(links + vertices); nothing beside what the fabric has where it has no link for both directions.
  explicit LinksAt(const Fabric& fabric) : f_(fabric) {
    const auto for_each_into = [&](auto visit) {
      for (std::uint32_t l = 0; l < f_.wired_links(); ++l)
        if (f_.is_two_way(LinkId(l)) && f_.links().from[l] != f_.links().to[l])
          visit(f_.links().to[l].index(), l);
    };
    for_each_into([&](std::uint32_t v, std::uint32_t) {
      if (start_.empty()) start_.resize(f_.vertex_count() + std::size_t{1}, 0);
      ++start_[v + 1];
    });
    if (start_.empty()) return;
    std::partial_sum(start_.begin(), start_.end(), start_.begin());
    into_.resize(start_.back());
    std::vector<std::uint32_t> next(start_.begin(), start_.end() - 1);
    for_each_into([&](std::uint32_t v, std::uint32_t l) { into_[next[v]++] = l; });
  }

  // visit(link, vertex at its other end), ascending by link.
  template <class Visit>
  void each(VertexId v, Visit visit) const {
    const std::uint32_t first = f_.first_link(v), end = first + f_.degree(v);
    std::uint32_t k = start_.empty() ? 0 : start_[v.index()];
    const std::uint32_t last = start_.empty() ? 0 : start_[v.index() + 1];
    for (; k < last && into_[k] < first; ++k) visit(LinkId(into_[k]), f_.links().from[into_[k]]);
    for (std::uint32_t l = first; l < end; ++l) visit(LinkId(l), f_.links().to[l]);
    for (; k < last; ++k) visit(LinkId(into_[k]), f_.links().from[into_[k]]);
  }
  [[nodiscard]] std::uint32_t count(VertexId v) const {
    return f_.degree(v) + (start_.empty() ? 0 : start_[v.index() + 1] - start_[v.index()]);
  }
  // Where the first of them leads; `v` itself where it has none.
  [[nodiscard]] VertexId first_neighbour(VertexId v) const {
    VertexId out = v;
    bool found = false;
    each(v, [&](LinkId, VertexId other) {
      if (!std::exchange(found, true)) out = other;
    });
    return out;
  }

 private:
  const Fabric& f_;
  std::vector<std::uint32_t> start_;  // in into_, by vertex; empty: none
  std::vector<std::uint32_t> into_;   // links for both directions that end at a vertex, ascending
};

}  // namespace weft::topology
