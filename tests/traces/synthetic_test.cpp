// Synthetic traces against the trace doctor and against closed forms of their messages, bytes and operations.
#include <gmock/gmock.h>

#include <cmath>
#include <map>

#include "core/rng.hpp"
#include "tests/support/checkout.hpp"
#include "tests/support/memory_trace.hpp"
#include "tests/traces/trace_testing.hpp"
#include "traces/check/check.hpp"
#include "traces/exports/export.hpp"
#include "traces/info.hpp"
#include "traces/synthetic/pattern.hpp"
#include "traces/weft/copy.hpp"

namespace weft::traces {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Args = std::vector<std::pair<std::string, std::string>>;

PatternArgs args_of(const Args& list) {
  PatternArgs a;
  for (const auto& [k, v] : list) a.set(k, v);
  return a;
}
std::unique_ptr<TraceReader> make(const std::string& kind, const Args& list, std::uint64_t seed = 1) {
  auto t = synthetic_trace(kind, args_of(list), seed);
  if (!t) ADD_FAILURE() << kind << ": " << t.error().message();
  return t ? std::move(*t) : nullptr;
}
std::string error_of(const std::string& kind, const Args& list) {
  auto t = synthetic_trace(kind, args_of(list), 1);
  EXPECT_FALSE(t.has_value()) << kind << " was accepted";
  if (!t) {
    EXPECT_EQ(t.error().code, ErrorCode::kUsage);
  }
  return t ? std::string() : t.error().message();
}
std::vector<testing::PlainOp> rank_of(TraceReader& t, std::uint32_t rank) {
  auto ops = testing::read_rank(t, rank);
  EXPECT_TRUE(ops.has_value());
  return ops ? std::move(ops).value() : std::vector<testing::PlainOp>{};
}
// No finding of the doctor, in either mode.
void expect_correct(TraceReader& t) {
  for (const bool synchronous : {false, true}) {
    t.rewind();
    CheckOptions o;
    o.synchronous = synchronous;
    const auto report = check_trace(t, o);
    ASSERT_TRUE(report.has_value());
    for (const auto& f : report->findings) ADD_FAILURE() << t.header().command_line << ": " << f.message;
  }
  t.rewind();
}
std::map<OpKind, std::uint64_t> kinds_of(TraceReader& t) {
  std::map<OpKind, std::uint64_t> n;
  t.rewind();
  OpBlock b;
  for (std::uint32_t r = 0; r < t.header().ranks; ++r)
    while (*t.next_block(RankId(r), b))
      for (const Op& op : b.ops) ++n[op.kind];
  t.rewind();
  return n;
}

TEST(Synthetic, EveryPatternIsACorrectProgramWhoseOperationsAreThoseItCounted) {
  const std::vector<std::pair<std::string, Args>> cases = {
      {"halo", {{"dims", "3x2x2"}, {"neighbors", "corners"}, {"periodic", "on"}, {"compute", "3us"}}},
      {"halo", {{"dims", "7"}}},
      {"halo", {{"dims", "1"}}},
      {"halo", {{"dims", "2x2"}, {"periodic", "on"}, {"neighbors", "edges"}, {"flops", "1e6"}}},
      {"halo", {{"dims", "2x2x2x2"}, {"neighbors", "corners"}, {"cells", "5x6x7x8"}, {"width", "2"}}},
      {"stencil", {{"dims", "4x3"}}},
      {"stencil", {{"dims", "4x1x2"}, {"periodic", "on"}, {"bytes", "0"}, {"sum-bytes", "0"}}},
      {"alltoall", {{"ranks", "7"}}},
      {"alltoall", {{"ranks", "7"}, {"how", "pairwise"}}},
      {"alltoall", {{"ranks", "7"}, {"how", "spread"}}},
      {"collective", {{"ranks", "5"}, {"op", "bcast"}, {"root", "3"}}},
      {"collective", {{"ranks", "5"}, {"op", "reduce_scatter_block"}}},
      {"ring", {{"ranks", "9"}, {"stride", "4"}}},
      {"permutation", {{"ranks", "16"}, {"pattern", "reverse"}}},
      {"permutation", {{"ranks", "16"}, {"pattern", "transpose"}}},
      {"permutation", {{"ranks", "15"}, {"pattern", "tornado"}}},
      {"permutation", {{"ranks", "15"}, {"pattern", "random"}}},
      {"random", {{"ranks", "11"}, {"messages", "57"}, {"window", "5"}}},
      {"neighbor", {{"ranks", "5"}, {"reach", "3"}, {"window", "7"}}},
      {"fft", {}},
      {"fft", {{"grid", "3x5"}, {"cells", "17x9x31"}, {"iterations", "2"}, {"comms", "split"}}},
      {"sweep", {{"grid", "3x4"}, {"cells", "10x7x9"}, {"ichunk", "3"}, {"angles", "4"}, {"groups", "2"}}},
      {"sweep", {{"grid", "1x1"}, {"angles", "1"}, {"groups", "1"}, {"octants", "1"}}},
  };
  std::map<std::string, int> seen;
  for (const auto& [kind, list] : cases) {
    ++seen[kind];
    const auto t = make(kind, list);
    ASSERT_NE(t, nullptr);
    SCOPED_TRACE(t->header().command_line);
    expect_correct(*t);
    std::uint64_t ops = 0;
    for (std::uint32_t r = 0; r < t->header().ranks; ++r) {
      const auto rank = rank_of(*t, r);
      EXPECT_EQ(rank.size(), t->ops_of(RankId(r)));
      ASSERT_FALSE(rank.empty());
      EXPECT_EQ(rank.front().op.kind, OpKind::init);
      EXPECT_EQ(rank.back().op.kind, OpKind::finalize);
      for (const auto& p : rank) {
        OpBlock b;
        Op op = p.op;
        if (p.has_list) op.extra = b.add_list(p.list);
        const OpLimits limits{t->header().ranks, &t->communicators(), 0};
        const char* fault = op_fault(op, p.list, limits);
        EXPECT_EQ(fault, nullptr) << fault;
      }
      ops += rank.size();
    }
    EXPECT_EQ(ops, t->totals().ops);
  }
  for (const auto& k : pattern_kinds())
    EXPECT_GT(seen[std::string(k.name)], 0) << k.name << " has no case here";
}

TEST(Synthetic, HaloCountsFollowFromTheGrid) {
  // Faces of an open X x Y x Z grid: 2 ((X-1)YZ + X(Y-1)Z + XY(Z-1)) messages an iteration.
  const auto open = make("halo", {{"dims", "5x4x3"}, {"iterations", "7"}, {"bytes", "1KiB"}});
  EXPECT_EQ(open->totals().messages, 7u * 2 * (4 * 4 * 3 + 5 * 3 * 3 + 5 * 4 * 2));
  EXPECT_EQ(open->totals().bytes, open->totals().messages * 1024);
  const auto torus = make("halo", {{"dims", "5x4x3"}, {"iterations", "7"}, {"periodic", "on"}});
  EXPECT_EQ(torus->totals().messages, 7u * 6 * 60);
  const auto edges =
      make("halo", {{"dims", "5x4x3"}, {"iterations", "1"}, {"periodic", "on"}, {"neighbors", "edges"}});
  EXPECT_EQ(edges->totals().messages, 18u * 60);
  // An extent of 1 has no neighbours, on a torus either: d = 2 of these three, in the formulas of docs/synthetic-traces.md.
  const std::pair<const char*, std::uint64_t> directions[] = {
      {"faces", 2 * 2}, {"edges", 2 * 4}, {"corners", 9 - 1}};
  for (const auto& [neighbors, count] : directions) {
    const auto flat =
        make("halo", {{"dims", "4x1x3"}, {"iterations", "5"}, {"periodic", "on"}, {"neighbors", neighbors}});
    EXPECT_EQ(flat->totals().messages, 5 * count * 12) << neighbors;
  }
  // All 26 directions of an open grid: pairs of boxes within one step in each dimension.
  const auto corners = make("halo", {{"dims", "5x4x3"}, {"iterations", "1"}, {"neighbors", "corners"}});
  EXPECT_EQ(corners->totals().messages, (3u * 5 - 2) * (3 * 4 - 2) * (3 * 3 - 2) - 60);
}

// Steps of one operation to several blocks of them; counts how often each is written.
class CountedSteps final : public Pattern {
 public:
  explicit CountedSteps(std::vector<std::uint64_t>& written) : written_(written) {}
  std::uint32_t ranks() const override { return kRanks; }
  std::uint64_t steps() const override { return kSteps; }
  void step(std::uint32_t rank, std::uint64_t k, OpBlock& out) const override {
    ++written_[rank * kSteps + k];
    Rng rng(rank * kSteps + k);
    constexpr std::uint64_t kSizes[] = {3, kMaxBlockOps, kMaxBlockOps + 1, 5 * kMaxBlockOps};
    const std::uint64_t ops = 1 + rng.below(kSizes[rng.below(4)]);
    for (std::uint64_t i = 0; i < ops; ++i)
      put_send(out, 1 - rank, static_cast<std::int32_t>(k), static_cast<std::int64_t>(i));
    put_waitall(out, static_cast<std::uint32_t>(rng.below(3)));
  }
  static constexpr std::uint32_t kRanks = 2;
  static constexpr std::uint64_t kSteps = 40;

