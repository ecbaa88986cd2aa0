// The program's trace for Paraver says what Extrae would have: sizes by its wrappers (src/tracer/wrappers/MPI/mpi_wrapper_coll_c.c of Extrae
// 5.1.2: what a rank gives to one, or a root to all, and what it gets in all) and its merger (mpi_prv_semantics.c: roots).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "tests/report/timeline_texts.hpp"
#include "tests/support/hosts.hpp"
#include "tests/support/memory_trace.hpp"
#include "topology/platform/platform.hpp"

namespace weft::report::paraver_program_test {
namespace {

using testing::MemoryTrace;
using traces::Op;
using traces::OpKind;
using Lines = std::vector<std::string>;

struct Written {
  ParaverTexts texts;
  replay::ReplayResult result;
};
// A rank a node.
Written written(MemoryTrace t, const std::string& on = "crossbar:n=8,bw=1GB/s,lat=1us") {
  const auto p = topology::load_platform(on).value();
  const std::uint32_t ranks = t.header().ranks;
  const auto hosts = testing::first_hosts(ranks);
  replay::ReplayOptions o;
  TimelineOptions options;
  options.calls = true;
  TimelineCollector collector(ranks, options, p.fabric, hosts, o);
  collector.attach(o);
  auto r = replay::replay(t, p, hosts, o);
  EXPECT_TRUE(r && r->finished);
  t.rewind();
  const Timeline timeline = collector.finish(t, r->makespan).value();
  std::vector<std::uint32_t> nodes;
  for (std::uint32_t n = 0; n < ranks; ++n) nodes.push_back(n);
  return {paraver_texts(timeline, nodes, t.communicators()), std::move(r).value()};
}
std::string prv_of(MemoryTrace t, const std::string& on = "crossbar:n=8,bw=1GB/s,lat=1us") {
  return written(std::move(t), on).texts.prv;
}

// What follows the time on the lines of rank `rank` that begin with it.
Lines lines_of(const std::string& prv, std::uint32_t rank, const std::string& type) {
  Lines out;
  std::istringstream in(prv);
  const std::string start = "2:" + std::to_string(rank + 1) + ":1:" + std::to_string(rank + 1) + ":1:";
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with(start)) continue;
    const std::string rest = line.substr(line.find(':', start.size()) + 1);
    if (rest.starts_with(type) && !rest.ends_with(type + ":0")) out.push_back(rest.substr(type.size() + 1));
  }
  return out;
}

// Ranks 3, 1, 0 in this order; the root is 1.
TEST(ParaverProgram, CollectivesHaveTheSizesAndRootsOfExtrae) {
  MemoryTrace t(4);
  const CommId comm = t.add_comm("three", {3, 1, 0});
  const auto all = [&](OpKind kind, std::int32_t root, std::vector<std::int64_t> amounts,
                       const std::vector<std::vector<std::int64_t>>& lists = {}) {
    const std::uint32_t members[] = {3, 1, 0};
    for (std::size_t i = 0; i < 3; ++i) {
      Op op{.kind = kind, .comm = comm, .peer = root, .amount = amounts[amounts.size() == 1 ? 0 : i]};
      t.add(members[i], op, lists.empty() ? std::vector<std::int64_t>() : lists[i]);
    }
  };
  constexpr std::int32_t kNone = traces::kAnySource;
  all(OpKind::barrier, kNone, {0});
  all(OpKind::bcast, 1, {7});
  all(OpKind::reduce, 1, {8});
  all(OpKind::gather, 1, {5});
  all(OpKind::scatter, 1, {6});
  all(OpKind::gatherv, 1, {10, 20, 30}, {{}, {10, 20, 30}, {}});
  all(OpKind::scatterv, 1, {10, 20, 30}, {{}, {10, 20, 30}, {}});
  all(OpKind::allgather, kNone, {5});
  all(OpKind::alltoall, kNone, {5});
  all(OpKind::allgatherv, kNone, {10, 20, 30}, {{10, 20, 30}, {10, 20, 30}, {10, 20, 30}});
  all(OpKind::alltoallv, kNone, {6, 15, 24},
      {{3, 1, 2, 3, 1, 4, 7}, {3, 4, 5, 6, 2, 5, 8}, {3, 7, 8, 9, 3, 6, 9}});
  all(OpKind::allreduce, kNone, {9});
  all(OpKind::scan, kNone, {9});
  all(OpKind::reduce_scatter, kNone, {60}, {{10, 20, 30}, {10, 20, 30}, {10, 20, 30}});
  all(OpKind::reduce_scatter_block, kNone, {5});
  const auto line = [](int value, int sent, int received, bool root = false) {
    return fmt::format("{}:50100001:{}:50100002:{}:50100004:2{}", value, sent, received,
                       root ? ":50100003:1" : "");
  };
  const std::string prv = prv_of(t);
  EXPECT_EQ(lines_of(prv, 1, "50000002"),
            (Lines{line(8, 0, 0), line(7, 7, 0, true), line(9, 0, 8, true), line(13, 5, 15, true),
                   line(15, 18, 6, true), line(14, 20, 60, true), line(16, 60, 20, true), line(17, 5, 15),
                   line(11, 5, 15), line(18, 20, 60), line(12, 15, 15), line(10, 9, 9), line(30, 9, 9),
                   line(80, 60, 20), line(168, 15, 5)}));
  EXPECT_EQ(lines_of(prv, 3, "50000002"),
            (Lines{line(8, 0, 0), line(7, 0, 7), line(9, 8, 0), line(13, 5, 0), line(15, 0, 6),
                   line(14, 10, 0), line(16, 0, 10), line(17, 5, 15), line(11, 5, 15), line(18, 10, 60),
                   line(12, 6, 12), line(10, 9, 9), line(30, 9, 9), line(80, 60, 10), line(168, 15, 5)}));
  EXPECT_NE(prv.find("\nc:1:1:4:1:2:3:4\nc:1:2:3:4:2:1\n"), std::string::npos) << prv;
  EXPECT_EQ(prv.find("\n3:"), std::string::npos) << "their messages are the network's";
}

