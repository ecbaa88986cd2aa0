// Nodes with PCIe trees under a network that is the same from each of them: which node has which number decides nothing.
#include <gtest/gtest.h>

#include <array>
#include <numeric>
#include <string>
#include <vector>

#include "core/rng.hpp"
#include "network/flow_run.hpp"
#include "topology/platform/platform.hpp"

namespace weft::network::pcie_numbering_test {
namespace {

constexpr std::uint32_t kNodes = 4;

struct Message {
  std::uint32_t from = 0, to = 0;  // GPU of all nodes
  Bytes bytes{0};
};

std::vector<double> ends(const topology::Fabric& fabric, const std::vector<Message>& messages,
                         const std::array<std::uint32_t, kNodes>& number) {
  const std::uint32_t gpus = fabric.host_count() / kNodes;
  const auto host = [&](std::uint32_t gpu) { return HostId(number[gpu / gpus] * gpus + gpu % gpus); };
  auto run = FlowRun::create("", fabric);
  EXPECT_TRUE(run);
  for (const Message& m : messages) {
    std::vector<LinkId> route;
    EXPECT_TRUE(fabric.routing().route(host(m.from), host(m.to), route));
    run->add(route, m.bytes, kTimeZero, Duration(0));
  }
  EXPECT_TRUE(run->run(false));
  std::vector<double> out;
  for (std::uint32_t f = 0; f < run->size(); ++f) out.push_back(to_seconds(run->finish(f)));
  return out;
}

TEST(PcieNumbering, WhichNodeHasWhichNumberDecidesNothing) {
  const std::vector<std::string> shapes = {
      "",
      ",node.nic=switch",
      ",node.sockets=2",
      ",node.sockets=2,node.nic=switch",
      ",node.switches=0",
      ",node.gpus=1,node.switches=0,node.cards=4",
      ",node.gpus=1,node.cards=3,node.nic=switch,node.tau=1/2",
  };
  for (std::uint64_t seed = 1; seed <= 120; ++seed) {
    Rng rng(seed);
    const std::string shape = shapes[rng.below(shapes.size())];
    const auto rate = [&] { return std::to_string(4 * (1 + rng.below(4))) + "GB/s"; };
    topology::PlatformChanges changes;
    std::string at = "crossbar:n=4,bw=" + std::to_string(3 + 7 * rng.below(3)) + "GB/s,lat=0,node=pcie";
    for (std::size_t i = 0; i < shape.size();) {
      const std::size_t end = std::min(shape.find(',', i + 1), shape.size());
      changes.set.push_back(shape.substr(i + 1, end - i - 1));
      i = end;
    }
    changes.set.push_back("node.bw=" + rate());
    changes.set.push_back("node.nic_bw=" + rate());
    const auto platform = topology::load_platform(at, changes);
    ASSERT_TRUE(platform) << platform.error().message();
    const topology::Fabric& fabric = platform->fabric;
    std::vector<Message> messages(3 + rng.below(10));
    for (Message& m : messages) {
      m.from = static_cast<std::uint32_t>(rng.below(fabric.host_count()));
      do m.to = static_cast<std::uint32_t>(rng.below(fabric.host_count()));
      while (m.to == m.from);
      m.bytes = Bytes(static_cast<std::int64_t>(1'000'000 * (1 + rng.below(4))));
    }
    std::array<std::uint32_t, kNodes> number{};
    std::iota(number.begin(), number.end(), 0u);
    const std::vector<double> want = ends(fabric, messages, number);
    for (std::size_t i = kNodes; i > 1; --i) std::swap(number[i - 1], number[rng.below(i)]);
    const std::vector<double> got = ends(fabric, messages, number);
    for (std::size_t i = 0; i < want.size(); ++i)
      ASSERT_NEAR(got[i], want[i], 1e-9 * want[i]) << "seed " << seed << shape << ", message " << i;
  }
}

}  // namespace
}  // namespace weft::network::pcie_numbering_test
