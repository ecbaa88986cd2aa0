// Replays over links that give each flow their whole bandwidth, as a user sees them.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/cli/run_weft.hpp"

namespace weft::testing::fatpipe_test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

struct Sent {
  int src, dst, bytes;
};

// SimGrid's cluster of 8 hosts, links of 1 GB/s, over a FATPIPE backbone of 400 MB/s; 1 us each. Programs of isends and
// irecvs, all begun at once, and one waitall.
void write_case(const Workspace& w, const std::vector<Sent>& sent) {
  std::string text = "L 16 backbone 4e8 1e-6 fatpipe\n";
  for (int h = 0; h < 8; ++h) text += fmt::format("L {0} up{0} 1e9 1e-6\nL {1} down{0} 1e9 1e-6\n", h, 8 + h);
  for (int s = 0; s < 8; ++s)
    for (int d = 0; d < 8; ++d)
      if (s != d) text += fmt::format("R {} {} {} 16 {}\n", s, d, s, 8 + d);
  w.write("net.routes", text);
  for (int r = 0; r < 8; ++r) {
    std::string program = fmt::format("{} init\n", r);
    int requests = 0;
    for (std::size_t i = 0; i < sent.size(); ++i) {
      if (sent[i].src == r) program += fmt::format("{} isend {} {} {} 6\n", r, sent[i].dst, i, sent[i].bytes);
      if (sent[i].dst == r) program += fmt::format("{} irecv {} {} {} 6\n", r, sent[i].src, i, sent[i].bytes);
      requests += (sent[i].src == r ? 1 : 0) + (sent[i].dst == r ? 1 : 0);
    }
    w.write(fmt::format("rank-{}.txt", r),
            program + fmt::format("{0} waitall {1}\n{0} finalize\n", r, requests));
  }
}

constexpr const char* kReplay =
    "replay rank-*.txt --on routes:path=net.routes,speed=10Gflops --raw=eager --header 16B";

// Seconds are SimGrid 3.32's (CM02 without factors, gamma and cross-traffic, network/optim Full).
TEST(Fatpipes, ReplaysTakeWhatSimGridSays) {
  constexpr int kM = 1'000'000;
  const Workspace w;
  write_case(w, {{0, 4, kM},
                 {0, 5, 2 * kM},
                 {1, 5, 3 * kM},
                 {2, 5, kM},
                 {3, 6, 4 * kM},
                 {6, 7, 5 * kM},
                 {7, 0, 6 * kM},
                 {7, 1, kM}});
  const std::vector<std::pair<std::size_t, double>> finish = {
      {0, 0.01500304}, {1, 0.00250304}, {4, 0.00250304}, {5, 0.008003048}, {6, 0.01000304}, {7, 0.01250304}};
  // Without events, with them, and by each model.
  for (const char* flags : {"", "--verify", "--critical-path",
                            "--verify --weights rtt --model max-min-component", "--verify --model pcie"}) {
    const Outcome o = w.weft(fmt::format("{} {} --json -", kReplay, flags));
    ASSERT_EQ(o.exit_code, 0) << flags << o.err;
    const json j = json::parse(o.out);
    for (const auto& [rank, seconds] : finish)
      EXPECT_NEAR(j["ranks"][rank]["finish_s"].get<double>(), seconds, 2e-12) << flags << " rank " << rank;
    // Eight messages at once on a backbone that one of them fills: not the busiest link, and no more than full.
    EXPECT_NE(j["links"][0]["name"], "backbone") << flags;
    const auto backbone = std::find_if(j["links"].begin(), j["links"].end(),
                                       [](const json& l) { return l["name"] == "backbone"; });
    ASSERT_NE(backbone, j["links"].end());
    EXPECT_EQ((*backbone)["bytes"], 23 * kM + 8 * 16);
    EXPECT_EQ((*backbone)["peak_flows"], 8);
    EXPECT_EQ((*backbone)["waited_s"], 0.0);
    EXPECT_NEAR((*backbone)["utilization"].get<double>(), (23e6 + 128) / (4e8 * 0.01500304 * 8), 1e-12);
  }
}

TEST(Fatpipes, TablesTellTheClassAndSearchesRefuseIt) {
  const Workspace w;
  write_case(w, {{0, 4, 1000}});
  EXPECT_THAT(w.weft(kReplay).out, HasSubstr("fatpipe"));
  EXPECT_THAT(w.weft("route 0 4 --on routes:path=net.routes").out, HasSubstr("fatpipe"));
  const Outcome o = w.weft("search halo --grid 4x2 --on routes:path=net.routes");
  EXPECT_EQ(o.exit_code, 2);
  EXPECT_THAT(o.err, HasSubstr("not supported: a search of schedules on fatpipe links"));
}

}  // namespace
}  // namespace weft::testing::fatpipe_test
