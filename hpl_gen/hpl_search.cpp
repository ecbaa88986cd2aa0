#include "hpl_gen/hpl_search.hpp"

#include <algorithm>

namespace weft::hpl_gen {
namespace {

// The search's memory: what was tried in the first round.
class Field {
 public:
  Field(const Evaluate& evaluate, int windows, int budget)
      : evaluate_(evaluate), windows_(windows), budget_(budget) {}

  // Index of `config`, tried now if it is new; -1: the budget is used up, or the search is stopped.
  Result<int> seen(const HplConfig& config) {
    for (std::size_t i = 0; i < tried_.size(); ++i)
      if (tried_[i].config == config) return static_cast<int>(i);
    if (stopped_ || static_cast<int>(tried_.size()) >= budget_) return -1;
    WEFT_ASSIGN(auto c, evaluate_(config, windows_));
    if (!c) {
      stopped_ = true;
      return -1;
    }
    c->round = 1;
    tried_.push_back(*c);
    return static_cast<int>(tried_.size()) - 1;
  }
  [[nodiscard]] std::vector<Candidate>& tried() { return tried_; }
  [[nodiscard]] bool stopped() const { return stopped_; }

 private:
  const Evaluate& evaluate_;
  int windows_, budget_;
  bool stopped_ = false;
  std::vector<Candidate> tried_;
};

template <class T, class Set>
Result<bool> improve(Field& field, int& best, const std::vector<T>& values, Set set) {
  bool moved = false;
  const HplConfig start = field.tried()[static_cast<std::size_t>(best)].config;
  for (const T& value : values) {
    HplConfig next = start;
    set(next, value);
    WEFT_ASSIGN(const int at, field.seen(next));
    if (at < 0) break;
    if (field.tried()[static_cast<std::size_t>(at)].gflops >
        field.tried()[static_cast<std::size_t>(best)].gflops) {
      best = at;
      moved = true;
    }
  }
  return moved;
}

void sort_ranking(std::vector<Candidate>& all) {
  std::stable_sort(all.begin(), all.end(), [](const Candidate& a, const Candidate& b) {
    return a.round != b.round ? a.round > b.round : a.gflops > b.gflops;
  });
}

}  // namespace

Result<SearchResult> search_hpl(const HplConfig& base, const SearchSpace& space, int evaluations, int windows,
                                const Evaluate& evaluate) {
  SearchResult out;
  const int keep = std::max(2, evaluations / 8);
  Field field(evaluate, windows, std::max(1, evaluations - keep - 1 - 3));
  int best = 0;
  WEFT_ASSIGN(best, field.seen(base));
  for (bool moved = best >= 0; moved;) {
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
    bool with_base = false;
    for (Candidate& c : all) {
      if (c.round != round - 1 && round == 3) continue;
      const bool is_base = c.config == base;
      if (again >= field_size && !is_base) continue;
      with_base = with_base || is_base;
      if (!is_base) ++again;
      WEFT_ASSIGN(const auto finer, evaluate(c.config, windows << (round - 1)));
      if (!finer) {
        out.complete = false;
        break;
      }
      ++out.evaluations;
      c.gflops = finer->gflops;
      c.error_estimate = finer->error_estimate;
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
