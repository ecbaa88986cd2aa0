// What a critical path takes of the heap: this program counts what is allocated and not given back.
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <string>

#include "tests/replay/microseconds.hpp"
#include "tests/support/checkout.hpp"
#include "tests/support/files.hpp"
#include "tests/support/heap_count.hpp"
#include "tests/support/needs.hpp"
#include "traces/formats.hpp"

namespace weft::replay::path_memory_test {
namespace {

struct Taken {
  std::size_t most = 0;
  std::uint64_t ops = 0;
};
Taken taken(const std::string& trace, const std::string& platform, bool path) {
  auto t = traces::open_trace({trace});
  EXPECT_TRUE(t) << (t ? "" : t.error().message());
  const auto p = topology::load_platform(platform).value();
  ReplayOptions o;
  o.critical_path = path;
  const std::size_t before = support::restart_heap_most();
  const auto r = replayed(**t, p, o);
  EXPECT_EQ(r.path.known, path);
  return {support::heap_most() - before, (*t)->totals().ops};
}

double bytes_an_operation(const std::string& trace, const std::string& platform) {
  const Taken plain = taken(trace, platform, false), with = taken(trace, platform, true);
  EXPECT_GT(with.most, plain.most);
  EXPECT_GT(plain.ops, 50'000u);
  const double bytes =
      (static_cast<double>(with.most) - static_cast<double>(plain.most)) / static_cast<double>(plain.ops);
  std::printf("%.1f bytes an operation\n", bytes);
  return bytes;
}

// The path, the segments of the result and the young branches, of HPL, whose ranks overtake each other all the time. The more ranks
// share the operations, the fewer of these are on the path.
TEST(PathMemory, OfHplIsBoundedByTheOperationsOfARank) {
  EXPECT_LE(bytes_an_operation(support::oracle_dir() + "/4x4_2000_64/trace.tar.zst",
                               "torus:dims=4x4,bw=10GB/s,lat=1us,speed=10Gflops"),
            48);
  EXPECT_LE(bytes_an_operation(support::oracle_dir() + "/8x8_4000_64/trace.tar.zst",
                               "torus:dims=8x8,bw=10GB/s,lat=1us,speed=10Gflops"),
            24);
}

TEST(PathMemory, IsAtMostSixteenBytesAnOperationOf256Ranks) {
  const std::string trace = support::shared_dir() + "/traces/hpl_ti_flops/16x16_4000_64/trace.tar.zst";
  WEFT_NEEDS(std::ifstream(trace), trace << " is not here");
  for (const char* const platform : {"crossbar:n=256,bw=10GB/s,lat=1us,speed=10Gflops",
                                     "dragonfly:p=4,a=8,h=4,bw=10GB/s,lat=1us,speed=10Gflops"})
    EXPECT_LE(bytes_an_operation(trace, platform), 16) << platform;
}

// One operation of a rank, hundreds of rounds: what lies behind all ranks is forgotten on the way. What stays are 2^20 routes.
TEST(ReplayMemory, OfAnAllToAllIsThatOfTheRoutesOfItsPairs) {
  const auto bytes_a_message = [](std::uint32_t ranks, const char* model) {
    std::string text;
    for (std::uint32_t r = 0; r < ranks; ++r)
      for (const char* op : {"init", "alltoall 65536 65536 1 1", "finalize"})
        text += std::to_string(r) + " " + op + "\n";
    const support::TempFile f("alltoall.txt", text);
    auto t = traces::open_trace({f.path()});
    EXPECT_TRUE(t) << (t ? "" : t.error().message());
    const auto p = topology::load_platform("xgft:h=2,m=32x32,w=1x32").value();
    ReplayOptions o;
    o.model = model;
    const std::size_t before = support::restart_heap_most();
    const ReplayResult r = replayed(**t, p, o);
    EXPECT_EQ(r.network.count, std::uint64_t{ranks} * (ranks - 1));
    std::printf("%u ranks, %s: %.1f MB\n", ranks, model,
                static_cast<double>(support::heap_most() - before) / 1e6);
    return static_cast<double>(support::heap_most() - before) / static_cast<double>(r.network.count);
  };
  for (const char* const model : {"contention-free", "max-min"})
    EXPECT_LE(bytes_a_message(512, model), 120) << model;
}

}  // namespace
}  // namespace weft::replay::path_memory_test
