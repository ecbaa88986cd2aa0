// Which algorithm a call takes when nobody says: the rules of MPICH's generic tuning file, flat (no node
// hierarchy). The rules ask for counts of elements where a trace has bytes: an element counts as 8 bytes.
// Rules that depend on the operator take it as commutative and built in.
#include "replay/collectives/mpich/limits.hpp"
#include "replay/collectives/parts.hpp"

namespace weft::replay {
namespace {

using collectives::rank_blocks;
using traces::OpKind;
namespace mpich = collectives::mpich;

constexpr std::int64_t kElement = 8;

std::string_view choose(const CollectiveCall& c) {
  const std::uint32_t p = c.ranks;
  const bool power = std::has_single_bit(p);
  const bool fewer_elements_than_ranks = c.bytes / kElement < static_cast<std::int64_t>(std::bit_floor(p));
  switch (c.kind) {
    case OpKind::barrier:
      return "dissemination";
    case OpKind::bcast:
      if (p < 8 || c.bytes <= mpich::kBcastShort) return "binomial";
      return power && c.bytes <= mpich::kBcastLong ? "recursive_doubling" : "ring";
    case OpKind::reduce:
      return c.bytes <= mpich::kReduceShort || fewer_elements_than_ranks ? "binomial" : "rabenseifner";
    case OpKind::allreduce:
      return c.bytes <= mpich::kAllreduceShort || fewer_elements_than_ranks ? "recursive_doubling"
                                                                            : "rabenseifner";
    case OpKind::allgather:
    case OpKind::allgatherv: {
      const std::int64_t total = rank_blocks(c).total();
      if (power) return total < mpich::kAllgatherLong ? "recursive_doubling" : "ring";
      return total < mpich::kAllgatherBrucks ? "bruck" : "ring";
    }
    case OpKind::reduce_scatter:
    case OpKind::reduce_scatter_block:
      return rank_blocks(c).total() < mpich::kReduceScatterLong ? "recursive_halving" : "pairwise";
    case OpKind::gather:
    case OpKind::scatter:
      return "binomial";
    case OpKind::alltoall:
      if (c.bytes <= mpich::kAlltoallShort && p >= 8) return "bruck";
      return c.bytes <= mpich::kAlltoallMedium ? "scattered" : "pairwise";
    case OpKind::alltoallv:
    case OpKind::alltoallw:
      return "scattered";
    case OpKind::scan:
    case OpKind::exscan:
      return "recursive_doubling";
    default:
      return "linear";  // gatherv, scatterv, neighbourhoods
  }
}

}  // namespace

const CollectiveAlgorithm& default_collective(const CollectiveCall& call) {
  const auto found = find_collective(call.kind, choose(call));
  WEFT_CHECK(found.has_value(), "the default algorithm of " + std::string(traces::op_name(call.kind)) +
                                    " is not in the registry");
  return **found;
}

void schedule_comm_operation(OpKind kind, std::uint32_t ranks, std::uint32_t me, RankSchedule& out) {
  constexpr std::int64_t kColourAndKey = 8;
  constexpr std::int64_t kIdentifier = 8;
  if (kind == OpKind::comm_free) return;
  const bool gathers =
      kind == OpKind::comm_split || kind == OpKind::comm_create || kind == OpKind::cart_create;
  if (gathers) collectives::append_allgather_bruck(collectives::Blocks::equal(kColourAndKey, ranks), me, out);
  collectives::append_allreduce_recursive_doubling(kIdentifier, ranks, me, out);
}

}  // namespace weft::replay
