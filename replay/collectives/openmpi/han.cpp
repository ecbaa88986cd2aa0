// Open MPI's HAN (ompi/mca/coll/han): a collective as one among the ranks of a node (low) and one among the ranks with
// the same place on their nodes (up), both in the order of the communicator, in segments of 64 KiB that overlap: while one
// segment is under way between nodes, the one before or after it is within them.
//
// What overlaps is put into the same rounds here: round k of the one with round k of the other. That waits for the
// longer of the two in each round, and never for ever: of two such parts one is within a node, and a node has one rank in
// the other. The library's allreduce has two more under way: the reduce of the next segment between nodes, begun just after the bcast
// of this one, and the bcast within nodes, which follows the reduce there. Of the two between nodes one begins with the last round of
// the other here: a linear bcast comes first, which all ranks post at once; one down a tree comes last, as the reduce would
// wait until it has come down, and in the library does not.
#include "replay/collectives/groups.hpp"
#include "replay/collectives/parts.hpp"

namespace weft::replay::collectives {

using traces::OpKind;

namespace {

constexpr std::int64_t kSegment = 65536;  // han_bcast_segsize and the others

// Appends two schedules side by side. Each lists its messages by ascending rounds.
void merge(const RankSchedule& a, const RankSchedule& b, RankSchedule& out) {
  std::size_t i = 0;
  std::size_t k = 0;
  for (std::uint32_t round = 0; round < std::max(a.rounds, b.rounds); ++round) {
    for (; i < a.messages.size() && a.messages[i].round == round; ++i) out.add(a.messages[i]);
    for (; k < b.messages.size() && b.messages[k].round == round; ++k) out.add(b.messages[k]);
    out.next_round();
  }
}

// Appends b, whose first round goes with the last one of `a`. So no round of `a` waits for one of b, and where all ranks do
// the same, none waits for ever.
void overlap(RankSchedule& a, const RankSchedule& b) {
  if (a.rounds > 0) --a.rounds;
  for (std::size_t i = 0; i < b.messages.size(); ++i) {
    if (i > 0 && b.messages[i].round != b.messages[i - 1].round) a.next_round();
    a.add(b.messages[i]);
  }
  a.next_round();
}

// One rank's view of a call.
class Han {
 public:
  Han(const CollectiveCall& c, std::uint32_t me)
      : c_(c), shape_(*c.nodes), me_(me), element_(element_of(c)), each_(kSegment / element_ * element_) {
    if (each_ == 0) each_ = element_;
  }
  [[nodiscard]] std::uint32_t root_local() const { return shape_.local[c_.root]; }
  [[nodiscard]] std::uint32_t root_up() const { return shape_.place_up(c_.root); }
  [[nodiscard]] std::uint32_t local() const { return shape_.local[me_]; }
  [[nodiscard]] std::int64_t ranks_on_node() const {
    return static_cast<std::int64_t>(shape_.on(shape_.node[me_]).size());
  }
  [[nodiscard]] std::int64_t segments() const { return (c_.bytes + each_ - 1) / each_; }
  [[nodiscard]] bool is_segment(std::int64_t s) const { return s >= 0 && s < segments(); }
  [[nodiscard]] std::int64_t size(std::int64_t s) const { return std::min(each_, c_.bytes - s * each_); }

  void low(OpKind kind, std::int64_t bytes, std::uint32_t root, RankSchedule& out) const {
    append_among(part(kind, bytes, false, Among::kNode), shape_.on(shape_.node[me_]), root, local(), out);
  }
  void up(OpKind kind, std::int64_t bytes, bool nonblocking, std::uint32_t root, RankSchedule& out) const {
    append_among(part(kind, bytes, nonblocking, Among::kNodeRoots), shape_.with_local(local()), root,
                 shape_.place_up(me_), out);
  }

  // Whether the bcast of a segment between nodes from rank 0 has no rank that sends on.
  [[nodiscard]] bool bcasts_at_once() const {
    CollectiveCall p = part(OpKind::bcast, each_, true, Among::kNodeRoots);
    p.ranks = shape_.nodes();
    p.nodes = nullptr;
    const CollectiveAlgorithm* const a = rules_of_parts(c_).pick(p).algorithm;
    return a != nullptr && a->name.ends_with("linear");
  }

