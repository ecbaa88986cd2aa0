// SimGrid TI text: every action becomes the right operation, every wrong line an exact message.
#include <fmt/format.h>

#include <map>

#include "tests/traces/trace_testing.hpp"

namespace weft::traces {
namespace {

using namespace testing;

const std::string kShared = WEFT_SOURCE_DIR "/../shared/traces";

std::vector<PlainOp> ops_of_text(const TempDir& dir, const std::string& text, std::uint32_t rank = 0) {
  auto t = open_trace({dir.write("t.txt", text)});
  EXPECT_TRUE(t) << t.error().message();
  if (!t) return {};
  auto ops = read_rank(**t, rank);
  EXPECT_TRUE(ops);
  return *ops;
}

TEST(Ti, WaitsFindTheOldestOutstandingRequest) {
  const TempDir dir;
  const auto ops = ops_of_text(
      dir,
      "0 init\n0 irecv 1 7 10 1\n0 irecv 1 7 20 1\n0 isend 1 7 5 0\n0 wait 1 0 7\n0 irecv 1 8 1 2\n"
      "0 wait 0 1 7\n0 wait 1 0 7\n0 waitall\n0 wait 1 0 7\n1 finalize\n");
  ASSERT_EQ(ops.size(), 9u);
  EXPECT_EQ(ops[1].op.request, 0u);
  EXPECT_EQ(ops[2].op.request, 1u);
  EXPECT_EQ(ops[3].op.request, 2u);
  EXPECT_EQ(ops[3].op.amount, 40);
  EXPECT_EQ(ops[4].op.request, 0u);
  EXPECT_EQ(ops[4].op.amount, 40);
  EXPECT_EQ(ops[4].op.peer, 1);
  EXPECT_EQ(ops[5].op.request, 0u);  // reused
  EXPECT_EQ(ops[6].op.request, 2u);
  EXPECT_EQ(ops[7].op.request, 1u);
  EXPECT_EQ(ops[7].op.amount, 80);
  EXPECT_EQ(ops[8].op.kind, OpKind::waitall);
  EXPECT_EQ(ops[8].list, (std::vector<std::int64_t>{0}));
}

TEST(Ti, HplTracesImportWithTheCountsOfTheirListing) {
  const std::string base = kShared + "/hpl_ti_flops";
  if (!fs::exists(base)) GTEST_SKIP() << "no " << base;
  for (const char* name : {"2x2_500_64", "4x4_2000_64", "4x4_2000_64_b4", "8x8_4000_64"}) {
    SCOPED_TRACE(name);
    auto t = open_trace({base + "/" + name + "/trace.tar.zst"});
    ASSERT_TRUE(t) << t.error().message();
    std::map<std::string, std::uint64_t> counts;
    OpBlock b;
    for (std::uint32_t r = 0; r < (*t)->header().ranks; ++r)
      while (*(*t)->next_block(RankId(r), b))
        for (const Op& op : b.ops) ++counts[std::string(op_name(op.kind))];
    std::istringstream line(slurp(base + "/" + name + "/counts.txt"));
    std::string word;
    line >> word;
    while (line >> word) {
      const auto eq = word.find('=');
      std::string key = word.substr(0, eq);
      for (char& c : key) c = static_cast<char>(std::tolower(c));
      const auto want = std::stoull(word.substr(eq + 1));
      EXPECT_EQ(key == "lines" ? (*t)->totals().ops : counts[key], want) << word;
    }
  }
}

}  // namespace
}  // namespace weft::traces
