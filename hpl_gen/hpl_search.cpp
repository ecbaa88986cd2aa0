#include "hpl_gen/hpl_search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/hash.hpp"
#include "core/rng.hpp"

namespace weft::hpl_gen {
namespace {

// More windows than in this round are in none.
constexpr int kLastRound = 3;
bool is_final(const Candidate& c) { return c.round == kLastRound; }

// Of what a search varies: two of its candidates differ in nothing else.
struct HashOfVaried {
  std::size_t operator()(const HplConfig& c) const noexcept {
    Fingerprint h;
    for (const std::int64_t v : {c.n, c.nb, std::int64_t{c.p}, std::int64_t{c.q}, std::int64_t{c.depth},
                                 std::int64_t{c.nbmin}, std::int64_t{c.ndiv}})
      h.add(static_cast<std::uint64_t>(v));
    for (const auto v : {static_cast<std::uint8_t>(c.pmap), static_cast<std::uint8_t>(c.bcast),
                         static_cast<std::uint8_t>(c.swap), static_cast<std::uint8_t>(c.pfact),
                         static_cast<std::uint8_t>(c.rfact)})
      h.add(v);
    return h.value();
  }
};

// The search's memory: what was tried in the first round.
class Field {
 public:
  Field(const Evaluate& evaluate, int windows) : evaluate_(evaluate), windows_(windows) {}

  // It may have `budget` candidates in all, `most` where no figure has to become more precise.
  void allow(int budget, int most) {
    budget_ = static_cast<std::size_t>(budget);
    most_exact_ = static_cast<std::size_t>(most);
  }

  // Tries those that are new, as far as the budget goes. Returns the indices of `configs`, of as many from the front as
  // were tried: the budget is used up, or the search is stopped.
  Result<std::vector<std::size_t>> seen(const std::vector<HplConfig>& configs) {
    std::vector<HplConfig> fresh;
    std::unordered_set<HplConfig, HashOfVaried> taken;
    for (const HplConfig& c : configs) {
      if (index_.contains(c) || taken.contains(c)) continue;
      if (stopped_ || tried_.size() + fresh.size() >= most()) break;
      fresh.push_back(c);
      taken.insert(c);
    }
    if (!fresh.empty()) {
      WEFT_ASSIGN(auto found, evaluate_(fresh, windows_));
      for (auto& c : found) {
        stopped_ = stopped_ || !c;
        if (!c) continue;
        c->round = c->exact ? kLastRound : 1;
        all_exact_ = all_exact_ && c->exact;
        index_.emplace(c->config, tried_.size());
        tried_.push_back(*c);
      }
    }
    std::vector<std::size_t> out;
    out.reserve(configs.size());
    for (const HplConfig& c : configs) {
      const auto at = index_.find(c);
      if (at == index_.end()) break;
      out.push_back(at->second);
    }
    return out;
  }
  [[nodiscard]] std::vector<Candidate>& tried() { return tried_; }
  [[nodiscard]] bool tried_before(const HplConfig& config) const { return index_.contains(config); }
  [[nodiscard]] bool stopped() const { return stopped_; }
  // Candidates that the first round may have, those tried included.
  [[nodiscard]] std::size_t most() const { return all_exact_ && !tried_.empty() ? most_exact_ : budget_; }

