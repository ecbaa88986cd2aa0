// Programs to SimGrid's text: who waits for what, line by line. SimGrid 3.32 replays what is expected here; its own
// rules: src/smpi/internals/smpi_replay.cpp.
#include <gmock/gmock.h>

#include "tests/support/memory_trace.hpp"
#include "tests/traces/trace_testing.hpp"
#include "traces/exports/export.hpp"

namespace weft::traces::ti_export_test {
namespace {

using namespace testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using weft::testing::MemoryTrace;

struct Exported {
  std::string lines;  // of rank 0, or the error
  std::vector<std::string> warnings;
};

Exported ti_of(MemoryTrace& t) {
  const TempDir dir;
  t.rewind();
  Exported out;
  const auto written = export_trace(t, "ti", dir.path("t.ti"), {.warnings = &out.warnings});
  out.lines = written ? slurp(dir.path("t.ti_files/rank-0.txt")) : written.error().message();
  return out;
}

// A blocking send above SimGrid's limit of detached ones waits for its receive; a buffered one never does. SimGrid fails a
// message whose rank has ended ("Link failure"), so the end of the rank waits for it.
TEST(TiExport, ABufferedSendIsAnIsendThatOnlyTheEndWaitsFor) {
  MemoryTrace t(2);
  t.add(0, {.kind = OpKind::init});
  t.p2p(0, OpKind::bsend, 1, 5, 1'000'000);
  t.p2p(0, OpKind::ibsend, 1, 6, 2'000'000, CommId(0), 3);
  t.wait(0, 3);
  t.p2p(0, OpKind::bsend_init, 1, 7, 3'000'000, CommId(0), 4);
  for (int i = 0; i < 2; ++i) {
    t.add(0, {.kind = OpKind::start, .request = 4});
    t.wait(0, 4);
  }
  t.p2p(0, OpKind::bsend, kProcNull, 5, 1);
  t.p2p(0, OpKind::recv, 1, 8, 1);
  t.add(0, {.kind = OpKind::finalize});
  const Exported e = ti_of(t);
  EXPECT_EQ(e.lines,
            "0 init\n0 isend 1 5 1000000 6\n0 isend 1 6 2000000 6\n0 isend 1 7 3000000 6\n"
            "0 isend 1 7 3000000 6\n0 recv 1 8 1 6\n"
            "0 wait 0 1 5\n0 wait 0 1 6\n0 wait 0 1 7\n0 wait 0 1 7\n0 finalize\n");
  EXPECT_THAT(e.warnings, IsEmpty());
}

TEST(TiExport, TheEndAlsoWaitsForASendThatWasFreed) {
  MemoryTrace t(2);
  t.p2p(0, OpKind::isend, 1, 5, 10, CommId(0), 0);
  t.add(0, {.kind = OpKind::request_free, .request = 0});
  t.p2p(0, OpKind::irecv, 1, 5, 10, CommId(0), 0);
  t.wait(0, 0);
  EXPECT_EQ(ti_of(t).lines, "0 isend 1 5 10 6\n0 irecv 1 5 10 6\n0 wait 1 0 5\n0 wait 0 1 5\n");
}

// A wait line takes the oldest request of its source, destination and tag.
TEST(TiExport, AWaitForALaterRequestOfOneKeyWaitsForTheOlderOnesToo) {
  MemoryTrace t(2);
  for (const std::uint32_t slot : {0u, 1u, 2u}) t.p2p(0, OpKind::irecv, 1, 5, 10 + slot, CommId(0), slot);
  t.p2p(0, OpKind::irecv, 1, 6, 20, CommId(0), 3);
  t.wait(0, 1);
  t.compute(0, Duration(1'000'000'000'000));
  t.wait(0, 0);
  t.wait(0, 3);
  t.wait(0, 2);
  const Exported e = ti_of(t);
  EXPECT_EQ(e.lines,
            "0 irecv 1 5 10 6\n0 irecv 1 5 11 6\n0 irecv 1 5 12 6\n0 irecv 1 6 20 6\n"
            "0 wait 1 0 5\n0 wait 1 0 5\n0 sleep 1\n0 wait 1 0 6\n0 wait 1 0 5\n");
  EXPECT_THAT(e.warnings, ElementsAre(HasSubstr("1 request must be over earlier than in the program")));
}

TEST(TiExport, WaitsOfOneCallAreInAnyOrderOfItsRequests) {
  MemoryTrace t(2);
  for (const std::uint32_t slot : {0u, 1u, 2u}) t.p2p(0, OpKind::irecv, 1, 5, 10, CommId(0), slot);
  t.add(0, {.kind = OpKind::waitall}, {1, 0});
  t.wait(0, 2);
  const Exported e = ti_of(t);
  EXPECT_EQ(e.lines,
            "0 irecv 1 5 10 6\n0 irecv 1 5 10 6\n0 irecv 1 5 10 6\n"
            "0 wait 1 0 5\n0 wait 1 0 5\n0 wait 1 0 5\n");
  EXPECT_THAT(e.warnings, IsEmpty());
}

TEST(TiExport, AWaitBehindBufferedSendsOfItsKeyIsTold) {
  MemoryTrace t(2);
  t.p2p(0, OpKind::bsend, 1, 5, 10);
  t.p2p(0, OpKind::bsend, 1, 5, 11);
  t.p2p(0, OpKind::isend, 1, 5, 12, CommId(0), 0);
  t.p2p(0, OpKind::bsend, 1, 5, 13);
  t.wait(0, 0);
  const Exported e = ti_of(t);
  EXPECT_EQ(e.lines,
            "0 isend 1 5 10 6\n0 isend 1 5 11 6\n0 isend 1 5 12 6\n0 isend 1 5 13 6\n"
            "0 wait 0 1 5\n0 wait 0 1 5\n0 wait 0 1 5\n0 wait 0 1 5\n");
  EXPECT_THAT(e.warnings, ElementsAre(HasSubstr("2 requests must be over earlier")));
}

TEST(TiExport, ACancelThatCameTooLateChangesNothing) {
  const auto lines = [](const Op& end, const std::vector<std::int64_t>& list) {
    MemoryTrace t(2);
    t.p2p(0, OpKind::isend, 1, 5, 10, CommId(0), 0);
    t.p2p(0, OpKind::irecv, 1, 5, 10, CommId(0), 1);
    for (const std::uint32_t slot : {0u, 1u}) t.add(0, {.kind = OpKind::cancel, .request = slot});
    t.wait(0, 0);
    t.add(0, end, list);
    return ti_of(t).lines;
  };
  const std::string ordinary = "0 isend 1 5 10 6\n0 irecv 1 5 10 6\n0 wait 0 1 5\n0 wait 1 0 5\n";
  EXPECT_EQ(lines({.kind = OpKind::wait, .peer = 1, .tag = 5, .amount = 10, .request = 1}, {}), ordinary);
  EXPECT_EQ(lines({.kind = OpKind::waitall}, {1}), ordinary);
  // Nothing came: the irecv would wait for ever.
  const std::string refused =
      "by hand: rank 0, operation 3: error: not supported: SimGrid TI text cannot say this cancel: no "
      "message came "
      "for its receive";
  EXPECT_EQ(lines({.kind = OpKind::wait, .peer = kAnySource, .tag = kAnyTag, .request = 1}, {}), refused);
  EXPECT_EQ(lines({.kind = OpKind::request_free, .request = 1}, {}), refused);
  EXPECT_EQ(lines({.kind = OpKind::barrier}, {}), refused);
}

TEST(TiExport, BothHalvesOfASendrecvGoOnTogetherTheReceiveFirst) {
  const auto lines = [](std::int32_t to, std::int32_t from, bool pending = false) {
    MemoryTrace t(3);
    if (pending) t.p2p(0, OpKind::irecv, 2, 6, 30, CommId(0), 0);
    t.p2p(0, OpKind::sendrecv, to, 5, 10);
    t.add(0, {.kind = OpKind::recv, .flags = kPairedRecv, .peer = from, .tag = 6, .amount = 20});
    if (pending) t.wait(0, 0);
    const Exported e = ti_of(t);
    EXPECT_THAT(e.warnings, IsEmpty());
    return e.lines;
  };
  EXPECT_EQ(lines(1, 2), "0 irecv 2 6 20 6\n0 send 1 5 10 6\n0 wait 2 0 6\n");
  EXPECT_EQ(lines(1, kProcNull), "0 send 1 5 10 6\n");
  EXPECT_EQ(lines(kProcNull, 2), "0 recv 2 6 20 6\n");
  EXPECT_EQ(lines(kProcNull, kProcNull), "");
  // A wait line would be passed over, or would take another receive.
  EXPECT_EQ(lines(1, kAnySource), "0 isend 1 5 10 6\n0 recv -555 6 20 6\n0 wait 0 1 5\n");
  EXPECT_EQ(lines(1, 2, true),
            "0 irecv 2 6 30 6\n0 isend 1 5 10 6\n0 recv 2 6 20 6\n0 wait 0 1 5\n0 wait 2 0 6\n");
}

TEST(TiExport, CallsThatMakeCommunicatorsAreCounted) {
  MemoryTrace t(2);
  t.add_comm("twin", {0, 1});
  for (const std::uint32_t r : {0u, 1u}) {
    t.add(r, {.kind = OpKind::comm_dup, .amount = 1});
    t.add(r, {.kind = OpKind::comm_free, .comm = CommId(1)});
    t.add(r, {.kind = OpKind::comm_create_group, .amount = r == 0 ? 1 : -1});
  }
  const Exported e = ti_of(t);
  EXPECT_EQ(e.lines, "");
  EXPECT_THAT(e.warnings, ElementsAre(HasSubstr("3 calls that make communicators are left out")));
}

// SimGrid keeps a receive from any source (-555) as one from -556: no line of a trace finds it.
TEST(TiExport, AWaitForAnySourceIsTold) {
  MemoryTrace t(2);
  t.p2p(0, OpKind::irecv, kAnySource, 5, 10, CommId(0), 0);
  t.wait(0, 0);
  const Exported e = ti_of(t);
  EXPECT_EQ(e.lines, "0 irecv -555 5 10 6\n0 wait -555 0 5\n");
  EXPECT_THAT(e.warnings, ElementsAre(HasSubstr("SimGrid passes over 1 wait for a message of any source")));
}

}  // namespace
}  // namespace weft::traces::ti_export_test
