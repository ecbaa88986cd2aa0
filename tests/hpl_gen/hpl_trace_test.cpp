// The generated stream as a trace: correct MPI programs for any configuration, the same whenever it is read, in bounded
// memory; windows and aggregated panels.
#include "hpl_gen/hpl_trace.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "core/rng.hpp"
#include "hpl_gen/block_cyclic.hpp"
#include "hpl_gen/steps/solve.hpp"
#include "tests/hpl_gen/message_lists.hpp"
#include "tests/support/well_formed.hpp"
#include "traces/check/check.hpp"
#include "traces/exchange_series.hpp"

namespace weft::hpl_gen {
namespace {

using traces::OpKind;

std::uint64_t base_seed() {
  const char* s = std::getenv("WEFT_SEED");
  return s == nullptr ? 0 : std::strtoull(s, nullptr, 10);
}

HplConfig random_config(Rng& rng) {
  HplConfig c;
  c.n = static_cast<std::int64_t>(rng.below(260));
  c.nb = 1 + static_cast<std::int64_t>(rng.below(48));
  c.p = 1 + static_cast<int>(rng.below(7)), c.q = 1 + static_cast<int>(rng.below(6));
  c.pmap = static_cast<ProcessMap>(rng.below(2));
  c.pfact = static_cast<Factor>(rng.below(3)), c.rfact = static_cast<Factor>(rng.below(3));
  c.nbmin = 1 + static_cast<int>(rng.below(8)), c.ndiv = 2 + static_cast<int>(rng.below(3));
  c.bcast = static_cast<Bcast>(rng.below(6)), c.depth = static_cast<int>(rng.below(4));
  c.swap = static_cast<Swap>(rng.below(3)), c.swap_threshold = static_cast<std::int64_t>(rng.below(60));
  c.l1_transposed = rng.below(2) == 0, c.u_transposed = rng.below(2) == 0, c.equil = rng.below(2) == 0;
  c.threshold = rng.below(3) == 0 ? 0.0 : 16.0;
  return c;
}

std::string show(const HplConfig& c) { return write_hpl_dat(to_dat(c)); }

TEST(HplTrace, EveryConfigurationIsACorrectMpiProgram) {
  for (std::uint64_t i = 0; i < 150; ++i) {
    Rng rng(base_seed() + i);
    const HplConfig c = random_config(rng);
    HplTraceOptions options;
    options.seed = i;
    options.aggregate_pfact = rng.below(3) == 0;
    if (rng.below(2) == 0) options.most_named_panels = 0;
    options.most_pieces = static_cast<std::int64_t>(rng.below(3));
    auto trace = HplTrace::create(to_dat(c), options);
    ASSERT_TRUE(trace) << trace.error().message();
    EXPECT_EQ(support::first_fault(**trace), "") << "WEFT_SEED=" << base_seed() + i << "\n" << show(c);
    auto report = traces::check_trace(**trace);
    ASSERT_TRUE(report) << report.error().message();
    EXPECT_TRUE(report->findings.empty()) << "WEFT_SEED=" << base_seed() + i << "\n"
                                          << report->findings.front().message << "\n"
                                          << show(c);
  }
}

TEST(HplTrace, WindowsOfPanelsAreCorrectMpiPrograms) {
  for (std::uint64_t i = 0; i < 80; ++i) {
    Rng rng(base_seed() + 1000 + i);
    HplConfig c = random_config(rng);
    c.n += 10;
    HplTraceOptions options;
    const auto panels = static_cast<std::uint64_t>(c.panels());
    const auto first = static_cast<std::int64_t>(rng.below(panels + 1));
    options.window = PanelWindow{
        first, first + static_cast<std::int64_t>(rng.below(panels - static_cast<std::uint64_t>(first) + 1))};
    options.start_end = rng.below(2) == 0;
    options.solve = rng.below(2) == 0;
    auto trace = HplTrace::create(to_dat(c), options);
    ASSERT_TRUE(trace) << trace.error().message();
    EXPECT_EQ(support::first_fault(**trace), "") << "WEFT_SEED=" << base_seed() + i << "\n" << show(c);
    auto report = traces::check_trace(**trace);
    ASSERT_TRUE(report);
    EXPECT_TRUE(report->findings.empty()) << "WEFT_SEED=" << base_seed() + i << "\n"
                                          << report->findings.front().message << "\n"
                                          << show(c);
  }
}

TEST(HplTrace, AWindowHoldsThePanelsOfTheWholeRun) {
  HplConfig c;
  c.n = 400, c.nb = 20, c.p = 2, c.q = 3;
  const auto panels_of = [](traces::TraceReader& t) {
    // Operations of rank 0 by panel region.
    std::map<std::string, std::vector<traces::Op>> out;
    traces::OpBlock block;
    std::string now;
    while (*t.next_block(RankId(0), block))
      for (traces::Op op : block.ops) {
        if (op.kind == OpKind::region_begin && op.amount >= kFirstPanel)
          now = t.regions()[static_cast<std::size_t>(op.amount)];
        if (op.extra != traces::kNoList) op.extra = 0;
        if (!now.empty()) out[now].push_back(op);
        if (op.kind == OpKind::region_end && op.amount >= kFirstPanel) now.clear();
      }
    return out;
  };
  auto whole = HplTrace::create(to_dat(c));
  HplTraceOptions options;
  options.window = PanelWindow{7, 12};
  auto part = HplTrace::create(to_dat(c), options);
  ASSERT_TRUE(whole && part);
  const auto all = panels_of(**whole), some = panels_of(**part);
  EXPECT_EQ(all.size(), 20u);
  ASSERT_EQ(some.size(), 5u);
  for (const auto& [name, ops] : some) EXPECT_EQ(ops, all.at(name)) << name;
}

TEST(HplTrace, BlocksAreSmallAndReadingTwiceGivesTheSame) {
  HplConfig c;
  c.n = 1000, c.nb = 64, c.p = 5, c.q = 3, c.depth = 1, c.nbmin = 1;
  auto trace = HplTrace::create(to_dat(c));
  ASSERT_TRUE(trace);
  std::vector<std::vector<traces::Op>> first;
  for (int pass = 0; pass < 2; ++pass) {
    (*trace)->rewind();
    traces::OpBlock block;
    // The second time the ranks take turns.
    std::vector<std::vector<traces::Op>> ops(15);
    std::vector<bool> done(15, false);
    const auto step = [&](std::uint32_t r) {
      const bool more = *(*trace)->next_block(RankId(r), block);
      if (!more) return false;
      EXPECT_EQ(block.first_op, ops[r].size());
      EXPECT_LE(block.ops.size(), 512u);
      for (traces::Op op : block.ops) {
        if (op.extra != traces::kNoList) {
          std::int64_t sum = 0;
          for (const auto v : block.list(op)) sum = sum * 31 + v;
          op.extra = static_cast<std::uint32_t>(sum);
        }
        ops[r].push_back(op);
      }
      return true;
    };
    if (pass == 0)
      for (std::uint32_t r = 0; r < 15; ++r)
        while (step(r)) {
        }
    else
      for (bool any = true; any;) {
        any = false;
        for (std::uint32_t r = 15; r-- > 0;) any = step(r) || any;
      }
    if (pass == 0)
      first = ops;
    else
      EXPECT_TRUE(first == ops);
  }
}

TEST(HplTrace, TheEndIsKnownAfterCounting) {
  HplConfig c;
  c.n = 100, c.nb = 10, c.p = 2, c.q = 2;
  auto trace = HplTrace::create(to_dat(c));
  ASSERT_TRUE(trace);
  EXPECT_EQ((*trace)->ops_of(RankId(0)), traces::kUnknownOps);
  ASSERT_TRUE((*trace)->count());
  std::uint64_t sum = 0;
  for (std::uint32_t r = 0; r < 4; ++r) sum += (*trace)->ops_of(RankId(r));
  EXPECT_EQ((*trace)->totals().ops, sum);
  EXPECT_GT((*trace)->totals().messages, 0u);
}

TEST(HplTrace, PollsPointAtTheirHit) {
  HplConfig c;
  c.n = 300, c.nb = 20, c.p = 3, c.q = 4, c.depth = 1;
  auto trace = HplTrace::create(to_dat(c));
  ASSERT_TRUE(trace);
  traces::OpBlock block;
  std::size_t misses = 0;
  for (std::uint32_t r = 0; r < 12; ++r) {
    std::uint64_t pending = 0;  // where the hit of the open run of polls must be
    while (*(*trace)->next_block(RankId(r), block))
      for (std::size_t i = 0; i < block.ops.size(); ++i) {
        const traces::Op& op = block.ops[i];
        if (op.kind != OpKind::iprobe) continue;
        const std::uint64_t at = block.first_op + i;
        if ((op.flags & traces::kHit) != 0) {
          if (pending != 0) {
            EXPECT_EQ(at, pending);
          }
          pending = 0;
        } else {
          const std::uint64_t hit = at + static_cast<std::uint64_t>(block.list(op)[0]);
          if (pending != 0) {
            EXPECT_EQ(hit, pending);
          }
          pending = hit;
          ++misses;
        }
      }
    EXPECT_EQ(pending, 0u);
  }
  EXPECT_GT(misses, 100u);
}

TEST(HplTrace, StepsOfTheSolveThatAreSkippedAreEmpty) {
  Rng rng(base_seed() + 77);
  for (int i = 0; i < 200; ++i) {
    HplConfig c = random_config(rng);
    c.n = std::max<std::int64_t>(c.n, 1);
    const ProcessGrid grid{c.p, c.q, c.pmap, 1};
    for (int rank = 0; rank < grid.size(); ++rank) {
      std::int64_t next = 0, visited = 0;
      for (std::int64_t step = 0; step < c.panels(); ++step) {
        if (step == next) {
          next = next_solve_step(c, grid, rank, step);
          ++visited;
          continue;
        }
        traces::OpBlock block;
        OpSink sink(block);
        emit_solve_step(c, grid, rank, step, sink);
        ASSERT_EQ(sink.size(), 0u) << "seed " << base_seed() << " rank " << rank << " step " << step;
      }
      ASSERT_LE(visited, 1 + 2 * (c.panels() / c.q + 1));
    }
  }
}

TEST(HplTrace, SeveralRunsAndGridsFollowEachOther) {
  HplDat d;
  d.n = {60, 90};
  d.nb = {16};
  d.grids = {{2, 2}, {1, 3}, {3, 2}};
  d.depth = {0, 1};
  auto trace = HplTrace::create(d);
  ASSERT_TRUE(trace);
  EXPECT_EQ((*trace)->header().ranks, 6u);
  EXPECT_EQ((*trace)->communicators().size(), 1u + (1 + 2 + 2) + (1 + 1 + 3) + (1 + 3 + 2));
  auto report = traces::check_trace(**trace);
  ASSERT_TRUE(report);
  EXPECT_TRUE(report->findings.empty()) << report->findings.front().message;
}

TEST(HplTrace, ABreakInTheGeneratorWouldBeSeen) {
  // The comparison of lists is not blind: one byte, one tag, one order, one missing message.
  HplConfig c;
  c.n = 200, c.nb = 20, c.p = 2, c.q = 2;
  auto trace = HplTrace::create(to_dat(c));
  ASSERT_TRUE(trace);
  const auto good = testing_hpl::lists_of(**trace).sent;
  ASSERT_GT(good.size(), 4u);
  auto& [key, list] = *good.begin();
  static_cast<void>(list);
  auto bad = good;
  bad[key][0].bytes += 8;
  EXPECT_FALSE(testing_hpl::differences(good, bad).empty());
  bad = good;
  bad[key][0].tag += 1;
  EXPECT_FALSE(testing_hpl::differences(good, bad).empty());
  bad = good;
  bad[key].pop_back();
  EXPECT_FALSE(testing_hpl::differences(good, bad).empty());
  EXPECT_TRUE(testing_hpl::differences(good, good).empty());
}

TEST(HplTrace, AnotherMessageOrderOrSizeFollowsFromEveryParameter) {
  HplConfig base;
  base.n = 300, base.nb = 24, base.p = 4, base.q = 4;
  const auto sent = [](const HplConfig& c) {
    auto trace = HplTrace::create(to_dat(c));
    EXPECT_TRUE(trace);
    return testing_hpl::lists_of(**trace).sent;
  };
  const auto want = sent(base);
  std::vector<HplConfig> others(6, base);
  others[0].bcast = Bcast::k1Ring;
  others[1].swap = Swap::kBinaryExchange;
  others[2].equil = false, others[2].swap = Swap::kSpreadRoll;
  others[3].depth = 1;
  others[4].pmap = ProcessMap::kColumnMajor;
  others[5].nb = 25;
  for (const HplConfig& c : others) EXPECT_NE(sent(c), want) << show(c);
  HplConfig same = base;  // the recursion changes kernels, not messages
  same.rfact = Factor::kLeft, same.nbmin = 1, same.l1_transposed = false;
  EXPECT_EQ(sent(same), want);
}

TEST(HplTrace, BlockCyclicOwnershipCoversEveryIndexOnce) {
  for (const std::int64_t n : {0, 1, 7, 48, 49, 1000})
    for (const std::int64_t nb : {1, 5, 48, 64})
      for (int p = 1; p < 7; ++p) {
        std::int64_t sum = 0;
        std::vector<std::int64_t> counted(static_cast<std::size_t>(p));
        for (std::int64_t i = 0; i < n; ++i) ++counted[static_cast<std::size_t>(owner_of(i, nb, p))];
        for (int me = 0; me < p; ++me) {
          EXPECT_EQ(local_count(n, nb, me, p), counted[static_cast<std::size_t>(me)]);
          sum += local_count(n, nb, me, p);
        }
        EXPECT_EQ(sum, n);
      }
}

TEST(HplTrace, TheSmallestMatricesAndTheLargestNumbersWork) {
  HplConfig c;
  c.p = 3, c.q = 2, c.nb = 4;
  for (const int depth : {0, 1, 3})
    for (const std::int64_t n : {0, 1, 2, 4, 5}) {
      c.n = n, c.depth = depth;
      auto trace = HplTrace::create(to_dat(c));
      ASSERT_TRUE(trace) << trace.error().message();
      auto report = traces::check_trace(**trace);
      ASSERT_TRUE(report);
      EXPECT_TRUE(report->findings.empty()) << report->findings.front().message << "\n" << show(c);
    }
  c.n = 2147483646, c.nb = 1, c.depth = 0;
  auto huge = HplTrace::create(to_dat(c));
  ASSERT_TRUE(huge) << huge.error().message();
  EXPECT_LT((*huge)->regions().size(), 10u);
  traces::OpBlock block;
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(*(*huge)->next_block(RankId(1), block));
  c.p = 1 << 15, c.q = 1 << 15;
  EXPECT_FALSE(HplTrace::create(to_dat(c)));
}

TEST(HplTrace, WhatHplCannotRunIsRefused) {
  HplConfig c;
  c.n = 100;
  c.nb = 0;
  EXPECT_FALSE(HplTrace::create(to_dat(c)));
  c.nb = 10;
  c.n = -1;
  EXPECT_FALSE(HplTrace::create(to_dat(c)));
  c.n = 100;
  HplTraceOptions options;
  options.window = PanelWindow{5, 11};
  const auto r = HplTrace::create(to_dat(c), options);
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code, ErrorCode::kUsage);
}

TEST(HplTrace, ThousandsOfRanksAndTensOfThousandsOfPanelsStartAtOnce) {
  HplConfig c;
  c.n = 9282848, c.nb = 384, c.p = 88, c.q = 91, c.depth = 1;
  HplTraceOptions options;
  options.aggregate_pfact = true;
  options.most_named_panels = 0;
  options.most_pieces = 4;
  options.window = PanelWindow{12000, 12003};
  options.start_end = false;
  options.solve = false;
  auto trace = HplTrace::create(to_dat(c), options);
  ASSERT_TRUE(trace) << trace.error().message();
  traces::OpBlock block;
  std::uint64_t ops = 0, exchanges = 0;
  std::size_t longest = 0;
  for (std::uint32_t r = 0; r < (*trace)->header().ranks; ++r)
    while (*(*trace)->next_block(RankId(r), block)) {
      ops += block.ops.size();
      longest = std::max(longest, block.ops.size());
      for (const traces::Op& op : block.ops)
        if (op.kind == OpKind::exchange_series) {
          ++exchanges;
          EXPECT_EQ(traces::series_fault(block.list(op)), nullptr);
          EXPECT_EQ(traces::series_exchanges(block.list(op)), 384);
        }
    }
  EXPECT_EQ(exchanges, 3u * 88);
  EXPECT_LE(longest, 512u);
  EXPECT_GT(ops, 8008u * 100);
}

// After the solve the rows of U are copied into the matrix where they belong: in the process row of the panel alone, jb rows of
// all columns that are left, the right-hand side among them.
// Spread and roll: what a process row swaps, its rows of U out and as many rows in, is twice what it starts the roll with.
TEST(HplTrace, AProcessRowSwapsAsManyRowsInAsGoRound) {
  for (const int p : {2, 3, 5, 8}) {
    HplConfig c;
    c.n = 400, c.nb = 20, c.p = p, c.q = 2;
    c.swap = Swap::kSpreadRoll, c.equil = false;
    auto trace = HplTrace::create(to_dat(c));
    ASSERT_TRUE(trace);
    int swapped = 0;
    for (std::uint32_t r = 0; r < (*trace)->header().ranks; ++r) {
      traces::OpBlock block;
      std::int64_t rows = 0, columns = 0;  // of the last call that no roll followed yet
      while (*(*trace)->next_block(RankId(r), block))
        for (const traces::Op& op : block.ops) {
          if (op.kind == OpKind::compute_kernel &&
              block.list(op)[0] == static_cast<std::int64_t>(traces::Kernel::dlaswp06)) {
            rows = block.list(op)[1], columns = block.list(op)[2];
          } else if (op.kind == OpKind::send && op.tag == kTagSwap && rows > 0) {
            EXPECT_EQ(2 * op.amount, rows * columns * 8) << "rank " << r << " of " << p << " rows";
            rows = 0;
            ++swapped;
          }
        }
    }
    EXPECT_GT(swapped, 20);
  }
}

TEST(HplTrace, TheProcessRowOfAPanelCopiesU) {
  HplConfig c;
  c.n = 100, c.nb = 10, c.p = 2, c.q = 1, c.depth = 0;
  c.u_transposed = true, c.l1_transposed = false;  // so that U's copy is the only dlatcpy
  auto trace = HplTrace::create(to_dat(c), {});
  ASSERT_TRUE(trace) << trace.error().message();
  using Sizes = std::vector<std::pair<std::int64_t, std::int64_t>>;
  for (std::uint32_t r = 0; r < 2; ++r) {
    Sizes copied, expected;
    traces::OpBlock block;
    while (*(*trace)->next_block(RankId(r), block))
      for (const traces::Op& op : block.ops) {
        if (op.kind != OpKind::compute_kernel) continue;
        const auto list = block.list(op);
        if (list[0] == static_cast<std::int64_t>(traces::Kernel::dlatcpy))
          copied.emplace_back(list[1], list[2]);
      }
    for (std::int64_t k = r; k < 10; k += 2) expected.emplace_back(10, 101 - 10 * (k + 1));
    EXPECT_EQ(copied, expected) << "rank " << r;
  }
}

}  // namespace
}  // namespace weft::hpl_gen
