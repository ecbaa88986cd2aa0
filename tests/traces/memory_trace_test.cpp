// A trace in memory holds the same whether its blocks are packed or not, from whichever on.
#include "traces/memory_trace.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/rng.hpp"
#include "tests/support/seed.hpp"
#include "tests/traces/trace_testing.hpp"

namespace weft::traces {
namespace {

using testing::PlainOp;
using testing::read_rank;

constexpr std::uint32_t kRanksInMemory = 3;

// Random operations in blocks of random length, with lists, on lines that mostly follow each other.
void append_some(MemoryTrace& trace, std::uint64_t seed) {
  Rng rng(seed);
  const std::uint32_t source = trace.add_source("a.txt");
  for (int n = 0; n < 40; ++n) {
    OpBlock block;
    block.rank = RankId(static_cast<std::uint32_t>(rng.below(kRanksInMemory)));
    std::vector<std::uint32_t> lines;
    auto line = static_cast<std::uint32_t>(rng.below(1000));
    const bool gaps = rng.below(2) == 0;
    for (std::uint64_t ops = 1 + rng.below(500); ops > 0; --ops) {
      Op op{.kind = OpKind::isend, .peer = static_cast<std::int32_t>(rng.below(kRanksInMemory))};
      op.tag = static_cast<std::int32_t>(rng.below(100));
      op.amount = static_cast<std::int64_t>(rng.below(1u << 30));
      op.request = static_cast<std::uint32_t>(rng.below(50));
      if (rng.below(10) == 0) {
        op = Op{.kind = OpKind::waitall};
        op.extra = block.add_list(std::vector<std::int64_t>{1, 2, static_cast<std::int64_t>(rng.below(40))});
      }
      block.ops.push_back(op);
      lines.push_back(line += gaps ? static_cast<std::uint32_t>(rng.below(4)) : 1);
    }
    trace.append(block, source, lines);
  }
}

TEST(MemoryTrace, HoldsTheSamePackedOrNot) {
  TraceHeader header;
  header.ranks = kRanksInMemory;
  for (const std::uint64_t seed : support::seeds_to(10)) {
    SCOPED_TRACE(fmt::format("WEFT_SEED={}", seed));
    MemoryTrace plain(header);
    append_some(plain, seed);
    for (const std::uint64_t plain_bytes : {0u, 1u, 50'000u}) {
      MemoryTrace packed(header, plain_bytes);
      append_some(packed, seed);
      plain.rewind();
      EXPECT_LT(packed.stored_bytes(), plain.stored_bytes());
      EXPECT_EQ(packed.totals().ops, plain.totals().ops);
      EXPECT_EQ(packed.totals().bytes, plain.totals().bytes);
      for (std::uint32_t r = 0; r < kRanksInMemory; ++r) {
        const auto want = read_rank(plain, r), got = read_rank(packed, r);
        ASSERT_TRUE(want && got);
        EXPECT_EQ(*want, *got) << "rank " << r << ", plain up to " << plain_bytes;
        for (std::uint64_t i = 0; i < want->size(); ++i)
          ASSERT_EQ(plain.position(RankId(r), i), packed.position(RankId(r), i)) << "rank " << r << ", " << i;
      }
    }
  }
}

}  // namespace
}  // namespace weft::traces
