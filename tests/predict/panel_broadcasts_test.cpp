// How long panels are on their way: bytes over bandwidth where nothing else takes time, for every program.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

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

topology::Platform plain_crossbar(int hosts, const std::string& bandwidth, const std::string& mpi) {
  return testing::platform_of_text("topology { family: \"crossbar\" set: \"n=" + std::to_string(hosts) +
                                   "\" set: \"bw=" + bandwidth +
                                   "\" set: \"lat=0\" }\n"
                                   "host { speed: \"10Gflops\" kernel { name: \"*\" rate: \"10Gflops\" "
                                   "intercept: \"1us\" } }\n"
                                   "mpi { " +
                                   mpi + " }\n");
}

HplPrediction predicted(const HplConfig& c, const topology::Platform& platform,
                        Exchanges exchanges = Exchanges::kAuto) {
  PredictOptions options;
  options.exchanges = exchanges;
  auto r = predict_hpl(c, platform, options);
  EXPECT_TRUE(r) << (r ? "" : r.error().message());
  return r ? *r : HplPrediction();
}

// Eager, in a row of two and without latency: a panel leaves when it is sent and moves alone.
TEST(PanelBroadcasts, TakeTheTimeOfTheirBytesWhereNothingElseTakesAny) {
  for (const Program program : {Program::kNetlib, Program::kRocHpl, Program::kNvidia}) {
    const HplConfig c = config(program, 1, 2);
    const HplPrediction r = predicted(c, plain_crossbar(8, "1GB/s", "eager_limit: \"1GB\""));
    EXPECT_NEAR(r.bcast_took_s, static_cast<double>(panel_bytes(c)) / 1e9, 1e-9)
        << "program " << static_cast<int>(program);
  }
}

// In longer rows and with handshakes: not less than the largest row's bytes over all of its links, nor than nothing.
TEST(PanelBroadcasts, TakeAtLeastTheTimeOfTheirBytesInEveryRow) {
  for (const Program program : {Program::kNetlib, Program::kRocHpl, Program::kNvidia}) {
    const HplConfig c = config(program, 2, 4);
    const HplPrediction r = predicted(c, plain_crossbar(8, "1GB/s", "eager_limit: \"64KiB\""));
    const double each = static_cast<double>(panel_bytes(c)) / 1e9 / c.p / (c.q - 1);
    EXPECT_GE(r.bcast_took_s, each) << "program " << static_cast<int>(program);
    EXPECT_LE(r.bcast_took_s, 2 * r.time_s) << "at most two panels are under way";
  }
}

// From the first send to the last arrival, of each panel in the one process row, and how many are under way at most. Each
// process sends a panel once, or not at all: its sends are told apart by their order.
struct Witness {
  double seconds = 0;
  int at_once = 0;
};
Witness broadcasts_of(const HplConfig& c, const topology::Platform& platform) {
  hpl_gen::HplTraceOptions generate;
  generate.start_end = false;
  const auto trace = hpl_gen::HplTrace::create(hpl_gen::to_dat(c), generate);
  EXPECT_TRUE(trace);
  const auto ranks = static_cast<std::uint32_t>(c.ranks());
  std::vector<std::vector<std::pair<SimTime, SimTime>>> sent(ranks);
  replay::ReplayOptions options;
  const CommId row = hpl_gen::grid_of(c).row_comm(0);
  options.on_message = [&](const replay::MessageSeen& m) {
    if (m.of_collective || m.comm != row || m.tag >= hpl_gen::kTagSolve) return;
    sent[m.src.index()].emplace_back(m.posted, m.arrived);
  };
  options.on_again = [&] { sent.assign(ranks, {}); };
  const auto placement = topology::place_ranks(platform, ranks, "block", 0);
  EXPECT_TRUE(placement);
  EXPECT_TRUE(replay::replay(**trace, platform, *placement, options));
  std::vector<std::pair<SimTime, SimTime>> panels(static_cast<std::size_t>(c.panels()));
  for (std::uint32_t r = 0; r < ranks; ++r) {
    auto& mine = sent[r];
    std::sort(mine.begin(), mine.end());
    auto next = mine.begin();
    for (std::int64_t k = 0; k < c.panels(); ++k) {
      // The last of the ring sends nothing on.
      if (static_cast<std::int64_t>((r + 1) % ranks) == k % c.q) continue;
      EXPECT_NE(next, mine.end()) << "rank " << r;
      if (next == mine.end()) return {};
      auto& p = panels[static_cast<std::size_t>(k)];
      p = p.second == SimTime() ? *next
                                : std::pair(std::min(p.first, next->first), std::max(p.second, next->second));
      ++next;
    }
    EXPECT_EQ(next, mine.end()) << "rank " << r;
  }
  Witness w;
  for (const auto& [from, to] : panels) {
    w.seconds += to_seconds(to - from);
    int others = 0;
    for (const auto& p : panels) others += p.first <= from && from < p.second;
    w.at_once = std::max(w.at_once, others);
  }
  return w;
}

// A long row on a slow network: the end of the ring is many panels behind its beginning. No two sends of a process at once.
TEST(PanelBroadcasts, CountPanelsOfLongRowsHoweverManyAreUnderWay) {
  for (const Program program : {Program::kNetlib, Program::kRocHpl, Program::kNvidia}) {
    HplConfig c = config(program, 1, 40);
    c.n = 5000, c.nb = 50, c.pmap = hpl_gen::ProcessMap::kRowMajor;
    const topology::Platform platform =
        plain_crossbar(40, "0.05GB/s", "eager_limit: \"1GB\" send_cost { intercept: \"1us\" }");
    const Witness w = broadcasts_of(c, platform);
    EXPECT_GT(w.at_once, 16) << "program " << static_cast<int>(program);
    EXPECT_NEAR(predicted(c, platform, Exchanges::kMessages).bcast_took_s, w.seconds, 1e-9)
        << "program " << static_cast<int>(program);
  }
}

}  // namespace
}  // namespace weft::predict