// By hand: no call takes time here, so each takes 2 ns, and what it waits for is there when it is.
TEST(ParaverProgram, EndsOfMessagesLieInTheCallsThatTheyAreOf) {
  MemoryTrace t(2);
  t.p2p(0, OpKind::irecv, 1, 5, 100, CommId(0), 0);
  t.p2p(0, OpKind::isend, 1, 6, 1000, CommId(0), 1);
  t.compute(0, Duration(500'000));
  t.wait(0, 0);
  t.wait(0, 1);
  t.compute(1, Duration(10'000));
  t.p2p(1, OpKind::send, 0, 5, 100);
  t.p2p(1, OpKind::recv, 0, 6, 1000);
  const std::string prv = prv_of(t, "crossbar:n=2,bw=1GB/s,lat=0s");
  // The send of rank 1 is at 10 ns, its data are there at 110; those of rank 0, sent at 2, at 1000.
  EXPECT_NE(prv.find("\n3:2:1:2:1:11:11:1:1:1:1:1:505:100:5\n"), std::string::npos) << prv;
  EXPECT_NE(prv.find("\n3:1:1:1:1:3:3:2:1:2:1:13:999:1000:6\n"), std::string::npos) << prv;
  EXPECT_NE(prv.find("\n1:1:1:1:1:4:504:1\n"), std::string::npos) << "computation keeps its length\n" << prv;
  EXPECT_NE(prv.find("\n1:2:1:2:1:12:1000:3\n"), std::string::npos) << "a wait makes up for it\n" << prv;
}

// 1,000 computations of 1.4 ns between calls are 1,400 ns.
TEST(ParaverProgram, FractionsOfANanosecondGoToTheNextComputation) {
  MemoryTrace t(2);
  for (int i = 0; i < 1000; ++i) {
    t.compute(0, Duration(1400));
    t.p2p(0, OpKind::isend, 1, 0, 1, CommId(0), 0);
    t.wait(0, 0);
    t.p2p(1, OpKind::recv, 0, 0, 1);
  }
  std::istringstream in(prv_of(t));
  std::int64_t computed = 0;
  int pieces = 0;
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("1:1:1:1:1:") || !line.ends_with(":1")) continue;
    const std::size_t from = 10, to = line.find(':', from) + 1;
    const std::int64_t length = std::stoll(line.substr(to)) - std::stoll(line.substr(from));
    EXPECT_TRUE(length == 1 || length == 2) << line;
    computed += length;
    ++pieces;
  }
  EXPECT_EQ(pieces, 1000);
  EXPECT_NEAR(static_cast<double>(computed), 1400, 0.5);
}

// A barrier of all to who reads the file, and none in a replay.
TEST(ParaverProgram, HasNoInit) {
  MemoryTrace t(2);
  for (std::uint32_t r = 0; r < 2; ++r) {
    t.add(r, {.kind = OpKind::init});
    t.add(r, {.kind = OpKind::finalize});
  }
  const std::string prv = prv_of(t);
  EXPECT_EQ(lines_of(prv, 0, "50000003"), Lines{"32"});
}

// All messages at the times of their data, the links as threads on a node of their own.
TEST(ParaverNetwork, HasTheMessagesOfCollectivesAndTheLinks) {
  MemoryTrace t(2);
  t.p2p(0, OpKind::isend, 1, 3, 1000, CommId(0), 0);
  t.wait(0, 0);
  for (std::uint32_t r = 0; r < 2; ++r) t.compute(r, Duration(5'000'000));
  t.p2p(1, OpKind::recv, 0, 3, 1000);
  for (std::uint32_t r = 0; r < 2; ++r)
    t.collective(r, OpKind::allreduce, traces::kAnySource, 500, CommId(0));
  const Written w = written(t, "crossbar:n=2,bw=1GB/s,lat=1us");
  std::istringstream in(w.texts.network_prv);
  std::string line;
  std::getline(in, line);
  EXPECT_EQ(line, "#Paraver (01/01/70 at 00:00):" + std::to_string(w.result.makespan.count() / 1000) +
                      "_ns:3(1,1,4):2:2(1:1,1:2):1(4:3),0");
  Lines messages;
  std::size_t loads = 0;
  while (std::getline(in, line)) line.starts_with("3:") ? messages.push_back(line) : void(++loads);
  ASSERT_EQ(messages.size(), w.result.network.count);
  ASSERT_GT(messages.size(), 2u) << "one of the program, the others of the collective";
  // Latency on both links, then 1 us for 1,000 B, all before the receive.
  EXPECT_EQ(std::ranges::count(messages, "3:1:1:1:1:0:0:2:1:2:1:3000:3000:1000:3"), 1) << w.texts.network_prv;
  EXPECT_GT(loads, 4u);
  EXPECT_EQ(w.texts.network_row.substr(w.texts.network_row.find("LEVEL NODE")),
            "LEVEL NODE SIZE 3\nnode 1\nnode 2\nlinks\n\nLEVEL THREAD SIZE 6\nrank 0\nrank 1\n"
            "node-0->switch\nswitch->node-1\nnode-1->switch\nswitch->node-0\n");
}

}  // namespace
}  // namespace weft::report::paraver_program_test
