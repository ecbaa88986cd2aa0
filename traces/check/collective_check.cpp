#include "traces/check/collective_check.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/counted.hpp"
#include "core/rng.hpp"
#include "traces/exchange_series.hpp"
#include "traces/op_rules.hpp"

namespace weft::traces {
namespace {

// All members contribute or get the same number of bytes.
bool same_size_everywhere(OpKind k) {
  switch (blocking_form(k)) {
    case OpKind::bcast:
    case OpKind::gather:
    case OpKind::scatter:
    case OpKind::allgather:
    case OpKind::alltoall:
    case OpKind::reduce:
    case OpKind::allreduce:
    case OpKind::reduce_scatter:
    case OpKind::reduce_scatter_block:
    case OpKind::scan:
    case OpKind::exscan:
    case OpKind::exchange_series:
      return true;
    default:
      return false;
  }
}

// The list is n, then bytes to each member, then bytes from each.
bool names_pairs(OpKind form) { return form == OpKind::alltoallv || form == OpKind::alltoallw; }

// The list is the size of each member, so that all have the same one.
bool same_list_everywhere(OpKind form) {
  return form == OpKind::allgatherv || form == OpKind::reduce_scatter;
}

bool is_neighborhood(OpKind k) {
  const OpKind form = blocking_form(k);
  return form >= OpKind::neighbor_allgather && form <= OpKind::neighbor_alltoallw;
}

// One message of a neighbourhood collective. Bytes: 0 where a rank says one size for all.
struct Edge {
  std::int64_t from, to, bytes;
  friend auto operator<=>(const Edge&, const Edge&) = default;
  [[nodiscard]] bool same_ranks(const Edge& o) const { return from == o.from && to == o.to; }
};

// Naming the pair that disagrees in an alltoallv takes members^2 numbers; beyond this many members only whether all agree is
// known: the sum over all pairs of a hash of who sends how much to whom, less those of what is expected, is 0.
constexpr std::size_t kMaxPairwise = 1024;

std::uint64_t pair_hash(std::size_t from, std::size_t to, std::int64_t bytes) {
  const std::uint64_t pair = Rng(std::uint64_t{from} << 32 | to).next();
  return Rng(pair + static_cast<std::uint64_t>(bytes)).next();
}

// What position `me` of `n` adds to that sum; pairs without bytes, which are most in sparse exchanges, add nothing.
std::uint64_t sent_less_expected(std::size_t me, std::size_t n, std::span<const std::int64_t> list) {
  std::uint64_t sum = 0;
  for (std::size_t other = 0; other < n; ++other) {
    if (const std::int64_t out = list[1 + other]; out != 0) sum += pair_hash(me, other, out);
    if (const std::int64_t in = list[1 + n + other]; in != 0) sum -= pair_hash(other, me, in);
  }
  return sum;
}

enum class Needs { kNothing, kRoot, kBelow, kSources, kAll };
Needs needs(OpKind kind, bool is_root) {
  switch (blocking_form(kind)) {
    case OpKind::bcast:
    case OpKind::scatter:
    case OpKind::scatterv:
      return is_root ? Needs::kNothing : Needs::kRoot;
    case OpKind::gather:
    case OpKind::gatherv:
    case OpKind::reduce:
      return is_root ? Needs::kAll : Needs::kNothing;
    case OpKind::scan:
    case OpKind::exscan:
      return Needs::kBelow;
    case OpKind::neighbor_allgather:
    case OpKind::neighbor_allgatherv:
    case OpKind::neighbor_alltoall:
    case OpKind::neighbor_alltoallv:
    case OpKind::neighbor_alltoallw:
      return Needs::kSources;
    default:
      return Needs::kAll;
  }
}

// The list of a neighbourhood collective: n_in, sources, n_out, destinations and, where each has a size of its own, bytes in and
// bytes out.
struct Neighbors {
  std::span<const std::int64_t> sources, destinations;  // world ranks; negative: none
  std::span<const std::int64_t> bytes_in, bytes_out;    // empty: one size for all
};
Neighbors neighbors_of(std::span<const std::int64_t> list) {
  const auto n_in = static_cast<std::size_t>(list[0]), n_out = static_cast<std::size_t>(list[1 + n_in]);
  Neighbors n{list.subspan(1, n_in), list.subspan(2 + n_in, n_out), {}, {}};
  if (const auto sizes = list.subspan(2 + n_in + n_out); !sizes.empty()) {
    n.bytes_in = sizes.first(n_in);
    n.bytes_out = sizes.subspan(n_in, n_out);
  }
  return n;
}

std::string root_text(std::int32_t root) { return root < 0 ? "no root" : fmt::format("root {}", root); }

}  // namespace

CollectiveCheck::State& CollectiveCheck::state(CommId comm) {
  State& s = states_[comm.index()];
  const auto& members = communicators_[comm.index()].members;
  if (s.next.size() != members.size()) {
    s.next.resize(members.size());
    s.position.reserve(members.size());
    for (std::size_t i = 0; i < members.size(); ++i)
      s.position.emplace(static_cast<std::uint32_t>(members[i]), static_cast<std::uint32_t>(i));
  }
  return s;
}

std::int64_t CollectiveCheck::position(CommId comm, std::uint32_t rank) {
  if (comm.index() == 0)
    return rank < communicators_[0].members.size() ? static_cast<std::int64_t>(rank) : -1;
  const State& s = state(comm);
  const auto it = s.position.find(rank);
  return it == s.position.end() ? -1 : static_cast<std::int64_t>(it->second);
}

CollectiveCheck::Arrival CollectiveCheck::arrive(const Op& op, std::uint32_t rank, std::uint64_t index,
                                                 std::span<const std::int64_t> list) {
  State& s = state(op.comm);
  const Communicator& comm = communicators_[op.comm.index()];
  const std::size_t me = s.position.at(rank);
  Arrival a;
  a.instance = s.next[me]++;
  while (a.instance >= s.base + s.open.size()) s.open.emplace_back();
  Instance& i = s.open[a.instance - s.base];
  const bool first = i.arrived == 0;
  const bool rooted = is_rooted(op.kind);
  if (first) {
    i.kind = op.kind;
    i.root = rooted ? op.peer : -1;
    i.amount = op.amount;
    i.first_rank = rank;
    i.first_op = index;
    i.here.resize(comm.members.size());
  } else {
    const auto fault = [&](std::string text) {
      a.faults.push_back({std::move(text), i.first_rank, i.first_op});
      i.disagreed = true;
    };
    if (op.kind != i.kind)
      fault(fmt::format("disagrees on {}: rank {} calls {}", comm.name, i.first_rank, op_name(i.kind)));
    else if (rooted && op.peer != i.root)
      fault(fmt::format("{} on {}, but rank {} has {}", root_text(op.peer), comm.name, i.first_rank,
                        root_text(i.root)));
    else if (same_size_everywhere(op.kind) && op.amount != i.amount)
      fault(fmt::format("{} bytes on {}, but rank {} has {}", op.amount, comm.name, i.first_rank, i.amount));
  }
  if (op.kind == OpKind::exchange_series && i.kind == op.kind) {
    const std::int64_t exchanges = series_exchanges(list);
    if (first) {
      i.amounts = {list[0], exchanges};
    } else if (i.amounts[0] != list[0] || i.amounts[1] != exchanges) {
      a.faults.push_back(
          {fmt::format("{} exchanges of {} row bytes on {}, but rank {} has {} of {}", exchanges, list[0],
                       comm.name, i.first_rank, i.amounts[1], i.amounts[0]),
           i.first_rank, i.first_op});
      i.disagreed = true;
    }
  }
  i.here[me] = true;
  ++i.arrived;
  if (is_neighborhood(op.kind)) {
    i.amounts.resize(comm.members.size());
    i.amounts[me] = op.amount;
    i.lists.resize(comm.members.size());
    i.lists[me].assign(list.begin(), list.end());
    i.sources_here.resize(comm.members.size());
  } else if (has_size_of_each(op.kind)) {
    i.amounts.resize(comm.members.size());
    i.amounts[me] = op.amount;
    const OpKind form = blocking_form(op.kind);
    const std::size_t n = comm.members.size();
    if (names_pairs(form) && n > kMaxPairwise) {
      if (list.size() == 2 * n + 1) i.sent_less_expected += sent_less_expected(me, n, list);
    } else if (!list.empty()) {
      i.lists.resize(comm.members.size());
      if (!same_list_everywhere(form) || first)
        i.lists[me].assign(list.begin(), list.end());
      else if (!i.disagreed && !std::ranges::equal(list, i.lists[s.position.at(i.first_rank)])) {
        a.faults.push_back({fmt::format("its sizes on {} are not those of rank {}", comm.name, i.first_rank),
                            i.first_rank, i.first_op});
        i.disagreed = true;
      }
    }
  }
  const bool complete = i.arrived == comm.members.size();
  a.wakes_all = complete || (rooted && op.peer == static_cast<std::int32_t>(rank));
  if (needs(op.kind, false) == Needs::kBelow) {
    while (i.below < i.here.size() && i.here[i.below])
      if (++i.below < i.here.size() && i.here[i.below])
        a.wakes.push_back(static_cast<std::uint32_t>(comm.members[i.below]));
  } else if (is_neighborhood(op.kind)) {
    for (const std::int64_t to : neighbors_of(list).destinations)
      if (to >= 0) a.wakes.push_back(static_cast<std::uint32_t>(to));
  }
  if (complete && !i.disagreed) {
    if (is_neighborhood(i.kind))
      compare_neighbors(s, i, comm, a.faults);
    else
      compare_vectors(s, i, comm, a.faults);
  }
  while (!s.open.empty() && s.open.front().arrived == comm.members.size()) {
    s.open.pop_front();
    ++s.base;
  }
  return a;
}

void CollectiveCheck::compare_vectors(const State& s, const Instance& i, const Communicator& comm,
                                      std::vector<Fault>& faults) const {
  const std::size_t n = comm.members.size();
  const OpKind form = blocking_form(i.kind);
  const auto fault = [&](std::string text) { faults.push_back({std::move(text), i.first_rank, i.first_op}); };
  if (i.sent_less_expected != 0)
    return fault(fmt::format(
        "the sizes on {} disagree: some member sends other bytes than who gets them expects", comm.name));
  if (i.lists.empty()) return;
  if (form == OpKind::gatherv || form == OpKind::scatterv || form == OpKind::allgatherv) {
    const auto holder = form == OpKind::allgatherv ? i.first_rank : static_cast<std::uint32_t>(i.root);
    const auto& list = i.lists[s.position.at(holder)];
    if (list.size() != n) return;
    for (std::size_t m = 0; m < n; ++m)
      if (list[m] != i.amounts[m])
        return fault(fmt::format("rank {} has {} bytes on {}, but rank {} counts {} for it", comm.members[m],
                                 i.amounts[m], comm.name, holder, list[m]));
  } else if (names_pairs(form)) {
    for (std::size_t x = 0; x < n; ++x)
      for (std::size_t y = 0; y < n; ++y)
        if (i.lists[x].size() == 2 * n + 1 && i.lists[y].size() == 2 * n + 1 &&
            i.lists[x][1 + y] != i.lists[y][1 + n + x])
          return fault(fmt::format("rank {} sends {} bytes to rank {} on {}, which expects {}",
                                   comm.members[x], i.lists[x][1 + y], comm.members[y], comm.name,
                                   i.lists[y][1 + n + x]));
  }
}

// Whom a rank sends to expects it, as often and with as many bytes. Where a rank says one size for all, those whom a rank
// receives from must have the same: its own receive size, which the trace does not have.
void CollectiveCheck::compare_neighbors(const State& s, const Instance& i, const Communicator& comm,
                                        std::vector<Fault>& faults) const {
  const auto fault = [&](std::string text) { faults.push_back({std::move(text), i.first_rank, i.first_op}); };
  std::vector<Edge> sent, expected;
  for (std::size_t m = 0; m < comm.members.size(); ++m) {
    const Neighbors n = neighbors_of(i.lists[m]);
    const std::int64_t me = comm.members[m];
    const std::int64_t* source_size = nullptr;
    std::int64_t first_source = 0;
    for (std::size_t k = 0; k < n.sources.size(); ++k) {
      const std::int64_t source = n.sources[k];
      const bool sized = !n.bytes_in.empty();
      if (source < 0) continue;
      expected.push_back({source, me, sized ? n.bytes_in[k] : 0});
      const auto at = s.position.find(static_cast<std::uint32_t>(source));
      if (sized || at == s.position.end()) continue;
      const std::int64_t& size = i.amounts[at->second];
      if (source_size != nullptr && *source_size != size)
        return fault(fmt::format("rank {} receives {} bytes from rank {} and {} from rank {} on {}", me,
                                 *source_size, first_source, size, source, comm.name));
      source_size = &size;
      first_source = source;
    }
    for (std::size_t k = 0; k < n.destinations.size(); ++k)
      if (const std::int64_t to = n.destinations[k]; to >= 0)
        sent.push_back({me, to, n.bytes_out.empty() ? 0 : n.bytes_out[k]});
  }
  std::ranges::sort(sent);
  std::ranges::sort(expected);
  const auto [s_at, e_at] = std::ranges::mismatch(sent, expected);
  if (s_at == sent.end() && e_at == expected.end()) return;
  const bool from_sent = e_at == expected.end() || (s_at != sent.end() && *s_at < *e_at);
  const Edge edge = from_sent ? *s_at : *e_at;
  const auto times = [&](const std::vector<Edge>& all) {
    return std::ranges::count_if(all, [&](const Edge& e) { return e.same_ranks(edge); });
  };
  const auto out = times(sent), in = times(expected);
  if (out == in)
    return fault(fmt::format("rank {} sends {} bytes to rank {} on {}, which expects {}", edge.from,
                             s_at->bytes, edge.to, comm.name, e_at->bytes));
  fault(fmt::format("rank {} has rank {} {} among its destinations on {}, which has it {} among its sources",
                    edge.from, edge.to, counted(static_cast<std::uint64_t>(out), "time"), comm.name,
                    counted(static_cast<std::uint64_t>(in), "time")));
}

bool CollectiveCheck::has_sources(const State& s, Instance& i, std::size_t me) {
  const auto from = neighbors_of(i.lists[me]).sources;
  std::size_t& here = i.sources_here[me];
  for (; here < from.size(); ++here) {
    const auto at = s.position.find(static_cast<std::uint32_t>(from[here]));
    if (at != s.position.end() && !i.here[at->second]) return false;
  }
  return true;
}

bool CollectiveCheck::may_leave(const Op& op, std::uint32_t rank, std::uint64_t k, bool synchronous) {
  State& s = state(op.comm);
  Instance* i = find(s, k);
  if (i == nullptr) return true;  // all members were there
  if (synchronous) return false;
  // A member that disagrees must not hide what comes after it behind a deadlock of our making.
  if (i->disagreed) return true;
  const bool is_root = is_rooted(op.kind) && op.peer == static_cast<std::int32_t>(rank);
  switch (needs(op.kind, is_root)) {
    case Needs::kNothing:
      return true;
    case Needs::kRoot:
      return i->here[s.position.at(static_cast<std::uint32_t>(op.peer))];
    case Needs::kBelow:
      return i->below >= s.position.at(rank);
    case Needs::kSources:
      return has_sources(s, *i, s.position.at(rank));
    case Needs::kAll:
      return false;
  }
  return false;
}

std::optional<std::uint32_t> CollectiveCheck::missing(const Op& op, std::uint32_t rank, std::uint64_t k,
                                                      bool synchronous) {
  State& s = state(op.comm);
  const Instance* i = find(s, k);
  if (i == nullptr) return std::nullopt;
  const Needs who = synchronous ? Needs::kAll : needs(op.kind, op.peer == static_cast<std::int32_t>(rank));
  if (who == Needs::kRoot) return static_cast<std::uint32_t>(op.peer);
  const auto& members = communicators_[op.comm.index()].members;
  const std::size_t me = s.position.at(rank);
  const std::size_t end = who == Needs::kBelow ? me : members.size();
  for (std::size_t m = i->below; m < end; ++m)
    if (!i->here[m] &&
        (who != Needs::kSources || std::ranges::count(neighbors_of(i->lists[me]).sources, members[m]) > 0))
      return static_cast<std::uint32_t>(members[m]);
  return std::nullopt;
}

std::vector<CollectiveCheck::Fault> CollectiveCheck::unfinished() const {
  std::vector<Fault> out;
  for (std::size_t c = 0; c < states_.size(); ++c) {
    const State& s = states_[c];
    const auto& members = communicators_[c].members;
    for (const Instance& i : s.open) {
      if (i.arrived == 0 || i.arrived == members.size()) continue;
      std::size_t m = 0;
      while (m < members.size() && i.here[m]) ++m;
      out.push_back(
          {fmt::format("{} on {} is never called by rank {} ({} of {} members call it)", op_name(i.kind),
                       communicators_[c].name, members[m], i.arrived, members.size()),
           i.first_rank, i.first_op});
    }
  }
  return out;
}

}  // namespace weft::traces
