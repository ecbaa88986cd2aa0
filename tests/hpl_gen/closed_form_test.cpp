// Closed forms against figures worked by hand from the published equations, and each misprint at its printed effect.
#include "hpl_gen/closed_form/closed_form.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace weft::hpl_gen {
namespace {

constexpr MemoryLayer kP100{732.2e9, 3584, 64, 1029, 1.3285e9};
constexpr double kGamma = 1 / 4.7e12;
constexpr double kBandwidth = 13e9;  // as the paper rounds it

TEST(ClosedForm, FlopsAreHplsOwnCount) {
  EXPECT_DOUBLE_EQ(hpl_flops(3), 18 + 13.5);
  EXPECT_DOUBLE_EQ(hpl_gflops(1000, 1.0), (2.0 / 3.0 * 1e9 + 1.5e6) * 1e-9);
}

TEST(ClosedForm, OneP100AtOrder44000IsWithinOneGflopsOfTheWorkedExample) {
  const NetworkParameters net = memory_layer(kP100, kBandwidth);
  EXPECT_NEAR(net.alpha, 774.6e-9, 0.1e-9);
  EXPECT_NEAR(equivalent_bandwidth(kP100), 13.075e9, 1e6);
  const ClosedFormRun run{44000, 384, 1, 1};
  const std::vector<MclLayer> one = {{net, 1, 1}};
  EXPECT_NEAR(hpl_gflops(run.n, mcl_seconds(run, kGamma, one)), 3839, 1);
  EXPECT_NEAR(mcl_seconds(run, kGamma, one), 14.79, 0.005);
  EXPECT_NEAR(mcl_calculation_seconds(run, kGamma), 12.40, 0.005);
  EXPECT_NEAR(hpl_gflops(run.n, mcl_seconds(run, kGamma, one, {}, true)), 3800, 1) << "padded to 44,160";
  EXPECT_NEAR(hpl_gflops(run.n, netlib_seconds(run, kGamma, net)), 3926, 1);
  const std::vector<std::pair<std::int64_t, double>> by_block = {{128, 3897}, {512, 3811}, {1024, 3703}};
  for (const auto& [nb, gflops] : by_block)
    EXPECT_NEAR(hpl_gflops(run.n, mcl_seconds({44000, nb, 1, 1}, kGamma, one)), gflops, 1) << nb;
}

TEST(ClosedForm, PaddingIsToTheNextWholeBlock) {
  const std::vector<MclLayer> one = {{memory_layer(kP100, kBandwidth), 2, 2}};
  const auto seconds = [&](std::int64_t n, bool padded) {
    return mcl_seconds({n, 96, 2, 2}, kGamma, one, {}, padded);
  };
  EXPECT_EQ(seconds(9600, true), seconds(9600, false));
  EXPECT_EQ(seconds(9601, true), seconds(9696, false));
  EXPECT_EQ(seconds(9695, true), seconds(9696, false));
}

TEST(ClosedForm, BandwidthPerBytePrintsFourThousandFourHundredSeventyTwo) {
  MclPrinted printed;
  printed.beta_per_byte = true;
  const std::vector<MclLayer> one = {{memory_layer(kP100, kBandwidth, printed), 1, 1}};
  EXPECT_NEAR(hpl_gflops(44000, mcl_seconds({44000, 384, 1, 1}, kGamma, one, printed)), 4472, 1);
}

TEST(ClosedForm, CyclesOverBandwidthIsATenthOfTheLatency) {
  MclPrinted printed;
  printed.cycles_over_bandwidth = true;
  EXPECT_NEAR(memory_layer(kP100, 13.075e9, printed).alpha, 78.7e-9, 0.1e-9);
}

TEST(ClosedForm, TheThirdTermAsPrintedMakesTheTimeNegative) {
  const ClosedFormRun run{88000, 384, 2, 2};
  MclPrinted printed;
  printed.third_term_squared = true;
  const double leading = 2.0 * std::pow(88000.0, 3) / 12;
  EXPECT_NEAR(leading, 1.14e14, 1e12);
  EXPECT_NEAR(mcl_calculation_seconds(run, 1, printed) - mcl_calculation_seconds(run, 1), -2.85e14, 1e12);
  EXPECT_LT(mcl_calculation_seconds(run, 1, printed), 0);
  EXPECT_DOUBLE_EQ(mcl_calculation_seconds({88000, 384, 1, 1}, 1, printed),
                   mcl_calculation_seconds({88000, 384, 1, 1}, 1));
}

// Brute force: equations 1 and 2 panel by panel.
double by_panels(const ClosedFormRun& run, double gamma, const NetworkParameters& net) {
  const auto n = static_cast<double>(run.n), nb = static_cast<double>(run.nb);
  const auto p = static_cast<double>(run.p), q = static_cast<double>(run.q);
  const double lg = std::log2(p);
  double t = 0;
  for (std::int64_t i = 1; i * run.nb <= run.n; ++i) {
    const double below = n - static_cast<double>(i) * nb, here = below + nb;
    t += gamma * (below / p - nb / 3) * nb * nb + nb * lg * (net.alpha + net.beta * (2 * nb + 4)) +
         net.alpha + net.beta * below * nb / p;
    t += gamma * (here * nb * nb / q + 2 * here * here * nb / (p * q)) + net.alpha * (lg + p - 1) +
         3 * net.beta * here * nb / q;
  }
  return t;
}

TEST(ClosedForm, TheSumOverPanelsIsTheClosedForm) {
  const NetworkParameters net{2e-6, 8 / 5e9};
  for (const ClosedFormRun run : {ClosedFormRun{38400, 384, 1, 1}, {38400, 384, 2, 3}, {12800, 128, 8, 16}}) {
    const std::vector<MclLayer> one = {{net, run.p, run.q}};
    const double closed = mcl_seconds(run, 1e-12, one), sum = by_panels(run, 1e-12, net);
    // The calculation's lower terms are the paper's own sums; they agree to the order of one panel.
    EXPECT_NEAR(mcl_communication_seconds(run, net), sum - by_panels(run, 1e-12, {}), 1e-9 * sum);
    EXPECT_NEAR(closed / sum, 1, 1e-3) << run.p << "x" << run.q;
  }
}

// HPL's one panel has N columns then; the published sums count NB of them and come out below zero.
TEST(ClosedForm, ABlockWiderThanTheMatrixIsAsWideAsTheMatrix) {
  const NetworkParameters inside{1e-7, 8 / 50e9}, net{2e-6, 8 / 5e9};
  for (const std::int64_t p : {1, 2, 8}) {
    const ClosedFormRun wide{100, 1000, p, p}, equal{100, 100, p, p};
    const std::vector<MclLayer> layers = {{inside, 1, 1}, {net, p, p}};
    EXPECT_EQ(mcl_seconds(wide, 1e-12, layers), mcl_seconds(equal, 1e-12, layers)) << p;
    EXPECT_EQ(mcl_calculation_seconds(wide, 1), mcl_calculation_seconds(equal, 1)) << p;
    EXPECT_EQ(mcl_communication_seconds(wide, net), mcl_communication_seconds(equal, net)) << p;
    EXPECT_EQ(netlib_seconds(wide, 1e-12, net), netlib_seconds(equal, 1e-12, net)) << p;
    EXPECT_EQ(roofline_seconds(wide, 1e12, 1e6), roofline_seconds(equal, 1e12, 1e6)) << p;
  }
}

TEST(ClosedForm, FewBlocksForManyProcessesTakeAtLeastTheirShareOfTheFlops) {
  const NetworkParameters net{2e-6, 8 / 5e9};
  for (const std::int64_t nb : {1, 10, 30, 50, 99, 100})
    for (const std::int64_t p : {1, 2, 3, 8, 40})
      for (const std::int64_t q : {1, 2, 3, 8, 40}) {
        const ClosedFormRun run{100, nb, p, q};
        EXPECT_GE(mcl_calculation_seconds(run, 1), 2e6 / static_cast<double>(3 * p * q));
        EXPECT_GE(mcl_communication_seconds(run, net), 0) << nb << " " << p << "x" << q;
      }
}

TEST(ClosedForm, LayersWithEqualParametersChangeNothing) {
  const NetworkParameters net{1e-6, 8 / 13e9};
  const ClosedFormRun run{62000, 384, 4, 4};
  const std::vector<MclLayer> one = {{net, 4, 4}};
  const std::vector<MclLayer> three = {{net, 1, 1}, {net, 2, 2}, {net, 4, 4}};
  EXPECT_NEAR(mcl_seconds(run, kGamma, three) / mcl_seconds(run, kGamma, one), 1, 1e-12);
}

TEST(ClosedForm, LayersThatRestartHalveTheCommunicationOfTwoEqualOnes) {
  const NetworkParameters net{0, 8 / 13e9};
  const ClosedFormRun run{62000, 384, 2, 2};
  MclPrinted printed;
  printed.layers_restart = true;
  const std::vector<MclLayer> one = {{net, 2, 2}}, two = {{net, 1, 1}, {net, 2, 2}};
  const double calculation = mcl_calculation_seconds(run, kGamma);
  const double ratio =
      (mcl_seconds(run, kGamma, two, printed) - calculation) / (mcl_seconds(run, kGamma, one) - calculation);
  EXPECT_NEAR(ratio, 0.508, 0.01);
}

TEST(ClosedForm, TheLogarithmWithoutPIsLessForMoreRows) {
  MclPrinted printed;
  printed.log_without_p = true;
  const NetworkParameters net{0, 1e-9};
  EXPECT_LT(mcl_communication_seconds({10000, 100, 4, 4}, net, printed),
            mcl_communication_seconds({10000, 100, 4, 4}, net));
  EXPECT_DOUBLE_EQ(mcl_communication_seconds({10000, 100, 1, 4}, net, printed),
                   mcl_communication_seconds({10000, 100, 1, 4}, net));
}

TEST(ClosedForm, SummitByEquationThreeIs179And190Petaflops) {
  const ClosedFormRun run{16473600, 384, 144, 192};
  const double gamma = 1 / 7.45e12;
  EXPECT_NEAR(hpl_gflops(run.n, netlib_seconds(run, gamma, {1.5e-6, seconds_per_word(12.5e9)})) * 1e-6, 179.3,
              1.0);
  EXPECT_NEAR(hpl_gflops(run.n, netlib_seconds(run, gamma, {1.5e-6, seconds_per_word(25e9)})) * 1e-6, 190.6,
              1.0);
}

TEST(ClosedForm, TheRooflineIsTheHigherOfItsTwoLimits) {
  const ClosedFormRun run{10000, 100, 1, 1};
  EXPECT_DOUBLE_EQ(roofline_seconds(run, 1e9, 0), hpl_flops(10000) / 1e9);
  EXPECT_DOUBLE_EQ(roofline_seconds(run, 1e15, 1e9), 16 * 1e12 / 300 / 1e9);
}

}  // namespace
}  // namespace weft::hpl_gen
