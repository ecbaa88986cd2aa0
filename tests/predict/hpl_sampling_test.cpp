// Samples of panels and the short cut of the pivot exchanges against simulations of all panels and messages, over
// random runs of HPL on random platforms. The factors of the estimate were found on other runs (docs/hpl.md).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "core/rng.hpp"
#include "predict/hpl_exchanges.hpp"
#include "predict/hpl_prediction.hpp"
#include "tests/predict/support.hpp"
#include "tests/support/seed.hpp"
#include "topology/platform/platform.hpp"

namespace weft::predict {
namespace {

using namespace hpl_gen;

struct RandomRun {
  HplConfig config;
  std::string platform;
  bool noise = false;
  std::string map;
  [[nodiscard]] std::string text() const {
    return fmt::format("--on {} --n {} --nb {} --p {} --q {} --bcast {} --depth {} --swap {} --map {}{}",
                       platform, config.n, config.nb, config.p, config.q, static_cast<int>(config.bcast),
                       config.depth, static_cast<int>(config.swap), map, noise ? " --noise" : "");
  }
};

template <class T, std::size_t N>
T pick(Rng& r, const std::array<T, N>& of) {
  return of[r.below(N)];
}

// Log-uniform between the two.
double between(Rng& r, double least, double most) {
  return least * std::pow(most / least, static_cast<double>(r.below(1 << 20)) / (1 << 20));
}

RandomRun random_run(std::uint64_t seed, double least_panels, double most_panels, bool rows_only) {
  Rng r(seed);
  RandomRun out;
  HplConfig& c = out.config;
  static constexpr std::array<Grid, 10> kGrids = {Grid{2, 1}, {4, 1}, {2, 2}, {3, 2}, {2, 4},
                                                  {4, 2},     {1, 2}, {1, 4}, {1, 1}, {2, 3}};
  do {
    const Grid g = pick(r, kGrids);
    c.p = g.p;
    c.q = g.q;
  } while (rows_only && c.p == 1);
  c.nb = pick(r, std::array<std::int64_t, 4>{16, 24, 32, 48});
  const auto panels = static_cast<std::int64_t>(between(r, least_panels, most_panels));
  c.n = panels * c.nb - (r.below(2) == 0 ? 0 : static_cast<std::int64_t>(r.below(16)));
  c.bcast = static_cast<Bcast>(r.below(6));
  c.depth = pick(r, std::array<int, 4>{0, 1, 1, 2});
  c.swap = static_cast<Swap>(r.below(3));
  c.pmap = r.below(2) == 0 ? ProcessMap::kRowMajor : ProcessMap::kColumnMajor;
  c.pfact = static_cast<Factor>(r.below(3));
  const int ranks = c.ranks();
  const std::string links = fmt::format("bw={:.3g}Gbps,lat={:.3g}us,speed={:.3g}Gflops", between(r, 1, 100),
                                        between(r, 0.3, 6), between(r, 2, 100));
  switch (r.below(5)) {
    case 0:
      out.platform = fmt::format("xgft:m=4x2,w=1x1,{}", links);
      break;
    case 1:
      out.platform = fmt::format("crossbar:n={},ranks_per_host=2,{}", (ranks + 1) / 2, links);
      break;
    case 2:
      out.platform = "dahu";
      out.noise = !rows_only && r.below(2) == 0;
      break;
    default:
      out.platform = fmt::format("crossbar:n={},{}", ranks, links);
  }
  out.map = r.below(4) == 0 ? "random" : "block";
  return out;
}

std::uint64_t first_seed() { return support::seed_or(70000); }

// Six quantities of a prediction with their estimates.
struct Quantity {
  const char* name;
  double (*seconds)(const HplPrediction&);
  double (*error)(const HplPrediction&);
};
constexpr std::array<Quantity, 6> kQuantities = {{
    {"time", [](const HplPrediction& p) { return p.time_s; },
     [](const HplPrediction& p) { return *p.error_estimate * p.time_s; }},
    {"pfact", [](const HplPrediction& p) { return p.pfact_s; },
     [](const HplPrediction& p) { return p.phase_error->pfact_s; }},
    {"bcast", [](const HplPrediction& p) { return p.bcast_s; },
     [](const HplPrediction& p) { return p.phase_error->bcast_s; }},
    {"swap", [](const HplPrediction& p) { return p.swap_s; },
     [](const HplPrediction& p) { return p.phase_error->swap_s; }},
    {"update", [](const HplPrediction& p) { return p.update_s; },
     [](const HplPrediction& p) { return p.phase_error->update_s; }},
    {"solve", [](const HplPrediction& p) { return p.solve_s; },
     [](const HplPrediction& p) { return p.phase_error->solve_s; }},
}};

// A run by all of its panels and by a sample.
struct AllAndSome {
  HplPrediction all, some;
};
// The sample lies within its estimates. Empty: a test has failed.
std::optional<AllAndSome> all_and_six_panels(const HplConfig& c, const char* platform_name) {
  const auto platform = topology::load_platform(platform_name);
  if (!platform) {
    ADD_FAILURE() << platform.error().message();
    return {};
  }
  PredictOptions options;
  auto all = predict_hpl(c, *platform, options);
  options.sample = 6;
  auto some = predict_hpl(c, *platform, options);
  if (!all || !some || !some->phase_error || some->panels_simulated >= some->panels_total) {
    ADD_FAILURE() << "no sample on " << platform_name;
    return {};
  }
  for (const Quantity& q : kQuantities)
    EXPECT_LE(std::fabs(q.seconds(*some) - q.seconds(*all)), q.error(*some)) << q.name;
  return AllAndSome{std::move(*all), std::move(*some)};
}

// Later in a run more of what a host waits for is a broadcast, less its accelerator.
TEST(HplSampling, OnAcceleratorsTheWholeUpdateMayBeABroadcast) {
  HplConfig c{
      .n = 88'077, .nb = 288, .p = 1, .q = 4, .pmap = ProcessMap::kColumnMajor, .bcast = Bcast::kLong};
  c.program = Program::kRocHpl;
  c.rochpl.split = 0.4;
  const auto run = all_and_six_panels(c, "marconi100");
  ASSERT_TRUE(run);
  EXPECT_GT(std::fabs(run->some.update_s - run->all.update_s), 0.1 * run->all.update_s)
      << "as long as that is so";
}

// Four accelerators swap rows over one port: at once where a window begins, later in a run one after the other.
TEST(HplSampling, OnAcceleratorsThatShareAPortSwapsOfWindowsAreTooLong) {
  HplConfig c{.n = 30'492, .nb = 128, .p = 4, .q = 2, .nbmin = 16, .rfact = Factor::kRight, .depth = 1};
  c.bcast = Bcast::k1Ring, c.swap = Swap::kSpreadRoll;
  c.program = Program::kRocHpl;
  const auto run = all_and_six_panels(c, "hpc5");
  ASSERT_TRUE(run);
  EXPECT_GT(run->some.swap_s, 1.2 * run->all.swap_s) << "as long as that is so";
}

TEST(HplSampling, NinetyFiveOfAHundredRunsLieWithinTheirEstimateInTotalAndInEveryPhase) {
  constexpr int kRuns = 120;
  std::array<int, kQuantities.size()> inside{};
  std::vector<double> widths;
  int runs = 0;
  std::string outside;
  for (std::uint64_t seed = first_seed(); runs < kRuns; ++seed) {
    const RandomRun r = random_run(seed, 130, 260, false);
    const auto platform = topology::load_platform(r.platform);
    ASSERT_TRUE(platform) << r.platform;
    PredictOptions options;
    options.seed = seed;
    options.pivots.seed = seed;
    options.map = r.map;
    options.noise = r.noise;
    options.sample = std::array{4, 5, 6, 8}[seed % 4];
    const auto some = predict_hpl(r.config, *platform, options);
    ASSERT_TRUE(some) << r.text() << ": " << some.error().message();
    if (some->panels_simulated == some->panels_total) {
      EXPECT_TRUE(some->exchanges.series || some->error_estimate == 0.0);
      continue;
    }
    ++runs;
    options.sample = 0;
    options.exchanges = Exchanges::kMessages;
    const auto all = predict_hpl(r.config, *platform, options);
    ASSERT_TRUE(all) << r.text();
    ASSERT_TRUE(some->error_estimate.has_value() && some->phase_error.has_value()) << r.text();
    widths.push_back(*some->error_estimate);
    for (std::size_t i = 0; i < kQuantities.size(); ++i) {
      const double off = kQuantities[i].seconds(*some) - kQuantities[i].seconds(*all);
      const double half = kQuantities[i].error(*some);
      ASSERT_TRUE(std::isfinite(half) && half >= 0) << r.text();
      if (std::fabs(off) <= half + 1e-12)
        ++inside[i];
      else
        outside += fmt::format("seed {}: {} off by {:.3g} s of {:.3g} s, estimate {:.3g} s: {}\n", seed,
                               kQuantities[i].name, off, all->time_s, half, r.text());
    }
  }
  for (std::size_t i = 0; i < kQuantities.size(); ++i)
    EXPECT_GE(inside[i], kConfidence * kRuns) << kQuantities[i].name << "\n" << outside;
  // An estimate that holds everything says nothing: half of them are below 2 % of the time.
  std::sort(widths.begin(), widths.end());
  EXPECT_LT(widths[widths.size() / 2], 0.02);
  EXPECT_GT(widths.front(), 0);
}

// One process, whose multiplications alone vary: what its panels are off by is one draw each.
TEST(HplSampling, EveryWindowHasDrawsOfItsOwn) {
  const auto platform = crossbar_of(1, R"(kernel { name: "dgemm" mnk: "100ps" noise: "0.3" })");
  const HplConfig c{.n = 12'800, .nb = 64, .p = 1, .q = 1};
  PredictOptions options;
  options.seed = first_seed();
  options.sample = 5;
  options.width = 8;
  options.warm_up = 6;
  const auto quiet = predict_hpl(c, platform, options);
  options.noise = true;
  const auto noisy = predict_hpl(c, platform, options);
  ASSERT_TRUE(quiet && noisy);
  const auto windows = choose_windows(c.panels(), options.sample, options.width, options.warm_up);
  ASSERT_EQ(windows.size(), 5u);
  std::vector<std::vector<double>> off;
  for (const SampleWindow& w : windows) {
    auto& of_window = off.emplace_back();
    for (auto k = static_cast<std::size_t>(w.measured);
         k < static_cast<std::size_t>(w.measured + options.width); ++k)
      of_window.push_back(noisy->panels[k].s[0] / quiet->panels[k].s[0] - 1);
  }
  off.pop_back();  // the last one's updates are small
  for (std::size_t a = 0; a < off.size(); ++a)
    for (std::size_t b = 0; b < a; ++b) {
      double most = 0, alike = 0;
      for (std::size_t i = 0; i < off[a].size(); ++i) {
        most = std::max(most, std::fabs(off[a][i] - off[b][i]));
        alike = std::max(alike, std::fabs(off[a][i]));
      }
      EXPECT_GT(alike, 0.1) << "seed " << options.seed;
      EXPECT_GT(most, 0.1) << "windows " << b << " and " << a << ", seed " << options.seed;
    }
  // The same seed, the same draws, whatever the number of threads.
  options.threads = 3;
  EXPECT_EQ(predict_hpl(c, platform, options)->time_s, noisy->time_s);
}

// A trace names panels up to a number; a prediction goes by the panels, however many.
TEST(HplSampling, MoreThanAHundredThousandPanelsAreToldApart) {
  const auto platform = topology::load_platform("crossbar:n=4,bw=10GB/s,lat=1us,speed=100Gflops");
  ASSERT_TRUE(platform);
  PredictOptions options;
  options.sample = 3;
  std::array<double, 2> rate{};
  for (int i = 0; i < 2; ++i) {
    const HplConfig c{.n = i == 0 ? 99'000 : 101'000, .nb = 1, .p = 2, .q = 1};
    const auto some = predict_hpl(c, *platform, options);
    ASSERT_TRUE(some) << some.error().message();
    EXPECT_EQ(some->panels_total, c.n);
    EXPECT_LT(some->efficiency, 1);
    for (std::size_t k = 1; k < some->panels.size(); k += 10'000) EXPECT_GT(some->panels[k].s[0], 0) << k;
    rate[static_cast<std::size_t>(i)] = some->gflops;
  }
  EXPECT_NEAR(rate[1], rate[0], 0.02 * rate[0]);
  options.sample = 3;
  const auto refused = predict_hpl({.n = 1 << 23, .nb = 1, .p = 2, .q = 1}, *platform, options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kNotSupported);
}

// No noise: its draws differ where a rank polls another number of times, and would be compared.
TEST(HplExchanges, TheDefaultIsAsMessageByMessageOrWithinWhatItSays) {
  int series = 0, messages = 0, quantities = 0, outside = 0;
  std::vector<std::uint64_t> seeds = {110022};  // falls into another rhythm: 16 % for the series
  for (std::uint64_t seed = first_seed(); seed < first_seed() + 24; ++seed) seeds.push_back(seed);
  for (const std::uint64_t seed : seeds) {
    const RandomRun r = random_run(seed, 140, 200, true);
    SCOPED_TRACE(fmt::format("seed {}: {}", seed, r.text()));
    const auto platform = topology::load_platform(r.platform);
    ASSERT_TRUE(platform) << r.platform;
    PredictOptions options;
    options.seed = seed;
    options.pivots.seed = seed;
    options.map = r.map;
    const auto chosen = predict_hpl(r.config, *platform, options);
    ASSERT_TRUE(chosen) << chosen.error().message();
    options.exchanges = Exchanges::kMessages;
    const auto exact = predict_hpl(r.config, *platform, options);
    ASSERT_TRUE(exact);
    if (!chosen->exchanges.series) {
      ++messages;
      EXPECT_EQ(chosen->time_s, exact->time_s);
      EXPECT_EQ(chosen->error_estimate, 0.0);
      continue;
    }
    ++series;
    ASSERT_TRUE(chosen->error_estimate.has_value());
    EXPECT_LE(*chosen->error_estimate, kSeriesTolerance);
    for (const Quantity& q : kQuantities) {
      const double off = std::fabs(q.seconds(*chosen) - q.seconds(*exact));
      EXPECT_LE(off, kSeriesTolerance * exact->time_s + 1e-12) << q.name;
      ++quantities;
      if (off > q.error(*chosen) + 1e-5 * exact->time_s) ++outside;
    }
  }
  EXPECT_LE(outside, quantities / 20)
      << "95 of 100 lie within what their run says, from seed " << first_seed();
  // Both happen, or the comparison says nothing.
  EXPECT_GE(series, 3);
  EXPECT_GE(messages, 1);
}

// What a sample misses and what a series leaves out add up as squares.
TEST(HplExchanges, ASampleInSeriesIsOffByLessThanBothTogether) {
  const auto platform =
      topology::load_platform("crossbar:n=8,ranks_per_host=2,bw=13.1Gbps,lat=1us,speed=10Gflops");
  ASSERT_TRUE(platform);
  const HplConfig c{.n = 24'000, .nb = 32, .p = 4, .q = 4, .depth = 1};
  PredictOptions options;
  options.sample = 10, options.width = 8, options.warm_up = 6;
  const auto series = predict_hpl(c, *platform, options);
  options.exchanges = Exchanges::kMessages;
  const auto messages = predict_hpl(c, *platform, options);
  ASSERT_TRUE(series && messages);
  ASSERT_TRUE(series->exchanges.series) << series->exchanges.why;
  const double left_out = *series->exchanges.differs_at_most, missed = *messages->error_estimate;
  ASSERT_GT(left_out, 0.3 * missed);
  EXPECT_GT(*series->error_estimate, std::max(left_out, 0.9 * missed));
  EXPECT_LT(*series->error_estimate, 0.85 * (left_out + missed));
}

TEST(HplSampling, CountsBelowZeroAreRefused) {
  const auto platform = topology::load_platform("crossbar:n=4,bw=10GB/s,lat=1us,speed=1Tflops");
  ASSERT_TRUE(platform) << platform.error().message();
  HplConfig config;
  config.n = 400;
  config.nb = 50;
  config.p = config.q = 2;
  const auto told = [&](void (*change)(PredictOptions&)) {
    PredictOptions o;
    change(o);
    const auto p = predict_hpl(config, *platform, o);
    return p ? std::string("taken") : p.error().message();
  };
  EXPECT_EQ(told([](PredictOptions&) {}), "taken");
  EXPECT_EQ(told([](PredictOptions& o) { o.sample = -3; }),
            "error: sample of a prediction is not a count; got \"-3\"; expected 0 or more");
  EXPECT_EQ(told([](PredictOptions& o) { o.width = -1; }),
            "error: width of a prediction is not a count; got \"-1\"; expected 0 or more");
  EXPECT_EQ(told([](PredictOptions& o) { o.warm_up = -1; }),
            "error: warm_up of a prediction is not a count; got \"-1\"; expected 0 or more");
  EXPECT_EQ(told([](PredictOptions& o) { o.most_pieces = -1; }),
            "error: most_pieces of a prediction is not a count; got \"-1\"; expected 0 or more");
}

}  // namespace
}  // namespace weft::predict
