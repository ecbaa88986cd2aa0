// Weft's own events (traces/formats/paraver/events.hpp): what Extrae does not say of sends, collectives, messages and communicators.
#include "tests/traces/paraver/paraver_testing.hpp"

namespace weft::traces::paraver_events_test {
namespace {

using paraver_test::call;
using paraver_test::head;
using paraver_test::message;
using paraver_test::of_task;
using paraver_test::opened;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::TempDir;

TEST(ParaverEvents, RequestsThatAreNamedAreWaitedForWhereTheFileSays) {
  const TempDir dir;
  const std::string sends = call(1, 0, 10, 1, 3, ":60000519:4") + message(1, 5, 2, 5, 95, 8, 1) +
                            call(1, 10, 20, 1, 3, ":60000519:2") + message(1, 15, 2, 15, 96, 8, 2) +
                            call(1, 20, 30, 1, 3) + message(1, 25, 2, 25, 97, 8, 3);
  const std::string receives = call(2, 0, 10, 1, 4) + call(2, 10, 20, 1, 4) + call(2, 20, 30, 1, 4);
  const std::string all = call(2, 90, 99, 1, 6);
  // A number that is used again was never waited for; one that nobody ends is left.
  EXPECT_THAT(
      of_task(dir, head(2) + sends + receives + call(1, 40, 50, 1, 6, ":60000519:2:60000519:4") + all),
      ElementsAre("isend 1/1 8b #0", "isend 1/2 8b #1", "isend 1/3 8b #2", "request_free #2",
                  "compute 10000ps", "waitall [1 0]"));
  EXPECT_THAT(of_task(dir, head(2) + sends + receives + call(1, 40, 50, 1, 5, ":60000519:2") +
                               call(1, 50, 60, 3, 115, ":60000519:4") + all),
              ElementsAre("isend 1/1 8b #0", "isend 1/2 8b #1", "isend 1/3 8b #2", "request_free #2",
                          "compute 10000ps", "wait #1", "request_free #0"));
  EXPECT_THAT(of_task(dir, head(2) + call(1, 0, 10, 1, 3, ":60000519:1") + message(1, 5, 2, 5, 95, 8, 1) +
                               call(1, 10, 20, 1, 3, ":60000519:1") + message(1, 15, 2, 15, 96, 8, 2) +
                               receives + all),
              ElementsAre("isend 1/1 8b #0", "request_free #0", "isend 1/2 8b #0"));
  const std::string starts =
      call(1, 0, 1, 2, 157, ":50100001:8:50100002:0:50100003:1:50100004:1:60000519:3") +
      call(2, 0, 1, 2, 157, ":50100001:0:50100002:8:50100004:1:60000519:1");
  EXPECT_THAT(of_task(dir, head(2) + starts + call(1, 5, 9, 1, 60, ":60000519:3") + call(2, 5, 9, 1, 5)),
              ElementsAre("ibcast 8b root 0 #0", "compute 4000ps", "wait #0"));
}

TEST(ParaverEvents, AMessageIsOnTheCommunicatorThatItsCallsSay) {
  const TempDir dir;
  const std::string two =
      "#Paraver (22/03/26 at 10:11):9000_ns:2(1,1):1:2(1:1,1:2),2\nc:1:1:2:1:2\nc:1:2:2:2:1\n";
  const std::string text = two + call(1, 0, 10, 1, 1, ":60000619:2") + message(1, 5, 2, 5, 6, 8, 1) +
                           call(2, 0, 10, 1, 2, ":60000619:2") + call(1, 10, 20, 1, 1) +
                           message(1, 15, 2, 15, 16, 8, 1) + call(2, 10, 20, 1, 2);
  EXPECT_THAT(of_task(dir, text), ElementsAre("send 1/1 8b comm 1", "send 1/1 8b"));
  EXPECT_THAT(of_task(dir, text, 1), ElementsAre("recv 0/1 8b comm 1", "recv 0/1 8b"));
}

TEST(ParaverEvents, AStartedSendIsAsTheCallThatIsNamed) {
  const TempDir dir;
  const std::vector<std::pair<int, std::string>> ways{
      {3, "isend"}, {36, "ibsend"}, {37, "issend"}, {38, "irsend"}};
  for (const auto& [value, name] : ways)
    EXPECT_THAT(of_task(dir, head(2) + call(1, 0, 9, 3, 124, fmt::format(":60000819:{}:60000519:1", value)) +
                                 call(1, 9, 20, 1, 6, ":60000519:1") + message(1, 2, 2, 3, 5, 1, 7) +
                                 message(2, 1, 1, 2, 20, 2, 8) + call(2, 0, 2, 1, 1) + call(2, 2, 6, 1, 2)),
                ElementsAre("irecv 1/8 2b #0", name + " 1/7 1b #1", "waitall [0 1]"));
  // A call that says itself how it sends does.
  EXPECT_THAT(of_task(dir, head(2) + call(1, 0, 9, 1, 1, ":60000819:36") + message(1, 2, 2, 3, 5, 1, 7) +
                               call(2, 2, 6, 1, 2)),
              ElementsAre("send 1/7 1b"));
}

TEST(ParaverEvents, WhatIsSaidThatCannotBeIsRefused) {
  const TempDir dir;
  const std::string three =
      "#Paraver (22/03/26 at 10:11):9000_ns:2(1,1):1:2(1:1,1:2),3\nc:1:1:2:1:2\nc:1:2:2:2:1\nc:1:3:1:1\n";
  for (const auto& [event, what] : std::vector<std::pair<std::string, std::string>>{
           {"60000619:99", ":23: error: a communicator that is not defined; got \"99\""},
           {"60000619:-7", ":23: error: a communicator that is not defined; got \"-7\""},
           {"60000619:3", ":23: error: a communicator that the task is not in; got \"3\""},
           {"60000819:4", ":23: error: no call that sends without blocking; got \"4\""},
           {"60000819:-1", ":23: error: no call that sends without blocking; got \"-1\""}}) {
    const auto bad =
        open_trace({dir.write("t.prv", three + "2:1:1:2:1:50:3:4\n2:2:1:2:1:50:" + event + "\n")});
    ASSERT_FALSE(bad) << event;
    EXPECT_THAT(bad.error().message(), HasSubstr("t.prv:6" + what));
  }
}

TEST(ParaverEvents, ACommunicatorIsMadeWhereTheFileSays) {
  const TempDir dir;
  const std::string two =
      "#Paraver (22/03/26 at 10:11):9000_ns:2(1,1):1:2(1:1,1:2),3\nc:1:1:2:1:2\nc:1:2:2:2:1\nc:1:3:1:1\n";
  const std::string text = two + call(1, 0, 10, 3, 23, ":60000719:2") + call(2, 5, 10, 3, 23, ":60000719:2") +
                           call(1, 10, 20, 3, 22, ":60000619:2:60000719:3") +
                           call(2, 10, 20, 3, 22, ":60000619:2:60000719:0");
  const auto t = opened(dir, text);
  ASSERT_NE(t, nullptr);
  EXPECT_THAT(t->header().warnings, IsEmpty());
  const auto made = [&](std::uint32_t rank) {
    std::vector<std::string> out;
    const auto ops = testing::read_rank(*t, rank).value();
    out.reserve(ops.size());
    for (const auto& p : ops)
      out.push_back(fmt::format("{} of {}: {}", op_name(p.op.kind), p.op.comm.index(), p.op.amount));
    return out;
  };
  EXPECT_THAT(made(0), ElementsAre("comm_split of 0: 1", "comm_dup of 1: 2"));
  EXPECT_THAT(made(1), ElementsAre("compute of 0: 5000", "comm_split of 0: 1", "comm_dup of 1: -1"));
  for (const auto& [events, what] : std::vector<std::pair<std::string, std::string>>{
           {":60000719:9", "a communicator that is not defined"},
           {":60000619:9:60000719:1", "a communicator that is not defined"},
           {":60000719:3", "a communicator that the task is not in"}}) {
    const auto bad = open_trace({dir.write("t.prv", two + call(2, 0, 10, 3, 23, events))});
    ASSERT_FALSE(bad) << events;
    EXPECT_THAT(bad.error().message(), HasSubstr("t.prv:5"));
    EXPECT_THAT(bad.error().message(), HasSubstr(what));
  }
}

}  // namespace
}  // namespace weft::traces::paraver_events_test
