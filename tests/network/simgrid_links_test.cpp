// Links of SimGrid platform files under load: a SHARED one is there once for both directions, of a split one each half for its own, a
// FATPIPE has all of it for each flow. Times by hand.
#include <gtest/gtest.h>

#include "network/flow_run.hpp"
#include "tests/support/files.hpp"
#include "topology/platform/platform.hpp"

namespace weft::network {
namespace {

// When two flows of 1 MB, one each way, end on a link of 1 GB/s without latency.
double end_of_both(const std::string& policy, const std::string& direction) {
  const support::TempFile file("two.xml",
                               "<platform version=\"4.1\"><zone id=\"z\" routing=\"Full\"><host id=\"a\" "
                               "speed=\"1Gf\"/><host id=\"b\" "
                               "speed=\"1Gf\"/><link id=\"l\" bandwidth=\"1GBps\" sharing_policy=\"" +
                                   policy + "\"/><route src=\"a\" dst=\"b\"><link_ctn id=\"l\"" + direction +
                                   "/></route></zone></platform>");
  const auto platform = topology::load_platform(file.path());
  if (!platform) {
    ADD_FAILURE() << platform.error().message();
    return 0;
  }
  auto run = FlowRun::create("max-min", platform->fabric).value();
  run.add(HostId(0), HostId(1), Bytes(1'000'000), SimTime(Duration(0)), false);
  run.add(HostId(1), HostId(0), Bytes(1'000'000), SimTime(Duration(0)), false);
  EXPECT_TRUE(run.run(false));
  return to_seconds(run.makespan() - SimTime(Duration(0)));
}

TEST(SimgridLinks, AreSharedAsTheirPolicySays) {
  EXPECT_DOUBLE_EQ(end_of_both("SHARED", ""), 2e-3);
  EXPECT_DOUBLE_EQ(end_of_both("FATPIPE", ""), 1e-3);
  EXPECT_DOUBLE_EQ(end_of_both("SPLITDUPLEX", " direction=\"UP\""), 1e-3);
}

}  // namespace
}  // namespace weft::network
