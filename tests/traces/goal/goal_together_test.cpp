// GOAL schedules of several ranks that can be executed: so can the programs that they are read as, where every send waits for
// its receive.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <ctime>
#include <map>
#include <set>
#include <tuple>

#include "tests/traces/trace_testing.hpp"
#include "traces/trace.hpp"

namespace weft::traces::goal_together_test {
namespace {

using namespace testing;
using ::testing::HasSubstr;

// Every rank as far as it comes; a send or receive is over when its other side was posted.
class Execution {
 public:
  explicit Execution(TraceReader& t) {
    for (std::uint32_t r = 0; r < t.header().ranks; ++r)
      ranks_.push_back({read_rank(t, r).value(), 0, false, {}});
  }
  // Whether all come to their ends.
  bool ends() {
    for (bool went = true; went;) {
      went = false;
      for (std::uint32_t r = 0; r < ranks_.size(); ++r)
        while (ranks_[r].at < ranks_[r].ops.size() && step(r)) went = true;
    }
    return std::ranges::all_of(ranks_, [](const Rank& k) { return k.at == k.ops.size(); });
  }

 private:
  using Channel = std::tuple<std::int32_t, std::int32_t, std::int32_t>;  // source, destination, tag
  struct Side {
    Channel channel;
    bool send = false;
    int number = 0;  // of its side of the channel, from 1
  };
  struct Rank {
    std::vector<PlainOp> ops;
    std::size_t at = 0;
    bool posted = false;  // the operation at `at`, a blocking one
    std::map<std::int64_t, Side> under_way;
  };
  static constexpr std::int64_t kBlocking = -1;

  void post(std::uint32_t r, const Op& op, std::int64_t slot) {
    const bool send = op.kind == OpKind::send || op.kind == OpKind::isend;
    const auto me = static_cast<std::int32_t>(r);
    const Channel c = send ? Channel{me, op.peer, op.tag} : Channel{op.peer, me, op.tag};
    ranks_[r].under_way[slot] = {c, send, ++posted_[{c, send}]};
  }
  bool over(std::uint32_t r, std::int64_t slot) {
    const Side& s = ranks_[r].under_way.at(slot);
    return posted_[{s.channel, !s.send}] >= s.number;
  }
  bool step(std::uint32_t r) {
    Rank& k = ranks_[r];
    const PlainOp& p = k.ops[k.at];
    switch (p.op.kind) {
      case OpKind::isend:
      case OpKind::irecv:
        post(r, p.op, p.op.request);
        break;
      case OpKind::send:
      case OpKind::recv:
        if (!k.posted) post(r, p.op, kBlocking);
        k.posted = true;
        if (!over(r, kBlocking)) return false;
        k.posted = false;
        break;
      case OpKind::wait:
        if (!over(r, p.op.request)) return false;
        break;
      case OpKind::waitall:
        for (const std::int64_t slot : p.list)
          if (!over(r, slot)) return false;
        break;
      default:
        break;
    }
    ++k.at;
    return true;
  }

