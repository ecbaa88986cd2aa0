// Replays over links that give each flow their whole bandwidth, as a user sees them.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/cli/run_weft.hpp"
#include "tests/support/fatpipe_cluster.hpp"

namespace weft::testing::fatpipe_test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

using Messages = std::vector<support::FatpipeCase::Sent>;

// Programs of isends and irecvs, all begun at once, and one waitall, on the cluster with a backbone of 400 MB/s.
void write_case(const Workspace& w, const Messages& sent) {
  w.write("net.routes", support::fatpipe_cluster(4e8));
  for (std::uint32_t r = 0; r < 8; ++r) {
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

TEST(Fatpipes, ReplaysTakeWhatSimGridSays) {
  constexpr int kM = 1'000'000;
  const Workspace w;
  const support::FatpipeCase eight = support::eight_over_a_narrow_fatpipe();
  write_case(w, eight.sent);
  // Without events, with them, and by each model.
  for (const char* flags : {"", "--verify", "--critical-path",
                            "--verify --weights rtt --model max-min-component", "--verify --model pcie"}) {
    const Outcome o = w.weft(fmt::format("{} {} --json -", kReplay, flags));
    ASSERT_EQ(o.exit_code, 0) << flags << o.err;
    const json j = json::parse(o.out);
    for (const auto& [rank, seconds] : eight.finish)
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
  w.write("net.xml",
          "<?xml version='1.0'?>\n<platform version='4.1'><zone id='z' routing='Full'>"
          "<host id='a' speed='1Gf'/><host id='b' speed='1Gf'/>"
          "<link id='l' bandwidth='1GBps' latency='1us' sharing_policy='FATPIPE'/>"
          "<route src='a' dst='b'><link_ctn id='l'/></route></zone></platform>\n");
  ASSERT_EQ(w.weft("generate ring --ranks 16 -o ring.weft").exit_code, 0);
  const std::string on = "replay ring.weft --on 'simgrid:path=net.xml,node=cs-storm'";
  const Outcome arbitrated = w.weft(on);
  EXPECT_EQ(arbitrated.exit_code, 2);
  EXPECT_THAT(arbitrated.err,
              HasSubstr("not supported: --model pcie on fatpipe links beside PCIe trees; expected "
                        "--model max-min"));
  EXPECT_EQ(w.weft(on + " --model max-min").exit_code, 0);
}

}  // namespace
}  // namespace weft::testing::fatpipe_test
