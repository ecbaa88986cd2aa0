// The trace doctor on recorded matches that cannot be right.
#include <fmt/format.h>

#include <tuple>

#include "tests/traces/check_programs.hpp"

namespace weft::traces {
namespace {

using namespace check_programs;

// A recording that names another source or tag than the call is wrong; the call is believed. One that names none tells nothing.
TEST(CheckRecorded, AMatchThatWasNotAskedForIsToldAndNotBelieved) {
  const TempDir dir;
  const Op probe{.kind = OpKind::probe, .peer = 0, .tag = 5};
  const Op any{.kind = OpKind::probe, .peer = kAnySource, .tag = kAnyTag};
  for (const auto& [op, got, wrong] :
       {std::tuple(probe, L{0, 5, 8}, false), std::tuple(probe, L{1, 5, 8}, true),
        std::tuple(probe, L{0, 6, 8}, true), std::tuple(any, L{0, 5, 8}, false),
        std::tuple(any, L{kAnySource, 9, 8}, false)}) {
    Program p(dir, 3);
    p.add(0, send(2, 5, 8)).add(2, op, got).add(2, recv(0, 5, 8));
    EXPECT_EQ(p.findings(),
              wrong ? "E 2.0 : rank 2 probe: what it got in the recording is not what it asks for\n" : "");
  }
  for (const OpKind kind : {OpKind::recv, OpKind::irecv}) {
    Program p(dir, 2);
    p.add(0, send(1, 5, 8))
        .add(1, with_request(recv(0, 5, 8), kind, kind == OpKind::irecv ? 0 : kNoRequest), L{0, 7, 8});
    if (kind == OpKind::irecv) p.add(1, wait(0, 0, 5, 8));
    EXPECT_EQ(p.findings(),
              fmt::format("E 1.0 : rank 1 {}: what it got in the recording is not what it asks for\n",
                          op_name(kind)));
    // Nobody knows what it got, so it takes what comes.
    Program q(dir, 2);
    q.add(0, send(1, 5, 8))
        .add(1, with_request(recv(kAnySource, kAnyTag, 8), kind, kind == OpKind::irecv ? 0 : kNoRequest),
             L{kProcNull, 5, 8});
    if (kind == OpKind::irecv) q.add(1, wait(0, 0, 5, 8));
    EXPECT_EQ(q.findings(), "");
  }
}

}  // namespace
}  // namespace weft::traces
