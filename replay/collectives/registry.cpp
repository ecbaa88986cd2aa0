// The list of collective algorithms: one row per algorithm declares its function and puts it in the table. Here are the
// textbook forms; a library's own are in its folder's algorithms.def.
#include <string>

#include "replay/collectives/parts.hpp"

// X(kind, name, function, summary)
#define WEFT_COLLECTIVES(X)                                                                                  \
  X(barrier, dissemination, barrier_dissemination, "ceil(lg p) rounds, to rank + 2^k (Hensgen et al. 1988)") \
  X(barrier, recursive_doubling, barrier_recursive_doubling,                                                 \
    "lg p exchanges with rank xor 2^k; the rest folded")                                                     \
  X(barrier, linear, barrier_linear, "all report to rank 0, which releases all")                             \
  X(barrier, tree, barrier_tree, "up and down a binomial tree")                                              \
  X(bcast, binomial, bcast_binomial, "binomial tree, whole message")                                         \
  X(bcast, linear, bcast_linear, "the root sends to all at once")                                            \
  X(bcast, pipeline, bcast_pipeline, "chain of ranks, segments of 64 KiB (at most 4096)")                    \
  X(bcast, ring, bcast_ring, "binomial scatter, ring allgather (van de Geijn)")                              \
  X(bcast, recursive_doubling, bcast_recursive_doubling, "binomial scatter, recursive-doubling allgather")   \
  X(gather, binomial, gather_binomial, "binomial tree, subtrees travel together")                            \
  X(gather, linear, gather_linear, "the root receives from all at once")                                     \
  X(gatherv, linear, gather_linear, "the root receives from all at once; ranks with 0 bytes stay silent")    \
  X(scatter, binomial, scatter_binomial, "binomial tree, subtrees travel together")                          \
  X(scatter, linear, scatter_linear, "the root sends to all at once")                                        \
  X(scatterv, linear, scatter_linear, "the root sends to all at once; ranks with 0 bytes stay silent")       \
  X(allgather, ring, allgather_ring, "p - 1 rounds, one block to the next rank")                             \
  X(allgather, recursive_doubling, allgather_recursive_doubling,                                             \
    "lg p rounds of doubling ranges; the rest folded")                                                       \
  X(allgather, bruck, allgather_bruck, "ceil(lg p) rounds, to rank - 2^k (Bruck et al. 1997)")               \
  X(allgather, linear, allgather_linear, "all messages at once")                                             \
  X(allgatherv, ring, allgather_ring, "p - 1 rounds, one block to the next rank")                            \
  X(allgatherv, recursive_doubling, allgather_recursive_doubling,                                            \
    "lg p rounds of doubling ranges; the rest folded")                                                       \
  X(allgatherv, bruck, allgather_bruck, "ceil(lg p) rounds, to rank - 2^k (Bruck et al. 1997)")              \
  X(allgatherv, linear, allgather_linear, "all messages at once; ranks with 0 bytes stay silent")            \
  X(alltoall, pairwise, alltoall_pairwise, "p - 1 rounds, one partner each")                                 \
  X(alltoall, linear, alltoall_linear, "all messages at once")                                               \
  X(alltoall, scattered, alltoall_scattered, "32 messages each way at once")                                 \
  X(alltoall, bruck, alltoall_bruck, "ceil(lg p) rounds, half of the blocks each (Bruck et al. 1997)")       \
  X(alltoallv, pairwise, alltoall_pairwise, "p - 1 rounds, one partner each, empty messages too")            \
  X(alltoallv, linear, alltoall_linear, "all messages at once, none for 0 bytes")                            \
  X(alltoallv, scattered, alltoall_scattered, "32 messages each way at once, none for 0 bytes")              \
  X(alltoallw, pairwise, alltoall_pairwise, "p - 1 rounds, one partner each, empty messages too")            \
  X(alltoallw, linear, alltoall_linear, "all messages at once, none for 0 bytes")                            \
  X(alltoallw, scattered, alltoall_scattered, "32 messages each way at once, none for 0 bytes")              \
  X(reduce, binomial, reduce_binomial, "binomial tree, whole vector")                                        \
  X(reduce, linear, reduce_linear, "the root receives one vector after the other")                           \
  X(reduce, pipeline, reduce_pipeline, "chain of ranks, segments of 64 KiB (at most 4096)")                  \
  X(reduce, rabenseifner, reduce_rabenseifner, "reduce-scatter by vector halving, binomial gather")          \
  X(allreduce, recursive_doubling, allreduce_recursive_doubling,                                             \
    "lg p exchanges of the vector; the rest folded")                                                         \
  X(allreduce, rabenseifner, allreduce_rabenseifner, "reduce-scatter by vector halving, allgather back")     \
  X(allreduce, ring, allreduce_ring, "ring reduce-scatter, ring allgather: 2 (p - 1) rounds")                \
  X(allreduce, reduce_bcast, allreduce_reduce_bcast, "binomial reduce to rank 0, binomial broadcast")        \
  X(allreduce, linear, allreduce_linear, "linear reduce to rank 0, linear broadcast")                        \
  X(reduce_scatter, pairwise, reduce_scatter_pairwise, "p - 1 rounds, each block straight to its rank")      \
  X(reduce_scatter, recursive_halving, reduce_scatter_recursive_halving,                                     \
    "lg p rounds of halves; the rest folded")                                                                \
  X(reduce_scatter, ring, reduce_scatter_ring, "p - 1 rounds, one block to the next rank")                   \
  X(reduce_scatter_block, pairwise, reduce_scatter_pairwise,                                                 \
    "p - 1 rounds, each block straight to its rank")                                                         \
  X(reduce_scatter_block, recursive_halving, reduce_scatter_recursive_halving,                               \
    "lg p rounds of halves; the rest folded")                                                                \
  X(reduce_scatter_block, ring, reduce_scatter_ring, "p - 1 rounds, one block to the next rank")             \
  X(scan, recursive_doubling, scan_recursive_doubling, "ceil(lg p) exchanges of group sums")                 \
  X(scan, linear, scan_linear, "chain of ranks")                                                             \
  X(exscan, recursive_doubling, scan_recursive_doubling, "ceil(lg p) exchanges of group sums")               \
  X(exscan, linear, scan_linear, "chain of ranks")                                                           \
  X(neighbor_allgather, linear, neighbor_linear, "all messages at once")                                     \
  X(neighbor_allgatherv, linear, neighbor_linear, "all messages at once")                                    \
  X(neighbor_alltoall, linear, neighbor_linear, "all messages at once")                                      \
  X(neighbor_alltoallv, linear, neighbor_linear, "all messages at once")                                     \
  X(neighbor_alltoallw, linear, neighbor_linear, "all messages at once")

