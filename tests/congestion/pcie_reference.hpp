// The arbitration procedure of PcieArbiter once more: exact fractions, step by step as the model states it,
// with none of the fast one's short cuts (back-pressure is swept until nothing changes, members are looked up
// by walking parents, shares with floors are found by trying every breakpoint). For a tree with paths from leaf
// to leaf. And the published procedure to the letter, which is what ports of two groups must answer.
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
      const ReferenceFactors f = part.solve_component(false);
      for (std::size_t i = 0; i < at.size(); ++i) {
        all.offered[at[i]] = f.offered[i];
        all.downstream[at[i]] = f.downstream[i];
        all.back_pressure[at[i]] = f.back_pressure[i];
        all.rho[at[i]] = f.rho[i];
      }
    }
    return all;
  }
  // The published procedure on all at once, to the letter: quotas max(1/n - tau, 0), a release where C slowed
  // anybody, nothing after it.
  [[nodiscard]] ReferenceFactors solve_published() const { return solve_component(true); }

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
  using Shares = std::map<int, std::map<std::size_t, Fraction>>;  // arbitrated up link -> member -> share

  [[nodiscard]] std::vector<std::size_t> on_down(int v) const {
    std::vector<std::size_t> members;
    for (std::size_t c = 0; c < paths_.size(); ++c) {
      if (std::count(paths_[c].down.begin(), paths_[c].down.end(), v) > 0) members.push_back(c);
    }
    return members;
  }
  [[nodiscard]] Fraction load_up(int v, const std::vector<Fraction>& rho) const {
    Fraction sum;
    for (auto c : on_up(v)) sum += rho[c];
    return sum;
  }
  [[nodiscard]] std::vector<std::size_t> on_up(int v) const {
    std::vector<std::size_t> members;
    for (std::size_t c = 0; c < paths_.size(); ++c) {
      if (std::count(paths_[c].up.begin(), paths_[c].up.end(), v) > 0) members.push_back(c);
    }
    return members;
  }
  // Shallowest first; true if anything changed.
  bool sweep(std::vector<Fraction>& rho, const Shares& shares) const {
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
  // One component, or with `published` all at once and by the letter.
  [[nodiscard]] ReferenceFactors solve_component(bool published) const {
    ReferenceFactors f;
    const std::size_t n = paths_.size();
    std::vector<Fraction> rho(n, Fraction(1));
    Shares shares;
    for (int v : by_depth(true)) {
      Fraction sum;
      const auto members = on_up(v);
      for (auto c : members) sum += rho[c];
      if (!(sum > tree_.up[v])) continue;
      for (auto c : members) shares[v][c] = rho[c] = rho[c] * tree_.up[v] / sum;
    }
    sweep(rho, shares);
    f.offered = rho;
    Pass first(n);
    first.published = published;
    descend(rho, first);
    f.downstream = rho;
    bool again = false;
    while (sweep(rho, shares)) again = true;
    f.back_pressure = rho;
    if (!published && !shares.empty()) {
      for (int v : first.contended) again = again || load_down(v, rho) < tree_.down[v];
    }
    std::vector<Fraction> granted = first.granted;
    bool wide = first.wide;
    if (again) {
      Pass second(n);
      second.published = published;
      if (!published) second.floor = f.back_pressure;
      for (const auto& [link, members] : shares) {
        for (const auto& [c, s] : members) second.frozen[c] = true;
      }
      for (std::size_t c = 0; c < n; ++c) {
        if (!second.frozen[c]) rho[c] = f.offered[c];
      }
      descend(rho, second);
      for (std::size_t c = 0; c < n; ++c) {
        if (!second.frozen[c]) granted[c] = second.granted[c];
      }
      wide = wide || second.wide;
    }
    if (wide && !published) rise(rho, f.offered, granted, shares);
    f.rho = rho;
    return f;
  }

  [[nodiscard]] Fraction load_down(int v, const std::vector<Fraction>& rho) const {
    Fraction sum;
    for (auto c : on_down(v)) sum += rho[c];
    return sum;
  }

  // The x of 0 <= x that makes the sum of `of(x)` equal `room`, where each term is max(floor, min(top, x weight)):
  // every breakpoint is tried, the sum is linear between two of them. No x: all have their tops.
  struct Bounded {
    Fraction weight, floor, top;
    [[nodiscard]] Fraction at(const Fraction& x) const { return std::max(floor, std::min(top, weight * x)); }
  };
  static std::vector<Fraction> fill(const std::vector<Bounded>& terms, const Fraction& room) {
    const auto sum = [&](const Fraction& x) {
      Fraction total;
      for (const Bounded& t : terms) total += t.at(x);
      return total;
    };
    std::set<Fraction> breaks = {Fraction(0)};
    for (const Bounded& t : terms) {
      if (t.weight > Fraction(0)) breaks.insert({t.floor / t.weight, t.top / t.weight});
    }
    Fraction x = *breaks.rbegin();
    Fraction before(0);
    for (const Fraction& b : breaks) {
      if (sum(b) > room) {
        const Fraction low = sum(before);
        x = before + (room - low) * (b - before) / (sum(b) - low);
        break;
      }
      before = b;
    }
    std::vector<Fraction> out;
    for (const Bounded& t : terms) out.push_back(t.at(x));
    return out;
  }

  // A pass of step B.
  struct Pass {
    explicit Pass(std::size_t n) : frozen(n, false), floor(n, Fraction(0)), granted(n, Fraction(1000000)) {}
    bool published = false;
    std::vector<bool> frozen;
    std::vector<Fraction> floor;
    std::vector<Fraction> granted;  // result: the last that a port of two groups or less left
    std::set<int> contended;        // result
    bool wide = false;              // result: a port of more groups was contended
  };

  [[nodiscard]] static Fraction quota(std::int64_t n, std::int64_t x, bool crosses, Fraction tau,
                                      bool published) {
    if (x == 0 || x == n) return {1, n};
    if (published) {
      const Fraction low = std::max(Fraction(1, n) - tau, Fraction(0));
      return crosses ? low : (Fraction(1) - Fraction(x) * low) / Fraction(n - x);
    }
    // Crossing ports take the part p of their turns, others all of them.
    const Fraction half(1, 2);
    const Fraction p = std::max((half - tau) / (half + tau), Fraction(1, 999));
    return (crosses ? p : Fraction(1)) / (Fraction(n - x) + Fraction(x) * p);
  }

  void descend(std::vector<Fraction>& rho, Pass& pass) const {
    for (int v : by_depth(false)) {
      std::map<int, std::vector<std::size_t>>
          groups;  // by the child of v's parent it came up from; -1: above
      for (auto c : on_down(v)) {
        const Path& p = paths_[c];
        groups[!p.up.empty() && p.down.front() == v ? p.up.back() : -1].push_back(c);
      }
      const Fraction cap = tree_.down[v];
      if (!(load_down(v, rho) > cap)) continue;
      pass.contended.insert(v);
      const auto n = static_cast<std::int64_t>(groups.size());
      std::int64_t x = 0;
      auto crosses = [&](const std::vector<std::size_t>& g) {
        return std::any_of(g.begin(), g.end(), [&](std::size_t c) { return paths_[c].crosses; });
      };
      for (const auto& [port, g] : groups) x += crosses(g) ? 1 : 0;
      Fraction rest = cap;
      std::vector<Bounded> asking;
      std::vector<int> ports;
      bool any_weight = false;
      for (const auto& [port, g] : groups) {
        Fraction aside, asked, floor;
        for (auto c : g) {
          (pass.frozen[c] ? aside : asked) += rho[c];
          if (!pass.frozen[c]) floor += pass.floor[c];
        }
        rest -= aside;
        if (!(asked > Fraction(0))) continue;
        const Fraction due = quota(n, x, crosses(g), tree_.tau, pass.published) * cap;
        asking.push_back({std::max(due - aside, Fraction(0)), floor, asked});
        ports.push_back(port);
        any_weight = any_weight || asking.back().weight > Fraction(0);
      }
      // Those with a weight first; what they do not need goes to those without, in equal parts.
      std::vector<Fraction> rate = fill(asking, rest);
      Fraction used;
      for (const Fraction& r : rate) used += r;
      if (used < rest) {
        for (std::size_t i = 0; i < asking.size(); ++i) {
          if (asking[i].weight > Fraction(0)) {
            asking[i].floor = rate[i];
          }
          asking[i].weight = Fraction(asking[i].weight > Fraction(0) ? 0 : 1);
        }
        rate = fill(asking, rest);
      }
      for (std::size_t i = 0; i < ports.size(); ++i) {
        std::vector<std::size_t> free;
        std::vector<Bounded> members;
        for (auto c : groups[ports[i]]) {
          if (pass.frozen[c]) continue;
          free.push_back(c);
          members.push_back({rho[c], pass.floor[c], rho[c]});
        }
        const auto shares = fill(members, rate[i]);
        for (std::size_t k = 0; k < free.size(); ++k) rho[free[k]] = shares[k];
      }
      if (n > 2) {
        pass.wide = true;
        continue;
      }
      for (auto c : on_down(v)) {
        if (!pass.frozen[c]) pass.granted[c] = std::min(pass.granted[c], rho[c]);
      }
    }
  }

  // Step E: what arbitrated links tie together rises together, all at one pace (in parts of `offered`), each until
  // a link of one of its members is full, or a member is back at what a port of two groups granted it, or at its
  // offer.
  void rise(std::vector<Fraction>& rho, const std::vector<Fraction>& offered,
            const std::vector<Fraction>& granted, const Shares& shares) const {
    const std::size_t n = paths_.size();
    std::vector<std::set<std::size_t>> tied;
    for (std::size_t c = 0; c < n; ++c) tied.push_back({c});
    for (const auto& [link, members] : shares) {
      std::set<std::size_t> merged;
      for (const auto& [c, s] : members) {
        for (auto& t : tied) {
          if (!t.contains(c)) continue;
          merged.insert(t.begin(), t.end());
          t.clear();
        }
      }
      tied.push_back(merged);
    }
    std::erase_if(tied, [](const auto& t) { return t.empty(); });
    while (!tied.empty()) {
      // Who cannot go on, leaves.
      std::erase_if(tied, [&](const auto& t) {
        return std::any_of(t.begin(), t.end(), [&](std::size_t c) {
          if (rho[c] >= std::min(granted[c], offered[c])) return true;
          return std::any_of(paths_[c].up.begin(), paths_[c].up.end(),
                             [&](int v) { return load_up(v, rho) >= tree_.up[v]; }) ||
                 std::any_of(paths_[c].down.begin(), paths_[c].down.end(),
                             [&](int v) { return load_down(v, rho) >= tree_.down[v]; });
        });
      });
      if (tied.empty()) return;
      std::vector<Fraction> speed(n);
      for (const auto& t : tied) {
        for (auto c : t) speed[c] = offered[c];
      }
      Fraction step(1000000);
      for (std::size_t c = 0; c < n; ++c) {
        if (speed[c] > Fraction(0))
          step = std::min(step, (std::min(granted[c], offered[c]) - rho[c]) / speed[c]);
      }
      for (int v : by_depth(false)) {
        if (load_up(v, speed) > Fraction(0))
          step = std::min(step, (tree_.up[v] - load_up(v, rho)) / load_up(v, speed));
        if (load_down(v, speed) > Fraction(0))
          step = std::min(step, (tree_.down[v] - load_down(v, rho)) / load_down(v, speed));
      }
      for (std::size_t c = 0; c < n; ++c) rho[c] += step * speed[c];
    }
  }

  ReferenceTree tree_;
  std::vector<Path> paths_;
};

}  // namespace weft::testing
