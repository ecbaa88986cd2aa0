// What accelerators hide behind their hosts, and samples of runs with one process row.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "hpl_gen/hpl_dat.hpp"
#include "predict/hpl_prediction.hpp"
#include "tests/predict/support.hpp"

namespace weft::predict {
namespace {

hpl_gen::HplConfig device_run(hpl_gen::Program program, std::int64_t n, std::int64_t nb, int p, int q) {
  hpl_gen::HplConfig c{.n = n, .nb = nb, .p = p, .q = q};
  c.program = program;
  c.depth = 1;
  return c;
}

// What goes on behind host phases is told where columns are copied, too: as without them where the copies take no time, and never more
// than the accelerators' work or the time in which their hosts do not wait.
TEST(HplDevices, WhatHidesBehindHostsIsToldWhereColumnsAreCopiedToo) {
  const auto hidden = [](const std::string& copies, std::int64_t memory) {
    auto c = device_run(hpl_gen::Program::kNvidia, 4096, 128, 1, 2);
    c.rochpl.device_memory = memory;
    const auto run = predict_hpl(
        c,
        crossbar_of(
            4,
            "speed: \"1Tflops\" kernel { name: \"device_dgemm\" rate: \"1Tflops\" } kernel { name: \"dgemm\" "
            "rate: \"100Gflops\" } kernel { name: \"copy_to_device\" for_k: \"2\" bandwidth: \"" +
                copies + "\" } kernel { name: \"*\" intercept: \"0\" }"),
        {});
    EXPECT_TRUE(run) << (run ? "" : run.error().message());
    if (!run || !run->device_s || !run->device_hidden_s) {
      ADD_FAILURE() << "nothing is said of accelerators";
      return HplPrediction();
    }
    EXPECT_GT(*run->device_hidden_s, 0.05 * *run->device_s);
    EXPECT_LE(*run->device_hidden_s, std::min(*run->device_s, run->time_s - run->update_s) * (1 + 1e-9));
    return *run;
  };
  constexpr std::int64_t kSome = 40'000'000;
  const HplPrediction fits = hidden("1GB/s", 0), free = hidden("1000000TB/s", kSome),
                      slow = hidden("1GB/s", kSome);
  EXPECT_NEAR(free.device_hidden_s.value_or(0), fits.device_hidden_s.value_or(0), 1e-9);
  EXPECT_GT(slow.update_s, slow.device_s.value_or(0)) << "copies are most of the waits";
}

}  // namespace
}  // namespace weft::predict