 private:
  const Evaluate& evaluate_;
  int windows_;
  std::size_t budget_ = 0;
  std::size_t most_exact_ = 0;
  bool stopped_ = false;
  bool all_exact_ = true;
  std::vector<Candidate> tried_;
  std::unordered_map<HplConfig, std::size_t, HashOfVaried> index_;  // in tried_
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

bool is_faster(const Candidate& a, const Candidate& b) { return a.gflops > b.gflops; }

// What the rate is at least; nothing is known of a figure without an estimate.
double sure_gflops(const Candidate& c) { return c.gflops * std::max(0.0, 1 - c.error_estimate.value_or(1)); }

// How many parameters are the base's.
int kept_of_base(const Candidate& c, const HplConfig& base) {
  const HplConfig& a = c.config;
  return int{a.n == base.n} + int{a.nb == base.nb} + int{Grid{a.p, a.q} == Grid{base.p, base.q}} +
         int{a.pmap == base.pmap} + int{a.depth == base.depth} + int{a.bcast == base.bcast} +
         int{a.swap == base.swap} + int{factorisation_of(a) == factorisation_of(base)};
}

// The fastest, of equal ones that with most of the base's parameters, if its figure is as precise as any; where the evaluations were used up or the search was stopped before that, the one that
// is fast for sure. REQUIRES: not empty.
std::size_t best_of(const std::vector<Candidate>& all, const HplConfig& base) {
  const auto first_most = [&](auto less) {
    return static_cast<std::size_t>(std::max_element(all.begin(), all.end(), less) - all.begin());
  };
  const std::size_t fastest = first_most([&](const Candidate& a, const Candidate& b) {
    return std::tuple(a.gflops, a.round, kept_of_base(a, base)) <
           std::tuple(b.gflops, b.round, kept_of_base(b, base));
  });
  if (is_final(all[fastest])) return fastest;
  return first_most([&](const Candidate& a, const Candidate& b) {
    return std::tuple(sure_gflops(a), a.round, a.gflops, kept_of_base(a, base)) <
           std::tuple(sure_gflops(b), b.round, b.gflops, kept_of_base(b, base));
  });
}

// The best first, then by round and rate.
void sort_ranking(std::vector<Candidate>& all, const HplConfig& base) {
  if (all.empty()) return;
  const auto best = all.begin() + static_cast<std::ptrdiff_t>(best_of(all, base));
  std::rotate(all.begin(), best, best + 1);
  std::stable_sort(all.begin() + 1, all.end(), [](const Candidate& a, const Candidate& b) {
    return a.round != b.round ? a.round > b.round : is_faster(a, b);
  });
}

// One parameter after the other: visit(name, values, how a value is set, how it is read).
template <class Visit>
Result<void> each_parameter(const SearchSpace& s, const Visit& visit) {
  const auto member = [&](const char* name, const auto& values, auto HplConfig::*at) {
    return visit(
        name, values, [at](HplConfig& c, const auto& v) { c.*at = v; },
        [at](const HplConfig& c) { return c.*at; });
  };
  WEFT_TRY(member("NB", s.nb, &HplConfig::nb));
  WEFT_TRY(visit(
      "grid", s.grids, [](HplConfig& c, const Grid& g) { c.p = g.p, c.q = g.q; },
      [](const HplConfig& c) {
        return Grid{c.p, c.q};
      }));
  WEFT_TRY(member("PMAP", s.pmap, &HplConfig::pmap));
  WEFT_TRY(member("DEPTH", s.depth, &HplConfig::depth));
  WEFT_TRY(member("BCAST", s.bcast, &HplConfig::bcast));
  WEFT_TRY(member("SWAP", s.swap, &HplConfig::swap));
  WEFT_TRY(member("N", s.n, &HplConfig::n));
  return visit(
      "factorisation", s.factorisation,
      [](HplConfig& c, const PanelFactorisation& f) {
        c.pfact = f.pfact, c.nbmin = f.nbmin, c.rfact = f.rfact, c.ndiv = f.ndiv;
      },
      factorisation_of);
}

template <class T>
std::string text_of(const T& value) {
  if constexpr (std::is_same_v<T, Grid>)
    return fmt::format("{} x {}", value.p, value.q);
  else if constexpr (std::is_same_v<T, PanelFactorisation>)
    return fmt::format("PFACT {} NBMIN {} RFACT {} NDIV {}", name_of(value.pfact), value.nbmin,
                       name_of(value.rfact), value.ndiv);
  else if constexpr (std::is_enum_v<T>)
    return std::string(name_of(value));
  else
    return fmt::format("{}", value);
}

std::vector<std::string> untried_values(const SearchSpace& space, const std::vector<Candidate>& tried) {
  std::vector<std::string> out;
  (void)each_parameter(space, [&](const char* name, const auto& values, const auto&, const auto& get) {
    for (const auto& v : values)
      if (std::ranges::none_of(tried, [&](const Candidate& c) { return get(c.config) == v; }))
        out.push_back(fmt::format("{} {}", name, text_of(v)));
    return Result<void>();
  });
  return out;
}

// The values that candidates may have, each once; the base's own comes first, whether it is listed or not.
template <class T>
std::vector<T> choices(const std::vector<T>& values, const T& base) {
  std::vector<T> out = {base};
  for (const T& v : values)
    if (std::ranges::find(out, v) == out.end()) out.push_back(v);
  return out;
}

// How many candidates there are, as many as fit into the number.
std::uint64_t count_of(const SearchSpace& space, const HplConfig& base) {
  std::uint64_t count = 1;
  (void)each_parameter(space, [&](const char*, const auto& values, const auto&, const auto& get) {
    if (__builtin_mul_overflow(count, std::uint64_t{choices(values, get(base)).size()}, &count))
      count = std::numeric_limits<std::uint64_t>::max();
    return Result<void>();
  });
  return count;
}

// All of them, the last parameter's values next to each other.
std::vector<HplConfig> all_of(const SearchSpace& space, const HplConfig& base) {
  std::vector<HplConfig> out = {base};
  (void)each_parameter(space, [&](const char*, const auto& values, const auto& set, const auto& get) {
    std::vector<HplConfig> more;
    for (const HplConfig& c : out)
      for (const auto& v : choices(values, get(base))) {
        more.push_back(c);
        set(more.back(), v);
      }
    out = std::move(more);
    return Result<void>();
  });
  return out;
}

// One parameter after the other from `base`, until a whole round changes nothing. False: nothing can be tried any more.
Result<bool> descend(Field& field, const SearchSpace& space, const HplConfig& base) {
  WEFT_ASSIGN(const auto first, field.seen({base}));
  if (first.empty()) return false;
  std::size_t best = first.front();
  for (bool moved = true; moved;) {
    moved = false;
    WEFT_TRY(each_parameter(
        space, [&](const char*, const auto& values, const auto& set, const auto&) -> Result<void> {
          WEFT_ASSIGN(const bool better, improve(field, best, values, set));
          moved = moved || better;
          return {};
        }));
  }
  return true;
}

// Descends from candidates that are drawn, until the field is full.
Result<void> restart(Field& field, const SearchSpace& space, const HplConfig& base) {
  Rng draws(1);  // the same starts in every run
  while (!field.stopped() && field.tried().size() < field.most()) {
    HplConfig start = base;
    WEFT_TRY(each_parameter(space, [&](const char*, const auto& values, const auto& set, const auto& get) {
      const auto all = choices(values, get(base));
      set(start, all[draws.below(all.size())]);
      return Result<void>();
    }));
    if (field.tried_before(start)) continue;
    WEFT_ASSIGN(const bool goes_on, descend(field, space, start));
    if (!goes_on) break;
  }
  return {};
}

// REQUIRES: `all` is not empty and begins with the best.
bool is_local_best(const Field& field, const SearchSpace& space, const HplConfig& base,
                   const std::vector<Candidate>& all) {
  const Candidate& best = all.front();
  // Where the predictions end early, a rate that is less sure may be higher (best_of).
  bool local = std::ranges::none_of(all, [&](const Candidate& c) { return is_faster(c, best); });
  (void)each_parameter(space, [&](const char*, const auto& values, const auto& set, const auto& get) {
    for (const auto& v : choices(values, get(base))) {
      HplConfig neighbour = best.config;
      set(neighbour, v);
      local = local && field.tried_before(neighbour);
    }
    return Result<void>();
  });
  return local;
}

// Rounds 2 and 3, of those that the first one tried: fewer and fewer, in more and more windows.
class Finals {
 public:
  Finals(const HplConfig& base, const Evaluate& evaluate, int windows, int keep)
      : base_(base), evaluate_(evaluate), windows_(windows), keep_(keep) {}

