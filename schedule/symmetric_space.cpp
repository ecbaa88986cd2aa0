#include "schedule/symmetric_space.hpp"

#include <algorithm>
#include <numeric>
#include <set>

#include "schedule/exhaustive.hpp"

namespace weft::schedule {
namespace {

constexpr std::size_t kMaxElements = 64;
constexpr std::size_t kMaxPairs = 200;

Permutation after(const Permutation& g, const Permutation& f) {  // f, then g
  Permutation p(f.size());
  for (std::size_t i = 0; i < f.size(); ++i) p[i] = g[f[i]];
  return p;
}

// All products of `generators`, the identity first; at most `limit`.
std::vector<Permutation> closure(std::uint32_t points, const std::vector<Permutation>& generators,
                                 std::size_t limit) {
  Permutation identity(points);
  std::iota(identity.begin(), identity.end(), 0u);
  std::vector<Permutation> all{identity};
  std::set<Permutation> known{identity};
  for (std::size_t i = 0; i < all.size() && all.size() < limit; ++i) {
    for (const Permutation& g : generators) {
      Permutation p = after(g, all[i]);
      if (all.size() < limit && known.insert(p).second) all.push_back(std::move(p));
    }
  }
  return all;
}

// False: the group does not qualify.
bool make_space(const Exchange& e, const std::vector<Permutation>& group, SymmetricSpace& space) {
  space.group_order = static_cast<std::uint32_t>(group.size());
  std::vector<std::uint8_t> done(e.ranks, 0);
  std::vector<std::vector<std::uint32_t>> images;
  images.reserve(group.size());
  for (const Permutation& g : group) images.push_back(message_images(e, g));
  for (std::uint32_t r = 0; r < e.ranks; ++r) {
    if (done[r] != 0) continue;
    SymmetricSpace::Orbit orbit;
    orbit.rank = r;
    done[r] = 1;
    for (std::size_t i = 0; i < group.size(); ++i) {
      const std::uint32_t to = group[i][r];
      std::vector<std::uint32_t> image(images[i].begin() + e.first[r], images[i].begin() + e.first[r + 1]);
      if (to == r) {
        for (std::uint32_t k = 0; k < image.size(); ++k) {
          if (image[k] != e.first[r] + k) return false;
        }
      } else if (done[to] == 0) {
        done[to] = 1;
        orbit.images.push_back({to, std::move(image)});
      }
    }
    if (e.sends(r) < 2) continue;
    for (std::uint32_t k = 2; k <= e.sends(r); ++k) space.schedules *= k;
    space.orbits.push_back(std::move(orbit));
  }
  return true;
}

}  // namespace

std::vector<SymmetricSpace> symmetric_spaces(const Exchange& e, const SymmetryGroup& symmetry) {
  const auto elements = closure(e.ranks, symmetry.generators, kMaxElements);
  std::set<std::vector<Permutation>> known;
  std::vector<SymmetricSpace> spaces;
  const auto consider = [&](const std::vector<Permutation>& generators) {
    auto group = closure(e.ranks, generators, kMaxElements + 1);
    if (group.size() > kMaxElements) return;
    std::sort(group.begin(), group.end());
    if (!known.insert(group).second) return;
    SymmetricSpace space;
    if (make_space(e, group, space)) spaces.push_back(std::move(space));
  };
  std::size_t tried = 0;
  consider({});
  consider(symmetry.generators);
  for (std::size_t i = 1; i < elements.size(); ++i) {
    consider({elements[i]});
    for (std::size_t j = 1; j < i && tried < kMaxPairs; ++j, ++tried) consider({elements[j], elements[i]});
  }
  std::stable_sort(spaces.begin() + 1, spaces.end(), [](const SymmetricSpace& a, const SymmetricSpace& b) {
    return a.schedules < b.schedules;
  });
  return spaces;
}

}  // namespace weft::schedule
