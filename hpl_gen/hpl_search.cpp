#include "hpl_gen/hpl_search.hpp"

#include <algorithm>
#include <utility>

namespace weft::hpl_gen {
namespace {

// The search's memory: what was tried in the first round.
class Field {
 public:
  Field(const Evaluate& evaluate, int windows, int budget)
      : evaluate_(evaluate), windows_(windows), budget_(static_cast<std::size_t>(budget)) {}

  // Tries those that are new, as far as the budget goes. Returns the indices of `configs`, of as many from the front as
  // were tried: the budget is used up, or the search is stopped.
  Result<std::vector<std::size_t>> seen(const std::vector<HplConfig>& configs) {
    std::vector<HplConfig> fresh;
    for (const HplConfig& c : configs) {
      if (index_of(c) || std::find(fresh.begin(), fresh.end(), c) != fresh.end()) continue;
      if (stopped_ || tried_.size() + fresh.size() >= budget_) break;
      fresh.push_back(c);
    }
    if (!fresh.empty()) {
      WEFT_ASSIGN(auto found, evaluate_(fresh, windows_));
      for (auto& c : found) {
        stopped_ = stopped_ || !c;
        if (!c) continue;
        c->round = 1;
        tried_.push_back(*c);
      }
    }
    std::vector<std::size_t> out;
    out.reserve(configs.size());
    for (const HplConfig& c : configs) {
      const auto at = index_of(c);
      if (!at) break;
      out.push_back(*at);
    }
    return out;
  }
  [[nodiscard]] std::vector<Candidate>& tried() { return tried_; }
  [[nodiscard]] bool stopped() const { return stopped_; }

 private:
  [[nodiscard]] std::optional<std::size_t> index_of(const HplConfig& config) const {
    for (std::size_t i = 0; i < tried_.size(); ++i)
      if (tried_[i].config == config) return i;
    return std::nullopt;
  }
  const Evaluate& evaluate_;
  int windows_;
  std::size_t budget_;
  bool stopped_ = false;
  std::vector<Candidate> tried_;
};

template <class T, class Set>
Result<bool> improve(Field& field, std::size_t& best, const std::vector<T>& values, Set set) {
  bool moved = false;
  std::vector<HplConfig> all(values.size(), field.tried()[best].config);
  for (std::size_t i = 0; i < values.size(); ++i) set(all[i], values[i]);
  WEFT_ASSIGN(const auto seen, field.seen(all));
  for (const std::size_t at : seen)
    if (field.tried()[at].gflops > field.tried()[best].gflops) {
      best = at;
      moved = true;
    }
  return moved;
}

void sort_ranking(std::vector<Candidate>& all) {
  std::stable_sort(all.begin(), all.end(), [](const Candidate& a, const Candidate& b) {
    return a.round != b.round ? a.round > b.round : a.gflops > b.gflops;
  });
}

}  // namespace

Evaluate one_by_one(EvaluateOne evaluate) {
  return [evaluate = std::move(evaluate)](const std::vector<HplConfig>& configs,
                                          int windows) -> Result<std::vector<std::optional<Candidate>>> {
    std::vector<std::optional<Candidate>> out(configs.size());
    for (std::size_t i = 0; i < configs.size(); ++i) {
      WEFT_ASSIGN(out[i], evaluate(configs[i], windows));
      if (!out[i]) break;
    }
    return out;
  };
}

Result<SearchResult> search_hpl(const HplConfig& base, const SearchSpace& space, int evaluations, int windows,
                                const Evaluate& evaluate) {
  SearchResult out;
  const int keep = std::max(2, evaluations / 8);
  Field field(evaluate, windows, std::max(1, evaluations - keep - 1 - 3));
  std::size_t best = 0;
  WEFT_ASSIGN(const auto first, field.seen({base}));
  for (bool moved = !first.empty(); moved;) {
    moved = false;
    const auto step = [&](const auto& values, auto set) -> Result<void> {
      WEFT_ASSIGN(const bool better, improve(field, best, values, set));
      moved = moved || better;
      return {};
    };
    WEFT_TRY(step(space.nb, [](HplConfig& c, std::int64_t v) { c.nb = v; }));
    WEFT_TRY(step(space.grids, [](HplConfig& c, Grid g) { c.p = g.p, c.q = g.q; }));
    WEFT_TRY(step(space.pmap, [](HplConfig& c, ProcessMap v) { c.pmap = v; }));
    WEFT_TRY(step(space.depth, [](HplConfig& c, int v) { c.depth = v; }));
    WEFT_TRY(step(space.bcast, [](HplConfig& c, Bcast v) { c.bcast = v; }));
    WEFT_TRY(step(space.swap, [](HplConfig& c, Swap v) { c.swap = v; }));
    WEFT_TRY(step(space.n, [](HplConfig& c, std::int64_t v) { c.n = v; }));
  }
  std::vector<Candidate> all = field.tried();
  out.evaluations = static_cast<int>(all.size());
  out.complete = !field.stopped();
  for (int round = 2; round <= 3 && out.complete; ++round) {
    sort_ranking(all);
    const int field_size = round == 2 ? keep : 2;
    int again = 0;
    std::vector<std::size_t> chosen;
    std::vector<HplConfig> configs;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all[i].round != round - 1 && round == 3) continue;
      const bool is_base = all[i].config == base;
      if (again >= field_size && !is_base) continue;
      if (!is_base) ++again;
      chosen.push_back(i);
      configs.push_back(all[i].config);
    }
    WEFT_ASSIGN(const auto finer, evaluate(configs, windows << (round - 1)));
    for (std::size_t k = 0; k < chosen.size(); ++k) {
      if (!finer[k]) out.complete = false;
      if (!finer[k]) continue;
      Candidate& c = all[chosen[k]];
      ++out.evaluations;
      c.gflops = finer[k]->gflops;
      c.error_estimate = finer[k]->error_estimate;
      c.round = round;
    }
  }
  sort_ranking(all);
  for (const Candidate& c : all)
    if (c.config == base) out.base = c;
  if (!all.empty()) out.best = all.front();
  out.ranking = std::move(all);
  return out;
}

}  // namespace weft::hpl_gen
