// Open MPI's decisions (ompi/mca/coll/tuned/coll_tuned_decision_fixed.c, the same from 4.1.0 to 6.0): the first row
// whose communicator is larger and whose bytes are more than the call's names the algorithm by its number. The rows are
// facts about that library, extracted by a program. What is not tuned has one algorithm (component basic). Before them comes
// han, from 5.0 on; non-blocking calls are those of libnbc.
#include <array>
#include <limits>

#include "replay/collectives/parts.hpp"
#include "replay/collectives/rules.hpp"

namespace weft::replay {
namespace {

using collectives::elements_of;
using collectives::rank_blocks;
using traces::OpKind;

struct Rule {
  std::uint32_t below_ranks;
  std::int64_t below_bytes;
  std::uint8_t number;
};
constexpr std::uint32_t kAny = 0xffffffffu;
constexpr std::int64_t kAll = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kKi = 1024;
constexpr std::int64_t kMi = 1048576;

// clang-format off
constexpr Rule kBcast[] = {
    {4, 32, 3}, {4, 256, 5}, {4, 512, 3}, {4, 1 * kKi, 7}, {4, 32 * kKi, 1}, {4, 128 * kKi, 5},
    {4, 256 * kKi, 2}, {4, 512 * kKi, 1}, {4, 1 * kMi, 6}, {4, kAll, 5},
    {8, 64, 5}, {8, 128, 6}, {8, 2 * kKi, 5}, {8, 8 * kKi, 6}, {8, 1 * kMi, 1}, {8, kAll, 2},
    {16, 8, 7}, {16, 64, 5}, {16, 4 * kKi, 7}, {16, 16 * kKi, 5}, {16, 32 * kKi, 6}, {16, kAll, 1},
    {32, 4 * kKi, 7}, {32, 1 * kMi, 6}, {32, kAll, 8},
    {64, 2 * kKi, 6}, {64, kAll, 7},
    {128, kAll, 7},
    {256, 2, 6}, {256, 16 * kKi, 5}, {256, 32 * kKi, 1}, {256, 64 * kKi, 5}, {256, kAll, 7},
    {1024, 16 * kKi, 7}, {1024, 32 * kKi, 4}, {1024, kAll, 7},
    {2048, 512 * kKi, 7}, {2048, kAll, 8},
    {4096, 256 * kKi, 7}, {4096, kAll, 8},
    {kAny, 8 * kKi, 7}, {kAny, 16 * kKi, 5}, {kAny, 256 * kKi, 7}, {kAny, kAll, 8},
};
constexpr Rule kReduce[] = {
    {4, 8, 7}, {4, 16, 4}, {4, 32, 3}, {4, 256 * kKi, 1}, {4, 512 * kKi, 3}, {4, 1 * kMi, 2}, {4, kAll, 3},
    {8, 4 * kKi, 4}, {8, 64 * kKi, 2}, {8, 256 * kKi, 5}, {8, 512 * kKi, 1}, {8, 1 * kMi, 5}, {8, kAll, 1},
    {16, 8 * kKi, 4}, {16, kAll, 5},
    {32, 4 * kKi, 4}, {32, kAll, 5},
    {256, kAll, 5},
    {512, 8 * kKi, 5}, {512, 16 * kKi, 6}, {512, kAll, 5},
    {2048, kAll, 5},
    {4096, 512, 5}, {4096, 1 * kKi, 6}, {4096, 8 * kKi, 5}, {4096, 16 * kKi, 6}, {4096, kAll, 5},
    {kAny, 16, 5}, {kAny, 32, 6}, {kAny, 1 * kKi, 5}, {kAny, 2 * kKi, 6}, {kAny, 8 * kKi, 5},
    {kAny, 16 * kKi, 6}, {kAny, kAll, 5},
};
constexpr Rule kAllreduce[] = {
    {4, 8, 4}, {4, 4 * kKi, 3}, {4, 8 * kKi, 4}, {4, 16 * kKi, 3}, {4, 64 * kKi, 4}, {4, 256 * kKi, 5},
    {4, kAll, 6},
    {8, 16, 4}, {8, 8 * kKi, 3}, {8, kAll, 6},
    {16, 8 * kKi, 3}, {16, kAll, 6},
    {32, 64, 5}, {32, 4 * kKi, 3}, {32, kAll, 6},
    {64, 128, 5}, {64, kAll, 6},
    {128, 256 * kKi, 3}, {128, kAll, 6},
    {256, 128 * kKi, 2}, {256, 256 * kKi, 3}, {256, kAll, 6},
    {512, 4 * kKi, 2}, {512, kAll, 6},
    {2048, 2 * kKi, 2}, {2048, 16 * kKi, 3}, {2048, kAll, 6},
    {4096, 2 * kKi, 2}, {4096, 4 * kKi, 5}, {4096, 16 * kKi, 3}, {4096, kAll, 6},
    {kAny, 2 * kKi, 2}, {kAny, 16 * kKi, 5}, {kAny, 32 * kKi, 3}, {kAny, kAll, 6},
};
constexpr Rule kAllgather[] = {
    {3, kAll, 6},
    {32, kAll, 3},
    {64, 1 * kKi, 3}, {64, 64 * kKi, 5}, {64, kAll, 4},
    {128, 512, 3}, {128, 64 * kKi, 5}, {128, kAll, 4},
    {256, 512, 3}, {256, 128 * kKi, 5}, {256, 512 * kKi, 4}, {256, 1 * kMi, 5}, {256, kAll, 4},
    {512, 32, 3}, {512, 128, 2}, {512, 1 * kKi, 3}, {512, 128 * kKi, 5}, {512, 512 * kKi, 4},
    {512, 1 * kMi, 5}, {512, kAll, 4},
    {1024, 64, 3}, {1024, 256, 2}, {1024, 2 * kKi, 3}, {1024, kAll, 5},
    {2048, 4, 3}, {2048, 8, 2}, {2048, 16, 3}, {2048, 32, 2}, {2048, 256, 3}, {2048, 512, 2},
    {2048, 4 * kKi, 3}, {2048, kAll, 5},
    {4096, 32, 2}, {4096, 128, 3}, {4096, 512, 2}, {4096, 4 * kKi, 3}, {4096, kAll, 5},
    {kAny, 2, 3}, {kAny, 8, 2}, {kAny, 16, 3}, {kAny, 512, 2}, {kAny, 4 * kKi, 3}, {kAny, kAll, 5},
};
constexpr Rule kAllgatherv[] = {
    {3, 2 * kKi, 3}, {3, 4 * kKi, 5}, {3, 8 * kKi, 3}, {3, kAll, 5},
    {8, 256, 1}, {8, 4 * kKi, 4}, {8, 8 * kKi, 3}, {8, 16 * kKi, 4}, {8, 256 * kKi, 2}, {8, kAll, 4},
    {16, 1 * kKi, 1}, {16, kAll, 2},
    {32, 128, 1}, {32, 256 * kKi, 2}, {32, kAll, 3},
    {64, 256, 1}, {64, 8 * kKi, 2}, {64, kAll, 3},
    {128, 256, 1}, {128, 4 * kKi, 2}, {128, kAll, 3},
    {256, 1 * kKi, 2}, {256, 64 * kKi, 4}, {256, kAll, 3},
    {512, 1 * kKi, 2}, {512, kAll, 3},
    {1024, 512, 2}, {1024, 1 * kKi, 1}, {1024, 4 * kKi, 2}, {1024, 1 * kMi, 4}, {1024, kAll, 3},
    {kAny, 4 * kKi, 2}, {kAny, kAll, 4},
};
constexpr Rule kAlltoall[] = {
    {3, 2, 2}, {3, 4, 5}, {3, 16, 2}, {3, 64, 5}, {3, 256, 2}, {3, 4 * kKi, 5}, {3, 32 * kKi, 2},
    {3, 256 * kKi, 4}, {3, 1 * kMi, 5}, {3, kAll, 2},
    {8, 8 * kKi, 4}, {8, 16 * kKi, 1}, {8, 64 * kKi, 4}, {8, 512 * kKi, 1}, {8, 1 * kMi, 2}, {8, kAll, 1},
    {16, 256 * kKi, 4}, {16, kAll, 1},
    {32, 4, 4}, {32, 512, 3}, {32, 8 * kKi, 4}, {32, 32 * kKi, 1}, {32, 256 * kKi, 4}, {32, 512 * kKi, 1},
    {32, kAll, 4},
    {64, 512, 3}, {64, 512 * kKi, 1}, {64, kAll, 4},
    {128, 1 * kKi, 3}, {128, 2 * kKi, 1}, {128, 4 * kKi, 4}, {128, 256 * kKi, 1}, {128, kAll, 2},
    {256, 1 * kKi, 3}, {256, 2 * kKi, 4}, {256, 256 * kKi, 1}, {256, kAll, 2},
    {512, 1 * kKi, 3}, {512, 8 * kKi, 4}, {512, 32 * kKi, 1}, {512, kAll, 2},
    {1024, 512, 3}, {1024, 8 * kKi, 4}, {1024, 16 * kKi, 1}, {1024, 128 * kKi, 4}, {1024, 256 * kKi, 1},
    {1024, kAll, 2},
    {2048, 512, 3}, {2048, 1 * kKi, 4}, {2048, 2 * kKi, 1}, {2048, 16 * kKi, 4}, {2048, 256 * kKi, 1},
    {2048, kAll, 4},
    {4096, 1 * kKi, 3}, {4096, 4 * kKi, 4}, {4096, 8 * kKi, 1}, {4096, 128 * kKi, 4}, {4096, kAll, 1},
    {kAny, 2 * kKi, 3}, {kAny, 8 * kKi, 4}, {kAny, 16 * kKi, 1}, {kAny, 32 * kKi, 4}, {kAny, 64 * kKi, 1},
    {kAny, kAll, 4},
};
constexpr Rule kAlltoallv[] = {
    {4, kAll, 2},
    {64, kAll, 1},
    {128, kAll, 2},
    {256, kAll, 1},
    {1024, kAll, 2},
    {kAny, kAll, 1},
};
constexpr Rule kBarrier[] = {
    {4, kAll, 3},
    {8, kAll, 1},
    {64, kAll, 3},
    {256, kAll, 4},
    {512, kAll, 6},
    {1024, kAll, 4},
    {4096, kAll, 6},
    {kAny, kAll, 4},
};
constexpr Rule kGather[] = {
    {4, 2, 3}, {4, 4, 1}, {4, 32 * kKi, 2}, {4, 64 * kKi, 1}, {4, 128 * kKi, 2}, {4, kAll, 3},
    {8, 1 * kKi, 2}, {8, 8 * kKi, 1}, {8, 32 * kKi, 2}, {8, 256 * kKi, 1}, {8, kAll, 3},
    {256, kAll, 2},
    {512, 2 * kKi, 2}, {512, 8 * kKi, 1}, {512, kAll, 2},
    {kAny, kAll, 2},
};
constexpr Rule kScatter[] = {
    {4, 2, 3}, {4, 128 * kKi, 1}, {4, 256 * kKi, 3}, {4, kAll, 1},
    {8, 2 * kKi, 2}, {8, 4 * kKi, 1}, {8, 8 * kKi, 2}, {8, 32 * kKi, 1}, {8, 1 * kMi, 3}, {8, kAll, 1},
    {16, 16 * kKi, 2}, {16, 1 * kMi, 3}, {16, kAll, 1},
    {32, 16 * kKi, 2}, {32, 32 * kKi, 1}, {32, kAll, 3},
    {64, 512, 2}, {64, 8 * kKi, 3}, {64, 16 * kKi, 2}, {64, kAll, 3},
    {kAny, 512, 2}, {kAny, kAll, 3},
};
constexpr Rule kReduceScatter[] = {
    {4, 64 * kKi, 3}, {4, 128 * kKi, 4}, {4, kAll, 3},
    {8, 8, 1}, {8, 256 * kKi, 2}, {8, kAll, 3},
    {32, 256 * kKi, 2}, {32, kAll, 3},
    {64, 64, 1}, {64, 2 * kKi, 2}, {64, 512 * kKi, 4}, {64, kAll, 3},
    {128, 256, 1}, {128, 512, 2}, {128, 2 * kKi, 4}, {128, 4 * kKi, 2}, {128, kAll, 4},
    {256, 256, 1}, {256, 512, 2}, {256, kAll, 4},
    {512, 256, 1}, {512, 1 * kKi, 2}, {512, kAll, 4},
    {1024, 512, 1}, {1024, 2 * kKi, 2}, {1024, 8 * kKi, 4}, {1024, 16 * kKi, 2}, {1024, kAll, 4},
    {2048, 512, 1}, {2048, 4 * kKi, 2}, {2048, 16 * kKi, 4}, {2048, 32 * kKi, 2}, {2048, kAll, 4},
    {4096, 512, 1}, {4096, 4 * kKi, 2}, {4096, kAll, 4},
    {kAny, 1 * kKi, 1}, {kAny, 8 * kKi, 2}, {kAny, kAll, 4},
};
constexpr Rule kReduceScatterBlock[] = {
    {4, 4, 2}, {4, 8, 4}, {4, 16, 3}, {4, 128, 4}, {4, 256, 3}, {4, 4 * kKi, 4}, {4, 8 * kKi, 3},
    {4, 128 * kKi, 4}, {4, kAll, 1},
    {8, 8, 3}, {8, 32, 2}, {8, 256, 4}, {8, 8 * kKi, 3}, {8, 16 * kKi, 4}, {8, 1 * kMi, 3}, {8, kAll, 1},
    {16, 4, 1}, {16, 32, 3}, {16, 128, 4}, {16, 512 * kKi, 3}, {16, 4 * kMi, 1}, {16, kAll, 4},
    {32, 32, 1}, {32, 512 * kKi, 3}, {32, 2 * kMi, 1}, {32, 4 * kMi, 3}, {32, kAll, 4},
    {kAny, 4, 3}, {kAny, 16, 1}, {kAny, 64 * kKi, 4}, {kAny, 256 * kKi, 1}, {kAny, kAll, 4},
};
// clang-format on

[[nodiscard]] std::span<const Rule> table(OpKind kind) {
  switch (kind) {
    case OpKind::bcast:
      return kBcast;
    case OpKind::reduce:
      return kReduce;
    case OpKind::allreduce:
      return kAllreduce;
    case OpKind::allgather:
      return kAllgather;
    case OpKind::allgatherv:
      return kAllgatherv;
    case OpKind::alltoall:
      return kAlltoall;
    case OpKind::alltoallv:
      return kAlltoallv;
    case OpKind::barrier:
      return kBarrier;
    case OpKind::gather:
      return kGather;
    case OpKind::scatter:
      return kScatter;
    case OpKind::reduce_scatter:
      return kReduceScatter;
    case OpKind::reduce_scatter_block:
      return kReduceScatterBlock;
    default:
      return {};
  }
}

// What the tables call the bytes of a call.
[[nodiscard]] std::int64_t table_bytes(const CollectiveCall& c) {
  if (c.kind == OpKind::allgatherv) return rank_blocks(c).total() / c.ranks;
  if (c.kind == OpKind::reduce_scatter) return rank_blocks(c).total();
  return c.bytes;
}

// Component libnbc (nbc_i*.c): what a non-blocking call takes. Operators count as commutative.
[[nodiscard]] std::string_view nonblocking(const CollectiveCall& c) {
  constexpr std::int64_t kShort = 64 * kKi;
  const bool spreads = elements_of(c) >= static_cast<std::int64_t>(std::bit_floor(c.ranks));
  switch (c.kind) {
    case OpKind::barrier:
      return "dissemination";
    case OpKind::bcast:
      return c.ranks <= 4 ? "linear" : "binomial";  // libnbc_ibcast_skip_dt_decision: bytes do not count
    case OpKind::reduce:
      if (c.ranks > 2 && spreads) return "rabenseifner";
      return c.ranks > 4 || c.bytes < kShort ? "binomial" : "chain";
    case OpKind::allreduce:
      if (c.ranks < 4 || c.bytes < kShort) return "binomial";
      return spreads ? "rabenseifner" : "ring";
    case OpKind::reduce_scatter:
    case OpKind::reduce_scatter_block:
      return "binomial";
    default:
      return "linear";
  }
}

class OpenMpiRules final : public CollectiveRules {
 public:
  explicit OpenMpiRules(bool han) : han_(han) {
    for (const CollectiveAlgorithm& a : collective_algorithms()) {
      if (!a.name.starts_with("openmpi.") || a.asks_for_nodes) continue;
      auto& row = by_number_[static_cast<std::size_t>(a.kind)];
      WEFT_CHECK(a.number < row.size(), "number of an Open MPI algorithm");
      row[a.number] = &a;
    }
  }
  [[nodiscard]] Pick pick(const CollectiveCall& c) const override {
    if (c.kind >= OpKind::neighbor_allgather) return {&default_collective(c)};
    if (c.nonblocking) return {&library_collective(c.kind, "libnbc.", nonblocking(c))};
    if (han_ && han_comes_first(c)) return {&library_collective(c.kind, "openmpi.", "han")};
    return {by_number_[static_cast<std::size_t>(c.kind)][openmpi_number(c)]};
  }
  // 4.1's alltoallv posts a message for every pair, 5.0's not; libnbc does, but for alltoallv and alltoallw.
  [[nodiscard]] bool sends_empties(const CollectiveCall& c) const override {
    if (!c.nonblocking) return c.kind == OpKind::alltoallv && !han_;
    switch (c.kind) {
      case OpKind::gather:
      case OpKind::gatherv:
      case OpKind::scatter:
      case OpKind::scatterv:
      case OpKind::allgather:
      case OpKind::allgatherv:
      case OpKind::alltoall:
      case OpKind::exscan:
        return true;
      default:
        return false;
    }
  }
  [[nodiscard]] bool asks_for_nodes() const override { return han_; }