namespace weft::replay {
namespace collectives {
#define WEFT_X(kind, name, function, summary) \
  void function(const CollectiveCall& c, std::uint32_t me, RankSchedule& out);
WEFT_COLLECTIVES(WEFT_X)
#undef WEFT_X
#define X(kind, number, name, function, summary) \
  void function(const CollectiveCall& c, std::uint32_t me, RankSchedule& out);
#include "replay/collectives/openmpi/algorithms.def"
#undef X
#define X(kind, function, summary) \
  void function(const CollectiveCall& c, std::uint32_t me, RankSchedule& out);
#include "replay/collectives/openmpi/nodes.def"
#undef X
#define X(kind, name, function, summary) \
  void function(const CollectiveCall& c, std::uint32_t me, RankSchedule& out);
#include "replay/collectives/openmpi/libnbc.def"
#undef X
#define X(kind, name, function, nodes, summary) \
  void function(const CollectiveCall& c, std::uint32_t me, RankSchedule& out);
#include "replay/collectives/mpich/algorithms.def"
#undef X
}  // namespace collectives

namespace {
constexpr CollectiveAlgorithm kAlgorithms[] = {
#define WEFT_X(kind, name, function, summary) {traces::OpKind::kind, #name, summary, &collectives::function},
    WEFT_COLLECTIVES(WEFT_X)
#undef WEFT_X
#define X(kind, number, name, function, summary) \
  {traces::OpKind::kind, "openmpi." #name, summary, &collectives::function, number},
#include "replay/collectives/openmpi/algorithms.def"
#undef X
#define X(kind, function, summary) \
  {traces::OpKind::kind, "openmpi.han", summary, &collectives::function, 0, true},
#include "replay/collectives/openmpi/nodes.def"
#undef X
#define X(kind, name, function, summary) \
  {traces::OpKind::kind, "libnbc." #name, summary, &collectives::function},
#include "replay/collectives/openmpi/libnbc.def"
#undef X
#define X(kind, name, function, nodes, summary) \
  {traces::OpKind::kind, "mpich." #name, summary, &collectives::function, 0, nodes},
#include "replay/collectives/mpich/algorithms.def"
#undef X
};

std::string known_algorithms(traces::OpKind kind) {
  std::string known;
  for (const auto& a : kAlgorithms)
    if (a.kind == kind) known += (known.empty() ? "" : ", ") + std::string(a.name);
  return known;
}
}  // namespace

std::span<const CollectiveAlgorithm> collective_algorithms() { return kAlgorithms; }

const CollectiveAlgorithm& library_collective(traces::OpKind kind, std::string_view prefix,
                                              std::string_view name) {
  for (const auto& a : kAlgorithms)
    if (a.kind == kind && a.name.starts_with(prefix) && a.name.substr(prefix.size()) == name) return a;
  WEFT_CHECK(false, "no algorithm " + std::string(prefix) + std::string(name));
  return kAlgorithms[0];
}

Result<const CollectiveAlgorithm*> find_collective(traces::OpKind kind, std::string_view name) {
  const traces::OpKind wanted = traces::blocking_form(kind);
  std::string spelled(name);
  for (char& ch : spelled)
    if (ch == '-') ch = '_';
  for (const auto& a : kAlgorithms)
    if (a.kind == wanted && a.name == spelled) return &a;
  return usage_error("unknown algorithm of " + std::string(traces::op_name(wanted)), std::string(name),
                     known_algorithms(wanted));
}

Result<traces::OpKind> find_collective_kind(std::string_view name) {
  std::string known;
  traces::OpKind last = traces::OpKind::send;
  for (const auto& a : kAlgorithms) {
    if (traces::op_name(a.kind) == name) return a.kind;
    if (a.kind <= last) continue;  // rows of one kind stand together, those of a library after the others
    known += (known.empty() ? "" : ", ") + std::string(traces::op_name(a.kind));
    last = a.kind;
  }
  return usage_error("unknown collective", std::string(name), known);
}

}  // namespace weft::replay
