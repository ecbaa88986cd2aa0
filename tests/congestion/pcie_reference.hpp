// The arbitration procedure of PcieArbiter once more: exact fractions, step by step as the model states it,
// with none of the fast one's short cuts (back-pressure is swept until nothing changes, members are looked up
// by walking parents). For a tree with paths from leaf to leaf.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "tests/congestion/fraction.hpp"

namespace weft::testing {

struct ReferenceTree {
  std::vector<int> parent;         // -1: the root
  std::vector<Fraction> up, down;  // capacity
  std::vector<bool> root_complex;
  Fraction tau;
};

struct ReferenceFactors {
  std::vector<Fraction> offered, downstream, back_pressure, rho;
};

class PcieReference {
 public:
  PcieReference(const ReferenceTree& tree, const std::vector<std::pair<int, int>>& pairs) : tree_(tree) {
    for (auto [s, d] : pairs) paths_.push_back(path(s, d));
  }

  // The procedure, on each connected component (communications linked by shared links) by itself.
  [[nodiscard]] ReferenceFactors solve() const {
    const std::size_t n = paths_.size();
    std::vector<std::size_t> component(n);
    for (std::size_t c = 0; c < n; ++c) component[c] = c;
    for (std::size_t round = 0; round < n; ++round) {
      for (std::size_t a = 0; a < n; ++a) {
        for (std::size_t b = 0; b < n; ++b) {
          if (meet(paths_[a].up, paths_[b].up) || meet(paths_[a].down, paths_[b].down))
            component[a] = component[b] = std::min(component[a], component[b]);
        }
      }
    }
    ReferenceFactors all;
    for (auto* column : {&all.offered, &all.downstream, &all.back_pressure, &all.rho}) column->resize(n);
    for (std::size_t root = 0; root < n; ++root) {
      if (component[root] != root) continue;
      PcieReference part(tree_, {});
      std::vector<std::size_t> at;
      for (std::size_t c = root; c < n; ++c) {
        if (component[c] != root) continue;
        part.paths_.push_back(paths_[c]);
        at.push_back(c);
      }
      const ReferenceFactors f = part.solve_component();
      for (std::size_t i = 0; i < at.size(); ++i) {
        all.offered[at[i]] = f.offered[i];
        all.downstream[at[i]] = f.downstream[i];
        all.back_pressure[at[i]] = f.back_pressure[i];
        all.rho[at[i]] = f.rho[i];
      }
    }
    return all;
  }
  // The procedure on all at once, as the specification's text has it.
  [[nodiscard]] ReferenceFactors solve_component() const {
    ReferenceFactors f;
    const std::size_t n = paths_.size();
    std::vector<Fraction> rho(n, Fraction(1));
    std::map<int, std::map<std::size_t, Fraction>> shares;  // arbitrated up link -> member -> share
    for (int v : by_depth(true)) {
      Fraction sum;
      const auto members = on_up(v);
      for (auto c : members) sum += rho[c];
      if (!(sum > tree_.up[v])) continue;
      for (auto c : members) shares[v][c] = rho[c] = rho[c] * tree_.up[v] / sum;
    }
    sweep(rho, shares);
    f.offered = rho;
    std::vector<bool> frozen(n, false);
    descend(rho, frozen);
    f.downstream = rho;
    bool slowed = false;
    while (sweep(rho, shares)) slowed = true;
    f.back_pressure = rho;
    if (slowed) {
      for (const auto& [link, members] : shares) {
        for (const auto& [c, s] : members) frozen[c] = true;
      }
      for (std::size_t c = 0; c < n; ++c) {
        if (!frozen[c]) rho[c] = f.offered[c];
      }
      descend(rho, frozen);
    }
    f.rho = rho;
    return f;
  }

 private:
  static bool meet(const std::vector<int>& a, const std::vector<int>& b) {
    return std::any_of(a.begin(), a.end(), [&](int v) { return std::count(b.begin(), b.end(), v) > 0; });
  }
  struct Path {
    std::vector<int> up, down;  // nodes that own the links
    bool crosses = false;
  };