 private:
  std::array<std::array<const CollectiveAlgorithm*, 10>, traces::kOpKindCount> by_number_{};
  bool han_;
};

}  // namespace

std::uint8_t openmpi_number(const CollectiveCall& c) {
  if (c.kind == OpKind::scan || c.kind == OpKind::exscan) return 1;
  const std::int64_t bytes = table_bytes(c);
  for (const Rule& r : table(c.kind))
    if (c.ranks < r.below_ranks && bytes < r.below_bytes) return r.number;
  return 0;
}

// All but allreduce and barrier give way where nodes have unequal numbers of ranks.
bool han_comes_first(const CollectiveCall& c) {
  if (c.nonblocking || c.nodes == nullptr || !c.nodes->hierarchical()) return false;
  switch (c.kind) {
    case OpKind::barrier:
    case OpKind::allreduce:
      return true;
    case OpKind::bcast:
    case OpKind::reduce:
    case OpKind::allgather:
    case OpKind::gather:
    case OpKind::scatter:
      return c.nodes->even();
    default:
      return false;
  }
}

const CollectiveRules& openmpi_rules() {
  static const OpenMpiRules rules(false);
  return rules;
}

const CollectiveRules& openmpi_rules_with_han() {
  static const OpenMpiRules rules(true);
  return rules;
}

}  // namespace weft::replay
