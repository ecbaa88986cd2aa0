// What is to know beside predictions of HPL.
#include "predict/hpl_warnings.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <vector>

#include "tests/predict/support.hpp"

namespace weft::predict {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;

// Runs of N = 1000 with these widths of blocks.
std::vector<hpl_gen::HplConfig> of_widths(std::initializer_list<std::int64_t> widths,
                                          hpl_gen::Program program = hpl_gen::Program::kNetlib) {
  std::vector<hpl_gen::HplConfig> out;
  for (const std::int64_t nb : widths) {
    hpl_gen::HplConfig& c = out.emplace_back();
    c.n = 1000, c.nb = nb, c.program = program;
  }
  return out;
}

TEST(HplWarnings, AreOfPlatformsThatCannotTellWidthsApart) {
  const auto one_speed = crossbar_of(4, "ranks: 2 memory: \"3GiB\" speed: \"10Gflops\"");
  EXPECT_THAT(hpl_warnings(one_speed, of_widths({64, 256}), {}),
              ElementsAre(HasSubstr("as fast at NB = 64 as at NB = 256")));
  EXPECT_THAT(hpl_warnings(one_speed, of_widths({64, 64}), {}), IsEmpty());
  EXPECT_THAT(hpl_warnings(one_speed, {}, {}), IsEmpty());
  const auto measured = crossbar_of(2, "kernel { name: \"dgemm\" mnk: \"70ps\" mn: \"1ns\" }");
  EXPECT_THAT(hpl_warnings(measured, of_widths({64, 256}), {}), IsEmpty());
}

// 10 Gflop/s that nobody gave are told as such, not as what the platform gives; an entry of all kernels is no assumption.
TEST(HplWarnings, ASpeedThatNobodyGaveIsNotThePlatforms) {
  const auto none = crossbar_of(4, "ranks: 2");
  const auto assumed = HasSubstr("the platform gives no speed: 10 Gflop/s a rank are assumed");
  EXPECT_THAT(hpl_warnings(none, of_widths({64}), {}), ElementsAre(assumed));
  EXPECT_THAT(hpl_warnings(none, of_widths({64, 256}), {}),
              ElementsAre(assumed, AllOf(HasSubstr("as fast at NB = 64 as at NB = 256"),
                                         Not(HasSubstr("the platform gives")))));
  const auto all = crossbar_of(4, "kernel { name: \"*\" rate: \"10Gflops\" }");
  EXPECT_THAT(hpl_warnings(all, of_widths({64, 256}), {}),
              ElementsAre(HasSubstr("the platform gives one speed")));
  using ::testing::Contains;
  EXPECT_THAT(hpl_assumed(none), Contains("speed"));
  EXPECT_THAT(hpl_assumed(crossbar_of(4, "speed: \"10Gflops\"")), Not(Contains("speed")));
  EXPECT_THAT(hpl_assumed(all), Not(Contains("speed")));
  EXPECT_THAT(hpl_assumed(none), IsSupersetOf({"bw", "lat", "speed", "eager_limit"}));
}

// The dgemm that the program runs, which is the accelerator's where it has one.
TEST(HplWarnings, WidthsAreToldApartByTheDgemmOfTheUpdate) {
  const auto both = [](const std::string& host, const std::string& device) {
    return crossbar_of(4, "memory: \"3GiB\" kernel { name: \"dgemm\" mnk: \"70ps\" " + host +
                              "} kernel { name: \"device_dgemm\" mnk: \"7ps\" " + device +
                              "} kernel { name: \"copy_to_host\" bandwidth: \"1GB/s\" } kernel { name: "
                              "\"copy_to_device\" bandwidth: \"1GB/s\" }");
  };
  const auto flat = HasSubstr("as fast at NB = 64 as at NB = 256");
  const std::string depends = "intercept: \"10us\" ";
  using hpl_gen::Program;
  for (const Program program : {Program::kNetlib, Program::kRocHpl}) {
    const bool device = program == Program::kRocHpl;
    const auto configs = of_widths({64, 256}, program);
    EXPECT_THAT(hpl_warnings(both(device ? depends : "", device ? "" : depends), configs, {}),
                ::testing::Contains(flat));
    EXPECT_THAT(hpl_warnings(both(device ? "" : depends, device ? depends : ""), configs, {}),
                ::testing::Not(::testing::Contains(flat)));
  }
}

TEST(HplWarnings, AreOfAllThatIsPredictedInOneOrder) {
  const auto small = crossbar_of(4, "memory: \"1MiB\" speed: \"10Gflops\"");
  PredictOptions options;
  options.noise = true;
  EXPECT_THAT(hpl_warnings(small, of_widths({256, 64, 128}, hpl_gen::Program::kRocHpl), options),
              ElementsAre(HasSubstr("device_dgemm"), HasSubstr("copies of panels take no time"),
                          HasSubstr("as fast at NB = 64 as at NB = 256"), topology::kNoNoise));
  EXPECT_THAT(hpl_warnings(small, of_widths({64}), {}), ElementsAre(HasSubstr("N = 1000 on 1 x 1")));
}

}  // namespace
}  // namespace weft::predict
