#include "predict/hpl_tuning.hpp"

#include <algorithm>
#include <initializer_list>
#include <map>
#include <optional>
#include <type_traits>
#include <vector>

#include "hpl_gen/node_grid.hpp"
#include "predict/hpl_choices.hpp"

namespace weft::predict {
namespace {

constexpr int kCoarseWindows = 3;
constexpr std::int64_t kWindowWidth = 8;

// The search compares configurations as they were asked for; what is told of them is how they ran.
Result<void> lay_on_nodes(hpl_gen::SearchResult& result, const topology::Platform& platform,
                          const PredictOptions& options) {
  if (result.ranking.empty() || result.base.config.program != hpl_gen::Program::kRocHpl) return {};
  std::map<int, int> on_node;  // by ranks
  std::vector<hpl_gen::Candidate*> all{&result.base, &result.best};
  for (hpl_gen::Candidate& c : result.ranking) all.push_back(&c);
  for (hpl_gen::Candidate* c : all) {
    const auto [at, first] = on_node.try_emplace(c->config.ranks(), 0);
    if (first) {
      WEFT_ASSIGN(at->second, ranks_on_node(platform, at->first, options.map, options.seed));
    }
    WEFT_ASSIGN(c->config, hpl_gen::with_node_grid(c->config, at->second));
  }
  return {};
}

// Accelerators' programs take no grid that the process rows and columns on a node do not divide, and no block that their memory is too
// small for.
bool all_run_on(const std::vector<hpl_gen::Grid>& grids, const std::vector<std::int64_t>& nbs,
                const hpl_gen::HplDat& dat) {
  hpl_gen::HplConfig config;
  config.program = dat.program, config.rochpl = dat.rochpl;
  for (const hpl_gen::Grid& grid : grids)
    for (const std::int64_t nb : nbs)
      for (const std::int64_t n : dat.n) {
        config.p = grid.p, config.q = grid.q, config.nb = nb, config.n = n;
        if (!hpl_gen::check_config(config)) return false;
      }
  return true;
}

template <class T, class Fits>
void add_unlisted(std::vector<T>& values, std::initializer_list<std::type_identity_t<T>> usual,
                  const Fits& fits) {
  for (const T& v : usual)
    if (std::find(values.begin(), values.end(), v) == values.end() && fits(v)) values.push_back(v);
}

}  // namespace

hpl_gen::SearchSpace tuning_space(const hpl_gen::HplDat& dat, const Vary& vary, int on_node) {
  hpl_gen::SearchSpace s;
  s.n = dat.n;
  s.nb = dat.nb;
  if (vary.nb)
    add_unlisted(s.nb, {64, 96, 128, 192, 256, 384},
                 [&](std::int64_t nb) { return all_run_on(dat.grids, {nb}, dat); });
  s.grids = dat.grids;
  if (vary.grid) {
    const int ranks = dat.grids.front().p * dat.grids.front().q;
    // Up to eight times as many columns as rows, or twice as many rows.
    for (int p = 1; p <= ranks; ++p) {
      if (ranks % p != 0) continue;
      const int q = ranks / p;
      const hpl_gen::Grid g{p, q};
      const bool listed = std::find(s.grids.begin(), s.grids.end(), g) != s.grids.end();
      if (q <= 8 * p && p <= 2 * q && !listed && hpl_gen::takes_grid(dat, g, on_node) &&
          all_run_on({g}, s.nb, dat))
        s.grids.push_back(g);
    }
  }
  using hpl_gen::Bcast, hpl_gen::Swap, hpl_gen::ProcessMap;
  s.bcast = dat.bcast;
  if (vary.bcast)
    s.bcast = {Bcast::k1Ring, Bcast::k1RingM, Bcast::k2Ring, Bcast::k2RingM, Bcast::kLong, Bcast::kLongM};
  s.depth = dat.depth;
  if (vary.depth) add_unlisted(s.depth, {0, 1}, [](int) { return true; });
  s.swap = {dat.swap};
  if (vary.swap) s.swap = {Swap::kBinaryExchange, Swap::kSpreadRoll, Swap::kMix};
  s.pmap = {dat.pmap};
  if (vary.pmap) s.pmap = {ProcessMap::kRowMajor, ProcessMap::kColumnMajor};
  for (const auto rfact : dat.rfact)
    for (const auto pfact : dat.pfact)
      for (const int nbmin : dat.nbmin)
        for (const int ndiv : dat.ndiv) s.factorisation.push_back({pfact, nbmin, rfact, ndiv});
  return s;
}

Result<Tuning> tune_hpl(const hpl_gen::HplConfig& base, const hpl_gen::SearchSpace& space,
                        const topology::Platform& platform, PredictOptions options, int evaluations,
                        const std::function<void(std::uint64_t)>& on_prediction,
                        const KeptPredictions& kept) {
  using hpl_gen::Candidate, hpl_gen::HplConfig;
  options.width = kWindowWidth;
  std::uint64_t done = 0;
  options.on_panels = [&](std::int64_t, std::int64_t) { on_prediction(done); };
  const auto candidate = [](const HplConfig& config, const HplPrediction& p) {
    return Candidate{config, p.gflops, p.error_estimate, 0,
                     p.panels_simulated == p.panels_total && p.error_estimate == 0.0};
  };
  Tuning out;
  const auto one = [&](const HplConfig& config, int windows) -> Result<std::optional<Candidate>> {
    options.sample = windows;
    const auto p = predict_hpl(config, platform, options);
    if (!p && options.stop != nullptr && options.stop->load()) return std::optional<Candidate>();
    if (!p) return p.error();
    on_prediction(++done);
    return std::optional<Candidate>(candidate(config, *p));
  };
  PointsPlan plan = kept.plan;
  plan.take_others = true;
  const auto stage = [&](const std::vector<HplConfig>& configs,
                         int windows) -> Result<std::vector<std::optional<Candidate>>> {
    options.sample = windows;
    std::vector<std::optional<HplPrediction>> made;
    WEFT_ASSIGN(const PointsDone points, predict_points(kept.study, plan, configs, platform, options, made,
                                                        [&] { on_prediction(++done); }));
    out.points += points;
    std::vector<std::optional<Candidate>> found(configs.size());
    for (std::size_t i = 0; i < configs.size(); ++i)
      if (made[i])
        found[i] = candidate(configs[i], *made[i]);
      else if (!points.interrupted)
        ++out.awaited;
    return found;
  };
  WEFT_ASSIGN(out.search, hpl_gen::search_hpl(
                              base, space, evaluations, kCoarseWindows,
                              plan.journal != nullptr ? hpl_gen::Evaluate(stage) : hpl_gen::one_by_one(one)));
  WEFT_TRY(lay_on_nodes(out.search, platform, options));
  return out;
}

}  // namespace weft::predict
