#include "schedule/search.hpp"

#include <algorithm>
#include <numeric>

#include "core/rng.hpp"

namespace weft::schedule {
namespace {

// Events x ranks of annealing; 400,000 evaluations of 48 messages of 16 ranks are just within it.
constexpr std::uint64_t kWork = 320'000'000;

// Random schedules: what a user gets who does not choose.
void sample(Evaluator& evaluator, const SearchOptions& o, std::uint64_t schedules, const Control& control,
            SearchResult& r) {
  if (schedules == 0) return;
  const Exchange& e = evaluator.workload().exchange;
  Rng rng(o.seed ^ 0x73616d706c65ULL);
  Order order(e.messages.size());
  TimeTally tally;
  double worst = -1;
  for (std::uint64_t i = 0; i < schedules && !control.stopped(); ++i) {
    std::iota(order.begin(), order.end(), 0u);
    for (std::uint32_t rank = 0; rank < e.ranks; ++rank) {
      rng.shuffle(std::span(order).subspan(e.first[rank], e.sends(rank)));
    }
    const double seconds = evaluator.makespan(order, o.mode);
    tally.add(seconds);
    if (worst < 0 || sooner(worst, seconds)) {
      worst = seconds;
      r.worst = order;
    }
    if (r.best.empty() || sooner(seconds, r.best_s)) {
      r.best_s = seconds;
      r.best = order;
      r.stage = "random schedules";
    }
  }
  r.statistics = tally.finish();
}

// A best schedule that meets a bound is proven by it.
bool meets_bound(SearchResult& r) {
  if (r.best.empty() || sooner(r.lower_s, r.best_s)) return false;
  r.proof = sooner(r.link.seconds, r.best_s) ? Proof::kStepLoadBound : Proof::kLinkBound;
  return true;
}

void prove(Evaluator& evaluator, const SymmetryGroup& symmetry, const SearchOptions& o,
           const SearchLimits& limits, const Control& control, SearchResult& r) {
  AnnealOptions a;
  a.seed = o.seed;
  a.evaluations = limits.evaluations;
  a.target = r.link.seconds;
  const auto spaces = symmetric_spaces(evaluator.workload().exchange, symmetry);
  AnnealResult found = anneal(evaluator, o.mode, spaces, a, control);
  r.evaluated += static_cast<double>(found.evaluations);
  r.best = std::move(found.order);
  r.best_s = found.seconds;
  r.stage = found.found_by == FoundBy::kAnnealing  ? "annealing"
            : found.found_by == FoundBy::kColoring ? "edge colouring"
                                                   : "symmetric schedules";
  if (meets_bound(r)) return;
  if (o.mode == Mode::kBarrier) {
    const BranchResult steps = step_load_bound(evaluator.workload(), r.best_s, limits.nodes, control);
    if (steps.complete) {
      r.step_load_s = steps.seconds;
      r.lower_s = std::max(r.lower_s, steps.seconds);
      if (meets_bound(r)) return;
    }
  }
  BranchResult b = branch_and_bound(evaluator, o.mode, r.best_s, limits.nodes, control);
  r.evaluated += static_cast<double>(b.nodes);
  if (b.improved) {
    r.best = std::move(b.order);
    r.best_s = b.seconds;
    r.stage = "branch and bound";
  }
  if (b.complete) {
    r.proof = Proof::kBranchAndBound;
    r.lower_s = r.best_s;
  }
}

}  // namespace

SearchLimits search_limits(const SearchOptions& o, const Exchange& e) {
  // A schedule has an event per message, each of which looks at every rank.
  const std::uint64_t one = std::max<std::uint64_t>(1, std::uint64_t{e.messages.size()} * e.ranks);
  const auto within = [one](std::uint64_t usual, std::uint64_t work, std::uint64_t least) {
    return std::min(usual, std::max(least, work / one));
  };
  const SearchLimits usual;
  return {.evaluations = o.evaluations.value_or(within(usual.evaluations, kWork, 10)),
          .nodes = o.nodes.value_or(within(usual.nodes, 4 * kWork, 1'000)),
          .sample = o.sample.value_or(within(usual.sample, kWork / 16, 5))};
}

const char* proof_name(Proof proof) {
  switch (proof) {
    case Proof::kNone:
      return "none";
    case Proof::kExhaustion:
      return "exhaustion";
    case Proof::kLinkBound:
      return "link bound";
    case Proof::kStepLoadBound:
      return "step-load bound";
    case Proof::kBranchAndBound:
      return "branch and bound";
  }
  return "none";
}

namespace {

SearchResult search_anew(const Workload& workload, const RateOracle& oracle, const SearchOptions& o,
                         const Control& control) {
  const SearchLimits limits = search_limits(o, workload.exchange);
  SearchResult r;
  r.schedules = workload.exchange.schedules();
  r.link = link_bound(workload);
  r.lower_s = r.link.seconds;
  const SymmetryGroup symmetry = workload_symmetry(workload);
  r.symmetries = symmetry.order;
  if (o.exhaustive || r.schedules <= o.exhaustive_limit) {
    ExhaustiveResult all = search_exhaustively(workload, oracle, o.mode, symmetry, control);
    r.evaluated = all.schedules;
    r.best_s = all.statistics.best;
    r.best = std::move(all.best);
    r.worst = std::move(all.worst);
    r.interrupted = !all.complete;
    r.exact = all.complete;
    r.sets_solved = all.sets_solved;
    r.statistics = std::move(all.statistics);
    r.stage = "all schedules";
    if (all.complete) {
      r.proof = Proof::kExhaustion;
      r.lower_s = r.best_s;
    } else {
      (void)meets_bound(r);
    }
    return r;
  }
  Evaluator evaluator(workload, oracle);
  prove(evaluator, symmetry, o, limits, control, r);
  sample(evaluator, o, limits.sample, control, r);
  if (r.proof == Proof::kNone) (void)meets_bound(r);
  r.sets_solved = evaluator.memo().computed();
  r.interrupted = control.stopped();
  return r;
}

}  // namespace

SearchResult search_schedule(const Workload& workload, const RateOracle& oracle, const SearchOptions& options,
                             const Control& control) {
  const bool all = options.exhaustive || workload.exchange.schedules() <= options.exhaustive_limit;
  // As a piece of another search it is kept there; of all schedules, piece by piece.
  if (control.kept == nullptr || control.within_piece || (all && searched_in_pieces(workload.exchange)))
    return search_anew(workload, oracle, options, control);
  SearchResult r;
  PieceWork<SearchResult> work;
  work.run = [&](std::size_t, SearchResult& out) {
    out = search_anew(workload, oracle, options, control);
    if (out.interrupted) r = out;
    return !out.interrupted;
  };
  work.take = [&](std::size_t, SearchResult&& done) { r = std::move(done); };
  if (!control.kept->results({{control.piece + "result", 1}}, 1, work)) r.interrupted = true;
  return r;
}

}  // namespace weft::schedule