  [[nodiscard]] int depth(int v) const { return tree_.parent[v] < 0 ? 0 : 1 + depth(tree_.parent[v]); }
  [[nodiscard]] Path path(int s, int d) const {
    std::set<int> above;
    for (int v = s; v >= 0; v = tree_.parent[v]) above.insert(v);
    Path p;
    int top = d;
    for (; !above.contains(top); top = tree_.parent[top]) p.down.insert(p.down.begin(), top);
    for (int v = s; v != top; v = tree_.parent[v]) p.up.push_back(v);
    p.crosses = tree_.root_complex[top];
    return p;
  }
  [[nodiscard]] std::vector<int> by_depth(bool deepest_first) const {
    std::vector<int> order;
    for (int v = 0; v < static_cast<int>(tree_.parent.size()); ++v) {
      if (tree_.parent[v] >= 0) order.push_back(v);
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](int a, int b) { return deepest_first ? depth(a) > depth(b) : depth(a) < depth(b); });
    return order;
  }
  [[nodiscard]] std::vector<std::size_t> on_up(int v) const {
    std::vector<std::size_t> members;
    for (std::size_t c = 0; c < paths_.size(); ++c) {
      if (std::count(paths_[c].up.begin(), paths_[c].up.end(), v) > 0) members.push_back(c);
    }
    return members;
  }
  // Shallowest first; true if anything changed.
  bool sweep(std::vector<Fraction>& rho, const std::map<int, std::map<std::size_t, Fraction>>& shares) const {
    bool changed = false;
    for (int v : by_depth(false)) {
      const auto at = shares.find(v);
      if (at == shares.end()) continue;
      Fraction f(1000000);
      for (const auto& [c, s] : at->second) f = std::min(f, rho[c] / s);
      for (const auto& [c, s] : at->second) {
        if (rho[c] == s * f) continue;
        rho[c] = s * f;
        changed = true;
      }
    }
    return changed;
  }
  void descend(std::vector<Fraction>& rho, const std::vector<bool>& frozen) const {
    for (int v : by_depth(false)) {
      Fraction sum;
      std::map<int, std::vector<std::size_t>>
          groups;  // by the child of v's parent it came up from; -1: above
      for (std::size_t c = 0; c < paths_.size(); ++c) {
        const Path& p = paths_[c];
        if (std::count(p.down.begin(), p.down.end(), v) == 0) continue;
        sum += rho[c];
        groups[!p.up.empty() && p.down.front() == v ? p.up.back() : -1].push_back(c);
      }
      const Fraction cap = tree_.down[v];
      if (!(sum > cap)) continue;
      const auto n = static_cast<std::int64_t>(groups.size());
      std::int64_t x = 0;
      std::map<int, Fraction> weight, demand, rate;
      Fraction rest = cap;
      auto crosses = [&](const std::vector<std::size_t>& g) {
        return std::any_of(g.begin(), g.end(), [&](std::size_t c) { return paths_[c].crosses; });
      };
      for (const auto& [port, g] : groups) x += crosses(g) ? 1 : 0;
      const Fraction low = std::max(Fraction(1, n) - tree_.tau, Fraction(0));
      for (const auto& [port, g] : groups) {
        const Fraction quota = x == 0 || x == n ? Fraction(1, n)
                               : crosses(g)
                                   ? low
                                   : Fraction(1, n) + Fraction(x) * (Fraction(1, n) - low) / Fraction(n - x);
        Fraction aside, asked;
        for (auto c : g) (frozen[c] ? aside : asked) += rho[c];
        weight[port] = std::max(quota * cap - aside, Fraction(0));
        if (asked > Fraction(0)) demand[port] = asked;
        rest -= aside;
      }
      std::map<int, Fraction> open = demand;
      while (!open.empty()) {
        Fraction weights;
        for (const auto& [port, d] : open) weights += weight[port];
        if (weights == Fraction(0)) {
          for (const auto& [port, d] : open) weight[port] = Fraction(1);
          continue;
        }
        const Fraction before = rest;
        std::map<int, Fraction> still;
        for (const auto& [port, d] : open) {
          const Fraction part = before * weight[port] / weights;
          if (d <= part) {
            rate[port] = d;
            rest -= d;
          } else {
            rate[port] = part;
            still[port] = d;
          }
        }
        if (still.size() == open.size()) break;
        open = still;
      }
      for (const auto& [port, g] : groups) {
        if (!demand.contains(port)) continue;
        for (auto c : g) {
          if (!frozen[c]) rho[c] = rho[c] * rate[port] / demand[port];
        }
      }
    }
  }

  ReferenceTree tree_;
  std::vector<Path> paths_;
};

}  // namespace weft::testing
