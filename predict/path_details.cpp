#include "predict/path_details.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

#include "core/numbers/shares.hpp"
#include "network/sharing.hpp"
#include "replay/message_cost.hpp"
#include "topology/routing/route_cache.hpp"
#include "topology/routing/socket_routes.hpp"
#include "traces/kernel.hpp"
#include "traces/op.hpp"

namespace weft::predict {
namespace {

using replay::PathPart;
using replay::PathSegment;

Duration part(const PathSegment& s, PathPart p) { return s.parts[static_cast<std::size_t>(p)]; }

// Segments of the path, by key, in order of time; they do not overlap.
using Lists = std::vector<std::vector<std::uint32_t>>;

// Calls f(segment, overlap) for those that [begin, end] overlaps.
template <class F>
void for_each_overlap(const std::vector<PathSegment>& all, const std::vector<std::uint32_t>& list,
                      SimTime begin, SimTime end, F f) {
  auto s =
      std::partition_point(list.begin(), list.end(), [&](std::uint32_t i) { return all[i].to <= begin; });
  for (; s != list.end() && all[*s].from < end; ++s)
    f(*s, std::min(all[*s].to, end) - std::max(all[*s].from, begin));
}

// An operation that takes time on the path.
struct Piece {
  std::uint32_t rank = 0;
  std::uint32_t segment = 0;
  std::uint64_t op = 0;
  Duration time{0};
};

// How computations of this operation are called; empty: it is none.
std::string name_of(const traces::OpBlock& block, const traces::Op& op) {
  switch (op.kind) {
    case traces::OpKind::compute_time:
    case traces::OpKind::task_compute:
      return "recorded";
    case traces::OpKind::compute_flops:
      return "flops";
    case traces::OpKind::sleep:
      return "sleep";
    case traces::OpKind::compute_kernel: {
      const auto list = block.list(op);
      return list.empty() ? std::string()
                          : std::string(traces::kKernelNames[static_cast<std::size_t>(list[0])]);
    }
    default:
      return {};
  }
}

// Adds to each piece's kernel what it has of its segment's computation.
Result<void> add_kernels(traces::TraceReader& trace, const std::vector<PathSegment>& segments,
                         std::vector<Piece> pieces, std::map<std::string, Duration>& kernels) {
  std::stable_sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) {
    return std::tuple(a.rank, a.op) < std::tuple(b.rank, b.op);
  });
  std::vector<std::vector<std::pair<std::string, Duration>>> of(segments.size());
  trace.rewind();
  traces::OpBlock block;
  for (auto p = pieces.begin(); p != pieces.end();) {
    const std::uint32_t rank = p->rank;
    while (p != pieces.end() && p->rank == rank) {
      WEFT_ASSIGN(const bool more, trace.next_block(RankId(rank), block));
      if (!more) break;
      for (; p != pieces.end() && p->rank == rank && p->op < block.first_op + block.ops.size(); ++p)
        if (std::string name = name_of(block, block.ops[p->op - block.first_op]); !name.empty())
          of[p->segment].emplace_back(std::move(name), p->time);
    }
    while (p != pieces.end() && p->rank == rank) ++p;
  }
  for (std::size_t i = 0; i < segments.size(); ++i) {
    Duration left = part(segments[i], PathPart::kCompute), found{0};
    for (const auto& [name, time] : of[i]) found += time;
    // Times of operations are rounded one by one: a picosecond each may be missing.
    if (found > Duration(0) && found + Duration(static_cast<std::int64_t>(of[i].size()) + 1) >= left) {
      Shares shares(left.count(), found.count());
      for (const auto& [name, time] : of[i]) kernels[name] += Duration(shares.next(time.count()));
      continue;
    }
    for (const auto& [name, time] : of[i]) {
      kernels[name] += time;
      left -= time;
    }
    if (left != Duration(0)) kernels["other"] += left;
  }
  return {};
}

