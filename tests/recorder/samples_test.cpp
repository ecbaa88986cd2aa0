// The committed traces of real HPL runs: whole, small, balanced, and with the messages that HPL sends.
#include <map>
#include <tuple>

#include "tests/recorder/recorded.hpp"
#include "tests/support/checkout.hpp"
#include "tests/support/needs.hpp"
#include "traces/conditional_steps.hpp"

namespace weft::recorder::testing {
namespace {

struct Sample {
  const char* name;
  std::uint32_t ranks;
  std::int64_t messages;
  std::int64_t bytes;  // 0: no independent figure
};

class RecordedSample : public ::testing::TestWithParam<Sample> {};

TEST_P(RecordedSample, IsWholeAndEverySendHasItsReceive) {
  const Sample& sample = GetParam();
  const std::string path = fmt::format("{}/traces/samples/{}.weft", support::source_dir(), sample.name);
  const Recorded r = read_back(path);
  ASSERT_EQ(r.ops.size(), sample.ranks);
  EXPECT_FALSE(r.header.hpl_dat.empty());
  std::int64_t messages = 0;
  std::int64_t bytes = 0;
  std::size_t hits = 0;
  std::map<std::tuple<std::int64_t, std::int64_t, std::uint32_t, std::int64_t>, std::int64_t> open;
  for (std::size_t rank = 0; rank < r.ops.size(); ++rank)
    for (std::size_t i = 0; i < r.ops[rank].size(); ++i) {
      const traces::Op& op = r.ops[rank][i];
      const auto me = static_cast<std::int64_t>(rank);
      if (traces::is_send(op.kind)) {
        ++messages;
        bytes += op.amount;
        open[{me, op.peer, op.comm.index(), op.tag}] += op.amount + 1;
      } else if (op.kind == traces::OpKind::recv) {
        const auto& matched = r.lists[rank][i];
        ASSERT_EQ(matched.size(), 3u);
        open[{matched[0], me, op.comm.index(), matched[1]}] -= matched[2] + 1;
      } else if (op.kind == traces::OpKind::irecv) {
        open[{op.peer, me, op.comm.index(), op.tag}] -= op.amount + 1;
      } else if (op.kind == traces::OpKind::iprobe && (op.flags & traces::kHit) != 0) {
        ++hits;
        EXPECT_GE(r.lists[rank][i].at(1), 1) << "a panel that was found is received at once";
      }
    }
  for (const auto& [key, left] : open)
    EXPECT_EQ(left, 0) << std::get<0>(key) << " -> " << std::get<1>(key) << " tag " << std::get<3>(key);
  EXPECT_EQ(messages, sample.messages);
  if (sample.bytes != 0) {
    EXPECT_EQ(bytes, sample.bytes);
  }
  EXPECT_GT(hits, 0u);
}

// Their polls and bodies are those of what the ranks did: the receive of a panel that was found, and its forward.
TEST_P(RecordedSample, HasThePollsThatTheRuleMakesOfItsOperations) {
  const std::string path = fmt::format("{}/traces/samples/{}.weft", support::source_dir(), GetParam().name);
  const Recorded r = read_back(path);
  for (std::size_t rank = 0; rank < r.ops.size(); ++rank) {
    std::map<std::uint64_t, std::int64_t> made, recorded;
    const auto keep = [&made](std::uint64_t index, std::uint64_t value) {
      made[index] = static_cast<std::int64_t>(value);
    };
    traces::ConditionalSteps steps({keep, keep});
    for (std::size_t i = 0; i < r.ops[rank].size(); ++i) {
      const traces::Op& op = r.ops[rank][i];
      const auto& list = r.lists[rank][i];
      steps.add(i, i, op, list);
      if (op.kind != traces::OpKind::iprobe || list.empty()) continue;
      recorded[i] = list[(op.flags & traces::kHit) != 0 ? 1 : 0];
    }
    steps.finish();
    EXPECT_EQ(made, recorded) << "rank " << rank;
  }
}

// 4 x 4: messages and bytes counted independently by another interposer on the same HPL.dat.
INSTANTIATE_TEST_SUITE_P(Hpl, RecordedSample,
                         ::testing::Values(Sample{"hpl_2x2_1000_64", 4, 2244, 0},
                                           Sample{"hpl_4x4_2000_64", 16, 18854, 134557388}),
                         [](const auto& sample) { return std::string(sample.param.name); });

}  // namespace
}  // namespace weft::recorder::testing
