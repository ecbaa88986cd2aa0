// Life: one model of which random flows come and go, with the problem that they are at any time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "congestion/max_min.hpp"
#include "tests/congestion/cases.hpp"

namespace weft::congestion::problems {

class Life {
 public:
  // Nobody uses the `idle_links`, which come last.
  Life(std::uint64_t seed, std::size_t idle_links, MaxMin::Scope scope, std::size_t large_solve,
       std::uint64_t most_visits = 0)
      : rng_(seed),
        maker_(kShapes[seed % 4], rng_),
        options_{.equal_capacity = seed % 3 != 0, .weighted = seed % 5 == 0, .limits = seed % 7 == 0},
        load_{with_idle(random_capacity(maker_.links(), options_, rng_), idle_links), {}},
        full_(load_.capacity),
        model_(full_, scope, large_solve, most_visits) {}
  void start() {
    load_.flows.push_back(random_flow(maker_, options_, rng_));
    const Flow& f = load_.flows.back();
    id_.push_back(model_.add(f.route, f.weight, f.limit));
  }
  // Any one. REQUIRES: there is one.
  void end() {
    const auto k = static_cast<std::ptrdiff_t>(rng_.below(id_.size()));
    model_.remove(id_[static_cast<std::size_t>(k)]);
    load_.flows.erase(load_.flows.begin() + k);
    id_.erase(id_.begin() + k);
  }
  // Any link has another share of its capacity. REQUIRES: model().vary_capacities() came before the first flow.
  void squeeze() {
    const auto link = static_cast<std::uint32_t>(rng_.below(links()));
    load_.capacity[link] = full_[link] * (rng_.below(3) == 0 ? 1 : 0.3 + 0.7 * rng_.unit());
    model_.set_capacity(LinkId(link), load_.capacity[link]);
  }
  Rng& rng() { return rng_; }
  // Without the idle ones.
  std::uint32_t links() const { return maker_.links(); }
  MaxMin& model() { return model_; }
  const Case& load() const { return load_; }
  const std::vector<FlowId>& ids() const { return id_; }
  std::vector<double> rates() const {
    std::vector<double> rate;
    for (const FlowId f : id_) rate.push_back(model_.rate(f));
    return rate;
  }

 private:
  static std::vector<double> with_idle(std::vector<double> capacity, std::size_t links) {
    capacity.insert(capacity.end(), links, 1e9);
    return capacity;
  }
  Rng rng_;
  RouteMaker maker_;
  CaseOptions options_;
  Case load_;
  std::vector<double> full_;  // capacity, all of it
  MaxMin model_;
  std::vector<FlowId> id_;
};

}  // namespace weft::congestion::problems
