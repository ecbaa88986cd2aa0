// Every algorithm, for p = 1..40: its messages pair off without deadlock when every send waits for its
// receive, and the data end where MPI says (data_flow.hpp). Counts and times equal closed forms.
#include <gmock/gmock.h>

#include <algorithm>
#include <bit>

#include "tests/replay/collectives/data_flow.hpp"
#include "tests/support/checkout.hpp"

namespace weft::replay {
namespace {

using namespace data_flow;

class EveryAlgorithm : public ::testing::TestWithParam<CollectiveAlgorithm> {};

TEST_P(EveryAlgorithm, DeliversWhatMpiSaysForOneTo40Ranks) {
  const auto& a = GetParam();
  if (a.name == "openmpi.han") return;  // FormsThatKnowNodes...: it is nothing without
  for (std::uint32_t p = 1; p <= (is_for_two(a) ? 2 : 40); ++p) {
    std::vector<std::uint32_t> roots{0};
    if (has_root(a.kind))
      for (std::uint32_t r : {1u, p / 2, p - 1})
        if (r < p) roots.push_back(r);
    for (const std::uint32_t root : roots)
      for (const std::int64_t bytes : {0, 1, 5, 1000, 8 * 4097, 200001}) {
        play(a.kind, a.name, p, root, bytes);
        if (HasFailure()) return;  // the smallest failing case is the one to read
      }
  }
}

// What is cut into segments of 800 bytes arrives, each segment once over each edge of a tree; a ring sums as many pieces of each
// block as Open MPI cuts (the nearest number of segments, p of them at a time).
TEST(Collectives, FormsWithSegmentsDeliverAllOfThem) {
  constexpr std::int64_t kSegment = 800;
  for (std::uint32_t p = 1; p <= 20; ++p)
    for (const std::int64_t bytes : {800, 808, 8 * 4097, 8 * 20000}) {
      const auto messages = [&](OpKind kind, const char* name, std::uint32_t root) {
        return play(kind, name, p, root, bytes, seed(), nullptr, nullptr, kSegment).messages;
      };
      const std::int64_t segments = (bytes + kSegment - 1) / kSegment;
      for (const std::uint32_t root : {0u, p / 2})
        for (const char* tree : {"chain", "pipeline", "binomial"}) {
          const auto edges = static_cast<std::uint64_t>(segments) * (p - 1);
          EXPECT_EQ(messages(OpKind::bcast, (std::string("openmpi.") + tree).c_str(), root), edges);
          EXPECT_EQ(messages(OpKind::reduce, (std::string("openmpi.") + tree).c_str(), root), edges);
        }
      if (p == 1) continue;
      const std::int64_t turn = std::int64_t{p} * kSegment / 8, count = bytes / 8, rest = count % turn;
      const std::int64_t pieces = count < turn ? 1 : count / turn + (rest >= p && 2 * rest > turn ? 1 : 0);
      EXPECT_EQ(messages(OpKind::allreduce, "openmpi.segmented_ring", 0),
                p * (p - 1u) * static_cast<std::uint64_t>(pieces + 1));
      if (HasFailure()) return;
    }
}

// Five shapes of nodes: four ranks each and what is left, dealt round to three, one with most of the ranks, one node, and
// dealt to three there and back, so that ranks with the same place on their nodes do not stand in the order of these.
NodeShape shape_of(int which, std::uint32_t p) {
  std::vector<std::uint32_t> hosts(p);
  for (std::uint32_t r = 0; r < p; ++r)
    hosts[r] = which == 0                ? r / 4
               : which == 1              ? r % 3
               : which == 2 && r < 2     ? r
               : which == 4 && r % 6 > 2 ? 2 - r % 3
               : which == 4              ? r % 3
                                         : 7;
  return NodeShape(hosts);
}

TEST(Collectives, FormsThatKnowNodesDeliverOnFiveShapesOfNodes) {
  // HAN's parts by the tables and by files of rules, which have whatever algorithms and segments.
  const std::string file = "openmpi5:" + support::oracle_dir() + "/collectives/openmpi5_rules_";
  std::vector<std::shared_ptr<const CollectiveRules>> of_mpich, of_openmpi;
  of_mpich.push_back(open_collective_rules("mpich").value());
  for (const std::string& name : {std::string("openmpi5"), file + "1.txt", file + "2.txt"})
    of_openmpi.push_back(open_collective_rules(name).value());
  for (const auto& a : collective_algorithms()) {
    if (!a.asks_for_nodes) continue;
    for (std::uint32_t p = 1; p <= 40; ++p)
      for (int which = 0; which < 5; ++which) {
        const NodeShape nodes = shape_of(which, p);
        if (a.name == "mpich.smp" && !std::is_sorted(nodes.node.begin(), nodes.node.end())) continue;
        const bool han = a.name == "openmpi.han";
        if (han && (!nodes.hierarchical() ||
                    (!nodes.even() && a.kind != OpKind::barrier && a.kind != OpKind::allreduce)))
          continue;
        for (const std::uint32_t root : {0u, p / 2, p - 1})
          for (const std::int64_t bytes : {8, 20000, 800000}) {
            if (root > 0 && !has_root(a.kind)) continue;
            for (const auto& rules : han ? of_openmpi : of_mpich)
              play(a.kind, a.name, p, root, bytes, seed(), &nodes, rules.get());
            if (HasFailure()) return;
          }
      }
  }
}

INSTANTIATE_TEST_SUITE_P(Collectives, EveryAlgorithm,
                         ::testing::ValuesIn(collective_algorithms().begin(), collective_algorithms().end()),
                         [](const auto& i) {
                           std::string name =
                               std::string(traces::op_name(i.param.kind)) + "_" + std::string(i.param.name);
                           std::replace(name.begin(), name.end(), '.', '_');
                           return name;
                         });

TEST(Collectives, EveryMpi3CollectiveHasAnAlgorithmAndADefaultThatIsRegistered) {
  Rng rng(1);
  for (int k = static_cast<int>(OpKind::barrier); k <= static_cast<int>(OpKind::neighbor_alltoallw); ++k)
    for (const std::uint32_t p : {1u, 2u, 3u, 7u, 8u, 12u, 16u, 1000u})
      for (const std::int64_t bytes : {0L, 8L, 300L, 5000L, 100000L, 10000000L}) {
        if (p == 1000 && (is_neighbor(static_cast<OpKind>(k)) || is_alltoall(static_cast<OpKind>(k))))
          continue;
        const Job job(static_cast<OpKind>(k), p, 0, bytes, rng);
        const auto& first = default_collective(job.call(0));
        EXPECT_EQ(first.kind, static_cast<OpKind>(k));
        EXPECT_EQ(&default_collective(job.call(p - 1)), &first) << "all ranks must choose alike";
      }
}

TEST(Collectives, DefaultsFollowMpichsRules) {
  const auto pick = [](OpKind k, std::uint32_t p, std::int64_t bytes) {
    return default_collective({.kind = k, .ranks = p, .bytes = bytes}).name;
  };
  EXPECT_EQ(pick(OpKind::bcast, 7, 1 << 20), "binomial");
  EXPECT_EQ(pick(OpKind::bcast, 8, 12288), "binomial");
  EXPECT_EQ(pick(OpKind::bcast, 8, 12289), "recursive_doubling");
  EXPECT_EQ(pick(OpKind::bcast, 8, 524289), "ring");
  EXPECT_EQ(pick(OpKind::bcast, 12, 12289), "ring");
  EXPECT_EQ(pick(OpKind::allreduce, 16, 8), "recursive_doubling");
  EXPECT_EQ(pick(OpKind::allreduce, 16, 127), "recursive_doubling");
  EXPECT_EQ(pick(OpKind::allreduce, 16, 128), "rabenseifner");
  EXPECT_EQ(pick(OpKind::reduce, 16, 2048), "binomial");
  EXPECT_EQ(pick(OpKind::reduce, 16, 2049), "rabenseifner");
  EXPECT_EQ(pick(OpKind::allgather, 16, 32767), "recursive_doubling");
  EXPECT_EQ(pick(OpKind::allgather, 16, 32768), "ring");
  EXPECT_EQ(pick(OpKind::allgather, 10, 8191), "bruck");
  EXPECT_EQ(pick(OpKind::allgather, 10, 8192), "ring");
  EXPECT_EQ(pick(OpKind::alltoall, 8, 256), "bruck");
  EXPECT_EQ(pick(OpKind::alltoall, 7, 256), "scattered");
  EXPECT_EQ(pick(OpKind::alltoall, 8, 32769), "pairwise");
  EXPECT_EQ(pick(OpKind::reduce_scatter_block, 8, 65535), "recursive_halving");
  EXPECT_EQ(pick(OpKind::reduce_scatter_block, 8, 65536), "pairwise");
  EXPECT_EQ(pick(OpKind::barrier, 5, 0), "dissemination");
}

int lg(std::uint32_t p) { return std::bit_width(p - 1); }  // ceil

TEST(Collectives, MessageAndByteCountsEqualTheirClosedForms) {
  const std::int64_t m = 1000;
  for (std::uint32_t p = 2; p <= 33; ++p) {
    const std::uint64_t q = p;
    const auto counts = [&](OpKind k, std::string_view a, std::int64_t bytes) {
      const Outcome o = play(k, a, p, 0, bytes);
      return std::pair<std::uint64_t, std::uint64_t>(o.messages, o.bytes);
    };
    const auto n = static_cast<std::uint64_t>(m);
    const auto l = static_cast<std::uint64_t>(lg(p));
    using P = std::pair<std::uint64_t, std::uint64_t>;
    EXPECT_EQ(counts(OpKind::barrier, "dissemination", 0), P(q * l, 0));
    EXPECT_EQ(counts(OpKind::barrier, "linear", 0), P(2 * (q - 1), 0));
    EXPECT_EQ(counts(OpKind::barrier, "tree", 0), P(2 * (q - 1), 0));
    EXPECT_EQ(counts(OpKind::bcast, "binomial", m), P(q - 1, n * (q - 1)));
    EXPECT_EQ(counts(OpKind::bcast, "pipeline", 65536 * 3), P(3 * (q - 1), 65536 * 3 * (q - 1)));
    EXPECT_EQ(counts(OpKind::bcast, "ring", m).first, (q - 1) + q * (q - 1));
    EXPECT_EQ(counts(OpKind::reduce, "binomial", m), P(q - 1, n * (q - 1)));
    EXPECT_EQ(counts(OpKind::reduce, "linear", m), P(q - 1, n * (q - 1)));
    EXPECT_EQ(counts(OpKind::allreduce, "ring", m), P(2 * q * (q - 1), 2 * n * (q - 1)));
    EXPECT_EQ(counts(OpKind::allreduce, "reduce_bcast", m), P(2 * (q - 1), 2 * n * (q - 1)));
    EXPECT_EQ(counts(OpKind::allgather, "ring", m), P(q * (q - 1), n * q * (q - 1)));
    EXPECT_EQ(counts(OpKind::allgather, "linear", m), P(q * (q - 1), n * q * (q - 1)));
    EXPECT_EQ(counts(OpKind::allgather, "bruck", m), P(q * l, n * q * (q - 1)));
    EXPECT_EQ(counts(OpKind::alltoall, "pairwise", m), P(q * (q - 1), n * q * (q - 1)));
    EXPECT_EQ(counts(OpKind::alltoall, "scattered", m), P(q * (q - 1), n * q * (q - 1)));
    EXPECT_EQ(counts(OpKind::alltoall, "bruck", m).first, q * l);
    EXPECT_EQ(counts(OpKind::gather, "linear", m), P(q - 1, n * (q - 1)));
    EXPECT_EQ(counts(OpKind::gather, "binomial", m).first, q - 1);
    EXPECT_EQ(counts(OpKind::reduce_scatter_block, "pairwise", m), P(q * (q - 1), n * q * (q - 1)));
    EXPECT_EQ(counts(OpKind::reduce_scatter_block, "ring", m), P(q * (q - 1), n * q * (q - 1)));
    EXPECT_EQ(counts(OpKind::scan, "linear", m), P(q - 1, n * (q - 1)));
    if ((p & (p - 1)) != 0) continue;
    EXPECT_EQ(counts(OpKind::barrier, "recursive_doubling", 0), P(q * l, 0));
    EXPECT_EQ(counts(OpKind::bcast, "recursive_doubling", m).first, (q - 1) + q * l);
    EXPECT_EQ(counts(OpKind::allreduce, "recursive_doubling", m), P(q * l, n * q * l));
    EXPECT_EQ(counts(OpKind::allreduce, "rabenseifner", m), P(2 * q * l, 2 * n * (q - 1)));
    EXPECT_EQ(counts(OpKind::reduce, "rabenseifner", m).first, q * l + q - 1);
    EXPECT_EQ(counts(OpKind::allgather, "recursive_doubling", m), P(q * l, n * q * (q - 1)));
    EXPECT_EQ(counts(OpKind::alltoall, "bruck", m).second, n * q * l * q / 2);
    EXPECT_EQ(counts(OpKind::gather, "binomial", m).second, n * l * q / 2);
    EXPECT_EQ(counts(OpKind::reduce_scatter_block, "recursive_halving", m), P(q * l, n * q * (q - 1)));
    EXPECT_EQ(counts(OpKind::scan, "recursive_doubling", m), P(q * l, n * q * l));
  }
}

// Messages and bytes of the libraries' forms from their definitions: n = vector or message, b = block; l = ceil lg p, x =
// ranks that fold, q = the power of two.
TEST(Collectives, MessageAndByteCountsOfTheLibrariesFormsEqualTheirClosedForms) {
  for (std::uint32_t p = 1; p <= 40; ++p) {
    const std::uint64_t r = p;
    const std::uint64_t q = std::bit_floor(p);
    const std::uint64_t x = r - q;
    const std::uint64_t lq = static_cast<std::uint64_t>(std::bit_width(q) - 1);
    const std::uint64_t l = static_cast<std::uint64_t>(lg(p));
    const std::uint64_t b = 8 * q * r;  // divides into p, and into q, blocks of elements
    const std::uint64_t n = b * r;
    using P = std::pair<std::uint64_t, std::uint64_t>;
    const auto counts = [&](OpKind k, std::string_view a, std::uint64_t bytes) {
      const Outcome o = play(k, a, p, 0, static_cast<std::int64_t>(bytes));
      return P(o.messages, o.bytes);
    };
    SCOPED_TRACE(p);
    for (const auto* tree : {"openmpi.basic_linear", "openmpi.chain", "openmpi.pipeline",
                             "openmpi.binary_tree", "openmpi.binomial", "openmpi.knomial", "mpich.binomial"})
      EXPECT_EQ(counts(OpKind::bcast, tree, n), P(r - 1, n * (r - 1))) << tree;
    for (const auto* tree : {"openmpi.linear", "openmpi.chain", "openmpi.pipeline", "openmpi.binary",
                             "openmpi.binomial", "mpich.binomial"})
      EXPECT_EQ(counts(OpKind::reduce, tree, n), P(r - 1, n * (r - 1))) << tree;
    if (p > 1) {
      // From the last rank to root 0 once more.
      EXPECT_EQ(counts(OpKind::reduce, "openmpi.in_order_binary", n), P(r, n * r));
      // A half to each, and a half from each again: p - 1 of either, one more for the last rank of an even p.
      EXPECT_EQ(counts(OpKind::bcast, "openmpi.split_binary_tree", n).second, n * (r - 1));
      EXPECT_EQ(counts(OpKind::bcast, "openmpi.split_binary_tree", n).first, r == 2 ? 2 : 2 * (r - 1));
      for (const auto* ring : {"openmpi.scatter_allgather_ring", "mpich.scatter_ring_allgather"})
        EXPECT_EQ(counts(OpKind::bcast, ring, n).first, (r - 1) * (r + 1)) << ring;
    }
    // Whole vectors there and back, lg q exchanges between.
    for (const auto* a : {"openmpi.recursive_doubling", "mpich.recursive_doubling"})
      EXPECT_EQ(counts(OpKind::allreduce, a, n), P(2 * x + q * lq, n * (2 * x + q * lq))) << a;
    for (const auto* a : {"openmpi.ring", "openmpi.segmented_ring"})
      EXPECT_EQ(counts(OpKind::allreduce, a, n), P(2 * r * (r - 1), 2 * n * (r - 1))) << a;
    EXPECT_EQ(counts(OpKind::allreduce, "openmpi.basic_linear", n), P(2 * (r - 1), 2 * n * (r - 1)));
    EXPECT_EQ(counts(OpKind::allreduce, "mpich.reduce_scatter_allgather", n),
              P(2 * x + 2 * q * lq, n * (2 * x + 2 * (q - 1))));
    // Open MPI folds by halves: three messages of half a vector, one of a whole back.
    EXPECT_EQ(counts(OpKind::allreduce, "openmpi.rabenseifner", n),
              P(4 * x + 2 * q * lq, n * 5 * x / 2 + 2 * n * (q - 1)));
    EXPECT_EQ(counts(OpKind::reduce, "openmpi.rabenseifner", n).first, 3 * x + q * lq + q - 1);
    EXPECT_EQ(counts(OpKind::reduce, "mpich.reduce_scatter_gather", n).first, x + q * lq + q - 1);
    for (const auto* a : {"openmpi.ring", "openmpi.neighbor", "openmpi.bruck", "mpich.brucks", "mpich.ring",
                          "openmpi.recursive_doubling"})
      EXPECT_EQ(counts(OpKind::allgather, a, b).second, b * r * (r - 1)) << a;
    EXPECT_EQ(counts(OpKind::allgather, "openmpi.neighbor", b).first, p % 2 == 0 ? r * r / 2 : r * (r - 1));
    EXPECT_EQ(counts(OpKind::allgather, "openmpi.recursive_doubling", b).first, r * l);
    for (const auto* a : {"openmpi.linear", "openmpi.pairwise", "openmpi.linear_sync", "mpich.scattered"})
      EXPECT_EQ(counts(OpKind::alltoall, a, b), P(r * (r - 1), b * r * (r - 1))) << a;
    for (const auto k : {OpKind::reduce_scatter_block, OpKind::reduce_scatter}) {
      if (k == OpKind::reduce_scatter)
        continue;  // its counts are random; the block form has the same functions
      // The whole vector of who sits out, halves among q, his block back.
      EXPECT_EQ(counts(k, "openmpi.recursive_halving", b).first, 2 * x + q * lq);
      const std::uint64_t mirror = std::uint64_t{1}
                                   << ((lq + 1) / 2);  // indices that are their own mirror image
      EXPECT_EQ(counts(k, "openmpi.butterfly", b).first, x == 0 ? q * lq : 2 * x + q * lq + q - mirror);
    }
    EXPECT_EQ(counts(OpKind::barrier, "openmpi.linear", 0), P(2 * (r - 1), 0));
    EXPECT_EQ(counts(OpKind::barrier, "openmpi.double_ring", 0), P(p == 1 ? 0 : 2 * r, 0));
    EXPECT_EQ(counts(OpKind::barrier, "openmpi.recursive_doubling", 0), P(2 * x + q * lq, 0));
    EXPECT_EQ(counts(OpKind::barrier, "openmpi.bruck", 0), P(r * l, 0));
    EXPECT_EQ(counts(OpKind::gather, "openmpi.linear_sync", b), P(3 * (r - 1), b * (r - 1)));
    EXPECT_EQ(counts(OpKind::gather, "openmpi.basic_linear", b), P(r - 1, b * (r - 1)));
    EXPECT_EQ(counts(OpKind::scatter, "openmpi.linear_nb", b), P(r - 1, b * (r - 1)));
    if (x != 0) continue;
    // p = q: distance d sends all but d blocks.
    EXPECT_EQ(counts(OpKind::reduce_scatter_block, "openmpi.recursive_doubling", b),
              P(r * l, b * r * (r * l - (r - 1))));
    EXPECT_EQ(counts(OpKind::bcast, "openmpi.scatter_allgather", n).first, r - 1 + r * l);
    EXPECT_EQ(counts(OpKind::allreduce, "openmpi.rabenseifner", n), P(2 * r * l, 2 * n * (r - 1)));
  }
}

// Times without contention tell the shape of a tree: levels that follow one another, children at once or one by one.
TEST(Collectives, TimesOfTheLibrariesTreesEqualTheirDepths) {
  const std::int64_t n = 4096;
  const std::int64_t hop = kAlpha + n;
  for (std::uint32_t p = 2; p <= 40; ++p) {
    const auto time = [&](OpKind k, std::string_view a) { return play(k, a, p, 0, n).time; };
    const auto lp = static_cast<std::int64_t>(lg(p));
    SCOPED_TRACE(p);
    EXPECT_EQ(time(OpKind::bcast, "openmpi.basic_linear"), hop);
    EXPECT_EQ(time(OpKind::bcast, "openmpi.pipeline"), (p - 1) * hop);
    // Everybody's children at once: the depth, which is the most ones in a relative rank.
    std::int64_t ones = 0;
    std::int64_t digits = 0;
    for (std::uint32_t v = 1; v < p; ++v) {
      ones = std::max<std::int64_t>(ones, std::popcount(v));
      std::int64_t d = 0;
      for (std::uint32_t u = v; u > 0; u /= 4) d += u % 4 != 0 ? 1 : 0;
      digits = std::max(digits, d);
    }
    EXPECT_EQ(time(OpKind::bcast, "openmpi.binomial"), ones * hop);
    EXPECT_EQ(time(OpKind::bcast, "openmpi.knomial"), digits * hop);
    EXPECT_EQ(time(OpKind::bcast, "openmpi.binary_tree"), (std::bit_width(p) - 1) * hop);
    EXPECT_EQ(time(OpKind::bcast, "mpich.binomial"), lp * hop);
    EXPECT_EQ(time(OpKind::reduce, "openmpi.binomial"), lp * hop);
    EXPECT_EQ(time(OpKind::reduce, "openmpi.linear"), (p - 1) * hop);
    EXPECT_EQ(time(OpKind::scan, "openmpi.linear"), (p - 1) * hop);
    EXPECT_EQ(play(OpKind::alltoall, "openmpi.pairwise", p, 0, n).time, (p - 1) * hop);
    // The first batch has 31 others, those after it 32.
    EXPECT_EQ(play(OpKind::alltoall, "mpich.scattered", p, 0, n).time, (p <= 32 ? 1 : 2) * hop);
    EXPECT_EQ(play(OpKind::alltoall, "scattered", p, 0, n).time, (p <= 33 ? 1 : 2) * hop);
  }
}

// alpha a message, beta = 1 a byte: the costs of Thakur, Rabenseifner, Gropp (2005) and Chan et al. (2007).
TEST(Collectives, TimesWithoutContentionEqualTheAlphaBetaModel) {
  for (std::uint32_t p = 2; p <= 32; ++p) {
    const std::int64_t l = lg(p);
    const std::int64_t q = p;
    const std::int64_t m = 4096;
    const std::int64_t n = m * q;  // divides into p blocks
    const auto time = [&](OpKind k, std::string_view a, std::int64_t bytes) {
      return play(k, a, p, 0, bytes).time;
    };
    EXPECT_EQ(time(OpKind::barrier, "dissemination", 0), l * kAlpha);
    EXPECT_EQ(time(OpKind::bcast, "binomial", n), l * (kAlpha + n));
    EXPECT_EQ(time(OpKind::bcast, "pipeline", 65536 * 40), (q - 2 + 40) * (kAlpha + 65536));
    EXPECT_EQ(time(OpKind::reduce, "binomial", n), l * (kAlpha + n));
    EXPECT_EQ(time(OpKind::allgather, "ring", m), (q - 1) * (kAlpha + m));
    EXPECT_EQ(time(OpKind::allgather, "bruck", m), l * kAlpha + (q - 1) * m);
    EXPECT_EQ(time(OpKind::alltoall, "pairwise", m), (q - 1) * (kAlpha + m));
    EXPECT_EQ(time(OpKind::allreduce, "ring", n), 2 * (q - 1) * (kAlpha + m));
    EXPECT_EQ(time(OpKind::reduce_scatter_block, "pairwise", m), (q - 1) * (kAlpha + m));
    if ((p & (p - 1)) != 0) continue;
    EXPECT_EQ(time(OpKind::bcast, "ring", n), (l + q - 1) * kAlpha + 2 * (q - 1) * m);
    EXPECT_EQ(time(OpKind::bcast, "recursive_doubling", n), 2 * l * kAlpha + 2 * (q - 1) * m);
    EXPECT_EQ(time(OpKind::allreduce, "recursive_doubling", n), l * (kAlpha + n));
    EXPECT_EQ(time(OpKind::allreduce, "rabenseifner", n), 2 * l * kAlpha + 2 * (q - 1) * m);
    EXPECT_EQ(time(OpKind::reduce, "rabenseifner", n), 2 * l * kAlpha + 2 * (q - 1) * m);
    EXPECT_EQ(time(OpKind::gather, "binomial", m), l * kAlpha + (q - 1) * m);
    EXPECT_EQ(time(OpKind::scatter, "binomial", m), l * kAlpha + (q - 1) * m);
    EXPECT_EQ(time(OpKind::alltoall, "bruck", m), l * (kAlpha + n / 2));
    EXPECT_EQ(time(OpKind::reduce_scatter_block, "recursive_halving", m), l * kAlpha + (q - 1) * m);
  }
}

TEST(Collectives, RabenseifnerAndRingAllreduceSendTheOptimalShareFromEveryRank) {
  for (const std::uint32_t p : {2u, 4u, 8u, 16u, 32u})
    for (const auto* a : {"rabenseifner", "ring"})
      for (const std::int64_t sent : play(OpKind::allreduce, a, p, 0, 1024 * p).sent)
        EXPECT_EQ(sent, 2 * 1024 * (static_cast<std::int64_t>(p) - 1)) << a;
}

// Rounds of a rank among 4,096 are there a few at a time: a window is the least and what ends its last round.
TEST(Collectives, LongSchedulesAreNeverThereAsAWhole) {
  constexpr std::uint32_t kRanks = 4096;
  const std::tuple<OpKind, std::string_view, std::size_t, std::size_t> cases[] = {
      {OpKind::alltoall, "pairwise", 2 * (kRanks - 1), 16},
      {OpKind::alltoall, "scattered", 2 * (kRanks - 1), 64},
      {OpKind::alltoall, "openmpi.pairwise", 2 * (kRanks - 1), 16},
      {OpKind::allgather, "ring", 2 * (kRanks - 1), 16},
      {OpKind::reduce_scatter_block, "ring", 2 * (kRanks - 1), 16},
      {OpKind::reduce_scatter_block, "pairwise", 2 * (kRanks - 1), 16},
      {OpKind::allreduce, "ring", 4 * (kRanks - 1), 16},
  };
  for (const auto& [kind, name, messages, most] : cases) {
    SCOPED_TRACE(std::string(traces::op_name(kind)) + " " + std::string(name));
    const auto algorithm = find_collective(kind, name);
    ASSERT_TRUE(algorithm);
    const CollectiveCall call{.kind = kind, .ranks = kRanks, .bytes = std::int64_t{1} << 30};
    RankSchedule whole;
    (*algorithm)->build(call, 1000, whole);
    EXPECT_EQ(whole.messages.size(), messages);
    EXPECT_EQ(expect_windows_are(whole, **algorithm, call, 1000, 16), most);
  }
}

TEST(Collectives, UnevenCountsFromTwentySeedsAreDelivered) {
  for (std::uint64_t s = 0; s < 20; ++s)
    for (const auto& a : collective_algorithms())
      if (is_v(a.kind) && !is_for_two(a))
        play(a.kind, a.name, 3 + static_cast<std::uint32_t>(s), static_cast<std::uint32_t>(s) % 3, 50,
             seed() + s);
}

TEST(Collectives, CommunicatorOperationsReachEveryRankFromEveryRankExceptFree) {
  for (const OpKind k : {OpKind::comm_split, OpKind::comm_dup, OpKind::comm_create, OpKind::comm_create_group,
                         OpKind::cart_create, OpKind::comm_free})
    for (std::uint32_t p = 1; p <= 33; ++p) {
      std::vector<RankSchedule> s(p);
      std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::int64_t>> sends;
      std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::int64_t>> recvs;
      std::size_t messages = 0;
      for (std::uint32_t me = 0; me < p; ++me) {
        schedule_comm_operation(k, p, me, s[me]);
        messages += s[me].messages.size();
        for (const auto& m : s[me].messages)
          (m.send ? sends[{me, m.peer}] : recvs[{m.peer, me}]).push_back(m.bytes);
      }
      EXPECT_EQ(sends, recvs);
      if (k == OpKind::comm_free || p == 1) {
        EXPECT_EQ(messages, 0u);
      } else {
        EXPECT_GE(messages, 4 * (p - 1));
      }
    }
}

TEST(Collectives, UnknownNamesAreAnsweredWithTheKnownOnes) {
  const auto a = find_collective(OpKind::bcast, "rings");
  ASSERT_FALSE(a);
  EXPECT_EQ(a.error().message(),
            "error: unknown algorithm of bcast; got \"rings\"; expected binomial, linear, pipeline, ring, "
            "recursive_doubling, openmpi.basic_linear, openmpi.chain, openmpi.pipeline, "
            "openmpi.split_binary_tree, openmpi.binary_tree, openmpi.binomial, openmpi.knomial, "
            "openmpi.scatter_allgather, openmpi.scatter_allgather_ring, openmpi.han, libnbc.linear, "
            "libnbc.binomial, libnbc.chain, mpich.binomial, "
            "mpich.scatter_recursive_doubling_allgather, mpich.scatter_ring_allgather, "
            "mpich.composition_alpha, mpich.composition_beta");
  EXPECT_EQ(exit_code(a.error().code), 2);
  EXPECT_TRUE(find_collective(OpKind::ibcast, "recursive-doubling"));
  const auto k = find_collective_kind("broadcast");
  ASSERT_FALSE(k);
  EXPECT_THAT(k.error().message(), ::testing::HasSubstr("barrier, bcast, gather, gatherv"));
  EXPECT_EQ(*find_collective_kind("allreduce"), OpKind::allreduce);
}

TEST(Collectives, MalformedCallsAreErrorsAndNotCrashes) {
  const auto rejects = [](CollectiveCall c, std::vector<std::int64_t> list, std::uint32_t me,
                          const char* why) {
    c.counts = list;
    const auto r = check_collective(c, me, "t.weft");
    ASSERT_FALSE(r);
    EXPECT_THAT(r.error().message(),
                ::testing::AllOf(::testing::StartsWith("t.weft: error: "), ::testing::HasSubstr(why)));
  };
  rejects({.kind = OpKind::bcast, .ranks = 4, .root = 4, .bytes = 1}, {}, 0, "root outside");
  rejects({.kind = OpKind::bcast, .ranks = 4, .bytes = -1}, {}, 0, "negative");
  rejects({.kind = OpKind::allgather, .ranks = 4, .bytes = INT64_MAX}, {}, 0, "2^62");
  rejects({.kind = OpKind::barrier, .ranks = 4}, {}, 4, "rank outside");
  rejects({.kind = OpKind::allgatherv, .ranks = 4, .bytes = 1}, {1, 2, 3}, 0, "3 values");
  rejects({.kind = OpKind::allgatherv, .ranks = 2, .bytes = 1}, {1, -2}, 0, "negative");
  rejects({.kind = OpKind::allgatherv, .ranks = 2, .bytes = 1}, {INT64_MAX, INT64_MAX}, 0, "2^62");
  rejects({.kind = OpKind::gatherv, .ranks = 4, .root = 2, .bytes = 1}, {}, 2, "0 values");
  rejects({.kind = OpKind::alltoallv, .ranks = 2, .bytes = 1}, {}, 0, "0 values");
  rejects({.kind = OpKind::alltoallv, .ranks = 2, .bytes = 1}, {2, 1, 1, 1}, 0, "4 values");
  rejects({.kind = OpKind::neighbor_alltoall, .ranks = 2}, {1}, 0, "cut short");
  rejects({.kind = OpKind::neighbor_alltoall, .ranks = 2}, {INT64_MAX, 1, 1}, 0, "cut short");
  rejects({.kind = OpKind::neighbor_alltoall, .ranks = 2}, {1, 1, -1}, 0, "cut short");
  rejects({.kind = OpKind::neighbor_alltoall, .ranks = 2}, {1, 2, 1, 0}, 0, "neighbour outside");
  rejects({.kind = OpKind::neighbor_alltoallv, .ranks = 2}, {1, 1, 1, 0, 8}, 0, "wrong length");
}

}  // namespace
}  // namespace weft::replay
