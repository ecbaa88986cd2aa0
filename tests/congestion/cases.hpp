// Random sharing problems and a plain reference solver for the tests of congestion/.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <limits>
#include <string>
#include <vector>

#include "core/id.hpp"
#include "core/rng.hpp"

namespace weft::congestion::problems {

inline constexpr double kNoLimit = std::numeric_limits<double>::infinity();

// Links by their numbers.
inline std::vector<LinkId> links(std::initializer_list<std::uint32_t> ids) {
  std::vector<LinkId> r;
  for (const auto i : ids) r.emplace_back(i);
  return r;
}

struct Flow {
  std::vector<LinkId> route;
  double weight = 1;
  double limit = kNoLimit;
};

struct Case {
  std::vector<double> capacity;
  std::vector<Flow> flows;
};

// Base seed of a property test: WEFT_SEED or the given one.
inline std::uint64_t base_seed(std::uint64_t otherwise) {
  const char* text = std::getenv("WEFT_SEED");
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

// Progressive filling as in the textbook, in long double: at each step look at every link and every limit,
// raise the level to the lowest, stop what is stopped there. O(flows x links) and no cleverness shared with
// the code under test.
inline std::vector<long double> reference_rates(const Case& c) {
  const std::size_t n = c.flows.size();
  std::vector<long double> rate(n, 0);
  std::vector<bool> rising(n, true);
  std::vector<std::vector<std::size_t>> on(c.capacity.size());
  for (std::size_t f = 0; f < n; ++f)
    for (const LinkId l : c.flows[f].route) on[l.index()].push_back(f);
  std::vector<long double> level(c.capacity.size());
  std::vector<bool> stale(c.capacity.size(), true);
  std::size_t left = n;
  while (left > 0) {
    long double lowest = std::numeric_limits<long double>::infinity();
    for (std::size_t l = 0; l < c.capacity.size(); ++l) {
      if (stale[l]) {
        long double room = c.capacity[l];
        long double weight = 0;
        for (const std::size_t f : on[l])
          if (rising[f])
            weight += c.flows[f].weight;
          else
            room -= rate[f];
        level[l] = weight > 0 ? room / weight : std::numeric_limits<long double>::infinity();
        stale[l] = false;
      }
      lowest = std::min(lowest, level[l]);
    }
    for (std::size_t f = 0; f < n; ++f)
      if (rising[f])
        lowest = std::min(lowest, static_cast<long double>(c.flows[f].limit) / c.flows[f].weight);
    std::vector<std::size_t> stopped;
    for (std::size_t f = 0; f < n; ++f) {
      if (!rising[f]) continue;
      bool stop = static_cast<long double>(c.flows[f].limit) / c.flows[f].weight <= lowest;
      rate[f] = stop ? static_cast<long double>(c.flows[f].limit) : lowest * c.flows[f].weight;
      for (const LinkId l : c.flows[f].route) stop = stop || level[l.index()] <= lowest * (1 + 1e-17L);
      if (stop) stopped.push_back(f);
    }
    for (const std::size_t f : stopped) {
      rising[f] = false;
      --left;
      for (const LinkId l : c.flows[f].route) stale[l.index()] = true;
    }
  }
  return rate;
}

enum class Shape { kFatTree, kDragonfly, kTorus, kArbitrary };
inline constexpr Shape kShapes[] = {Shape::kFatTree, Shape::kDragonfly, Shape::kTorus, Shape::kArbitrary};

// Routes of random pairs on a small network of the given shape. Links are numbered by hand; nothing of
// topology/ is used.
class RouteMaker {
 public:
  RouteMaker(Shape shape, Rng& rng) : shape_(shape) {
    switch (shape) {
      case Shape::kFatTree:  // k leaves of k hosts, k spines: 2 k^2 host links, 2 k^2 up and down links
        k_ = 2 + static_cast<std::uint32_t>(rng.below(7));
        links_ = 4 * k_ * k_;
        break;
      case Shape::kDragonfly:  // g groups of a routers, p hosts each, all-to-all local, one global link per
                               // group pair
        a_ = 2 + static_cast<std::uint32_t>(rng.below(3));
        p_ = 1 + static_cast<std::uint32_t>(rng.below(3));
        k_ = 2 + static_cast<std::uint32_t>(rng.below(4));
        links_ = 2 * k_ * a_ * p_ + k_ * a_ * a_ + k_ * k_;
        break;
      case Shape::kTorus:
        k_ = 3 + static_cast<std::uint32_t>(rng.below(4));
        links_ = k_ * k_ * k_ * 6;
        break;
      case Shape::kArbitrary:
        links_ = 1 + static_cast<std::uint32_t>(rng.below(60));
        break;
    }
  }
  [[nodiscard]] std::uint32_t links() const { return links_; }

  std::vector<LinkId> route(Rng& rng) const {
    std::vector<LinkId> r;
    const auto pick = [&](std::uint32_t n) { return static_cast<std::uint32_t>(rng.below(n)); };
    switch (shape_) {
      case Shape::kFatTree: {
        const std::uint32_t hosts = k_ * k_;
        const std::uint32_t s = pick(hosts);
        const std::uint32_t d = (s + 1 + pick(hosts - 1)) % hosts;
        r.emplace_back(s);
        if (s / k_ != d / k_) {
          const std::uint32_t spine = d % k_;
          r.emplace_back(2 * hosts + s / k_ * k_ + spine);
          r.emplace_back(3 * hosts + d / k_ * k_ + spine);
        }
        r.emplace_back(hosts + d);
        break;
      }
      case Shape::kDragonfly: {
        const std::uint32_t hosts = k_ * a_ * p_;
        const std::uint32_t s = pick(hosts);
        const std::uint32_t d = (s + 1 + pick(hosts - 1)) % hosts;
        const std::uint32_t gs = s / (a_ * p_);
        const std::uint32_t gd = d / (a_ * p_);
        std::uint32_t at = s / p_ % a_;
        const std::uint32_t to = d / p_ % a_;
        const auto local = [&](std::uint32_t g, std::uint32_t x, std::uint32_t y) {
          if (x != y) r.emplace_back(2 * hosts + g * a_ * a_ + x * a_ + y);
        };
        r.emplace_back(s);
        if (gs != gd) {
          local(gs, at, gd % a_);
          r.emplace_back(2 * hosts + k_ * a_ * a_ + gs * k_ + gd);
          at = gs % a_;
        }
        local(gd, at, to);
        r.emplace_back(hosts + d);
        break;
      }
      case Shape::kTorus: {
        std::uint32_t at[3];
        std::uint32_t to[3];
        for (int d = 0; d < 3; ++d) {
          at[d] = pick(k_);
          to[d] = pick(k_);
        }
        for (std::uint32_t d = 0; d < 3; ++d)
          while (at[d] != to[d]) {
            const std::uint32_t up = (to[d] + k_ - at[d]) % k_;
            const bool forward = 2 * up <= k_;
            r.emplace_back(((at[0] * k_ + at[1]) * k_ + at[2]) * 6 + 2 * d + (forward ? 0 : 1));
            at[d] = (at[d] + (forward ? 1 : k_ - 1)) % k_;
          }
        if (r.empty()) r.emplace_back(((at[0] * k_ + at[1]) * k_ + at[2]) * 6);
        break;
      }
      case Shape::kArbitrary: {
        // Now and then longer than rows of flows have room for.
        const std::uint32_t n = 1 + pick(std::min(links_, pick(4) == 0 ? 30u : 8u));
        while (r.size() < n) {
          const LinkId l(pick(links_));
          if (std::find(r.begin(), r.end(), l) == r.end()) r.push_back(l);
        }
        break;
      }
    }
    return r;
  }

 private:
  Shape shape_;
  std::uint32_t k_ = 0, a_ = 0, p_ = 0, links_ = 0;
};

struct CaseOptions {
  bool equal_capacity = true;
  bool weighted = false;
  bool limits = false;
};

inline Flow random_flow(const RouteMaker& maker, const CaseOptions& o, Rng& rng) {
  Flow f;
  f.route = maker.route(rng);
  if (o.weighted) f.weight = 0.1 + 10 * rng.unit();
  if (o.limits && rng.below(3) == 0) {
    f.limit = 1e10 * (0.001 + rng.unit());
    if (rng.below(20) == 0) f.route.clear();
  }
  return f;
}

inline std::vector<double> random_capacity(std::uint32_t links, const CaseOptions& o, Rng& rng) {
  std::vector<double> c(links, 12.5e9);
  if (!o.equal_capacity)
    for (double& x : c) x = 1e9 * (1 + 99 * rng.unit());
  // Now and then one link of another age.
  if (!o.equal_capacity && rng.below(3) == 0) c[rng.below(links)] = rng.below(2) == 0 ? 1e2 : 1e15;
  return c;
}

// Case `seed`: shape, options and size are all drawn from it.
inline CaseOptions random_options(Rng& rng) {
  return {.equal_capacity = rng.below(2) == 0, .weighted = rng.below(3) == 0, .limits = rng.below(3) == 0};
}

inline Case random_case(std::uint64_t seed, std::uint32_t max_flows) {
  Rng rng(seed);
  const RouteMaker maker(kShapes[rng.below(4)], rng);
  const CaseOptions o = random_options(rng);
  Case c;
  c.capacity = random_capacity(maker.links(), o, rng);
  // Sizes over all orders of magnitude.
  std::uint64_t most = 1;
  while (most < max_flows && rng.below(11) != 0) most = std::min<std::uint64_t>(2 * most, max_flows);
  const auto n = static_cast<std::uint32_t>(1 + rng.below(most));
  for (std::uint32_t i = 0; i < n; ++i) c.flows.push_back(random_flow(maker, o, rng));
  return c;
}

inline std::string describe(std::uint64_t seed, const Case& c) {
  return "WEFT_SEED=" + std::to_string(seed) + ", " + std::to_string(c.flows.size()) + " flows on " +
         std::to_string(c.capacity.size()) + " links";
}

}  // namespace weft::congestion::problems