// Which links carry less because of what others carry.
class LinksBeside {
 public:
  explicit LinksBeside(const topology::Fabric& fabric)
      : ports_(network::port_shares(fabric)),
        groups_(network::link_groups(fabric)),
        of_group_(groups_.capacity.size()) {
    for (std::uint32_t l = 0; l < groups_.of_link.size(); ++l)
      if (const std::uint32_t g = groups_.of_link[l]; g != groups_.kNone) of_group_[g].emplace_back(l);
  }
  // Whose port it is, if that carries less to several peers.
  [[nodiscard]] std::optional<std::uint32_t> host_of(LinkId l) const {
    if (ports_.empty() || ports_.host_of_link[l.index()] == ports_.kNone) return std::nullopt;
    return ports_.host_of_link[l.index()];
  }
  // The two directions of a PCIe link that share what it carries, or twice the same link.
  [[nodiscard]] bool are_one(LinkId a, LinkId b) const {
    return a == b || (!groups_.empty() && groups_.of_link[a.index()] != groups_.kNone &&
                      groups_.of_link[a.index()] == groups_.of_link[b.index()]);
  }
  // Those that make `l` carry less, and perhaps `l`.
  [[nodiscard]] std::span<const LinkId> of(LinkId l) const {
    if (const auto host = host_of(l)) return ports_.links_of_host[*host];
    if (groups_.empty() || groups_.of_link[l.index()] == groups_.kNone) return {};
    return of_group_[groups_.of_link[l.index()]];
  }

 private:
  congestion::PortShares ports_;
  congestion::LinkGroups groups_;
  std::vector<std::vector<LinkId>> of_group_;
};

// Messages that were on the links that held back those of the path.
class Rivals {
 public:
  Rivals(const Question& q, const std::vector<PathSegment>& segments)
      : q_(q),
        segments_(segments),
        routes_(q.platform.fabric),
        sockets_(q.platform.fabric, q.placement),
        cost_(q.platform.mpi, q.options),
        beside_(q.platform.fabric),
        on_link_(q.platform.fabric.link_count()),
        itself_(segments.size(), 0) {
    if (q.platform.fabric.routing().scope() != topology::RouteScope::kPair) return;
    for (std::uint32_t i = 0; i < segments.size(); ++i) {
      const PathSegment& s = segments[i];
      if (!s.held_by.valid() || part(s, PathPart::kContention) <= Duration(0)) continue;
      any_ = true;
      watch(s.held_by, i);
      for (const LinkId l : beside_.of(s.held_by)) watch(l, i);
      if (s.copy) continue;
      for (const LinkId l : links_of(s.rank, s.receiver)) watch(l, i);
    }
  }
  [[nodiscard]] bool any() const { return any_; }

  void add(const replay::MessageSeen& m) {
    if (!sockets_.is_copy(m.src.index(), m.dst.index())) add(m, cost_.size(m.bytes), links_of(m.src, m.dst));
  }
  // A copy over links, as the path has it: a message of the rank to itself.
  void add(const replay::CopySeen& c) {
    replay::MessageSeen m{};
    m.src = m.dst = c.rank;
    m.bytes = c.bytes;
    m.left = c.left;
    m.arrived = c.arrived;
    add(m, m.bytes, routes_.find(c.from, c.to).links);
  }
  // `carried`: by links, bytes.
  void add(const replay::MessageSeen& m, std::int64_t carried, std::span<const LinkId> route) {
    const Duration whole = m.arrived - m.left;
    if (whole <= Duration(0)) return;
    ++messages_;
    for (const LinkId l : route) {
      if (on_link_[l.index()].empty()) continue;
      for_each_overlap(
          segments_, on_link_[l.index()], m.left, m.arrived, [&](std::uint32_t i, Duration overlap) {
            const PathSegment& s = segments_[i];
            // Itself: one message, whatever others of its kind arrive at the same instant. They have its route, so
            // that it is the first on each of its links.
            if (m.src == s.rank && m.dst == s.receiver && m.arrived == s.to &&
                static_cast<std::uint64_t>(m.bytes) == s.bytes &&
                (itself_[i] == 0 || itself_[i] == messages_)) {
              itself_[i] = messages_;
              return;
            }
            const double moved = static_cast<double>(carried) * static_cast<double>(overlap.count()) /
                                 static_cast<double>(whole.count());
            if (moved < 1) return;
            if (const auto where = where_of(l, m, s))
              weights_[{i, *where, m.src.index(), m.dst.index()}] += static_cast<std::int64_t>(moved);
          });
    }
  }