 private:
  std::vector<std::uint64_t>& written_;
};

TEST(Synthetic, AStepThatIsLongerThanABlockIsWrittenOnceHoweverManyItFills) {
  std::vector<std::uint64_t> written(CountedSteps::kRanks * CountedSteps::kSteps);
  const auto t = trace_of_pattern(std::make_unique<CountedSteps>(written), "counted steps");
  EXPECT_THAT(written, ::testing::Each(1u)) << "for the totals";
  std::vector<std::vector<testing::PlainOp>> whole;
  for (std::uint32_t r = 0; r < CountedSteps::kRanks; ++r) {
    whole.push_back(rank_of(*t, r));
    OpBlock all;
    for (std::uint64_t k = 0; k < CountedSteps::kSteps; ++k) CountedSteps(written).step(r, k, all);
    ASSERT_EQ(whole[r].size(), all.ops.size() + 2);
    for (std::size_t i = 0; i < all.ops.size(); ++i) {
      ASSERT_EQ(whole[r][i + 1].op.amount, all.ops[i].amount);
      ASSERT_EQ(whole[r][i + 1].op.tag, all.ops[i].tag);
      ASSERT_TRUE(std::ranges::equal(whole[r][i + 1].list, all.list(all.ops[i])));
    }
  }
  EXPECT_THAT(written, ::testing::Each(3u)) << "... and for who reads rank after rank, and for this test";
  // Ranks read in turns write them more often, and the same.
  t->rewind();
  std::vector<std::vector<testing::PlainOp>> in_turns(CountedSteps::kRanks);
  OpBlock b;
  for (bool more = true; more;) {
    more = false;
    for (std::uint32_t r = 0; r < CountedSteps::kRanks; ++r) {
      if (!*t->next_block(RankId(r), b)) continue;
      more = true;
      for (auto& p : testing::plain(b)) in_turns[r].push_back(std::move(p));
    }
  }
  EXPECT_EQ(in_turns, whole);
}

TEST(Synthetic, HaloLayersHaveTheVolumeOfTheBoxTheyCover) {
  const auto t = make("halo", {{"dims", "3x3x3"},
                               {"periodic", "on"},
                               {"neighbors", "corners"},
                               {"iterations", "1"},
                               {"cells", "10x20x30"},
                               {"width", "2"},
                               {"cell-bytes", "4"}});
  // The layer of width 2 outside a box: (10+4)(20+4)(30+4) - 10 20 30 cells.
  EXPECT_EQ(t->totals().bytes, 27u * 4 * (14u * 24 * 34 - 6000));
}

TEST(Synthetic, StencilSendsOneMessageAcrossEveryFaceBothWays) {
  const auto t = make("stencil", {{"dims", "6x5"}, {"iterations", "3"}, {"bytes", "100B"}});
  EXPECT_EQ(t->totals().messages, 3u * 2 * (5 * 5 + 6 * 4));
  EXPECT_EQ(kinds_of(*t)[OpKind::allreduce], 3u * 30);
}

TEST(Synthetic, AlltoallWrittenOutSendsToEveryOther) {
  for (const char* how : {"pairwise", "spread"}) {
    const auto t = make("alltoall", {{"ranks", "13"}, {"how", how}, {"iterations", "2"}, {"bytes", "3B"}});
    EXPECT_EQ(t->totals().messages, 2u * 13 * 12);
    EXPECT_EQ(t->totals().bytes, 3u * 2 * 13 * 12);
  }
  const auto c = make("alltoall", {{"ranks", "13"}, {"iterations", "2"}});
  EXPECT_EQ(c->totals().messages, 0u);
  EXPECT_EQ(kinds_of(*c)[OpKind::alltoall], 26u);
}

TEST(Synthetic, RandomDestinationsAreUniformNeverSelfAndFixedByTheSeed) {
  const Args args{{"ranks", "16"}, {"messages", "2000"}, {"window", "10"}};
  const auto t = make("random", args, 5);
  EXPECT_EQ(t->totals().messages, 32000u);
  std::map<std::pair<int, int>, double> count;
  for (std::uint32_t r = 0; r < 16; ++r)
    for (const auto& p : rank_of(*t, r))
      if (p.op.kind == OpKind::isend) ++count[{static_cast<int>(r), p.op.peer}];
  EXPECT_EQ(count.size(), 16u * 15);
  double chi2 = 0;
  const double mean = 2000.0 / 15;
  for (const auto& [pair, n] : count) {
    EXPECT_NE(pair.first, pair.second);
    chi2 += (n - mean) * (n - mean) / mean;
  }
  // 16 x 14 degrees of freedom: five standard deviations of chi-square either way.
  EXPECT_NEAR(chi2, 224, 5 * std::sqrt(2 * 224.0));
  const auto same = make("random", args, 5), other = make("random", args, 6);
  const auto r3 = [](TraceReader& x) {
    x.rewind();
    return rank_of(x, 3);
  };
  EXPECT_EQ(r3(*t), r3(*same));
  EXPECT_NE(r3(*t), r3(*other));
}

TEST(Synthetic, FftOnAHundredRanksMakesTheCallsOfBigFft) {
  const auto t = make("fft", {});
  auto n = kinds_of(*t);
  EXPECT_EQ(t->header().ranks, 100u);
  EXPECT_EQ(n[OpKind::alltoallv], 400u);
  EXPECT_EQ(n[OpKind::barrier], 500u);
  EXPECT_EQ(n[OpKind::comm_create], 2000u);
}

TEST(Synthetic, EveryTransposeOfTheFftMovesTheWholeGridOnce) {
  const auto t = make("fft", {{"grid", "3x4"}, {"cells", "10x7x9"}, {"comms", "split"}});
  std::int64_t sum = 0;
  double flops = 0;
  for (std::uint32_t r = 0; r < 12; ++r)
    for (const auto& p : rank_of(*t, r)) {
      if (p.op.kind == OpKind::alltoallv) sum += p.op.amount;
      if (p.op.kind == OpKind::compute_flops) flops += p.op.flops();
    }
  EXPECT_EQ(sum, 4 * 10 * 7 * 9 * 16);
  // Forward and backward: every point takes part in a line of each length twice.
  EXPECT_NEAR(flops, 2 * 5.0 * 630 * (std::log2(10.0) + std::log2(7.0) + std::log2(9.0)), 1e-6);
}

TEST(Synthetic, SweepSendsEveryFaceOncePerChunkOctantAndGroup) {
  const auto t = make(
      "sweep", {{"grid", "4x6"}, {"cells", "32x32x48"}, {"ichunk", "8"}, {"angles", "192"}, {"groups", "8"}});
  const std::uint64_t tasks = 8 * 8 * 4;
  EXPECT_EQ(t->totals().messages, tasks * (3 * 6 + 4 * 5));
  // y faces: 3 borders of 48 cells, z faces: 5 borders of 32 cells, 8 cells of x deep.
  EXPECT_EQ(t->totals().bytes, tasks * 8 * 192 * 8 * (3 * 48 + 5 * 32));
  EXPECT_EQ(kinds_of(*t)[OpKind::compute_flops], tasks * 24);
}

TEST(Synthetic, AStepLongerThanABlockIsReadInPieces) {
  // 3 x 1,500 operations and their lists in a step; a block of 257..1024 ranks holds 2,048.
  const auto t = make("alltoall", {{"ranks", "1501"}, {"how", "spread"}, {"iterations", "1"}});
  OpBlock b;
  std::vector<OpKind> kinds;
  std::size_t slots = 0;
  while (*t->next_block(RankId(7), b)) {
    EXPECT_LE(b.ops.size(), block_ops_for(1501));
    EXPECT_EQ(b.first_op, kinds.size());
    for (const Op& op : b.ops) {
      kinds.push_back(op.kind);
      if (op.kind == OpKind::waitall) slots = b.list(op).size();
    }
  }
  EXPECT_EQ(kinds.size(), 2u + 3000 + 1);
  EXPECT_EQ(slots, 3000u);
  EXPECT_EQ(kinds[1], OpKind::irecv);
  EXPECT_EQ(kinds[1501], OpKind::isend);
  EXPECT_EQ(kinds.back(), OpKind::finalize);
}

TEST(Synthetic, ATraceWrittenToAFileReadsBackTheSame) {
  const testing::TempDir dir;
  const auto t = make("fft", {{"grid", "3x4"}, {"cells", "10x7x9"}});
  const std::string path = dir.path("fft.weft");
  ASSERT_TRUE(copy_to_weft(*t, path).has_value());
  const auto back = open_trace({path});
  ASSERT_TRUE(back.has_value());
  t->rewind();
  ASSERT_EQ((*back)->communicators().size(), t->communicators().size());
  for (std::uint32_t r = 0; r < 12; ++r) EXPECT_EQ(rank_of(**back, r), rank_of(*t, r));
  EXPECT_EQ((*back)->totals().ops, t->totals().ops);
}

TEST(Synthetic, MistakesAreAnsweredWithTheOptionAndWhatIsLegal) {
  EXPECT_THAT(error_of("gossip", {}), HasSubstr("halo, stencil, alltoall"));
  EXPECT_THAT(error_of("halo", {}), HasSubstr("--dims is required"));
  EXPECT_THAT(error_of("halo", {{"dims", "4x0"}}), HasSubstr("--dims"));
  EXPECT_THAT(error_of("halo", {{"dims", "1x2x3x4x5"}}), HasSubstr("1 to 4"));
  EXPECT_THAT(error_of("halo", {{"dims", "4x4"}, {"cells", "3"}}), HasSubstr("--cells has 1 extents"));
  EXPECT_THAT(error_of("halo", {{"dims", "4000x4000"}}), HasSubstr("too many ranks"));
  EXPECT_THAT(error_of("halo", {{"dims", "2"}, {"cells", "3"}, {"bytes", "1B"}}),
              HasSubstr("--bytes and --cells"));
  EXPECT_THAT(error_of("halo", {{"dims", "2"}, {"colour", "red"}}), HasSubstr("--periodic"));
  EXPECT_THAT(error_of("ring", {{"ranks", "1"}}), HasSubstr("--ranks"));
  EXPECT_THAT(error_of("ring", {{"ranks", "4"}, {"bytes", "12"}}), HasSubstr("--bytes"));
  EXPECT_THAT(error_of("ring", {{"ranks", "4000000"}, {"iterations", "100000000"}}), HasSubstr("too long"));
  EXPECT_THAT(error_of("permutation", {{"ranks", "6"}, {"pattern", "reverse"}}), HasSubstr("power of two"));
  // What the summary promises is what there is.
  const auto kinds = pattern_kinds();
  const auto permutation = std::ranges::find(kinds, "permutation", &PatternKind::name);
  EXPECT_THAT(
      error_of("permutation", {{"ranks", "16"}, {"pattern", "shift"}}),
      HasSubstr("expected " + std::string(permutation->summary.substr(permutation->summary.find(':') + 2))));
  EXPECT_THAT(error_of("permutation", {{"ranks", "6"}, {"pattern", "transpose"}}), HasSubstr("square"));
  EXPECT_THAT(error_of("random", {{"ranks", "1000"}, {"messages", "1000000"}}), HasSubstr("--messages"));
  EXPECT_THAT(error_of("random", {{"ranks", "2000000"}}), HasSubstr("--messages")) << "of the default, too";
  EXPECT_THAT(error_of("sweep", {{"grid", "64x4"}}), HasSubstr("more ranks than the mesh has cells"));
  EXPECT_THAT(error_of("collective", {{"ranks", "4"}, {"op", "gossip"}}), HasSubstr("allreduce, barrier"));
}

// The head of each traces/synthetic/<pattern>.cpp shows operations of one rank: they are what the pattern makes.
TEST(Synthetic, SamplesInTheSourceAreWhatThePatternsMake) {
  const testing::TempDir dir;
  for (const PatternKind& kind : pattern_kinds()) {
    SCOPED_TRACE(kind.name);
    std::ifstream in(support::source_dir() + "/traces/synthetic/" + std::string(kind.name) + ".cpp");
    const std::string command = "// $ weft generate " + std::string(kind.name) + " --";
    std::string line, sample;
    while (std::getline(in, line) && !line.starts_with(command)) {
    }
    ASSERT_TRUE(in) << "no sample in its source file";
    Args args;
    std::istringstream words(line.substr(command.size() - 2));
    for (std::string key, value; words >> key >> value;) args.emplace_back(key.substr(2), value);
    while (std::getline(in, line) && line.starts_with("//   ")) sample += line.substr(5) + "\n";
    const auto t = make(std::string(kind.name), args, 0);
    ASSERT_TRUE(t);
    const std::string text = dir.path("out.txt");
    ASSERT_TRUE(export_trace(*t, "text", text));
    EXPECT_FALSE(sample.empty());
    EXPECT_THAT("\n" + testing::slurp(text), HasSubstr("\n" + sample));
  }
}

// 2^24 messages of 2^40 bytes are 2^64 bytes, one more than is counted.
TEST(Synthetic, MoreBytesThanAreCountedAreRefused) {
  const auto ring = [](const char* iterations) {
    return Args{{"ranks", "2"}, {"bytes", "1TiB"}, {"iterations", iterations}};
  };
  EXPECT_EQ(make("ring", ring("8388607"))->totals().bytes, ((1ull << 24) - 2) << 40);
  EXPECT_THAT(error_of("ring", ring("8388608")), HasSubstr("more bytes in all than 64 bits hold"));
}

// An alltoallv over all of 2^17 x 2^17 x 2^17 points of 2^10 bytes is 2^61 bytes: two iterations of four are 2^64.
TEST(Synthetic, MoreBytesOfCollectivesThanAreCountedAreRefused) {
  const auto fft = [](const char* iterations) {
    return Args{{"grid", "2x2"},
                {"cells", "131072x131072x131072"},
                {"element-bytes", "1024"},
                {"iterations", iterations}};
  };
  EXPECT_NE(make("fft", fft("1")), nullptr);
  EXPECT_THAT(error_of("fft", fft("2")),
              AllOf(HasSubstr("more bytes in all than 64 bits hold"), HasSubstr("alltoallv")));
}

TEST(Synthetic, MoreFlopsThanANumberHoldsAreRefused) {
  const auto with = [](const char* kind, Args args, const char* flops) {
    args.emplace_back("flops", flops);
    return error_of(kind, args);
  };
  const char* const what = "more flops in all than a number holds";
  // Of one operation, and of all.
  EXPECT_THAT(with("sweep", {{"grid", "1x1"}}, "1e308"), HasSubstr(what));
  EXPECT_THAT(with("ring", {{"ranks", "2"}, {"iterations", "100"}}, "1e308"), HasSubstr(what));
  EXPECT_NE(make("ring", {{"ranks", "2"}, {"iterations", "50"}, {"flops", "1e306"}}), nullptr);
  EXPECT_THAT(with("ring", {{"ranks", "2"}}, "1e308/1e-5"), HasSubstr("--flops: error: number is too large"));
}

// The same of what is read.
TEST(Synthetic, SumsThatAreNoFiguresAreNotTold) {
  ::weft::testing::MemoryTrace t(1);
  for (int i = 0; i < 2; ++i) t.flops(0, 1e308);
  const auto info = scan_trace(t);
  ASSERT_FALSE(info);
  EXPECT_EQ(info.error().message(), "error: more flops in all than a number holds; got \"computation\"");
}

}  // namespace
}  // namespace weft::traces
