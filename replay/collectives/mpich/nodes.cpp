// MPICH's forms that know which ranks share a node (src/mpid/ch4/src/ch4_coll_impl.h; scan: src/mpi/coll/scan). The
// first rank of each node stands for it among the nodes. What goes on within a node is messages here too, where MPICH
// may use shared memory.
#include "replay/collectives/groups.hpp"
#include "replay/collectives/parts.hpp"

namespace weft::replay::collectives {

using traces::OpKind;

namespace {

// One rank's view of a call.
struct Hierarchy {
  const CollectiveCall& c;
  const NodeShape& shape;
  std::uint32_t me;
  std::uint32_t node = shape.node[me];
  bool first = shape.local[me] == 0;

  // `part` within my node.
  void within(OpKind kind, std::int64_t bytes, std::uint32_t root_local, RankSchedule& out) const {
    CollectiveCall part = c;
    part.kind = kind;
    part.bytes = bytes;
    part.among = Among::kNode;
    append_among(part, shape.on(node), root_local, shape.local[me], out);
  }
  // ... and among the first ranks of all nodes, if I am one.
  void among_nodes(OpKind kind, std::int64_t bytes, std::uint32_t root_node, RankSchedule& out) const {
    if (!first) return;
    CollectiveCall part = c;
    part.kind = kind;
    part.bytes = bytes;
    part.among = Among::kNodeRoots;
    append_among(part, shape.with_local(0), root_node, node, out);
  }
  void message(std::uint32_t from, std::uint32_t to, std::int64_t bytes, RankSchedule& out) const {
    if (from == to) return;
    if (me == from) out.send(to, bytes);
    if (me == to) out.recv(from, bytes);
    out.next_round();
  }
  [[nodiscard]] std::uint32_t root_node() const { return shape.node[c.root]; }
  [[nodiscard]] std::uint32_t root_local() const { return shape.local[c.root]; }
};

// A call without nodes is one on ranks that share none. MPI_Allreduce comes here without bytes, too: of its parts the reductions
// within nodes send messages then (MPIR_Reduce, which does not ask whether there is anything, as MPI_Reduce does).
template <class Body>
void with_nodes(const CollectiveCall& c, std::uint32_t me, Body body) {
  const bool without_bytes = c.kind == OpKind::barrier || c.kind == OpKind::allreduce;
  if (c.ranks == 1 || (c.bytes == 0 && !without_bytes)) return;
  if (c.nodes != nullptr) return body(Hierarchy{c, *c.nodes, me});
  std::vector<std::uint32_t> hosts(c.ranks);
  for (std::uint32_t r = 0; r < c.ranks; ++r) hosts[r] = r;
  const NodeShape apart(hosts);
  body(Hierarchy{c, apart, me});
}

}  // namespace

void mpich_barrier_alpha(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  with_nodes(c, me, [&](const Hierarchy& h) {
    h.within(OpKind::barrier, 0, 0, out);
    h.among_nodes(OpKind::barrier, 0, 0, out);
    h.within(OpKind::bcast, 1, 0, out);
  });
}

void mpich_bcast_alpha(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  with_nodes(c, me, [&](const Hierarchy& h) {
    h.message(c.root, h.shape.on(h.root_node())[0], c.bytes, out);
    h.among_nodes(OpKind::bcast, c.bytes, h.root_node(), out);
    h.within(OpKind::bcast, c.bytes, 0, out);
  });
}

void mpich_bcast_beta(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  with_nodes(c, me, [&](const Hierarchy& h) {
    const bool before = h.node == h.root_node() && h.root_local() > 0;
    if (before) h.within(OpKind::bcast, c.bytes, h.root_local(), out);
    h.among_nodes(OpKind::bcast, c.bytes, h.root_node(), out);
    if (!before) h.within(OpKind::bcast, c.bytes, 0, out);
  });
}

void mpich_reduce_alpha(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  with_nodes(c, me, [&](const Hierarchy& h) {
    h.within(OpKind::reduce, c.bytes, 0, out);
    h.among_nodes(OpKind::reduce, c.bytes, 0, out);
    h.message(0, c.root, c.bytes, out);
  });
}

void mpich_reduce_beta(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  with_nodes(c, me, [&](const Hierarchy& h) {
    if (h.node != h.root_node()) h.within(OpKind::reduce, c.bytes, 0, out);
    h.among_nodes(OpKind::reduce, c.bytes, h.root_node(), out);
    if (h.node == h.root_node()) h.within(OpKind::reduce, c.bytes, h.root_local(), out);
  });
}

void mpich_allreduce_alpha(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  with_nodes(c, me, [&](const Hierarchy& h) {
    h.within(OpKind::reduce, c.bytes, 0, out);
    h.among_nodes(OpKind::allreduce, c.bytes, 0, out);
    h.within(OpKind::bcast, c.bytes, 0, out);
  });
}

// The last rank of a node has the sum over the node. The first ranks scan those, hand theirs to the next node, and that
// one's first rank sends it to its node. The blocking form first tells each node by an int whether anything comes.
void mpich_scan_smp(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  with_nodes(c, me, [&](const Hierarchy& h) {
    if (!h.shape.consecutive()) {
      out.not_supported = "smp wants the ranks of each node to follow one another";
      return;
    }
    const auto mine = h.shape.on(h.node);
    h.within(OpKind::scan, c.bytes, 0, out);
    if (h.first || me == mine.back()) h.message(mine.back(), mine.front(), c.bytes, out);
    h.among_nodes(OpKind::scan, c.bytes, 0, out);
    const auto firsts = h.shape.with_local(0);
    if (h.first && h.node + 1 < h.shape.nodes()) out.send(firsts[h.node + 1], c.bytes);
    if (h.first && h.node > 0) out.recv(firsts[h.node - 1], c.bytes);
    out.next_round();
    if (!c.nonblocking) h.within(OpKind::bcast, 4, 0, out);
    if (h.node > 0) h.within(OpKind::bcast, c.bytes, 0, out);
  });
}

}  // namespace weft::replay::collectives