 private:
  [[nodiscard]] CollectiveCall part(OpKind kind, std::int64_t bytes, bool nonblocking, Among among) const {
    CollectiveCall p = c_;
    p.kind = kind;
    p.bytes = bytes;
    p.element = kind == OpKind::reduce || kind == OpKind::bcast ? element_ : 0;
    p.nonblocking = nonblocking;
    p.among = among;
    return p;
  }
  const CollectiveCall& c_;
  const NodeShape& shape_;
  std::uint32_t me_;
  std::int64_t element_;
  std::int64_t each_;
};

// False: nothing to do. As many ranks on every node is what all but allreduce and barrier need.
bool ready(const CollectiveCall& c, bool even, RankSchedule& out) {
  if (c.ranks == 1 || (c.bytes == 0 && c.kind != OpKind::barrier)) return false;
  if (c.nodes == nullptr || !c.nodes->hierarchical())
    out.not_supported = "han wants several nodes with several ranks on one";
  else if (even && !c.nodes->even())
    out.not_supported = "han wants as many ranks on every node";
  return out.not_supported.empty();
}

}  // namespace

void openmpi_han_bcast(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  if (!ready(c, true, out)) return;
  const Han h(c, me);
  const RankSchedule::Pace pace(out, h.segments() > 1);
  const bool leader = h.local() == h.root_local();
  if (leader) h.up(OpKind::bcast, h.size(0), false, h.root_up(), out);
  RankSchedule up;
  RankSchedule low;
  for (std::int64_t s = 0; s < h.segments(); ++s) {
    up.clear();
    low.clear();
    if (leader && h.is_segment(s + 1)) h.up(OpKind::bcast, h.size(s + 1), true, h.root_up(), up);
    h.low(OpKind::bcast, h.size(s), h.root_local(), low);
    merge(up, low, out);
  }
}

void openmpi_han_reduce(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  if (!ready(c, true, out)) return;
  const Han h(c, me);
  const RankSchedule::Pace pace(out, h.segments() > 1);
  const bool leader = h.local() == h.root_local();
  RankSchedule up;
  RankSchedule low;
  for (std::int64_t s = 0; s <= h.segments(); ++s) {
    up.clear();
    low.clear();
    if (leader && h.is_segment(s - 1)) h.up(OpKind::reduce, h.size(s - 1), true, h.root_up(), up);
    if (h.is_segment(s)) h.low(OpKind::reduce, h.size(s), h.root_local(), low);
    merge(up, low, out);
  }
}

void openmpi_han_allreduce(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  if (!ready(c, false, out)) return;
  const Han h(c, me);
  const RankSchedule::Pace pace(out, h.segments() > 1);
  const bool leader = h.local() == 0;
  const bool bcast_first = h.bcasts_at_once();
  RankSchedule up_bcast;
  RankSchedule up_reduce;
  RankSchedule low;
  for (std::int64_t s = 0; s < h.segments() + 3; ++s) {
    up_bcast.clear();
    up_reduce.clear();
    low.clear();
    if (leader && h.is_segment(s - 2)) h.up(OpKind::bcast, h.size(s - 2), true, 0, up_bcast);
    if (leader && h.is_segment(s - 1)) h.up(OpKind::reduce, h.size(s - 1), true, 0, up_reduce);
    RankSchedule& up = bcast_first ? up_bcast : up_reduce;
    overlap(up, bcast_first ? up_reduce : up_bcast);
    if (h.is_segment(s)) h.low(OpKind::reduce, h.size(s), 0, low);
    if (h.is_segment(s - 3)) h.low(OpKind::bcast, h.size(s - 3), 0, low);
    merge(up, low, out);
  }
}

void openmpi_han_allgather(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  if (!ready(c, true, out)) return;
  const Han h(c, me);
  h.low(OpKind::gather, c.bytes, 0, out);
  if (h.local() == 0) h.up(OpKind::allgather, c.bytes * h.ranks_on_node(), false, 0, out);
  h.low(OpKind::bcast, c.bytes * c.ranks, 0, out);
}

void openmpi_han_gather(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  if (!ready(c, true, out)) return;
  const Han h(c, me);
  h.low(OpKind::gather, c.bytes, h.root_local(), out);
  if (h.local() == h.root_local()) h.up(OpKind::gather, c.bytes * h.ranks_on_node(), false, h.root_up(), out);
}

void openmpi_han_scatter(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  if (!ready(c, true, out)) return;
  const Han h(c, me);
  if (h.local() == h.root_local())
    h.up(OpKind::scatter, c.bytes * h.ranks_on_node(), false, h.root_up(), out);
  h.low(OpKind::scatter, c.bytes, h.root_local(), out);
}

void openmpi_han_barrier(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  if (!ready(c, false, out)) return;
  const Han h(c, me);
  h.low(OpKind::barrier, 0, 0, out);
  if (h.local() == 0) h.up(OpKind::barrier, 0, false, 0, out);
  h.low(OpKind::barrier, 0, 0, out);
}

}  // namespace weft::replay::collectives
