#include "schedule/symmetry.hpp"

#include <algorithm>
#include <map>
#include <numeric>

namespace weft::schedule {
namespace {

constexpr std::uint32_t kNone = 0xffffffffu;

class Search {
 public:
  Search(std::uint32_t points, const std::vector<Arc>& arcs, std::span<const std::uint32_t> color,
         std::uint64_t budget)
      : n_(points), arcs_(arcs), color_(color), budget_(budget) {
    pair_.assign(static_cast<std::size_t>(n_) * n_, {});
    for (std::uint32_t a = 0; a < arcs.size(); ++a) {
      pair_[static_cast<std::size_t>(arcs[a].src) * n_ + arcs[a].dst].push_back(a);
    }
    for (auto& list : pair_) {
      std::stable_sort(list.begin(), list.end(),
                       [&](std::uint32_t a, std::uint32_t b) { return arcs[a].label < arcs[b].label; });
    }
    link_image_.assign(color.size(), kNone);
    link_source_.assign(color.size(), kNone);
    image_.assign(n_, kNone);
    used_.assign(n_, 0);
  }

  // A symmetry that fixes 0..fixed-1 and takes `fixed` to `target`.
  bool find(std::uint32_t fixed, std::uint32_t target, Permutation& out) {
    for (std::uint32_t i = 0; i < fixed; ++i) {
      if (!assign(i, i)) {
        undo(0);
        return false;
      }
    }
    const bool found = assign(fixed, target) && extend(fixed + 1);
    if (found) out = image_;
    undo(0);
    return found;
  }
  [[nodiscard]] bool cut() const { return budget_ == 0; }

 private:
  struct Mark {
    std::uint32_t point;
    std::size_t trail;
  };

  bool extend(std::uint32_t point) {
    if (point == n_) return true;
    for (std::uint32_t to = 0; to < n_; ++to) {
      if (used_[to] != 0) continue;
      const std::size_t mark = marks_.size();
      if (assign(point, to) && extend(point + 1)) return true;
      undo(mark);
      if (budget_ == 0) return false;
    }
    return false;
  }
  // False: not possible; the attempt must be undone all the same.
  bool assign(std::uint32_t point, std::uint32_t to) {
    marks_.push_back({point, trail_.size()});
    if (budget_ > 0) --budget_;
    image_[point] = to;
    used_[to] = 1;
    for (std::uint32_t i = 0; i < n_; ++i) {
      if (image_[i] == kNone) continue;
      if (!match(i, point) || (i != point && !match(point, i))) return false;
    }
    return true;
  }
  bool match(std::uint32_t a, std::uint32_t b) {
    const auto& from = pair_[static_cast<std::size_t>(a) * n_ + b];
    const auto& to = pair_[static_cast<std::size_t>(image_[a]) * n_ + image_[b]];
    if (from.size() != to.size()) return false;
    for (std::size_t k = 0; k < from.size(); ++k) {
      const Arc& x = arcs_[from[k]];
      const Arc& y = arcs_[to[k]];
      if (x.label != y.label || x.route.size() != y.route.size()) return false;
      for (std::size_t h = 0; h < x.route.size(); ++h) {
        const std::uint32_t l = x.route[h];
        const std::uint32_t m = y.route[h];
        if (link_image_[l] == m) continue;
        if (link_image_[l] != kNone || link_source_[m] != kNone || color_[l] != color_[m]) return false;
        link_image_[l] = m;
        link_source_[m] = l;
        trail_.push_back(l);
      }
    }
    return true;
  }
  void undo(std::size_t to) {
    while (marks_.size() > to) {
      const Mark m = marks_.back();
      marks_.pop_back();
      used_[image_[m.point]] = 0;
      image_[m.point] = kNone;
      for (; trail_.size() > m.trail; trail_.pop_back()) {
        link_source_[link_image_[trail_.back()]] = kNone;
        link_image_[trail_.back()] = kNone;
      }
    }
  }

  std::uint32_t n_;
  const std::vector<Arc>& arcs_;
  std::span<const std::uint32_t> color_;
  std::uint64_t budget_;
  std::vector<std::vector<std::uint32_t>> pair_;
  std::vector<std::uint32_t> link_image_;
  std::vector<std::uint32_t> link_source_;
  std::vector<std::uint32_t> trail_;
  std::vector<Mark> marks_;
  Permutation image_;
  std::vector<std::uint8_t> used_;
};

struct TiedArcs {
  std::vector<Arc> arcs;
  std::vector<std::uint32_t> color;
};

// A tie is one more link, of a color that no link has, behind those of every route that crosses a link of it: a bijection of
// links is one of ties then.
TiedArcs with_ties(const std::vector<Arc>& arcs, std::span<const std::uint32_t> color,
                   std::span<const std::uint32_t> tie) {
  TiedArcs out{arcs, {color.begin(), color.end()}};
  const auto links = static_cast<std::uint32_t>(color.size());
  std::uint32_t ties = 0;
  for (const std::uint32_t t : tie)
    if (t != kNoTie) ties = std::max(ties, t + 1);
  if (ties == 0) return out;
  out.color.resize(std::size_t{links} + ties, *std::max_element(color.begin(), color.end()) + 1);
  for (std::size_t a = 0; a < arcs.size(); ++a)
    for (const std::uint32_t l : arcs[a].route)
      if (tie[l] != kNoTie) out.arcs[a].route.push_back(links + tie[l]);
  return out;
}

}  // namespace

SymmetryGroup find_symmetry(std::uint32_t points, const std::vector<Arc>& arcs,
                            std::span<const std::uint32_t> color, std::span<const std::uint32_t> tie,
                            std::uint64_t budget) {
  SymmetryGroup group;
  const TiedArcs tied = with_ties(arcs, color, tie);
  Search search(points, tied.arcs, tied.color, budget);
  for (std::uint32_t i = points; i-- > 0;) {
    // The orbit of i under the symmetries that fix all before it; generators so far fix 0..i.
    std::vector<std::uint8_t> in_orbit(points, 0);
    std::vector<std::uint32_t> orbit{i};
    in_orbit[i] = 1;
    const auto close = [&] {
      for (std::size_t k = 0; k < orbit.size(); ++k) {
        for (const Permutation& g : group.generators) {
          if (in_orbit[g[orbit[k]]] != 0) continue;
          in_orbit[g[orbit[k]]] = 1;
          orbit.push_back(g[orbit[k]]);
        }
      }
    };
    for (std::uint32_t to = i + 1; to < points; ++to) {
      if (in_orbit[to] != 0) continue;
      Permutation g;
      if (search.find(i, to, g)) {
        group.generators.push_back(std::move(g));
        close();
      }
      if (search.cut()) group.complete = false;
    }
    group.order *= static_cast<double>(orbit.size());
    if (!group.complete) break;
  }
  return group;
}

Orbits::Orbits(std::uint32_t n) : parent_(n) { std::iota(parent_.begin(), parent_.end(), 0u); }

std::uint32_t Orbits::find(std::uint32_t a) {
  while (parent_[a] != a) {
    parent_[a] = parent_[parent_[a]];
    a = parent_[a];
  }
  return a;
}

void Orbits::join(std::uint32_t a, std::uint32_t b) {
  a = find(a);
  b = find(b);
  if (a == b) return;
  parent_[std::max(a, b)] = std::min(a, b);
}

}  // namespace weft::schedule
