// Reading, scanning and checking a trace takes a block per rank, not the trace: measured with a limit on the
// address space of a child process.
#include "tests/traces/address_limit.hpp"
#include "tests/traces/trace_testing.hpp"
#include "traces/check/check.hpp"
#include "traces/info.hpp"

namespace weft::traces {
namespace {

using namespace testing;

constexpr std::uint32_t kRanksHeld = 8;
constexpr std::size_t kBlocks = 120;  // of each rank: 3.9 million operations, 126 MB as rows

std::string large_trace(const TempDir& dir) {
  TraceHeader h;
  h.ranks = kRanksHeld;
  auto w = TraceWriter::create(dir.path("large.weft"), h);
  EXPECT_TRUE(w);
  Rng rng(1);
  for (std::size_t i = 0; i < kBlocks; ++i) {
    std::vector<std::int64_t> sizes(kMaxBlockOps);
    for (auto& s : sizes) s = static_cast<std::int64_t>(rng.below(100000));
    for (std::uint32_t r = 0; r < kRanksHeld; ++r) {
      OpBlock b;
      b.rank = RankId(r);
      b.first_op = i * kMaxBlockOps;
      for (std::size_t k = 0; k < kMaxBlockOps; ++k)
        b.ops.push_back({.kind = r % 2 == 0 ? OpKind::send : OpKind::recv,
                         .peer = static_cast<std::int32_t>(r ^ 1),
                         .tag = 1,
                         .amount = sizes[k]});
      w->append(b);
    }
  }
  EXPECT_TRUE(w->finish());
  return dir.path("large.weft");
}

TEST(MemoryBound, AMillionsOfOperationsTraceIsReadInABlockPerRank) {
  WEFT_NEEDS_ADDRESS_LIMIT();
  const TempDir dir;
  const std::string path = large_trace(dir);
  constexpr std::size_t kRoom = 24u << 20;
  const auto interleaved = [&](bool keep) {
    auto t = open_trace({path});
    if (!t) return false;
    std::vector<OpBlock> blocks(kRanksHeld);
    std::vector<OpBlock> kept;
    std::uint64_t ops = 0;
    for (std::size_t i = 0; i < kBlocks; ++i)
      for (std::uint32_t r = 0; r < kRanksHeld; ++r) {
        if (!*(*t)->next_block(RankId(r), blocks[r])) return false;
        ops += blocks[r].ops.size();
        if (keep) kept.push_back(blocks[r]);
      }
    return ops == (*t)->totals().ops && ops == kRanksHeld * kBlocks * kMaxBlockOps;
  };
  EXPECT_TRUE(within(kRoom, [&] { return interleaved(false); }));
  EXPECT_FALSE(within(kRoom, [&] { return interleaved(true); })) << "the limit does not limit";
  EXPECT_TRUE(within(kRoom, [&] {
    auto t = open_trace({path});
    return t && scan_trace(**t)->totals.messages == kRanksHeld / 2 * kBlocks * kMaxBlockOps;
  }));
  EXPECT_TRUE(within(kRoom, [&] {
    auto t = open_trace({path});
    return t && check_trace(**t)->findings.empty();
  }));
}

}  // namespace
}  // namespace weft::traces
