// What an export for a viewer takes of the heap: this program counts what is allocated and not given back.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "report/timeline/paraver.hpp"
#include "tests/support/files.hpp"
#include "tests/support/heap_count.hpp"
#include "topology/placement/placement.hpp"
#include "topology/platform/platform.hpp"
#include "traces/formats.hpp"

namespace weft::report::timeline_memory_test {
namespace {

struct Taken {
  std::size_t replay = 0, perfetto = 0, paraver = 0;  // bytes
  std::size_t text = 0;
};

// A ring of 16 ranks that send to both sides: so many operations each.
Taken taken(int rounds) {
  std::string text;
  for (int r = 0; r < 16; ++r) {
    const std::string me = std::to_string(r);
    text += me + " init\n";
    for (int i = 0; i < rounds; ++i) {
      text += me + " compute 1000000\n" + me + " irecv " + std::to_string((r + 15) % 16) + " 0 1000\n";
      text += me + " isend " + std::to_string((r + 1) % 16) + " 0 1000\n" + me + " waitall 2\n";
    }
    text += me + " finalize\n";
  }
  const support::TempFile file("ring_of_memory.txt", text);
  text = {};
  auto trace = traces::open_trace({file.path()}).value();
  const auto platform = topology::load_platform("crossbar:n=16,bw=1GB/s,lat=1us,speed=1Gflops").value();
  std::vector<HostId> hosts;
  std::vector<std::uint32_t> nodes;
  for (std::uint32_t r = 0; r < 16; ++r) {
    hosts.emplace_back(r);
    nodes.push_back(r);
  }
  Taken t;
  const support::TempDir folder;
  TimelineOptions options;
  options.beside = folder.path("out");
  options.calls = true;
  replay::ReplayOptions o;
  TimelineCollector collector(16, options, platform.fabric, hosts, o);
  collector.attach(o);
  std::size_t before = support::restart_heap_most();
  const auto result = replay::replay(*trace, platform, hosts, o).value();
  trace->rewind();
  const Timeline timeline = collector.finish(*trace, result.makespan).value();
  t.replay = support::heap_most() - before;
  EXPECT_GE(timeline.spans.size(), 16u * 4u * static_cast<unsigned>(rounds));
  const auto sum = [&t](std::string_view piece) { t.text += piece.size(); };
  before = support::restart_heap_most();
  EXPECT_TRUE(write_perfetto(timeline, "ring", sum));
  t.perfetto = support::heap_most() - before;
  before = support::restart_heap_most();
  EXPECT_TRUE(write_prv(timeline, nodes, trace->communicators(), sum));
  t.paraver = support::heap_most() - before;
  std::printf("%d rounds: %zu, %zu and %zu KB for %zu KB of text\n", rounds, t.replay >> 10, t.perfetto >> 10,
              t.paraver >> 10, t.text >> 10);
  return t;
}

// Rows: three lists of kRowsMemory during the replay and the join, two while something is sorted or written.
TEST(TimelineMemory, DoesNotGrowWithTheReplay) {
  const Taken some = taken(10'000), more = taken(20'000);
  EXPECT_GT(more.text, some.text + (std::size_t{64} << 20));
  for (const Taken& t : {some, more}) {
    EXPECT_LT(t.replay, std::size_t{32} << 20);
    EXPECT_LT(t.perfetto, std::size_t{24} << 20);
    EXPECT_LT(t.paraver, std::size_t{24} << 20);
  }
}

}  // namespace
}  // namespace weft::report::timeline_memory_test
