#include "predict/hpl_tuning.hpp"

#include <algorithm>
#include <optional>

namespace weft::predict {
namespace {

constexpr int kCoarseWindows = 3;
constexpr std::int64_t kWindowWidth = 8;

}  // namespace

hpl_gen::SearchSpace tuning_space(const hpl_gen::HplDat& dat, const Vary& vary) {
  hpl_gen::SearchSpace s;
  s.n = dat.n;
  s.nb = dat.nb;
  if (vary.nb) {
    for (const std::int64_t nb : {64, 96, 128, 192, 256, 384})
      if (std::find(s.nb.begin(), s.nb.end(), nb) == s.nb.end()) s.nb.push_back(nb);
  }
  s.grids = dat.grids;
  if (vary.grid) {
    const int ranks = dat.grids.front().p * dat.grids.front().q;
    // Up to eight times as many columns as rows, or twice as many rows.
    for (int p = 1; p <= ranks; ++p) {
      if (ranks % p != 0) continue;
      const int q = ranks / p;
      const hpl_gen::Grid g{p, q};
      if (q <= 8 * p && p <= 2 * q && std::find(s.grids.begin(), s.grids.end(), g) == s.grids.end())
        s.grids.push_back(g);
    }
  }
  using hpl_gen::Bcast, hpl_gen::Swap, hpl_gen::ProcessMap;
  s.bcast = dat.bcast;
  if (vary.bcast)
    s.bcast = {Bcast::k1Ring, Bcast::k1RingM, Bcast::k2Ring, Bcast::k2RingM, Bcast::kLong, Bcast::kLongM};
  s.depth = dat.depth;
  if (vary.depth) s.depth = {0, 1};
  s.swap = {dat.swap};
  if (vary.swap) s.swap = {Swap::kBinaryExchange, Swap::kSpreadRoll, Swap::kMix};
  s.pmap = {dat.pmap};
  if (vary.pmap) s.pmap = {ProcessMap::kRowMajor, ProcessMap::kColumnMajor};
  return s;
}

Result<hpl_gen::SearchResult> tune_hpl(const hpl_gen::HplConfig& base, const hpl_gen::SearchSpace& space,
                                       const topology::Platform& platform, PredictOptions options,
                                       int evaluations,
                                       const std::function<void(std::uint64_t)>& on_prediction,
                                       const KeptPredictions& kept) {
  using hpl_gen::Candidate;
  options.width = kWindowWidth;
  std::uint64_t done = 0;
  options.on_panels = [&](std::int64_t, std::int64_t) { on_prediction(done); };
  const auto predict = [&](const hpl_gen::HplConfig& config) -> Result<std::optional<HplPrediction>> {
    if (kept.plan.journal != nullptr) return predict_point(kept.study, kept.plan, config, platform, options);
    WEFT_ASSIGN(auto p, predict_hpl(config, platform, options));
    return std::optional<HplPrediction>(std::move(p));
  };
  const auto evaluate = [&](const hpl_gen::HplConfig& config,
                            int windows) -> Result<std::optional<Candidate>> {
    options.sample = windows;
    auto p = predict(config);
    if (!p && options.stop != nullptr && options.stop->load()) return std::optional<Candidate>();
    if (!p) return std::move(p).error();
    if (!*p) return std::optional<Candidate>();
    on_prediction(++done);
    return std::optional<Candidate>(Candidate{config, (*p)->gflops, (*p)->error_estimate, 0});
  };
  return hpl_gen::search_hpl(base, space, evaluations, kCoarseWindows, evaluate);
}

}  // namespace weft::predict
