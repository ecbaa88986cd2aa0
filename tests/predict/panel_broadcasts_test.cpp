// How long panels are on their way: bytes over bandwidth where nothing else takes time, for every program.
#include <gtest/gtest.h>

#include <string>

#include "hpl_gen/hpl_trace.hpp"
#include "hpl_gen/steps/op_sink.hpp"
#include "predict/hpl_prediction.hpp"
#include "tests/predict/support.hpp"
#include "tests/support/platform_text.hpp"

namespace weft::predict {
namespace {

using hpl_gen::HplConfig;
using hpl_gen::Program;

// Bytes of all panels, as the trace sends them along process rows.
std::int64_t panel_bytes(const HplConfig& c) {
  const auto trace = hpl_gen::HplTrace::create(hpl_gen::to_dat(c));
  EXPECT_TRUE(trace);
  const hpl_gen::ProcessGrid grid = hpl_gen::grid_of(c);
  std::int64_t bytes = 0;
  traces::OpBlock block;
  for (std::uint32_t r = 0; r < static_cast<std::uint32_t>(c.ranks()); ++r)
    while ((*trace)->next_block(RankId(r), block).value())
      for (const traces::Op& op : block.ops)
        if (traces::is_send(op.kind) && op.comm >= grid.row_comm(0) && op.comm <= grid.row_comm(c.p - 1) &&
            op.tag < hpl_gen::kTagSolve)
          bytes += op.amount;
  return bytes;
}

HplConfig config(Program program, int p, int q) {
  HplConfig c{.n = 2000, .nb = 200, .p = p, .q = q, .bcast = hpl_gen::Bcast::k1Ring, .depth = 1};
  c.program = program;
  return c;
}

HplPrediction predicted(const HplConfig& c, const std::string& eager_limit) {
  const auto platform = testing::platform_of_text(
      "topology { family: \"crossbar\" set: \"n=8\" set: \"bw=1GB/s\" set: \"lat=0\" }\n"
      "host { speed: \"10Gflops\" kernel { name: \"*\" rate: \"10Gflops\" intercept: \"1us\" } }\n"
      "mpi { eager_limit: \"" +
      eager_limit + "\" }\n");
  auto r = predict_hpl(c, platform, {});
  EXPECT_TRUE(r) << (r ? "" : r.error().message());
  return r ? *r : HplPrediction();
}

// Eager, in a row of two and without latency: a panel leaves when it is sent and moves alone.
TEST(PanelBroadcasts, TakeTheTimeOfTheirBytesWhereNothingElseTakesAny) {
  for (const Program program : {Program::kNetlib, Program::kRocHpl, Program::kNvidia}) {
    const HplConfig c = config(program, 1, 2);
    const HplPrediction r = predicted(c, "1GB");
    EXPECT_NEAR(r.bcast_took_s, static_cast<double>(panel_bytes(c)) / 1e9, 1e-9)
        << "program " << static_cast<int>(program);
  }
}

// In longer rows and with handshakes: not less than the largest row's bytes over all of its links, nor than nothing.
TEST(PanelBroadcasts, TakeAtLeastTheTimeOfTheirBytesInEveryRow) {
  for (const Program program : {Program::kNetlib, Program::kRocHpl, Program::kNvidia}) {
    const HplConfig c = config(program, 2, 4);
    const HplPrediction r = predicted(c, "64KiB");
    const double each = static_cast<double>(panel_bytes(c)) / 1e9 / c.p / (c.q - 1);
    EXPECT_GE(r.bcast_took_s, each) << "program " << static_cast<int>(program);
    EXPECT_LE(r.bcast_took_s, 2 * r.time_s) << "at most two panels are under way";
  }
}

}  // namespace
}  // namespace weft::predict
