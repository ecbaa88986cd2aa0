// A replay as an OTF2 archive, read back: what is there is what the replay did, not what was recorded.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string_view>

#include "report/timeline/ops_collector.hpp"
#include "tests/support/files.hpp"
#include "tests/support/memory_trace.hpp"
#include "tests/support/needs.hpp"
#include "tests/support/platform_text.hpp"
#include "traces/kernel.hpp"
#include "traces/trace.hpp"

namespace weft::report::otf2_replay_test {
namespace {

using ::testing::ElementsAre;
using testing::MemoryTrace;
using traces::kAnySource;
using traces::kAnyTag;
using traces::Op;
using traces::OpKind;

constexpr std::int64_t kMs = 1'000'000'000;

// Messages of a rank and their completions, in words, as the archive has them; the error, if there is one.
std::vector<std::string> archived(const std::string& dir, std::uint32_t rank) {
  auto t = traces::open_trace({dir});
  if (!t) return {t.error().message()};
  std::vector<std::string> out;
  traces::OpBlock block;
  while ((*t)->next_block(RankId(rank), block).value())
    for (const Op& op : block.ops)
      if (op.kind >= OpKind::send && op.kind <= OpKind::irecv)
        out.push_back(fmt::format("{} {} tag {} {} B", traces::op_name(op.kind), op.peer, op.tag, op.amount));
  return out;
}

std::string exported(MemoryTrace& t, const topology::Platform& p, const std::string& dir) {
  std::vector<HostId> hosts;
  for (std::uint32_t r = 0; r < t.header().ranks; ++r) hosts.emplace_back(r);
  replay::ReplayOptions o;
  OpsCollector ops;
  ops.attach(o, true);
  auto archive = traces::open_replayed_otf2(dir);
  if (!archive) return archive.error().message();
  if (const auto r = replay::replay(t, p, hosts, o); !r) return r.error().message();
  const auto written = (*archive)->write(t, ops.ops(), nullptr);
  return written ? "" : written.error().message();
}

std::string exported(MemoryTrace& t, const std::string& dir) {
  return exported(t, topology::load_platform("crossbar:n=4,bw=1GB/s,lat=1us").value(), dir);
}

bool built_with_otf2() {
  const support::TempDir dir;
  return traces::open_replayed_otf2(dir.path("x")).has_value();
}

// Rank 1 was first when it was recorded, and computes for 5 ms here.
MemoryTrace overtaken() {
  MemoryTrace t(3);
  t.compute(1, Duration(5 * kMs));
  return t;
}

TEST(Otf2Replay, AReceiveFromAnySourceHasWhatItTookInTheReplay) {
  WEFT_NEEDS(built_with_otf2(), "built without OTF2");
  const support::TempDir dir;
  MemoryTrace t = overtaken();
  const Op any{.kind = OpKind::recv, .peer = kAnySource, .tag = kAnyTag, .amount = 10000};
  t.add(0, any, {1, 7, 1000});
  t.add(0, any, {2, 9, 5000});
  // What the trace does not say, the replay does.
  t.add(0, any);
  t.p2p(1, OpKind::send, 0, 7, 1000);
  t.p2p(1, OpKind::send, 0, 8, 2000);
  t.p2p(2, OpKind::send, 0, 9, 5000);
  ASSERT_EQ(exported(t, dir.path("a")), "");
  EXPECT_THAT(archived(dir.path("a"), 0),
              ElementsAre("recv 2 tag 9 5000 B", "recv 1 tag 7 1000 B", "recv 1 tag 8 2000 B"));
}

TEST(Otf2Replay, SoHasOneThatIsFreed) {
  WEFT_NEEDS(built_with_otf2(), "built without OTF2");
  const support::TempDir dir;
  MemoryTrace t = overtaken();
  t.add(0, {.kind = OpKind::irecv, .peer = kAnySource, .tag = kAnyTag, .amount = 10000, .request = 0});
  t.add(0, {.kind = OpKind::request_free, .request = 0});
  t.add(0, {.kind = OpKind::recv, .peer = kAnySource, .tag = kAnyTag, .amount = 10000});
  t.p2p(1, OpKind::send, 0, 7, 1000);
  t.p2p(2, OpKind::send, 0, 9, 5000);
  ASSERT_EQ(exported(t, dir.path("a")), "");
  EXPECT_THAT(archived(dir.path("a"), 0), ElementsAre("irecv 2 tag 9 5000 B", "recv 1 tag 7 1000 B"));
}

TEST(Otf2Replay, SoHaveRequestsPersistentOnesAndSendrecvs) {
  WEFT_NEEDS(built_with_otf2(), "built without OTF2");
  const support::TempDir dir;
  MemoryTrace t = overtaken();
  const auto waited = [&](std::uint32_t slot, std::int32_t peer, std::int32_t tag, std::int64_t bytes) {
    t.add(0, {.kind = OpKind::wait, .peer = peer, .tag = tag, .amount = bytes, .request = slot});
  };
  t.add(0, {.kind = OpKind::irecv, .peer = kAnySource, .tag = kAnyTag, .amount = 9, .request = 0}, {1, 1, 1});
  t.add(0, {.kind = OpKind::recv_init, .peer = kAnySource, .tag = kAnyTag, .amount = 9, .request = 1});
  t.add(0, {.kind = OpKind::startall}, {1});
  waited(1, 2, 1, 5);
  t.add(0, {.kind = OpKind::start, .request = 1});
  t.add(0, {.kind = OpKind::waitall}, {0, 1});
  t.add(0, {.kind = OpKind::sendrecv, .peer = 1, .tag = 3, .amount = 4});
  t.add(0,
        {.kind = OpKind::recv, .flags = traces::kPairedRecv, .peer = kAnySource, .tag = kAnyTag, .amount = 9},
        {1, 2, 2});
  for (std::int32_t i = 1; i <= 2; ++i) {
    t.p2p(1, OpKind::send, 0, i, i);
    t.p2p(2, OpKind::send, 0, i, 4 + i);
  }
  t.p2p(1, OpKind::recv, 0, 3, 4);
  ASSERT_EQ(exported(t, dir.path("a")), "");
  EXPECT_THAT(archived(dir.path("a"), 0),
              ElementsAre("irecv 2 tag 1 5 B", "irecv 2 tag 2 6 B", "irecv 1 tag 1 1 B",
                          "sendrecv 1 tag 3 4 B", "recv 1 tag 2 2 B"));
}

// A cancel that was in time for the recorded receive is too late here, and the other way round.
TEST(Otf2Replay, ACancelIsInTimeWhereItIsInTheReplay) {
  WEFT_NEEDS(built_with_otf2(), "built without OTF2");
  const support::TempDir dir;
  MemoryTrace t = overtaken();
  t.add(0, {.kind = OpKind::irecv, .peer = 2, .tag = 1, .amount = 9, .request = 0});
  t.add(0, {.kind = OpKind::irecv, .peer = 1, .tag = 1, .amount = 9, .request = 1}, {1, 1, 1});
  t.compute(0, Duration(kMs));
  t.add(0, {.kind = OpKind::cancel, .request = 0});
  t.add(0, {.kind = OpKind::cancel, .request = 1});
  t.add(0, {.kind = OpKind::waitall}, {0, 1});
  t.p2p(0, OpKind::recv, 1, 1, 1);
  t.p2p(1, OpKind::send, 0, 1, 1);
  t.p2p(2, OpKind::send, 0, 1, 5);
  ASSERT_EQ(exported(t, dir.path("a")), "");
  EXPECT_THAT(archived(dir.path("a"), 0), ElementsAre("irecv 2 tag 1 5 B", "recv 1 tag 1 1 B"));
}

// A poll that missed finds its message: the body runs before what stands between, some of it in no time.
MemoryTrace polled(const std::vector<Op>& between, const Op& in_body) {
  MemoryTrace t(3);
  const auto distance = static_cast<std::int64_t>(1 + between.size());
  t.p2p(0, OpKind::send, 1, 1, 1000);
  t.compute(1, Duration(kMs));
  t.add(1, {.kind = OpKind::iprobe, .peer = 0, .tag = 1, .amount = 1}, {distance});
  for (const Op& op : between) t.add(1, op);
  t.add(1, {.kind = OpKind::iprobe, .flags = traces::kHit, .peer = 0, .tag = 1, .amount = 1},
        {0, 2, 0, 1, 1000});
  t.p2p(1, OpKind::recv, 0, 1, 1000);
  t.add(1, in_body);
  t.wait(1, 0);
  return t;
}

TEST(Otf2Replay, OperationsOfOneInstantKeepTheOrderOfTheReplay) {
  WEFT_NEEDS(built_with_otf2(), "built without OTF2");
  const support::TempDir dir;
  const Op first{.kind = OpKind::isend, .peer = 2, .tag = 6, .amount = 16, .request = 1};
  MemoryTrace t = polled({first, {.kind = OpKind::wait, .peer = kAnySource, .tag = kAnyTag, .request = 1}},
                         {.kind = OpKind::isend, .peer = 2, .tag = 6, .amount = 32, .request = 0});
  t.compute(2, Duration(2 * kMs));
  t.p2p(2, OpKind::recv, 1, 6, 100);
  t.p2p(2, OpKind::recv, 1, 6, 100);
  ASSERT_EQ(exported(t, dir.path("a")), "");
  EXPECT_THAT(archived(dir.path("a"), 1),
              ElementsAre("recv 0 tag 1 1000 B", "isend 2 tag 6 32 B", "isend 2 tag 6 16 B"));
}

// The receive begins where the body was over in no time, and ends later: the body is before it.
TEST(Otf2Replay, AnOperationOfNoTimeIsBeforeOneThatBeginsAtItsInstantAndLasts) {
  WEFT_NEEDS(built_with_otf2(), "built without OTF2");
  const support::TempDir dir;
  MemoryTrace t = polled({{.kind = OpKind::recv, .peer = 2, .tag = 5, .amount = 8}},
                         {.kind = OpKind::isend, .peer = 0, .tag = 6, .amount = 32, .request = 0});
  t.p2p(0, OpKind::recv, 1, 6, 32);
  t.compute(2, Duration(2 * kMs));
  t.p2p(2, OpKind::send, 1, 5, 8);
  ASSERT_EQ(exported(t, dir.path("a")), "");
  EXPECT_THAT(archived(dir.path("a"), 1),
              ElementsAre("recv 0 tag 1 1000 B", "isend 0 tag 6 32 B", "recv 2 tag 5 8 B"));
}

// Events of a location by otf2-print: "ENTER 70 device_dgemm", times in us.
std::vector<std::string> printed(const std::string& dir, std::uint32_t location) {
  std::vector<std::string> out;
  std::FILE* const f = ::popen(("otf2-print '" + dir + "/traces.otf2' 2>&1").c_str(), "r");
  char line[4096];
  while (f != nullptr && std::fgets(line, sizeof line, f) != nullptr) {
    EXPECT_FALSE(std::string_view(line).starts_with("otf2-print")) << line;
    std::istringstream words(line);
    std::string event;
    std::uint64_t at = 0, ps = 0;
    if (!(words >> event >> at >> ps) || at != location) continue;
    const std::string text(line);
    const std::size_t name = text.find('"');
    out.push_back(fmt::format("{} {} {}", event, ps / 1'000'000,
                              text.substr(name + 1, text.find('"', name + 1) - name - 1)));
  }
  EXPECT_TRUE(f != nullptr && ::pclose(f) == 0);
  return out;
}

// Rank 1: kernels of 70 and 20 us, beside them a copy of 30, which it waits for first; rank 0 launches nothing.
TEST(Otf2Replay, AcceleratorsAreLocationsOfTheirOwnBelowTheirRank) {
  WEFT_NEEDS(built_with_otf2(), "built without OTF2");
  WEFT_NEEDS(std::system("command -v otf2-print >/dev/null 2>&1") == 0, "NO otf2-print ON THIS MACHINE");
  using traces::Kernel;
  MemoryTrace t(2);
  const auto launch = [&](Kernel kernel, std::int64_t us, std::uint32_t request) {
    t.add(1, {.kind = OpKind::launch, .request = request}, {static_cast<std::int64_t>(kernel), us, 1, 1});
  };
  launch(Kernel::device_dgemm, 70, 1);
  launch(Kernel::copy_to_host, 30, 2);
  launch(Kernel::device_dgemm, 20, traces::kNoRequest);
  t.wait(1, 2);
  t.wait(1, 1);
  t.compute(1, Duration(10 * kMs / 1000));
  t.p2p(1, OpKind::send, 0, 7, 1000);
  t.p2p(0, OpKind::recv, 1, 7, 1000);
  const topology::Platform p = testing::platform_of_text(
      "topology { family: \"crossbar\" set: \"n=2\" set: \"bw=1GB/s\" set: \"lat=0\" }\n"
      "host { kernel { name: \"device_dgemm\" mnk: \"1us\" } kernel { name: \"copy_to_host\" mnk: \"1us\" } "
      "}\n");
  const support::TempDir dir;
  ASSERT_EQ(exported(t, p, dir.path("a")), "");
  EXPECT_THAT(
      printed(dir.path("a"), 1),
      ElementsAre("ENTER 0 launch device_dgemm", "LEAVE 0 launch device_dgemm", "ENTER 0 launch copy_to_host",
                  "LEAVE 0 launch copy_to_host", "ENTER 0 launch device_dgemm", "LEAVE 0 launch device_dgemm",
                  "ENTER 0 wait for accelerator", "LEAVE 30 wait for accelerator",
                  "ENTER 30 wait for accelerator", "LEAVE 70 wait for accelerator", "ENTER 80 MPI_Send",
                  ::testing::StartsWith("MPI_SEND 80 "), "LEAVE 80 MPI_Send"));
  EXPECT_THAT(printed(dir.path("a"), 2), ElementsAre("ENTER 0 device_dgemm", "LEAVE 70 device_dgemm",
                                                     "ENTER 70 device_dgemm", "LEAVE 90 device_dgemm"));
  EXPECT_THAT(printed(dir.path("a"), 3), ElementsAre("ENTER 0 copy_to_host", "LEAVE 30 copy_to_host"));
  // Read as a trace it is what the ranks did with MPI.
  EXPECT_THAT(archived(dir.path("a"), 1), ElementsAre("send 0 tag 7 1000 B"));
  EXPECT_THAT(archived(dir.path("a"), 0), ElementsAre("recv 1 tag 7 1000 B"));
}

}  // namespace
}  // namespace weft::report::otf2_replay_test
