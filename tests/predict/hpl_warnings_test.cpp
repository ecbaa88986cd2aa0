// What is to know beside predictions of HPL.
#include "predict/hpl_warnings.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <vector>

#include "tests/predict/support.hpp"

namespace weft::predict {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

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
