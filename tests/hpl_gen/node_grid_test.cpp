// rocHPL's grid within a node against its readme and against its source, v6.1.0, line for line.
#include "hpl_gen/node_grid.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

namespace weft::hpl_gen {
namespace {

using ::testing::HasSubstr;

HplConfig run_of(int p, int q, int local_p, int local_q, Program program = Program::kRocHpl) {
  HplConfig c{.n = 1000, .p = p, .q = q};
  c.program = program;
  c.rochpl.local_p = local_p, c.rochpl.local_q = local_q;
  return c;
}

std::optional<Grid> completed(int p, int q, int on_node, int local_p = 0, int local_q = 0) {
  const auto c = with_node_grid(run_of(p, q, local_p, local_q), on_node);
  if (!c) return std::nullopt;
  return Grid{c->rochpl.local_p, c->rochpl.local_q};
}

// src/HPL_pdinfo.cpp, "Node-local grid": what the program does with what it is given.
std::optional<Grid> pdinfo(int P, int Q, int local_size, int p, int q) {
  if (p < 1 && q < 1) {
    q = local_size;
    p = 1;
  } else if (p < 1) {
    if (local_size % q != 0) return std::nullopt;
    p = local_size / q;
  } else if (q < 1) {
    if (local_size % p != 0) return std::nullopt;
    q = local_size / p;
  } else if (local_size != p * q) {
    return std::nullopt;
  }
  if (Q % q != 0 || P % p != 0) return std::nullopt;
  return Grid{p, q};
}

// scripts/run_rochpl.in: what the program is given.
std::optional<Grid> launched(int P, int Q, int size, int p, int q) {
  if (p < 1 && q < 1) {
    q = Q <= size ? Q : size;
    if (size % q > 0) return std::nullopt;
    p = size / q;
  }
  return pdinfo(P, Q, size, p, q);
}

TEST(NodeGrid, IsThatOfTheProgramWhicheverFlagsItIsStartedWith) {
  int ran = 0, alone = 0;
  for (const int size : {1, 2, 3, 4, 6, 8})
    for (int p = 1; p <= 12; ++p)
      for (int q = 1; q <= 12; ++q)
        for (int local_p = 0; local_p <= 8; ++local_p)
          for (int local_q = 0; local_q <= 8; ++local_q) {
            const auto want = launched(p, q, size, local_p, local_q);
            EXPECT_EQ(completed(p, q, size, local_p, local_q), want)
                << p << " x " << q << " on " << size << ", -p " << local_p << " -q " << local_q;
            ran += want ? 1 : 0;
            if (local_p + local_q > 0) continue;
            // Without the launcher it runs on fewer grids, and on these alike.
            const auto bare = pdinfo(p, q, size, 0, 0);
            if (bare) {
              EXPECT_EQ(want, bare);
            }
            alone += bare ? 1 : 0;
          }
  EXPECT_GT(ran, 1000);
  EXPECT_GT(alone, 100);
}

TEST(NodeGrid, RunsOfTheReadmeNeedNoFlags) {
  EXPECT_EQ(completed(1, 1, 1), (Grid{1, 1}));
  EXPECT_EQ(completed(1, 2, 2), (Grid{1, 2}));
  EXPECT_EQ(completed(2, 2, 4), (Grid{2, 2}));
  EXPECT_EQ(completed(2, 4, 8), (Grid{2, 4}));
  EXPECT_EQ(completed(4, 4, 8), (Grid{2, 4}));  // srun -N 2 -n 16
  EXPECT_EQ(completed(4, 4, 8, 2, 4),
            (Grid{2, 4}));  // "the local MPI grid layout can be specified as either"
  EXPECT_EQ(completed(4, 4, 8, 4, 2), (Grid{4, 2}));
}

TEST(NodeGrid, WhatIsRefusedIsNamed) {
  struct Refused {
    HplConfig run;
    int on_node;
    ErrorCode code;
    std::string message;
  };
  using enum ErrorCode;
  for (const Refused& r : std::vector<Refused>{
           {run_of(5, 6, 0, 0), 10, kBadInput,
            "rocHPL does not lay the grid on the nodes by itself; got \"5 x 6 on nodes of 10 processes\"; "
            "expected --local-p and --local-q that multiply to 10 and divide 5 and 6"},
           {run_of(4, 4, 3, 0), 6, kBadInput, "P is no multiple of the process rows on a node; got \"3\""},
           {run_of(6, 4, 3, 0), 8, kBadInput,
            "a node's processes are no multiple of its process rows; got \"3\"; expected a divisor of 8"},
           {run_of(4, 6, 0, 3), 8, kBadInput, "no multiple of its process columns; got \"3\""},
           {run_of(2, 8, 0, 2), 8, kBadInput, "P is no multiple of the process rows on a node; got \"4\""},
           {run_of(4, 4, 2, 2), 8, kBadInput,
            "process rows x columns on a node are not its processes; got \"2 x 2\"; expected 8 processes"},
           {run_of(4, 4, 2, 0), 0, kUsage,
            "--local-p alone: the other is what it leaves of a node's processes, and nothing says how many "
            "these "
            "are; got \"2\"; expected --local-p and --local-q, or neither"},
           {run_of(4, 4, 0, 2), 0, kUsage, "--local-q alone"}}) {
    const auto c = with_node_grid(r.run, r.on_node);
    ASSERT_FALSE(c) << r.message;
    EXPECT_EQ(c.error().code, r.code) << r.message;
    EXPECT_THAT(c.error().message(), HasSubstr(r.message));
  }
}

TEST(NodeGrid, OfOtherProgramsAndOfTracesIsAsItIsSaid) {
  for (const Program program : {Program::kNetlib, Program::kNvidia})
    for (const HplConfig& c : {run_of(4, 4, 0, 0, program), run_of(4, 4, 2, 0, program)})
      for (const int on_node : {0, 8}) EXPECT_EQ(with_node_grid(c, on_node).value(), c);
  for (const HplConfig& c : {run_of(4, 4, 0, 0), run_of(4, 4, 2, 4)})
    EXPECT_EQ(with_node_grid(c, 0).value(), c);
}

}  // namespace
}  // namespace weft::hpl_gen
