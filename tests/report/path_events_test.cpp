// Where Paraver says that the critical path goes: over the rank whose time it is, or that waits for the message.
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "tests/report/timeline_texts.hpp"
#include "tests/support/hosts.hpp"
#include "tests/support/memory_trace.hpp"
#include "topology/platform/platform.hpp"

namespace weft::report::path_events_test {
namespace {

using testing::MemoryTrace;
using traces::OpKind;
using Lines = std::vector<std::string>;

constexpr std::int64_t kMs = 1'000'000'000;

// "1 0 10 awaited": rank, begin and end (ms), of each event of the path.
Lines path_events(MemoryTrace t) {
  const auto p = topology::load_platform("crossbar:n=2,bw=1GB/s,lat=0s").value();
  const auto hosts = testing::first_hosts(2);
  replay::ReplayOptions o;
  o.critical_path = true;
  TimelineCollector collector(2, {}, p.fabric, hosts, o);
  collector.attach(o);
  const auto r = replay::replay(t, p, hosts, o).value();
  t.rewind();
  Timeline timeline = collector.finish(t, r.makespan).value();
  add_path(timeline, r.path);
  std::istringstream in(paraver_texts(timeline, {0, 1}, {}).prv);
  Lines out;
  std::vector<std::string> begun(2);
  for (std::string line; std::getline(in, line);) {
    std::vector<std::string> f;
    std::istringstream fields(line);
    for (std::string field; std::getline(fields, field, ':');) f.push_back(field);
    if (f.size() < 8 || f[0] != "2" || f[6] != "60000319") continue;
    const std::size_t rank = std::stoul(f[3]) - 1;
    const std::string ms = std::to_string(std::stoll(f[5]) / 1'000'000);
    if (f[7] != "0") {
      begun.at(rank) = std::to_string(rank) + " " + ms + " " + f[7];
    } else {
      out.push_back(begun.at(rank).insert(begun.at(rank).rfind(' '), " " + ms));
    }
  }
  for (std::string& line : out) {
    const bool own = line.back() == '1';
    line.pop_back();
    line += own ? "own" : "awaited";
  }
  return out;
}

// 10 MB in 10 ms, which one side waits for, and then computes.
TEST(PathEvents, AMessageIsOnTheRankThatWaitsForIt) {
  constexpr std::int64_t kBytes = 10'000'000;
  MemoryTrace receiver(2);
  receiver.p2p(0, OpKind::ssend, 1, 0, kBytes);
  receiver.p2p(1, OpKind::recv, 0, 0, kBytes);
  receiver.compute(1, Duration(20 * kMs));
  EXPECT_EQ(path_events(receiver), (Lines{"1 0 10 awaited", "1 10 30 own"}));
  MemoryTrace sender(2);
  sender.p2p(0, OpKind::ssend, 1, 0, kBytes);
  sender.compute(0, Duration(20 * kMs));
  sender.p2p(1, OpKind::irecv, 0, 0, kBytes, CommId(0), 0);
  sender.compute(1, Duration(25 * kMs));
  sender.wait(1, 0);
  EXPECT_EQ(path_events(sender), (Lines{"0 0 10 awaited", "0 10 30 own"}));
}

}  // namespace
}  // namespace weft::report::path_events_test
