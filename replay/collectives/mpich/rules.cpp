// MPICH's rules (maint/tuning/coll/mpir/generic.json and, on communicators with several ranks on a node,
// maint/tuning/coll/ch4/generic.json; 4.1 to 5.0). Operators count as commutative and built in, buffers as not in place.
// Non-blocking forms have the messages of the blocking ones but where flat.cpp says otherwise, and thresholds of their own.
#include "replay/collectives/rules.hpp"
#include "replay/collectives/mpich/limits.hpp"
#include "replay/collectives/parts.hpp"

namespace weft::replay {
namespace {

using collectives::elements_of;
using collectives::rank_blocks;
using traces::OpKind;
namespace mpich = collectives::mpich;

constexpr std::uint32_t kFew = 8;  // ranks
constexpr std::int64_t kIallreduceShort = 2048;
constexpr std::int64_t kIalltoallShort = 2048;

[[nodiscard]] bool fewer_than_pof2(const CollectiveCall& c) {
  return elements_of(c) < static_cast<std::int64_t>(std::bit_floor(c.ranks));
}

// On a communicator with several ranks on a node, which may be the only one; empty: as a flat one.
std::string_view among_nodes(const CollectiveCall& c) {
  switch (c.kind) {
    case OpKind::barrier:
      return c.nonblocking ? "" : "composition_alpha";
    case OpKind::bcast:
      if (c.nonblocking || c.ranks < kFew || c.bytes < mpich::kBcastShort) return "composition_alpha";
      return std::has_single_bit(c.ranks) && c.bytes < mpich::kBcastLong ? "composition_beta" : "";
    case OpKind::reduce:
      return c.nonblocking || c.bytes <= mpich::kReduceShort ? "composition_beta" : "composition_alpha";
    case OpKind::allreduce:
      // Of no bytes on one node: MPIR_Allreduce_intra_smp, which is the same ("avg_msg_size<=0").
      return c.nonblocking || (c.nodes->nodes() == 1 && c.bytes > 0) ? "" : "composition_alpha";
    case OpKind::scan:
      return c.nodes->consecutive() ? "smp" : "";
    default:
      return "";
  }
}

std::string_view flat(const CollectiveCall& c) {
  const bool power = std::has_single_bit(c.ranks);
  switch (c.kind) {
    case OpKind::barrier:
      return "k_dissemination";
    case OpKind::bcast: {
      // The non-blocking form's bounds are strict.
      const std::int64_t bytes = c.nonblocking ? c.bytes + 1 : c.bytes;
      if (c.ranks < kFew || bytes <= mpich::kBcastShort) return "binomial";
      return power && bytes <= mpich::kBcastLong ? "scatter_recursive_doubling_allgather"
                                                 : "scatter_ring_allgather";
    }
    case OpKind::reduce:
      return c.bytes <= mpich::kReduceShort || fewer_than_pof2(c) ? "binomial" : "reduce_scatter_gather";
    case OpKind::allreduce:
      return c.bytes <= (c.nonblocking ? kIallreduceShort : mpich::kAllreduceShort) || fewer_than_pof2(c)
                 ? "recursive_doubling"
                 : "reduce_scatter_allgather";
    case OpKind::allgather:
    case OpKind::allgatherv: {
      const std::int64_t total = rank_blocks(c).total();
      if (power) return total < mpich::kAllgatherLong ? "recursive_doubling" : "ring";
      return total < mpich::kAllgatherBrucks ? "brucks" : "ring";
    }
    case OpKind::reduce_scatter:
    case OpKind::reduce_scatter_block: {
      // csel.c counts elements for the non-blocking block form.
      const bool elements = c.nonblocking && c.kind == OpKind::reduce_scatter_block;
      const std::int64_t total = rank_blocks(c).total() / (elements ? collectives::element_of(c) : 1);
      return total < mpich::kReduceScatterLong ? "recursive_halving" : "pairwise";
    }
    case OpKind::gather:
    case OpKind::scatter:
      return "binomial";
    case OpKind::alltoall:
      // "comm_size<8", but read as <= (rule_files.cpp, "pruned").
      if (c.ranks > kFew && c.bytes <= (c.nonblocking ? kIalltoallShort : mpich::kAlltoallShort))
        return "brucks";
      return c.bytes <= mpich::kAlltoallMedium ? "scattered" : "pairwise";
    case OpKind::alltoallv:
    case OpKind::alltoallw:
      return "scattered";
    case OpKind::scan:
    case OpKind::exscan:
      return "recursive_doubling";
    default:
      return "linear";  // gatherv, scatterv
  }
}

class MpichRules final : public CollectiveRules {
 public:
  [[nodiscard]] Pick pick(const CollectiveCall& c) const override {
    if (c.kind >= OpKind::neighbor_allgather) return {&default_collective(c)};
    const std::string_view name = c.nodes != nullptr && c.nodes->shares() ? among_nodes(c) : "";
    return {&library_collective(c.kind, "mpich.", name.empty() ? flat(c) : name)};
  }
  [[nodiscard]] bool sends_empties(const CollectiveCall& c) const override {
    if (c.kind == OpKind::reduce) return !c.nonblocking && c.among == Among::kNode;  // of an allreduce
    return c.nonblocking && c.kind == OpKind::allreduce;
  }
  [[nodiscard]] bool asks_for_nodes() const override { return true; }
};

}  // namespace

std::shared_ptr<const CollectiveRules> mpich_rules() { return std::make_shared<MpichRules>(); }

}  // namespace weft::replay