  // `tried`: all of the first round; those that are here already have their figures.
  void enter(const std::vector<Candidate>& tried) {
    all_.insert(all_.end(), tried.begin() + static_cast<std::ptrdiff_t>(entered_), tried.end());
    entered_ = tried.size();
  }
  // With at most so many evaluations in all. Those that one round left behind play in it again, with those that are new. More
  // windows may show that the first ones are slower than others that were left behind, so these follow until the fastest
  // of all has been in the last round.
  Result<void> play(int most) {
    for (int round = 2; round <= kLastRound; ++round) {
      std::stable_sort(all_.begin(), all_.end(), is_faster);
      const int field_size = round == 2 ? keep_ : 2;
      int again = 0;
      std::vector<std::size_t> chosen;
      for (std::size_t i = 0; i < all_.size(); ++i) {
        if (all_[i].round != round - 1 && !all_[i].exact) continue;
        const bool is_base = all_[i].config == base_;
        if (again >= field_size && !is_base) continue;
        if (!is_base) ++again;
        if (!all_[i].exact) chosen.push_back(i);
      }
      WEFT_TRY(refine(chosen, round, most));
    }
    while (!stopped_ && evaluations_ < most && !all_.empty()) {
      const std::size_t best = best_by_rate();
      if (is_final(all_[best])) break;
      WEFT_TRY(refine({best}, all_[best].round + 1, most));
    }
    return {};
  }
  [[nodiscard]] const std::vector<Candidate>& all() const { return all_; }
  [[nodiscard]] int evaluations() const { return evaluations_; }
  [[nodiscard]] bool stopped() const { return stopped_; }