  std::vector<Rank> ranks_;
  std::map<std::pair<Channel, bool>, int> posted_;
};

std::unique_ptr<TraceReader> read(const TempDir& dir, const std::string& text) {
  auto t = open_trace_with({dir.write("t.goal", text)}, {.from = {}, .one_order = true});
  EXPECT_TRUE(t) << (t ? "" : t.error().message());
  return t ? std::move(*t) : nullptr;
}

// Rank 0 may wait for tag 1 or tag 3 first, and rank 1 sends tag 3 before it has anything of rank 0's.
const std::string kCrossed =
    "num_ranks 2\nrank 0 {\nl1: recv 8b from 1 tag 1\nl2: send 8b to 1 tag 2\nl2 requires l1\n"
    "l3: recv 8b from 1 tag 3\nl4: send 8b to 1 tag 4\nl4 requires l3\n}\n"
    "rank 1 {\nl1: recv 8b from 0 tag 4\nl2: send 8b to 0 tag 1\nl2 requires l1\nl3: send 8b to 0 tag 3\n"
    "l4: recv 8b from 0 tag 2\n}\n";

TEST(GoalTogether, AnOrderInWhichRanksWaitForEachOtherIsNotTaken) {
  const TempDir dir;
  const auto t = read(dir, kCrossed);
  ASSERT_TRUE(t);
  EXPECT_TRUE(Execution(*t).ends());
  ASSERT_EQ(t->header().warnings.size(), 1u);
  EXPECT_THAT(
      t->header().warnings[0],
      HasSubstr("the order of the file is taken but for 1 wait, where ranks would wait for each other"));
}

TEST(GoalTogether, WhereNoOrderEndsTheWarningSaysSo) {
  const TempDir dir;
  // Rank 1 waits for tag 5, which nobody sends.
  std::string text = kCrossed;
  text.replace(text.find("recv 8b from 0 tag 4"), 20, "recv 8b from 0 tag 5");
  const auto t = read(dir, text);
  ASSERT_TRUE(t);
  EXPECT_FALSE(Execution(*t).ends());
  ASSERT_EQ(t->header().warnings.size(), 1u);
  EXPECT_THAT(t->header().warnings[0], HasSubstr("none was found in which every operation is executed"));
}

// Messages one after the other, each of whose sides requires some of what its rank did before: it can be executed in that
// order. The file has the operations of a rank in any order.
std::string random_schedule(Rng& rng, std::uint32_t ranks, int messages) {
  struct Made {
    std::string text;
    std::uint64_t key = 0;
  };
  std::vector<std::vector<Made>> made(ranks);
  std::vector<int> of_rank(ranks, 0);
  const auto add = [&](std::uint32_t r, const std::string& what) {
    const int me = ++of_rank[r];
    std::string text = fmt::format("l{}: {}\n", me, what);
    std::set<int> before;
    for (std::uint64_t i = rng.below(3); me > 1 && i > 0; --i)
      before.insert(1 + static_cast<int>(rng.below(static_cast<std::uint64_t>(me - 1))));
    std::string needs;
    for (const int b : before)
      needs += fmt::format("l{} {} l{}\n", me, rng.below(4) == 0 ? "irequires" : "requires", b);
    made[r].push_back({text + needs, rng.below(1000)});
  };
  for (int m = 0; m < messages; ++m) {
    const auto from = static_cast<std::uint32_t>(rng.below(ranks));
    const auto to = static_cast<std::uint32_t>((from + 1 + rng.below(ranks - 1)) % ranks);
    add(from, fmt::format("send 8b to {} tag {}", to, m));
    add(to, fmt::format("recv 8b from {} tag {}", from, m));
    if (rng.below(3) == 0) add(from, "calc 5");
  }
  std::string text = fmt::format("num_ranks {}\n", ranks);
  for (std::uint32_t r = 0; r < ranks; ++r) {
    std::ranges::stable_sort(made[r], {}, &Made::key);
    text += fmt::format("rank {} {{\n", r);
    // Labels are known before they are named.
    std::string needs;
    for (const Made& m : made[r]) {
      const std::size_t line = m.text.find('\n') + 1;
      text += m.text.substr(0, line);
      needs += m.text.substr(line);
    }
    text += needs + "}\n";
  }
  return text;
}

TEST(GoalTogether, SchedulesThatCanBeExecutedAreProgramsThatEnd) {
  const TempDir dir;
  Rng rng(seed_or(15));
  std::map<std::string, int> seen;
  for (int round = 0; round < 400; ++round) {
    SCOPED_TRACE(fmt::format("round {} of seed {}", round, seed_or(15)));
    const auto ranks = static_cast<std::uint32_t>(2 + rng.below(4));
    const std::string text = random_schedule(rng, ranks, 4 + static_cast<int>(rng.below(30)));
    const auto t = read(dir, text);
    ASSERT_TRUE(t);
    ASSERT_TRUE(Execution(*t).ends()) << text;
    const auto& w = t->header().warnings;
    ++seen[w.empty() ? "exact" : w[0].find("taken but for") != std::string::npos ? "other" : "file"];
  }
  EXPECT_GT(seen["other"], 20);
  EXPECT_GT(seen["file"], 20);
}

// The sends of a rank wait all at once for receives of the other that name no source, no tag, or neither; or these for the sends.
TEST(GoalTogether, ReceivesFromAnySourceAreFoundWithoutLookingAtAllThatWait) {
  constexpr int kMessages = 50'000;
  const TempDir dir;
  for (const std::string_view asked : {"from -1 tag -1", "from -1", "from 0 tag -1"})
    for (const int sender : {0, 1}) {
      SCOPED_TRACE(fmt::format("recv {}, sends of rank {}", asked, sender));
      std::string sends, receives;
      for (int i = 0; i < kMessages; ++i) {
        sends += fmt::format("a{}: send 8b to {} tag {}\n", i, 1 - sender, asked == "from -1" ? 0 : i);
        receives +=
            fmt::format("a{}: recv 8b {}\nc{}: calc 3\nc{} requires a{}\n", i,
                        asked == "from 0 tag -1" ? fmt::format("from {} tag -1", sender) : asked, i, i, i);
      }
      const auto rank = [](int r, const std::string& text) {
        return fmt::format("rank {} {{\n{}}}\n", r, text);
      };
      const std::string text =
          sender == 0 ? rank(0, sends) + rank(1, receives) : rank(0, receives) + rank(1, sends);
      const std::clock_t begin = std::clock();
      const auto t = read(dir, "num_ranks 2\n" + text);
      EXPECT_LT(static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC, 3.0) << "s";
      ASSERT_TRUE(t);
      EXPECT_EQ(t->totals().messages, std::uint64_t{kMessages});
    }
}

}  // namespace
}  // namespace weft::traces::goal_together_test