  void tell(PathDetails& out) const {
    std::map<std::pair<std::uint32_t, std::uint32_t>, Duration> sums;
    Duration known{0}, all{0};
    for (const PathSegment& s : segments_) all += part(s, PathPart::kContention);
    for (auto w = weights_.begin(); w != weights_.end();) {
      // Those of the first place where there are some are alone to blame.
      const std::uint32_t segment = std::get<0>(w->first);
      const Where where = std::get<1>(w->first);
      auto end = w;
      std::int64_t total = 0;
      for (; end != weights_.end() && std::get<0>(end->first) == segment && std::get<1>(end->first) == where;
           ++end)
        total += end->second;
      const Duration contention = part(segments_[segment], PathPart::kContention);
      known += contention;
      Shares shares(contention.count(), total);
      for (; w != end; ++w)
        sums[{std::get<2>(w->first), std::get<3>(w->first)}] += Duration(shares.next(w->second));
      while (w != weights_.end() && std::get<0>(w->first) == segment) ++w;
    }
    for (const auto& [pair, contention] : sums)
      if (contention > Duration(0))
        out.rivals.push_back({RankId(pair.first), RankId(pair.second), contention});
    std::stable_sort(out.rivals.begin(), out.rivals.end(),
                     [](const auto& a, const auto& b) { return a.contention > b.contention; });
    out.nobody = all - known;
  }

 private:
  // From where to look first.
  enum Where : std::uint8_t {
    kThere,     // on the link that held the path's message back
    kBeside,    // at that port, the other way, to or from another peer
    kElsewhere  // on another link of its route
  };
  // Where a message on link `l` is seen from a segment; nothing: not in its way.
  [[nodiscard]] std::optional<Where> where_of(LinkId l, const replay::MessageSeen& m,
                                              const PathSegment& s) const {
    if (beside_.are_one(l, s.held_by)) return kThere;
    const auto host = beside_.host_of(s.held_by);
    if (!host || beside_.host_of(l) != host) return kElsewhere;
    const auto peer = [&](RankId src, RankId dst) {
      const HostId from = q_.placement[src.index()], to = q_.placement[dst.index()];
      return from.index() == *host ? to : from;
    };
    if (peer(m.src, m.dst) == peer(s.rank, s.receiver)) return std::nullopt;
    return kBeside;
  }
  void watch(LinkId l, std::uint32_t segment) {
    std::vector<std::uint32_t>& list = on_link_[l.index()];
    if (list.empty() || list.back() != segment) list.push_back(segment);
  }
  [[nodiscard]] std::span<const LinkId> links_of(RankId src, RankId dst) {
    return routes_.at(sockets_.id(routes_, src.index(), dst.index())).links;
  }

  const Question& q_;
  const std::vector<PathSegment>& segments_;
  topology::RouteCache routes_;
  topology::SocketRoutes sockets_;
  replay::MessageCost cost_;
  LinksBeside beside_;
  Lists on_link_;
  std::uint64_t messages_ = 0;
  std::vector<std::uint64_t> itself_;  // by segment: the message that it is, counted from 1; 0 = not seen yet
  bool any_ = false;
  // Bytes by segment, place and pair of ranks.
  std::map<std::tuple<std::uint32_t, Where, std::uint32_t, std::uint32_t>, std::int64_t> weights_;
};

}  // namespace

Result<PathDetails> path_details(const Question& q) {
  const std::vector<PathSegment>& segments = q.base.path.segments;
  Lists of_rank(q.placement.size());
  for (std::uint32_t i = 0; i < segments.size(); ++i)
    if (!segments[i].is_message() && part(segments[i], PathPart::kCompute) > Duration(0))
      of_rank[segments[i].rank.index()].push_back(i);
  std::vector<Piece> pieces;
  Rivals rivals(q, segments);
  auto options = q.options;
  options.critical_path = options.wait_states = false;
  options.on_op = [&](RankId rank, std::uint64_t op, SimTime start, SimTime end) {
    for_each_overlap(segments, of_rank[rank.index()], start, end, [&](std::uint32_t i, Duration overlap) {
      pieces.push_back({rank.index(), i, op, overlap});
    });
  };
  if (rivals.any()) {
    options.on_message = [&](const replay::MessageSeen& m) { rivals.add(m); };
    options.on_copy = [&](const replay::CopySeen& c) { rivals.add(c); };
  }
  WEFT_ASSIGN(const auto trace, q.open());
  WEFT_TRY(replay::replay(*trace, q.platform, q.placement, options));

  PathDetails out;
  std::map<std::string, Duration> kernels;
  WEFT_TRY(add_kernels(*trace, segments, std::move(pieces), kernels));
  for (const auto& [name, time] : kernels)
    if (time != Duration(0)) out.kernels.push_back({name, time});
  std::stable_sort(out.kernels.begin(), out.kernels.end(),
                   [](const auto& a, const auto& b) { return a.time > b.time; });
  rivals.tell(out);
  return out;
}

}  // namespace weft::predict