 private:
  [[nodiscard]] std::size_t best_by_rate() const {
    return static_cast<std::size_t>(std::ranges::max_element(all_, {}, &Candidate::gflops) - all_.begin());
  }
  // Has these once more with the windows of `round`, as far as the evaluations go.
  Result<void> refine(const std::vector<std::size_t>& chosen, int round, int most) {
    std::vector<HplConfig> configs;
    for (const std::size_t i : chosen)
      if (evaluations_ + static_cast<int>(configs.size()) < most) configs.push_back(all_[i].config);
    if (configs.empty() || stopped_) return {};
    WEFT_ASSIGN(const auto finer, evaluate_(configs, windows_ << (round - 1)));
    for (std::size_t k = 0; k < configs.size(); ++k) {
      if (!finer[k]) stopped_ = true;
      if (!finer[k]) continue;
      Candidate& c = all_[chosen[k]];
      ++evaluations_;
      c.gflops = finer[k]->gflops;
      c.error_estimate = finer[k]->error_estimate;
      c.exact = finer[k]->exact;
      c.round = c.exact ? kLastRound : round;
    }
    return {};
  }

  const HplConfig& base_;
  const Evaluate& evaluate_;
  int windows_;
  int keep_;
  std::size_t entered_ = 0;  // of the first round
  int evaluations_ = 0;
  bool stopped_ = false;
  std::vector<Candidate> all_;
};

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
  Field field(evaluate, windows);
  // Two are put aside for the first one that isn't exact.
  field.allow(std::max(1, evaluations - keep - 1 - 3), std::max(1, evaluations - 2));
  WEFT_ASSIGN(const bool begun, descend(field, space, base));
  out.candidates = count_of(space, base);
  Finals finals(base, evaluate, windows, keep);
  for (int left = evaluations; begun;) {
    // Where one parameter after the other ends, another pair of values may still be better.
    if (!field.stopped()) {
      if (out.candidates <= field.most())
        WEFT_TRY(field.seen(all_of(space, base)));
      else {
        // A descent that ended for want of evaluations goes on.
        WEFT_TRY(descend(field, space, std::ranges::max(field.tried(), {}, &Candidate::gflops).config));
        WEFT_TRY(restart(field, space, base));
      }
    }
    finals.enter(field.tried());
    if (field.stopped()) break;
    const auto tried = static_cast<int>(field.tried().size());
    WEFT_TRY(finals.play(evaluations - tried));
    // What the later rounds did not need goes to candidates that were not tried, and to their rounds.
    const int spent = tried + finals.evaluations();
    if (finals.stopped() || evaluations - spent >= left || evaluations == spent) break;
    left = evaluations - spent;
    field.allow(tried + std::max(1, left / 3), tried + left);
    if (field.tried().size() >= out.candidates) break;
  }
  std::vector<Candidate> all = finals.all();
  out.evaluations = static_cast<int>(field.tried().size()) + finals.evaluations();
  out.complete = !field.stopped() && !finals.stopped();
  sort_ranking(all, base);
  if (out.complete) out.untried = untried_values(space, all);
  for (const Candidate& c : all)
    if (c.config == base) out.base = c;
  if (!all.empty()) {
    out.best = all.front();
    out.local_best = is_local_best(field, space, base, all);
  }
  out.ranking = std::move(all);
  return out;
}

}  // namespace weft::hpl_gen
