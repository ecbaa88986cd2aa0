#include "traces/op_rules.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <limits>

#include "core/rng.hpp"
#include "traces/tasks.hpp"

namespace weft::traces {
namespace {

// Edge values of every field, combined at random: whatever the short check accepts, the full one must.
TEST(OpRules, TheShortCheckAcceptsOnlyWhatTheFullOneDoes) {
  const std::vector<Communicator> comms = {{"world", {0, 1, 2}}, {"split1", {0, 2}}};
  const OpLimits limits{3, &comms, 1};
  constexpr std::int32_t peers[] = {-3, -2, -1, 0, 2, 3, INT32_MAX, INT32_MIN};
  constexpr std::int32_t tags[] = {INT32_MIN, -2, -1, 0, 7, INT32_MAX};
  const std::int64_t amounts[] = {INT64_MIN,
                                  -1,
                                  0,
                                  1,
                                  INT64_MAX,
                                  std::bit_cast<std::int64_t>(1.5),
                                  std::bit_cast<std::int64_t>(-0.0),
                                  std::bit_cast<std::int64_t>(std::numeric_limits<double>::infinity()),
                                  std::bit_cast<std::int64_t>(std::numeric_limits<double>::quiet_NaN()),
                                  std::bit_cast<std::int64_t>(std::numeric_limits<double>::max())};
  constexpr std::uint32_t requests[] = {0, 5, kMaxRequestSlots - 1, kMaxRequestSlots, kNoRequest};
  constexpr std::uint32_t ids[] = {0, 1, 2, 0xffffffffu};
  Rng rng(1);
  std::size_t accepted = 0;
  for (int i = 0; i < 400'000; ++i) {
    Op op;
    op.kind = static_cast<OpKind>(rng.below(kOpKindCount + 1));
    op.flags = static_cast<std::uint8_t>(rng.below(4));
    op.peer = peers[rng.below(std::size(peers))];
    op.tag = tags[rng.below(std::size(tags))];
    op.amount = amounts[rng.below(std::size(amounts))];
    op.request = requests[rng.below(std::size(requests))];
    op.comm = CommId(ids[rng.below(std::size(ids))]);
    if (rng.below(8) == 0) op.extra = 0;
    if (!surely_well_formed(op, limits.ranks, limits.communicators->size())) continue;
    ++accepted;
    const char* fault = op_fault(op, {}, limits);
    EXPECT_EQ(fault, nullptr) << op_name(op.kind) << ": " << (fault != nullptr ? fault : "");
  }
  EXPECT_GT(accepted, 500u);
}

TEST(OpRules, WhatCompletesIsAmongWhatWasAskedFor) {
  const std::vector<Communicator> comms = {{"world", {0, 1}}};
  const OpLimits limits{2, &comms, 0};
  const auto fault = [&](OpKind kind, const std::vector<std::int64_t>& list) {
    const char* f = list_fault({.kind = kind, .extra = 0}, list, limits);
    return std::string(f != nullptr ? f : "");
  };
  for (const OpKind one : {OpKind::waitany, OpKind::testany}) {
    EXPECT_EQ(fault(one, {3, 5, 9, 7, 9}), "");
    EXPECT_EQ(fault(one, {2, 5, 9}), "");  // none was active
    EXPECT_EQ(fault(one, {2, 5, 9, 7}), "a completed request is none of those asked for");
    EXPECT_EQ(fault(one, {2, 5, 9, 5, 9}), "it completes one request only");
  }
  for (const OpKind some : {OpKind::waitsome, OpKind::testsome}) {
    EXPECT_EQ(fault(some, {3, 5, 7, 9, 5, 9}), "");
    EXPECT_EQ(fault(some, {4, 9, 5, 7, 8, 7, 5, 9}), "");
    EXPECT_EQ(fault(some, {3, 5, 7, 9, 5, 6}), "a completed request is none of those asked for");
    EXPECT_EQ(fault(some, {3, 9, 5, 7, 5, 5}), "a completed request is none of those asked for");
    EXPECT_EQ(fault(some, {4, 5}), "the list must be n, n requests, then the completed ones");
  }
}

TEST(OpRules, WhatMatchedIsASourceATagAndBytes) {
  const std::vector<Communicator> comms = {{"world", {0, 1}}};
  const OpLimits limits{2, &comms, 0};
  for (const OpKind kind : {OpKind::recv, OpKind::irecv, OpKind::start, OpKind::probe, OpKind::mprobe}) {
    const Op op{.kind = kind, .extra = 0};
    const auto sound = [&](const std::vector<std::int64_t>& list) {
      return list_fault(op, list, limits) == nullptr;
    };
    EXPECT_TRUE(sound({1, 5, 8}));
    EXPECT_TRUE(sound({kProcNull, kAnyTag, 0}));
    EXPECT_FALSE(sound({2, 5, 8})) << op_name(kind);
    EXPECT_FALSE(sound({1, 5, -8})) << op_name(kind);
    EXPECT_FALSE(sound({1, 5})) << op_name(kind);
  }
}

TEST(OpRules, ATaskNamesItsCpuAndHowFarUpTheOthersStand) {
  const std::vector<Communicator> comms = {{"world", {0, 1}}};
  const OpLimits limits{2, &comms, 0};
  const std::string cpu = "the list of a task must begin with a cpu, 0 to 255",
                    up = "the list of a task must say how far up the tasks stand that it is after";
  for (const OpKind kind : {OpKind::task_compute, OpKind::task_send, OpKind::task_recv}) {
    const auto fault = [&](const std::vector<std::int64_t>& list) {
      const char* f = op_fault({.kind = kind, .extra = 0}, list, limits);
      return std::string(f != nullptr ? f : "");
    };
    EXPECT_EQ(fault({0}), "");
    EXPECT_EQ(fault({255, 1, -7, kMaxTasks, -kMaxTasks}), "");
    for (const auto& list : std::vector<std::vector<std::int64_t>>{{}, {-1}, {256, 1}})
      EXPECT_EQ(fault(list), cpu);
    for (const std::int64_t d : {std::int64_t{0}, kMaxTasks + 1, -kMaxTasks - 1, INT64_MIN, INT64_MAX})
      EXPECT_EQ(fault({0, 3, d}), up) << d;
    EXPECT_STREQ(op_fault({.kind = kind}, {}, limits), "the operation needs a list");
    EXPECT_STREQ(op_fault({.kind = kind, .amount = -1, .extra = 0}, std::vector<std::int64_t>{0}, limits),
                 "amount is negative");
  }
  EXPECT_EQ(op_fault({.kind = OpKind::task_wait}, {}, limits), nullptr);
  EXPECT_STREQ(op_fault({.kind = OpKind::task_send, .peer = kAnySource, .extra = 0},
                        std::vector<std::int64_t>{0}, limits),
               "peer is not a rank");
}

TEST(OpRules, HalvesOfASendrecvStandOneAfterTheOther) {
  const std::vector<Communicator> comms = {{"world", {0, 1}}};
  const OpLimits limits{2, &comms, 0};
  const Op send{.kind = OpKind::sendrecv, .peer = 1},
      half{.kind = OpKind::recv, .flags = kPairedRecv, .peer = 1}, recv{.kind = OpKind::recv, .peer = 1};
  const auto fault = [&](std::initializer_list<Op> ops, bool open = false) {
    OpBlock block;
    block.first_op = 10;
    block.ops.assign(ops.begin(), ops.end());
    const auto f = halves_fault(block, open);
    return f ? std::to_string(f->op) + ": " + f->what : open ? "open" : "";
  };
  const std::string lone = "a sendrecv without its receive half";
  EXPECT_EQ(fault({send, half, recv, send, half}), "");
  EXPECT_EQ(fault({recv, send}), "open");
  EXPECT_EQ(fault({half, recv}, true), "");
  EXPECT_EQ(fault({recv}, true), "9: " + lone);
  EXPECT_EQ(fault({recv, send, recv}), "11: " + lone);
  EXPECT_EQ(fault({send, send, half}), "10: " + lone);
  EXPECT_EQ(fault({recv, half}), "11: a receive half without its sendrecv");
  OpBlock block;
  block.ops = {half, send};  // the others are in its neighbours
  EXPECT_FALSE(block_fault(block, limits));
  block.ops = {send, recv};
  ASSERT_TRUE(block_fault(block, limits));
  EXPECT_EQ(block_fault(block, limits)->what, lone);
}

}  // namespace
}  // namespace weft::traces
